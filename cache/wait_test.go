package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

// locked returns which of the first four origins are locked.
func locked(t *testing.T, store *cachetest.Memory) (list []int) {
	for i := range 4 {
		token, err := store.Lock(t.Context(), cachetest.Origin(i), time.Minute)
		if err != nil {
			list = append(list, i)
		} else if err := store.Unlock(t.Context(), cachetest.Origin(i), token); err != nil {
			t.Error(err)
		}
	}
	return list
}

// waiting is a Fetcher with one slot.
type waiting struct {
	slow
	slot  chan struct{}
	fails error
}

func (w *waiting) FetchAfter(ctx context.Context, o robots.Origin, before func() error) (*fetch.Record, error) {
	if w.fails != nil {
		return nil, w.fails
	}
	select {
	case w.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-w.slot }()
	if err := before(); err != nil {
		return nil, err
	}
	return w.Fetch(ctx, o)
}

// TestLockAfterWait: no lock is held during the wait for a slot, and no slot during the wait
// for a lock.
func TestLockAfterWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cachetest.NewMemory()
		f := &waiting{slow: slow{takes: 50 * time.Second, now: behaving("file")}, slot: make(chan struct{}, 1)}
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
		// Another worker fetches site 0.
		theirs, _ := store.Lock(t.Context(), cachetest.Origin(0), time.Minute)
		get(0)
		if len(f.slot) != 0 {
			t.Error("a slot is held for the lock of another")
		}
		for i := range 3 {
			get(1 + i)
		}
		if got := locked(t, store); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("locks of %v while one fetches and the others wait, want 0 and 1", got)
		}
		r := record(cachetest.Origin(0), behaving("file"), time.Now())
		r.Expires = r.Fetched.Add(hour)
		if err := store.Put(t.Context(), cache.Entry{Record: r, Fence: theirs}, time.Hour); err != nil {
			t.Fatal(err)
		}
		_ = store.Unlock(t.Context(), cachetest.Origin(0), theirs)
		began := time.Now()
		wg.Wait()
		// Three fetches of 50 s, one after another, take longer than the limit of one.
		if took := time.Since(began); took < 150*time.Second || took > 152*time.Second || f.asked.Load() != 3 {
			t.Errorf("%d fetches in %v, want 3 in 150 s", f.asked.Load(), took)
		}
		if locks := locked(t, store); len(f.slot) != 0 || len(locks) != 0 {
			t.Errorf("%d slots and the locks of %v are kept", len(f.slot), locks)
		}
	})
}

// TestWaitFails: callers get the error of a wait, and nothing is kept.
func TestWaitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []cache.EventKind
		f := &waiting{fails: errors.New("no way")}
		c := open(t, cache.Options{Fetcher: f, Observe: func(e cache.Event) { events = append(events, e.Kind) }})
		if _, err := c.Get(context.Background(), origin); !errors.Is(err, f.fails) {
			t.Error(err)
		}
		if !slices.Equal(events, []cache.EventKind{cache.EventFetchFailed}) || used(c) != 0 {
			t.Error(events)
		}
		c.Close()
	})
}

// TestEarlyBound: early fetches, for which no caller waits, are limited, and answers continue.
func TestEarlyBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const origins = 600
		f := &waiting{slow: slow{now: behaving("file")}, slot: make(chan struct{}, origins)}
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

// slowPut is a store with slow writes.
type slowPut struct {
	*cachetest.Memory
	takes time.Duration
}

func (s slowPut) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	time.Sleep(s.takes)
	return s.Memory.Put(ctx, e, keep)
}

func used(c *cache.Cache) int {
	n, _ := c.Usage()
	return n
}
