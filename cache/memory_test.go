package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

// TestMemorySize compares sizeOf with the runtime's own count.
func TestMemorySize(t *testing.T) {
	if campaign.Race {
		t.Skip("the race detector has memory of its own")
	}
	outage := func(r *fetch.Record, body, good []byte) {
		r.Outcome, r.Cause, r.Status, r.Body = fetch.Unreachable, fetch.ServerError, 500, body
		r.LastGood = &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK, URL: r.URL, Body: good}
	}
	grown := func(i int) []byte { return append(make([]byte, 0, 100_000), fmt.Sprintf("%20000d", i)...) }
	for _, tt := range []struct {
		name string
		n    int
		fill func(r *fetch.Record, i int)
	}{
		{"own bodies", 20_000, func(r *fetch.Record, i int) { r.Body = fmt.Appendf(nil, "%2000d", i) }},
		{"no body", 20_000, func(r *fetch.Record, _ int) {
			r.Outcome, r.Cause, r.Status, r.Header = fetch.Unavailable, fetch.ClientError, 404, nil
		}},
		{"outage", 20_000, func(r *fetch.Record, i int) { outage(r, nil, fmt.Appendf(nil, "%500d", i)) }},
		{"both grown", 500, func(r *fetch.Record, i int) { outage(r, grown(i), grown(i)) }},
	} {
		before := heap()
		m := cache.NewHot(1 << 30)
		for i := range tt.n {
			r := cachetest.Record(cachetest.Origin(i), "")
			tt.fill(r, i)
			m.Put(cache.Entry{Record: r})
		}
		got := heap() - before
		_, said := m.Usage()
		t.Logf("%-10s %5d bytes per origin, %5d by estimate", tt.name, got/int64(tt.n), said/int64(tt.n))
		if got > said*13/10 || got < said*6/10 {
			t.Errorf("%s: %d bytes, the estimate says %d", tt.name, got, said)
		}
		runtime.KeepAlive(m)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestMemoryBound: memory stays within its limit, records that are read often stay, and a record
// that is too large evicts no other.
func TestMemoryBound(t *testing.T) {
	const limit = 1 << 20
	m := cache.NewHot(limit)
	hot := cachetest.Origin(1_000_000)
	m.Put(cache.Entry{Record: cachetest.Record(hot, "hot")})
	for i := range 5_000 {
		size := []int{0, 100, 3_000, 60_000, 513_024, 2 << 20}[i%6*(i%7)/6%6]
		m.Put(cache.Entry{Record: cachetest.Record(cachetest.Origin(i), strings.Repeat(fmt.Sprint(i), size/len(fmt.Sprint(i))))})
		if _, bytes := m.Usage(); bytes > limit {
			t.Fatalf("%d bytes after %d puts", bytes, i)
		}
		if !m.Has(hot) {
			t.Fatalf("the entry read after each put is gone after %d", i)
		}
		if m.Has(cachetest.Origin(i)) != (size < limit) {
			t.Fatalf("put %d of %d bytes", i, size)
		}
	}
}

func rulesOf(t *testing.T, c *cache.Cache, o robots.Origin, w *cache.Crawler) (*robots.Rules, *fetch.Record) {
	t.Helper()
	rules, r, err := c.Rules(context.Background(), o, w)
	if err != nil {
		t.Fatal(err)
	}
	return rules, r
}

// said has all parts of a verdict.
func said(rules *robots.Rules) string {
	v := rules.Match(robots.RawPath("/private"))
	return fmt.Sprintf("%v, %v, %+v", v, v.Reason, *rules.State())
}

// TestRulesLaw: kept rules give the verdicts of the record itself, over outages, refreshes,
// evictions and times without the shared store.
func TestRulesLaw(t *testing.T) {
	asked, kept := 0, 0
	const bubble = 100
	for first := range campaign.Size(100, 600, 40_000) / bubble {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(first), 28))
			for range bubble {
				b := &behaviours[0]
				o := cache.Options{Memory: []int64{1, 6_000, 1 << 20, 1 << 20}[random.IntN(4)]}
				o.Fetcher = fetcherFunc(func(_ context.Context, o robots.Origin) (*fetch.Record, error) {
					return record(o, b, time.Now()), nil
				})
				store := &down{Memory: cachetest.NewMemory()}
				if random.IntN(2) == 0 {
					o.Store = store
				}
				c := open(t, o)
				var crawlers []*cache.Crawler
				for range 1 + random.IntN(5) {
					p := fetch.Policy{OnFailure: fetch.OnFailure(random.IntN(6) / 4), SiteAnswers: random.IntN(2) == 0}
					crawlers = append(crawlers, &cache.Crawler{Dialect: robots.Dialects()[random.IntN(8)], Tokens: []string{"mybot"}, Failure: p})
				}
				last := map[*robots.Rules]bool{}
				for range 30 {
					switch random.IntN(11) {
					case 0, 1, 2:
						b = &behaviours[random.IntN(len(behaviours))]
					case 3, 4:
						time.Sleep(time.Duration(random.Int64N(int64(20 * day))))
					case 5, 6:
						time.Sleep(time.Duration(random.Int64N(int64(5 * hour))))
					case 7:
						c.Refresh(t.Context(), origin)
					case 8:
						if random.IntN(4) == 0 {
							c.Forget(t.Context(), origin)
						}
					case 9:
						store.is.Store(!store.is.Load())
					case 10:
						for i := range random.IntN(4) { // which may take the room
							rulesOf(t, c, cachetest.Origin(i), crawlers[0])
						}
					}
					for _, w := range crawlers {
						rules, r := rulesOf(t, c, origin, w)
						if fresh := w.Failure.Rules(r, w.Dialect, time.Now(), w.Tokens...); said(rules) != said(fresh) {
							t.Fatalf("%s, of %+v\nkept:  %s\nfresh: %s", w.Dialect.Name, r, said(rules), said(fresh))
						}
						if asked++; last[rules] {
							kept++
						}
						last[rules] = true
					}
					synctest.Wait()
				}
				c.Close()
			}
		})
	}
	t.Logf("%d answers, %d of them kept", asked, kept)
	if kept < asked/4 {
		t.Error("nearly all were made anew")
	}
}

// TestRulesOnce: a hundred concurrent callers of an unknown site and of a known one get the same
// rules; four crawlers get separate rules; rules count as memory, and are dropped with their
// record.
func TestRulesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, cache.Options{Fetcher: &slow{takes: time.Second, now: behaving("file")}})
		defer c.Close()
		var crawlers []*cache.Crawler
		for _, token := range []string{"a", "b", "c", "d", "e"} {
			crawlers = append(crawlers, &cache.Crawler{Dialect: robots.RFC9309, Tokens: []string{token}})
		}
		once := func() *robots.Rules {
			t.Helper()
			same := map[*robots.Rules]bool{}
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() {
					rules, _ := rulesOf(t, c, origin, crawlers[0])
					mu.Lock()
					defer mu.Unlock()
					same[rules] = true
				})
			}
			wg.Wait()
			if len(same) != 1 {
				t.Errorf("a hundred callers have %d rules", len(same))
			}
			rules, _ := rulesOf(t, c, origin, crawlers[0])
			return rules
		}
		_, before := c.Usage()
		first := once()
		if once() != first {
			t.Error("rules were made anew")
		}
		if _, after := c.Usage(); after < before+int64(first.MemoryBytes()) {
			t.Errorf("%d bytes before, %d with rules of %d", before, after, first.MemoryBytes())
		}
		for range 10 {
			for _, w := range crawlers[:4] {
				rulesOf(t, c, origin, w)
			}
		}
		if once() != first {
			t.Error("of four crawlers one has lost its rules")
		}
		if n := testing.AllocsPerRun(100, func() { c.Rules(context.Background(), origin, crawlers[0]) }); n != 0 {
			t.Errorf("a warm answer allocates %v times", n)
		}
		rulesOf(t, c, origin, crawlers[4])
		if _, err := c.Refresh(t.Context(), origin); err != nil {
			t.Fatal(err)
		}
		if once() == first {
			t.Error("rules of a record that is gone")
		}
		synctest.Wait()
		if err := c.Forget(t.Context(), origin); err != nil {
			t.Fatal(err)
		}
		if n, bytes := c.Usage(); n != 0 || bytes != 0 {
			t.Errorf("%d origins and %d bytes after all is forgotten", n, bytes)
		}
		if _, _, err := c.Rules(t.Context(), robots.Origin{}, crawlers[0]); err == nil || !strings.Contains(err.Error(), "origin is empty") {
			t.Errorf("the empty origin: %v", err)
		}
	})
}
