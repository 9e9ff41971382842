package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A Fetcher fetches robots.txt files; *fetch.Client is one. A response or failure of the site
// is a Record; an error means that the origin cannot be fetched at all, or that ctx ended
// first, and is not kept. A Fetcher must be safe for concurrent use, return soon after ctx is
// done, and limit its concurrent fetches: a Cache starts one for each origin that its callers
// ask for.
//
// If it has a method FetchAfter like that of *fetch.Client, the Cache takes the lock of its
// store after the wait for a connection, and that wait does not count against
// Options.FetchLimit.
type Fetcher interface {
	Fetch(ctx context.Context, origin robots.Origin) (*fetch.Record, error)
}

// waiter is a Fetcher that waits for a connection before it calls before.
type waiter interface {
	FetchAfter(ctx context.Context, origin robots.Origin, before func() error) (*fetch.Record, error)
}

// Options are the settings of a Cache. The zero value is a cache in memory that
// fetches with a fetch.Client of zero Options.
type Options struct {
	Fetcher Fetcher
	// Store keeps what memory has no room for, and outlives the process. Without
	// one, a site whose record was dropped from memory has no last good answer.
	Store Store
	// Memory bounds the records in memory, with the rules made of them, in bytes: 64 MiB.
	Memory int64
	// Floor and Ceiling bound the life of a good answer, whatever the site says:
	// 5 minutes and 24 hours (D-28). RFC 9309 section 2.4 allows no longer life.
	Floor, Ceiling time.Duration
	// StaleWait is how long a caller waits for a fetch if there is an old answer:
	// 1.8 s (RFC 8767 section 5).
	StaleWait time.Duration
	// StaleMost is how long after its end an answer may be given in that way: 24
	// hours.
	StaleMost time.Duration
	// Keep is how long the store is asked to keep a record that is not renewed: 90
	// days. A last good answer is lost when an outage lasts longer.
	Keep time.Duration
	// KeepOnce is how long for a good answer of a site of which the store has none before,
	// as long as nobody asks for it again: 14 days, or Keep if that is less. Of most sites
	// a large crawl wants one answer.
	KeepOnce time.Duration
	// FetchLimit is the timeout of a fetch: one minute, twice that of fetch.Client; at
	// most a day. A lock lasts a tenth longer. The wait for the first connection does
	// not count, the wait after a redirect does.
	FetchLimit time.Duration
	// UseToEnd answers with a record until its end. Otherwise a request in the last
	// fifth of its life gets it too, and it is fetched anew meanwhile: a crawler then
	// never waits, but a program that ends soon would ask the site for nothing.
	UseToEnd bool
	// Observe is called with each event, by the goroutines that answer and fetch:
	// it must be quick and safe for concurrent use.
	Observe func(Event)
}

func (o Options) filled() Options {
	if o.Fetcher == nil {
		o.Fetcher = standard()
	}
	o.Memory = cmp.Or(o.Memory, 64<<20)
	o.Floor = cmp.Or(o.Floor, fetch.LifeFloor)
	o.Ceiling = cmp.Or(o.Ceiling, fetch.LifeCeiling)
	o.StaleWait = cmp.Or(o.StaleWait, 1800*time.Millisecond)
	o.StaleMost = cmp.Or(o.StaleMost, 24*time.Hour)
	o.Keep = cmp.Or(o.Keep, keepDefault)
	o.KeepOnce = min(cmp.Or(o.KeepOnce, keepOnceDefault), o.Keep)
	o.FetchLimit = min(cmp.Or(o.FetchLimit, time.Minute), 24*time.Hour)
	return o
}

const (
	keepDefault     = 90 * 24 * time.Hour
	keepOnceDefault = 14 * 24 * time.Hour
)

// standard is the client of every cache without one of its own. They share it, so
// that its bounds are those of the process.
var standard = sync.OnceValue(func() *fetch.Client {
	c, _ := fetch.New(fetch.Options{}) // no error: the zero Options are valid
	return c
})

// A Cache has the robots.txt of any origin and fetches as rarely as possible. It is
// safe for concurrent use.
type Cache struct {
	o       Options
	locker  Locker // Options.Store if it is one
	hot     *memory
	flights singleflight.Group
	storing sync.Map        // robots.Origin to a channel that is closed when its record is stored
	early   atomic.Int64    // the flights that nobody waits for
	writes  atomic.Int64    // in progress
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// New returns a cache. The error says which option cannot be used.
func New(o Options) (*Cache, error) {
	o = o.filled()
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"memory", o.Memory}, {"floor", int64(o.Floor)}, {"ceiling", int64(o.Ceiling)}, {"stale wait", int64(o.StaleWait)},
		{"stale most", int64(o.StaleMost)}, {"keep", int64(o.Keep)}, {"keep once", int64(o.KeepOnce)}, {"fetch limit", int64(o.FetchLimit)},
	} {
		if v.value < 0 {
			return nil, fmt.Errorf("cache option %s is %d: it must not be negative, 0 is the default", v.name, v.value)
		}
	}
	if o.Floor > o.Ceiling {
		return nil, fmt.Errorf("cache option floor is %v: it must not be above the ceiling of %v", o.Floor, o.Ceiling)
	}
	c := &Cache{o: o, hot: newMemory(o.Memory)}
	c.locker, _ = o.Store.(Locker)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Get returns the record of an origin: the one in memory or store while that may be
// used, else the one that a fetch brings. The package comment says how long a caller
// waits. The record is shared and must not be changed.
//
// The error is that of ctx, if ctx ended before there was an answer, or says that the
// origin cannot be asked. A site in trouble is a record and no error.
func (c *Cache) Get(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	it, _, err := c.get(ctx, origin)
	if err != nil {
		return nil, err
	}
	return c.marked(it.Record), nil
}

// A Crawler is whose rules a Cache keeps. It must not change once they were asked for.
type Crawler struct {
	Dialect robots.Dialect
	Tokens  []string // product tokens, the most wanted first
	Failure fetch.Policy
}

// Rules returns the record of an origin, as Get does and with its errors, and what it says
// to a crawler, as Record.Rules does. The rules of the last four crawlers who asked are kept
// beside the record: they are made once, count against [Options.Memory], and go when the
// record does or when they hold no longer.
func (c *Cache) Rules(ctx context.Context, origin robots.Origin, crawler *Crawler) (*robots.Rules, *fetch.Record, error) {
	it, now, err := c.get(ctx, origin)
	if err != nil {
		return nil, nil, err
	}
	r := c.marked(it.Record)
	return c.hot.rules(it, r, crawler, now.Round(0)), r, nil
}

// get is Get. It returns the item that has the record, and the time of the answer.
func (c *Cache) get(ctx context.Context, origin robots.Origin) (*item, time.Time, error) {
	if origin.IsZero() {
		return nil, time.Time{}, errNoOrigin
	}
	began := time.Now()
	if it := c.hot.get(origin); it != nil {
		switch c.phase(it.Record, began) {
		case ahead:
			c.refreshAhead(ctx, it)
			fallthrough
		case fresh:
			c.observe(Event{Kind: EventHit, Origin: origin, Record: it.Record})
			return it, began, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, began, fmt.Errorf("robots.txt of %s: %w", origin, err)
	}
	it, kind, err := c.wait(ctx, origin)
	if err != nil {
		return nil, began, fmt.Errorf("robots.txt of %s: %w", origin, err)
	}
	now := time.Now()
	c.observe(Event{Kind: kind, Origin: origin, Record: it.Record, Took: now.Sub(began)})
	return it, now, nil
}

var errNoOrigin = errors.New("the origin is empty: make one with robots.ParseURL of a URL such as https://example.com/")

// Refresh fetches the robots.txt of an origin now, however fresh the answer is, and
// returns the new record. If a fetch is under way it waits for that one.
func (c *Cache) Refresh(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	if origin.IsZero() {
		return nil, errNoOrigin
	}
	for {
		select {
		case got := <-c.join(ctx, origin, flightPlan{force: true}):
			if got.Err != nil {
				return nil, fmt.Errorf("refresh of %s: %w", origin, got.Err)
			}
			if l := got.Val.(landing); l.fetched { // else the flight had begun for another, and found an answer
				return c.marked(l.item.Record), nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("refresh of %s: %w", origin, ctx.Err())
		}
	}
}

// Forget deletes the record of an origin in memory and in the store, with its last
// good answer and its outage.
func (c *Cache) Forget(ctx context.Context, origin robots.Origin) error {
	c.hot.drop(origin)
	if c.o.Store == nil {
		return nil
	}
	if err := c.o.Store.Delete(ctx, origin); err != nil {
		return fmt.Errorf("forget %s: %w", origin, err)
	}
	return nil
}

// marked returns r, while the shared store is down for its origin a copy that is marked as
// degraded.
func (c *Cache) marked(r *fetch.Record) *fetch.Record {
	if c.locker == nil || !c.locker.Down(r.Origin) {
		return r
	}
	m := *r
	m.Degraded = true
	return &m
}

// Usage returns how many origins are in memory, and about how many bytes they take.
func (c *Cache) Usage() (origins int, bytes int64) { return c.hot.usage() }

// Close ends the fetches under way and waits until what was fetched is stored. It
// leaves the store open. Callers that wait for a fetch get the old answer if there
// is one, else ErrClosed.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.running.Wait()
	return nil
}
