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

// TestMemorySize compares the estimates with the runtime's own count: of records, with the rules of
// a crawler before and after an index is built, and deflated.
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
		{"own bodies", 4_000, func(r *fetch.Record, i int) { r.Body = fmt.Appendf(nil, "%2000d", i) }},
		{"no body", 4_000, func(r *fetch.Record, _ int) {
			r.Outcome, r.Cause, r.Status, r.Header = fetch.Unavailable, fetch.ClientError, 404, nil
		}},
		{"outage", 4_000, func(r *fetch.Record, i int) { outage(r, nil, fmt.Appendf(nil, "%500d", i)) }},
		{"both grown", 500, func(r *fetch.Record, i int) { outage(r, grown(i), grown(i)) }},
		{"files of 300 bytes", 4_000, func(r *fetch.Record, i int) { r.Body = robotsFile(i, 300) }},
		{"files of 2 KB", 2_000, func(r *fetch.Record, i int) { r.Body = robotsFile(i, 2_000) }},
		{"files of 11 KB", 1_000, func(r *fetch.Record, i int) { r.Body = robotsFile(i, 11_000) }},
	} {
		before := heap()
		m := cache.NewHot(1 << 30)
		crawler := &cache.Crawler{Dialect: robots.RFC9309, Tokens: []string{"MyBot"}}
		compare := func(what string) {
			t.Helper()
			got := heap() - before
			_, charged := m.Usage()
			t.Logf("%-18s %-12s %6d bytes per origin, %6d charged", tt.name, what, got/int64(tt.n), charged/int64(tt.n))
			if got > charged*120/100 || got < charged*80/100 {
				t.Errorf("%s, %s: %d bytes, charged %d", tt.name, what, got, charged)
			}
		}
		for i := range tt.n {
			r := cachetest.Record(cachetest.Origin(i), "")
			tt.fill(r, i)
			m.Put(cache.Entry{Record: r})
		}
		compare("record")
		for i := range tt.n {
			m.Rules(cachetest.Origin(i), crawler)
		}
		compare("with rules")
		for i := range tt.n {
			for range 200 {
				m.Rules(cachetest.Origin(i), crawler).Allowed(robots.RawPath("/page"))
			}
		}
		compare("with indexes")
		if tt.name != "both grown" { // of which deflate takes long
			m.DeflateAll()
			compare("deflated")
		}
		runtime.KeepAlive(m)
	}
}

// robotsFile returns a file of about a size, with lines that compress as those of real files do.
func robotsFile(i, size int) []byte {
	random := rand.New(rand.NewPCG(uint64(i), 11))
	words := strings.Fields("search cart checkout account wp-admin includes tag feed print login user images static api v2 de en fr sort filter session")
	body := []byte("User-agent: *\n")
	for len(body) < size {
		body = fmt.Appendf(body, "Disallow: /%s/%s/%x%s\n", words[random.IntN(len(words))], words[random.IntN(len(words))], random.IntN(1<<16),
			[]string{"", "/", "*", "?*=", ".php$"}[random.IntN(5)])
	}
	return body
}

// TestMemorySlope: three rounds over five times as many sites as fit into memory ready to use cause
// one fetch of each, and of what was deflated the rules and records are the same. Only over more sites
// than fit at all are records fetched again, and the first is reported once. With a store none is, and none is deflated.
func TestMemorySlope(t *testing.T) {
	campaign.NotForRace(t)
	const limit = 1 << 20 // 57 sites with files of 11 KB and their rules
	crawler := &cache.Crawler{Dialect: robots.RFC9309, Tokens: []string{"MyBot"}}
	for _, tt := range []struct {
		name             string
		sites            int
		store            cache.Store
		fetches, evicted int
	}{
		{"fitting deflated", 230, nil, 230, 0},
		{"too many", 500, nil, 1500, 1},
		{"too many with a store", 500, cachetest.NewMemory(), 500, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			fetches, evicted := 0, 0
			c := open(t, cache.Options{Memory: limit, Store: tt.store, Observe: func(e cache.Event) {
				if e.Kind == cache.EventEvicted {
					evicted++
				}
			}, Fetcher: fetcherFunc(func(_ context.Context, o robots.Origin) (*fetch.Record, error) {
				fetches++
				r := cachetest.Record(o, string(robotsFile(int(o.Host()[0])*256+int(o.Host()[1]), 11_000)))
				r.Fetched = time.Now()
				r.Expires = r.Fetched.Add(day)
				return r, nil
			})})
			defer c.Close()
			first := map[robots.Origin]string{}
			for range 3 {
				for i := range tt.sites {
					rules, r := rulesOf(t, c, cachetest.Origin(i), crawler)
					got := fmt.Sprint(said(rules), r.Fetched, r.Expires, len(r.Body), r.Hops, r.Header)
					if first[r.Origin] == "" {
						first[r.Origin] = got
					} else if first[r.Origin] != got && tt.fetches == tt.sites {
						t.Fatalf("%v was %s, is %s", r.Origin, first[r.Origin], got)
					}
					if _, bytes := c.Usage(); bytes > limit {
						t.Fatalf("%d bytes charged", bytes)
					}
				}
			}
			if n, _ := c.Usage(); tt.store != nil && n > limit/11_000 {
				t.Errorf("%s: %d sites in memory, want only those that fit without being deflated", tt.name, n)
			}
			if fetches != tt.fetches || evicted != tt.evicted {
				t.Errorf("%s: %d fetches and %d reports, want %d and %d", tt.name, fetches, evicted, tt.fetches, tt.evicted)
			}
		})
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
	for i := range campaign.Size(1_000, 1_000, 5_000) {
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
	for first := range campaign.Size(100, 300, 40_000) / bubble {
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

// TestRulesBeforeStep: rules that are made right before a step of an outage do not outlast it.
func TestRulesBeforeStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := behaving("500")
		c := open(t, cache.Options{Fetcher: fetcherFunc(func(_ context.Context, o robots.Origin) (*fetch.Record, error) {
			return record(o, now, time.Now()), nil
		})})
		defer c.Close()
		google := &cache.Crawler{Dialect: robots.Google, Tokens: []string{"mybot"}}
		_, r := rulesOf(t, c, origin, google)
		step := r.FailingSince.Add(12 * hour)
		for time.Until(step) > 2*hour { // failures cover the outage
			time.Sleep(hour)
			c.Refresh(t.Context(), origin)
		}
		_, until := r.Span(robots.Google, step.Add(-time.Second))
		time.Sleep(time.Until(step) - time.Millisecond)
		c.Refresh(t.Context(), origin)
		before, _ := rulesOf(t, c, origin, google)
		time.Sleep(time.Second)
		after, r := rulesOf(t, c, origin, google)
		fresh := google.Failure.Rules(r, google.Dialect, time.Now(), google.Tokens...)
		if !until.Equal(step) || said(before) == said(fresh) || said(after) != said(fresh) {
			t.Errorf("a step at %s: before %s\nafter %s\nfresh %s", until, said(before), said(after), said(fresh))
		}
	})
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
