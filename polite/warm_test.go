package polite

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
)

// TestWarmAllocations: with the robots.txt of a site in memory, a verdict allocates nothing.
func TestWarmAllocations(t *testing.T) {
	body := "User-agent: *\nCrawl-delay: 5\nRequest-rate: 1/10 0800-1200\n" + strings.Repeat("Disallow: /private/*/x$\n", 100)
	_, transport := newClient(t, withFile(t, Options{Tokens: []string{"Other"}}, body))
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

// TestJudgedAgain: a request that has waited is judged again, if the site has another file or
// the copy of an outage has ended meanwhile.
func TestJudgedAgain(t *testing.T) {
	for _, now := range []memory{{cause: fetch.OK, body: "User-agent: *\nDisallow: /\n"}, {cause: fetch.ServerError}} {
		synctest.Test(t, func(t *testing.T) {
			site := &memory{cause: fetch.OK, body: "User-agent: *\nCrawl-delay: 3600\n"}
			c := openCache(t, site)
			client, _ := newClient(t, Options{Cache: c, Base: &recorder{}, Dialect: robots.Google, Policy: pace.Policy{Obey: pace.ObeyDeclared, MaxCrawlDelay: time.Hour}})
			const page = "https://site.example/page"
			origin, _, _ := robots.ParseURL(page)
			r, err := c.Get(t.Context(), origin)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(r.Expires) - 90*time.Minute)
			if now.cause == fetch.ServerError {
				*site = now
			}
			if _, err := c.Refresh(t.Context(), origin); err != nil {
				t.Fatal(err)
			}
			if err := get(client, page); err != nil {
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
			if err := get(client, page); !errors.As(err, &disallowed) || time.Since(began) != time.Hour {
				t.Errorf("%v: after %v %v, want a DisallowedError after an hour", now.cause, time.Since(began), err)
			}
		})
	}
}

// TestSites: a URL whose beginning is remembered is read as a new one, and net/url reads the
// same host.
func TestSites(t *testing.T) {
	random := rand.New(rand.NewPCG(3986, 2))
	parts := strings.Fields("a b example com www xn-- xn--bcher-kva bücher - _ . .. 0 1 127 0x7f %61 A : :80 :443 @ u@ u:p@ [::1] \\ ~ é ! * ( ) + , ; = $ & ' \" < > [ ] { } | ^ ` ß \u3002 \u200d")
	rests := strings.Fields("/ ?q #f /a?b \\ :443/ // //a /x//y ?a/b #a/b /#")
	var warm sites
	known := 0
	for range campaign.Size(20_000, 100_000, 3_000_000) {
		host := ""
		for range 1 + random.IntN(4) {
			host += parts[random.IntN(len(parts))]
		}
		rawURL := []string{"http", "https", "ftp", "HTTP", "x"}[random.IntN(5)] + "://" + host
		if random.IntN(9) > 0 {
			rawURL += rests[random.IntN(len(rests))]
		}
		if o, _ := warm.find(rawURL); !o.IsZero() {
			known++
		}
		var fresh sites
		origin, path, err := fresh.parse(rawURL)
		if o, p, err2 := warm.parse(rawURL); o != origin || p != path || (err == nil) != (err2 == nil) {
			t.Fatalf("%q is %v, %v, %v, and remembered %v, %v, %v", rawURL, origin, path, err, o, p, err2)
		}
		o, p, err2 := robots.ParseURL(rawURL)
		if err == nil && (o != origin || p != path || err2 != nil) {
			t.Fatalf("%q is %v, %v, but ParseURL returns %v, %v, %v", rawURL, origin, path, o, p, err2)
		}
		if u, err2 := url.Parse(rawURL); err == nil && err2 == nil {
			if o, _, err := robots.ParseURL(u.Scheme + "://" + u.Host); err != nil || o != origin {
				t.Fatalf("%q is %v, but net/url requests %q", rawURL, origin, u.Host)
			}
		}
	}
	if known == 0 {
		t.Error("no URL was known")
	}
	for i := range maxSites + 9 {
		warm.add("https://" + strconv.Itoa(i) + ".example")
	}
	if n := len(warm.known); n > maxSites {
		t.Errorf("%d sites are remembered", n)
	}
}
