package fleet_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// TestAddress: four workers with sites on one address fetch their robots.txt 10 a
// second together, and their pages at the pace of the address from the first page
// on, though another worker has fetched the robots.txt.
func TestAddress(t *testing.T) {
	const sites, workers, pages = 24, 4, 80 * time.Millisecond
	server := redistest.Start(t, redistest.Options{})
	var mu sync.Mutex
	var files, requests []time.Time
	var urls []string
	for range sites {
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.URL.Path == "/robots.txt" {
				files = append(files, time.Now())
			} else {
				requests = append(requests, time.Now())
			}
		}))
		t.Cleanup(s.Close)
		urls = append(urls, s.URL+"/page")
	}
	var crawlers []*polite.Transport
	for range workers {
		f := open(t, server.URL(), fleet.Options{Pace: pace.Options{AddressInterval: pages}})
		transport, err := polite.New("MyBot", polite.Options{Fleet: f, AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { transport.Close() })
		crawlers = append(crawlers, transport)
	}
	each := func(work func(worker int, url string)) (began time.Time) {
		began = time.Now()
		var all sync.WaitGroup
		for i, url := range urls {
			all.Go(func() { work(i%workers, url) })
		}
		all.Wait()
		return began
	}
	began := each(func(w int, url string) {
		if v, err := crawlers[w].Verdict(t.Context(), url); err != nil || !v.Allowed {
			t.Errorf("%s: %v, %v", url, v, err)
		}
	})
	checkLog(t, "files", sites, began, files, pace.DefaultFetchInterval)
	began = each(func(w int, url string) {
		client := &http.Client{Transport: crawlers[(w+1)%workers]}
		resp, err := client.Get(url)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
	})
	checkLog(t, "pages", sites, began, requests, pages)
	if len(files) != sites {
		t.Errorf("%d fetches of %d robots.txt", len(files), sites)
	}
}

// checkLog checks that n arrivals keep an interval from the first on.
func checkLog(t *testing.T, what string, n int, began time.Time, log []time.Time, interval time.Duration) {
	t.Helper()
	slices.SortFunc(log, time.Time.Compare)
	if len(log) != n {
		t.Errorf("%d %s of %d sites", len(log), what, n)
	}
	for i, at := range log {
		// The first start is not before this began, and what is late on its way
		// makes no other early.
		if least := time.Duration(i) * interval; at.Sub(began) < least {
			t.Errorf("%s: arrival %d after %v, want at least %v", what, i, at.Sub(began), least)
		}
	}
	t.Logf("%d %s in %v", len(log), what, log[len(log)-1].Sub(began))
}
