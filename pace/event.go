package pace

import (
	"time"

	"github.com/robotskit/robots"
)

// An Event is something worth counting or logging about a limiter, which itself does
// neither.
type Event struct {
	Kind   EventKind
	Origin robots.Origin // zero where it is about no site
	// Cause is the deciding reason of EventRefused.
	Cause Cause
	// Took is: of EventGranted how long after the call the request may start; of EventRefused how
	// long after it the caller may ask again; of EventUp how long the server was away.
	Took time.Duration
	// Result is what came of a grant that was given back: EventReturned and EventUnreturned.
	Result Result
	// Err is what went wrong in EventFailed, EventUnreturned and EventDown, and in EventDrained
	// if it is not an operator's doing.
	Err error
}

// EventKind is the kind of an Event: a closed set.
type EventKind uint8

const (
	EventGranted    EventKind = iota + 1 // a caller got a grant
	EventRefused                         // there is no grant for now
	EventFailed                          // no decision: the caller gave up, its deadline is before the start, or the server is out of reach
	EventReturned                        // a grant was given back
	EventUnreturned                      // it could not be, and ends by its time
	EventDown                            // the server of a shared limiter is out of reach from now on
	EventUp                              // it is back
	EventRenewed                         // the server has lost its memory, or may have: the sites that it kept rest for one interval
	EventReplaced                        // the others took this worker for gone, and its grants have ended
	EventDrained                         // this worker takes no grants any more, as an operator has told it, or Err says
	EventResumed                         // that is over
)

var kinds = [...]string{"", "granted", "refused", "failed", "returned", "unreturned", "down", "up", "renewed", "replaced", "drained", "resumed"}

// String returns the name of the kind in metrics, such as "granted".
func (k EventKind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return ""
}

// Tell tells Options.Observe of an event, if it is set. This, Asked, TellDecided and TellDone
// are for implementations of Limiter; they cost nothing if it is not set.
func (o *Options) Tell(e Event) {
	if o.Observe != nil {
		o.Observe(e)
	}
}

// Asked returns the time at which a decision is asked for, for TellDecided: the zero time
// if nobody is told.
func (o *Options) Asked() (asked time.Time) {
	switch {
	case o.Observe == nil:
	case o.Now != nil:
		asked = o.Now()
	default:
		asked = time.Now() //nolint:forbidigo // the default of a clock that is an option
	}
	return asked
}

// TellDecided tells Options.Observe what came of a decision.
func (o *Options) TellDecided(origin robots.Origin, asked time.Time, g Grant, err error) {
	if o.Observe == nil {
		return
	}
	e := Event{Kind: EventGranted, Origin: origin, Took: max(g.Start.Sub(asked), 0)}
	switch {
	case err != nil:
		e.Kind, e.Took, e.Err = EventFailed, 0, err
	case !g.OK():
		e.Kind = EventRefused
		if len(g.Reasons) > 0 {
			e.Cause = g.Reasons[0].Cause
		}
	}
	o.Observe(e)
}

// TellDone tells Options.Observe that a grant was given back, or could not be.
func (o *Options) TellDone(g Grant, r Result, err error) {
	if o.Observe == nil || !g.OK() {
		return
	}
	kind := EventReturned
	if err != nil {
		kind = EventUnreturned
	}
	o.Observe(Event{Kind: kind, Origin: g.Key.Origin, Result: r, Err: err})
}
