package polite

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
	"golang.org/x/net/http2"
)

// TestGoAway: an HTTP/2 server that refuses every request makes net/http retry, each time on a
// new connection, until the context ends. One request becomes two.
func TestGoAway(t *testing.T) {
	lent := httptest.NewTLSServer(nil) // for its certificate
	defer lent.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: lent.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			made.Add(1)
			wg.Go(func() { defer c.Close(); goAway(c) })
		}
	})
	client, transport := newClient(t, withFile(t, local(), ""))
	transport.options.Base.(*http.Transport).TLSClientConfig = lent.Client().Transport.(*http.Transport).TLSClientConfig
	for i := range int64(2) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String()+"/page", nil)
		_, err := client.Do(req)
		if err == nil || !strings.Contains(err.Error(), "on any connection of this request") {
			t.Errorf("got %v, want an error about the connections", err)
		}
		if n := made.Load(); n != 2*(i+1) {
			t.Errorf("%d connections for %d requests, want 2 each", n, i+1)
		}
	}
	transport.CloseIdleConnections()
	l.Close()
	wg.Wait()
}

// goAway reads an HTTP/2 connection up to the first request and refuses it: GOAWAY with stream 0
// and no error (RFC 9113 section 6.8).
func goAway(c net.Conn) {
	if _, err := io.CopyN(io.Discard, c, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	f.WriteSettings()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if frame.Header().Type == http2.FrameHeaders {
			f.WriteGoAway(0, http2.ErrCodeNo, nil)
		}
	}
}

// memory is a Fetcher without a network.
type memory struct {
	cause fetch.Cause
	body  string
	hops  []string // addresses
}

func (m *memory) Fetch(_ context.Context, origin robots.Origin) (*fetch.Record, error) {
	now := time.Now()
	r := &fetch.Record{Origin: origin, Outcome: m.cause.Outcome(), Cause: m.cause, Status: 200, Started: now, Fetched: now}
	switch m.cause {
	case fetch.OK:
		r.Body = []byte(m.body)
	case fetch.ServerError:
		r.RetryAfter = 20 * time.Hour // so that the record stays
	}
	for _, at := range m.hops {
		r.Hops = append(r.Hops, fetch.Hop{URL: origin.RobotsURL(), Address: at})
	}
	return r, nil
}

func openCache(t *testing.T, f cache.Fetcher) *cache.Cache {
	t.Helper()
	c, err := cache.New(cache.Options{Fetcher: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// withFile returns options with this robots.txt for every site, and its addresses.
func withFile(t *testing.T, o Options, body string, addresses ...string) Options {
	t.Helper()
	o.Cache = openCache(t, &memory{fetch.OK, body, addresses})
	return o
}

// base is a RoundTripper.
type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

// A recorder is a Base that answers everything with 200, or as answer changes it, and records
// when.
type recorder struct {
	mu     sync.Mutex
	at     []time.Time
	answer func(*http.Response)
}

func (p *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = append(p.at, time.Now())
	resp := &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}
	if p.answer != nil {
		p.answer(resp)
	}
	return resp, nil
}

// spaced fails unless n pages were requested, at least so far apart.
func (p *recorder) spaced(t *testing.T, n int, least time.Duration) {
	t.Helper()
	if len(p.at) != n {
		t.Fatalf("%d pages of %d", len(p.at), n)
	}
	for i := 1; i < n; i++ {
		if gap := p.at[i].Sub(p.at[i-1]); gap < least {
			t.Fatalf("pages %d and %d are %v apart, want %v", i-1, i, gap, least)
		}
	}
}

// local returns the options for a crawl of this machine, with short intervals.
func local() Options {
	return Options{AllowPrivate: true, Policy: pace.Policy{Default: 20 * time.Millisecond}}
}

func newClient(t *testing.T, o Options) (*http.Client, *Transport) {
	t.Helper()
	transport, err := New("MyBot", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { transport.Close() })
	return &http.Client{Transport: transport}, transport
}

func newLimiter(t *testing.T, o pace.Options) *pace.Local {
	t.Helper()
	l, err := pace.NewLocal(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func get(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return err
}
