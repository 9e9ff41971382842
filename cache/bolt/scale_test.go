package bolt

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

var scaleOrigins = flag.Int("origins", 100_000, "how many origins BenchmarkScale keeps")

// scaleEntry is the i-th of many: of twenty sites three have no file, five have
// one of a few that many have, and twelve one of their own, some 1.4 KB on average.
func scaleEntry(i int) cache.Entry {
	random := rand.New(rand.NewPCG(uint64(i), 9))
	line := fmt.Sprintf("Disallow: /%x/\n", random.Uint32())
	r := cachetest.Record(cachetest.Origin(i), "User-agent: *\n"+strings.Repeat(line, 1+int(90*random.ExpFloat64())%2000))
	switch k := i % 20; {
	case k < 3:
		r.Outcome, r.Cause, r.Status, r.Body = fetch.Unavailable, fetch.ClientError, 404, nil
	case k < 8:
		r.Body = fmt.Appendf(nil, "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\nSitemap: https://cdn-%d.example/sitemap.xml\n", random.IntN(100))
	}
	return cache.Entry{Record: r}
}

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
	each := func(workers, total int, do func(i int) error) float64 {
		var next atomic.Int64
		var wg sync.WaitGroup
		began := time.Now()
		for range workers {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < total; i = int(next.Add(1)) - 1 {
					if err := do(i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return float64(total) / time.Since(began).Seconds()
	}
	put := func(i int) error { return s.Put(ctx, scaleEntry(i), 1000*time.Hour) }
	read := func(int) error { _, err := s.Get(ctx, cachetest.Origin(rand.IntN(n))); return err }
	var bodies int64
	for i := range min(n, 100_000) {
		bodies += int64(len(scaleEntry(i).Record.Body))
	}
	b.ReportMetric(float64(bodies)/float64(min(n, 100_000)), "octets/body")
	b.ReportMetric(each(1024, n, put), "fills/s")
	b.ReportMetric(each(2, min(n, 300_000), read), "reads/s")
	b.ReportMetric(each(1024, min(n, 100_000), func(int) error { return put(rand.IntN(n)) }), "overwrites/s")
	b.ReportMetric(each(1, 200, func(int) error { return put(rand.IntN(n)) }), "single-writes/s")
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
	b.ReportMetric(float64(info.Size())/float64(n), "file-octets/origin")
	b.ReportMetric(float64(u.Octets)/float64(n), "live-octets/origin")
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
