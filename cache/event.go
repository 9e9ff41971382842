package cache

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// An Event is something worth counting or logging. The package itself does
// neither.
type Event struct {
	Kind   EventKind
	Origin robots.Origin
	// Record is what was answered or fetched, nil if there is none.
	Record *fetch.Record
	// Took is how long the caller waited, or how long the fetch took.
	Took time.Duration
	// Err is what went wrong in EventFetchFailed, EventStoreFailed and EventFenced.
	Err error
}

// EventKind is the kind of an Event: a closed set.
type EventKind uint8

const (
	EventHit         EventKind = iota + 1 // an answer that needed no fetch
	EventWaited                           // an answer for which the caller waited: for a fetch, or for the store
	EventStale                            // an old answer, as the fetch took longer than Options.StaleWait, or failed
	EventAhead                            // a fetch has begun before the end of the answer in use
	EventFetched                          // a fetch ended with a record, good or not
	EventFetchFailed                      // the Fetcher returned an error
	EventStoreFailed                      // the store returned an error, and the cache went on without it
	EventFenced                           // the record was not kept, as the holder of a later lease had written
)

var kinds = [...]string{"", "hit", "waited", "stale", "ahead", "fetched", "fetch-failed", "store-failed", "fenced"}

// String returns the kind's name in metrics, such as "store-failed".
func (k EventKind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return ""
}

func (c *Cache) observe(e Event) {
	if c.o.Observe != nil {
		c.o.Observe(e)
	}
}

func (c *Cache) storeFailed(origin robots.Origin, err error) {
	c.observe(Event{Kind: EventStoreFailed, Origin: origin, Err: err})
}
