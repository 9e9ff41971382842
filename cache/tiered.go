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
	// DownSince returns since when the store, or a part of it, has not answered. It is
	// the zero time if the store has answered its last call.
	DownSince() time.Time
	// Down reports whether the store, or the part that has an origin, does not answer.
	// Answers of a Cache are marked as degraded meanwhile.
	Down(origin robots.Origin) bool
}

// Tiered is a shared store with a local one behind it, which keeps what this process
// has seen of the shared one. If the shared store is lost, no answer is lost, and
// what the process has learned in the meantime is put there later.
//
// Get asks both stores and returns the later entry, but never one with a lower fence
// than the shared store has. If the shared store was replaced by an empty one, or
// has lost its last writes, its users put back what they have, origin by origin, as
// somebody asks for it.
//
// Put returns nil when the entry is in both stores. If the shared store cannot be
// reached, the entry is kept locally and Put returns the error. The entry is carried
// over within some four seconds after the shared store answers again.
//
// Leases are those of the shared store. Without it there are none, and a Cache goes
// on with one fetch per origin in its process.
//
// Delete reaches the two stores of this process. If other processes have local copies
// of their own, a deleted origin comes back when one of them asks for it next.
type Tiered struct {
	shared // Lease, Release and Await are its own
	local  Store
	keep   time.Duration
	// locks let one call at a time work on an origin, and on a few others that share
	// its lock: what is read in one store must still hold when the other is written.
	locks [256]chan struct{}

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	carrier sync.WaitGroup

	mu       sync.Mutex
	pending  map[robots.Origin]time.Duration // what the shared store has not got, for how long; at most maxPending
	carrying bool                            // while anything is pending
}

// shared is Leaser under a name that is not exported, to be embedded.
type shared = Leaser

// maxPending bounds what a long outage leaves to be carried over, some 10 MiB. What
// is beyond is put when somebody asks for it.
const maxPending = 1 << 16

// The next attempt to carry over waits this long, longer after each that failed.
const (
	leastRest   = 250 * time.Millisecond
	longestRest = 4 * time.Second
)

// NewTiered returns a store of shared with local behind it. An entry that one has and
// the other lacks is put there for keep, 90 days if it is 0, unless its Put has failed and
// said how long.
func NewTiered(shared Leaser, local Store, keep time.Duration) *Tiered {
	t := &Tiered{shared: shared, local: local, keep: cmp.Or(keep, keepDefault), pending: map[robots.Origin]time.Duration{}}
	for i := range t.locks {
		t.locks[i] = make(chan struct{}, 1)
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

var lockSeed = maphash.MakeSeed()

// lock locks an origin until unlock is called.
func (t *Tiered) lock(ctx context.Context, origin robots.Origin) (unlock func(), err error) {
	l := t.locks[maphash.Comparable(lockSeed, origin)%uint64(len(t.locks))]
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Get returns the entry of an origin that counts, and puts it into the store that lacks
// it. If the local store has no entry, the error is that of the shared one.
func (t *Tiered) Get(ctx context.Context, origin robots.Origin) (Entry, error) {
	unlock, err := t.lock(ctx, origin)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	here, missing := t.local.Get(ctx, origin) // first, as it is near: the other may take all the time there is
	there, err := t.shared.Get(ctx, origin)
	absent := errors.Is(err, ErrAbsent)
	switch {
	case err != nil && missing != nil, errors.Is(err, ErrClosed):
		if absent {
			t.removePending(origin)
		}
		return Entry{}, err
	case err != nil && !absent:
		return here, nil
	case absent, missing == nil && here.Fence >= there.Fence && here.Record.Fetched.After(there.Record.Fetched):
		here.Fence = max(here.Fence, there.Fence)
		// Another process that has written meanwhile has the later lease.
		keep := t.keepOf(origin)
		if err := t.shared.Put(ctx, here, keep); err != nil && !errors.Is(err, ErrFenced) {
			t.addPending(origin, keep)
		} else {
			t.removePending(origin)
		}
		return here, nil
	case missing != nil || here.Fence < there.Fence || here.Record.Fetched.Before(there.Record.Fetched):
		// That the copy cannot be written is no reason to go without the answer.
		_ = t.putLocal(ctx, there, t.keep)
	}
	t.removePending(origin)
	return there, nil
}

// putLocal keeps locally what the shared store has. If a higher fence forbids it, that
// one is of a shared store which is gone, and whose successor counts anew.
func (t *Tiered) putLocal(ctx context.Context, e Entry, keep time.Duration) error {
	err := t.local.Put(ctx, e, keep)
	if errors.Is(err, ErrFenced) {
		if err = t.local.Delete(ctx, e.Record.Origin); err == nil {
			err = t.local.Put(ctx, e, keep)
		}
	}
	return err
}

// Put keeps an entry in both stores. One with too low a fence is kept in neither.
func (t *Tiered) Put(ctx context.Context, e Entry, keep time.Duration) error {
	if e.Record == nil {
		return errNoRecord
	}
	origin := e.Record.Origin
	unlock, err := t.lock(ctx, origin)
	if err != nil {
		return err
	}
	defer unlock()
	err = t.shared.Put(ctx, e, keep)
	switch {
	case err == nil:
		t.removePending(origin)
		return t.putLocal(ctx, e, keep)
	case errors.Is(err, ErrFenced), errors.Is(err, ErrClosed), origin.IsZero(), ctx.Err() != nil:
		return err
	}
	if local := t.local.Put(ctx, e, keep); local != nil {
		return errors.Join(err, local)
	}
	t.addPending(origin, keep)
	return err
}

// Delete forgets an origin in both stores.
func (t *Tiered) Delete(ctx context.Context, origin robots.Origin) error {
	unlock, err := t.lock(ctx, origin)
	if err != nil {
		return err
	}
	defer unlock()
	t.removePending(origin)
	return errors.Join(t.shared.Delete(ctx, origin), t.local.Delete(ctx, origin))
}

// keepOf returns how long the shared store is asked to keep the local entry of an origin:
// as Put said where it is pending. Of others somebody has asked again.
func (t *Tiered) keepOf(origin robots.Origin) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if keep, ok := t.pending[origin]; ok {
		return keep
	}
	return t.keep
}

// addPending notes that the local entry of an origin must be carried over.
func (t *Tiered) addPending(origin robots.Origin, keep time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) < maxPending {
		t.pending[origin] = keep
	}
	if !t.carrying && t.ctx.Err() == nil {
		t.carrying = true
		t.carrier.Go(t.carry)
	}
}

// removePending notes that the shared store has the latest entry of an origin.
func (t *Tiered) removePending(origin robots.Origin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pending, origin)
}

// anyPending returns one of the pending origins. With none it ends the carrying.
func (t *Tiered) anyPending() (origin robots.Origin, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for origin = range t.pending {
		return origin, true
	}
	t.carrying = false
	return origin, false
}

// carry carries over what is pending until nothing is.
func (t *Tiered) carry() {
	rest := leastRest
	next := time.NewTimer(rest)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-t.ctx.Done():
			return
		}
		for {
			origin, ok := t.anyPending()
			if !ok {
				return
			}
			if !t.carryOne(origin) {
				break
			}
			rest = leastRest
		}
		next.Reset(rest)
		rest = min(2*rest, longestRest)
	}
}

// carryOne carries an origin over, which a Get does, and reports whether it could.
func (t *Tiered) carryOne(origin robots.Origin) bool {
	ctx, cancel := context.WithTimeout(t.ctx, storeLimit)
	defer cancel()
	_, _ = t.Get(ctx, origin) // whether it worked is in pending
	t.mu.Lock()
	defer t.mu.Unlock()
	_, still := t.pending[origin]
	return !still
}

// DownSince returns since when the shared store has not answered, the zero time if it
// has, or is not a Remote.
func (t *Tiered) DownSince() time.Time {
	if r, ok := t.shared.(Remote); ok {
		return r.DownSince()
	}
	return time.Time{}
}

// Down reports whether the shared store is down for an origin.
func (t *Tiered) Down(origin robots.Origin) bool {
	r, ok := t.shared.(Remote)
	return ok && r.Down(origin)
}

// Close closes both stores.
func (t *Tiered) Close() error {
	t.mu.Lock() // so that no carrier begins once they are waited for
	t.cancel()
	t.mu.Unlock()
	t.carrier.Wait()
	return errors.Join(t.shared.Close(), t.local.Close())
}
