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

// fly is one flight: it looks into memory and store and fetches if they have no
// answer. It lands before the record is stored, so that only the next flight waits for a
// slow store.
func (c *Cache) fly(ctx context.Context, origin robots.Origin, plan flightPlan) (landing, error) {
	if stored, ok := c.storing.Load(origin); ok {
		select {
		case <-stored.(chan struct{}):
		case <-ctx.Done():
		}
	}
	p, err := c.acquire(ctx, origin, plan)
	if err != nil || p.answered {
		p.release(ctx)
		return landing{item: p.held}, err
	}
	r, err := c.fetch(ctx, origin, p.visit)
	if err != nil {
		p.release(ctx)
		return landing{}, err
	}
	e, keep := Entry{Fence: p.token}, c.o.Keep
	if p.held != nil {
		e.Record, e.Fence = c.toKeep(r, p.held.Record), cmp.Or(p.token, p.held.Fence)
	} else {
		e.Record = c.toKeep(r, nil)
		if r.Outcome.Good() { // the site may never be asked for again
			keep = c.o.KeepOnce
		}
	}
	it := c.hot.put(e)
	stored := make(chan struct{})
	c.storing.Store(origin, stored)
	c.running.Go(func() {
		defer close(stored)
		defer c.storing.Delete(origin)
		defer p.release(ctx)
		// A failure must not overwrite what could not be read, which may have a last good
		// answer. A good answer may.
		if c.o.Store != nil && (p.readable || e.Record.Outcome.Good()) {
			c.store(ctx, e, keep)
		}
	})
	return landing{it, true}, nil
}

// A permit is what a flight needs before it fetches, and what it has learned meanwhile.
type permit struct {
	c        *Cache
	origin   robots.Origin
	held     *item // what is known of the origin, nil if nothing is
	readable bool  // by the store too
	answered bool  // so no fetch is needed
	visit    fetch.Visit
	token    uint64 // of the lock, 0 without
}

// A process that finds an origin locked looks again after leastPause, then less and less
// often, up to longestPause.
const (
	leastPause   = 50 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// acquire looks for an answer until there is one, or this process may fetch. The lock is
// taken last, so that whoever has it fetches at once.
func (c *Cache) acquire(ctx context.Context, origin robots.Origin, plan flightPlan) (*permit, error) {
	p := &permit{c: c, origin: origin}
	p.look(ctx, plan)
	for pause := leastPause; !p.answered; pause = min(2*pause, longestPause) {
		if err := p.arrive(ctx); err != nil || c.locker == nil {
			return p, err
		}
		limited, cancel := context.WithTimeout(ctx, storeLimit)
		token, err := c.locker.Lock(limited, origin, c.o.FetchLimit*11/10) // as long as a fetch may take, and a little more
		cancel()
		if errors.Is(err, ErrLocked) {
			p.leave() // others may use the connection meanwhile
			select {
			case <-time.After(pause*3/4 + rand.N(pause/2)):
			case <-ctx.Done():
			}
			p.look(ctx, plan)
			continue
		}
		if p.token = token; err != nil { // go on alone: a fetch too many does less harm than none
			c.storeFailed(origin, err)
		}
		p.look(ctx, plan) // another may have fetched before this one had the lock
		break
	}
	return p, nil
}

// look finds what is known. An answer that ends soon is one to callers, but no reason to end
// the refresh that it has started.
func (p *permit) look(ctx context.Context, plan flightPlan) {
	p.held, p.readable = p.c.look(ctx, p.origin)
	if p.held != nil && !plan.force {
		at := p.c.phase(p.held.Record, time.Now())
		p.answered = at == fresh || at == ahead && !plan.early
	}
}

// arrive waits until the site may be asked, if the Fetcher can do that apart.
func (p *permit) arrive(ctx context.Context) (err error) {
	if ctx.Err() != nil {
		return ErrClosed
	}
	a, ok := p.c.o.Fetcher.(Arriver)
	if !ok {
		return nil
	}
	began := time.Now()
	p.visit, err = a.Arrive(ctx, p.origin)
	switch {
	case err == nil && p.visit == nil:
		err = errors.New("the fetcher returned neither a visit nor an error")
	case err != nil && ctx.Err() != nil:
		err = ErrClosed
	}
	if err != nil {
		p.c.observe(Event{Kind: EventFetchFailed, Origin: p.origin, Took: time.Since(began), Err: err})
	}
	return err
}

func (p *permit) leave() {
	if p.visit != nil {
		p.visit.Leave()
		p.visit = nil
	}
}

// release gives back what was acquired.
func (p *permit) release(ctx context.Context) {
	defer p.leave()
	if p.token == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if err := p.c.locker.Unlock(ctx, p.origin, p.token); err != nil {
		p.c.storeFailed(p.origin, err)
	}
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
		c.hot.drop(origin)
		c.look(ctx, origin) // what the later lock has written
	case err != nil:
		c.observe(Event{Kind: EventStoreFailed, Origin: origin, Record: e.Record, Err: err})
	}
}
