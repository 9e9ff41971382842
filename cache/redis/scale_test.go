package redis

import (
	"errors"
	"fmt"
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

// unhurried makes a call again if a busy machine was too slow for it.
func unhurried(call func() error) (err error) {
	for range 100 {
		if err = call(); !errors.Is(err, errSilent) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// many does something for n origins, by so many at a time, and returns how long it took.
func many(t *testing.T, n, together int, do func(i int) error) time.Duration {
	t.Helper()
	began := time.Now()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range together {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := unhurried(func() error { return do(i) }); err != nil {
					t.Errorf("origin %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// TestScale loads many origins, of which one in five is kept for 90 days and the others for
// 14, and lets these expire together, as the server's clock goes 15 days forward. Puts and
// gets go on meanwhile, and what was to be kept is there.
func TestScale(t *testing.T) {
	n := campaign.Size(2000, 5000, 1_000_000)
	server := redistest.Start(t, redistest.Options{Clock: true})
	s := newStore(t, server.Client(), Options{})
	const day = 24 * time.Hour
	longer := func(i int) bool { return i%5 == 0 }
	entry := func(i int) cache.Entry {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		body := "User-agent: *\n"
		for range int(12 * random.ExpFloat64()) {
			body += fmt.Sprintf("Disallow: /%x/\n", random.Uint32())
		}
		return cache.Entry{Record: fetched(cachetest.Origin(i), []byte(body))}
	}
	empty := usedMemory(server)
	loaded := many(t, n, 32, func(i int) error {
		keep := 14 * day
		if longer(i) {
			keep = 90 * day
		}
		return s.Put(ctx, entry(i), keep)
	})
	full := usedMemory(server)
	began := time.Now()
	server.SetClock(15 * day)
	var slowest time.Duration
	for i, left := 0, ""; left != fmt.Sprint(n/5); i++ {
		if time.Since(began) > 30*time.Minute {
			t.Fatalf("%s of %d origins are left", left, n)
		}
		called := time.Now()
		if e, err := s.Get(ctx, cachetest.Origin(i%n)); longer(i) && (err != nil || !sameEntry(e, entry(i%n))) || !longer(i) && !errors.Is(err, cache.ErrAbsent) {
			t.Fatalf("origin %d: %v", i, err)
		}
		slowest = max(slowest, time.Since(called))
		if i%100 == 0 {
			left = strings.TrimSpace(server.Do("DBSIZE"))
		}
	}
	t.Logf("%d origins put in %v, %d bytes each; four of five expired within %v, the slowest get took %v; %d bytes for each of the rest",
		n, loaded.Round(time.Millisecond), (full-empty)/n, time.Since(began).Round(time.Millisecond), slowest, (usedMemory(server)-empty)/(n/5))
	many(t, n/5, 32, func(i int) error {
		e, err := s.Get(ctx, cachetest.Origin(5*i))
		if err == nil && !sameEntry(e, entry(5*i)) {
			err = errors.New("it is another")
		}
		return err
	})
}
