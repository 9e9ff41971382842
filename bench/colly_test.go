package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// TestColly: a crawler of another library uses polite, through a proxy, on a site with HTTP/2:
// it gets an error for disallowed URLs, and all requests use the proxy.
func TestColly(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	tunnels := 0
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Proto+" "+r.URL.Path)
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: *\nDisallow: /private\n")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="/next">next</a><a href="/private">private</a>`)
	}))
	site.EnableHTTP2 = true
	site.StartTLS()
	defer site.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		tunnels++
		mu.Unlock()
		far, err := net.Dial("tcp", site.Listener.Addr().String()) // whatever the name
		if err != nil {
			http.Error(w, "", http.StatusBadGateway)
			return
		}
		defer far.Close()
		near, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer near.Close()
		io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { io.Copy(far, near); far.Close() }()
		io.Copy(near, far)
	}))
	defer proxy.Close()
	through, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	transport, err := polite.New("MyBot", polite.Options{
		Policy: pace.Policy{Default: 20 * time.Millisecond},
		Fetch:  fetch.Options{Proxy: http.ProxyURL(through), TLS: &tls.Config{RootCAs: roots}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer transport.Close()
	c := colly.NewCollector(colly.UserAgent("MyBot")) // which ignores robots.txt itself
	c.WithTransport(transport)
	var disallowed []string
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	c.OnError(func(r *colly.Response, err error) {
		if _, ok := errors.AsType[*polite.DisallowedError](err); !ok {
			t.Errorf("%s: %v", r.Request.URL, err)
			return
		}
		disallowed = append(disallowed, r.Request.URL.Path)
	})
	if err := c.Visit("https://example.com/page"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"HTTP/1.1 /robots.txt", "HTTP/2.0 /page", "HTTP/2.0 /next"}; !slices.Equal(seen, want) {
		t.Errorf("the site saw %q, want %q", seen, want)
	}
	if !slices.Equal(disallowed, []string{"/private"}) || tunnels != 2 {
		t.Errorf("disallowed %q, %d tunnels", disallowed, tunnels)
	}
}
