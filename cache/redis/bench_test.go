package redis

import (
	"flag"
	"fmt"
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

// BenchmarkScale measures a store and the memory that its server takes, once,
// whatever b.N.
func BenchmarkScale(b *testing.B) {
	server := redistest.Start(b, redistest.Options{})
	empty := usedMemory(server)
	cachetest.Scale(b, newStore(b, server.Client(), Options{}), *scaleOrigins, 128)
	b.ReportMetric(float64(usedMemory(server)-empty)/float64(*scaleOrigins), "bytes/origin")
}

// usedMemory returns the bytes that a server has taken, its tables included.
func usedMemory(server *redistest.Server) (n int) {
	_, used, _ := strings.Cut(server.Do("INFO", "memory"), "used_memory:")
	_, _ = fmt.Sscan(used, &n)
	return n
}
