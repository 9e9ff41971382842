package fetch

import (
	"net/netip"
	"slices"
	"time"

	"github.com/robotskit/robots"
)

// A Record is one fetch of the robots.txt of an origin: facts only, the same for all crawlers
// and dialects. Record.Rules decides what they permit.
//
// A Record from Fetch knows nothing of earlier fetches. After joins it to the previous record,
// which keeps the last good copy and counts an outage. Records are shared and must not be changed.
type Record struct {
	Origin  robots.Origin `json:"-"`              // whose robots.txt it is, after redirects too (D-26)
	URL     string        `json:"u,omitempty"`    // of the last request
	Hops    []Hop         `json:"hops,omitempty"` // all requests, the first to the origin itself
	Outcome Outcome       `json:"-"`
	Cause   Cause         `json:"c"`
	Detail  string        `json:"d,omitempty"` // details of the cause, a phrase, or ""
	// Refused is the address that the Guard refused, zero if it refused none.
	Refused netip.AddrPort `json:"ref,omitzero"`
	Status  int            `json:"s,omitempty"` // of the last response: an HTTP status or FTP reply, 0 without a response

	// Header contains the headers of the last response that matter for robots.txt, under their
	// canonical names; see HeaderNames.
	Header map[string]string `json:"h,omitempty"`

	Body      []byte `json:"-"`             // decoded file, for Success
	Truncated bool   `json:"cut,omitempty"` // Body ends at the size limit, perhaps within a line (D-17)

	Started time.Time `json:"t0,omitzero"`
	Fetched time.Time `json:"t,omitzero"` // when the response was complete or the attempt over

	// StatedLife is the lifetime by the response's own headers, the shortest of all hops
	// (CACHE-04); it can be zero or negative. StatedBy names the header, "" without one.
	StatedLife time.Duration `json:"life,omitempty"`
	StatedBy   string        `json:"by,omitempty"`
	// Expires is when a good response stops being fresh. Fetch sets it by Lifetime; a cache can
	// set another time.
	Expires time.Time `json:"exp,omitzero"`

	// RetryAfter is the wait that the site requested, 0 for none.
	RetryAfter time.Duration `json:"ra,omitempty"`
	// MissingIs5xx is set if a probe found that the site answers missing pages with 5xx while
	// its home page works (HTTP-07).
	MissingIs5xx bool `json:"m5,omitempty"`
	// Degraded is set in the copy that a cache returns while its shared store is unreachable.
	// It is never stored.
	Degraded bool `json:"-"`

	// The following fields are zero unless the fetch failed.

	// LastGood is the last good response before the site began to fail.
	LastGood *Copy `json:"good,omitempty"`
	// FailingSince is the first failure of the site after the last good response (D-42).
	// Failures on our own side (Cause.OwnSide) neither begin an outage nor count in one: they
	// leave this and the next three fields unchanged (D-55).
	FailingSince time.Time `json:"fs,omitzero"`
	// LastFailure is the last failure of the site.
	LastFailure time.Time `json:"fl,omitzero"`
	// Failures counts the failures of the site in this outage.
	Failures int `json:"fn,omitempty"`
	// Covered is the time of the outage that failures cover: the sum of the gaps between them,
	// each counted as one day at most. It is the evidence for an outage of that age (D-54).
	Covered time.Duration `json:"fc,omitempty"`
	// NextTry is when the next attempt is due.
	NextTry time.Time `json:"next,omitzero"`
}

// A Copy is a good response kept during an outage.
type Copy struct {
	Outcome   Outcome   `json:"-"` // Success or Unavailable
	Cause     Cause     `json:"c"`
	Status    int       `json:"s,omitempty"`
	URL       string    `json:"u,omitempty"`
	Body      []byte    `json:"-"`
	Truncated bool      `json:"cut,omitempty"`
	Fetched   time.Time `json:"t,omitzero"`
	Expires   time.Time `json:"exp,omitzero"`
}

// A Hop is one request of a fetch.
type Hop struct {
	URL      string `json:"u"`
	Address  string `json:"a,omitempty"` // of the connection to the site, "" if there was none or only a proxy knows it
	Protocol string `json:"p,omitempty"` // of the response: "HTTP/1.0", "HTTP/1.1", "HTTP/2.0" or "FTP"; "" without one
	// Via is "" for a direct connection, the URL of a proxy without its credentials, "dial"
	// for Options.Dial, or "transport" for Options.Transport. Proxies other than socks5, and
	// perhaps a Transport, resolve the host themselves, so that the Guard has not checked the
	// address.
	Via      string `json:"w,omitempty"`
	Status   int    `json:"s,omitempty"` // of the response, 0 without one
	Location string `json:"l,omitempty"` // of a redirect, as sent
	Received int64  `json:"n,omitempty"` // bytes of headers and body as transferred, inside TLS

	// How long each phase took, 0 for a phase that did not happen. Connect includes all
	// attempted addresses. The body of a redirect is not read.
	DNS     time.Duration `json:"dns,omitempty"`
	Connect time.Duration `json:"connect,omitempty"`
	TLS     time.Duration `json:"tls,omitempty"`
	Header  time.Duration `json:"header,omitempty"`
	Body    time.Duration `json:"body,omitempty"`
}

// Took returns how long the hop took.
func (h Hop) Took() time.Duration { return h.DNS + h.Connect + h.TLS + h.Header + h.Body }

// Private reports whether the Guard refused an address of a private network or of this machine, which Guard.AllowPrivate permits.
func (r *Record) Private() bool {
	return r.Cause == AddressRefused && r.Refused.IsValid() && Guard{AllowPrivate: true}.Check(r.Refused) == nil
}

// Redirects returns the number of redirects that were followed.
func (r *Record) Redirects() int { return max(len(r.Hops)-1, 0) }

// Addr returns the address of the first hop, as redirects lead to other sites (D-57): the zero
// Addr without a response, or behind a proxy.
func (r *Record) Addr() netip.Addr {
	if len(r.Hops) == 0 {
		return netip.Addr{}
	}
	at, _ := netip.ParseAddrPort(r.Hops[0].Address)
	return at.Addr().Unmap().WithZone("")
}

// Took returns how long the fetch took, including waits for a connection.
func (r *Record) Took() time.Duration { return r.Fetched.Sub(r.Started) }

// The usual bounds of a lifetime and of the wait after a failure. A response that has "already
// expired" still gets the floor: otherwise every page would need a request for robots.txt.
const (
	LifeFloor   = 5 * time.Minute
	LifeCeiling = 24 * time.Hour // D-28
	minWait     = time.Minute
	WaitCeiling = 24 * time.Hour // longest Retry-After

	// maxGap is how much of the time between two failures counts, as no wait is longer
	// (D-54).
	maxGap = 24 * time.Hour
)

// Lifetime returns how long to use a good response: as the site states, else a day (CACHE-01),
// at least LifeFloor and at most LifeCeiling.
func (r *Record) Lifetime() time.Duration {
	life := robots.RFC9309.Lifetime
	if r.StatedBy != "" {
		life = r.StatedLife
	}
	return max(min(life, LifeCeiling), LifeFloor)
}

// RetryDelay returns how long after Fetched the next attempt is due after a failure: a minute,
// doubled by each failure of the site up to an hour (after 503 and SERVFAIL a quarter of an
// hour; if the host does not exist or the failure is on our own side always an hour), and at
// least what the site requested, up to WaitCeiling. It is 0 for a good response. A cache that
// adds jitter stays between least and most.
func (r *Record) RetryDelay() (delay, least, most time.Duration) {
	w := causes[r.Cause.entry()].wait
	if r.Status == 503 && r.Cause == ServerError {
		w = waitSoon
	}
	if w == untilExpiry {
		return 0, 0, 0
	}
	retryAfter := min(r.RetryAfter, WaitCeiling)
	delay = max(min(w.first<<min(max(r.Failures-1, 0), 10), w.most), retryAfter)
	least = max(minWait, retryAfter)
	most = w.most
	if least >= delay { // jitter must not shorten what the site requested
		most = min(max(most, least+least/10), WaitCeiling)
	}
	return delay, least, most
}

// After returns the record to keep after the fetch r, given the previous record, which can be nil.
// A good response starts afresh. A failure keeps the last good response and the outage, counts in the
// outage if it is the site's, and sets the next attempt. Neither record is changed.
func (r *Record) After(previous *Record) *Record {
	next := *r
	next.LastGood = nil
	next.NextTry = time.Time{}
	next.FailingSince = time.Time{}
	next.LastFailure = time.Time{}
	next.Failures = 0
	next.Covered = 0
	if r.Outcome.Good() {
		return &next
	}
	if previous != nil {
		next.LastGood = previous.good()
		if since := previous.since(); !previous.Outcome.Good() && !since.IsZero() {
			next.FailingSince = since
			next.LastFailure = previous.LastFailure
			next.Failures = max(previous.Failures, 1)
			next.Covered = previous.Covered
			if next.LastFailure.IsZero() { // made by hand
				next.LastFailure = previous.Fetched
			}
		}
	}
	if !r.Cause.OwnSide() {
		if next.FailingSince.IsZero() {
			next.FailingSince = r.Fetched
			next.LastFailure = r.Fetched
		}
		next.Covered += min(max(r.Fetched.Sub(next.LastFailure), 0), maxGap)
		next.LastFailure = r.Fetched
		next.Failures++
	}
	wait, _, _ := next.RetryDelay()
	next.NextTry = r.Fetched.Add(wait)
	return &next
}

// finished returns the record of a fetch that ended at a time.
func (r *Record) finished(at time.Time) *Record {
	r.Fetched = at
	if !r.Outcome.Good() {
		return r.After(nil)
	}
	r.Expires = at.Add(r.Lifetime())
	return r
}

// good returns the last good response of a record, nil if it has none.
func (r *Record) good() *Copy {
	if !r.Outcome.Good() {
		return r.LastGood
	}
	return &Copy{
		Outcome: r.Outcome, Cause: r.Cause, Status: r.Status, URL: r.URL,
		Body: r.Body, Truncated: r.Truncated, Fetched: r.Fetched, Expires: r.Expires,
	}
}

// since returns when the site of a failing record began to fail, the zero time if it did not.
func (r *Record) since() time.Time {
	if r.FailingSince.IsZero() && !r.Outcome.Good() && !r.Cause.OwnSide() {
		return r.Fetched // made by hand
	}
	return r.FailingSince
}

// HeaderNames returns the names of the headers that a Record keeps.
func HeaderNames() []string { return slices.Clone(storedHeaders[:]) }

var storedHeaders = [...]string{
	"Age", "Cache-Control", "Cf-Mitigated", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Etag",
	"Expires", "Last-Modified", "Location", "Retry-After", "Server", "Www-Authenticate", "X-Amzn-Waf-Action", "X-Robots-Tag",
}
