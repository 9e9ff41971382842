package cache

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// An Event is something worth counting or logging. The package itself does
// neither.
type Event struct {
	Kind   Kind
	Origin robots.Origin // zero for ClockMoved
	// Record is what was answered or fetched, nil if there is none.
	Record *fetch.Record
	// Took is how long the caller waited, or how long the fetch took. Of ClockMoved
	// it is how far the wall clock moved, negative if backward.
	Took time.Duration
	// Err is what went wrong in FetchFailed, StoreFailed and Fenced.
	Err error
}

// Kind is the kind of an Event.
type Kind uint8

const (
	// Hit: an answer that needed no fetch.
	Hit Kind = iota + 1
	// Waited: an answer for which the caller waited, a fetch or the store.
	Waited
	// Stale: an old answer, because the fetch took longer than Options.StaleWait
	// or failed.
	Stale
	// Ahead: a fetch has begun before the end of the answer in use.
	Ahead
	// Fetched: a fetch ended with a record, good or not.
	Fetched
	// FetchFailed: the Fetcher returned an error.
	FetchFailed
	// StoreFailed: the store returned an error; the cache went on without it.
	StoreFailed
	// Fenced: the fetched record was not kept, as the holder of a later lease had
	// written.
	Fenced
	// ClockMoved: the wall clock jumped and the records moved with it.
	ClockMoved
)

var kinds = [...]string{"", "hit", "waited", "stale", "ahead", "fetched", "fetch-failed", "store-failed", "fenced", "clock-moved"}

// String returns the kind's name in metrics, such as "store-failed".
func (k Kind) String() string {
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
	c.observe(Event{Kind: StoreFailed, Origin: origin, Err: err})
}
