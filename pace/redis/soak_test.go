package redis_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// usage is what a limiter and its server take.
type usage struct {
	goroutines, connections int
	heap, server            int // KiB
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d connections, %d KiB of heap, %d KiB of the server", u.goroutines, u.connections, u.heap, u.server)
}

func measure(t *testing.T, s *redistest.Server) usage {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	number := func(section, field string) int {
		_, text, _ := strings.Cut(s.Do("INFO", section), "\n"+field+":")
		text, _, _ = strings.Cut(text, "\r")
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return usage{runtime.NumGoroutine(), number("clients", "connected_clients"), int(m.HeapAlloc >> 10), number("memory", "used_memory") >> 10}
}

// TestSoak: many decisions take no more memory, goroutines or connections than
// few, waits that are given up and answers of all kinds among them.
func TestSoak(t *testing.T) {
	decisions := campaign.Size(4000, 60_000, 1_000_000)
	const callers, origins = 8, 2000
	server := redistest.Start(t, redistest.Options{})
	l := newLimiter(t, server.Client(), redis.Options{Options: pace.Options{Concurrency: 2, AddressInterval: time.Microsecond}})
	s := steady(t, time.Microsecond)
	keys := make([]pace.Key, origins)
	for i := range keys {
		keys[i] = pace.Key{Origin: originOf(t, fmt.Sprintf("soak%d.example", i))}
	}
	var granted atomic.Int64
	run := func(n int) {
		var left atomic.Int64
		left.Store(int64(n))
		var all sync.WaitGroup
		for c := range callers {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(c), 4))
				for left.Add(-2) >= 0 {
					k := keys[r.IntN(origins)]
					g, err := l.Reserve(t.Context(), k, s, 0)
					if err != nil {
						t.Error(err)
						return
					}
					if g.OK() {
						granted.Add(1)
					}
					result := pace.Result{Status: 200, Unused: r.IntN(10) == 0}
					if err := l.Done(t.Context(), g, result); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	run(max(decisions/10, 2*origins))
	before := measure(t, server)
	began := time.Now()
	run(decisions)
	took := time.Since(began)
	after := measure(t, server)
	t.Logf("before: %s", before)
	t.Logf("after %d decisions in %s (%.0f a second, %d grants): %s",
		decisions, took.Round(time.Millisecond), float64(decisions)/took.Seconds(), granted.Load(), after)
	if after.goroutines > before.goroutines+2 || after.connections > before.connections ||
		after.heap > before.heap+2048 || after.server > before.server+1024 {
		t.Error("it takes more the longer it runs")
	}
}
