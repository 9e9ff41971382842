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

// A flight is the one attempt to get a record of an origin that is under way.
type flight struct {
	origin robots.Origin
	flightPlan

	looked chan struct{} // closed when memory and store have been asked
	held   Entry         // what they had, no record for nothing; set before looked
	done   chan struct{} // closed at the end
	came   Entry         // what came of it, set before done, or
	err    error
	asked  bool          // the site was; set before done
	landed chan struct{} // closed when the next flight may begin
}

// flightPlan says what is special about a flight.
type flightPlan struct {
	force bool // fetch even if what is held is fresh
	early bool // the answer in use has not ended
}

// join returns the flight of an origin, a new one if none is under way. ctx
// lends the new one its values and not its end.
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
	f := &flight{origin: origin, flightPlan: plan, looked: make(chan struct{}), done: make(chan struct{}), landed: make(chan struct{})}
	c.flights[origin] = f
	c.running.Go(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		c.fly(ctx, f)
	})
	return f, nil
}

// maxEarly bounds the flights that nobody waits for: whoever asks later can do
// better without than the process with any number of them in the line for one address.
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
		c.observe(Event{Kind: Ahead, Origin: origin})
	}
}

// wait waits for a flight, or for as long as an old answer is worth waiting.
func (c *Cache) wait(ctx context.Context, f *flight) (*fetch.Record, error) {
	began := time.Now()
	timer := time.NewTimer(c.o.StaleWait)
	defer timer.Stop()
	looked, late := f.looked, false
	for ended := false; !ended; {
		select {
		case <-f.done:
			ended = true
		case <-ctx.Done():
			ended = true
		case <-timer.C:
			late = true
		case <-looked:
			looked = nil
		}
		ended = ended || late && looked == nil && c.usable(f.held) != nil
	}
	kind, r, err := Waited, (*fetch.Record)(nil), error(nil)
	select {
	case <-f.done:
		r, err = c.present(f.came), f.err
		looked = nil
	default:
		err = ctx.Err()
	}
	if r == nil && looked == nil {
		kind, r = Stale, c.usable(f.held)
	}
	if r == nil {
		return nil, fmt.Errorf("robots.txt of %s: %w", f.origin, err)
	}
	r = c.marked(r)
	c.observe(Event{Kind: kind, Origin: f.origin, Record: r, Took: time.Since(began)})
	return r, nil
}

// usable returns the record of an entry if it may be answered before a fetch has
// ended, else nil.
func (c *Cache) usable(e Entry) *fetch.Record {
	r := c.present(e)
	if now, _ := c.clock.now(); r == nil || c.phase(r, now) == overdue {
		return nil
	}
	return r
}

// present returns the record of an entry in the times of the present epoch: the
// clock may have jumped since the entry was looked up or fetched.
func (c *Cache) present(e Entry) *fetch.Record {
	if e.Record == nil {
		return nil
	}
	now, epoch := c.clock.now()
	return c.clock.present(e, now, epoch).Record
}

// ended reports whether the flight has its answer, which may still be on its way to
// the store.
func (f *flight) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// fly is one flight: it looks into the store, waits for its turn, takes the lease
// and fetches. It hands over what it has as soon as it has it and stores it after
// that, so that nobody waits for a slow store; the next flight does.
func (c *Cache) fly(ctx context.Context, f *flight) {
	now, epoch := c.clock.now()
	finished := false
	finish := func(e Entry, err error) {
		if finished {
			return
		}
		finished = true
		f.came, f.err = e, err
		select {
		case <-f.looked:
		default:
			close(f.looked)
		}
		close(f.done)
	}
	defer func() {
		c.mu.Lock()
		delete(c.flights, f.origin)
		if f.early {
			c.early--
		}
		c.mu.Unlock()
		close(f.landed)
		finish(Entry{}, ErrClosed) // not reached by any road but a Fetcher that ends its goroutine
	}()

	// What memory has will do for those who wait; a store may take its time.
	if hot, _ := c.held(f.origin, now, epoch); c.usable(hot) != nil {
		f.held = hot
		close(f.looked)
	}
	held, readable := c.look(ctx, f.origin)
	if f.held.Record == nil {
		f.held = held
		close(f.looked)
	}
	if c.answers(held, f) {
		finish(held, nil)
		return
	}
	var token uint64
	var visit fetch.Visit // nil of a plain Fetcher
	leave := func() {
		if visit != nil {
			visit.Leave()
			visit = nil
		}
	}
	defer leave()
	for leaser := c.leaser; ; {
		if visit == nil {
			var err error
			if visit, err = c.arrive(ctx, f.origin); err != nil {
				finish(Entry{}, err)
				return
			}
		}
		if leaser == nil {
			break
		}
		// The lease comes last: who has it fetches at once. One that another has
		// is waited for without a turn. With a store in trouble the cache goes on
		// alone: a fetch too many harms less than none.
		l, err := c.lease(ctx, f.origin)
		switch {
		case err != nil:
			leaser = nil
		case l.Granted:
			leaser = nil
			defer c.release(ctx, f.origin, l.Token)
			token = l.Token
		default:
			leave()
			if c.await(ctx, f.origin, l.Left) != nil {
				leaser = nil
			}
		}
		// Whoever had the lease before may have done the work.
		if held, readable = c.look(ctx, f.origin); c.answers(held, f) {
			finish(held, nil)
			return
		}
	}
	f.asked = true
	r, err := c.fetch(ctx, f.origin, visit)
	if err != nil {
		finish(Entry{}, err)
		return
	}
	now, epoch = c.clock.now()
	if held.Record != nil { // the clock may have moved meanwhile
		held = c.clock.present(held, now, epoch)
	}
	e := Entry{Record: c.settle(r, held.Record), Fence: cmp.Or(token, held.Fence), Epoch: epoch}
	c.hot.replace(nil, e, c.o.Keep)
	finish(e, nil)
	// What could not be read may hold a last good answer that a failure would
	// wipe out; a good answer is better than anything there.
	if c.o.Store != nil && (readable || e.Record.Outcome.Good()) {
		c.store(ctx, e)
	}
}

// answers reports whether an entry makes a fetch unnecessary. What ends soon does
// for those who wait, but not for the early refresh that it has called.
func (c *Cache) answers(e Entry, f *flight) bool {
	if e.Record == nil || f.force {
		return false
	}
	now, _ := c.clock.now()
	p := c.phase(e.Record, now)
	return p == fresh || p == ahead && !f.early
}

// look returns what memory and the store hold, the later of the two, and whether
// the store could be read. Memory then holds it too.
func (c *Cache) look(ctx context.Context, origin robots.Origin) (e Entry, readable bool) {
	now, epoch := c.clock.now()
	hot, _ := c.held(origin, now, epoch)
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
		c.observe(Event{Kind: StoreFailed, Origin: origin, Err: err})
		return hot, false
	}
	now, epoch = c.clock.now()
	own := cold.Epoch>>epochBits == epoch>>epochBits
	cold = c.bounded(c.clock.present(cold, now, epoch))
	if cold.Record.Outcome == fetch.Refused && !own && hot.Record == nil {
		// Another process's guard has refused it, this one's may not.
		ask := *cold.Record
		ask.NextTry = now.Add(-c.o.StaleMost)
		cold.Record = &ask
	}
	e = Entry{Record: joined(hot.Record, cold.Record), Fence: max(hot.Fence, cold.Fence), Epoch: epoch}
	if e != hot {
		c.hot.replace(nil, e, c.o.Keep)
	}
	return e, true
}

// lease asks for the right to fetch, for as long as a fetch may take and a tenth more.
func (c *Cache) lease(ctx context.Context, origin robots.Origin) (Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	l, err := c.leaser.Lease(ctx, origin, c.o.FetchLimit+c.o.FetchLimit/10)
	if err != nil {
		c.observe(Event{Kind: StoreFailed, Origin: origin, Err: err})
	}
	return l, err
}

// await waits for the end of another's lease, and little longer if the store does
// not say when that is.
func (c *Cache) await(ctx context.Context, origin robots.Origin, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, left+storeLimit)
	defer cancel()
	err := c.leaser.Await(ctx, origin)
	if err != nil {
		c.observe(Event{Kind: StoreFailed, Origin: origin, Err: err})
	}
	return err
}

func (c *Cache) release(ctx context.Context, origin robots.Origin, token uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if err := c.leaser.Release(ctx, origin, token); err != nil {
		c.observe(Event{Kind: StoreFailed, Origin: origin, Err: err})
	}
}

// arrive waits for the turn of a fetch, if the fetcher knows turns.
func (c *Cache) arrive(ctx context.Context, origin robots.Origin) (fetch.Visit, error) {
	if ctx.Err() != nil {
		return nil, ErrClosed
	}
	a, ok := c.o.Fetcher.(Arriver)
	if !ok {
		return nil, nil
	}
	began := time.Now()
	visit, err := a.Arrive(ctx, origin)
	switch {
	case err == nil && visit == nil:
		err = errors.New("the fetcher returned neither a visit nor an error")
	case err != nil && ctx.Err() != nil:
		err = ErrClosed
	}
	if err != nil {
		c.observe(Event{Kind: FetchFailed, Origin: origin, Took: time.Since(began), Err: err})
	}
	return visit, err
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
		c.observe(Event{Kind: FetchFailed, Origin: origin, Took: took, Err: err})
		return nil, err
	}
	c.observe(Event{Kind: Fetched, Origin: origin, Record: r, Took: took})
	return r, nil
}

// store puts an entry into the store. A Close that ends the flight lets it end:
// what was fetched is not thrown away.
func (c *Cache) store(ctx context.Context, e Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	origin := e.Record.Origin
	switch err := c.o.Store.Put(ctx, e, c.o.Keep); {
	case errors.Is(err, ErrFenced):
		c.observe(Event{Kind: Fenced, Origin: origin, Record: e.Record, Err: err})
		if err := c.hot.Delete(ctx, origin); err == nil {
			c.look(ctx, origin) // what the later lease has written
		}
	case err != nil:
		c.observe(Event{Kind: StoreFailed, Origin: origin, Record: e.Record, Err: err})
	}
}
