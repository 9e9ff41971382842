package cachetest

import (
	"bytes"
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

// expiry holds a store to what it must not do: drop an entry before its time. After
// it the entry may be there, unharmed, or absent.
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
	put(t, s, cache.Entry{Record: short}) // and it can come back
	want(t, s, Origin(2), cache.Entry{Record: short})
}

// concurrent mixes calls from many goroutines. Each entry carries its number in
// body, last good body, fence and epoch, so that a mixture of two shows.
func concurrent(t *testing.T, s cache.Store) {
	const workers, steps, origins = 16, 120, 6
	var number, gets, puts atomic.Uint64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 5))
			for range steps {
				o := Origin(random.IntN(origins))
				switch random.IntN(10) {
				case 0:
					if err := s.Delete(ctx, o); err != nil {
						t.Errorf("delete: %v", err)
					}
				case 1, 2, 3:
					n := number.Add(1)
					r := Record(o, strings.Repeat(fmt.Sprintln("body", n), int(n%500)+1))
					g := *filled(o).LastGood
					g.Body = fmt.Append(nil, "good ", n)
					r.LastGood = &g
					if err := s.Put(ctx, cache.Entry{Record: r, Epoch: n}, keep); err != nil {
						t.Errorf("put: %v", err)
					}
					puts.Add(1)
				default:
					e, err := s.Get(ctx, o)
					if errors.Is(err, cache.ErrAbsent) {
						continue
					}
					if err != nil {
						t.Errorf("get: %v", err)
						continue
					}
					gets.Add(1)
					n := e.Epoch
					if e.Record.Origin != o || !bytes.Equal(e.Record.LastGood.Body, fmt.Append(nil, "good ", n)) ||
						string(e.Record.Body) != strings.Repeat(fmt.Sprintln("body", n), int(n%500)+1) {
						t.Errorf("entry %d is a mixture: %.40q, %q", n, e.Record.Body, e.Record.LastGood.Body)
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
		t.Error("put of no record: no error")
	}
	if err := s.Put(ctx, cache.Entry{Record: Record(robots.Origin{}, "a")}, keep); err == nil {
		t.Error("put of a record of no origin: no error")
	}
	wantAbsent(t, s, robots.Origin{})
}

// versions: what a later release has written is neither read nor absent, and goes
// away by a put only. So is what is damaged.
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
	// What this release does not know and earlier ones did not write is skipped.
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

func leases(t *testing.T, s cache.Store) {
	l, ok := s.(cache.Leaser)
	if !ok {
		t.Skipf("%T grants no leases", s)
	}
	o := Origin(1)
	ask := func(d time.Duration) cache.Lease {
		t.Helper()
		got, err := l.Lease(ctx, o, d)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	put(t, s, cache.Entry{Record: Record(o, "a"), Fence: 41})
	first := ask(time.Hour)
	if !first.Granted || first.Token <= 41 {
		t.Fatalf("first lease over fence 41: %+v", first)
	}
	if second := ask(time.Hour); second.Granted || second.Left <= 0 || second.Left > time.Hour {
		t.Errorf("second lease: %+v", second)
	}
	if other, err := l.Lease(ctx, Origin(2), time.Hour); err != nil || !other.Granted {
		t.Errorf("lease of another origin: %+v, %v", other, err)
	}
	if err := l.Release(ctx, o, first.Token-1); err != nil { // not its
		t.Error(err)
	}
	if second := ask(time.Hour); second.Granted {
		t.Error("released by a token that was not in force")
	}
	waited := make(chan error, 1)
	go func() { waited <- l.Await(ctx, o) }()
	if err := l.Release(ctx, o, first.Token); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("await: %v", err)
	}
	short := ask(20 * time.Millisecond) // its holder dies
	if !short.Granted || short.Token <= first.Token {
		t.Errorf("lease after %d: %+v", first.Token, short)
	}
	for { // Await may return early
		if err := l.Await(ctx, o); err != nil {
			t.Errorf("await: %v", err)
		}
		if third := ask(time.Hour); third.Granted {
			if third.Token <= short.Token {
				t.Errorf("token %d after %d", third.Token, short.Token)
			}
			put(t, s, cache.Entry{Record: Record(o, "third"), Fence: third.Token})
			break
		}
	}
	if err := s.Put(ctx, cache.Entry{Record: Record(o, "late"), Fence: short.Token}, keep); !errors.Is(err, cache.ErrFenced) {
		t.Errorf("put of a late holder: %v, want ErrFenced", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := l.Await(ended, o); !errors.Is(err, context.Canceled) {
		t.Errorf("await with an ended context: %v", err)
	}
}

// leaseRace lets many ask at once: one at a time has it, and tokens grow.
func leaseRace(t *testing.T, s cache.Store) {
	l, ok := s.(cache.Leaser)
	if !ok {
		t.Skipf("%T grants no leases", s)
	}
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
					t.Error("two hold the lease")
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

// closing closes while calls are under way.
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
