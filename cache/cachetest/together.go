package cachetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
)

// expiry: a store must not drop an entry before its time. After that the entry can be there,
// unchanged, or absent.
func expiry(t *testing.T, s cache.Store) {
	long := Record(Origin(1), "long")
	short := Record(Origin(2), "short")
	put(t, s, cache.Entry{Record: long})
	if err := s.Put(ctx, cache.Entry{Record: short}, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, cache.Entry{Record: Record(Origin(3), "over")}, 0); err != nil {
		t.Errorf("put with nothing to keep: %v", err)
	}
	for i := range 100 {
		put(t, s, cache.Entry{Record: Record(Origin(10+i), "filler")})
	}
	want(t, s, Origin(1), cache.Entry{Record: long})
	if _, err := s.Get(ctx, Origin(2)); err == nil {
		want(t, s, Origin(2), cache.Entry{Record: short})
	} else if !errors.Is(err, cache.ErrAbsent) {
		t.Errorf("get after its time: %v, want the entry or ErrAbsent", err)
	}
	put(t, s, cache.Entry{Record: short}) // an entry can be replaced
	want(t, s, Origin(2), cache.Entry{Record: short})
}

// contexts: a call whose context has ended does nothing and returns its error.
func contexts(t *testing.T, s cache.Store) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	kept := cache.Entry{Record: Record(Origin(1), "a")}
	put(t, s, kept)
	_, err := s.Get(ended, Origin(1))
	for _, err := range []error{err, s.Put(ended, cache.Entry{Record: Record(Origin(1), "b")}, keep), s.Delete(ended, Origin(1))} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a call with an ended context: %v", err)
		}
	}
	want(t, s, Origin(1), kept)
}

func badPuts(t *testing.T, s cache.Store) {
	if err := s.Put(ctx, cache.Entry{}, keep); err == nil {
		t.Error("put without a record: no error")
	}
	if err := s.Put(ctx, cache.Entry{Record: Record(robots.Origin{}, "a")}, keep); err == nil {
		t.Error("put of a record without an origin: no error")
	}
	wantAbsent(t, s, robots.Origin{})
}

// versions: a record of a later release, or a damaged one, is neither read nor absent, and the
// next put replaces it.
func versions(t *testing.T, s cache.Store) {
	p, ok := s.(Planter)
	if !ok {
		t.Skipf("%T keeps no encoded records", s)
	}
	planted := map[string]string{
		"a later release": `{"v":1000,"o":"https://site-1.example","c":"ok","new":true}`,
		"damage":          `{"v":2,"o":"https://site-1.exam`,
		"another origin":  `{"v":2,"o":"https://site-2.example","c":"ok"}`,
		"a missing body":  `{"v":2,"o":"https://site-1.example","c":"ok","b":"+"}`,
		"nothing":         "",
	}
	put(t, s, cache.Entry{Record: Record(Origin(5), "beside")})
	for name, record := range planted {
		if err := p.Plant(Origin(1), []byte(record)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := s.Get(ctx, Origin(1)); err == nil || errors.Is(err, cache.ErrAbsent) {
				t.Errorf("get of a record of %s: %v, want an error that is not ErrAbsent", name, err)
			}
		}
		want(t, s, Origin(5), cache.Entry{Record: Record(Origin(5), "beside")})
		e := cache.Entry{Record: Record(Origin(1), "anew")}
		put(t, s, e)
		want(t, s, Origin(1), e)
	}
	// An unknown field is ignored.
	if err := p.Plant(Origin(1), []byte(`{"v":2,"o":"https://site-1.example","c":"client-error","s":404,"later-addition":[1]}`)); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Get(ctx, Origin(1)); err != nil || e.Record.Status != 404 {
		t.Errorf("get of a record with an unknown field: %v, %v", e.Record, err)
	}
	if err := s.Delete(ctx, Origin(1)); err != nil {
		t.Error(err)
	}
}

// locker returns the store if it has locks; otherwise it skips the test.
func locker(t *testing.T, s cache.Store) cache.Locker {
	t.Helper()
	l, ok := s.(cache.Locker)
	if !ok {
		t.Skipf("%T has no locks", s)
	}
	return l
}

// locked takes the lock on the first origin, as soon as it is free.
func locked(t *testing.T, l cache.Locker, ttl time.Duration) (token uint64) {
	t.Helper()
	for {
		token, err := l.Lock(ctx, Origin(1), ttl)
		if err == nil {
			return token
		}
		if !errors.Is(err, cache.ErrLocked) {
			t.Fatalf("lock: %v", err)
		}
		runtime.Gosched()
	}
}

// locks: there is one holder per origin until it unlocks.
func locks(t *testing.T, s cache.Store) {
	l := locker(t, s)
	put(t, s, cache.Entry{Record: Record(Origin(1), "a"), Fence: 41})
	first, err := l.Lock(ctx, Origin(1), time.Hour)
	if err != nil || first <= 41 {
		t.Fatalf("first lock over fence 41: %d, %v", first, err)
	}
	refused := func(when string) {
		t.Helper()
		if _, err := l.Lock(ctx, Origin(1), time.Hour); !errors.Is(err, cache.ErrLocked) {
			t.Errorf("lock %s: %v, want ErrLocked", when, err)
		}
	}
	refused("that is held")
	if _, err := l.Lock(ctx, Origin(2), time.Hour); err != nil {
		t.Errorf("lock of another origin: %v", err)
	}
	if err := l.Unlock(ctx, Origin(1), first-1); err != nil {
		t.Errorf("unlock with a token that is not in force: %v", err)
	}
	refused("after an unlock with a token that is not in force")
	put(t, s, cache.Entry{Record: Record(Origin(1), "b"), Fence: first})
	refused("after the put of its holder")
	want(t, s, Origin(1), cache.Entry{Record: Record(Origin(1), "b"), Fence: first})
	if l.Down(Origin(1)) {
		t.Error("a store that answers is down")
	}
	if err := l.Unlock(ctx, Origin(1), first); err != nil {
		t.Errorf("unlock: %v", err)
	}
	if next, err := l.Lock(ctx, Origin(1), time.Hour); err != nil || next <= first {
		t.Errorf("lock after token %d: %d, %v", first, next, err)
	}
	want(t, s, Origin(1), cache.Entry{Record: Record(Origin(1), "b"), Fence: first})
}

// lockEnds: an abandoned lock expires. Its holder has a lower token than the next, and its
// puts are then refused.
func lockEnds(t *testing.T, s cache.Store) {
	l := locker(t, s)
	dead := locked(t, l, 20*time.Millisecond)
	next := locked(t, l, time.Hour)
	if next <= dead {
		t.Errorf("token %d after %d", next, dead)
	}
	put(t, s, cache.Entry{Record: Record(Origin(1), "next"), Fence: next})
	if err := s.Put(ctx, cache.Entry{Record: Record(Origin(1), "late"), Fence: dead}, keep); !errors.Is(err, cache.ErrFenced) {
		t.Errorf("put of a late holder: %v, want ErrFenced", err)
	}
}

// lockRace: of many concurrent callers one at a time has the lock, and tokens grow.
func lockRace(t *testing.T, s cache.Store) {
	l := locker(t, s)
	const workers, rounds = 16, 20
	var inside atomic.Int32
	var last uint64 // guarded by the lock
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				token := locked(t, l, time.Minute)
				if inside.Add(1) != 1 || token <= last {
					t.Errorf("two have the lock at a time, or token %d after %d", token, last)
				}
				last = token
				inside.Add(-1)
				if err := l.Unlock(ctx, Origin(1), token); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// closing closes the store during calls.
func closing(t *testing.T, s cache.Store) {
	var wg, begun sync.WaitGroup
	for w := range 8 {
		begun.Add(1)
		wg.Go(func() {
			var err error
			done := sync.OnceFunc(begun.Done)
			defer done()
			for i := 0; err == nil; i++ {
				if i == 3 {
					done()
				}
				if err = s.Put(ctx, cache.Entry{Record: Record(Origin(w), fmt.Sprint(i))}, keep); err == nil {
					_, err = s.Get(ctx, Origin(w))
				}
				if err == nil && i%2 == 1 {
					err = s.Delete(ctx, Origin(w))
				}
			}
			if !errors.Is(err, cache.ErrClosed) {
				t.Errorf("call while closing: %v", err)
			}
		})
	}
	begun.Wait()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	wg.Wait()
	_, err := s.Get(ctx, Origin(1))
	for _, err := range []error{err, s.Delete(ctx, Origin(1))} {
		if !errors.Is(err, cache.ErrClosed) {
			t.Errorf("a call after close: %v, want ErrClosed", err)
		}
	}
}
