package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
)

// eventually repeats a call until it succeeds: a server that has come back sends no signal.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	defer func() {
		if err != nil {
			t.Log(err)
		}
	}()
	redistest.Until(t, what, func() bool { err = try(); return err == nil })
}

func sameEntry(got, want cache.Entry) bool { return cachetest.Difference(got, want) == "" }

// TestKill kills a server that keeps an append-only file while entries are put,
// again and again. With appendfsync always every entry that was acknowledged, or a
// later one, is there when the server is back; with no as well, which leaves the sync
// to the system, and that lives. With everysec the server holds back what it writes
// while a sync is under way, and loses it. With all nothing is half of an entry.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: it restarts a server many times")
	}
	for _, fsync := range []string{"always", "no", "everysec"} {
		t.Run(fsync, func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{AppendOnly: true, Config: []string{"appendfsync " + fsync}})
			rounds := campaign.Size(1, 8, 100)
			if fsync != "always" {
				rounds = campaign.Size(1, 3, 100)
			}
			killed(t, server, rounds, fsync == "everysec")
		})
	}
}

func killed(t *testing.T, server *redistest.Server, rounds int, lossy bool) {
	const workers, origins = 8, 200
	s := newStore(t, server.Client(), Options{})
	var acknowledged [origins]uint64 // each worker has its own
	var number, writes, lost atomic.Uint64
	for range rounds {
		kill := writes.Load() + uint64(1+rand.IntN(2000))
		enough := make(chan struct{})
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for {
					i, n := rand.IntN(origins/workers)*workers+w, number.Add(1)
					if s.Put(ctx, cachetest.Numbered(i, n), time.Hour) != nil {
						return
					}
					acknowledged[i] = n
					if writes.Add(1) == kill {
						close(enough)
					}
				}
			})
		}
		ended := make(chan struct{})
		go func() {
			wg.Wait()
			close(ended)
		}()
		select {
		case <-enough:
		case <-ended: // before that: the disk was slower than a call may be
		}
		server.Kill()
		<-ended
		server.Up()
		eventually(t, "get after the server is back", func() error {
			_, err := s.Get(ctx, cachetest.Origin(origins))
			return unlessAbsent(err)
		})
		for i, number := range acknowledged {
			e, err := s.Get(ctx, cachetest.Origin(i))
			acknowledged[i] = e.Fence
			if errors.Is(err, cache.ErrAbsent) && (number == 0 || lossy) {
				continue
			}
			if err != nil || !sameEntry(e, cachetest.Numbered(i, e.Fence)) {
				t.Fatalf("entry %d, acknowledged as %d, is %+v: %v", i, number, e, err)
			}
			if e.Fence < number {
				if lost.Add(1); !lossy {
					t.Fatalf("entry %d is %d, acknowledged was %d", i, e.Fence, number)
				}
			}
		}
	}
	t.Logf("%d kills, %d acknowledged puts; %d entries found older than acknowledged", rounds, writes.Load(), lost.Load())
}

// TestForgetful restarts a server without persistence, and replaces it with an empty one:
// everything is gone, nothing else happens, and new entries are kept.
func TestForgetful(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s, other := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{})
	const n = 50
	for round, loss := range []func(){server.Restart, server.Replace} {
		for i := range n {
			eventually(t, "put", func() error { return s.Put(ctx, cachetest.Numbered(i, uint64(round)), time.Hour) })
		}
		before := lock(t, s, cachetest.Origin(0), time.Hour)
		loss()
		for i := range n {
			for _, s := range []*Store{s, other} {
				eventually(t, "get after the loss", func() error {
					e, err := s.Get(ctx, cachetest.Origin(i))
					if err == nil {
						t.Fatalf("entry %d is there: %v", i, e.Record)
					}
					return unlessAbsent(err)
				})
			}
		}
		after := lock(t, s, cachetest.Origin(0), time.Hour)
		if err := s.Unlock(ctx, cachetest.Origin(0), after); err != nil || after <= before {
			t.Errorf("lock after %d and the loss: %d, %v", before, after, err)
		}
		if since := s.DownSince(); !since.IsZero() {
			t.Errorf("down since %v with the server back", since)
		}
	}
}

// TestClockBack acquires locks while the server's clock is set forward and back. Tokens grow
// also if the origin has no record or was deleted, unless the clock goes back further than
// tokens are kept.
func TestClockBack(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Clock: true})
	s := newStore(t, server.Client(), Options{})
	var last [4]uint64
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 40 * time.Hour, 0} {
		server.SetClock(ahead)
		for i := range last {
			o := cachetest.Origin(i)
			l := lock(t, s, o, time.Minute)
			if l <= last[i] {
				t.Fatalf("clock at %v: lock after token %d: %d", ahead, last[i], l)
			}
			last[i] = l
			if i%2 == 1 {
				e := cachetest.Numbered(i, 1)
				e.Fence = l
				put(t, s, e)
			}
			if err := s.Unlock(ctx, o, l); err != nil {
				t.Fatal(err)
			}
			if i > 1 {
				if err := s.Delete(ctx, o); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Get(ctx, o); !errors.Is(err, cache.ErrAbsent) {
					t.Fatalf("get after delete: %v", err)
				}
			}
		}
	}
}

// TestFull fills a server that evicts nothing. Puts and locks fail, and existing entries can be
// read, released and deleted.
func TestFull(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o, e := cachetest.Origin(1), cachetest.Numbered(1, 1)
	put(t, s, e)
	l := lock(t, s, o, time.Hour)
	server.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	server.Do("CONFIG", "SET", "maxmemory", "1")
	for _, i := range []int{1, 2} {
		if err := s.Put(ctx, cachetest.Numbered(i, 2), time.Hour); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("put: %v, want an error that says OOM", err)
		}
		if _, err := s.Lock(ctx, cachetest.Origin(2), time.Hour); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("lock: %v, want an error that says OOM", err)
		}
		if got, err := s.Get(ctx, o); err != nil || !sameEntry(got, e) {
			t.Errorf("get: %v", err)
		}
	}
	if !s.DownSince().IsZero() {
		t.Error("a server that is full is not down")
	}
	if err := s.Unlock(ctx, o, l); err != nil {
		t.Errorf("release: %v", err)
	}
	if err := s.Delete(ctx, o); err != nil {
		t.Errorf("delete: %v", err)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	put(t, s, cachetest.Numbered(2, 2))
}

// slack is how much longer than its limit a call can take on a busy machine.
const slack = 5 * time.Second

// TestHang stops the server without closing its connections. No call takes longer than the
// limit, later ones fail soon, and all succeed when it continues.
func TestHang(t *testing.T) {
	t.Parallel() // it waits most of the time
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	for i := range 3 {
		put(t, s, cachetest.Numbered(i, 1))
	}
	if since := s.DownSince(); !since.IsZero() {
		t.Errorf("down since %v", since)
	}
	server.Freeze()
	defer server.Thaw()
	took := func(call func() error) (time.Duration, error) {
		began := time.Now()
		err := call()
		return time.Since(began), err
	}
	get := func() error { _, err := s.Get(ctx, cachetest.Origin(1)); return err }
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if d, err := took(func() error { _, err := s.Get(short, cachetest.Origin(0)); return err }); !errors.Is(err, context.DeadlineExceeded) || d > 50*time.Millisecond+slack {
		t.Errorf("get with a context of 50 ms: %v after %v", err, d)
	}
	if since := s.DownSince(); !since.IsZero() {
		t.Error("an impatient caller says nothing about the server")
	}
	began := time.Now()
	first, err := took(get)
	if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the server does not answer") || first > callLimit+slack {
		t.Errorf("get: %v after %v", err, first)
	}
	since := s.DownSince()
	if since.Before(began.Add(callLimit)) {
		t.Errorf("down since %v, want at least %v after %v", since, callLimit, began)
	}
	// Calls continue to fail, and after some time they fail at once.
	tried, untried := 0, 0
	for untried < 100 || tried < 2 {
		d, err := took(get)
		if err == nil || d > probeLimit+slack {
			t.Fatalf("get: %v after %v", err, d)
		}
		if !strings.Contains(err.Error(), "Redis has been down since") {
			tried++
			continue
		}
		if time.Since(since) < probeAll {
			t.Fatal("a call failed at once when the connection might just have been replaced")
		}
		untried++
		time.Sleep(time.Millisecond)
	}
	server.Thaw()
	eventually(t, "get", get)
	if since := s.DownSince(); !since.IsZero() {
		t.Errorf("down since %v with the server back", since)
	}
	t.Logf("the first call took %v; of later ones %d tried and %d failed at once", first.Round(time.Millisecond), tried, untried)
}
