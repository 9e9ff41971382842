package polite_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
)

// TestFrontier: the frontier of the example crawls many sites as fast as their intervals allow and
// never faster, obeys a Retry-After, and waits for a site that is down.
func TestFrontier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval = 10 * time.Second
		sites := campaign.Size(50, 200, 1_000)
		began := time.Now()
		web := &network{starts: map[string][]time.Time{}, answers: func(host, path string, nth int) (int, http.Header, string) {
			time.Sleep(200 * time.Millisecond)
			switch {
			case host == "down.example" && time.Since(began) < time.Hour:
				return 0, nil, ""
			case path == "/robots.txt":
				return http.StatusOK, nil, "User-agent: *\nCrawl-delay: 10\nDisallow: /private\n"
			case host == "busy.example" && nth == 1:
				return http.StatusTooManyRequests, http.Header{"Retry-After": {"600"}}, ""
			}
			return http.StatusOK, nil, "page"
		}}
		var mu sync.Mutex
		outcomes := map[string]int{}
		f, err := newFrontier(fetch.Options{Transport: web}, pace.Policy{}, func(_, outcome string) {
			mu.Lock()
			defer mu.Unlock()
			outcomes[outcome]++
		})
		if err != nil {
			t.Fatal(err)
		}
		defer f.files.Close()
		var urls []string
		for i := range sites {
			for _, path := range []string{"/", "/private/a", "/b", "/c"} {
				urls = append(urls, fmt.Sprintf("https://site-%d.example%s", i, path))
			}
		}
		for _, host := range []string{"busy", "down"} {
			for _, path := range []string{"/", "/b", "/c"} {
				urls = append(urls, "https://"+host+".example"+path)
			}
		}
		queue, err := newSites(urls)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.crawl(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		for host, starts := range web.starts {
			want := 3
			if host == "busy.example" {
				want = 4
			}
			if len(starts) != want {
				t.Errorf("%s got %d requests, want %d", host, len(starts), want)
			}
			for i := 1; i < len(starts); i++ {
				gap := starts[i].Sub(starts[i-1])
				least := interval + 200*time.Millisecond // from the end of the response
				if host == "busy.example" && i == 2 {
					least = 600*time.Second + 200*time.Millisecond
				}
				if gap < least || gap > least*10/9 && host != "busy.example" {
					t.Errorf("%s: request %d starts %v after the one before, want %v", host, i, gap, least)
				}
			}
			if host == "down.example" && starts[0].Sub(began) < time.Hour {
				t.Errorf("a page of a site without robots.txt was requested")
			}
		}
		if outcomes["200 OK"] != 3*sites+6 || outcomes["disallowed"] != sites || outcomes["429 Too Many Requests"] != 1 || outcomes["undecided"] == 0 || outcomes["failed"] != 0 {
			t.Errorf("outcomes %v of %d sites", outcomes, sites)
		}
	})
}
