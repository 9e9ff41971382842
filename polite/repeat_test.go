package polite

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/pace"
)

// TestRepeat: if a site closes a kept connection, net/http sends the request again. By the
// site's own log that too waits for the interval, whatever the kind of request.
func TestRepeat(t *testing.T) {
	t.Parallel()
	const interval = 300 * time.Millisecond
	type log struct {
		sync.Mutex
		arrivals []time.Time
		seen     map[string]bool // remote addresses
	}
	for name, way := range map[string]func(s *httptest.Server, o *Options){
		"fetch.Client.Transport": func(*httptest.Server, *Options) {},
		"http.Transport":         func(_ *httptest.Server, o *Options) { o.Base = &http.Transport{} },
		"another Base":           func(_ *httptest.Server, o *Options) { o.Base = roundTrip{&http.Transport{}} },
		"proxy": func(s *httptest.Server, o *Options) {
			u, _ := url.Parse(s.URL)
			o.Base = &http.Transport{Proxy: http.ProxyURL(u)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := log{seen: map[string]bool{}}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				l.Lock()
				defer l.Unlock()
				l.arrivals = append(l.arrivals, time.Now())
				if kept := l.seen[r.RemoteAddr]; kept {
					c, _, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					c.Close()
					return
				}
				l.seen[r.RemoteAddr] = true
				io.WriteString(w, "a page")
			}))
			defer func() { s.Close() }()
			o := withFile(t, Options{AllowPrivate: true, Policy: pace.Policy{Default: interval}}, "")
			way(s, &o)
			client, _ := newClient(t, o)
			began := time.Now()
			for range 3 {
				if err := get(client, s.URL+"/page"); err != nil {
					t.Fatal(err)
				}
			}
			l.Lock()
			defer l.Unlock()
			if len(l.arrivals) != 5 {
				t.Fatalf("%d requests arrived, want 3 and the repeats of 2", len(l.arrivals))
			}
			for i, at := range l.arrivals {
				if least := time.Duration(i) * interval; at.Sub(began) < least {
					t.Errorf("request %d after %v, want at least %v", i, at.Sub(began), least)
				}
			}
		})
	}
}
