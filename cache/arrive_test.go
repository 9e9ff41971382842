package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

// locking is a Locker that says who has a lock.
type locking struct {
	*cachetest.Memory
	held sync.Map // robots.Origin to token
}

func (l *locking) Lock(ctx context.Context, o robots.Origin, ttl time.Duration) (uint64, error) {
	token, err := l.Memory.Lock(ctx, o, ttl)
	if err == nil {
		l.held.Store(o, token)
	}
	return token, err
}

func (l *locking) Unlock(ctx context.Context, o robots.Origin, token uint64) error {
	l.held.CompareAndDelete(o, token)
	return l.Memory.Unlock(ctx, o, token)
}

func (l *locking) all() (hosts []string) {
	for o := range l.held.Range {
		hosts = append(hosts, o.(robots.Origin).Host())
	}
	slices.Sort(hosts)
	return hosts
}

// arriving is an Arriver that has one slot, and a fetch takes a minute.
type arriving struct {
	slow
	slot  chan struct{}
	fails error
	nilly bool
}

type stay struct {
	a      *arriving
	origin robots.Origin
	leave  sync.Once
}

func (a *arriving) Arrive(ctx context.Context, o robots.Origin) (fetch.Visit, error) {
	if a.fails != nil || a.nilly {
		return nil, a.fails
	}
	select {
	case a.slot <- struct{}{}:
		return &stay{a: a, origin: o}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *stay) Fetch(ctx context.Context) (*fetch.Record, error) {
	return s.a.Fetch(ctx, s.origin)
}

func (s *stay) Leave() { s.leave.Do(func() { <-s.a.slot }) }

// TestArriver: nobody who waits for another fetch holds a lock, and nobody who
// waits for a lock holds a slot.
func TestArriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &locking{Memory: cachetest.NewMemory()}
		f := &arriving{slow: slow{takes: 50 * time.Second, now: behaving("file")}, slot: make(chan struct{}, 1)}
		c := open(t, cache.Options{Fetcher: f, Store: store})
		defer c.Close()
		var wg sync.WaitGroup
		get := func(i int) {
			wg.Go(func() {
				if _, err := c.Get(context.Background(), cachetest.Origin(i)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		host := func(list ...int) (hosts []string) {
			for _, i := range list {
				hosts = append(hosts, cachetest.Origin(i).Host())
			}
			return hosts
		}
		// Another worker fetches site 0.
		theirs, _ := store.Lock(t.Context(), cachetest.Origin(0), time.Minute)
		get(0)
		if len(f.slot) != 0 {
			t.Error("a slot is held for the lock of another")
		}
		for i := range 3 {
			get(1 + i)
		}
		if got, want := store.all(), host(0, 1); !slices.Equal(got, want) {
			t.Errorf("locks of %v while one fetches and the others wait, want %v", got, want)
		}
		r := record(cachetest.Origin(0), behaving("file"), time.Now())
		r.Expires = r.Fetched.Add(hour)
		if err := store.Put(t.Context(), cache.Entry{Record: r, Fence: theirs}, time.Hour); err != nil {
			t.Fatal(err)
		}
		_ = store.Unlock(t.Context(), cachetest.Origin(0), theirs)
		began := time.Now()
		wg.Wait()
		// Three fetches of 50 s, one after another, are longer than the limit of one.
		if took := time.Since(began); took < 150*time.Second || took > 152*time.Second || f.asked.Load() != 3 {
			t.Errorf("%d fetches in %v, want 3 in 150 s", f.asked.Load(), took)
		}
		synctest.Wait() // an answer is given before the record is stored and the slot is left
		if len(f.slot) != 0 || len(store.all()) != 0 {
			t.Errorf("%d slots and the locks of %v are kept", len(f.slot), store.all())
		}
	})
}

// TestArriverFails: an error of Arrive is that of whoever waits, and nothing is kept.
func TestArriverFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, f := range []*arriving{{fails: errors.New("no way")}, {nilly: true}} {
			var events []cache.EventKind
			c := open(t, cache.Options{Fetcher: f, Observe: func(e cache.Event) { events = append(events, e.Kind) }})
			_, err := c.Get(context.Background(), origin)
			if err == nil || f.fails != nil && !errors.Is(err, f.fails) || f.nilly && !strings.Contains(err.Error(), "neither a visit nor an error") {
				t.Error(err)
			}
			if !slices.Equal(events, []cache.EventKind{cache.EventFetchFailed}) || used(c) != 0 {
				t.Error(events)
			}
			c.Close()
		}
		// One that closes meanwhile.
		f := &arriving{slot: make(chan struct{})}
		c := open(t, cache.Options{Fetcher: f})
		failed := make(chan error)
		go func() {
			_, err := c.Get(context.Background(), origin)
			failed <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-failed; !errors.Is(err, cache.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestEarlyBound: fetches that nobody waits for are not begun without a bound, and
// answers go on.
func TestEarlyBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const origins = 600
		f := &arriving{slow: slow{now: behaving("file")}, slot: make(chan struct{}, origins)}
		ahead := 0
		c := open(t, cache.Options{Fetcher: f, Observe: func(e cache.Event) {
			if e.Kind == cache.EventAhead {
				ahead++
			}
		}})
		defer c.Close()
		ask := func() {
			t.Helper()
			for i := range origins {
				if _, err := c.Get(context.Background(), cachetest.Origin(i)); err != nil {
					t.Fatal(fmt.Errorf("%d: %w", i, err))
				}
			}
		}
		ask()
		synctest.Wait()              // for those who are still on their way out
		f.slot = make(chan struct{}) // and nobody has a slot
		time.Sleep(21*time.Hour + 30*time.Minute)
		ask()
		ask()
		if ahead != 512 {
			t.Errorf("%d fetches ahead of their time, want 512", ahead)
		}
	})
}

// slowPut is a store that takes its time to write.
type slowPut struct {
	*cachetest.Memory
	takes time.Duration
}

func (s slowPut) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	time.Sleep(s.takes)
	return s.Memory.Put(ctx, e, keep)
}

// TestVisitUntilStored: the answer is there at once, and the visit is left when the
// store has it, not before: what is under way to a slow disk is no more than slots.
func TestVisitUntilStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &arriving{slow: slow{now: behaving("file")}, slot: make(chan struct{}, 2)}
		store := slowPut{cachetest.NewMemory(), 3 * time.Second}
		c := open(t, cache.Options{Fetcher: f, Store: plain{store}})
		defer c.Close()
		began := time.Now()
		for i := range 2 {
			if _, err := c.Get(t.Context(), cachetest.Origin(i)); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took >= 3*time.Second {
			t.Errorf("the answers wait %v for the store", took)
		}
		if _, err := c.Get(t.Context(), cachetest.Origin(2)); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 3*time.Second {
			t.Errorf("a third is fetched after %v, with two on their way to the store", took)
		}
	})
}

func used(c *cache.Cache) int {
	n, _ := c.Usage()
	return n
}
