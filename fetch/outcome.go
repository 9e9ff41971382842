package fetch

import (
	"errors"
	"strconv"
)

// Outcome is the class of a fetch, in RFC 9309's words (section 2.3.1). What it
// permits is for Policy to say.
type Outcome uint8

const (
	// OutcomeNone is the zero value; no fetch has it.
	OutcomeNone Outcome = iota
	Success             // a 2xx answer came whole, or up to the size limit: its body decides
	Unavailable         // the site has no robots.txt: 4xx but 429, too many redirects, FTP 550
	Unreachable         // the server or the network failed, or the answer made no sense
	// Refused is our own guard's: nothing was asked of the address. It says
	// nothing about the site, so it never ages into permission (D-25).
	Refused
)

var outcomes = [...]string{"", "success", "unavailable", "unreachable", "refused"}

// Good reports whether the site itself has answered the question: the answer
// may be kept and used while it is fresh.
func (o Outcome) Good() bool { return o == Success || o == Unavailable }

// String returns the outcome's name in JSON, such as "unreachable".
func (o Outcome) String() string { return nameOf(int(o), outcomes[:]) }

// MarshalText returns the name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText accepts the names of String.
func (o *Outcome) UnmarshalText(text []byte) error {
	i, err := indexOf("outcome", string(text), outcomes[:])
	*o = Outcome(i)
	return err
}

// Retry is how soon a robots.txt is worth another request.
type Retry uint8

const (
	RetryAtExpiry Retry = iota // the answer is good: when its life ends
	RetrySoon                  // 503, SERVFAIL: from a minute up to a quarter of an hour (HTTP-05)
	RetryBackoff               // other failures: from a minute doubling up to an hour
	RetrySlow                  // no such host, or what we lack or refuse ourselves: every hour
)

var retries = [...]string{"at-expiry", "soon", "backoff", "slow"}

// String returns the class's name, such as "soon".
func (r Retry) String() string { return nameOf(int(r), retries[:]) }

// Cause is what happened, a closed set. Its order is not part of the contract,
// its names are.
type Cause uint8

const (
	CauseNone Cause = iota

	// Success
	OK    // a body of at least one byte
	Empty // 204, 205, or a body of no bytes: an empty file

	// Unavailable
	ClientError   // 4xx but 429, 401 and 403 included (HTTP-02)
	RedirectLimit // one redirect more than the limit (REDIR-01, D-24)
	RedirectLoop  // a redirect to where the chain had been (REDIR-01, D-24)
	FTPAbsent     // the FTP server has no such file: 550, 553 (D-37)
	FTPDenied     // the FTP server lets no anonymous users in: 332, 532, or 530 and the session goes on, to USER or PASS (D-37, D-59)

	// Unreachable: the server says so
	ServerError     // 5xx (HTTP-04)
	TooManyRequests // 429: a dialect may call it a client error (HTTP-03, D-20)
	FTPTemporary    // the FTP server is busy or fails for now: 4xx, or it asks for a login where that is no answer to one (D-37, D-59)

	// Unreachable: the answer makes no sense (D-23, D-46, FAIL-01)
	BadStatus     // a status below 200 as the last word, or from 600 on
	Switching     // 101: the server left HTTP
	Partial       // 206 though no range was asked for
	NotModified   // 304 though nothing was made conditional
	BadRedirect   // a 3xx that is no redirect, or without a usable Location
	ForeignScheme // a redirect to a scheme other than http and https (D-25)
	BadEncoding   // a Content-Encoding that was not asked for
	Undecodable   // the body is not what its Content-Encoding says
	BadResponse   // not HTTP, or not FTP
	HeaderLimit   // headers of more than 64 KiB
	RawLimit      // more bytes on the wire than any file within the limit needs
	Incomplete    // the transfer ended early (FAIL-02)

	// Unreachable: the network (FAIL-01)
	DNSNotFound    // no such host, or no address
	DNSServer      // SERVFAIL
	DNSTimeout     // no answer in time
	DNSFailure     // any other answer, or no way from here to a name server: none could be asked
	ConnectRefused // nobody listens
	ConnectTimeout // no answer to the handshake of TCP
	ConnectFailed  // no such host where its network is, and whatever else
	NoNetwork      // this machine cannot connect: no network, no way to that of the site, no socket left
	ProxyFailed    // the proxy refused or was out of reach, or what the caller brought in its place failed
	Reset          // the connection was reset
	Closed         // the connection was closed before an answer
	TLSExpired     // the certificate is not valid now
	TLSName        // it is for other names
	TLSIssuer      // nobody known has issued it
	TLSRoots       // this machine knows no issuers at all
	TLSVersion     // no common version of TLS
	TLSProtocol    // none of the protocols inside TLS that we offer (ALPN)
	TLSAlert       // the server ended the handshake with an alert
	TLSFailure     // any other failure of the handshake
	TLSTimeout     // the handshake took too long
	HeaderTimeout  // no headers in time
	TooSlow        // bytes came slower than the least rate
	Timeout        // the time for the whole fetch is over

	// Refused
	AddressRefused // the address is none that may be asked
	PortRefused    // the port belongs to another protocol

	numCauses
)

var causes = [numCauses]struct {
	name, sentence string
	outcome        Outcome
	retry          Retry
}{
	CauseNone:       {"", "nothing was fetched", OutcomeNone, RetryBackoff},
	OK:              {"ok", "a file", Success, RetryAtExpiry},
	Empty:           {"empty", "an empty file", Success, RetryAtExpiry},
	ClientError:     {"client-error", "no file", Unavailable, RetryAtExpiry},
	RedirectLimit:   {"redirect-limit", "too many redirects", Unavailable, RetryAtExpiry},
	RedirectLoop:    {"redirect-loop", "redirects in a circle", Unavailable, RetryAtExpiry},
	FTPAbsent:       {"ftp-absent", "no file", Unavailable, RetryAtExpiry},
	FTPDenied:       {"ftp-denied", "no anonymous login", Unavailable, RetryAtExpiry},
	ServerError:     {"server-error", "server error", Unreachable, RetryBackoff},
	TooManyRequests: {"too-many-requests", "too many requests", Unreachable, RetryBackoff},
	FTPTemporary:    {"ftp-temporary", "FTP server busy or failing", Unreachable, RetrySoon},
	BadStatus:       {"bad-status", "a status that is no answer", Unreachable, RetryBackoff},
	Switching:       {"switching-protocols", "the server left HTTP", Unreachable, RetryBackoff},
	Partial:         {"partial", "part of a file though the whole was asked for", Unreachable, RetryBackoff},
	NotModified:     {"not-modified", "304 to a request without conditions", Unreachable, RetryBackoff},
	BadRedirect:     {"bad-redirect", "a redirect to nowhere", Unreachable, RetryBackoff},
	ForeignScheme:   {"foreign-scheme", "a redirect to another scheme than http and https", Unreachable, RetryBackoff},
	BadEncoding:     {"bad-encoding", "a content encoding that was not asked for", Unreachable, RetrySlow},
	Undecodable:     {"undecodable", "a body that does not decode", Unreachable, RetryBackoff},
	BadResponse:     {"bad-response", "a malformed answer", Unreachable, RetryBackoff},
	HeaderLimit:     {"header-limit", "headers over the limit", Unreachable, RetrySlow},
	RawLimit:        {"raw-limit", "a transfer over the limit", Unreachable, RetrySlow},
	Incomplete:      {"incomplete", "the transfer ended early", Unreachable, RetryBackoff},
	DNSNotFound:     {"dns-not-found", "no such host", Unreachable, RetrySlow},
	DNSServer:       {"dns-server-failure", "the name servers fail", Unreachable, RetrySoon},
	DNSTimeout:      {"dns-timeout", "the name servers do not answer", Unreachable, RetryBackoff},
	DNSFailure:      {"dns-failure", "the name cannot be resolved", Unreachable, RetryBackoff},
	ConnectRefused:  {"connect-refused", "connection refused", Unreachable, RetryBackoff},
	ConnectTimeout:  {"connect-timeout", "no connection in time", Unreachable, RetryBackoff},
	ConnectFailed:   {"connect-failed", "no connection", Unreachable, RetryBackoff},
	Reset:           {"reset", "connection reset", Unreachable, RetryBackoff},
	Closed:          {"closed", "connection closed without an answer", Unreachable, RetryBackoff},
	TLSExpired:      {"tls-expired", "certificate not valid at this time", Unreachable, RetryBackoff},
	TLSName:         {"tls-name", "certificate for another name", Unreachable, RetryBackoff},
	TLSIssuer:       {"tls-issuer", "certificate of an unknown issuer", Unreachable, RetryBackoff},
	TLSRoots:        {"tls-roots", "no root certificates on this machine", Unreachable, RetrySlow},
	TLSProtocol:     {"tls-protocol", "no common protocol inside TLS", Unreachable, RetrySlow},
	NoNetwork:       {"no-network", "no way from this machine to the network", Unreachable, RetryBackoff},
	ProxyFailed:     {"proxy-failed", "the proxy or transport on the way failed", Unreachable, RetryBackoff},
	TLSVersion:      {"tls-version", "no common version of TLS", Unreachable, RetrySlow},
	TLSAlert:        {"tls-alert", "TLS handshake refused", Unreachable, RetryBackoff},
	TLSFailure:      {"tls-failure", "TLS handshake failed", Unreachable, RetryBackoff},
	TLSTimeout:      {"tls-timeout", "no TLS handshake in time", Unreachable, RetryBackoff},
	HeaderTimeout:   {"header-timeout", "no headers in time", Unreachable, RetryBackoff},
	TooSlow:         {"too-slow", "a transfer below the least rate", Unreachable, RetryBackoff},
	Timeout:         {"timeout", "no whole answer in time", Unreachable, RetryBackoff},
	AddressRefused:  {"address-refused", "an address that may not be asked", Refused, RetrySlow},
	PortRefused:     {"port-refused", "a port that may not be asked", Refused, RetrySlow},
}

// ownSide are the causes on the crawler's own side (D-55): what it lacks or will
// not do. Limits of time are not among them, for nobody can tell whose time ran
// out; nor is a certificate of an unknown issuer.
var ownSide = [numCauses]bool{
	DNSFailure: true, NoNetwork: true, ProxyFailed: true, // no way out of here
	TLSRoots: true, TLSVersion: true, TLSProtocol: true, BadEncoding: true, // not known here
	HeaderLimit: true, RawLimit: true, AddressRefused: true, PortRefused: true, // not wanted here
}

func (c Cause) entry() int {
	if c < numCauses {
		return int(c)
	}
	return int(CauseNone)
}

// String returns the cause's name in JSON, such as "tls-expired".
func (c Cause) String() string { return causes[c.entry()].name }

// Sentence returns the cause as a clause for people.
func (c Cause) Sentence() string { return causes[c.entry()].sentence }

// Outcome returns the class the cause belongs to.
func (c Cause) Outcome() Outcome { return causes[c.entry()].outcome }

// Network reports whether the cause is trouble with DNS or the network in the
// sense of FAIL-01 and FAIL-02: no answer, or none that makes sense.
func (c Cause) Network() bool {
	return c.Outcome() == Unreachable && c != ServerError && c != TooManyRequests && c != FTPTemporary
}

// OwnSide reports whether the cause is a failure of the crawler's own side (D-55).
// It says nothing about the site: it neither begins an outage nor counts in one,
// and what held before goes on.
func (c Cause) OwnSide() bool { return ownSide[c.entry()] }

// Causes returns every cause of a fetch.
func Causes() []Cause {
	all := make([]Cause, 0, numCauses-1)
	for c := CauseNone + 1; c < numCauses; c++ {
		all = append(all, c)
	}
	return all
}

// MarshalText returns the name.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts the names of String.
func (c *Cause) UnmarshalText(text []byte) error {
	for i := range causes {
		if causes[i].name == string(text) {
			*c = Cause(i)
			return nil
		}
	}
	return errors.New("unknown cause " + strconv.Quote(string(text)))
}

func nameOf(i int, names []string) string {
	if i < len(names) {
		return names[i]
	}
	return ""
}

func indexOf(kind, name string, names []string) (int, error) {
	for i := range names {
		if names[i] == name {
			return i, nil
		}
	}
	return 0, errors.New("unknown " + kind + " " + strconv.Quote(name))
}
