package polite

import (
	"context"
	"net/http"
	"sync"
	"testing"
)

type traceKey struct{}

// TestTrace: values in the context of a request, such as the span of a trace, reach the
// transports of the page and of robots.txt; a Traceparent set by the caller is sent with the
// page.
func TestTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	s := newSite(t, "User-agent: *\nCrawl-delay: 0.01\n")
	var mu sync.Mutex
	spans, parents := map[string]any{}, map[string]string{}
	o := local()
	o.Base = base(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		spans[r.URL.Path], parents[r.URL.Path] = r.Context().Value(traceKey{}), r.Header.Get("Traceparent")
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
	defer mu.Unlock()
	if len(spans) != 2 || spans["/page"] != "a span" || spans["/robots.txt"] != "a span" {
		t.Errorf("the transports saw %v", spans)
	}
	if parents["/page"] != parent || parents["/robots.txt"] != "" {
		t.Errorf("sent to the site: %v", parents)
	}
}
