package polite

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

type traceKey struct{}

// TestTrace: a RoundTripper that traces gets robots.txt and pages, with the values in the
// context of the request, such as a span; a Traceparent set by the caller is sent with the page.
// Its failures are no permission.
func TestTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	s := newSite(t, "User-agent: *\nCrawl-delay: 0.01\n")
	var mu sync.Mutex
	spans, parents, agents, fails := map[string]any{}, map[string]string{}, map[string]string{}, false
	o := local()
	o.Base = base(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if fails {
			return nil, io.ErrClosedPipe
		}
		spans[r.URL.Path], parents[r.URL.Path], agents[r.URL.Path] = r.Context().Value(traceKey{}), r.Header.Get("Traceparent"), r.UserAgent()
		return http.DefaultTransport.RoundTrip(r)
	})
	client, _ := newClient(t, o)
	req, _ := http.NewRequestWithContext(context.WithValue(t.Context(), traceKey{}, "a span"), http.MethodGet, s.URL+"/page", nil)
	req.Header.Set("Traceparent", parent)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	mu.Lock()
	if len(spans) != 2 || spans["/page"] != "a span" || spans["/robots.txt"] != "a span" {
		t.Errorf("the transports saw %v", spans)
	}
	if parents["/page"] != parent || parents["/robots.txt"] != "" {
		t.Errorf("sent to the site: %v", parents)
	}
	if agents["/page"] != "MyBot" || agents["/robots.txt"] != "MyBot" {
		t.Errorf("User-Agents: %v", agents)
	}
	fails = true
	mu.Unlock()
	client, _ = newClient(t, o)
	if _, err := client.Get(s.URL + "/page"); err == nil || !strings.Contains(err.Error(), "proxy-failed") && !strings.Contains(err.Error(), "proxy or transport failed") {
		t.Errorf("without robots.txt a page ends with %v", err)
	}
}
