package polite

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// A slowFetcher takes some time for each fetch.
type slowFetcher struct {
	mu      sync.Mutex
	takes   time.Duration
	fetched []time.Time
}

func (f *slowFetcher) Fetch(_ context.Context, o robots.Origin) (*fetch.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	time.Sleep(f.takes)
	now := time.Now()
	f.fetched = append(f.fetched, now)
	return &fetch.Record{
		Origin: o, Outcome: fetch.Success, Cause: fetch.OK, Status: 200, Body: []byte("User-agent: *\nCrawl-delay: 7\n"),
		Started: now.Add(-f.takes), Fetched: now, Expires: now.Add(time.Hour),
	}, nil
}

// TestAfterFetch: a page starts an interval after its robots.txt was read, not earlier though records have
// milliseconds, also if that is fetched again while the page waits.
func TestAfterFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetcher := &slowFetcher{takes: 3*time.Second + 900*time.Microsecond}
		c, err := cache.New(cache.Options{Fetcher: fetcher})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		pages := &recorder{}
		client, _ := newClient(t, Options{Cache: c, Base: pages})
		const page = "https://site.example/page"
		if err := get(client, page); err != nil {
			t.Fatal(err)
		}
		if wait := time.Since(fetcher.fetched[0]); wait.Truncate(time.Millisecond) != 7*time.Second {
			t.Errorf("the first page starts %v after robots.txt was read, want 7s", wait)
		}
		origin, _, _ := robots.ParseURL(page)
		time.AfterFunc(3*time.Second, func() { _, _ = c.Refresh(t.Context(), origin) })
		if err := get(client, page); err != nil {
			t.Fatal(err)
		}
		if wait := time.Since(fetcher.fetched[1]); wait.Truncate(time.Millisecond) != 7*time.Second {
			t.Errorf("the second page starts %v after robots.txt was read again, want 7s", wait)
		}
	})
}

// TestAfterFetchOnTheWire: a site sees the first page an interval after it has sent its
// robots.txt, however long that took.
func TestAfterFetchOnTheWire(t *testing.T) {
	var mu sync.Mutex
	var sent, seen time.Time
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/robots.txt" {
			seen = time.Now()
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(200 * time.Millisecond) // of a slow body
		sent = time.Now()
		io.WriteString(w, "User-agent: *\nCrawl-delay: 1\n")
	}))
	defer site.Close()
	client, _ := newClient(t, Options{Policy: pace.Policy{Default: time.Millisecond}, Fetch: fetch.Options{Guard: fetch.Guard{AllowLoopback: true}}})
	if err := get(client, site.URL+"/page"); err != nil {
		t.Fatal(err)
	}
	if wait := seen.Sub(sent); wait < time.Second {
		t.Errorf("the first page comes %v after robots.txt was sent, want at least 1s", wait)
	}
}
