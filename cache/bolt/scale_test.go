package bolt

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/robotskit/robots/cache/cachetest"
)

var scaleOrigins = flag.Int("origins", 100_000, "how many origins BenchmarkScale keeps")

// BenchmarkScale fills a store, reads it in random order, writes over parts of it
// and opens it again. It measures once, whatever b.N.
func BenchmarkScale(b *testing.B) {
	path := filepath.Join(b.TempDir(), "robots.cache")
	s, err := Open(path, Options{Size: 16 << 30})
	if err != nil {
		b.Fatal(err)
	}
	n := *scaleOrigins
	ctx := context.Background()
	put := func(i int) error { return s.Put(ctx, cachetest.Typical(i), 1000*time.Hour) }
	read := func(int) error { _, err := s.Get(ctx, cachetest.Origin(rand.IntN(n))); return err }
	var bodies int64
	for i := range min(n, 100_000) {
		bodies += int64(len(cachetest.Typical(i).Record.Body))
	}
	b.ReportMetric(float64(bodies)/float64(min(n, 100_000)), "bytes/body")
	b.ReportMetric(cachetest.Rate(b, 1024, n, put), "fills/s")
	b.ReportMetric(cachetest.Rate(b, 2, min(n, 300_000), read), "reads/s")
	b.ReportMetric(cachetest.Rate(b, 1024, min(n, 100_000), func(int) error { return put(rand.IntN(n)) }), "overwrites/s")
	b.ReportMetric(cachetest.Rate(b, 1, 200, func(int) error { return put(rand.IntN(n)) }), "single-writes/s")
	u, err := s.Usage()
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(n), "file-bytes/origin")
	b.ReportMetric(float64(u.Bytes)/float64(n), "live-bytes/origin")
	began := time.Now()
	if s, err = Open(path, Options{Size: 16 << 30}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-to-open")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
}
