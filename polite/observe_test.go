package polite

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/pace"
)

// counts is an Observer that counts events by kind, and keeps those of requests.
type counts struct {
	mu       sync.Mutex
	kinds    map[string]int
	requests []Event
}

func (c *counts) count(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds == nil {
		c.kinds = map[string]int{}
	}
	c.kinds[kind]++
}

func (c *counts) of(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[kind]
}

func (c *counts) Cache(e cache.Event) { c.count(e.Kind.String()) }
func (c *counts) Pace(e pace.Event)   { c.count(string(e.Kind)) }

func (c *counts) Request(e Event) {
	c.count(string(e.Kind))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, e)
}

// TestObserve: an observer gets records, permits, waits and refusals, and once that requests name
// another crawler.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &counts{}
		client, _ := newClient(t, Options{Observe: o, Base: base(func(r *http.Request) (*http.Response, error) {
			body := "User-agent: *\nCrawl-delay: 10\nDisallow: /private\n"
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
		})})
		for _, tt := range []struct{ path, agent string }{
			{"/a", ""}, {"/b", "Mozilla/5.0 (compatible; mybot/2.0; +https://bot.example)"}, {"/private", ""}, {"/c", "OtherBot/1.0"}, {"/d", "OtherBot/1.0"},
		} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://user:secret@site.example"+tt.path, nil)
			if tt.agent != "" {
				req.Header.Set("User-Agent", tt.agent)
			}
			if resp, err := client.Do(req); err == nil {
				resp.Body.Close()
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://site.example/late", nil)
		if _, err := client.Do(req); err == nil {
			t.Error("a request started after its deadline")
		}
		synctest.Wait()
		want := map[string]int{"waited": 1, "fetched": 1, "hit": 9, "acquired": 4, "released": 4, "failed": 1, "started": 4, "disallowed": 1, "unsent": 1, "other-agent": 1}
		if !maps.Equal(o.kinds, want) {
			t.Errorf("observed %v, want %v", o.kinds, want)
		}
		for _, e := range o.requests {
			if strings.Contains(e.URL, "secret") || !strings.HasPrefix(e.URL, "https://") {
				t.Errorf("an event of %q", e.URL)
			}
			if e.Kind == EventStarted && e.Took.Truncate(time.Millisecond) != 10*time.Second {
				t.Errorf("%s waited %v, want 10 s", e.URL, e.Took)
			}
		}
	})
}
