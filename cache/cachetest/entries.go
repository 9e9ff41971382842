package cachetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

// Scale measures a store once, whatever b.N. It puts the entries of n origins, reads
// entries at random and puts some again, with together calls at a time and one by one.
// Of twenty origins three have no file, five have one of a hundred files that they
// share, and twelve one of their own; a body has 1,168 bytes on average.
func Scale(b *testing.B, s cache.Store, n, together int) {
	b.Helper()
	content := map[fetch.Hash]int{}
	bytes := 0
	for i := range n {
		r := typical(i).Record
		bytes += len(r.Encode())
		for h, body := range r.Bodies() {
			content[h] = len(body)
		}
	}
	for _, size := range content {
		bytes += size
	}
	put := func(i int) error { return s.Put(ctx, typical(i), 1000*time.Hour) }
	overwrite := func(int) error { return put(rand.IntN(n)) }
	b.ReportMetric(float64(bytes)/float64(n), "content-bytes/origin")
	b.ReportMetric(rate(b, together, n, put), "fills/s")
	b.ReportMetric(rate(b, together, min(n, 100_000), func(int) error { _, err := s.Get(ctx, Origin(rand.IntN(n))); return err }), "reads/s")
	b.ReportMetric(rate(b, together, min(n, 100_000), overwrite), "overwrites/s")
	b.ReportMetric(rate(b, 1, 500, overwrite), "single-writes/s")
	b.ReportMetric(0, "ns/op")
}

func typical(i int) cache.Entry {
	random := rand.New(rand.NewPCG(uint64(i), 9))
	line := fmt.Sprintf("Disallow: /%x/\n", random.Uint32())
	r := Record(Origin(i), "User-agent: *\n"+strings.Repeat(line, 1+int(90*random.ExpFloat64())%2000))
	switch k := i % 20; {
	case k < 3:
		r.Outcome, r.Cause, r.Status, r.Body = fetch.Unavailable, fetch.ClientError, 404, nil
	case k < 8:
		r.Body = fmt.Appendf(nil, "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\nSitemap: https://cdn-%d.example/sitemap.xml\n", random.IntN(100))
	}
	return cache.Entry{Record: r}
}

// rate makes total calls by so many workers and returns the number of calls per second.
// A worker ends at its first error, which fails b.
func rate(b *testing.B, workers, total int, call func(i int) error) float64 {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < total; i = int(next.Add(1)) - 1 {
				if err := call(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(total) / time.Since(began).Seconds()
}

// Numbered returns an entry of the i-th origin that is made from a number, which is its
// Epoch: a test that finds the entry can tell which one it is and, with Difference,
// whether it is complete. Some entries share bodies.
func Numbered(i int, number uint64) cache.Entry {
	random := rand.New(rand.NewPCG(number, uint64(i)))
	r := Record(Origin(i), strings.Repeat(fmt.Sprintln("Disallow: /", number), 1+random.IntN(100)))
	switch random.IntN(3) {
	case 0:
		r = Record(Origin(i), fmt.Sprint("shared ", random.IntN(5)))
	case 1:
		r.LastGood = good(fmt.Sprint("shared ", random.IntN(5)))
	}
	return cache.Entry{Record: r, Epoch: number}
}
