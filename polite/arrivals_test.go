package polite_test

import (
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
)

// A listeningSite is a site with an address of its own on this machine, which logs when requests arrive.
type listeningSite struct {
	url string

	mu         sync.Mutex
	lastAnswer time.Time     // when the last response was written
	pages      int           // that were requested
	first      time.Time     // when the first of them arrived
	last       time.Time     // when the last of them arrived
	shortest   time.Duration // from a response to the next request
	disallowed int           // requests for pages that robots.txt disallows
}

// answer returns the handler of a site with an interval between requests.
func (s *listeningSite) answer(w http.ResponseWriter, r *http.Request, interval time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if r.URL.Path == "/robots.txt" {
		fmt.Fprintf(w, "User-agent: *\nCrawl-delay: %g\nDisallow: /private\n", interval.Seconds())
		s.lastAnswer = time.Now()
		return
	}
	if strings.HasPrefix(r.URL.Path, "/private") {
		s.disallowed++
	}
	if s.pages == 0 {
		s.first = now
	}
	s.shortest = min(s.shortest, now.Sub(s.lastAnswer))
	s.pages++
	s.last = now
	fmt.Fprintln(w, "page")
	s.lastAnswer = time.Now()
}

// TestArrivals: a frontier with 50 workers crawls many sites with real connections. The sites see no
// request earlier than an interval after their last response, and none for a disallowed page, and the
// crawl is nearly as fast as the intervals allow.
func TestArrivals(t *testing.T) {
	campaign.NotForRace(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers at all addresses of 127.0.0.0/8")
	}
	const workers = 50
	count := campaign.Size(10, 20, 1000)
	pages := campaign.Size(2, 2, 13)
	interval := campaign.Size(600*time.Millisecond, 600*time.Millisecond, 10*time.Second) // more than that of an address
	var sites []*listeningSite
	var urls []string
	for i := range count {
		l, err := net.Listen("tcp", fmt.Sprintf("127.1.%d.%d:0", i>>8, i&255))
		if err != nil {
			t.Fatal(err)
		}
		s := &listeningSite{url: "http://" + l.Addr().String(), shortest: time.Hour}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, interval) })}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
		sites = append(sites, s)
		for n := range pages {
			urls = append(urls, fmt.Sprintf("%s/%d", s.url, n), fmt.Sprintf("%s/private/%d", s.url, n))
		}
	}
	f, err := newFrontier(fetch.Options{Guard: fetch.Guard{AllowPrivate: true}}, pace.Policy{}, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer f.files.Close()
	defer f.client.CloseIdleConnections()
	f.workers = workers
	queue, err := newSites(urls)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := f.crawl(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	shortest := time.Hour
	var last time.Time
	var speed float64
	for _, s := range sites {
		if s.pages != pages || s.disallowed > 0 {
			t.Errorf("%s got %d requests of %d, and %d for disallowed pages", s.url, s.pages, pages, s.disallowed)
		}
		shortest = min(shortest, s.shortest)
		if s.last.After(last) {
			last = s.last
		}
		speed += float64(pages-1) * float64(interval) / float64(s.last.Sub(s.first)) / float64(count)
	}
	if campaign.On() && speed < 0.9 {
		t.Errorf("the crawl had %.3f of the pages that the intervals allow, want at least 0.9", speed)
	}
	if shortest < interval {
		t.Errorf("a request arrived %v after the response before, want at least %v", shortest, interval)
	}
	t.Logf("%d pages of %d sites in %v, no gap below %v", count*pages, count, took, shortest)
	whole := float64(pages) * float64(interval) / float64(last.Sub(began))
	t.Logf("%.3f of what the intervals allow, and from the start of the crawl to its last page %.3f", speed, whole)
}
