package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A Fetcher fetches robots.txt files concurrently and limits its fetches; *fetch.Client is
// one. A response or failure of the site is a Record. An error means that the origin cannot be
// fetched, or that ctx ended, after which it returns soon; it is not kept. If it has a method
// FetchAfter like that of *fetch.Client, the Cache takes the lock of its store after the wait
// for a connection.
type Fetcher interface {
	Fetch(ctx context.Context, origin robots.Origin) (*fetch.Record, error)
}

// waiter is a Fetcher that waits for a connection before it calls before.
type waiter interface {
	FetchAfter(ctx context.Context, origin robots.Origin, before func() error) (*fetch.Record, error)
}

// Options configure a Cache. The zero value keeps records in memory and fetches with a
// fetch.Client of zero Options.
type Options struct {
	// Fetcher fetches: a fetch.Client with zero Options if nil.
	Fetcher Fetcher
	// Store keeps records that do not fit into memory, and outlives the process. Without one,
	// a site whose record was dropped from memory has no last good response.
	Store Store
	// Memory limits the records in memory and the rules made from them, in bytes: 64 MiB if 0, which
	// hold about 40,000 sites with usual files, or 20,000 with files of 11 KB. Records that were
	// not used lately are deflated, and then dropped: their sites are fetched again
	// (EventEvicted). With a Store they are read again from there, and the size affects only the
	// speed.
	Memory int64
	// StaleWait is how long a caller waits for a fetch before it gets a record that has expired
	// less than 24 hours ago: 1.8 s (RFC 8767 section 5).
	StaleWait time.Duration
	// Keep is how long the store keeps a record that is not renewed: 90 days. The last good
	// response is lost in a longer outage.
	Keep time.Duration
	// KeepOnce is how long the store keeps the first good response of a site until it is
	// requested again: 14 days, or Keep if that is less. A large crawl needs most sites only
	// once.
	KeepOnce time.Duration
	// FetchLimit is the timeout of a fetch: one minute, twice that of fetch.Client; at
	// most a day. A lock lasts a tenth longer. The wait for the first connection does
	// not count, the wait after a redirect does.
	FetchLimit time.Duration
	// UseToEnd returns a record until it expires. Otherwise a request in the last fifth of its
	// lifetime starts a new fetch in the background, so that a crawler never waits; a program
	// that ends soon would fetch for nothing.
	UseToEnd bool
	// Observe is called with each event, by the goroutines that return records and fetch. It
	// must be fast and safe for concurrent use.
	Observe func(Event)
}

func (o Options) filled() Options {
	if o.Fetcher == nil {
		o.Fetcher = standard()
	}
	o.Memory = cmp.Or(o.Memory, 64<<20)
	o.StaleWait = cmp.Or(o.StaleWait, 1800*time.Millisecond)
	o.Keep = cmp.Or(o.Keep, keepDefault)
	o.KeepOnce = min(cmp.Or(o.KeepOnce, keepOnceDefault), o.Keep)
	o.FetchLimit = min(cmp.Or(o.FetchLimit, time.Minute), 24*time.Hour)
	return o
}

const (
	keepDefault     = 90 * 24 * time.Hour
	keepOnceDefault = 14 * 24 * time.Hour
)

// standard is the client of all caches without a Fetcher. They share its limits.
var standard = sync.OnceValue(func() *fetch.Client {
	c, _ := fetch.New(fetch.Options{}) // no error: the zero Options are valid
	return c
})

// A Cache returns the robots.txt of any origin and fetches as rarely as possible. It is safe
// for concurrent use.
type Cache struct {
	options      Options
	locker       Locker // Options.Store, if it is a Locker
	memory       *memory
	flights      singleflight.Group
	writes       *semaphore.Weighted
	aheadFlights atomic.Int64    // flights in the background
	ctx          context.Context // ends with Close
	cancel       context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // flights
}

// New returns a cache. The error names the invalid option.
func New(o Options) (*Cache, error) {
	o = o.filled()
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"memory", o.Memory},
		{"stale wait", int64(o.StaleWait)},
		{"keep", int64(o.Keep)},
		{"keep once", int64(o.KeepOnce)},
		{"fetch limit", int64(o.FetchLimit)},
	} {
		if v.value < 0 {
			return nil, fmt.Errorf("cache option %s is %d: it must not be negative, 0 is the default", v.name, v.value)
		}
	}
	c := &Cache{options: o, writes: semaphore.NewWeighted(maxWrites)}
	var evicted func(robots.Origin)
	if o.Store == nil {
		var once sync.Once
		evicted = func(origin robots.Origin) {
			once.Do(func() { c.observe(Event{Kind: EventEvicted, Origin: origin}) })
		}
	}
	c.memory = newMemory(o.Memory, evicted)
	c.locker, _ = o.Store.(Locker)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Get returns the record of an origin: from memory or the store while that is valid, else from
// a fetch. The package comment says how long a caller waits. The record is shared and must not
// be changed. A failure of the site is a record; an error means that ctx ended first or that
// the origin cannot be fetched.
func (c *Cache) Get(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	it, _, err := c.get(ctx, origin)
	if err != nil {
		return nil, err
	}
	return c.marked(it.Record), nil
}

// A Crawler is the crawler whose rules a Cache keeps. It must not be changed after its first
// use.
type Crawler struct {
	Dialect robots.Dialect
	Tokens  []string // product tokens, most specific first
	Failure fetch.Policy
}

// Rules returns the rules of a crawler for an origin, as Record.Rules does, and the record;
// errors are those of Get. The rules of the last four crawlers are kept with the record until
// they change or it is deflated. They count against [Options.Memory].
func (c *Cache) Rules(ctx context.Context, origin robots.Origin, crawler *Crawler) (*robots.Rules, *fetch.Record, error) {
	it, now, err := c.get(ctx, origin)
	if err != nil {
		return nil, nil, err
	}
	r := c.marked(it.Record)
	return c.memory.rules(it, r, crawler, now), r, nil
}

// get returns the item with the record, and the current time in nanoseconds since 1970.
func (c *Cache) get(ctx context.Context, origin robots.Origin) (it *item, now int64, err error) {
	if origin.IsZero() {
		return nil, 0, errNoOrigin
	}
	began := time.Now()
	if it := c.memory.get(origin); it != nil {
		switch it.phase(began.UnixNano()) {
		case ahead:
			if !c.options.UseToEnd {
				c.refreshAhead(ctx, it)
			}
			fallthrough
		case fresh:
			c.observe(Event{Kind: EventHit, Origin: origin, Record: it.Record})
			return it, began.UnixNano(), nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("robots.txt of %s: %w", origin, err)
	}
	it, kind, err := c.wait(ctx, origin)
	if err != nil {
		return nil, 0, fmt.Errorf("robots.txt of %s: %w", origin, err)
	}
	c.observe(Event{Kind: kind, Origin: origin, Record: it.Record, Took: time.Since(began)})
	return it, time.Now().UnixNano(), nil
}

var errNoOrigin = errors.New("the origin is empty: make one with robots.ParseURL of a URL such as https://example.com/")

// Refresh fetches the robots.txt of an origin even if its record is fresh, and returns the new
// record. It joins a fetch in progress.
func (c *Cache) Refresh(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	if origin.IsZero() {
		return nil, errNoOrigin
	}
	for began := time.Now(); ; {
		select {
		case got := <-c.join(ctx, origin, none):
			if got.Err != nil {
				return nil, fmt.Errorf("refresh of %s: %w", origin, got.Err)
			}
			// A flight that had already begun might have found a record, or fetched before.
			if l := got.Val.(flightResult); !l.fetched.Before(began) {
				return c.marked(l.item.Record), nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("refresh of %s: %w", origin, ctx.Err())
		}
	}
}

// Forget deletes the record of an origin in memory and in the store, with its last good
// response and its outage.
func (c *Cache) Forget(ctx context.Context, origin robots.Origin) error {
	c.memory.drop(origin)
	if c.options.Store == nil {
		return nil
	}
	if err := c.options.Store.Delete(ctx, origin); err != nil {
		return fmt.Errorf("forget %s: %w", origin, err)
	}
	return nil
}

// marked returns r, or a copy marked as degraded while the shared store is down for its
// origin.
func (c *Cache) marked(r *fetch.Record) *fetch.Record {
	if c.locker == nil || !c.locker.Down(r.Origin) {
		return r
	}
	m := *r
	m.Degraded = true
	return &m
}

// Usage returns the number of origins in memory and their approximate size in bytes.
func (c *Cache) Usage() (origins int, bytes int64) { return c.memory.usage() }

// Close ends fetches in progress and waits until fetched records are stored. It does not close
// the store. Callers that wait for a fetch get a stale record if there is one, else ErrClosed.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.running.Wait()
	return nil
}
