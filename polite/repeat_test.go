package polite

import (
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/robotskit/robots/pace"
)

// TestRepeat: if a site closes a kept connection, net/http sends the request again. By the
// site's own log that too waits for the interval, whatever the kind of request.
func TestRepeat(t *testing.T) {
	t.Parallel()
	const interval = 300 * time.Millisecond
	for name, base := range map[string]func(site *url.URL) http.RoundTripper{
		"fetch.Client.Transport": func(*url.URL) http.RoundTripper { return nil },
		"http.Transport":         func(*url.URL) http.RoundTripper { return &http.Transport{} },
		"another Base":           func(*url.URL) http.RoundTripper { return roundTrip{&http.Transport{}} },
		"proxy":                  func(site *url.URL) http.RoundTripper { return &http.Transport{Proxy: http.ProxyURL(site)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, kept := newSite(t, ""), map[string]bool{} // remote addresses
			s.answer = func(w http.ResponseWriter, r *http.Request) {
				if !kept[r.RemoteAddr] {
					kept[r.RemoteAddr] = true
					io.WriteString(w, "a page")
					return
				}
				c, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				c.Close()
			}
			u, _ := url.Parse(s.URL)
			client, _ := newClient(t, withFile(t, Options{AllowPrivate: true, Base: base(u), Policy: pace.Policy{Default: interval}}, ""))
			began := time.Now()
			for range 3 {
				if err := get(client, s.URL+"/page"); err != nil {
					t.Fatal(err)
				}
			}
			log := s.log()
			if len(log) != 5 {
				t.Fatalf("%d requests arrived, want 3 and the repeats of 2", len(log))
			}
			for i, a := range log {
				if least := time.Duration(i) * interval; a.at.Sub(began) < least {
					t.Errorf("request %d after %v, want at least %v", i, a.at.Sub(began), least)
				}
			}
		})
	}
}
