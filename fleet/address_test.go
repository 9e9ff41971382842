package fleet_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// TestAddress: 200 sites on one address, started together by four workers with an empty Redis.
// All arrivals there, robots.txt and pages together, keep the interval of the address from the
// first request on.
func TestAddress(t *testing.T) {
	t.Parallel()
	sites, gap := campaign.Size(60, 200, 200), campaign.Size(5*time.Millisecond, 5*time.Millisecond, 100*time.Millisecond)
	const workers = 4
	server := redistest.Start(t, redistest.Options{})
	var mu sync.Mutex
	var arrivals []time.Time
	files := 0
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		arrivals = append(arrivals, time.Now())
		if r.URL.Path == "/robots.txt" {
			files++
		}
	})
	var urls []string
	for range sites {
		s := httptest.NewServer(handler) // a site is a port of the address
		t.Cleanup(s.Close)
		urls = append(urls, s.URL+"/page")
	}
	var crawlers []*http.Client
	for range workers {
		f := open(t, server.URL(), fleet.Options{Pace: pace.Options{Addresses: []pace.AddressPace{{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Interval: gap}}}})
		transport, err := polite.New("MyBot", polite.Options{Fleet: f, AllowPrivate: true, Policy: pace.Policy{Default: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { transport.Close() })
		crawlers = append(crawlers, &http.Client{Transport: transport})
	}
	crawl := func(pages int) (began time.Time) {
		began = time.Now()
		var all sync.WaitGroup
		for i, url := range urls {
			all.Go(func() {
				for range pages {
					resp, err := crawlers[i%workers].Get(url)
					if err != nil {
						t.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body) // so that the connection is kept
					resp.Body.Close()
				}
			})
		}
		all.Wait()
		return began
	}
	began := crawl(1)
	checkLog(t, "files and pages", 2*sites, began, arrivals, gap)
	if files != sites {
		t.Errorf("%d fetches of %d robots.txt", files, sites)
	}
	arrivals = nil
	began = crawl(1) // over connections that were kept
	checkLog(t, "pages", sites, began, arrivals, gap)
}

// checkLog checks that n arrivals keep an interval from the first on.
func checkLog(t *testing.T, what string, n int, began time.Time, log []time.Time, interval time.Duration) {
	t.Helper()
	slices.SortFunc(log, time.Time.Compare)
	if len(log) != n {
		t.Errorf("%d %s of %d sites", len(log), what, n)
	}
	for i, at := range log {
		// The first start is not before the beginning of the test; an arrival that is late does
		// not make another one early.
		if least := time.Duration(i) * interval; at.Sub(began) < least {
			t.Errorf("%s: arrival %d after %v, want at least %v", what, i, at.Sub(began), least)
		}
	}
	t.Logf("%d %s in %v", len(log), what, log[len(log)-1].Sub(began))
}
