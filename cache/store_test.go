package cache_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

// faulty is a store that can be made to fail.
type faulty struct {
	*cachetest.Memory
	reads, writes, locks error
	beforeLock           func()
}

func (f *faulty) Lock(ctx context.Context, o robots.Origin, ttl time.Duration) (uint64, error) {
	if f.beforeLock != nil {
		f.beforeLock()
	}
	token, err := f.Memory.Lock(ctx, o, ttl)
	return token, errors.Join(err, f.locks)
}

func (f *faulty) Unlock(ctx context.Context, o robots.Origin, token uint64) error {
	return errors.Join(f.Memory.Unlock(ctx, o, token), f.locks)
}

func (f *faulty) Delete(ctx context.Context, o robots.Origin) error {
	return errors.Join(f.Memory.Delete(ctx, o), f.writes)
}

func (f *faulty) Get(ctx context.Context, o robots.Origin) (cache.Entry, error) {
	if f.reads != nil {
		return cache.Entry{}, f.reads
	}
	return f.Memory.Get(ctx, o)
}

func (f *faulty) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if f.writes != nil {
		return f.writes
	}
	return f.Memory.Put(ctx, e, keep)
}

// plain is a store without locks.
type plain struct{ cache.Store }

// TestStoreFails: a failing store costs fetches and time, and never the last good answer that it
// holds.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{now: behaving("file")}
		store := &faulty{Memory: cachetest.NewMemory()}
		c := open(t, cache.Options{Fetcher: s, Store: store})
		get(t, c)
		kept, err := store.Memory.Get(context.Background(), origin)
		if err != nil {
			t.Fatalf("a record that was returned is not stored: %v", err)
		}
		c.Close()

		var failed int
		restart := func() *cache.Cache {
			return open(t, cache.Options{Fetcher: s, Store: store, Observe: func(e cache.Event) {
				if e.Kind == cache.EventStoreFailed {
					failed++
				}
			}})
		}
		time.Sleep(30 * hour)
		s.now = behaving("500")
		store.reads = errors.New("disk on fire")
		c = restart()
		if r := get(t, c); r.Outcome != fetch.Unreachable || r.LastGood != nil {
			t.Errorf("unreadable store: %+v", r)
		}
		synctest.Wait()
		if now, err := store.Memory.Get(context.Background(), origin); err != nil || now.Record != kept.Record {
			t.Errorf("a failure was written over what could not be read: %+v, %v", now.Record, err)
		}
		token, err := store.Lock(context.Background(), origin, time.Minute)
		if err != nil {
			t.Errorf("the lock of a failure that is not stored: %v", err)
		}
		if err := store.Unlock(context.Background(), origin, token); err != nil {
			t.Error(err)
		}
		first := get(t, c).FailingSince
		store.reads = nil
		time.Sleep(2 * time.Minute)
		if r := get(t, c); r.LastGood == nil || !r.LastGood.Fetched.Equal(kept.Record.Fetched) || !r.FailingSince.Equal(first) || r.Failures != 2 {
			t.Errorf("readable again: %+v", r)
		}
		synctest.Wait()
		c.Close()
		if failed == 0 {
			t.Error("nobody was told")
		}

		store.writes = errors.New("disk full")
		c = restart()
		time.Sleep(3 * time.Minute)
		if r := get(t, c); r.Failures != 3 {
			t.Errorf("%+v", r)
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		store.writes = nil
		if r := get(t, c); r.Failures != 4 || !r.FailingSince.Equal(first) {
			t.Errorf("after a write that failed: %+v", r)
		}
		c.Close()
	})
}

// TestLockFails: a site is fetched even if its lock fails, and not if another process stores its
// record just before the lock is taken. A caller that waits for a lock ends with the cache.
func TestLockFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{now: behaving("file")}
		store := &faulty{Memory: cachetest.NewMemory(), locks: errors.New("the reply is lost"), writes: errors.New("disk full")}
		var failed []error
		c := open(t, cache.Options{Fetcher: s, Store: store, Observe: func(e cache.Event) {
			if e.Kind == cache.EventStoreFailed {
				failed = append(failed, e.Err)
			}
		}})
		if r := get(t, c); r.Outcome != fetch.Success {
			t.Errorf("without a lock: %+v", r)
		}
		synctest.Wait()
		if len(failed) != 3 {
			t.Errorf("events %v, want the lock, the record and the unlock", failed)
		}
		if err := c.Forget(context.Background(), origin); !errors.Is(err, store.writes) {
			t.Errorf("Forget: %v", err)
		}
		store.locks, store.writes = nil, nil

		n := s.asked.Load()
		store.beforeLock = func() {
			store.beforeLock = nil
			r := *record(origin, s.now, time.Now())
			r.Detail, r.Expires = "of another process", time.Now().Add(time.Hour)
			if err := store.Put(context.Background(), cache.Entry{Record: &r}, time.Hour); err != nil {
				t.Error(err)
			}
		}
		if r := get(t, c); r.Detail != "of another process" || s.asked.Load() != n {
			t.Errorf("%+v after %d fetches", r, s.asked.Load()-n)
		}

		s.takes = time.Minute
		other, _, _ := robots.ParseURL("https://other.example/")
		if _, err := store.Memory.Lock(context.Background(), other, time.Hour); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := c.Get(context.Background(), other)
			done <- err
		}()
		time.Sleep(time.Second)
		c.Close()
		if err := <-done; !errors.Is(err, cache.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestFleet: caches on one store fetch each origin once, wait for the holder of the lease, take
// over from a dead one and fence off its writes.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const caches, origins = 8, 200
		store := cachetest.NewMemory()
		s := &slow{takes: time.Second, now: behaving("file")}
		fleet := make([]*cache.Cache, caches)
		for i := range fleet {
			fleet[i] = open(t, cache.Options{Fetcher: s, Store: store})
		}
		var wg sync.WaitGroup
		for i := range origins {
			for _, c := range fleet {
				wg.Go(func() {
					if _, err := c.Get(context.Background(), cachetest.Origin(i)); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if n := s.asked.Load(); n != origins {
			t.Errorf("%d fetches for %d origins by %d caches", n, origins, caches)
		}
		for _, c := range fleet {
			c.Close()
		}
		t.Logf("%d fetches for %d origins by %d caches", s.asked.Load(), origins, caches)
	})
	synctest.Test(t, func(t *testing.T) {
		// A holder that hangs longer than its lock: its late result is rejected.
		store := cachetest.NewMemory()
		hung := make(chan struct{})
		var fenced atomic.Int64
		dead := open(t, cache.Options{Store: store, Observe: func(e cache.Event) {
			if e.Kind == cache.EventFenced {
				fenced.Add(1)
			}
		}, Fetcher: fetcherFunc(func(_ context.Context, o robots.Origin) (*fetch.Record, error) {
			<-hung // whatever the context says
			return record(o, behaving("500"), time.Now()), nil
		})})
		alive := open(t, cache.Options{Store: store, Fetcher: &slow{now: behaving("file")}})
		go dead.Get(context.Background(), origin)
		synctest.Wait()
		if w := took(func() { get(t, alive) }); w < 66*time.Second || w > 67*time.Second {
			t.Errorf("waited %v for a dead holder, want its lock of 66s", w)
		}
		synctest.Wait()
		close(hung)
		dead.Close()
		alive.Close()
		if e, err := store.Get(context.Background(), origin); err != nil || e.Record.Outcome != fetch.Success || fenced.Load() != 1 {
			t.Errorf("%+v, %v, fenced %d times", e.Record, err, fenced.Load())
		}
	})
}

// keeping records the lifetimes of entries.
type keeping struct {
	*cachetest.Memory
	mu   sync.Mutex
	puts []time.Duration
}

func (k *keeping) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	k.mu.Lock()
	k.puts = append(k.puts, keep)
	k.mu.Unlock()
	return k.Memory.Put(ctx, e, keep)
}

// TestKeep: a record of a site that was requested once is kept for days; of one requested again
// or failing, for months.
func TestKeep(t *testing.T) {
	const day = 24 * hour
	for _, tt := range []struct {
		name  string
		o     cache.Options
		sites []string // what the site does, a day apart
		want  []time.Duration
	}{
		{"once", cache.Options{}, []string{"file"}, []time.Duration{14 * day}},
		{"none", cache.Options{}, []string{"404"}, []time.Duration{14 * day}},
		{"again", cache.Options{}, []string{"file", "file", "404"}, []time.Duration{14 * day, 90 * day, 90 * day}},
		{"failing", cache.Options{}, []string{"500", "500", "file"}, []time.Duration{90 * day, 90 * day, 90 * day}},
		{"good before", cache.Options{}, []string{"file", "500"}, []time.Duration{14 * day, 90 * day}},
		{"options", cache.Options{Keep: 60 * day, KeepOnce: 3 * day}, []string{"file", "500"}, []time.Duration{3 * day, 60 * day}},
		{"short", cache.Options{Keep: 2 * day}, []string{"file", "file"}, []time.Duration{2 * day, 2 * day}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slow{}
				store := &keeping{Memory: cachetest.NewMemory()}
				tt.o.Fetcher, tt.o.Store = s, store
				for _, site := range tt.sites {
					s.now = behaving(site)
					c := open(t, tt.o) // with nothing in its memory
					get(t, c)
					c.Close()
					time.Sleep(25 * hour)
				}
				if !slices.Equal(store.puts, tt.want) {
					t.Errorf("kept for %v, want %v", store.puts, tt.want)
				}
			})
		})
	}
}
