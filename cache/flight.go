package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// storeLimit is how long one call of the store may take: a store in trouble
// makes answers late by this at most, and only for origins not held in memory.
const storeLimit = 5 * time.Second

// A flight is the one attempt under way to get a record of an origin.
type flight struct {
	origin robots.Origin
	flightPlan

	lookedUp chan struct{} // closed when memory and store have been asked
	held     Entry         // what they had, without a record if nothing; set before lookedUp
	answered chan struct{} // closed when there is an answer or an error
	answer   Entry         // set before answered, or
	err      error
	fetched  bool          // the site was asked; set before answered
	ended    chan struct{} // closed when the answer is stored: the next flight may begin
}

// flightPlan says what is special about a flight.
type flightPlan struct {
	force bool // fetch even if what is held is fresh
	early bool // the answer in use has not ended
}

// join returns the flight of an origin, a new one if none is under way. A new one
// has the values of ctx but does not end with it.
func (c *Cache) join(ctx context.Context, origin robots.Origin, plan flightPlan) (*flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("robots.txt of %s: cache: %w", origin, ErrClosed)
	}
	if f := c.flights[origin]; f != nil {
		return f, nil
	}
	if plan.early {
		c.early++
	}
	f := &flight{
		origin: origin, flightPlan: plan,
		lookedUp: make(chan struct{}), answered: make(chan struct{}), ended: make(chan struct{}),
	}
	c.flights[origin] = f
	c.running.Go(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		c.fly(ctx, f)
	})
	return f, nil
}

// maxEarly bounds the flights that nobody waits for. A large number of them in the
// queue for one address would cost the process more than callers who wait later.
const maxEarly = 512

// refreshAhead starts a flight that nobody waits for, if there are not too many.
func (c *Cache) refreshAhead(ctx context.Context, origin robots.Origin) {
	c.mu.Lock()
	not := c.closed || c.flights[origin] != nil || c.early >= maxEarly
	c.mu.Unlock()
	if not {
		return
	}
	if _, err := c.join(ctx, origin, flightPlan{early: true}); err == nil {
		c.observe(Event{Kind: EventAhead, Origin: origin})
	}
}

// wait waits for the answer of a flight, which is EventWaited. After Options.StaleWait it
// takes an old answer if there is one, which is EventStale.
func (c *Cache) wait(ctx context.Context, f *flight) (*fetch.Record, EventKind, error) {
	late, cancel := context.WithTimeout(context.Background(), c.o.StaleWait)
	defer cancel()
	if f.waitFor(ctx, late.Done()) && f.waitFor(ctx, f.lookedUp) {
		if r := c.usable(f.held); r != nil {
			return r, EventStale, nil
		}
		f.waitFor(ctx, nil)
	}
	err := ctx.Err()
	if isClosed(f.answered) {
		if f.err == nil {
			return c.adjusted(f.answer), EventWaited, nil
		}
		err = f.err
	}
	if isClosed(f.lookedUp) {
		if r := c.usable(f.held); r != nil {
			return r, EventStale, nil
		}
	}
	return nil, 0, fmt.Errorf("robots.txt of %s: %w", f.origin, err)
}

// waitFor waits for a channel to be closed. It returns false if the answer of the flight
// or the end of ctx comes first.
func (f *flight) waitFor(ctx context.Context, other <-chan struct{}) bool {
	select {
	case <-f.answered:
	case <-ctx.Done():
	case <-other:
		return true
	}
	return false
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// usable returns the record of an entry if it may be answered before a fetch has
// ended, else nil.
func (c *Cache) usable(e Entry) *fetch.Record {
	r := c.adjusted(e)
	if now, _ := c.clock.now(); r == nil || c.phase(r, now) == overdue {
		return nil
	}
	return r
}

// adjusted returns the record of an entry in the times of the present epoch: the
// clock may have jumped since the entry was looked up or fetched.
func (c *Cache) adjusted(e Entry) *fetch.Record {
	if e.Record == nil {
		return nil
	}
	now, epoch := c.clock.now()
	return c.clock.adjust(e, now, epoch).Record
}

// fly is one flight: it looks into memory and store and fetches if they have no
// answer. It hands over the answer before it stores it, so that only the next
// flight waits for a slow store.
func (c *Cache) fly(ctx context.Context, f *flight) {
	defer c.land(f)
	held, readable := c.lookFirst(ctx, f)
	p := &permit{c: c, origin: f.origin, leaser: c.leaser}
	defer p.release(ctx)
	for again := true; again; {
		if c.answers(held, f) {
			f.finish(held, nil)
			return
		}
		var err error
		if again, err = p.acquire(ctx); err != nil {
			f.finish(Entry{}, err)
			return
		}
		if again {
			held, readable = c.look(ctx, f.origin)
		}
	}
	f.fetched = true
	r, err := c.fetch(ctx, f.origin, p.visit)
	if err != nil {
		f.finish(Entry{}, err)
		return
	}
	e := c.newEntry(r, held, p.lease.Token)
	e = c.hot.replace(nil, e, c.o.Keep).Entry
	f.finish(e, nil)
	// A failure must not overwrite what could not be read, which may have a last good
	// answer. A good answer may.
	if c.o.Store != nil && (readable || e.Record.Outcome.Good()) {
		c.store(ctx, e, c.keep(e.Record, held.Record))
	}
}

// lookFirst is the first look of a flight. What memory has is given to those who
// wait before the store is asked, which may take its time.
func (c *Cache) lookFirst(ctx context.Context, f *flight) (held Entry, readable bool) {
	now, epoch := c.clock.now()
	if hot := c.held(f.origin, now, epoch).entry(); c.usable(hot) != nil {
		f.held = hot
		close(f.lookedUp)
	}
	held, readable = c.look(ctx, f.origin)
	if f.held.Record == nil {
		f.held = held
		close(f.lookedUp)
	}
	return held, readable
}

// finish hands over the answer, or why there is none.
func (f *flight) finish(e Entry, err error) {
	f.answer, f.err = e, err
	close(f.answered)
}

// land ends a flight: the next one may begin.
func (c *Cache) land(f *flight) {
	c.mu.Lock()
	delete(c.flights, f.origin)
	if f.early {
		c.early--
	}
	c.mu.Unlock()
	close(f.ended)
	if !isClosed(f.answered) { // the Fetcher has ended its goroutine
		f.finish(Entry{}, ErrClosed)
	}
}

// newEntry is what is to be kept of a fetched record after what was held, in the
// present epoch: the clock may have jumped meanwhile.
func (c *Cache) newEntry(r *fetch.Record, held Entry, token uint64) Entry {
	now, epoch := c.clock.now()
	if held.Record != nil {
		held = c.clock.adjust(held, now, epoch)
	}
	return Entry{Record: c.toKeep(r, held.Record), Fence: cmp.Or(token, held.Fence), Epoch: epoch}
}

// answers reports whether an entry makes a fetch unnecessary. One that ends soon is
// an answer to callers, but no reason to end the refresh that it has started.
func (c *Cache) answers(e Entry, f *flight) bool {
	if e.Record == nil || f.force {
		return false
	}
	now, _ := c.clock.now()
	p := c.phase(e.Record, now)
	return p == fresh || p == ahead && !f.early
}

// look returns the later of the entries in memory and in the store, and whether the
// store could be read. It puts that entry into memory.
func (c *Cache) look(ctx context.Context, origin robots.Origin) (e Entry, readable bool) {
	now, epoch := c.clock.now()
	hot := c.held(origin, now, epoch).entry()
	if c.o.Store == nil {
		return hot, true
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	cold, err := c.o.Store.Get(ctx, origin)
	switch {
	case errors.Is(err, ErrAbsent):
		return hot, true
	case err != nil:
		c.storeFailed(origin, err)
		return hot, false
	}
	now, epoch = c.clock.now()
	own := cold.Epoch>>epochBits == epoch>>epochBits
	cold = c.bounded(c.clock.adjust(cold, now, epoch))
	if cold.Record.Outcome == fetch.Refused && !own && hot.Record == nil {
		// Another process has refused the address. This one's guard may allow it: ask now.
		due := *cold.Record
		due.NextTry = now.Add(-c.o.StaleMost)
		cold.Record = &due
	}
	e = Entry{Record: merge(hot.Record, cold.Record), Fence: max(hot.Fence, cold.Fence), Epoch: epoch}
	if e != hot {
		e = c.hot.replace(nil, e, c.o.Keep).Entry
	}
	return e, true
}

// fetch asks the site.
func (c *Cache) fetch(ctx context.Context, origin robots.Origin, visit fetch.Visit) (r *fetch.Record, err error) {
	began := time.Now()
	limit, cancel := context.WithTimeout(ctx, c.o.FetchLimit)
	defer cancel()
	if visit != nil {
		r, err = visit.Fetch(limit)
	} else {
		r, err = c.o.Fetcher.Fetch(limit, origin)
	}
	switch {
	case err == nil && r == nil:
		err = errors.New("the fetcher returned neither a record nor an error")
	case err == nil && (r.Origin != origin || r.Outcome == fetch.OutcomeNone || r.Fetched.IsZero()):
		err = errors.New("the fetcher returned a record without its origin, outcome or time")
	case err != nil && ctx.Err() != nil:
		err = ErrClosed
	case err != nil && limit.Err() != nil:
		err = fmt.Errorf("the fetch took longer than %v: %w", c.o.FetchLimit, err)
	}
	took := time.Since(began)
	if err != nil {
		c.observe(Event{Kind: EventFetchFailed, Origin: origin, Took: took, Err: err})
		return nil, err
	}
	c.observe(Event{Kind: EventFetched, Origin: origin, Record: r, Took: took})
	return r, nil
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
		if err := c.hot.Delete(ctx, origin); err == nil {
			c.look(ctx, origin) // what the later lease has written
		}
	case err != nil:
		c.observe(Event{Kind: EventStoreFailed, Origin: origin, Record: e.Record, Err: err})
	}
}
