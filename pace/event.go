package pace

import (
	"time"

	"github.com/robotskit/robots"
)

// An Event is a decision of a limiter, or a change of its state, for metrics and logs.
type Event struct {
	Kind   EventKind
	Origin robots.Origin // zero for an event of no site
	Cause  Cause         // the deciding reason, of EventRefused
	// Took is how long after the call the request may start (EventAcquired), how long after
	// it the caller can try again (EventRefused), or how long the server was unreachable
	// (EventUp).
	Took   time.Duration
	Result Result // of EventReleased and EventUnreleased
	// Err is the cause of EventFailed, EventUnreleased and EventDown, and of EventDrained
	// unless an operator drained the worker.
	Err error
}

// EventKind is the kind of an Event: its name in metrics.
type EventKind string

// The kinds.
const (
	EventAcquired   EventKind = "acquired"   // a permit was acquired
	EventRefused    EventKind = "refused"    // there is no permit at present
	EventFailed     EventKind = "failed"     // no decision: the caller gave up, or its deadline is before the start
	EventReleased   EventKind = "released"   // a permit was released
	EventUnreleased EventKind = "unreleased" // a permit could not be released, and expires
	EventDown       EventKind = "down"       // the server of a shared limiter is unreachable
	EventUp         EventKind = "up"         // the server is reachable again
	EventRenewed    EventKind = "renewed"    // the server lost its memory, or might have: its sites rest for one interval
	EventReplaced   EventKind = "replaced"   // other workers assumed that this one died, and its permits have ended
	EventDrained    EventKind = "drained"    // this worker acquires no more permits
	EventResumed    EventKind = "resumed"    // this worker acquires permits again
)

// decided reports to Observe the outcome of a call about an origin that began at a time.
func (o *Options) decided(origin robots.Origin, p *Permit, called time.Time, err error) {
	e := Event{Kind: EventAcquired, Origin: origin, Took: max(p.Start.Sub(called), 0)}
	switch {
	case err != nil:
		e.Kind = EventFailed
		e.Took = 0
		e.Err = err
	case !p.OK():
		e.Kind = EventRefused
		e.Took = max(p.NotBefore.Sub(called), 0)
		e.Cause = p.Reasons[0].Cause
	}
	o.Observe(e)
}
