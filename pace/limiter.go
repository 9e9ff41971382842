package pace

import (
	"context"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
)

// A Limiter remembers when sites were last asked and hands out the starts of
// requests, one at a time, so that every site is asked no faster than its
// Schedule. NewLocal makes the one for a single process; the contract below is
// written so that stores shared by many can fulfil it, with one atomic step on one
// of their servers for each call.
//
// # Keys
//
// A request takes two steps, each with a pace of its own. Reserve and Wait grant the start
// at an origin, by its schedule. Visit then books the start at the IP address that is
// dialled, or that a kept connection leads to, by Options.AddressInterval, or by
// Options.Addresses for its prefix. The request starts at the later of both. So an address
// need not be known before, and may change. The interval of an origin counts from the end
// of its last response. That of an address counts from the last start that is booked on
// it, since its origins are asked at the same time. A back-off is that of an origin. A
// request of which nobody knows the address is paced by its origin alone.
//
// The schedule belongs to the call and not to the state: a limiter keeps when
// something happened, never what was declared, so that a changed robots.txt holds
// from the next call on. A nil schedule is that of a site that declares nothing.
// A store that cannot call a Schedule works on Schedule.Spans of the next hours.
//
// # State
//
// Of an origin a limiter keeps the end of the last response (the start, as long
// as there is no end), the factor of its back-off, the time before which a
// Retry-After forbids to come, and the grants that are under way; of an address
// the last starts that are booked. A state that is not there is one that never was: the
// request may start at once, if the schedule is open. So a state may be dropped
// only when that is what it would say itself: a whole Schedule.Slowest after the
// last event, with no grant under way, no Retry-After ahead and its back-off
// forgotten (Options.Forget). A limiter that may keep no more states refuses the
// origin that it would have to add (CauseFull) and drops none of the others.
//
// # Time
//
// Of each state there is one clock, that of the limiter or of the server that has it;
// callers send durations and never times of their clocks. In one process that is the
// monotonic clock for intervals and the wall clock for windows; a shared store uses its
// own clock for both. A clock that jumps may make a caller wait longer. It never makes a
// start earlier than an interval after the last event that the limiter knows of.
//
// # Grants
//
// A Grant with a start is the right to start one request at Start or soon after, once its
// address is booked. Every such grant is given back by exactly one Done: with what came of
// it, or as never used. One that is not given back until Grant.Until is taken to have
// ended then, so that a dead caller delays a site and does not
// close it. A limiter that many processes share may end it as soon as it knows that
// the process is gone. A Done for such a grant, or a second one, changes no grant, and
// what it says about the site still counts.
//
// A process that was stopped does not know that its grants were ended meanwhile. So Visit
// ends with a look at the grant; who sends later asks Valid as the last thing before the
// request. If it returns false, give the grant back as never used and wait for another.
//
// # Addresses
//
// A start that is booked at an address is never given back: one that is not used, because
// its caller died or its reply was lost, costs the address one gap. Done touches the origin
// alone. At an address pages are AddressInterval apart. A fetch of robots.txt
// (fetch.Starts) is FetchInterval from every other start, between the pages that are
// booked, where these leave room: so robots.txt waits for one page and not for a crowd.
//
// # Atomicity
//
// Reserve is one atomic step over the origin: of two calls at the same time one sees the
// other's grant. So is Done, and so is a booking at an address. There is no step over
// both: what holds of the pair is that the spacing of each is never violated, and that a
// caller that dies between them costs the origin its grant's time, as one that dies with a
// request under way, and the address one gap at most. NotBefore changes
// nothing. Wait is what a caller could build out of Reserve and a timer; it is
// part of the contract because a limiter can do it better: callers of one origin
// are served in the order of their arrival, as far as the limiter knows it, and a
// caller that gives up delays nobody.
//
// # Errors
//
// An error means that the call could not be done: the context ended, or the
// store is down. It never means permission; what a caller does without its
// limiter is the caller's policy. That a site is not ready is no error but a Turn.
// After an error of Reserve there is no grant, or one that ends by GrantTimeout where a
// store cannot know.
//
// All methods are safe for concurrent use. A Limiter has no queue of URLs, only of callers
// who wait. Who has such a queue asks a Chooser for many sites at once.
type Limiter interface {
	// Wait returns when the request may start, with its grant, whose Start is then not
	// in the future. It returns an error that wraps
	// context.Cause(ctx) when the context ends first, and a *LateError at once if
	// the context's deadline is before any possible start. There is no grant then.
	Wait(ctx context.Context, key Key, s *Schedule) (Grant, error)

	// Reserve grants the next start if it is at most within from now, and never
	// blocks for it: the caller waits until Grant.Start itself, in Visit or alone. 0 is
	// "now or not at all". If the grant is not OK its Turn says when to ask again, and
	// nothing has changed.
	Reserve(ctx context.Context, key Key, s *Schedule, within time.Duration) (Grant, error)

	// Visit books the next start at the address that the request of a grant goes to,
	// and returns when that has come and the grant's as well: its Turn, and that the
	// request may be sent now. An address without a pace, or the zero one, takes nothing.
	// The error wraps context.Cause(ctx) when the context ends first, and is a *LateError
	// at once if the context's deadline is before the start. It is a *MissedError if the
	// grant cannot be used: the start would come after half of the time that is left of it,
	// or the schedule is closed by then, or the grant is not valid any more. After any
	// error nothing is sent, and the grant is given back as never used.
	Visit(ctx context.Context, g Grant, addr netip.Addr, s *Schedule) (Turn, error)

	// NotBefore returns when a request might start and why, and takes nothing. If the key
	// has an address, that counts too.
	// It is a lower bound: others may come first, and while a request is under
	// way nobody knows when it ends.
	NotBefore(ctx context.Context, key Key, s *Schedule) (Turn, error)

	// Valid reports whether a request may still start on a grant: not where it may
	// have been taken to have ended. It asks nobody and takes no time; a grant that
	// is not OK is not valid.
	Valid(g Grant) bool

	// Done gives a grant back and tells what the site answered. A grant that is
	// not OK is ignored.
	Done(ctx context.Context, g Grant, r Result) error
}

// A Lender is a Limiter that also gives grants to somebody outside the process, such
// as the client of a service. Local and the limiter of pace/redis are ones.
type Lender interface {
	Limiter

	// Lend is Reserve and the booking of Visit in one, for a client that dials for itself.
	// If the key has an address, a start is booked there too, and Start is the later of
	// both. It is at most within from now, or Options.FetchInterval if that is longer, as
	// the robots.txt of the site may just have been fetched. If the address has no start by
	// then, the one at the origin is given back.
	//
	// The grant may be under way for hold after the start at its origin, in place of
	// Options.GrantTimeout: whole seconds, rounded up, from one up to MaxHold. It belongs to
	// no process: it outlives the one that gave it, if the state does, and any limiter on
	// the same state takes it back. One that is not given back by then counts as a request
	// that timed out (Result.Timeout). A Done for one that has ended, or was given back,
	// does nothing.
	Lend(ctx context.Context, key Key, s *Schedule, within, hold time.Duration) (Grant, error)
}

// MaxHold is the longest time for which a grant is lent.
const MaxHold = 12 * time.Hour

// HoldSeconds returns the whole seconds for which a Lender lends for a hold.
func HoldSeconds(hold time.Duration) int {
	hold = min(max(hold, time.Second), MaxHold)
	return int((hold + time.Second - 1) / time.Second)
}

// A Key names what is paced: an origin. The IP address that answers for it, as far as it is
// known before a connection, is for NotBefore and Lend; Reserve and Wait do not look at it.
type Key struct {
	Origin robots.Origin
	Addr   netip.Addr
}

// String returns the origin and the address.
func (k Key) String() string {
	if !k.Addr.IsValid() {
		return k.Origin.String()
	}
	return k.Origin.String() + " at " + k.Addr.String()
}

// A Grant is the right to start one request, or the answer that there is none
// yet.
type Grant struct {
	// ID names the grant in the limiter that gave it, 0 if nothing is granted.
	ID  uint64
	Key Key
	// Turn is when the request may start, or when to ask again, and why.
	Turn
	// Until is when the grant is taken to have ended if it is not given back.
	Until time.Time
}

// OK reports whether there is a grant.
func (g Grant) OK() bool { return g.ID != 0 }

// A Result is what came of a grant. The zero value is a request that failed
// without saying anything about the load of the site, such as a refused
// connection: it counts for the spacing and changes no back-off.
type Result struct {
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// RetryAfter is the wait that the answer asked for in a Retry-After, 0 if it
	// asked for none (see fetch.RetryAfter).
	RetryAfter time.Duration
	// Timeout says that the site did not answer in time.
	Timeout bool
	// Unused says that no request was sent: the start is given back, and no
	// other member counts.
	Unused bool
}

// Overload reports whether the site signalled that it is asked too much: 429,
// 503, or no answer in time, from itself or from the gateway before it (504).
// Other server errors are as likely a broken page as a busy site.
func (r Result) Overload() bool {
	return !r.Unused && (r.Timeout || r.Status == 429 || r.Status == 503 || r.Status == 504)
}

// Recovered reports whether the site gave an answer as usual, by which a back-off
// shrinks.
func (r Result) Recovered() bool {
	return !r.Unused && !r.Timeout && 200 <= r.Status && r.Status < 500 && r.Status != 429
}

// A LateError says that a context's deadline comes before the start. It wraps
// context.DeadlineExceeded.
type LateError struct {
	Key  Key
	Turn Turn
}

// Error names the site, the start and the deciding reason.
func (e *LateError) Error() string {
	return "the next request to " + e.Key.String() + " may start at " + e.Turn.String() + ", after the deadline"
}

// Unwrap returns context.DeadlineExceeded.
func (e *LateError) Unwrap() error { return context.DeadlineExceeded }

// A TakenError says that another worker of the fleet has the site and goes on using it.
type TakenError struct {
	Key    Key
	Worker string    // its name
	Until  time.Time // the end of its lease, if it does not renew that
}

// Error names the site and the worker.
func (e *TakenError) Error() string {
	return e.Key.Origin.String() + " is the site of another worker, " + robots.Printable(e.Worker) + ", until " + e.Until.Format(time.RFC3339) + " at least"
}
