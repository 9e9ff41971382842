package polite

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots/pace"
)

// counting is a limiter that records releases.
type counting struct {
	pace.Limiter
	mu       sync.Mutex
	acquired int
	results  []pace.Result
}

func newCounting(t *testing.T) *counting {
	t.Helper()
	return &counting{Limiter: newLimiter(t, pace.Options{AddressInterval: -1})}
}

func (c *counting) Acquire(ctx context.Context, r pace.Request) (pace.Permit, error) {
	p, err := c.Limiter.Acquire(ctx, r)
	if err == nil {
		c.mu.Lock()
		c.acquired++
		c.mu.Unlock()
	}
	return p, err
}

func (c *counting) Release(ctx context.Context, p pace.Permit, r pace.Result) error {
	c.mu.Lock()
	c.results = append(c.results, r)
	c.mu.Unlock()
	return c.Limiter.Release(ctx, p, r)
}

// released returns the results of all releases, and fails unless every permit was released.
func (c *counting) released(t *testing.T) []pace.Result {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.results) != c.acquired {
		t.Errorf("%d permits were released, %d acquired", len(c.results), c.acquired)
	}
	return c.results
}

// counted returns a client for this machine and its limiter.
func counted(t *testing.T) (*http.Client, *counting) {
	o, limiter := local(), newCounting(t)
	o.Limiter = limiter
	client, _ := newClient(t, o)
	return client, limiter
}

// sent is the body of a request, which records whether it was closed.
type sent struct {
	io.Reader
	closed bool
}

func (s *sent) Close() error { s.closed = true; return nil }

// TestClientName: with a name that New refuses, each request fails with the error of New.
func TestClientName(t *testing.T) {
	for _, name := range []string{"", "*", "My\nBot"} {
		_, want := New(name, Options{})
		body := &sent{Reader: strings.NewReader("x")}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://site.example/", body)
		if _, err := Client(name).Do(req); err == nil || want == nil || !strings.Contains(err.Error(), want.Error()) || !body.closed {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
}

// TestAllowPrivateNamed: the error of a refused address names the option that permits it, if one does.
func TestAllowPrivateNamed(t *testing.T) {
	client := Client("MyBot")
	for url, named := range map[string]bool{"http://127.0.0.1/": true, "http://10.0.0.1/": true, "http://0.0.0.0/": false} {
		_, err := client.Get(url)
		var refused *DisallowedError
		if !errors.As(err, &refused) || strings.Contains(err.Error(), "Options.AllowPrivate permits") != named {
			t.Errorf("%s: %v, names the option: want %v", url, err, named)
		}
	}
}

// TestUnusable: a request that cannot be judged is an error, closes its body and acquires no
// permit.
func TestUnusable(t *testing.T) {
	t.Parallel()
	s := newSite(t, "User-agent: *\nAllow: /\n")
	host := strings.TrimPrefix(s.URL, "http://")
	page := func() *url.URL { return &url.URL{Scheme: "http", Host: host, Path: "/page"} }
	for _, row := range []struct {
		name, want string
		change     func(r *http.Request)
	}{
		{"no URL", "no URL", func(r *http.Request) { r.URL = nil }},
		{"opaque", "Opaque", func(r *http.Request) { r.URL.Opaque = "//" + host + "/page" }},
		{"opaque and another site", "Opaque", func(r *http.Request) { r.URL.Opaque = "/else" }},
		{"no host", "it has no host", func(r *http.Request) { r.URL.Host = "" }},
		{"userinfo in the host", "its host contains an invalid character", func(r *http.Request) { r.URL.Host = `a\@` + host }},
		{"user in the host", "its host contains an invalid character", func(r *http.Request) { r.URL.Host = "a@" + host }},
		{"path in the host", "its host contains an invalid character", func(r *http.Request) { r.URL.Host = "127.0.0.1/x" }},
		{"site in the scheme", "another site", func(r *http.Request) { r.URL.Scheme = "http://" + host + "/?" }},
		{"another virtual host", "another site", func(r *http.Request) { r.Host = "other.test" }},
		{"another port in Host", "another site", func(r *http.Request) { r.Host = "127.0.0.1:1" }},
		{"user in Host", "another site", func(r *http.Request) { r.Host = "other.test@" + host }},
		{"path in Host", "another site", func(r *http.Request) { r.Host = host + "/" }},
		{"no name in Host", "another site", func(r *http.Request) { r.Host = "a b" }},
	} {
		client, limiter := counted(t)
		body := &sent{Reader: strings.NewReader("x")}
		req := (&http.Request{Method: http.MethodPost, URL: page(), Header: http.Header{}, Body: body}).WithContext(t.Context())
		req.URL.User = url.UserPassword("user", "s3cret")
		row.change(req)
		_, err := client.Transport.RoundTrip(req)
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want an error with %q and no password", row.name, err, row.want)
		}
		if !body.closed || limiter.acquired != 0 {
			t.Errorf("%s: body closed: %v, permits: %d", row.name, body.closed, limiter.acquired)
		}
	}
	if n := len(s.log()); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
	// The same site in another spelling.
	_, transport := newClient(t, local())
	for _, as := range []string{"", host, strings.Replace(host, "127.0.0.1", "127.0.0.1.", 1)} {
		resp, err := transport.RoundTrip((&http.Request{Method: http.MethodGet, URL: page(), Host: as}).WithContext(t.Context()))
		if err != nil {
			t.Errorf("Host %q: %v", as, err)
			continue
		}
		resp.Body.Close()
	}
	for _, raw := range []string{`http://a\@` + host + "/", "http://a%2eb.test/"} {
		if v, err := transport.Verdict(t.Context(), raw); err == nil {
			t.Errorf("Verdict of %s: %v, want an error", raw, v)
		}
		if p, err := transport.NotBefore(t.Context(), raw); err == nil {
			t.Errorf("NotBefore of %s: %v, want an error", raw, p)
		}
	}
	if v, err := transport.Verdict(t.Context(), s.URL+"/a b/100%/ä?c@d"); err != nil || !v.Allowed {
		t.Errorf("Verdict: %v, %v", v, err)
	}
}

func TestClosed(t *testing.T) {
	s := newSite(t, "")
	_, transport := newClient(t, withFile(t, local(), ""))
	if err := transport.Close(); err != nil {
		t.Fatal(err)
	}
	for _, ctx := range []context.Context{t.Context(), UserInitiated(t.Context())} {
		body := &sent{Reader: strings.NewReader("x")}
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/", body)
		_, err := transport.RoundTrip(req)
		if err == nil || !strings.Contains(err.Error(), "closed") || !body.closed {
			t.Errorf("got %v (body closed: %v), want an error: the transport is closed", err, body.closed)
		}
	}
	if n := len(s.log()); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// TestNoBody: if there is no body to read, the permit is released with the headers.
func TestNoBody(t *testing.T) {
	s := newSite(t, "")
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		case "/empty":
		default:
			io.WriteString(w, "a body")
		}
	}
	for _, row := range []struct{ method, path string }{{"HEAD", "/page"}, {"GET", "/204"}, {"GET", "/304"}, {"GET", "/empty"}} {
		client, limiter := counted(t)
		for range 2 { // the second would wait for the first
			req, _ := http.NewRequestWithContext(t.Context(), row.method, s.URL+row.path, nil)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%v: %v", row, err)
			}
			defer resp.Body.Close() // after the second
			if r := limiter.released(t); r[len(r)-1].Status != resp.StatusCode {
				t.Errorf("%v: released with %v, the status is %d", row, r, resp.StatusCode)
			}
		}
	}
}

// TestBadBase: a Base that violates its contract keeps no permit.
func TestBadBase(t *testing.T) {
	for name, b := range map[string]base{
		"nothing":  func(*http.Request) (*http.Response, error) { return nil, nil },
		"panic":    func(*http.Request) (*http.Response, error) { panic("a bug") },
		"no body":  func(r *http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200, Request: r}, nil },
		"an error": func(*http.Request) (*http.Response, error) { return nil, errors.New("a bug") },
	} {
		limiter := newCounting(t)
		o := withFile(t, local(), "")
		o.Limiter, o.Base = limiter, b
		_, transport := newClient(t, o)
		var resp *http.Response
		var err error
		panicked := func() (p any) {
			defer func() { p = recover() }()
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://site.test/", nil)
			resp, err = transport.RoundTrip(req)
			return nil
		}()
		if (panicked != nil) != (name == "panic") {
			t.Errorf("%s: panics with %v", name, panicked)
		}
		if name != "panic" && (resp == nil) == (err == nil) {
			t.Errorf("%s: got %v and %v", name, resp, err)
		}
		if n := len(limiter.released(t)); n != 1 {
			t.Errorf("%s: %d permits were released", name, n)
		}
	}
}

// TestNoBodyWithoutStart: a response without a body does no harm either if the start of its connection failed.
func TestNoBodyWithoutStart(t *testing.T) {
	limiter := newCounting(t)
	o := withFile(t, local(), "")
	ctx, cancel := context.WithCancel(t.Context())
	o.Limiter = limiter
	o.Base = base(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.WroteHeaders()
		cancel()
		conn, other := net.Pipe()
		defer other.Close()
		trace.GotConn(httptrace.GotConnInfo{Conn: conn})
		return &http.Response{StatusCode: 200, Request: r}, nil
	})
	_, transport := newClient(t, o)
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://site.test/", http.NoBody)
	if resp, err := transport.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v and %v", resp, err)
	}
	if n := len(limiter.released(t)); n != 1 {
		t.Errorf("%d permits were released", n)
	}
}

// TestSwitching: after a 101 the body is writable, and holds the permit until it is closed.
func TestSwitching(t *testing.T) {
	s := newSite(t, "")
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
		rw.Flush()
		go func() {
			defer c.Close()
			io.Copy(c, rw)
		}()
	}
	client, limiter := counted(t)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	both := resp.Body.(interface {
		io.ReadWriteCloser
		CloseWrite() error
	})
	io.WriteString(both, "you\n")
	said := make([]byte, len("hello\nyou\n"))
	if _, err := io.ReadFull(both, said); err != nil || string(said) != "hello\nyou\n" {
		t.Errorf("read %q, %v", said, err)
	}
	if len(limiter.results) != 0 {
		t.Error("the permit is released while the connection is in use")
	}
	if err := both.CloseWrite(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(both); len(rest) > 0 || err != nil {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	both.Close()
	if r := limiter.released(t); len(r) != 1 || r[0].Status != http.StatusSwitchingProtocols {
		t.Errorf("released %v", r)
	}
}

// TestOwnEnd: a request that ends with its caller's context is not a failure of the site, unlike
// one to a site that does not answer in time.
func TestOwnEnd(t *testing.T) {
	for _, name := range []string{"cancel", "deadline", "client", "site"} {
		synctest.Test(t, func(t *testing.T) {
			limiter := newCounting(t)
			o := withFile(t, Options{Limiter: limiter}, "")
			o.Base = base(func(r *http.Request) (*http.Response, error) {
				if name == "site" {
					return nil, os.ErrDeadlineExceeded
				}
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			client, _ := newClient(t, o)
			ctx, cancel := context.WithCancel(t.Context())
			switch name {
			case "cancel":
				time.AfterFunc(time.Minute, cancel)
			case "deadline":
				ctx, cancel = context.WithTimeout(ctx, time.Minute)
			case "client":
				client.Timeout = time.Minute
			}
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://site.test/", nil)
			if resp, err := client.Do(req); err == nil {
				resp.Body.Close()
				t.Errorf("%s: the request succeeded", name)
			}
			if r := limiter.released(t); len(r) != 1 || r[0].Timeout != (name == "site") {
				t.Errorf("%s: released %+v, want a timeout: %v", name, r, name == "site")
			}
		})
	}
}

// TestEnded: the error of a request whose time ends during the fetch of robots.txt names the site once.
func TestEnded(t *testing.T) {
	_, transport := newClient(t, withFile(t, local(), ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const want = "robots.txt of http://site.test: context canceled"
	if _, err := transport.Verdict(ctx, "http://site.test/x"); !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), want) || strings.Count(err.Error(), "site.test") != 1 {
		t.Errorf("%v, want %s", err, want)
	}
}
