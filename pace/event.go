package pace

import (
	"time"

	"github.com/robotskit/robots"
)

// An Event is something worth counting or logging about a limiter, which itself does
// neither.
type Event struct {
	Kind   Kind
	Origin robots.Origin // zero where it is about no site
	// Cause is the deciding reason of Refused.
	Cause Cause
	// Took is: of Granted how long after the call the request may start; of Refused how
	// long after it the caller may ask again; of Up how long the server was away.
	Took time.Duration
	// Result is what came of a grant that was given back: Returned and Unreturned.
	Result Result
	// Err is what went wrong in Failed, Unreturned and Down, and in Drained if it is not an
	// operator's doing.
	Err error
}

// Kind is the kind of an Event: a closed set.
type Kind uint8

const (
	// Granted: a caller got a grant.
	Granted Kind = iota + 1
	// Refused: there is no grant for now.
	Refused
	// Failed: a decision ended with an error: the caller gave up, or its deadline is
	// before the start, or the server is out of reach.
	Failed
	// Returned: a grant was given back.
	Returned
	// Unreturned: it could not be, and ends by its time.
	Unreturned
	// Down: the server of a shared limiter is out of reach from now on.
	Down
	// Up: it is back.
	Up
	// Renewed: the server has lost its memory, or may have. The sites that it kept
	// rest for one interval.
	Renewed
	// Replaced: the others took this worker for gone, and its grants have ended.
	Replaced
	// Drained: this worker takes no grants any more, as an operator has told it, or Err says.
	Drained
	// Resumed: that is over.
	Resumed
)

var kinds = [...]string{"", "granted", "refused", "failed", "returned", "unreturned", "down", "up", "renewed", "replaced", "drained", "resumed"}

// String returns the name of the kind in metrics, such as "granted".
func (k Kind) String() string {
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
	e := Event{Kind: Granted, Origin: origin, Took: max(g.Start.Sub(asked), 0)}
	switch {
	case err != nil:
		e.Kind, e.Took, e.Err = Failed, 0, err
	case !g.OK():
		e.Kind = Refused
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
	kind := Returned
	if err != nil {
		kind = Unreturned
	}
	o.Observe(Event{Kind: kind, Origin: g.Key.Origin, Result: r, Err: err})
}
