package pace

import (
	"context"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
)

// A Limiter decides when requests to sites start: by each site's Schedule, by its
// responses, and by the pace of the IP address that serves it. NewLocal returns one for a
// single process, pace/redis one that many processes share.
//
// A crawler calls Acquire, dials, calls Start when it knows the address, sends one
// request, and calls Release when the response has ended:
//
//	permit, err := limiter.Acquire(ctx, pace.Request{Origin: origin, Schedule: s})
//	err = limiter.Start(ctx, permit, addr)
//	...
//	err = limiter.Release(ctx, permit, pace.Result{Status: 200})
//
// The interval of an origin counts from the end of its last response, that of an address
// from the last start reserved there. At an address, pages are AddressInterval apart, and a
// fetch of robots.txt is FetchInterval from every other start: it takes its place between
// the pages that are reserved. A reserved start that is not used costs the address one
// interval. An invalid address, as of a request through a proxy, has no pace.
//
// A limiter keeps when events happened, never a schedule: a changed robots.txt counts from
// the next call on. It works on one clock, its own or that of its server. If the clock is
// set, callers might wait longer; no request starts earlier than an interval after the last
// event known.
//
// An error is never a permission. It says that the context ended or that the call failed;
// a site that is not ready is a refused Permit. All methods are safe for concurrent use.
type Limiter interface {
	// Acquire waits until a request may start and returns its permit. Callers of one origin
	// are served in order of arrival, as far as the limiter knows it. The error wraps
	// context.Cause(ctx) when the context ends; it is a *LateError at once if the deadline
	// comes before any possible start. After an error nothing is held: a permit whose reply
	// was lost is released by the limiter.
	Acquire(ctx context.Context, r Request) (Permit, error)

	// Try releases each r.Done, then acquires up to k of the sites, in their order, and
	// waits for none. The answers keep the order. One that is not OK has NotBefore and
	// Reasons; if that time has come, the site was ready and not among the first k. With a
	// k of 0 Try only looks. An unreachable server refuses its own sites (CauseDegraded)
	// and no others. An error says that the context ended or the limiter is closed; every
	// r.Done is released all the same.
	Try(ctx context.Context, rs []Request, k int) ([]Permit, error)

	// Start is called right before every request is written, on new and on kept
	// connections. It reserves a start at the address, waits for it, and checks permit and
	// schedule again. A further Start on the same permit also waits for the interval since
	// the one before. The error wraps context.Cause(ctx) when the context ends, and is a
	// *LateError at once if the deadline comes first. It is a *MissedError if the permit has
	// expired, its StartBy comes first, or the site is closed by then: send nothing, release
	// the permit as unused, and acquire another at NotBefore.
	Start(ctx context.Context, p Permit, addr netip.Addr) error

	// StartFetch reserves a start for a fetch of robots.txt at an address and waits for it.
	// No permit is needed and no Release follows. A limiter that might lose its memory
	// records the origin as requested now.
	StartFetch(ctx context.Context, o robots.Origin, addr netip.Addr) error

	// Release ends a permit with the result of its request, in any process. A permit that
	// was released before or has expired is not ended again: its Retry-After still counts,
	// and the interval of the site starts again. A permit that is not OK is ignored.
	// Release works after the context has ended; a shared limiter queues it while its
	// server is unreachable.
	Release(ctx context.Context, p Permit, r Result) error
}

// MaxLifetime is the longest lifetime of a permit.
const MaxLifetime = 12 * time.Hour

// A Request asks for a permit.
type Request struct {
	Origin   robots.Origin
	Schedule *Schedule // nil for a site that declares nothing

	// Within is how far ahead a start may be that Try acquires.
	Within time.Duration
	// Addr is set by a caller that dials by itself and calls no Start: the start at the
	// address is reserved with the permit, or neither is. It may be Options.FetchInterval
	// further ahead than Within, since the site's robots.txt might have been fetched a
	// moment ago.
	Addr netip.Addr
	// Lifetime is how long after its start a permit expires: Options.Lifetime if 0, at most
	// MaxLifetime. A permit with a lifetime of its own belongs to no process. If it expires,
	// its request counts as timed out.
	Lifetime time.Duration

	// Done is a permit that Try releases first, with Result.
	Done   Permit
	Result Result
}

// A Permit is the right to send one request, or the answer that there is none yet.
type Permit struct {
	ID       string // "" if refused
	Origin   robots.Origin
	Schedule *Schedule

	Start   time.Time // when the request may start
	StartBy time.Time // when it must have started
	Expires time.Time // when the permit counts as ended if it is not released

	NotBefore time.Time // of a refusal: when to ask again
	// Reasons are those of the start, or of the refusal, the deciding one first.
	Reasons []Reason
}

// OK reports whether a request may be sent with the permit.
func (p Permit) OK() bool { return p.ID != "" }

// String returns the start, or when to ask again, with the deciding reason.
func (p Permit) String() string {
	at := p.NotBefore
	if p.OK() {
		at = p.Start
	}
	s := at.Format(time.RFC3339)
	if len(p.Reasons) > 0 {
		s += " (" + p.Reasons[0].String() + ")"
	}
	return s
}

// A Result is the outcome of a request. The zero value is a request that failed without
// a sign of the site's load, such as a refused connection.
type Result struct {
	// Status is the HTTP status, 0 if there was no response.
	Status int
	// RetryAfter is the wait that the response asks for, 0 if none (see fetch.RetryAfter).
	RetryAfter time.Duration
	// Timeout reports that the site did not respond in time.
	Timeout bool
	// Unused reports that no request was sent; the other fields do not count.
	Unused bool
}

// Overload reports whether the site signaled overload: 429, 503, or no response in time,
// from itself or from its gateway (504). Other server errors are as likely a broken page.
func (r Result) Overload() bool {
	return !r.Unused && (r.Timeout || r.Status == 429 || r.Status == 503 || r.Status == 504)
}

// Recovered reports whether the response was a usual one, by which a back-off shrinks.
func (r Result) Recovered() bool {
	return !r.Unused && !r.Timeout && 200 <= r.Status && r.Status < 500 && r.Status != 429
}

// A LateError reports that a context's deadline comes before the start. It wraps
// context.DeadlineExceeded.
type LateError struct {
	Permit Permit // refused
}

// Error names the site, the start and the deciding reason.
func (e *LateError) Error() string {
	return "the next request to " + e.Permit.Origin.String() + " may start at " + e.Permit.String() + ", after the deadline"
}

// Unwrap returns context.DeadlineExceeded.
func (e *LateError) Unwrap() error { return context.DeadlineExceeded }

// A MissedError reports that a permit can no longer start a request: release it as unused
// and ask again at Permit.NotBefore.
type MissedError struct {
	Permit Permit // refused
	Err    error  // nil, or why the limiter could not reserve the start
}

// Error names the site, when to ask again, and the deciding reason.
func (e *MissedError) Error() string {
	s := "the permit for " + e.Permit.Origin.String() + " is no longer usable: ask again at " + e.Permit.String()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *MissedError) Unwrap() error { return e.Err }
