package polite

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
)

type traceKey struct{}

// TestTrace: a RoundTripper that traces gets robots.txt and pages, with the values in the
// context of the request, such as a span; a Traceparent set by the caller is sent with the page.
// Its failures are no permission.
func TestTrace(t *testing.T) {
	s := newSite(t, "User-agent: *\nCrawl-delay: 0.01\n")
	type seen struct{ span, parent, agent any }
	requests, fails := map[string]seen{}, false
	o := local()
	o.Base = base(func(r *http.Request) (*http.Response, error) {
		if fails {
			return nil, io.ErrClosedPipe
		}
		requests[r.URL.Path] = seen{r.Context().Value(traceKey{}), r.Header.Get("Traceparent"), r.UserAgent()}
		return http.DefaultTransport.RoundTrip(r)
	})
	client, _ := newClient(t, o)
	req, _ := http.NewRequestWithContext(context.WithValue(t.Context(), traceKey{}, "a span"), http.MethodGet, s.URL+"/page", nil)
	req.Header.Set("Traceparent", "00-0af7-b7ad-01")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	want := map[string]seen{"/robots.txt": {"a span", "", "MyBot"}, "/page": {"a span", "00-0af7-b7ad-01", "MyBot"}}
	if !maps.Equal(requests, want) {
		t.Errorf("the transports saw %v, want %v", requests, want)
	}
	fails = true
	client, _ = newClient(t, o)
	if _, err := client.Get(s.URL + "/page"); err == nil || !strings.Contains(err.Error(), "proxy or transport failed") {
		t.Errorf("without robots.txt a page ends with %v", err)
	}
}
