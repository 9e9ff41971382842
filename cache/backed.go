package cache

import (
	"cmp"
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
// A Get asks both and returns the later entry, but never one with a lower fence than
// the shared store has. A shared store which was replaced by an empty one, or has lost
// its last writes, gets back what its users still hold, as somebody asks for it. A Put
// is in both when it returns nil. If the shared store cannot be reached it is kept here
// and the error says so; it is carried over from at most some four seconds after that
// store answers again. Leases are those of the shared store: without it there are none,
// and a Cache then goes on with one flight per origin in its process.
//
// A Delete reaches the two stores of this process. Where many processes share a
// store, each with a copy behind it, a deleted origin comes back from another's
// copy when that process asks for it next.
type Backed struct {
	shared // Lease, Release and Await are its own
	own    Store
	keep   time.Duration
	// locks let one call at a time work on an origin, and a few others with it: what
	// is read in one store must still hold when the other is written.
	locks [256]chan struct{}

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	carrier sync.WaitGroup

	mu       sync.Mutex
	pending  map[robots.Origin]struct{} // what the shared store could not be told, at most maxPending
	carrying bool                       // while anything is pending
}

// shared is Leaser under a name that is not exported, to be embedded.
type shared = Leaser

// maxPending bounds what a long outage leaves to be carried over, some 10 MiB. What
// is beyond goes over when it is asked for.
const maxPending = 1 << 16

// After an attempt to carry that failed the next waits, ever longer: until the
// shared store is back, or takes writes again.
const (
	leastRest   = 250 * time.Millisecond
	longestRest = 4 * time.Second
)

// NewBacked returns shared with own behind it. What goes from one into the other
// because it was missing there is to be kept for keep, 90 days if it is 0.
func NewBacked(shared Leaser, own Store, keep time.Duration) *Backed {
	b := &Backed{shared: shared, own: own, keep: cmp.Or(keep, keepDefault), pending: map[robots.Origin]struct{}{}}
	for i := range b.locks {
		b.locks[i] = make(chan struct{}, 1)
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

var lockSeed = maphash.MakeSeed()

// lock locks an origin until unlock is called.
func (b *Backed) lock(ctx context.Context, origin robots.Origin) (unlock func(), err error) {
	l := b.locks[maphash.Comparable(lockSeed, origin)%uint64(len(b.locks))]
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Get returns the entry of an origin that counts, and carries to either store what it
// lacks. The error is that of the shared store if there is none here.
func (b *Backed) Get(ctx context.Context, origin robots.Origin) (Entry, error) {
	unlock, err := b.lock(ctx, origin)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	here, missing := b.own.Get(ctx, origin) // first, as it is near: the other may take all the time there is
	there, err := b.shared.Get(ctx, origin)
	absent := errors.Is(err, ErrAbsent)
	switch {
	case err != nil && missing != nil, errors.Is(err, ErrClosed):
		if absent {
			b.carried(origin)
		}
		return Entry{}, err
	case err != nil && !absent:
		return here, nil
	case absent, missing == nil && here.Fence >= there.Fence && here.Record.Fetched.After(there.Record.Fetched):
		here.Fence = max(here.Fence, there.Fence)
		// Another process that has written meanwhile has the later lease.
		if err := b.shared.Put(ctx, here, b.keep); err != nil && !errors.Is(err, ErrFenced) {
			b.enqueue(origin)
		} else {
			b.carried(origin)
		}
		return here, nil
	case missing != nil || here.Fence < there.Fence || here.Record.Fetched.Before(there.Record.Fetched):
		// That the copy cannot be written is no reason to go without the answer.
		_ = b.copy(ctx, there, b.keep)
	}
	b.carried(origin)
	return there, nil
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
	unlock, err := b.lock(ctx, origin)
	if err != nil {
		return err
	}
	defer unlock()
	err = b.shared.Put(ctx, e, keep)
	switch {
	case err == nil:
		b.carried(origin)
		return b.copy(ctx, e, keep)
	case errors.Is(err, ErrFenced), errors.Is(err, ErrClosed), origin.IsZero(), ctx.Err() != nil:
		return err
	}
	if own := b.own.Put(ctx, e, keep); own != nil {
		return errors.Join(err, own)
	}
	b.enqueue(origin)
	return err
}

// Delete forgets an origin in both stores.
func (b *Backed) Delete(ctx context.Context, origin robots.Origin) error {
	unlock, err := b.lock(ctx, origin)
	if err != nil {
		return err
	}
	defer unlock()
	b.carried(origin)
	return errors.Join(b.shared.Delete(ctx, origin), b.own.Delete(ctx, origin))
}

// enqueue notes that the shared store is to have what is kept here of an origin.
func (b *Backed) enqueue(origin robots.Origin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) < maxPending {
		b.pending[origin] = struct{}{}
	}
	if !b.carrying && b.ctx.Err() == nil {
		b.carrying = true
		b.carrier.Go(b.carry)
	}
}

// carried notes that the shared store has what there is of an origin.
func (b *Backed) carried(origin robots.Origin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pending, origin)
}

// anyPending returns one of the pending origins. With none it ends the carrying.
func (b *Backed) anyPending() (origin robots.Origin, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for origin = range b.pending {
		return origin, true
	}
	b.carrying = false
	return origin, false
}

// carry carries over what is pending until nothing is.
func (b *Backed) carry() {
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
			origin, ok := b.anyPending()
			if !ok {
				return
			}
			if !b.carryOne(origin) {
				break
			}
			rest = leastRest
		}
		next.Reset(rest)
		rest = min(2*rest, longestRest)
	}
}

// carryOne carries an origin over, which a Get does, and reports whether it could.
func (b *Backed) carryOne(origin robots.Origin) bool {
	ctx, cancel := context.WithTimeout(b.ctx, storeLimit)
	defer cancel()
	_, _ = b.Get(ctx, origin) // what came of it the list says
	b.mu.Lock()
	defer b.mu.Unlock()
	_, pending := b.pending[origin]
	return !pending
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
