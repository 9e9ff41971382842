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

// storeLimit is how long one call of the store may take: a store in trouble
// makes answers late by this at most, and only for origins not held in memory.
const storeLimit = 5 * time.Second

// flightPlan says what is special about a flight, the one attempt under way to get a record
// of an origin.
type flightPlan struct {
	force bool // fetch even if what is held is fresh
	early bool // the answer in use has not ended
}

// A landing is what a flight has brought.
type landing struct {
	item    *item
	fetched bool // the site was asked
}

// join returns the channel on which the flight of an origin gives its landing. A new flight
// begins if none is under way: it has the values of ctx but does not end with it.
func (c *Cache) join(ctx context.Context, origin robots.Origin, plan flightPlan) <-chan singleflight.Result {
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
		return c.fly(ctx, origin, plan)
	})
}

// maxEarly bounds the flights that nobody waits for. A large number of them in the
// queue for one address would cost the process more than callers who wait later.
const maxEarly = 512

// refreshAhead starts a flight that nobody waits for, if there are not too many.
func (c *Cache) refreshAhead(ctx context.Context, it *item) {
	if it.refreshing.Swap(true) {
		return
	}
	if c.early.Add(1) > maxEarly {
		c.early.Add(-1)
		it.refreshing.Store(false)
		return
	}
	c.observe(Event{Kind: EventAhead, Origin: it.Record.Origin})
	landed := c.join(ctx, it.Record.Origin, flightPlan{early: true})
	go func() {
		<-landed
		c.early.Add(-1)
		it.refreshing.Store(false)
	}()
}

// wait waits for the flight of an origin, which is EventWaited. After Options.StaleWait it
// takes an old answer if there is one, which is EventStale.
func (c *Cache) wait(ctx context.Context, origin robots.Origin) (*item, EventKind, error) {
	landed := c.join(ctx, origin, flightPlan{})
	late := time.NewTicker(max(c.o.StaleWait, 1))
	defer late.Stop()
	for {
		var err error
		select {
		case got := <-landed:
			if got.Err == nil {
				return got.Val.(landing).item, EventWaited, nil
			}
			err = got.Err
		case <-ctx.Done():
			err = ctx.Err()
		case <-late.C: // again, as the store may have taken longer to say what it has
		}
		if it := c.hot.get(origin); it != nil && c.phase(it.Record, time.Now()) != overdue {
			return it, EventStale, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// fly is one flight: it looks into memory and store, and fetches if they have no answer. It
// lands before the record is stored, so that only the next flight of the origin waits for a
// slow store.
func (c *Cache) fly(ctx context.Context, origin robots.Origin, plan flightPlan) (landing, error) {
	if stored, ok := c.storing.Load(origin); ok {
		select {
		case <-stored.(chan struct{}):
		case <-ctx.Done():
		}
	}
	f := &flight{c: c, origin: origin, plan: plan}
	r, err := f.fetch(ctx)
	if f.answered || err != nil {
		f.unlock(ctx)
		if f.answered {
			err = nil
		}
		return landing{item: f.held}, err
	}
	e, keep := Entry{Fence: f.token}, c.o.Keep
	if f.held != nil {
		e.Record, e.Fence = c.toKeep(r, f.held.Record), cmp.Or(f.token, f.held.Fence)
	} else {
		e.Record = c.toKeep(r, nil)
		if r.Outcome.Good() { // the site might never be requested again
			keep = c.o.KeepOnce
		}
	}
	it := c.hot.put(e)
	// A failure must not overwrite a record that could not be read, which might have a last
	// good answer. A good answer can.
	if c.o.Store == nil || !f.readable && !e.Record.Outcome.Good() {
		f.unlock(ctx)
		return landing{it, true}, nil
	}
	store := func() {
		defer f.unlock(ctx)
		c.store(ctx, e, keep)
	}
	if c.writes.Add(1) > maxWrites {
		defer c.writes.Add(-1)
		store()
		return landing{it, true}, nil
	}
	stored := make(chan struct{})
	c.storing.Store(origin, stored)
	c.running.Go(func() {
		defer c.writes.Add(-1)
		defer close(stored)
		defer c.storing.Delete(origin)
		store()
	})
	return landing{it, true}, nil
}

// maxWrites bounds the records that are on their way to the store while their callers have
// them already. Beyond it callers wait for the store, so that a slow one costs no memory.
const maxWrites = 512

// A flight is an attempt to get the record of an origin.
type flight struct {
	c        *Cache
	origin   robots.Origin
	plan     flightPlan
	held     *item  // the known record, nil if there is none
	readable bool   // the store was read
	answered bool   // held is the answer
	token    uint64 // of the lock, 0 without
}

// A process that finds an origin locked looks again after leastPause, then less and less
// often, up to longestPause.
const (
	leastPause   = 50 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// errAnswered ends a fetch for which another process has stored the answer.
var errAnswered = errors.New("answered")

// fetch looks for an answer until there is one, or this process may fetch.
func (f *flight) fetch(ctx context.Context) (*fetch.Record, error) {
	f.look(ctx)
	for pause := leastPause; !f.answered; pause = min(2*pause, longestPause) {
		r, err := f.request(ctx)
		if !errors.Is(err, ErrLocked) {
			return r, err
		}
		select {
		case <-time.After(pause*3/4 + rand.N(pause/2)):
		case <-ctx.Done():
		}
		f.look(ctx)
	}
	return nil, nil
}

// look finds what is known. An answer that ends soon is good for callers, but does not end
// the refresh that it has started.
func (f *flight) look(ctx context.Context) {
	f.held, f.readable = f.c.look(ctx, f.origin)
	if f.held != nil && !f.plan.force {
		at := f.c.phase(f.held.Record, time.Now())
		f.answered = at == fresh || at == ahead && !f.plan.early
	}
}

// lock takes the lock of the origin, last of all, so that its holder fetches at once.
func (f *flight) lock(ctx context.Context) error {
	if f.c.locker == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	token, err := f.c.locker.Lock(limited, f.origin, f.c.o.FetchLimit*11/10)
	if errors.Is(err, ErrLocked) {
		return err
	}
	if f.token = token; err != nil { // an extra fetch does less harm than none
		f.c.storeFailed(f.origin, err)
	}
	if f.look(ctx); f.answered { // fetched by another before this one had the lock
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
	if err := f.c.locker.Unlock(ctx, f.origin, f.token); err != nil {
		f.c.storeFailed(f.origin, err)
	}
}

// request fetches from the site, with the lock.
func (f *flight) request(ctx context.Context) (r *fetch.Record, err error) {
	began, c := time.Now(), f.c
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tooLong := fmt.Errorf("the fetch took longer than %v: %w", c.o.FetchLimit, context.DeadlineExceeded)
	before := func() error {
		if err := f.lock(ctx); err != nil {
			return err
		}
		began = time.Now()
		timeout := time.AfterFunc(c.o.FetchLimit, func() { cancel(tooLong) })
		context.AfterFunc(limited, func() { timeout.Stop() })
		return nil
	}
	if w, ok := c.o.Fetcher.(waiter); ok {
		r, err = w.FetchAfter(limited, f.origin, before)
	} else if err = before(); err == nil {
		r, err = c.o.Fetcher.Fetch(limited, f.origin)
	}
	switch {
	case f.answered || errors.Is(err, ErrLocked):
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

// look returns the later of the entries in memory and in the store, nil if there is none,
// and whether the store could be read. It puts that entry into memory.
func (c *Cache) look(ctx context.Context, origin robots.Origin) (it *item, readable bool) {
	it = c.hot.get(origin)
	if c.o.Store == nil {
		return c.present(it), true
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	cold, err := c.o.Store.Get(ctx, origin)
	it = c.present(c.hot.get(origin))
	switch {
	case errors.Is(err, ErrAbsent):
		return it, true
	case err != nil:
		c.storeFailed(origin, err)
		return it, false
	}
	now := time.Now()
	cold.Record = c.sane(cold.Record, now)
	if it == nil {
		if cold.Record.Outcome == fetch.Refused {
			// Another process has refused the address. This one's guard may allow it: ask now.
			due := *cold.Record
			due.NextTry = now.Add(-c.o.StaleMost)
			cold.Record = &due
		}
		return c.hot.put(cold), true
	}
	e := Entry{Record: merge(it.Record, cold.Record), Fence: max(it.Fence, cold.Fence)}
	if e != it.Entry {
		it = c.hot.put(e)
	}
	return it, true
}

// present returns an item with its record as it may be used now.
func (c *Cache) present(it *item) *item {
	if it != nil {
		if r := c.sane(it.Record, time.Now()); r != it.Record {
			return c.hot.put(Entry{r, it.Fence})
		}
	}
	return it
}

// store puts an entry into the store, for keep. It goes on when Close ends the flight, so that
// nothing that was fetched is lost.
func (c *Cache) store(ctx context.Context, e Entry, keep time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	origin := e.Record.Origin
	switch err := c.o.Store.Put(ctx, e, keep); {
	case errors.Is(err, ErrFenced):
		c.observe(Event{Kind: EventFenced, Origin: origin, Record: e.Record, Err: err})
		c.hot.drop(origin)
		c.look(ctx, origin) // what the later lock has written
	case err != nil:
		c.observe(Event{Kind: EventStoreFailed, Origin: origin, Record: e.Record, Err: err})
	}
}
