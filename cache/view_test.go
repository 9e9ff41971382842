package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

// crawler is a view as a crawler makes one, which counts what is made.
type crawler struct {
	*cache.View[*robots.Rules]
	policy  fetch.Policy
	dialect robots.Dialect
	token   string
	made    atomic.Int64
}

func newCrawler(c *cache.Cache, p fetch.Policy, d robots.Dialect, token string) *crawler {
	w := &crawler{policy: p, dialect: d, token: token}
	w.View = cache.NewView(c, func(r *fetch.Record, now time.Time) cache.Made[*robots.Rules] {
		w.made.Add(1)
		from, until := r.Span(d, now)
		rules := p.Rules(r, d, now, token)
		return cache.Made[*robots.Rules]{Value: rules, Bytes: rules.MemoryBytes(), From: from, Until: until}
	})
	return w
}

func (w *crawler) get(t *testing.T, origin robots.Origin) (*fetch.Record, *robots.Rules) {
	t.Helper()
	r, rules, err := w.Get(context.Background(), origin)
	if err != nil {
		t.Fatal(err)
	}
	return r, rules
}

// said is all that a verdict says.
func said(rules *robots.Rules) string {
	v := rules.Match(robots.RawPath("/private"))
	return fmt.Sprintf("%v, %v, %+v", v, v.Reason, *rules.State())
}

// TestViewLaw: what a view has kept says what the record says when it is asked
// without one, over outages, refreshes, evictions, jumps of the clock and times in
// which the shared store is down.
func TestViewLaw(t *testing.T) {
	jumps := []time.Duration{30 * time.Second, -30 * time.Second, 2 * hour, -2 * hour, 40 * day, -40 * day}
	asked, made := 0, int64(0)
	const bubble = 100
	for first := range campaign.Size(100, 600, 40_000) / bubble {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(first), 28))
			for range bubble {
				wall := &wallClock{}
				b := &behaviours[0]
				o := cache.Options{Memory: []int64{1, 6_000, 1 << 20, 1 << 20}[random.IntN(4)]}
				o.Fetcher = fetcherFunc(func(_ context.Context, o robots.Origin) (*fetch.Record, error) {
					return record(o, b, wall.now()), nil
				})
				store := &down{Memory: cache.NewMemory(1 << 20)}
				if random.IntN(2) == 0 {
					o.Store = store
				}
				c := openAt(t, o, wall.now)
				var crawlers []*crawler
				for range 1 + random.IntN(5) {
					p := fetch.Policy{OnFailure: fetch.OnFailure(random.IntN(6) / 4), SiteAnswers: random.IntN(2) == 0}
					crawlers = append(crawlers, newCrawler(c, p, robots.Dialects()[random.IntN(8)], "mybot"))
				}
				for range 30 {
					switch random.IntN(12) {
					case 0, 1, 2:
						b = &behaviours[random.IntN(len(behaviours))]
					case 3, 4:
						time.Sleep(time.Duration(random.Int64N(int64(20 * day))))
					case 5, 6:
						time.Sleep(time.Duration(random.Int64N(int64(5 * hour))))
					case 7:
						wall.jump(jumps[random.IntN(len(jumps))])
					case 8:
						c.Refresh(t.Context(), origin)
					case 9:
						if random.IntN(4) == 0 {
							c.Forget(t.Context(), origin)
						}
					case 10:
						if now := wall.now(); !store.since.CompareAndSwap(nil, &now) {
							store.since.Store(nil)
						}
					case 11:
						for i := range random.IntN(4) { // which may take the room
							crawlers[0].get(t, cachetest.Origin(i))
						}
					}
					for _, w := range crawlers {
						r, rules := w.get(t, origin)
						if fresh := w.policy.Rules(r, w.dialect, wall.now(), w.token); said(rules) != said(fresh) {
							t.Fatalf("%s, of %+v\nkept:  %s\nfresh: %s", w.dialect.Name, r, said(rules), said(fresh))
						}
						asked++
					}
					synctest.Wait()
				}
				for _, w := range crawlers {
					made += w.made.Load()
				}
				c.Close()
			}
		})
	}
	t.Logf("%d answers, %d made", asked, made)
	if int(made) > asked*3/4 {
		t.Error("nearly all were made anew")
	}
}

// TestViewOnce: a hundred callers at once, of a site that nobody knows and of one
// that is known, make rules once. Rules that end are made once more.
func TestViewOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Second, now: behaving("file")}
		c := open(t, cache.Options{Fetcher: s})
		defer c.Close()
		w := newCrawler(c, fetch.Policy{}, robots.RFC9309, "mybot")
		once := func(when string, want int64) {
			t.Helper()
			var same sync.Map
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() {
					_, rules := w.get(t, origin)
					same.Store(rules, true)
				})
			}
			wg.Wait()
			synctest.Wait()
			different := 0
			same.Range(func(any, any) bool { different++; return true })
			if n := w.made.Load(); n != want || different != 1 {
				t.Errorf("%s: a hundred callers got %d rules, %d were made so far, want 1 and %d", when, different, n, want)
			}
		}
		once("unknown", 1)
		once("known", 1)
		if _, err := c.Refresh(t.Context(), origin); err != nil {
			t.Fatal(err)
		}
		once("refreshed", 2)
		s.now = behaving("500")
		if _, err := c.Refresh(t.Context(), origin); err != nil {
			t.Fatal(err)
		}
		once("failed, the copy still fresh", 3)
		time.Sleep(10 * day)
		get(t, c) // fetches; the copy has ended
		once("failed again", 4)
		if err := c.Forget(t.Context(), origin); err != nil {
			t.Fatal(err)
		}
		once("forgotten", 5)
	})
}

// TestViewSpan: rules that end while the record stays are made once more, at that
// instant and not before, and once more when the wall clock steps back over it. They
// take the place of those that have ended.
func TestViewSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := &wallClock{}
		s := &slow{now: behaving("file"), wall: wall.now}
		c := openAt(t, cache.Options{Fetcher: s}, wall.now)
		defer c.Close()
		w := newCrawler(c, fetch.Policy{}, robots.Google, "mybot")
		end := get(t, c).Expires
		time.Sleep(time.Until(end) - 30*time.Minute)
		s.now = behaving("no host") // asked again every hour
		if _, err := c.Refresh(t.Context(), origin); err != nil {
			t.Fatal(err)
		}
		for _, at := range []struct {
			time  time.Time
			made  int64
			stale bool
		}{{time.Now(), 1, false}, {end.Add(-1), 1, false}, {end, 2, true}, {end.Add(20 * time.Second), 2, true}, {end.Add(-time.Second), 3, false}} {
			if d := at.time.Sub(wall.now()); d < 0 {
				wall.jump(d)
			} else {
				time.Sleep(d)
			}
			r, rules := w.get(t, origin)
			v := rules.Match(robots.RawPath("/public"))
			if n := w.made.Load(); n != at.made || v.Allowed == at.stale || s.asked.Load() != 2 {
				t.Errorf("%v from the end of the copy: %v, made %d times, asked %d times, of %+v", at.time.Sub(end), v, n, s.asked.Load(), r)
			}
		}

		short := cache.NewView(c, func(_ *fetch.Record, now time.Time) cache.Made[bool] {
			return cache.Made[bool]{Bytes: 1000, Until: now.Add(time.Second)}
		})
		bytes := c.Usage().Bytes + 2000
		for range 10 {
			short.Get(t.Context(), origin)
			time.Sleep(time.Second)
		}
		if u := c.Usage(); u.Bytes > bytes {
			t.Errorf("%+v, want %d at most: what has ended is still kept", u, bytes)
		}
	})
}

// TestViewsInTurn: as many crawlers as a record has places make their rules once
// each, and one more costs the others no more than their places in turn.
func TestViewsInTurn(t *testing.T) {
	c := open(t, cache.Options{Fetcher: &slow{now: behaving("file")}})
	defer c.Close()
	var crawlers []*crawler
	for i := range 5 {
		crawlers = append(crawlers, newCrawler(c, fetch.Policy{}, robots.RFC9309, fmt.Sprint("bot", string(rune('a'+i)))))
	}
	for range 100 {
		for i, w := range crawlers[:4] {
			w.get(t, origin)
			if n := w.made.Load(); n != 1 {
				t.Fatalf("crawler %d made its rules %d times", i, n)
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { crawlers[0].Get(context.Background(), origin) }); n != 0 {
		t.Errorf("a warm answer allocates %v times", n)
	}
	for range 100 {
		crawlers[4].get(t, origin)
	}
	if n := crawlers[4].made.Load(); n != 1 {
		t.Errorf("the fifth crawler made its rules %d times", n)
	}
}

// TestViewMemory: what views keep counts against the bound and is given back, and
// goes before any record does; what has no room is made each time.
func TestViewMemory(t *testing.T) {
	const n, big = 100, 10_000
	s := &slow{now: behaving("file")}
	fill := func(limit int64, bytes int) (*cache.Cache, *cache.View[int], *int) {
		c := open(t, cache.Options{Fetcher: s, Memory: limit})
		t.Cleanup(func() { c.Close() })
		made := new(int)
		return c, cache.NewView(c, func(*fetch.Record, time.Time) cache.Made[int] {
			*made++
			return cache.Made[int]{Value: *made, Bytes: bytes}
		}), made
	}
	ask := func(v *cache.View[int], i int) int {
		_, value, err := v.Get(context.Background(), cachetest.Origin(i))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	c, v, _ := fill(1<<30, big)
	for i := range n {
		c.Get(context.Background(), cachetest.Origin(i))
	}
	records := c.Usage().Bytes
	for i := range n {
		ask(v, i)
	}
	if got := c.Usage().Bytes - records; got < n*big || got > n*(big+500) {
		t.Errorf("%d views of %d bytes count as %d", n, big, got)
	}
	for i := range n {
		if err := c.Forget(context.Background(), cachetest.Origin(i)); err != nil {
			t.Fatal(err)
		}
	}
	if u := c.Usage(); u.Bytes != 0 {
		t.Errorf("%+v after all are forgotten", u)
	}

	// Room for all records, and for the views of a third.
	limit := records + n*big/3
	c, v, made := fill(limit, big)
	hot := ask(v, n)
	for i := range 5 * n {
		ask(v, i%n)
		if u := c.Usage(); u.Bytes > limit {
			t.Fatalf("%d bytes, the bound is %d", u.Bytes, limit)
		}
		if got := ask(v, n); got != hot {
			t.Fatalf("what is asked for after each other was made anew after %d", i)
		}
	}
	u := c.Usage()
	views := (u.Bytes - int64(u.Origins)*records/n) / big
	t.Logf("%+v, so about %d views; %d made", u, views, *made)
	if u.Bytes < limit-2*big || int(views) >= u.Origins {
		t.Errorf("%+v of %d, %d views: the room must be used, and a view goes before its record", u, limit, views)
	}

	c, v, made = fill(2*big, 3*big)
	for i := range 5 {
		c.Get(context.Background(), cachetest.Origin(i))
	}
	for range 10 {
		if got := ask(v, 0); got != *made {
			t.Errorf("got %d, the last one made is %d", got, *made)
		}
	}
	if u := c.Usage(); *made != 10 || u.Origins != 5 || u.Bytes > 2*big {
		t.Errorf("a view without room was made %d times of 10, %+v", *made, u)
	}
}

// TestViewErrors: the errors are those of Get, and a view may make nothing.
func TestViewErrors(t *testing.T) {
	c := open(t, cache.Options{Fetcher: &slow{now: behaving("file")}})
	v := cache.NewView(c, func(*fetch.Record, time.Time) cache.Made[error] { return cache.Made[error]{} })
	for range 2 {
		if _, value, err := v.Get(context.Background(), origin); value != nil || err != nil {
			t.Errorf("nothing made: %v, %v", value, err)
		}
	}
	if _, _, err := v.Get(context.Background(), robots.Origin{}); err == nil || !strings.Contains(err.Error(), "origin is empty") {
		t.Errorf("the empty origin: %v", err)
	}
	c.Close()
	if r, _, err := v.Get(context.Background(), cachetest.Origin(1)); err == nil {
		t.Errorf("a closed cache: %+v", r)
	}
}
