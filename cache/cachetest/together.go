package cachetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
)

// expiry: a store must not drop an entry before its time. After that the entry may be
// there, as it was put, or absent.
func expiry(t *testing.T, s cache.Store) {
	long, short := Record(Origin(1), "long"), Record(Origin(2), "short")
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
	put(t, s, cache.Entry{Record: short}) // an entry can be put again
	want(t, s, Origin(2), cache.Entry{Record: short})
}

// concurrent mixes calls from many goroutines: an entry is never a mixture of two.
func concurrent(t *testing.T, s cache.Store) {
	const workers, steps, origins = 16, 120, 6
	var number, gets, puts atomic.Uint64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 5))
			for range steps {
				i := random.IntN(origins)
				switch random.IntN(10) {
				case 0:
					if err := s.Delete(ctx, Origin(i)); err != nil {
						t.Errorf("delete: %v", err)
					}
				case 1, 2, 3:
					puts.Add(1)
					if err := s.Put(ctx, Numbered(i, number.Add(1)), keep); err != nil {
						t.Errorf("put: %v", err)
					}
				default:
					e, err := s.Get(ctx, Origin(i))
					if errors.Is(err, cache.ErrAbsent) {
						continue
					}
					if err != nil {
						t.Errorf("get: %v", err)
						continue
					}
					gets.Add(1)
					if diff := Difference(e, Numbered(i, e.Epoch)); diff != "" {
						t.Errorf("entry %d is a mixture: %s", e.Epoch, diff)
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d gets found an entry among %d puts", gets.Load(), puts.Load())
}

// contexts: a call with an ended context does nothing and says so.
func contexts(t *testing.T, s cache.Store) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	kept := cache.Entry{Record: Record(Origin(1), "a")}
	put(t, s, kept)
	if _, err := s.Get(ended, Origin(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("get with an ended context: %v", err)
	}
	if err := s.Put(ended, cache.Entry{Record: Record(Origin(1), "b")}, keep); !errors.Is(err, context.Canceled) {
		t.Errorf("put with an ended context: %v", err)
	}
	if err := s.Delete(ended, Origin(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("delete with an ended context: %v", err)
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

// versions: a record of a later release is neither read nor absent, and is replaced by
// the next put. The same holds for a damaged one.
func versions(t *testing.T, s cache.Store) {
	p, ok := s.(Planter)
	if !ok {
		t.Skipf("%T keeps no encoded records", s)
	}
	planted := map[string]string{
		"a later release": `{"v":1000,"o":"https://site-1.example","c":"ok","new":true}`,
		"damage":          `{"v":1,"o":"https://site-1.exam`,
		"another origin":  `{"v":1,"o":"https://site-2.example","c":"ok"}`,
		"a missing body":  `{"v":1,"o":"https://site-1.example","c":"ok","b":"` + strings.Repeat("ab", 32) + `"}`,
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
	// A field that this release does not know is ignored.
	if err := p.Plant(Origin(1), []byte(`{"v":1,"o":"https://site-1.example","c":"client-error","s":404,"later-addition":[1]}`)); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Get(ctx, Origin(1)); err != nil || e.Record.Status != 404 {
		t.Errorf("get of a record with an unknown field: %v, %v", e.Record, err)
	}
	if err := s.Delete(ctx, Origin(1)); err != nil {
		t.Error(err)
	}
}

// leaser returns the store if it grants leases; else it skips the test.
func leaser(t *testing.T, s cache.Store) cache.Leaser {
	t.Helper()
	l, ok := s.(cache.Leaser)
	if !ok {
		t.Skipf("%T grants no leases", s)
	}
	return l
}

// lease asks for the lease on the first origin.
func lease(t *testing.T, l cache.Leaser, d time.Duration) cache.Lease {
	t.Helper()
	got, err := l.Lease(ctx, Origin(1), d)
	if err != nil {
		t.Fatalf("lease: %v", err)
	}
	return got
}

// leases: one holder per origin, until that holder releases the lease.
func leases(t *testing.T, s cache.Store) {
	l := leaser(t, s)
	put(t, s, cache.Entry{Record: Record(Origin(1), "a"), Fence: 41})
	first := lease(t, l, time.Hour)
	if !first.Granted || first.Token <= 41 {
		t.Fatalf("first lease over fence 41: %+v", first)
	}
	if second := lease(t, l, time.Hour); second.Granted || second.Left <= 0 || second.Left > time.Hour {
		t.Errorf("second lease: %+v", second)
	}
	if other, err := l.Lease(ctx, Origin(2), time.Hour); err != nil || !other.Granted {
		t.Errorf("lease of another origin: %+v, %v", other, err)
	}
	if err := l.Release(ctx, Origin(1), first.Token-1); err != nil {
		t.Errorf("release by a token that is not in force: %v", err)
	}
	if second := lease(t, l, time.Hour); second.Granted {
		t.Error("a token that is not in force has released the lease")
	}
	waited := make(chan error, 1)
	go func() { waited <- l.Await(ctx, Origin(1)) }()
	if err := l.Release(ctx, Origin(1), first.Token); err != nil {
		t.Errorf("release: %v", err)
	}
	if err := <-waited; err != nil {
		t.Errorf("await: %v", err)
	}
	if next := lease(t, l, time.Hour); !next.Granted || next.Token <= first.Token {
		t.Errorf("lease after token %d was released: %+v", first.Token, next)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := l.Await(ended, Origin(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("await with an ended context: %v", err)
	}
}

// leaseEnds: a lease that nobody releases ends by itself. Its holder has a lower
// token than the next one, and what it puts after that is refused.
func leaseEnds(t *testing.T, s cache.Store) {
	l := leaser(t, s)
	dead := lease(t, l, 20*time.Millisecond)
	if !dead.Granted {
		t.Fatalf("lease: %+v", dead)
	}
	var next cache.Lease
	for !next.Granted { // Await may return early
		if err := l.Await(ctx, Origin(1)); err != nil {
			t.Errorf("await: %v", err)
		}
		next = lease(t, l, time.Hour)
	}
	if next.Token <= dead.Token {
		t.Errorf("token %d after %d", next.Token, dead.Token)
	}
	put(t, s, cache.Entry{Record: Record(Origin(1), "next"), Fence: next.Token})
	if err := s.Put(ctx, cache.Entry{Record: Record(Origin(1), "late"), Fence: dead.Token}, keep); !errors.Is(err, cache.ErrFenced) {
		t.Errorf("put of a late holder: %v, want ErrFenced", err)
	}
}

// leaseRace: if many ask at once, one at a time has the lease, and tokens grow.
func leaseRace(t *testing.T, s cache.Store) {
	l := leaser(t, s)
	const workers, rounds = 16, 20
	var inside atomic.Int32
	var last uint64 // guarded by the lease
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for done := 0; done < rounds; {
				got, err := l.Lease(ctx, Origin(1), time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if !got.Granted {
					if err := l.Await(ctx, Origin(1)); err != nil {
						t.Error(err)
						return
					}
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two have the lease at a time")
				}
				if got.Token <= last {
					t.Errorf("token %d after %d", got.Token, last)
				}
				last = got.Token
				inside.Add(-1)
				if err := l.Release(ctx, Origin(1), got.Token); err != nil {
					t.Error(err)
				}
				done++
			}
		})
	}
	wg.Wait()
	t.Logf("%d leases", workers*rounds)
}

// closing closes the store while calls are under way.
func closing(t *testing.T, s cache.Store) {
	put(t, s, cache.Entry{Record: Record(Origin(1), "a")})
	var wg sync.WaitGroup
	under := make(chan struct{})
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				if i == 3 {
					under <- struct{}{}
				}
				err := s.Put(ctx, cache.Entry{Record: Record(Origin(w), fmt.Sprint(i))}, keep)
				if err == nil {
					_, err = s.Get(ctx, Origin(w))
				}
				if errors.Is(err, cache.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("call while closing: %v", err)
					return
				}
			}
		})
	}
	for range 8 {
		<-under
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	wg.Wait()
	if _, err := s.Get(ctx, Origin(1)); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("get after close: %v, want ErrClosed", err)
	}
	if err := s.Delete(ctx, Origin(1)); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("delete after close: %v, want ErrClosed", err)
	}
}
