package polite

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
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
		r.RetryAfter = 20 * time.Hour // so that the record stays
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
	parts := strings.Fields("a b example com www xn-- xn--bcher-kva bücher - _ . .. 0 1 127 0x7f %61 A : :80 :443 @ u@ [::1] \\ ~ é ! * ( ) + , ; = $ & ' \" < > [ ] { } | ^ ` ? # / ß \u3002 \u200d")
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
