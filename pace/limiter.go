package pace

import (
	"context"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
)

// A Limiter decides when requests to sites start: by each site's Schedule, its responses, and
// the rate of the IP address that serves it. The package documentation has the contract.
// NewLocal returns one for a single process, pace/redis one that many processes share. All
// methods are safe for concurrent use.
type Limiter interface {
	// Acquire waits until a request may start and returns its permit. Callers of one origin
	// are served in order of arrival, as far as the limiter knows it. The error wraps
	// context.Cause(ctx) when the context ends; it is a *LateError at once if the deadline
	// comes before any possible start. After an error nothing is held: a permit whose reply
	// was lost is released by the limiter.
	Acquire(ctx context.Context, r Request) (Permit, error)

	// Try releases each r.Done, then acquires up to k of the sites, in order, without waiting.
	// Permits keep the order. One that is not OK has NotBefore and Reasons; if that time has
	// passed, the site was ready but not among the first k. With k = 0 Try only looks. An
	// unreachable server refuses only its own sites. An error means that ctx ended or the
	// limiter is closed.
	Try(ctx context.Context, rs []Request, k int) ([]Permit, error)

	// Start is called right before each request is written, on kept connections too. It
	// reserves a start at the address, waits for it, and checks permit and schedule again. A
	// second Start of a permit waits for another interval. A *LateError means that the
	// deadline comes first, a *MissedError that the permit can no longer be used: release it
	// as unused and acquire another at NotBefore.
	Start(ctx context.Context, p Permit, addr netip.Addr) error

	// StartFetch reserves a start for a fetch of robots.txt at an address and waits for it.
	// No permit is needed and no Release follows. A limiter that might lose its memory
	// records the origin as requested now.
	StartFetch(ctx context.Context, o robots.Origin, addr netip.Addr) error

	// Requested records that a request to an origin has ended for which there was no permit,
	// such as that of another site's robots.txt that redirects there: the interval of the
	// origin starts again. Like Release it works after the context has ended.
	Requested(ctx context.Context, o robots.Origin)

	// Release ends a permit with the result of its request, in any process. A permit that
	// was released before or has expired is not ended again: its Retry-After still counts,
	// and the interval of the site starts again. A permit that is not OK is ignored.
	// Release works after the context has ended; a shared limiter queues it while its
	// server is unreachable.
	Release(ctx context.Context, p Permit, r Result) error
}

// maxLifetime is the longest lifetime of a permit.
const maxLifetime = 12 * time.Hour

// A Request is a request for a permit.
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
	// 12 hours. A permit with a lifetime of its own belongs to no process. If it expires,
	// its request counts as timed out, unless it is Untrusted.
	Lifetime time.Duration
	// Untrusted is set for a client whose behavior is no evidence about the site: its permit
	// ends when it expires, and causes no back-off. The results that it reports are for the
	// caller to drop.
	Untrusted bool

	// Fetched is when the response with the site's robots.txt was read: the request starts at
	// least one interval later, as after any response. Times of a record are cut to milliseconds,
	// so one of whole milliseconds counts as the end of that millisecond. The zero time is
	// ignored, and a time in the future, which is that of another worker whose clock is ahead.
	Fetched time.Time

	// Done is a permit that Try releases first, with Result.
	Done   Permit
	Result Result
}

// AfterFetch returns the state of a site that has responded only with its robots.txt, for
// implementations of Limiter and for Schedule.Next.
func (r *Request) AfterFetch(now time.Time) State {
	if r.Fetched.After(now) {
		return State{}
	}
	last := r.Fetched
	if isCut := last.Equal(last.Truncate(time.Millisecond)); isCut && !last.IsZero() {
		last = last.Add(time.Millisecond - 1)
	}
	return State{Last: last}
}

// A Permit is the right to send one request, or the answer that there is none yet.
type Permit struct {
	ID       string // "" if refused
	Origin   robots.Origin
	Schedule *Schedule

	Start   time.Time // when the request may start
	StartBy time.Time // when it must have started: half a lifetime later
	Expires time.Time // when the permit counts as ended if it is not released

	NotBefore time.Time // of a refusal: when to try again
	// Reasons are those of the start, or of the refusal, the deciding one first.
	Reasons []Reason
}

// OK reports whether a request may be sent with the permit.
func (p Permit) OK() bool { return p.ID != "" }

// String returns the start, or when to try again, with the deciding reason.
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
	// RetryAfter is the wait that the response requires, 0 if none (see fetch.RetryAfter).
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
// and try again at Permit.NotBefore.
type MissedError struct {
	Permit Permit // refused
	Err    error  // nil, or why the limiter could not reserve the start
}

// Error names the site, when to try again, and the deciding reason.
func (e *MissedError) Error() string {
	s := "the permit for " + e.Permit.Origin.String() + " is no longer usable: ask again at " + e.Permit.String()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *MissedError) Unwrap() error { return e.Err }
