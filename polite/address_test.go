package polite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots/pace"
)

// TestFirstPages: 200 sites on one address, crawled by four workers that share a limiter, get at
// most two pages a second together, from the first page on: the address is known from the
// record.
func TestFirstPages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hops  []string
		pace  []pace.AddressPace
		least time.Duration // between two pages
	}{
		{"one address", []string{"192.0.2.1:443"}, nil, 500 * time.Millisecond},
		{"the first hop counts", []string{"192.0.2.1:80", "198.51.100.1:443"}, nil, 500 * time.Millisecond},
		{"by prefix", []string{"192.0.2.1:443"}, []pace.AddressPace{{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Interval: 20 * time.Millisecond}}, 20 * time.Millisecond},
		{"nobody's address", []string{""}, nil, 0},
		{"no hops", nil, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const sites, workers = 200, 4
				pages := &recorder{}
				o := Options{Limiter: newLimiter(t, pace.Options{Addresses: tt.pace}), Base: pages}
				began := time.Now()
				var wg sync.WaitGroup
				for w := range workers {
					client, _ := newClient(t, withFile(t, o, "", tt.hops...))
					for i := w; i < sites; i += workers {
						wg.Go(func() {
							if err := get(client, fmt.Sprintf("https://s%d.example/", i)); err != nil {
								t.Error(err)
							}
						})
					}
				}
				wg.Wait()
				pages.spaced(t, sites, tt.least)
				if took, want := time.Since(began).Truncate(time.Millisecond), 4*time.Second+(sites-1)*tt.least; took != want { // after robots.txt
					t.Errorf("took %v, want %v: the pace is no slower than it must be", took, want)
				}
			})
		})
	}
}

// TestMissed: requests to a busy address release their permits and acquire others, also if the
// wait exceeds the lifetime of a permit, until their contexts end. Their bodies are sent once.
func TestMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sites = 40
		pages := &recorder{}
		counted := &counting{Limiter: newLimiter(t, pace.Options{AddressInterval: time.Second, Lifetime: 10 * time.Second})}
		client, transport := newClient(t, withFile(t, Options{Limiter: counted, Base: pages}, "", "192.0.2.1:443"))
		var wg sync.WaitGroup
		for i := range sites {
			wg.Go(func() {
				if err := get(client, fmt.Sprintf("https://s%d.example/", i)); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Millisecond)
		for _, after := range []time.Duration{time.Hour, 500 * time.Millisecond} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(after, cancel)
			body := &sent{Reader: strings.NewReader("x")}
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("https://%v.example/", after), body)
			wg.Go(func() {
				_, err := transport.RoundTrip(req)
				if ended := after < time.Minute; errors.Is(err, context.Canceled) != ended || (err != nil) != ended || body.closed != ended {
					t.Errorf("a body, ended after %v: %v, closed %t", after, err, body.closed)
				}
			})
		}
		wg.Wait()
		pages.spaced(t, sites+1, time.Second)
		if results := counted.released(t); len(results) <= sites {
			t.Errorf("%d permits for %d sites", len(results), sites)
		}
	})
}

// TestSharedConnection: an HTTP/2 request that does not get its address in time is not sent, and
// does not close the connection for the others.
func TestSharedConnection(t *testing.T) {
	rest, asked := make(chan struct{}), make(chan string, 9)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Proto + " " + r.URL.Path
		http.NewResponseController(w).Flush()
		<-rest
		io.WriteString(w, "the rest")
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	o := Options{Limiter: newLimiter(t, pace.Options{AddressInterval: time.Hour, Concurrency: 2}), Base: s.Client().Transport, Policy: pace.Policy{Default: time.Millisecond}}
	client, _ := newClient(t, withFile(t, o, ""))
	first, err := client.Get(s.URL + "/first")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // less than the interval
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/second", nil)
	if _, err := client.Do(req); !errors.As(err, new(*pace.LateError)) {
		t.Errorf("the second request: %v, want a LateError", err)
	}
	close(rest)
	if body, err := io.ReadAll(first.Body); err != nil || string(body) != "the rest" {
		t.Errorf("the first response: %q, %v", body, err)
	}
	if got := <-asked; got != "HTTP/2.0 /first" || len(asked) > 0 {
		t.Errorf("the site was asked for %s and %d more", got, len(asked))
	}
}

// TestFetchStarts: a transport without a Cache fetches robots.txt at the rate of its limiter,
// which two transports share.
func TestFetchStarts(t *testing.T) {
	o := local()
	o.Limiter = newLimiter(t, pace.Options{AddressInterval: -1, FetchInterval: 100 * time.Millisecond})
	var fetches recorder
	began := time.Now()
	var wg sync.WaitGroup
	for range 2 {
		client, _ := newClient(t, o)
		for range 5 {
			s := newSite(t, "")
			s.Server.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					fetches.RoundTrip(r)
				}
			})
			wg.Go(func() {
				if err := get(client, s.URL+"/"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for i, at := range fetches.at {
		if least := time.Duration(i) * 100 * time.Millisecond; at.Sub(began) < least {
			t.Errorf("fetch %d after %v, want at least %v", i, at.Sub(began), least)
		}
	}
	if len(fetches.at) != 10 {
		t.Errorf("%d fetches of 10", len(fetches.at))
	}
}

// TestProxy: pages through a proxy reserve no address, since it would be the same for all sites:
// six pages would take hours.
func TestProxy(t *testing.T) {
	s := newSite(t, "")
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Limiter: newLimiter(t, pace.Options{AddressInterval: time.Hour}), Base: &http.Transport{Proxy: http.ProxyURL(at)}, Policy: pace.Policy{Default: time.Millisecond}}
	client, _ := newClient(t, withFile(t, o, ""))
	for i := range 6 {
		if err := get(client, fmt.Sprintf("http://s%d.example/%d", i%3, i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.log()); n != 6 {
		t.Errorf("%d pages", n)
	}
}
