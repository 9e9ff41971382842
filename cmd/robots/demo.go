package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/netip"
	neturl "net/url"
	"os"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/server/web"
	"github.com/robotskit/robots/fetch"
)

// demoKeep is how long the store of a demo keeps a record.
const demoKeep = 30 * 24 * time.Hour

// A demoSite is a site on loopback that demonstrates something.
type demoSite struct {
	name, see string // a word, and what the site demonstrates
	path      string // of a URL that demonstrates it
	file      string
	answer    func(w http.ResponseWriter, sites *demo) // instead of the file, unless nil
}

var demoSites = []demoSite{
	{"shop", "wildcards, and an Allow rule that is longer than a Disallow rule", "/list?sort=price", `# A shop: crawlers need neither baskets nor every order of a list.
User-agent: *
Disallow: /basket
Disallow: /checkout/
Disallow: /*?sort=
Allow: /*?sort=name$
Disallow: /*.xls$

User-agent: GPTBot
User-agent: CCBot
Disallow: /

Sitemap: /sitemap.xml
`, nil},
	{"blog", "a group for one crawler, which inherits nothing from *", "/drafts/today", `User-agent: *
Disallow: /drafts/
Crawl-delay: 10

User-agent: Googlebot
Disallow: /print/
`, nil},
	{"redirect", "a redirect to the robots.txt of another site", "/drafts/today", "", func(w http.ResponseWriter, sites *demo) {
		w.Header().Set("Location", sites.urls["blog"]+"/robots.txt")
		w.WriteHeader(http.StatusMovedPermanently)
	}},
	{"outage", "503 for an hour: the last good copy stays in use", "/private/", "", func(w http.ResponseWriter, _ *demo) {
		w.Header().Set("Retry-After", "120")
		http.Error(w, "Down for maintenance.", http.StatusServiceUnavailable)
	}},
	{"rates", "request rates by the hour of the day", "/", `User-agent: *
Request-rate: 1/10s 0600-1800
Request-rate: 1/1m 1800-2200
Request-rate: 10/1m
Disallow: /search
`, nil},
	{"html", "an HTML page instead of a robots.txt allows everything", "/private/", "<!doctype html>\n<title>Not found</title>\n<p>There is no Disallow: /private/ line here.\n", nil},
}

// A demo is the sites while they run. The zero value has none.
type demo struct {
	sites   []web.Site        // that the page lists
	urls    map[string]string // by name, without the last slash
	allow   []netip.AddrPort  // which the guard permits
	servers []*http.Server
	folder  string // of the store, removed at the end
}

// start starts the sites, each on its own port.
func (d *demo) start(ctx context.Context) (err error) {
	if d.folder, err = os.MkdirTemp("", "robots-demo"); err != nil {
		return err
	}
	d.urls = map[string]string{}
	for _, s := range demoSites {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("cannot listen for --demo: %w", err)
		}
		at := l.Addr().(*net.TCPAddr).AddrPort()
		d.allow = append(d.allow, at)
		d.urls[s.name] = "http://" + at.String()
		d.sites = append(d.sites, web.Site{Name: s.name, URL: d.urls[s.name] + s.path, See: s.see})
		server := &http.Server{Handler: d.site(s), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
		d.servers = append(d.servers, server)
		go server.Serve(l) //nolint:errcheck // it returns when it is closed
	}
	return nil
}

// site serves one of them. The type of an answer is that of its first bytes.
func (d *demo) site(s demoSite) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		if s.answer != nil {
			s.answer(w, d)
			return
		}
		fmt.Fprint(w, strings.ReplaceAll(s.file, "Sitemap: /", "Sitemap: "+d.urls[s.name]+"/"))
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		const page = "<!doctype html>\n<title>%s</title>\n<p>%s of the demo: %s. See <a href=\"/robots.txt\">/robots.txt</a>.\n"
		fmt.Fprintf(w, page, s.name, html.EscapeString(r.URL.Path), html.EscapeString(s.see))
	})
	return mux
}

// remember stores a record of the site in an outage: a good answer of yesterday, and a failure an hour ago.
func (d *demo) remember(ctx context.Context, store cache.Store, now time.Time) error {
	origin, _, err := robots.ParseURL(d.urls["outage"])
	if err != nil {
		return err
	}
	record := func(ago time.Duration, cause fetch.Cause, status int) *fetch.Record {
		at := now.Add(-ago).Truncate(time.Millisecond)
		return &fetch.Record{
			Origin:  origin,
			URL:     origin.RobotsURL(),
			Outcome: cause.Outcome(),
			Cause:   cause,
			Status:  status,
			Started: at.Add(-20 * time.Millisecond),
			Fetched: at,
		}
	}
	good := record(25*time.Hour, fetch.OK, http.StatusOK)
	good.Body = []byte("User-agent: *\nDisallow: /private/\n")
	good.Expires = good.Fetched.Add(fetch.LifeCeiling)
	failed := record(time.Hour, fetch.ServerError, http.StatusServiceUnavailable)
	failed.RetryAfter = 2 * time.Minute
	return store.Put(ctx, cache.Entry{Record: failed.After(good)}, demoKeep)
}

// print writes a curl line for each site, to a service at this address.
func (d *demo) print(w io.Writer, addr string) {
	for _, s := range d.sites {
		fmt.Fprintf(w, "curl 'http://%s/v1/check?agent=MyBot&url=%s'  # %s: %s\n", addr, neturl.QueryEscape(s.URL), s.Name, s.See)
	}
}

func (d *demo) close() {
	for _, s := range d.servers {
		_ = s.Close() // its error is that of a closed listener
	}
	_ = os.RemoveAll(d.folder)
}
