package polite

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// TestRedirectedFetch: a robots.txt that is redirected to another site counts at both: the next page of
// each starts an interval after the response was sent, however long that took.
func TestRedirectedFetch(t *testing.T) {
	const interval = time.Second
	const rules = "User-agent: *\nCrawl-delay: 1\n"
	var mu sync.Mutex
	var pages []string
	var seen []time.Time
	page := func(site string) {
		mu.Lock()
		defer mu.Unlock()
		pages = append(pages, site)
		seen = append(seen, time.Now())
	}
	answered := make(chan time.Time, 1) // the target of the redirect
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			io.WriteString(w, rules)
		case "/shared.txt":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(interval / 2) // of a slow body
			answered <- time.Now()
			io.WriteString(w, rules)
		default:
			page("target")
		}
	}))
	defer target.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, target.URL+"/shared.txt", http.StatusFound)
			return
		}
		page("site")
	}))
	defer site.Close()
	client, transport := newClient(t, Options{
		Limiter: newLimiter(t, pace.Options{AddressInterval: -1}), // both sites have one address
		Fetch:   fetch.Options{Guard: fetch.Guard{AllowLoopback: true}},
	})
	if v, err := transport.Verdict(t.Context(), target.URL+"/page"); err != nil || !v.Allowed {
		t.Fatal(v, err)
	}
	if v, err := transport.Verdict(t.Context(), site.URL+"/page"); err != nil || !v.Allowed {
		t.Fatal(v, err)
	}
	sent := <-answered
	var all sync.WaitGroup
	for _, url := range []string{site.URL, target.URL} {
		all.Go(func() {
			if err := get(client, url+"/page"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i, at := range seen {
		if wait := at.Sub(sent); wait < interval {
			t.Errorf("the first page of the %s comes %s after the redirected robots.txt was sent, want at least %s", pages[i], wait, interval)
		}
	}
	if got := strings.Join(pages, " "); len(pages) != 2 {
		t.Errorf("pages of %s", got)
	}
}
