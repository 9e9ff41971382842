package polite

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/robotskit/robots/fetch"
)

// ways has a site of HTTP/2 and HTTP/1.1 over TLS, and a proxy that tunnels to it and records
// the targets.
type ways struct {
	site  *httptest.Server
	proxy *httptest.Server
	mu    sync.Mutex
	seen  []string // protocol and path, at the site
	asked int      // tunnels
}

func newWays(t *testing.T) *ways {
	w := &ways{}
	w.site = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, r.Proto+" "+r.URL.Path)
		w.mu.Unlock()
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the site sees the proxy's password")
		}
		if r.URL.Path == "/robots.txt" {
			io.WriteString(rw, "User-agent: *\nDisallow: /private\n")
		}
	}))
	w.site.EnableHTTP2 = true
	w.site.StartTLS()
	w.proxy = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") == "" {
			http.Error(rw, "", http.StatusProxyAuthRequired)
			return
		}
		w.mu.Lock()
		w.asked++
		w.mu.Unlock()
		far, err := net.Dial("tcp", w.site.Listener.Addr().String()) // whatever the name
		if err != nil {
			http.Error(rw, "", http.StatusBadGateway)
			return
		}
		defer far.Close()
		near, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer near.Close()
		io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { io.Copy(far, near); far.Close() }()
		io.Copy(near, far)
	}))
	t.Cleanup(w.proxy.Close)
	t.Cleanup(w.site.CloseClientConnections)
	t.Cleanup(w.site.Close)
	return w
}

func (w *ways) tls() *tls.Config { return w.site.Client().Transport.(*http.Transport).TLSClientConfig }

func (w *ways) through(*http.Request) (*url.URL, error) {
	u, err := url.Parse(w.proxy.URL)
	u.User = url.UserPassword("user", "secret")
	return u, err
}

// get requests an allowed page and a disallowed one, and returns what the site saw.
func (w *ways) get(t *testing.T, o Options, origin string) []string {
	t.Helper()
	client, transport := newClient(t, o)
	resp, err := client.Get(origin + "/page")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, err := client.Get(origin + "/private"); err == nil || !strings.Contains(err.Error(), "disallowed") {
		t.Errorf("what is disallowed ends with %v", err)
	}
	transport.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// TestOneWay: pages and robots.txt use the same connections, however they are configured.
func TestOneWay(t *testing.T) {
	// The certificate of httptest is for example.com; only the proxy and the Dial know its
	// address.
	const origin = "https://example.com"
	for _, c := range []struct {
		name    string
		options func(w *ways) Options
		want    []string
		tunnels int
	}{
		{"Fetch.Proxy", func(w *ways) Options { return Options{Fetch: fetch.Options{Proxy: w.through, TLS: w.tls()}} },
			[]string{"HTTP/1.1 /robots.txt", "HTTP/2.0 /page"}, 2},
		{"an http.Transport with a proxy", func(w *ways) Options {
			return Options{Base: &http.Transport{Proxy: w.through, TLSClientConfig: w.tls(), ForceAttemptHTTP2: true}}
		}, []string{"HTTP/1.1 /robots.txt", "HTTP/2.0 /page"}, 2},
		{"another RoundTripper", func(w *ways) Options {
			return Options{Base: roundTrip{&http.Transport{Proxy: w.through, TLSClientConfig: w.tls(), ForceAttemptHTTP2: true}}}
		}, []string{"HTTP/2.0 /robots.txt", "HTTP/2.0 /page"}, 1},
		{"Fetch.Transport", func(w *ways) Options {
			return Options{Fetch: fetch.Options{Transport: &http.Transport{Proxy: w.through, TLSClientConfig: w.tls()}}}
		}, []string{"HTTP/1.1 /robots.txt", "HTTP/1.1 /page"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWays(t)
			o := c.options(w)
			o.Policy = local().Policy
			if got := w.get(t, o, origin); !slices.Equal(got, c.want) {
				t.Errorf("the site saw %q, want %q", got, c.want)
			}
			if w.asked != c.tunnels {
				t.Errorf("%d tunnels, want %d", w.asked, c.tunnels)
			}
		})
	}
}

// roundTrip is an opaque RoundTripper.
type roundTrip struct{ http.RoundTripper }

// TestGuardedPages: the guard checks pages too, with a caller's Dial or a proxy.
func TestGuardedPages(t *testing.T) {
	w := newWays(t)
	dials := 0
	for name, f := range map[string]fetch.Options{
		"direct": {},
		"dial":   {Dial: func(ctx context.Context, network, address string) (net.Conn, error) { dials++; return nil, io.EOF }},
		"proxy":  {Proxy: w.through},
	} {
		client, err := fetch.New(f)
		if err != nil {
			t.Fatal(err)
		}
		page := &http.Client{Transport: client.Transport()}
		urls := []string{"http://127.0.0.1:81/", "http://localhost/"}
		if name != "direct" { // what the guard lets pass must stay here
			urls = append(urls, "http://10.0.0.1/", "http://169.254.169.254/", "http://192.0.2.1:25/")
		}
		for _, url := range urls {
			if _, err := page.Get(url); err == nil || !strings.Contains(err.Error(), "refused:") {
				t.Errorf("%s, %s: %v", name, url, err)
			}
		}
		if name == "proxy" {
			page.Get("https://example.com/") // now the proxy's address is known
			direct, _ := fetch.New(fetch.Options{Proxy: func(r *http.Request) (*url.URL, error) {
				if r.URL.Hostname() == "example.com" {
					return w.through(r)
				}
				return nil, nil
			}})
			page = &http.Client{Transport: direct.Transport()}
			page.Get("https://example.com/")
			if _, err := page.Get(w.proxy.URL); err == nil || !strings.Contains(err.Error(), "address of a proxy") {
				t.Errorf("a page of the proxy itself: %v", err)
			}
		}
	}
	if dials > 0 || w.asked != 2 {
		t.Errorf("%d dials, %d tunnels", dials, w.asked)
	}
}
