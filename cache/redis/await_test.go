package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

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

// looks returns how often a server was asked how long leases run, and for leases.
func looks(server *redistest.Server) int { return sent(server, "time") }

// looked waits until looks is n.
func looked(t *testing.T, server *redistest.Server, n int) {
	t.Helper()
	eventually(t, "looks at leases", func() error {
		if got := looks(server); got < n {
			return fmt.Errorf("%d, want %d", got, n)
		}
		return nil
	})
}

// TestAwait: many wait for one lease, and some give up.
func TestAwait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s, other := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{})
	o := cachetest.Origin(1)
	if err := s.Await(ctx, o); err != nil {
		t.Fatalf("await of no lease: %v", err)
	}
	l := lease(t, s, o, time.Hour)
	const waiters = 100
	waited, before := make(chan error, waiters), looks(server)
	impatient, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range waiters {
		ctx := ctx
		if i%2 == 0 {
			ctx = impatient
		}
		go func() { waited <- other.Await(ctx, o) }()
	}
	looked(t, server, before+2*waiters)
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
}

// TestAwaitEnds: a lease that nobody releases is waited for until its end, and a
// Close ends the waiting.
func TestAwaitEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s, other := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{})
	o := cachetest.Origin(1)
	began := time.Now()
	lease(t, s, o, 300*time.Millisecond)
	if err := other.Await(ctx, o); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d < 250*time.Millisecond { // the server's clock counts whole milliseconds
		t.Errorf("a lease of 300 ms was waited for %v", d)
	}
	lease(t, s, o, time.Hour)
	waited, before := make(chan error, 1), looks(server)
	go func() { waited <- other.Await(ctx, o) }()
	looked(t, server, before+1)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waited; !errors.Is(err, cache.ErrClosed) {
		t.Errorf("await over a close: %v", err)
	}
}
