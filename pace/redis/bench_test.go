package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// rounds measures two things in alternate rounds and returns what one operation of each
// takes, the median of all rounds. So other work on the machine slows both.
func rounds(n, each int, a, b func(i int)) (x, y float64) {
	var as, bs []float64
	at := 0
	for range n {
		for _, m := range []struct {
			f   func(int)
			all *[]float64
		}{{a, &as}, {b, &bs}} {
			began := time.Now()
			for i := range each {
				m.f(at + i)
			}
			*m.all = append(*m.all, float64(time.Since(began).Nanoseconds())/float64(each))
		}
		at += each
	}
	slices.Sort(as)
	slices.Sort(bs)
	return as[n/2], bs[n/2]
}

// A decisionBench makes what is measured, to be called most times, of so many decisions.
type decisionBench struct {
	name      string
	decisions float64
	make      func(l *redis.Limiter, most int) func(int)
}

// BenchmarkDecision compares decisions with a bare round trip, the GET of a small
// key over the same client: operations per second, as a ratio.
// Refused are those at a busy site, Granted the first ones at ever new sites, and
// Cycle is a grant and its end at one site, two decisions. By the server's own count
// a decision takes µs/server of it.
func BenchmarkDecision(b *testing.B) {
	server := redistest.Start(b, redistest.Options{})
	c := server.Client()
	ctx := context.Background()
	s := steady(b, time.Microsecond)
	slow := steady(b, time.Hour)
	if err := c.Do(ctx, c.B().Set().Key("small").Value("value").Build()).Error(); err != nil {
		b.Fatal(err)
	}
	get := func(int) {
		if err := c.Do(ctx, c.B().Get().Key("small").Build()).Error(); err != nil {
			b.Error(err)
		}
	}
	keys := make([]pace.Key, 1<<12)
	for i := range keys {
		keys[i] = pace.Key{Origin: originOf(b, fmt.Sprintf("site%d.example", i))}
	}
	for _, bench := range []decisionBench{
		{"Refused", 1, func(l *redis.Limiter, _ int) func(int) {
			if _, err := l.Reserve(ctx, keys[0], slow, 0); err != nil {
				b.Fatal(err)
			}
			return func(int) {
				if g, err := l.Reserve(ctx, keys[0], slow, 0); err != nil || g.OK() {
					b.Error(g, err)
				}
			}
		}},
		{"Granted", 1, func(l *redis.Limiter, most int) func(int) {
			n, sites := atomic.Int64{}, make([]pace.Key, most)
			for i := range sites {
				sites[i].Origin = originOf(b, fmt.Sprintf("new%d.example", i))
			}
			return func(int) {
				if g, err := l.Reserve(ctx, sites[n.Add(1)-1], slow, 0); err != nil || !g.OK() {
					b.Error(g, err)
				}
			}
		}},
		{"Cycle", 2, func(l *redis.Limiter, _ int) func(int) {
			n := atomic.Int64{}
			return func(int) {
				k := keys[n.Add(1)%int64(len(keys))]
				g, err := l.Reserve(ctx, k, s, 0)
				if err != nil || !g.OK() {
					b.Error(g, err)
				}
				if err := l.Done(ctx, g, pace.Result{Status: 200}); err != nil {
					b.Error(err)
				}
			}
		}},
	} {
		for _, callers := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, callers), func(b *testing.B) { bench.run(b, server, callers, get) })
		}
	}
}

// run reports how long a decision takes, and how long a bare round trip, get.
func (bench decisionBench) run(b *testing.B, server *redistest.Server, callers int, get func(int)) {
	l := newLimiter(b, server.Client(), redis.Options{})
	n, each := 20, max(b.N/40, 1)
	decide := bench.make(l, n*each*callers)
	many := func(f func(int)) func(int) {
		if callers == 1 {
			return f
		}
		return func(int) {
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for i := range each {
						f(i)
					}
				})
			}
			all.Wait()
		}
	}
	server.Do("CONFIG", "RESETSTAT")
	var trip, took float64
	if callers == 1 {
		trip, took = rounds(n, each, get, decide)
	} else {
		trip, took = rounds(n, 1, many(get), many(decide))
		trip, took = trip/float64(each*callers), took/float64(each*callers)
	}
	b.ReportMetric(trip*bench.decisions/took, "of-bare-trips")
	b.ReportMetric(trip/1e3, "µs/trip")
	b.ReportMetric(took/1e3/bench.decisions, "µs/decision")
	var usec float64
	_, stats, _ := strings.Cut(server.Do("INFO", "commandstats"), "cmdstat_evalsha:")
	_, stats, _ = strings.Cut(stats, "usec=")
	if _, err := fmt.Sscan(strings.Split(stats, ",")[0], &usec); err != nil {
		b.Error(err)
	}
	b.ReportMetric(usec/float64(n*each*callers)/bench.decisions, "µs/server")
	b.ReportMetric(0, "ns/op")
}
