package redis

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/redistest"
)

// BenchmarkGet is a Get, which is one round trip.
func BenchmarkGet(b *testing.B) {
	s := newStore(b, redistest.Start(b, redistest.Options{}).Client(), Options{})
	o := cachetest.Origin(1)
	if err := s.Put(ctx, cache.Entry{Record: cachetest.Record(o, "Disallow: /")}, time.Hour); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(ctx, o); err != nil {
			b.Fatal(err)
		}
	}
}

var scaleOrigins = flag.Int("origins", 100_000, "how many origins BenchmarkScale keeps")

// BenchmarkScale fills a store, reads it in random order and writes over parts of
// it. It measures once, whatever b.N.
func BenchmarkScale(b *testing.B) {
	server := redistest.Start(b, redistest.Options{})
	s := newStore(b, server.Client(), Options{})
	n := *scaleOrigins
	used := func() int {
		for line := range strings.Lines(server.Do("INFO", "memory")) {
			if v, ok := strings.CutPrefix(line, "used_memory_dataset:"); ok {
				n, err := strconv.Atoi(strings.TrimSpace(v))
				if err != nil {
					b.Fatal(err)
				}
				return n
			}
		}
		b.Fatal("no memory in INFO")
		return 0
	}
	put := func(i int) error { return s.Put(ctx, cachetest.Typical(i), 1000*time.Hour) }
	read := func(int) error { _, err := s.Get(ctx, cachetest.Origin(rand.IntN(n))); return err }
	empty := used()
	fills := cachetest.Rate(b, 128, n, put)
	full := used()
	b.ReportMetric(fills, "fills/s")
	b.ReportMetric(float64(full-empty)/float64(n), "bytes/origin")
	var own int64
	for i := range n {
		e := cachetest.Typical(i)
		own += int64(len(e.Record.Encode()))
		if k := i % 20; k >= 8 {
			own += int64(len(e.Record.Body))
		}
	}
	b.ReportMetric(float64(own)/float64(n), "content-bytes/origin")
	b.ReportMetric(cachetest.Rate(b, 128, min(n, 100_000), read), "reads/s")
	b.ReportMetric(cachetest.Rate(b, 128, min(n, 100_000), func(int) error { return put(rand.IntN(n)) }), "overwrites/s")
	b.ReportMetric(cachetest.Rate(b, 1, 2000, func(int) error { return put(rand.IntN(n)) }), "single-writes/s")
	b.ReportMetric(0, "ns/op")
}
