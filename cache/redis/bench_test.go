package redis

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/redistest"
)

// BenchmarkHot compares a Get that the client-side cache answers with a bare round
// trip, GET of a small key over the same client, in turns. The ratio of each turn
// is reported by its median and ends.
func BenchmarkHot(b *testing.B) {
	client := redistest.Start(b, redistest.Options{}).Client()
	s := newStore(b, client, Options{})
	o := cachetest.Origin(1)
	if err := s.Put(ctx, cache.Entry{Record: cachetest.Record(o, strings.Repeat("Disallow: /x\n", 100))}, time.Hour); err != nil {
		b.Fatal(err)
	}
	if err := client.Do(ctx, client.B().Set().Key("small").Value("1").Build()).Error(); err != nil {
		b.Fatal(err)
	}
	const trips, reads, turns = 200, 20_000, 9
	for b.Loop() {
		var trip, read, ratio []float64
		for range turns {
			began := time.Now()
			for range trips {
				if err := client.Do(ctx, client.B().Get().Key("small").Build()).Error(); err != nil {
					b.Fatal(err)
				}
			}
			bare := float64(time.Since(began).Nanoseconds()) / trips
			began = time.Now()
			for range reads {
				if _, err := s.Get(ctx, o); err != nil {
					b.Fatal(err)
				}
			}
			hot := float64(time.Since(began).Nanoseconds()) / reads
			trip, read, ratio = append(trip, bare), append(read, hot), append(ratio, bare/hot)
		}
		slices.Sort(trip)
		slices.Sort(read)
		slices.Sort(ratio)
		b.ReportMetric(trip[turns/2], "ns/trip")
		b.ReportMetric(read[turns/2], "ns/read")
		b.ReportMetric(ratio[turns/2], "reads/trip")
		b.ReportMetric(ratio[0], "reads/trip-least")
		b.ReportMetric(ratio[turns-1], "reads/trip-most")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGet is a Get that the client-side cache answers.
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
	b.ReportMetric(float64(full-empty)/float64(n), "octets/origin")
	var own int64
	for i := range n {
		e := cachetest.Typical(i)
		own += int64(len(e.Record.Encode()))
		if k := i % 20; k >= 8 {
			own += int64(len(e.Record.Body))
		}
	}
	b.ReportMetric(float64(own)/float64(n), "content-octets/origin")
	b.ReportMetric(cachetest.Rate(b, 128, min(n, 100_000), read), "reads/s")
	b.ReportMetric(cachetest.Rate(b, 128, min(n, 100_000), func(int) error { return put(rand.IntN(n)) }), "overwrites/s")
	b.ReportMetric(cachetest.Rate(b, 1, 2000, func(int) error { return put(rand.IntN(n)) }), "single-writes/s")
	b.ReportMetric(0, "ns/op")
}
