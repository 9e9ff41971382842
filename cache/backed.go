package cache

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// A Remote is a Store that can be out of reach, such as one on another machine.
type Remote interface {
	Store
	// DownSince returns since when the store has not answered, the zero time if its
	// last call was answered.
	DownSince() time.Time
}

// Backed is a shared store with one of the process's own behind it: what the
// process has seen of the shared one is kept here too, so that losing that one
// loses no answer, and what was learned without it is carried back.
//
// A Get asks both and returns the entry with the higher fence, of equal ones the
// later: a shared store which was replaced by an empty one, or has lost its last
// writes, gets back what its users still hold, an origin at a time as somebody asks
// for it. A Put is in both when it returns nil; if the shared store cannot be
// reached it is kept here, the error says so, and it is carried over, an origin
// after another, from at most some four seconds after that store answers again. Leases are those of the shared store:
// without it there are none, and a Cache then goes on with one flight for each
// origin in its process.
//
// A Delete reaches the two stores of this process. Where many processes share a
// store, each with a copy behind it, a deleted origin comes back from another's
// copy when that process asks for it next.
type Backed struct {
	shared Leaser
	own    Store
	keep   time.Duration
	// turns let one call at a time work on an origin, and a few others with it:
	// what is read in one store must still hold when the other is written.
	turns [256]chan struct{}

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	carrier sync.WaitGroup

	mu       sync.Mutex
	owed     map[robots.Origin]struct{} // what the shared store could not be told, at most maxOwed
	carrying bool                       // while anything is owed
}

// maxOwed bounds what a long outage leaves to be carried over, some 10 MiB. What
// is beyond goes over when it is asked for.
const maxOwed = 1 << 16

// After an attempt to carry that failed the next waits, ever longer: until the
// shared store is back, or takes writes again.
const (
	leastRest   = 250 * time.Millisecond
	longestRest = 4 * time.Second
)

// NewBacked returns shared with own behind it. What goes from one into the other
// because it was missing there is to be kept for keep, 90 days if it is 0.
func NewBacked(shared Leaser, own Store, keep time.Duration) *Backed {
	fill(&keep, 90*24*time.Hour)
	b := &Backed{shared: shared, own: own, keep: keep, owed: map[robots.Origin]struct{}{}}
	for i := range b.turns {
		b.turns[i] = make(chan struct{}, 1)
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

var turnSeed = maphash.MakeSeed()

// turn waits for the turn of an origin, which lasts until done is called.
func (b *Backed) turn(ctx context.Context, origin robots.Origin) (done func(), err error) {
	t := b.turns[maphash.Comparable(turnSeed, origin)%uint64(len(b.turns))]
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Get returns the entry of an origin that counts. The error is that of the shared
// store if there is none here.
func (b *Backed) Get(ctx context.Context, origin robots.Origin) (Entry, error) {
	e, _, err := b.get(ctx, origin)
	return e, err
}

// get is Get, and what the shared store said last.
func (b *Backed) get(ctx context.Context, origin robots.Origin) (e Entry, said, err error) {
	done, err := b.turn(ctx, origin)
	if err != nil {
		return Entry{}, err, err
	}
	defer done()
	here, missing := b.own.Get(ctx, origin) // first, as it is near: the other may take all the time there is
	there, said := b.shared.Get(ctx, origin)
	switch {
	case said != nil && (missing != nil || errors.Is(said, ErrClosed)):
		if errors.Is(said, ErrAbsent) {
			b.paid(origin)
		}
		return Entry{}, said, said
	case errors.Is(said, ErrAbsent):
		e, said = b.carry(ctx, here)
		return e, said, nil
	case said != nil:
		return here, said, nil
	case missing != nil || here.Fence < there.Fence || here.Record.Fetched.Before(there.Record.Fetched):
		// That the copy cannot be written is no reason to go without the answer.
		_ = b.copy(ctx, there, b.keep)
	case here.Record.Fetched.After(there.Record.Fetched):
		here.Fence = max(here.Fence, there.Fence)
		e, said = b.carry(ctx, here)
		return e, said, nil
	}
	b.paid(origin)
	return there, nil, nil
}

// carry brings the shared store what it does not have. If another process has
// written meanwhile, that one's entry counts.
func (b *Backed) carry(ctx context.Context, e Entry) (Entry, error) {
	origin := e.Record.Origin
	err := b.shared.Put(ctx, e, b.keep)
	if errors.Is(err, ErrFenced) {
		var there Entry
		if there, err = b.shared.Get(ctx, origin); err == nil {
			e = there
		}
	}
	if err != nil {
		b.owe(origin)
	} else {
		b.paid(origin)
	}
	return e, err
}

// copy keeps here what the shared store has. A fence that forbids it is of a
// shared store that is no more: this one's begin anew.
func (b *Backed) copy(ctx context.Context, e Entry, keep time.Duration) error {
	err := b.own.Put(ctx, e, keep)
	if errors.Is(err, ErrFenced) {
		if err = b.own.Delete(ctx, e.Record.Origin); err == nil {
			err = b.own.Put(ctx, e, keep)
		}
	}
	return err
}

// Put keeps an entry in both stores. One that is late is kept in neither.
func (b *Backed) Put(ctx context.Context, e Entry, keep time.Duration) error {
	if e.Record == nil {
		return errNoRecord
	}
	origin := e.Record.Origin
	done, err := b.turn(ctx, origin)
	if err != nil {
		return err
	}
	defer done()
	err = b.shared.Put(ctx, e, keep)
	switch {
	case err == nil:
		b.paid(origin)
		return b.copy(ctx, e, keep)
	case errors.Is(err, ErrFenced), errors.Is(err, ErrClosed), origin.IsZero(), ctx.Err() != nil:
		return err
	}
	if own := b.own.Put(ctx, e, keep); own != nil {
		return errors.Join(err, own)
	}
	b.owe(origin)
	return err
}

// Delete forgets an origin in both stores.
func (b *Backed) Delete(ctx context.Context, origin robots.Origin) error {
	done, err := b.turn(ctx, origin)
	if err != nil {
		return err
	}
	defer done()
	b.paid(origin)
	return errors.Join(b.shared.Delete(ctx, origin), b.own.Delete(ctx, origin))
}

// owe notes that the shared store is to have what is kept here of an origin.
func (b *Backed) owe(origin robots.Origin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.owed) < maxOwed {
		b.owed[origin] = struct{}{}
	}
	if !b.carrying && b.ctx.Err() == nil {
		b.carrying = true
		b.carrier.Go(b.pay)
	}
}

// paid notes that the shared store has what there is of an origin.
func (b *Backed) paid(origin robots.Origin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.owed, origin)
}

// pay carries over what is owed until nothing is.
func (b *Backed) pay() {
	rest := leastRest
	next := time.NewTimer(rest)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-b.ctx.Done():
			return
		}
		for {
			origin, ok := b.anyOwed()
			if !ok {
				return
			}
			ctx, cancel := context.WithTimeout(b.ctx, storeLimit)
			_, said, _ := b.get(ctx, origin) // which carries over what is missing there
			cancel()
			if said != nil && !errors.Is(said, ErrAbsent) {
				break
			}
			rest = leastRest
		}
		next.Reset(rest)
		rest = min(2*rest, longestRest)
	}
}

// anyOwed returns one of the origins that are owed. With none it ends the carrying.
func (b *Backed) anyOwed() (origin robots.Origin, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for origin = range b.owed {
		return origin, true
	}
	b.carrying = false
	return origin, false
}

// Lease asks the shared store.
func (b *Backed) Lease(ctx context.Context, origin robots.Origin, d time.Duration) (Lease, error) {
	return b.shared.Lease(ctx, origin, d)
}

// Release tells the shared store.
func (b *Backed) Release(ctx context.Context, origin robots.Origin, token uint64) error {
	return b.shared.Release(ctx, origin, token)
}

// Await waits for the shared store.
func (b *Backed) Await(ctx context.Context, origin robots.Origin) error {
	return b.shared.Await(ctx, origin)
}

// DownSince returns since when the shared store has not answered, the zero time for
// one that cannot say.
func (b *Backed) DownSince() time.Time {
	if r, ok := b.shared.(Remote); ok {
		return r.DownSince()
	}
	return time.Time{}
}

// Close closes both stores.
func (b *Backed) Close() error {
	b.mu.Lock() // so that no carrier begins once they are waited for
	b.cancel()
	b.mu.Unlock()
	b.carrier.Wait()
	return errors.Join(b.shared.Close(), b.own.Close())
}
