package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
)

// eventually tries until a call succeeds: a server that has come back gives no signal.
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
	random := rand.New(rand.NewPCG(1, 1))
	var acknowledged [origins]uint64 // each worker has its own
	number := make([]uint64, workers)
	writes, checked, failed, lost := 0, 0, 0, 0
	for round := range rounds {
		enough := make(chan struct{}, 1)
		count, after := 0, 1+random.IntN(2000)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				for {
					i := random.IntN(origins/workers)*workers + w
					number[w]++
					n := number[w]
					if err := s.Put(ctx, cachetest.Numbered(i, n), time.Hour); err != nil {
						mu.Lock()
						failed++
						mu.Unlock()
						return
					}
					acknowledged[i] = n
					mu.Lock()
					if count++; count == after {
						enough <- struct{}{}
					}
					mu.Unlock()
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
		writes += count
		server.Up()
		eventually(t, "get after the server is back", func() error {
			_, err := s.Get(ctx, cachetest.Origin(origins))
			return unlessAbsent(err)
		})
		for i := range origins {
			e, err := s.Get(ctx, cachetest.Origin(i))
			if errors.Is(err, cache.ErrAbsent) && (acknowledged[i] == 0 || lossy) {
				acknowledged[i] = 0
				continue
			}
			if err != nil {
				t.Fatalf("round %d: entry %d, acknowledged as %d: %v", round, i, acknowledged[i], err)
			}
			if e.Epoch < acknowledged[i] {
				if lost++; !lossy {
					t.Fatalf("round %d: entry %d is %d, acknowledged was %d", round, i, e.Epoch, acknowledged[i])
				}
			}
			if !sameEntry(e, cachetest.Numbered(i, e.Epoch)) {
				t.Fatalf("round %d: entry %d is not what was put", round, i)
			}
			acknowledged[i] = e.Epoch
			checked++
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d kills: %d acknowledged puts, %d cut off; %d entries found whole, %d of them older than acknowledged", rounds, writes, failed, checked, lost)
}

// TestForgetful restarts a server that keeps nothing, and puts an empty one in its
// place: all is gone, nothing else happens, and what is put again is there.
func TestForgetful(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s, other := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{})
	const n = 50
	for round, loss := range []func(){server.Restart, server.Replace} {
		for i := range n {
			eventually(t, "put", func() error { return s.Put(ctx, cachetest.Numbered(i, uint64(round)), time.Hour) })
		}
		before := lease(t, s, cachetest.Origin(0), time.Hour)
		for i := range n {
			eventually(t, "get", func() error { _, err := other.Get(ctx, cachetest.Origin(i)); return err })
		}
		waited, asked := make(chan error, 1), looks(server)
		go func() { waited <- other.Await(ctx, cachetest.Origin(0)) }()
		looked(t, server, asked+1)
		loss()
		if err := <-waited; err != nil {
			t.Errorf("await over the loss of the server: %v", err)
		}
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
		var after cache.Lease
		eventually(t, "lease after the loss", func() (err error) { after, err = s.Lease(ctx, cachetest.Origin(0), time.Hour); return })
		if !after.Granted || after.Token <= before.Token {
			t.Errorf("lease after %+v and the loss: %+v", before, after)
		}
		if err := s.Release(ctx, cachetest.Origin(0), after.Token); err != nil {
			t.Error(err)
		}
		if since := s.DownSince(); !since.IsZero() {
			t.Errorf("down since %v with the server back", since)
		}
	}
}

// TestFailover promotes a replica that has missed the last writes. What it has is
// whole, and leases it grants have higher tokens than those it never heard of.
func TestFailover(t *testing.T) {
	primary := redistest.Start(t, redistest.Options{})
	proxy := redistest.NewProxy(t, primary.Addr)
	o := primary.Option()
	o.InitAddress[0] = proxy.Addr
	s := newStore(t, redistest.NewClient(t, o), Options{})
	const n = 100
	for i := range n {
		put(t, s, cachetest.Numbered(i, 1))
	}
	replica := primary.Replica(redistest.Options{})
	replica.Promote() // it hears nothing more
	var before cache.Lease
	for i := range n {
		before = lease(t, s, cachetest.Origin(i), time.Hour)
		e := cachetest.Numbered(i, 2)
		e.Fence = before.Token
		put(t, s, e)
	}
	primary.Kill()
	proxy.Switch(replica.Addr)
	lost := 0
	for i := range n {
		var e cache.Entry
		eventually(t, "get", func() (err error) { e, err = s.Get(ctx, cachetest.Origin(i)); return })
		want := cachetest.Numbered(i, e.Epoch)
		want.Fence = e.Fence
		if !sameEntry(e, want) {
			t.Errorf("entry %d is not what was put", i)
		}
		if e.Epoch == 1 {
			lost++
			if after := lease(t, s, cachetest.Origin(i), time.Hour); after.Token <= before.Token {
				t.Errorf("lease after %+v: %+v", before, after)
			}
		}
	}
	if lost != n {
		t.Errorf("%d of %d puts were lost with the old primary: there was none to lose", lost, n)
	}
	replica.Do("REPLICAOF", "127.0.0.1", "1") // it is demoted, and connections stay
	if err := s.Put(ctx, cachetest.Numbered(1, 3), time.Hour); err == nil || !strings.Contains(err.Error(), "READONLY") || s.DownSince().IsZero() {
		t.Errorf("put on a primary that is none any more: %v, down since %v", err, s.DownSince())
	}
}

// TestClockBack grants leases over a server whose clock goes forward and back. Tokens grow
// also where the origin has no record, or was deleted, as long as the clock goes back no
// further than a token is kept.
func TestClockBack(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Clock: true})
	s := newStore(t, server.Client(), Options{})
	var last [4]uint64
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 40 * time.Hour, 0} {
		server.SetClock(ahead)
		for i := range last {
			o := cachetest.Origin(i)
			l := lease(t, s, o, time.Minute)
			if l.Token <= last[i] {
				t.Fatalf("clock at %v: lease after token %d: %+v", ahead, last[i], l)
			}
			last[i] = l.Token
			if i%2 == 1 {
				e := cachetest.Numbered(i, 1)
				e.Fence = l.Token
				put(t, s, e)
			}
			if err := s.Release(ctx, o, l.Token); err != nil {
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

// TestFull fills a server that evicts nothing. Puts and leases fail, and what is
// there can be read, released and deleted.
func TestFull(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o, e := cachetest.Origin(1), cachetest.Numbered(1, 1)
	put(t, s, e)
	l := lease(t, s, o, time.Hour)
	server.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	server.Do("CONFIG", "SET", "maxmemory", "1")
	for _, i := range []int{1, 2} {
		if err := s.Put(ctx, cachetest.Numbered(i, 2), time.Hour); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("put: %v, want an error that says OOM", err)
		}
		if _, err := s.Lease(ctx, cachetest.Origin(2), time.Hour); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("lease: %v, want an error that says OOM", err)
		}
		if got, err := s.Get(ctx, o); err != nil || !sameEntry(got, e) {
			t.Errorf("get: %v", err)
		}
	}
	if !s.DownSince().IsZero() {
		t.Error("a server that is full is not down")
	}
	if err := s.Release(ctx, o, l.Token); err != nil {
		t.Errorf("release: %v", err)
	}
	if err := s.Await(ctx, o); err != nil {
		t.Errorf("await: %v", err)
	}
	if err := s.Delete(ctx, o); err != nil {
		t.Errorf("delete: %v", err)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	put(t, s, cachetest.Numbered(2, 2))
}

// TestEviction runs a server that drops whatever has a lifetime. An entry is there
// as it was put, absent, or without its large body, which is an error; a Put heals it.
func TestEviction(t *testing.T) {
	n := campaign.Size(700, 1500, 3000)
	server := redistest.Start(t, redistest.Options{Config: []string{"maxmemory-policy volatile-random"}})
	s := newStore(t, server.Client(), Options{})
	_, used, _ := strings.Cut(server.Do("INFO", "memory"), "used_memory:")
	var base int
	if _, err := fmt.Sscan(used, &base); err != nil {
		t.Fatal(err)
	}
	entry := func(i int) cache.Entry {
		if i%10 == 0 {
			return cache.Entry{Record: cachetest.Record(cachetest.Origin(i), strings.Repeat(fmt.Sprintln("Disallow: /", i), 2000))}
		}
		return cachetest.Numbered(i, 1)
	}
	server.Do("CONFIG", "SET", "maxmemory", fmt.Sprint(base+n*300))
	whole, absent, bodiless := 0, 0, 0
	for i := range n {
		put(t, s, entry(i))
	}
	for i := range n {
		e, err := s.Get(ctx, cachetest.Origin(i))
		switch {
		case err == nil && sameEntry(e, entry(i)):
			whole++
		case err == nil:
			t.Errorf("entry %d is another", i)
		case errors.Is(err, cache.ErrAbsent):
			absent++
		case strings.Contains(err.Error(), "it is missing"):
			bodiless++
		default:
			t.Errorf("get: %v", err)
		}
	}
	if absent == 0 {
		t.Error("nothing was dropped")
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	for i := range n {
		put(t, s, entry(i))
		if e, err := s.Get(ctx, cachetest.Origin(i)); err != nil || !sameEntry(e, entry(i)) {
			t.Fatalf("entry %d after it was put again: %v", i, err)
		}
	}
	t.Logf("%d entries in too little memory: %d whole, %d absent, %d without a large body", n, whole, absent, bodiless)
}

// slack is how much later than its limit a call may end on a machine that is busy.
const slack = 5 * time.Second

// TestHang stops the server without ending its connections. No call takes longer
// than the limit, later ones fail soon, and all is well when it goes on.
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
	// Calls go on failing, and once it is sure that they will, at once.
	tried, untried := 0, 0
	for untried < 100 || tried < 2 {
		d, err := took(get)
		if err == nil || d > probeLimit+slack {
			t.Fatalf("get: %v after %v", err, d)
		}
		if !errors.As(err, new(downError)) {
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

// TestRefusing: while a server answers what it is asked and takes no writes, reads
// go on and the store is down all the time, whoever asks for what. It is back
// with the first write that is taken, for which it looks by itself.
func TestRefusing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		word     string
		ail, end func(t *testing.T, server *redistest.Server)
	}{
		{
			"READONLY",
			func(t *testing.T, server *redistest.Server) { server.Follow(redistest.Start(t, redistest.Options{})) },
			func(_ *testing.T, server *redistest.Server) { server.Promote() },
		},
		{
			"NOREPLICAS",
			func(_ *testing.T, server *redistest.Server) { server.Do("CONFIG", "SET", "min-replicas-to-write", "1") },
			func(_ *testing.T, server *redistest.Server) { server.Do("CONFIG", "SET", "min-replicas-to-write", "0") },
		},
	} {
		t.Run(tt.word, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			s := newStore(t, server.Client(), Options{})
			tt.ail(t, server)
			o := cachetest.Origin(1)
			writes := []func() error{
				func() error { return s.Put(ctx, cachetest.Numbered(1, 1), time.Hour) },
				func() error { _, err := s.Lease(ctx, o, time.Hour); return err },
				func() error { return s.Release(ctx, o, 1) },
				func() error { return s.Delete(ctx, o) },
			}
			if err := writes[0](); err == nil || !strings.Contains(err.Error(), tt.word) {
				t.Fatalf("put: %v, want %s", err, tt.word)
			}
			since := s.DownSince()
			n := 0
			for began := time.Now(); time.Since(began) < 2*time.Second; time.Sleep(time.Millisecond) {
				err := writes[n%len(writes)]()
				_, got := s.Get(ctx, o)
				awaited := s.Await(ctx, o)
				if errors.Is(errors.Join(err, got, awaited), errSilent) {
					continue // the machine is busy
				}
				if err == nil || !strings.Contains(err.Error(), tt.word) {
					t.Fatalf("write %d: %v, want %s", n, err, tt.word)
				}
				if !errors.Is(got, cache.ErrAbsent) {
					t.Fatalf("get: %v, want ErrAbsent", got)
				}
				if awaited != nil {
					t.Fatalf("await: %v", awaited)
				}
				if now := s.DownSince(); since.IsZero() || !now.Equal(since) {
					t.Fatalf("down since %v after %d rounds, and before since %v", now, n, since)
				}
				n++
			}
			tt.end(t, server)
			eventually(t, "down", func() error {
				if since := s.DownSince(); !since.IsZero() {
					return fmt.Errorf("down since %v", since)
				}
				return nil
			})
			for _, write := range writes {
				if err := write(); err != nil {
					t.Error(err)
				}
			}
			t.Logf("down through %d rounds of a write and two reads", n)
		})
	}
}

// TestAwaitHang: whoever waits for a lease when the server hangs waits no longer
// than any call, and no longer than the lease where that is known. Whoever gives up
// goes at once.
func TestAwaitHang(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o, short := cachetest.Origin(1), cachetest.Origin(2)
	lease(t, s, o, time.Hour)
	lease(t, s, short, 2*time.Second)
	await := func(ctx context.Context, o robots.Origin) <-chan error {
		waited := make(chan error, 1)
		go func() { waited <- s.Await(ctx, o) }()
		return waited
	}
	impatient, cancel := context.WithCancel(ctx)
	defer cancel()
	before := looks(server)
	known := await(ctx, short)
	looked(t, server, before+2) // it has an answer, as it has asked again
	first := await(impatient, o)
	server.Freeze()
	defer server.Thaw()
	ended := func(what string, waited <-chan error, limit time.Duration) error {
		t.Helper()
		began := time.Now()
		err := <-waited
		if d := time.Since(began); d > limit {
			t.Errorf("%s took %v, want at most %v", what, d, limit)
		}
		return err
	}
	cancel()
	if err := ended("who gave up", first, slack); !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: %v", err)
	}
	second := await(ctx, o)
	if err := ended("who came after", second, callLimit+slack); err == nil || !strings.Contains(err.Error(), "the server does not answer") {
		t.Errorf("who came after: %v", err)
	}
	if err := ended("who knew of the lease", known, slack); err != nil {
		t.Errorf("who knew of the lease: %v", err)
	}
	if s.DownSince().IsZero() {
		t.Error("a server that hangs is not down")
	}
	server.Thaw()
	eventually(t, "await of no lease", func() error { return s.Await(ctx, short) })
}

// TestUnknownLease: a lease that the server has granted and nobody heard of is given
// back when the server answers, so that the others need not wait for its end.
func TestUnknownLease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		patience time.Duration // of the caller
	}{
		{"caller gave up", 100 * time.Millisecond},
		{"call gave up", time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			s, other := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{})
			lease(t, s, cachetest.Origin(0), time.Hour)
			server.Freeze()
			defer server.Thaw()
			const n = 20
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(ctx, tt.patience)
					defer cancel()
					if l, err := s.Lease(ctx, cachetest.Origin(1+i), time.Hour); err == nil {
						t.Errorf("lease of a server that hangs: %+v", l)
					}
				})
			}
			wg.Wait()
			server.Thaw()
			eventually(t, "get", func() error {
				_, err := s.Get(ctx, cachetest.Origin(1000))
				return unlessAbsent(err)
			})
			for i := range n {
				eventually(t, "unknown lease", func() error {
					l, err := other.Lease(ctx, cachetest.Origin(1+i), time.Hour)
					if err == nil && !l.Granted {
						err = fmt.Errorf("another has it for %v", l.Left)
					}
					return err
				})
			}
			if l, err := other.Lease(ctx, cachetest.Origin(0), time.Hour); err != nil || l.Granted {
				t.Errorf("a known lease: %+v, %v", l, err)
			}
		})
	}
}
