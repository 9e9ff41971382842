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
	// EventHit is a record that was returned without a wait.
	EventHit EventKind = iota + 1
	// EventWaited is a record that was returned after a wait for a fetch or for the store.
	EventWaited
	// EventStale is a stale record that was returned, as the fetch failed or took longer than
	// Options.StaleWait.
	EventStale
	// EventAhead is a background fetch that started before the record expired.
	EventAhead
	// EventFetched is a fetch that ended with a record, good or not.
	EventFetched
	// EventFetchFailed is an error of the Fetcher.
	EventFetchFailed
	// EventStoreFailed is an error of the store. The cache continues without it.
	EventStoreFailed
	// EventFenced is a record that was not stored, as the holder of a later lock has written.
	EventFenced
	// EventEvicted is the first record that was dropped from a full memory before it expired, without
	// a store: sites are fetched more often than once in a lifetime.
	EventEvicted
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
	if c.options.Observe != nil {
		c.options.Observe(e)
	}
}

func (c *Cache) storeFailed(origin robots.Origin, err error) {
	c.observe(Event{Kind: EventStoreFailed, Origin: origin, Err: err})
}
