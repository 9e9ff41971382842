package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// storeLimit is the timeout of a store call, so that a failing store delays records that are
// not in memory by this at most.
const storeLimit = 5 * time.Second

// writeLimit is the timeout of a write to the store, for which no caller waits. On a busy machine a
// write can take longer than storeLimit; a record that is given up is fetched again.
const writeLimit = 30 * time.Second

// A flightResult is the result of a flight.
type flightResult struct {
	item    *item
	fetched time.Time // when the fetch ended, zero without one
}

// join returns the channel of the flight of an origin, and begins one if there is none: one
// that fetches unless there is a record in a usable phase or before it. It has the values of
// ctx but does not end with it.
func (c *Cache) join(ctx context.Context, origin robots.Origin, usable phase) <-chan singleflight.Result {
	return c.flights.DoChan(origin.String(), func() (any, error) {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, ErrClosed
		}
		c.running.Add(1)
		c.mu.Unlock()
		defer c.running.Done()
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		return c.runFlight(ctx, origin, usable)
	})
}

// maxAheadFlights limits background flights: a long queue for one address would cost the process more
// than callers that wait later.
const maxAheadFlights = 512

// refreshAhead starts a background flight, if there are not too many.
func (c *Cache) refreshAhead(ctx context.Context, it *item) {
	if it.refreshing.Swap(true) {
		return
	}
	if c.aheadFlights.Add(1) > maxAheadFlights {
		c.aheadFlights.Add(-1)
		it.refreshing.Store(false)
		return
	}
	c.observe(Event{Kind: EventAhead, Origin: it.Record.Origin})
	landed := c.join(ctx, it.Record.Origin, fresh)
	go func() {
		<-landed
		c.aheadFlights.Add(-1)
		it.refreshing.Store(false)
	}()
}

// wait waits for the flight of an origin (EventWaited). After Options.StaleWait it returns the
// record in memory: one that is being stored, or a stale one (EventStale).
func (c *Cache) wait(ctx context.Context, origin robots.Origin) (*item, EventKind, error) {
	results := c.join(ctx, origin, ahead)
	ticker := time.NewTicker(max(c.options.StaleWait, 1))
	defer ticker.Stop()
	for {
		var err error
		select {
		case result := <-results:
			if result.Err == nil {
				return result.Val.(flightResult).item, EventWaited, nil
			}
			err = result.Err
		case <-ctx.Done():
			err = ctx.Err()
		case <-ticker.C: // again, as the store may have taken longer to say what it has
		}
		if it := c.memory.get(origin); it != nil {
			switch it.phase(time.Now().UnixNano()) {
			case fresh, ahead: // the store is slow
				return it, EventWaited, nil
			case due:
				return it, EventStale, nil
			}
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// runFlight returns the record of an origin from memory or the store. If they have no valid record,
// it fetches and stores one.
func (c *Cache) runFlight(ctx context.Context, origin robots.Origin, usable phase) (flightResult, error) {
	f := &flight{cache: c, origin: origin, usablePhase: usable}
	defer f.unlock(ctx)
	defer f.releaseWrite()
	r, err := f.fetch(ctx)
	if f.isAnswer {
		return flightResult{item: f.known}, nil
	}
	if err != nil {
		return flightResult{}, err
	}
	fetched := time.Now()
	e := Entry{Fence: f.token}
	lifetime := c.options.Keep
	if f.known != nil {
		e.Record = recordToStore(r, f.known.Record)
		e.Fence = cmp.Or(f.token, f.known.Fence)
	} else {
		e.Record = recordToStore(r, nil)
		if r.Outcome.Good() { // the site might never be requested again
			lifetime = c.options.KeepOnce
		}
	}
	it := c.memory.put(e)
	// A failure must not overwrite a record that could not be read, which might have a last
	// good answer. A good answer can.
	if c.options.Store != nil && (f.storeRead || e.Record.Outcome.Good()) {
		if !f.holdsWrite {
			f.holdsWrite = c.writes.Acquire(context.WithoutCancel(ctx), 1) == nil // others end by writeLimit
		}
		c.store(ctx, e, lifetime)
	}
	return flightResult{it, fetched}, nil
}

// maxWrites limits the records that are being stored. While there are as many, no fetch begins,
// so that a slow store does not fill the memory. A record counts as soon as its fetch has given
// up its connection: on a busy machine many flights could pause between that and the store.
const maxWrites = 64

// releaseWrite releases the slot of a flight among the maxWrites.
func (f *flight) releaseWrite() {
	if f.holdsWrite {
		f.cache.writes.Release(1)
	}
}

// A flight is an attempt to get the record of an origin.
type flight struct {
	cache       *Cache
	origin      robots.Origin
	usablePhase phase  // a record in this phase or before it is not fetched again
	known       *item  // the record in memory or the store, or nil
	storeRead   bool   // the store was read
	isAnswer    bool   // known needs no fetch
	token       uint64 // of the lock, 0 without one
	holdsWrite  bool   // the flight is one of the maxWrites
}

// A process that finds an origin locked polls after minPollPause, then less often, up to
// maxPollPause.
const (
	minPollPause = 50 * time.Millisecond
	maxPollPause = 500 * time.Millisecond
)

// errAnswered ends a fetch because another process has stored the record.
var errAnswered = errors.New("answered")

// fetch returns once there is a valid record, or this process has fetched.
func (f *flight) fetch(ctx context.Context) (*fetch.Record, error) {
	f.load(ctx)
	for pause := minPollPause; !f.isAnswer; pause = min(2*pause, maxPollPause) {
		r, err := f.request(ctx)
		if !errors.Is(err, ErrLocked) {
			return r, err
		}
		select {
		case <-time.After(pause*3/4 + rand.N(pause/2)):
		case <-ctx.Done():
		}
		f.load(ctx)
	}
	return nil, nil
}

// load reads memory and store.
func (f *flight) load(ctx context.Context) {
	f.known, f.storeRead = f.cache.load(ctx, f.origin)
	f.isAnswer = f.known != nil && f.known.phase(time.Now().UnixNano()) <= f.usablePhase
}

// lock takes the lock of the origin, last of all, so that its holder fetches at once.
func (f *flight) lock(ctx context.Context) error {
	if f.cache.locker == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	token, err := f.cache.locker.Lock(limited, f.origin, f.cache.options.FetchLimit*11/10)
	if errors.Is(err, ErrLocked) {
		return err
	}
	f.token = token
	if err != nil { // an additional fetch does less harm than none
		f.cache.storeFailed(f.origin, err)
	}
	f.load(ctx)
	if f.isAnswer { // another process has fetched meanwhile
		return errAnswered
	}
	return nil
}

func (f *flight) unlock(ctx context.Context) {
	if f.token == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if err := f.cache.locker.Unlock(ctx, f.origin, f.token); err != nil {
		f.cache.storeFailed(f.origin, err)
	}
}

// request fetches from the site, with the lock.
func (f *flight) request(ctx context.Context) (r *fetch.Record, err error) {
	began := time.Now()
	c := f.cache
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tooLong := fmt.Errorf("the fetch took longer than %v: %w", c.options.FetchLimit, context.DeadlineExceeded)
	before := func() error {
		if err := c.writes.Acquire(ctx, 1); err != nil {
			return err
		}
		c.writes.Release(1)
		if err := f.lock(ctx); err != nil {
			return err
		}
		began = time.Now()
		timeout := time.AfterFunc(c.options.FetchLimit, func() { cancel(tooLong) })
		context.AfterFunc(limited, func() { timeout.Stop() })
		return nil
	}
	if w, ok := c.options.Fetcher.(waiter); ok {
		r, err = w.FetchAfter(limited, f.origin, before)
	} else if err = before(); err == nil {
		r, err = c.options.Fetcher.Fetch(limited, f.origin)
	}
	f.holdsWrite = err == nil && c.writes.TryAcquire(1)
	switch {
	case f.isAnswer || errors.Is(err, ErrLocked):
		return nil, err
	case err == nil && r == nil:
		err = errors.New("the fetcher returned neither a record nor an error")
	case err == nil && (r.Origin != f.origin || r.Outcome == fetch.OutcomeNone || r.Fetched.IsZero()):
		err = errors.New("the fetcher returned a record without its origin, outcome or time")
	case err != nil && ctx.Err() != nil:
		err = ErrClosed
	case err != nil && limited.Err() != nil:
		err = tooLong
	}
	took := time.Since(began)
	if err != nil {
		c.observe(Event{Kind: EventFetchFailed, Origin: f.origin, Took: took, Err: err})
		return nil, err
	}
	c.observe(Event{Kind: EventFetched, Origin: f.origin, Record: r, Took: took})
	return r, nil
}

// load returns the later of the entries in memory and store, nil if there is none, and whether
// the store could be read. It puts the entry into memory.
func (c *Cache) load(ctx context.Context, origin robots.Origin) (it *item, readable bool) {
	it = c.memory.get(origin)
	if c.options.Store == nil {
		return c.present(it), true
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	cold, err := c.options.Store.Get(ctx, origin)
	it = c.present(c.memory.get(origin))
	switch {
	case errors.Is(err, ErrAbsent):
		return it, true
	case err != nil:
		c.storeFailed(origin, err)
		return it, false
	}
	now := time.Now()
	cold.Record = withinBounds(cold.Record, now)
	if it == nil {
		if cold.Record.Outcome == fetch.Refused {
			// Another process's Guard has refused the address. Fetch now, as this one's might
			// permit it.
			due := *cold.Record
			due.NextTry = now.Add(-maxStale)
			cold.Record = &due
		}
		return c.memory.put(cold), true
	}
	e := Entry{Record: merge(it.Record, cold.Record), Fence: max(it.Fence, cold.Fence)}
	if e != it.Entry {
		it = c.memory.put(e)
	}
	return it, true
}

// present returns an item whose record can be used now.
func (c *Cache) present(it *item) *item {
	if it != nil {
		if r := withinBounds(it.Record, time.Now()); r != it.Record {
			return c.memory.put(Entry{r, it.Fence})
		}
	}
	return it
}

// store stores an entry. Close does not interrupt it, so that no fetched record is lost.
func (c *Cache) store(ctx context.Context, e Entry, lifetime time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
	defer cancel()
	origin := e.Record.Origin
	switch err := c.options.Store.Put(ctx, e, lifetime); {
	case errors.Is(err, ErrFenced):
		c.observe(Event{Kind: EventFenced, Origin: origin, Record: e.Record, Err: err})
		c.memory.drop(origin)
		c.load(ctx, origin) // read the entry of the later lock
	case err != nil:
		c.observe(Event{Kind: EventStoreFailed, Origin: origin, Record: e.Record, Err: err})
	}
}
