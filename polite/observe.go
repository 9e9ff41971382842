package polite

import (
	"net/http"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/pace"
)

// An Observer gets the events of a Transport or a PermitTransport, for metrics and logs. It is
// called from many goroutines, so it must be fast, and must not use the transport. An event refers
// to its record or to the file that refused the request: keep its text or its kind, not the event. An
// Observer is a fleet.Observer too.
type Observer interface {
	Cache(e cache.Event) // records, and the fetches for them
	Pace(e pace.Event)   // permits, and their refusals
	Request(e Event)     // requests that started or were refused
}

// An Event is what happened to a request.
type Event struct {
	Kind EventKind
	URL  string // without a password
	// Took is how long a request waited since RoundTrip was called, for robots.txt, the permit
	// and the address (EventStarted).
	Took time.Duration
	// Err is why a request was not sent, a *DisallowedError for EventDisallowed, or what is
	// wrong with its User-Agent.
	Err error
}

// EventKind is the kind of an Event: its name in metrics.
type EventKind string

// The kinds.
const (
	EventStarted    EventKind = "started"    // a request is written next; one that net/http repeats starts again
	EventDisallowed EventKind = "disallowed" // by robots.txt, or while that is unreachable
	// EventUnsent is a request that was not sent: its context ended, or its deadline is before the
	// start, or it is invalid.
	EventUnsent EventKind = "unsent"
	// EventOtherAgent is a request whose own User-Agent names another crawler than the one whose
	// rules are obeyed. It is reported once.
	EventOtherAgent EventKind = "other-agent"
)

// of returns the event of a request.
func (e Event) of(req *http.Request) Event {
	if req.URL != nil {
		e.URL = req.URL.Redacted()
	}
	return e
}

// unobserved is the Observer of transports without one.
type unobserved struct{}

func (unobserved) Cache(cache.Event) {}
func (unobserved) Pace(pace.Event)   {}
func (unobserved) Request(Event)     {}
