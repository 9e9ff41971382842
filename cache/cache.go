package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A Fetcher gets one robots.txt. Whatever the site does is a Record. An error means
// that the origin cannot be asked at all, or that ctx ended first; it is not kept.
// A Fetcher must be safe for concurrent use and return soon after ctx is done.
// *fetch.Client is one.
//
// The Fetcher must bound how many fetches are under way: a Cache asks it for as many
// origins at a time as its callers ask for. fetch.Options has the bounds of
// *fetch.Client.
type Fetcher interface {
	Fetch(ctx context.Context, origin robots.Origin) (*fetch.Record, error)
}

// An Arriver is a Fetcher that waits for a free connection apart from the fetch, as
// *fetch.Client can. A Cache then takes the lease after that wait. It leaves the
// visit when the record is stored, so a slow store slows down later fetches. With a
// plain Fetcher the lease is held during the wait, which counts against
// Options.FetchLimit.
type Arriver interface {
	Fetcher
	Arrive(ctx context.Context, origin robots.Origin) (fetch.Visit, error)
}

// Options are the settings of a Cache. The zero value is a cache in memory that
// fetches with a fetch.Client of zero Options.
type Options struct {
	Fetcher Fetcher
	// Store keeps what memory has no room for, and outlives the process. Without
	// one, a site whose record was dropped from memory has no last good answer.
	Store Store
	// Memory bounds the records in memory, with what views have made of them, in
	// bytes: 64 MiB.
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
	// FetchLimit is how long a fetch may take before the cache gives it up: one
	// minute, twice what fetch.Client allows itself; at most a day. A lease lasts a
	// tenth longer. The wait of an Arriver does not count, but the wait for an
	// address that a redirect leads to does.
	FetchLimit time.Duration
	// UseToEnd answers with a record until its end. Otherwise who asks in the last
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
	o      Options
	leaser Leaser // Options.Store if it is one
	remote Remote // Options.Store if it is one
	hot    *Memory
	clock  *clock
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	flights map[robots.Origin]*flight
	early   int // the flights that nobody waits for
	running sync.WaitGroup
}

// New returns a cache. The error says which option cannot be used.
func New(o Options) (*Cache, error) { return newCache(o, nil) }

// newCache takes the wall clock of tests in which it jumps.
func newCache(o Options, wall func() time.Time) (*Cache, error) {
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
	c := &Cache{
		o:       o,
		hot:     NewMemory(o.Memory),
		flights: map[robots.Origin]*flight{},
	}
	c.leaser, _ = o.Store.(Leaser)
	c.remote, _ = o.Store.(Remote)
	c.clock = newClock(wall, func(d time.Duration) { c.observe(Event{Kind: EventClockMoved, Took: d}) })
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
	r, _, _, err := c.get(ctx, origin)
	return r, err
}

// get is Get. It also returns the item in memory that has the record, nil if none
// has, and the time of the answer.
func (c *Cache) get(ctx context.Context, origin robots.Origin) (r *fetch.Record, it *item, now time.Time, err error) {
	if origin.IsZero() {
		return nil, nil, now, errNoOrigin
	}
	now, epoch := c.clock.now()
	if it = c.held(origin, now, epoch); it != nil {
		p := fresh
		if !now.Before(it.fresh) {
			p = c.phase(it.Record, now)
		}
		switch p {
		case ahead:
			c.refreshAhead(ctx, origin)
			fallthrough
		case fresh:
			r = c.marked(it.Record)
			c.observe(Event{Kind: EventHit, Origin: origin, Record: r})
			return r, it, now, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, now, fmt.Errorf("robots.txt of %s: %w", origin, err)
	}
	f, err := c.join(ctx, origin, flightPlan{})
	if err != nil {
		return nil, nil, now, err
	}
	began := time.Now()
	kept, kind, err := c.wait(ctx, f)
	if err != nil {
		return nil, nil, now, err
	}
	if it = c.hot.find(origin); it != nil && it.Record != kept {
		it = nil
	}
	r = c.marked(kept)
	c.observe(Event{Kind: kind, Origin: origin, Record: r, Took: time.Since(began)})
	now, _ = c.clock.now()
	return r, it, now, nil
}

var errNoOrigin = errors.New("the origin is empty: make one with robots.ParseURL of a URL such as https://example.com/")

// Refresh fetches the robots.txt of an origin now, however fresh the answer is, and
// returns the new record. If a fetch is under way it waits for that one.
func (c *Cache) Refresh(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	if origin.IsZero() {
		return nil, errNoOrigin
	}
	for {
		f, err := c.join(ctx, origin, flightPlan{force: true})
		if err != nil {
			return nil, err
		}
		if !isClosed(f.answered) {
			select {
			case <-f.answered:
				err = f.err
			case <-ctx.Done():
				err = ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("refresh of %s: %w", origin, err)
			}
			if f.fetched {
				return c.marked(c.adjusted(f.answer)), nil
			}
		}
		// It fetched before this call, or found an answer without a fetch.
		select {
		case <-f.ended:
		case <-ctx.Done():
			return nil, fmt.Errorf("refresh of %s: %w", origin, ctx.Err())
		}
	}
}

// Forget deletes the record of an origin in memory and in the store, with its last
// good answer and its outage.
func (c *Cache) Forget(ctx context.Context, origin robots.Origin) error {
	err := c.hot.Delete(ctx, origin)
	if c.o.Store != nil && err == nil {
		err = c.o.Store.Delete(ctx, origin)
	}
	if err != nil {
		return fmt.Errorf("forget %s: %w", origin, err)
	}
	return nil
}

// marked returns r, while the shared store is down for its origin a copy that is marked as
// degraded.
func (c *Cache) marked(r *fetch.Record) *fetch.Record {
	if r == nil || c.remote == nil || !c.remote.Down(r.Origin) {
		return r
	}
	m := *r
	m.Degraded = true
	return &m
}

// Usage returns how much is in memory.
func (c *Cache) Usage() Usage { return c.hot.Usage() }

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

// held returns what is in memory, with its times in the present epoch, nil if
// nothing is.
func (c *Cache) held(origin robots.Origin, now time.Time, epoch uint64) *item {
	it := c.hot.held(origin)
	if it != nil && it.Epoch != epoch {
		it = c.hot.replace(it, c.clock.adjust(it.Entry, now, epoch), c.o.Keep)
	}
	return it
}
