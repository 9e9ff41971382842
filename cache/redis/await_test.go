package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/redistest"
)

// sent returns how often a server has executed a command, in scripts too.
func sent(server *redistest.Server, command string) (n int) {
	_, calls, _ := strings.Cut(server.Do("INFO", "commandstats"), "cmdstat_"+command+":calls=")
	_, _ = fmt.Sscan(calls, &n) // 0 where there is none
	return n
}

// looked waits until a server was asked so often how long leases run.
func looked(t *testing.T, server *redistest.Server, n int) {
	t.Helper()
	eventually(t, "looks at leases", func() error {
		if got := sent(server, "pttl"); got < n {
			return fmt.Errorf("%d, want %d", got, n)
		}
		return nil
	})
}

// TestAwait: many wait for one lease, some give up, and a lease that nobody releases
// ends by itself.
func TestAwait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s, other := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{})
	o := cachetest.Origin(1)
	if err := s.Await(ctx, o); err != nil {
		t.Fatalf("await of no lease: %v", err)
	}
	l, err := s.Lease(ctx, o, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	const waiters = 100
	waited, looks := make(chan error, waiters), sent(server, "pttl")
	impatient, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range waiters {
		ctx := ctx
		if i%2 == 0 {
			ctx = impatient
		}
		go func() { waited <- other.Await(ctx, o) }()
	}
	looked(t, server, looks+2*waiters)
	if len(waited) > 0 {
		t.Errorf("await of a lease in force: %v", <-waited)
	}
	cancel()
	for range waiters / 2 {
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up: %v", err)
		}
	}
	if err := s.Release(ctx, o, l.Token); err != nil {
		t.Fatal(err)
	}
	for range waiters / 2 {
		if err := <-waited; err != nil {
			t.Errorf("await: %v", err)
		}
	}

	began := time.Now()
	if l, err := s.Lease(ctx, o, 300*time.Millisecond); err != nil || !l.Granted {
		t.Fatalf("lease: %+v, %v", l, err)
	}
	if err := other.Await(ctx, o); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d < 250*time.Millisecond { // the server's clock counts whole milliseconds
		t.Errorf("a lease of 300 ms was waited for %v", d)
	}
	if l, err := s.Lease(ctx, o, time.Hour); err != nil || !l.Granted {
		t.Fatalf("lease after the dead one: %+v, %v", l, err)
	}
	looks = sent(server, "pttl")
	go func() { waited <- other.Await(ctx, o) }()
	looked(t, server, looks+1)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waited; !errors.Is(err, cache.ErrClosed) {
		t.Errorf("await over a close: %v", err)
	}
}

// TestAwaitMany: hundreds wait over one connection for leases that end many at once,
// and keep no other call on it from its answer.
func TestAwaitMany(t *testing.T) {
	t.Parallel()
	const origins, waiters, ends = 4, 400, 500
	server := redistest.Start(t, redistest.Options{})
	o := server.Option()
	o.PipelineMultiplex = -1 // one connection
	s, holder := newStore(t, newClient(t, o), Options{}), newStore(t, server.Client(), Options{})
	over := make(chan struct{})
	var waited, others sync.WaitGroup
	var calls atomic.Int64
	for i := range 4 {
		others.Go(func() {
			for {
				_, err := s.Get(ctx, cachetest.Origin(origins+i))
				if errors.Is(err, cache.ErrAbsent) {
					err = s.Delete(ctx, cachetest.Origin(origins+i))
				}
				if err != nil {
					t.Errorf("beside: %v", err)
					return
				}
				calls.Add(1)
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	for range 3 {
		for i := range origins {
			if _, err := holder.lease(ctx, cachetest.Origin(i), time.Hour, encoded(0)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range waiters {
			waited.Go(func() {
				if err := s.Await(ctx, cachetest.Origin(i%origins)); err != nil {
					t.Errorf("await: %v", err)
				}
			})
		}
		eventually(t, "calls beside", func() error {
			if calls.Swap(0) == 0 {
				return errors.New("none")
			}
			return nil
		})
		// Leases end and others begin, each with the nonce that the next release names,
		// in one step, so that the server tells all of it together.
		client := holder.client
		burst := rueidis.Commands{client.B().Multi().Build()}
		for n := range ends {
			for i := range origins {
				origin := cachetest.Origin(i)
				key, keys := holder.leaseKey(origin), []string{holder.leaseKey(origin), holder.recordKey(origin), holder.head + "token"}
				burst = append(burst, client.B().Eval().Script(releaseScript.Text).Numkeys(1).Key(key).Arg("", encoded(uint64(n))).Build())
				if n < ends-1 {
					burst = append(burst, client.B().Eval().Script(leaseScript.Text).Numkeys(3).Key(keys...).Arg("3600000", encoded(uint64(n+1))).Build())
				}
			}
		}
		for _, r := range client.DoMulti(ctx, append(burst, client.B().Exec().Build())...) {
			if err := r.Error(); err != nil {
				t.Error(err)
			}
		}
		waited.Wait()
	}
	close(over)
	others.Wait()
	if since := s.DownSince(); !since.IsZero() {
		t.Errorf("down since %v", since)
	}
}
