package polite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
)

// memory is a Fetcher without a network.
type memory struct {
	cause fetch.Cause
	body  string
}

func (m *memory) Fetch(_ context.Context, origin robots.Origin) (*fetch.Record, error) {
	now := time.Now()
	r := &fetch.Record{Origin: origin, Outcome: m.cause.Outcome(), Cause: m.cause, Status: 200, Started: now, Fetched: now}
	switch m.cause {
	case fetch.OK:
		r.Body = []byte(m.body)
	case fetch.ServerError:
		r.RetryAfter = 20 * time.Hour // so that the record stays while the outage grows
	}
	return r, nil
}

func newWarm(t *testing.T, name string, c *cache.Cache, o Options) *Transport {
	t.Helper()
	o.Cache = c
	transport, err := New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

func openCache(t *testing.T, f cache.Fetcher) *cache.Cache {
	t.Helper()
	c, err := cache.New(cache.Options{Fetcher: f})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWarmAllocations: with the robots.txt of a site in memory, a verdict allocates nothing.
func TestWarmAllocations(t *testing.T) {
	body := "User-agent: *\nCrawl-delay: 5\nRequest-rate: 1/10 0800-1200\n" + strings.Repeat("Disallow: /private/*/x$\n", 100)
	c := openCache(t, &memory{fetch.OK, body})
	defer c.Close()
	transport := newWarm(t, "MyBot", c, Options{Tokens: []string{"Other"}})
	ctx := t.Context()
	const page = "https://www.example.com/private/some/page?of=this"
	origin, _, _ := robots.ParseURL(page)
	for name, call := range map[string]func() error{
		"Verdict": func() error { _, err := transport.Verdict(ctx, page); return err },
		"rules":   func() error { _, _, err := transport.rules(ctx, origin); return err },
	} {
		for range 200 { // an index is built
			if err := call(); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(200, func() { call() }); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// TestWarmOnce: a hundred callers of two crawlers over one cache make the rules of each crawler
// once.
func TestWarmOnce(t *testing.T) {
	c := openCache(t, &memory{fetch.OK, "User-agent: a\nDisallow: /a\nUser-agent: b\nDisallow: /b\nCrawl-delay: 30\n"})
	defer c.Close()
	crawlers := []*Transport{newWarm(t, "a", c, Options{}), newWarm(t, "b", c, Options{})}
	origin, _, _ := robots.ParseURL("https://example.com/")
	var wg sync.WaitGroup
	var made [2]sync.Map
	for i := range 100 {
		wg.Go(func() {
			for k := range 20 {
				k = (i + k) % 2
				_, rules, err := crawlers[k].rules(t.Context(), origin)
				if err != nil {
					t.Error(err)
					return
				}
				made[k].Store(rules, true)
			}
		})
	}
	wg.Wait()
	for k := range made {
		n := 0
		for range made[k].Range {
			n++
		}
		if n != 1 {
			t.Errorf("crawler %d: made %d times", k, n)
		}
	}
	for k, want := range []time.Duration{4 * time.Second, 30 * time.Second} {
		v, err := crawlers[k].Verdict(t.Context(), "https://example.com/"+string(rune('a'+k)))
		_, rules, _ := crawlers[k].rules(t.Context(), origin)
		if got, _ := crawlers[k].scheduleOf(rules).Steady(); err != nil || v.Allowed || got != want {
			t.Errorf("crawler %d: %v, %v; an interval of %v, want %v", k, v, err, got, want)
		}
	}
}

// TestWarmLaw: verdict and schedule equal those of the record itself, through good days and
// outages.
func TestWarmLaw(t *testing.T) {
	causes := []fetch.Cause{fetch.OK, fetch.OK, fetch.ClientError, fetch.ServerError, fetch.Timeout, fetch.TooManyRequests, fetch.NoNetwork}
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(13, 54))
		asked := 0
		for range campaign.Size(50, 300, 3_000) {
			site := &memory{cause: fetch.OK}
			c := openCache(t, site)
			var crawlers []*Transport
			for _, d := range []robots.Dialect{robots.RFC9309, robots.Google, robots.Google2019} {
				crawlers = append(crawlers, newWarm(t, "MyBot", c, Options{Dialect: d, Failure: fetch.Policy{SiteAnswers: random.IntN(2) == 0}}))
			}
			for range 20 {
				site.cause = causes[random.IntN(len(causes))]
				site.body = fmt.Sprintf("User-agent: mybot\nDisallow: /%d\nCrawl-delay: %[1]d\n", random.IntN(3))
				for range 4 {
					time.Sleep(time.Duration(random.Int64N(int64(30 * time.Hour))))
					for _, crawler := range crawlers {
						origin, path, _ := robots.ParseURL("https://site.example/1")
						crawler.rules(t.Context(), origin)
						synctest.Wait() // an early fetch ends
						v, err := crawler.Verdict(t.Context(), "https://site.example/1")
						if err != nil {
							t.Fatal(err)
						}
						r, kept, err := crawler.rules(t.Context(), origin)
						if err != nil {
							t.Fatal(err)
						}
						o := crawler.options
						rules := o.Failure.Rules(r, o.Dialect, time.Now(), crawler.tokens...)
						fresh := rules.Match(path)
						if v.String() != fresh.String() || v.Reason != fresh.Reason || *v.State != *fresh.State {
							t.Fatalf("%s of %+v\nkept:  %v %+v\nfresh: %v %+v", o.Dialect.Name, r, v, *v.State, fresh, *fresh.State)
						}
						if schedule, _ := pace.NewSchedule(rules, o.Policy); !reflect.DeepEqual(schedule, crawler.scheduleOf(kept)) {
							t.Fatalf("%s of %+v\nkept:  %+v\nfresh: %+v", o.Dialect.Name, r, crawler.scheduleOf(kept), schedule)
						}
						asked++
					}
				}
			}
			c.Close()
		}
		t.Logf("%d verdicts and schedules", asked)
	})
}

// okay is a Base that answers everything with 200.
type okay struct{}

func (okay) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: req}, nil
}

// TestJudgedAgain: a request that has waited is judged again, if the site has another file or
// the copy of an outage has ended meanwhile.
func TestJudgedAgain(t *testing.T) {
	for _, now := range []memory{{fetch.OK, "User-agent: *\nDisallow: /\n"}, {cause: fetch.ServerError}} {
		synctest.Test(t, func(t *testing.T) {
			site := &memory{fetch.OK, "User-agent: *\nCrawl-delay: 3600\n"}
			c := openCache(t, site)
			defer c.Close()
			transport, err := New("MyBot", Options{Cache: c, Base: okay{}, Dialect: robots.Google, Policy: pace.Policy{Obey: pace.ObeyDeclared, MaxCrawlDelay: time.Hour}})
			if err != nil {
				t.Fatal(err)
			}
			const page = "https://site.example/page"
			origin, _, _ := robots.ParseURL(page)
			get := func() error {
				req, _ := http.NewRequestWithContext(t.Context(), "GET", page, nil)
				_, err := transport.RoundTrip(req)
				return err
			}
			r, err := c.Get(t.Context(), origin)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(r.Expires) - 30*time.Minute)
			if now.cause == fetch.ServerError {
				*site = now
			}
			if _, err := c.Refresh(t.Context(), origin); err != nil {
				t.Fatal(err)
			}
			if err := get(); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(45*time.Minute, func() {
				if now.cause == fetch.OK {
					*site = now
					c.Refresh(context.Background(), origin)
				}
			})
			began := time.Now()
			var disallowed *DisallowedError
			if err := get(); !errors.As(err, &disallowed) || time.Since(began) != time.Hour {
				t.Errorf("%v: after %v %v, want a DisallowedError after an hour", now.cause, time.Since(began), err)
			}
		})
	}
}

// TestCutHost compares cutHost with net/url and robots.ParseURL: both read every host that it
// cuts as that of the origin.
func TestCutHost(t *testing.T) {
	random := rand.New(rand.NewPCG(3986, 2))
	parts := strings.Fields("a b example com www xn-- xn--bcher-kva bücher - _ . .. 0 1 127 0x7f %61 A : :80 :443 @ u@ [::1] \\ ~ é ! * ß \u3002 \u200d")
	cuts := 0
	for range campaign.Size(20_000, 100_000, 3_000_000) {
		host := ""
		for range 1 + random.IntN(5) {
			host += parts[random.IntN(len(parts))]
		}
		scheme := []string{"http", "https", "ftp", "HTTP"}[random.IntN(4)]
		rawURL := scheme + "://" + host + []string{"", "/", "?q", "#f", "/a?b", "\\", ":443/"}[random.IntN(7)]
		origin, _, err := robots.ParseURL(rawURL)
		if err != nil {
			continue
		}
		if rest, ok := cutHost(host, origin); !ok || rest != "" {
			continue
		}
		cuts++
		u, err := url.Parse(scheme + "://" + host)
		if again, _, err2 := robots.ParseURL(origin.Scheme() + "://" + host); err != nil || u.Host != host || u.User != nil || err2 != nil || again != origin {
			t.Fatalf("%q is cut for %s; net/url reads %+v, %v; ParseURL %v, %v", rawURL, origin, u, err, again, err2)
		}
	}
	t.Logf("%d hosts", cuts)
	for _, rawURL := range []string{"https://www.example.com", "https://www.example.com/", "http://a-b.example?q", "http://127.0.0.1/", "http://xn--bcher-kva.example#f"} {
		origin, _, err := robots.ParseURL(rawURL)
		if rest, ok := cutHost(origin.Host(), origin); err != nil || !ok || rest != "" {
			t.Errorf("%q is not cut: %v", rawURL, err)
		}
	}
}
