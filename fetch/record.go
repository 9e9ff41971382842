package fetch

import (
	"net/netip"
	"slices"
	"time"

	"github.com/robotskit/robots"
)

// A Record is one fetch of the robots.txt of an origin: facts only, the same
// for every crawler and every dialect. What they permit is judged by Rules.
//
// A Record from Fetch stands alone. One that follows another of the same origin
// is joined to it by After, which keeps the last good copy and counts an outage.
//
// Records are values to be read; whoever changes one makes a copy first.
type Record struct {
	Origin  robots.Origin // whose robots.txt it is, whatever the redirects (D-26)
	URL     string        // of the last request
	Hops    []Hop         // every request, the first to the origin itself
	Outcome Outcome
	Cause   Cause
	Detail  string // more about the cause, one clause for people, "" for nothing more
	Status  int    // of the last answer: an HTTP status or an FTP reply, 0 without an answer

	// Header holds the headers of the last answer that say something about a
	// robots.txt, under their canonical names; see HeaderNames.
	Header map[string]string

	Body      []byte // decoded, of a Success
	Truncated bool   // Body stops at the size limit; its last line may be cut (D-17)

	Started time.Time
	Fetched time.Time // when the answer was complete, or the attempt over

	// StatedLife is how long the answer lives by its own headers, the least over
	// all hops (CACHE-04); it may be zero or negative. StatedBy names the header,
	// "" if none says anything.
	StatedLife time.Duration
	StatedBy   string
	// Expires is until when a good answer is fresh. Fetch sets it by Lifetime
	// with the usual bounds; a cache may set another time, with its jitter.
	Expires time.Time

	// RetryAfter is what the site asks to wait, as it said it; 0 for nothing.
	RetryAfter time.Duration
	// MissingIs5xx says that a probe found the site answering 5xx for missing
	// pages while its home page works (HTTP-07).
	MissingIs5xx bool
	// Degraded is set in the copy that a cache hands out while the store that it
	// shares with other processes is out of reach. It is never kept.
	Degraded bool

	// The rest is zero unless the fetch failed.

	// LastGood is the last answer of the site before it began to fail.
	LastGood *Copy
	// FailingSince is the first failure of the site after the last good answer
	// (D-42). What fails on our own side (Cause.OwnSide) begins no outage, nor does
	// it count in one: it leaves these four as they were, and zero if there was no
	// outage (D-55).
	FailingSince time.Time
	// LastFailure is the last failure of the site.
	LastFailure time.Time
	// Failures counts the failures of the site from the first to the last.
	Failures int
	// Covered is the time between these that failures cover: the sum of the gaps
	// from one to the next, each counted as a day at most. It is the evidence for
	// an outage of that age, which the clock alone is not (D-54).
	Covered time.Duration
	// NextTry is when the next attempt is due.
	NextTry time.Time
}

// A Copy is a good answer kept through an outage.
type Copy struct {
	Outcome   Outcome // Success or Unavailable
	Cause     Cause
	Status    int
	URL       string
	Body      []byte
	Truncated bool
	Fetched   time.Time
	Expires   time.Time
}

// A Hop is one request of a fetch.
type Hop struct {
	URL      string
	Address  string // of the site that was connected to, "" if none was or a proxy alone knows it
	Protocol string // of the answer: "HTTP/1.0", "HTTP/1.1", "HTTP/2.0" or "FTP"; "" if there was none
	// Via is the way to the site: "" for the client's own connection, the URL of a
	// proxy without its credentials, "dial" for Options.Dial, "transport" for
	// Options.Transport. Proxies but those of the scheme socks5 look the name up
	// themselves, and so may a Transport: the guard has not seen the address.
	Via      string
	Status   int    // of the answer, 0 if there was none
	Location string // of a redirect, as sent
	Received int64  // bytes of headers and body as they came, inside TLS

	// How long each phase took, 0 for a phase that did not happen. Connect holds
	// every address that was tried; Body of a redirect is 0, it is not read.
	DNS, Connect, TLS, Header, Body time.Duration
}

// Took returns how long the hop took.
func (h Hop) Took() time.Duration { return h.DNS + h.Connect + h.TLS + h.Header + h.Body }

// Redirects returns the number of redirects that were followed.
func (r *Record) Redirects() int { return max(len(r.Hops)-1, 0) }

// Addr returns the address that the site answered at, at the first hop, as a redirect leads
// to others (D-57). It is the zero Addr if nothing answered, or a proxy did.
func (r *Record) Addr() netip.Addr {
	if len(r.Hops) == 0 {
		return netip.Addr{}
	}
	at, err := netip.ParseAddrPort(r.Hops[0].Address)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// Took returns how long the fetch took, waits for a place included (Options.PerAddress).
func (r *Record) Took() time.Duration { return r.Fetched.Sub(r.Started) }

// The usual bounds of a life and of the wait after a failure. A site that says
// "already expired" still gets the floor, or every page would cost a request
// for robots.txt.
const (
	LifeFloor   = 5 * time.Minute
	LifeCeiling = 24 * time.Hour // D-28
	waitLeast   = time.Minute
	waitSoon    = 15 * time.Minute
	waitMost    = time.Hour
	WaitCeiling = 24 * time.Hour // most that a Retry-After can ask for

	// gapMost is the most that the time between two failures counts for: nothing
	// is waited for longer (D-54).
	gapMost = 24 * time.Hour
)

// Lifetime returns how long a good answer is to be used: what the site says,
// else a day (CACHE-01), within the bounds.
func (r *Record) Lifetime(floor, ceiling time.Duration) time.Duration {
	life := robots.RFC9309.Lifetime
	if r.StatedBy != "" {
		life = r.StatedLife
	}
	return max(min(life, ceiling), floor)
}

// Retry returns how soon another fetch makes sense.
func (r *Record) Retry() Retry {
	if r.Status == 503 && r.Cause == ServerError {
		return RetrySoon // HTTP-05
	}
	return causes[r.Cause.entry()].retry
}

// RetryDelay returns how long after Fetched the next attempt is due after a
// failure: a minute doubling with each failure of the site up to an hour, a
// quarter of an hour for RetrySoon, an hour for RetrySlow, and at least what the
// site asked for, up to WaitCeiling. It is 0 for a good answer. A cache that adds
// jitter stays between least and most: never sooner than the site asked.
func (r *Record) RetryDelay() (wait, least, most time.Duration) {
	most = waitMost
	switch r.Retry() {
	case RetryAtExpiry:
		return 0, 0, 0
	case RetrySlow:
		wait = waitMost
	case RetrySoon:
		most = waitSoon
		fallthrough
	default:
		wait = waitLeast << min(max(r.Failures-1, 0), 10)
	}
	asked := min(r.RetryAfter, WaitCeiling)
	wait, least = max(min(wait, most), asked), max(waitLeast, asked)
	if least >= wait { // what the site asked for may be a little later
		most = min(max(most, least+least/10), WaitCeiling)
	}
	return wait, least, most
}

// After returns r as it is to be kept when it follows held, the record of the
// same origin kept so far, which may be nil. A good answer starts afresh. A
// failure keeps the last good answer and the outage, adds itself to the outage
// if it is the site's, and says when to try again. Neither record is changed.
func (r *Record) After(held *Record) *Record {
	next := *r
	next.LastGood, next.NextTry = nil, time.Time{}
	next.FailingSince, next.LastFailure, next.Failures, next.Covered = time.Time{}, time.Time{}, 0, 0
	if r.Outcome.Good() {
		return &next
	}
	if held != nil {
		next.LastGood = held.good()
		if since := held.since(); !held.Outcome.Good() && !since.IsZero() {
			next.FailingSince, next.LastFailure, next.Failures, next.Covered = since, held.LastFailure, max(held.Failures, 1), held.Covered
			if next.LastFailure.IsZero() { // of an earlier release, or made by hand
				next.LastFailure = held.Fetched
			}
		}
	}
	if !r.Cause.OwnSide() {
		if next.FailingSince.IsZero() {
			next.FailingSince, next.LastFailure = r.Fetched, r.Fetched
		}
		next.Covered += min(max(r.Fetched.Sub(next.LastFailure), 0), gapMost)
		next.LastFailure = r.Fetched
		next.Failures++
	}
	wait, _, _ := next.RetryDelay()
	next.NextTry = r.Fetched.Add(wait)
	return &next
}

// good returns the last good answer a record holds, nil if none.
func (r *Record) good() *Copy {
	if !r.Outcome.Good() {
		return r.LastGood
	}
	return &Copy{
		Outcome: r.Outcome, Cause: r.Cause, Status: r.Status, URL: r.URL,
		Body: r.Body, Truncated: r.Truncated, Fetched: r.Fetched, Expires: r.Expires,
	}
}

// since returns when the site of a failing record began to fail, the zero time if
// it did not.
func (r *Record) since() time.Time {
	if r.FailingSince.IsZero() && !r.Outcome.Good() && !r.Cause.OwnSide() {
		return r.Fetched // made by hand
	}
	return r.FailingSince
}

// HeaderNames returns the names of the headers that a Record keeps.
func HeaderNames() []string { return slices.Clone(keptHeaders[:]) }

var keptHeaders = [...]string{
	"Age", "Cache-Control", "Content-Encoding", "Content-Length", "Content-Type",
	"Date", "Etag", "Expires", "Last-Modified", "Location", "Retry-After", "Server", "X-Robots-Tag",
}
