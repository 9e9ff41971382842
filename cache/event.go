package cache

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// An Event is something to count or log.
type Event struct {
	Kind   EventKind
	Origin robots.Origin
	// Record is the returned or fetched record, nil if there is none.
	Record *fetch.Record
	// Took is how long the caller waited, or how long the fetch took.
	Took time.Duration
	// Err is the error of EventFetchFailed, EventStoreFailed and EventFenced.
	Err error
}

// EventKind is the kind of an Event.
type EventKind uint8

const (
	EventHit         EventKind = iota + 1 // a record was returned without a wait
	EventWaited                           // a record was returned after a wait for a fetch or for the store
	EventStale                            // a stale record was returned, as the fetch failed or took longer than Options.StaleWait
	EventAhead                            // a background fetch started before the record expired
	EventFetched                          // a fetch ended with a record, good or not
	EventFetchFailed                      // the Fetcher returned an error
	EventStoreFailed                      // the store returned an error; the cache continued without it
	EventFenced                           // the record was not stored, as the holder of a later lock has written
	EventEvicted                          // the first record was dropped from a full memory before it expired, and there is no store: sites are fetched more often than once in a lifetime
)

var kinds = [...]string{"", "hit", "waited", "stale", "ahead", "fetched", "fetch-failed", "store-failed", "fenced", "evicted"}

// String returns the name in metrics, such as "store-failed".
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
