package fetch

import (
	"fmt"
	"time"
)

// Outcome is the class of a fetch in the terms of RFC 9309 section 2.3.1. Policy decides what
// it permits.
type Outcome uint8

const (
	// OutcomeNone is the zero value, which no fetch returns.
	OutcomeNone Outcome = iota
	Success             // a complete 2xx response, or one up to the size limit: its body decides
	Unavailable         // there is no robots.txt: 4xx except 429, too many redirects, FTP 550
	Unreachable         // the server or the network failed, or the response was invalid
	// Refused means that the Guard refused an address, to which nothing was sent. It says nothing
	// about the site: an earlier file stays in use, and without one everything is disallowed (D-25, D-55).
	Refused
)

var outcomes = [...]string{"", "success", "unavailable", "unreachable", "refused"}

// Good reports whether the site answered with a file or with its absence. Such a response can
// be kept and used while it is fresh.
func (o Outcome) Good() bool { return o == Success || o == Unavailable }

// String returns the name in JSON, such as "unreachable".
func (o Outcome) String() string { return nameOf(int(o), outcomes[:]) }

// MarshalText returns the name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText accepts the names that String returns.
func (o *Outcome) UnmarshalText(text []byte) error { return parse(o, "outcome", text, len(outcomes)) }

// A wait is how soon to fetch again after a failure: the first time, doubled up to most.
type wait struct{ first, most time.Duration }

var (
	untilExpiry = wait{}                              // good response
	waitSoon    = wait{time.Minute, 15 * time.Minute} // 503, SERVFAIL (HTTP-05)
	waitBackoff = wait{time.Minute, time.Hour}        // other failures
	waitSlow    = wait{time.Hour, time.Hour}          // no such host, or a failure on our own side
)

// Cause is what happened. The names are part of the contract, the order is not.
type Cause uint8

const (
	CauseNone Cause = iota

	// Success
	OK    // a body of at least one byte
	Empty // 204, 205 or a body without bytes: an empty file

	// Unavailable
	ClientError   // 4xx but 429, 401 and 403 included (HTTP-02)
	RedirectLimit // one redirect more than the limit (REDIR-01, D-24)
	RedirectLoop  // a redirect back into the chain (REDIR-01, D-24)
	FTPAbsent     // no such file: FTP 550, 553 (D-37)
	FTPDenied     // no anonymous login: FTP 332, 532, or 530 after which the session continues (D-37, D-59)

	// Unreachable: reported by the server
	ServerError     // 5xx (HTTP-04)
	TooManyRequests // 429, which some dialects treat as a client error (HTTP-03, D-20)
	FTPTemporary    // busy or a temporary failure: FTP 4xx, or a login requested at another command (D-37, D-59)

	// Unreachable: an invalid response (D-23, D-46, FAIL-01)
	BadStatus     // a final status below 200, or 600 and above
	Switching     // 101: the server switched protocols
	Partial       // 206 without a range in the request
	NotModified   // 304 without a condition in the request
	BadRedirect   // a 3xx that is not a redirect, or has no valid Location
	ForeignScheme // a redirect to a scheme other than http and https (D-25)
	BadEncoding   // a Content-Encoding that was not requested
	Undecodable   // the body does not match its Content-Encoding
	BadResponse   // not HTTP, or not FTP
	HeaderLimit   // headers of more than 64 KiB
	RawLimit      // more bytes transferred than any file within the limit needs
	Incomplete    // the transfer ended early (FAIL-02)

	// Unreachable: the network (FAIL-01)
	DNSNotFound    // no such host, or no address
	DNSServer      // SERVFAIL
	DNSTimeout     // no answer in time
	DNSFailure     // another DNS response, or no reachable name server
	ConnectRefused // no program listens
	ConnectTimeout // no answer to the handshake of TCP
	ConnectFailed  // no such host in its network, or another failure
	NoNetwork      // this machine cannot connect: no network, no route, no free socket
	ProxyFailed    // the proxy, or the caller's Dial or Transport, failed or refused
	Reset          // the connection was reset
	Closed         // the connection was closed before a response
	TLSExpired     // the certificate has expired or is not yet valid
	TLSName        // the certificate is for other names
	TLSIssuer      // unknown issuer
	TLSRoots       // no root certificates on this machine
	TLSVersion     // no common TLS version
	TLSProtocol    // no common protocol (ALPN)
	TLSAlert       // the server ended the handshake with an alert
	TLSFailure     // any other failure of the handshake
	TLSTimeout     // the handshake took too long
	HeaderTimeout  // no headers in time
	TooSlow        // bytes came slower than the least rate
	Timeout        // the time for the whole fetch is over

	// Refused
	AddressRefused // the address must not be requested
	PortRefused    // the port is reserved for another protocol

	numCauses
)

var causes = [numCauses]struct {
	name, sentence string
	outcome        Outcome
	wait           wait
}{
	CauseNone:       {"", "nothing was fetched", OutcomeNone, waitBackoff},
	OK:              {"ok", "a file", Success, untilExpiry},
	Empty:           {"empty", "an empty file", Success, untilExpiry},
	ClientError:     {"client-error", "no file", Unavailable, untilExpiry},
	RedirectLimit:   {"redirect-limit", "too many redirects", Unavailable, untilExpiry},
	RedirectLoop:    {"redirect-loop", "redirect loop", Unavailable, untilExpiry},
	FTPAbsent:       {"ftp-absent", "no file", Unavailable, untilExpiry},
	FTPDenied:       {"ftp-denied", "no anonymous login", Unavailable, untilExpiry},
	ServerError:     {"server-error", "server error", Unreachable, waitBackoff},
	TooManyRequests: {"too-many-requests", "too many requests", Unreachable, waitBackoff},
	FTPTemporary:    {"ftp-temporary", "FTP server busy or failing", Unreachable, waitSoon},
	BadStatus:       {"bad-status", "invalid final status", Unreachable, waitBackoff},
	Switching:       {"switching-protocols", "the server switched protocols", Unreachable, waitBackoff},
	Partial:         {"partial", "partial content without a range request", Unreachable, waitBackoff},
	NotModified:     {"not-modified", "304 to an unconditional request", Unreachable, waitBackoff},
	BadRedirect:     {"bad-redirect", "invalid redirect", Unreachable, waitBackoff},
	ForeignScheme:   {"foreign-scheme", "redirect to a scheme other than http and https", Unreachable, waitBackoff},
	BadEncoding:     {"bad-encoding", "content encoding that was not requested", Unreachable, waitSlow},
	Undecodable:     {"undecodable", "the body cannot be decoded", Unreachable, waitBackoff},
	BadResponse:     {"bad-response", "malformed response", Unreachable, waitBackoff},
	HeaderLimit:     {"header-limit", "headers exceed the limit", Unreachable, waitSlow},
	RawLimit:        {"raw-limit", "transfer exceeds the limit", Unreachable, waitSlow},
	Incomplete:      {"incomplete", "the transfer ended early", Unreachable, waitBackoff},
	DNSNotFound:     {"dns-not-found", "no such host", Unreachable, waitSlow},
	DNSServer:       {"dns-server-failure", "name servers failed", Unreachable, waitSoon},
	DNSTimeout:      {"dns-timeout", "name servers do not respond", Unreachable, waitBackoff},
	DNSFailure:      {"dns-failure", "the name cannot be resolved", Unreachable, waitBackoff},
	ConnectRefused:  {"connect-refused", "connection refused", Unreachable, waitBackoff},
	ConnectTimeout:  {"connect-timeout", "connection timeout", Unreachable, waitBackoff},
	ConnectFailed:   {"connect-failed", "cannot connect", Unreachable, waitBackoff},
	Reset:           {"reset", "connection reset", Unreachable, waitBackoff},
	Closed:          {"closed", "connection closed before a response", Unreachable, waitBackoff},
	TLSExpired:      {"tls-expired", "certificate not valid at this time", Unreachable, waitBackoff},
	TLSName:         {"tls-name", "certificate for another name", Unreachable, waitBackoff},
	TLSIssuer:       {"tls-issuer", "certificate of an unknown issuer", Unreachable, waitBackoff},
	TLSRoots:        {"tls-roots", "no root certificates on this machine", Unreachable, waitSlow},
	TLSProtocol:     {"tls-protocol", "no common protocol (ALPN)", Unreachable, waitSlow},
	NoNetwork:       {"no-network", "this machine cannot connect", Unreachable, waitBackoff},
	ProxyFailed:     {"proxy-failed", "proxy or transport failed", Unreachable, waitBackoff},
	TLSVersion:      {"tls-version", "no common TLS version", Unreachable, waitSlow},
	TLSAlert:        {"tls-alert", "TLS handshake refused", Unreachable, waitBackoff},
	TLSFailure:      {"tls-failure", "TLS handshake failed", Unreachable, waitBackoff},
	TLSTimeout:      {"tls-timeout", "TLS handshake timeout", Unreachable, waitBackoff},
	HeaderTimeout:   {"header-timeout", "timeout waiting for headers", Unreachable, waitBackoff},
	TooSlow:         {"too-slow", "transfer below the minimum rate", Unreachable, waitBackoff},
	Timeout:         {"timeout", "no complete response in time", Unreachable, waitBackoff},
	AddressRefused:  {"address-refused", "address not allowed", Refused, waitSlow},
	PortRefused:     {"port-refused", "port not allowed", Refused, waitSlow},
}

// ownSide lists the causes on the crawler's own side (D-55). It contains no timeout, as the
// cause of one is unknown, and no unknown issuer.
var ownSide = [numCauses]bool{
	DNSFailure: true, NoNetwork: true, ProxyFailed: true, // no way out
	TLSRoots: true, TLSVersion: true, TLSProtocol: true, BadEncoding: true, // not supported
	HeaderLimit: true, RawLimit: true, AddressRefused: true, PortRefused: true, // refused
}

func (c Cause) entry() int {
	if c < numCauses {
		return int(c)
	}
	return int(CauseNone)
}

// String returns the name in JSON, such as "tls-expired".
func (c Cause) String() string { return causes[c.entry()].name }

// Sentence returns the cause as a phrase for people.
func (c Cause) Sentence() string { return causes[c.entry()].sentence }

// Outcome returns the outcome of the cause.
func (c Cause) Outcome() Outcome { return causes[c.entry()].outcome }

// Network reports whether the cause is a failure of DNS or the network, or an invalid response
// (FAIL-01, FAIL-02).
func (c Cause) Network() bool {
	return c.Outcome() == Unreachable && c != ServerError && c != TooManyRequests && c != FTPTemporary
}

// OwnSide reports whether the cause is on the crawler's own side (D-55). Such a failure
// neither begins an outage nor counts in one: an earlier file stays in use at any age, and without
// one (after a 404, say) everything is disallowed once that answer has expired.
func (c Cause) OwnSide() bool { return ownSide[c.entry()] }

// Causes returns all causes of a fetch.
func Causes() []Cause {
	all := make([]Cause, 0, numCauses-1)
	for c := CauseNone + 1; c < numCauses; c++ {
		all = append(all, c)
	}
	return all
}

// MarshalText returns the name.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts the names that String returns.
func (c *Cause) UnmarshalText(text []byte) error { return parse(c, "cause", text, len(causes)) }

func nameOf(i int, names []string) string {
	if i < len(names) {
		return names[i]
	}
	return ""
}

// parse sets v to the value below n with a name.
func parse[T interface {
	~uint8
	fmt.Stringer
}](v *T, kind string, name []byte, n int) error {
	for i := range n {
		if T(i).String() == string(name) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("unknown %s %q", kind, name)
}
