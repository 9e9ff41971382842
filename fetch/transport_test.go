package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// roundTripper is a function as http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestDial: a caller's Dial gets addresses that the guard has accepted, its connections are
// checked again, and its errors are failures on our side.
func TestDial(t *testing.T) {
	before := runtime.NumGoroutine()
	s := newStage(t)
	at := s.listen(t, "127.0.0.1:0", speak(answer(whole("200 OK", someRules))))
	far := s.listen(t, "127.0.0.2:0", speak(answer(whole("200 OK", someRules))))
	s.dns.name("inside.test", addresses("10.0.0.1"))
	var d net.Dialer
	for _, c := range []struct {
		name, url string
		dial      func(ctx context.Context, network, address string) (net.Conn, error)
		want      Cause
		asked     string
	}{
		{"dials", "https://site.test:PORT/", d.DialContext, OK, "127.0.0.1:PORT"},
		{"a private name", "https://inside.test:PORT/", d.DialContext, AddressRefused, ""},
		{"leads elsewhere", "http://site.test:PORT/", func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, far.Addr().String())
		}, AddressRefused, "127.0.0.1:PORT"},
		{"a pipe", "http://site.test:PORT/", func(ctx context.Context, network, address string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			c, err := d.DialContext(ctx, network, address)
			if err == nil {
				go func() { defer theirs.Close(); defer c.Close(); go io.Copy(c, theirs); io.Copy(theirs, c) }()
			}
			return ours, err
		}, OK, "127.0.0.1:PORT"},
		{"refused", "http://site.test:4/", d.DialContext, ConnectRefused, "127.0.0.1:4"},
		{"an error of its own", "http://site.test:PORT/", func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("no tunnel for user:hidden@here")
		}, ProxyFailed, "127.0.0.1:PORT"},
		{"panics", "http://site.test:PORT/", func(context.Context, string, string) (net.Conn, error) { panic("x") }, ProxyFailed, "127.0.0.1:PORT"},
		{"nothing", "http://site.test:PORT/", func(context.Context, string, string) (net.Conn, error) { return nil, nil }, ProxyFailed, "127.0.0.1:PORT"},
		{"ignores its context", "http://site.test:PORT/", func(ctx context.Context, _, address string) (net.Conn, error) {
			<-ctx.Done()
			return d.DialContext(context.Background(), "tcp", address)
		}, ConnectTimeout, "127.0.0.1:PORT"},
	} {
		asked := make(chan string, 9)
		o := s.options()
		if c.want == ConnectTimeout {
			o.Limits.Connect = 100 * time.Millisecond
		}
		o.Guard.Deny = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			asked <- address
			return c.dial(ctx, network, address)
		}
		port := func(text string) string { return strings.ReplaceAll(text, "PORT", at.port()) }
		r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, port(c.url)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Cause != c.want || r.Hops[0].Via != "dial" {
			t.Errorf("%s: %v (%s) via %q, want %v", c.name, r.Cause, r.Detail, r.Hops[0].Via, c.want)
		}
		got := ""
		if len(asked) == 1 {
			got = <-asked
		}
		if got != port(c.asked) || len(asked) > 0 {
			t.Errorf("%s: dialled %q and %d more, want %q", c.name, got, len(asked), port(c.asked))
		}
		checkVerdicts(t, r)
		s.unseen(t, r)
	}
	at.shut()
	far.shut()
	settled(t, before+1) // the name server
}

// TestTLS: client certificates are sent, and a later change of the configuration has no effect.
func TestTLS(t *testing.T) {
	s := newStage(t)
	shown := make(chan int, 2)
	at := s.listen(t, "127.0.0.1:0", func(s *site, c net.Conn) {
		config := s.stage.pki.config()
		config.ClientAuth, config.ClientCAs = tls.RequireAnyClientCert, s.stage.pki.pool
		secured := tls.Server(c, config)
		if secured.Handshake() == nil {
			shown <- len(secured.ConnectionState().PeerCertificates)
			io.WriteString(secured, whole("200 OK", someRules))
			secured.Close()
		}
	})
	o := s.options()
	mine := &tls.Config{RootCAs: s.pki.pool, ServerName: "another.test", NextProtos: []string{"other"}}
	mine.Certificates = []tls.Certificate{*s.pki.certificate("client-only.test")}
	o.TLS = mine
	c := s.client(t, o)
	mine.Certificates, mine.RootCAs = nil, nil
	r, err := c.Fetch(context.Background(), mustOrigin(t, "https://site.test:"+at.port()))
	if err != nil || r.Cause != OK {
		t.Fatalf("%v (%s), %v", r.Cause, r.Detail, err)
	}
	if n := <-shown; n != 1 {
		t.Errorf("%d certificates were shown", n)
	}
	if _, err := New(Options{Transport: http.DefaultTransport, Dial: (&net.Dialer{}).DialContext}); err == nil {
		t.Error("a Transport and a Dial are accepted")
	}
}

// TestFaultsOverTransport: over a caller's RoundTripper no failure of the catalogue becomes a
// permission except those that net/http hides, which are listed here and in the package
// documentation, and each fetch ends in time.
func TestFaultsOverTransport(t *testing.T) {
	// Invalid answers that http.Transport accepts.
	forgiven := []string{
		"coding in a fold", "encoding in a fold", "chunked in HTTP/1.0", "chunked and length in HTTP/1.0", "chunked in a fold",
		"CR in the status line", "NUL in the status line", "status with a sign", "lengths in a list", "CR in a header", "name with a blank",
		"two CRs", "length of nothing", "cut in ", "cut before", "HTTP/2.0 in words", "chunks of one byte", "length 0, bytes follow", "204, TLS cut", "205, TLS cut",
		"204, reset", "103 with connection", // a 204 ends with its headers; those of a 103 are ignored
	}
	skipped := []string{"trailers, long", "trailers, LF only", "204, bytes follow", "204, bytes follow later", "204, length 0, bytes follow", "205, length 0, bytes follow", "204, a second answer follows", "204, chunks", "204, chunked", "205, chunked, bytes follow", "204 No Content with a length", "length too short", "folded header", "folded length", "long headers", "unknown frames", "PRIORITY flood", "body after its end", "DATA first"} // net/http writes to the log about them; its trailers end in CRLF within 4 KiB
	step := campaign.Size(6, 3, 1)
	var mu sync.Mutex
	same, other := 0, map[string]Cause{}
	t.Run("faults", func(t *testing.T) {
		for i, f := range slices.Concat(tcpFaults(), tlsFaults(), statusFaults(), framingFaults(), redirectFaults(), encodingFaults(), sizeFaults(), http2Faults()) {
			if i%step != 0 || f.connect != nil || f.options != nil || f.within != atOnce || slices.Contains(skipped, f.name) {
				continue
			}
			t.Run(f.id(), func(t *testing.T) {
				t.Parallel()
				s, o, origin := f.start(t)
				base := &http.Transport{
					ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: s.pki.pool},
					DialContext: (&net.Dialer{Resolver: s.dns.resolver()}).DialContext, MaxResponseHeaderBytes: 64 << 10,
				}
				defer base.CloseIdleConnections()
				o.TLS, o.Transport = nil, base
				const waits = "settings unasked" // here for another answer
				if !f.cause.Outcome().Good() || f.name == waits {
					o.Limits = shortLimits // some end by time alone here
				}
				r, err := s.client(t, o).Fetch(context.Background(), origin)
				if err != nil {
					t.Fatal(err)
				}
				checkVerdicts(t, r)
				mu.Lock()
				defer mu.Unlock()
				if r.Cause == f.cause || f.or != CauseNone && r.Cause == f.or {
					same++
					if f.file != "" && string(r.Body) != f.file {
						t.Errorf("body %.100q", r.Body)
					}
					return
				}
				other[f.id()] = r.Cause
				known := slices.ContainsFunc(forgiven, func(s string) bool { return strings.Contains(f.name, s) })
				if !r.Outcome.Good() && f.cause.Outcome().Good() && f.name != waits {
					t.Errorf("%v (%s), want %v", r.Cause, r.Detail, f.cause)
				}
				if r.Outcome.Good() && !f.cause.Outcome().Good() && !known {
					t.Errorf("%v (%s), want %v", r.Cause, r.Detail, f.cause)
				}
			})
		}
	})
	t.Logf("%d as in the catalogue, %d with another cause: %v", same, len(other), other)
}

// TestTransport: an error of a RoundTripper is an invalid answer or a failure on our side, in
// time, and never a permission.
func TestTransport(t *testing.T) {
	before := runtime.NumGoroutine()
	s := newStage(t)
	resp := func(r *http.Request, status int, body io.ReadCloser) *http.Response {
		return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: body, ContentLength: -1, Request: r}
	}
	says := func(r *http.Response) roundTripper {
		return func(*http.Request) (*http.Response, error) { return r, nil }
	}
	text := func(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }
	for _, c := range []struct {
		name string
		trip roundTripper
		want Cause
	}{
		{"a file", func(r *http.Request) (*http.Response, error) { return resp(r, 200, text(someRules)), nil }, OK},
		{"no body at all", func(r *http.Request) (*http.Response, error) { return resp(r, 200, nil), nil }, Empty},
		{"404", func(r *http.Request) (*http.Response, error) { return resp(r, 404, text("")), nil }, ClientError},
		{"too short", func(r *http.Request) (*http.Response, error) {
			a := resp(r, 200, text(someRules))
			a.ContentLength = 1000
			return a, nil
		}, Incomplete},
		{"made by hand", says(&http.Response{StatusCode: 200, Body: text(someRules)}), OK},
		{"made by hand, no file", says(&http.Response{StatusCode: 404, Body: text("no")}), ClientError},
		{"made by hand, empty", says(&http.Response{StatusCode: 200, Body: text("")}), Empty},
		{"made by hand, no content", says(&http.Response{StatusCode: 204}), Empty},
		{"made by hand, no content but some", says(&http.Response{StatusCode: 204, Body: text(someRules)}), BadResponse},
		{"made by hand, no content but a length", says(&http.Response{StatusCode: 205, ContentLength: 9}), BadResponse},
		{"made by hand, no content in chunks", says(&http.Response{StatusCode: 204, TransferEncoding: []string{"chunked"}}), BadResponse},
		{"made by hand, gzip", says(&http.Response{StatusCode: 200, Header: http.Header{"Content-Encoding": {"gzip"}}, Body: text(gzipped(someRules))}), OK},
		{"made by hand, gzip cut", says(&http.Response{StatusCode: 200, Header: http.Header{"Content-Encoding": {"gzip"}}, Body: text(gzipped(someRules)[:20])}), Incomplete},
		{"status in a word", says(&http.Response{StatusCode: 200, Status: "OK", Body: text(someRules)}), OK},
		{"status in a number and words", says(&http.Response{StatusCode: 200, Status: "200 OK", Body: text(someRules)}), OK},
		{"status in words alone", says(&http.Response{StatusCode: 404, Status: "Not Found", Body: text("")}), ClientError},
		{"status of four digits", says(&http.Response{StatusCode: 200, Status: "0200 OK", Body: text(someRules)}), BadResponse},
		{"status with a sign", says(&http.Response{StatusCode: 200, Status: "+200", Body: text(someRules)}), BadResponse},
		{"no status", says(&http.Response{Body: text(someRules)}), BadStatus},
		{"length in the header alone", says(&http.Response{StatusCode: 200, Header: http.Header{"Content-Length": {"33"}}, Body: text(someRules)}), OK},
		{"length in the header alone, too long", says(&http.Response{StatusCode: 200, Header: http.Header{"Content-Length": {"1000"}}, Body: text(someRules)}), Incomplete},
		{"length of 0 in the header", says(&http.Response{StatusCode: 200, Header: http.Header{"Content-Length": {"0"}}, Body: text(someRules)}), Incomplete},
		{"length without a body", says(&http.Response{StatusCode: 200, ContentLength: 33}), Closed},
		{"HTTP/2 with a header of the connection", func(r *http.Request) (*http.Response, error) {
			a := resp(r, 404, text(""))
			a.Proto, a.ProtoMajor, a.Header = "HTTP/2.0", 2, http.Header{"Upgrade": {"h2c"}}
			return a, nil
		}, BadResponse},
		{"HTTP/1 with a header of the connection", func(r *http.Request) (*http.Response, error) {
			a := resp(r, 200, text(someRules))
			a.Header.Set("Connection", "close")
			return a, nil
		}, OK},
		{"recorded", func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			io.WriteString(w, someRules)
			return w.Result(), nil
		}, OK},
		{"decoded", func(r *http.Request) (*http.Response, error) {
			a := resp(r, 200, text(someRules))
			a.ContentLength, a.Uncompressed = 9, true
			return a, nil
		}, OK},
		{"follows redirects", func(r *http.Request) (*http.Response, error) {
			return resp(httptest.NewRequest(http.MethodGet, "http://other.test/", nil), 200, text(someRules)), nil
		}, ProxyFailed},
		{"nothing", func(*http.Request) (*http.Response, error) { return nil, nil }, ProxyFailed},
		{"an error", func(*http.Request) (*http.Response, error) {
			return nil, errors.New("http://user:hidden@proxy is down")
		}, ProxyFailed},
		{"panics", func(*http.Request) (*http.Response, error) { panic("x") }, ProxyFailed},
		{"body panics", func(r *http.Request) (*http.Response, error) { return resp(r, 200, badBody{}), nil }, Incomplete},
		{"long headers", func(r *http.Request) (*http.Response, error) {
			a := resp(r, 200, text(someRules))
			a.Header.Set("X", strings.Repeat("x", 65<<10))
			return a, nil
		}, HeaderLimit},
		{"never answers", func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }, HeaderTimeout},
		{"body never comes", func(r *http.Request) (*http.Response, error) { return resp(r, 200, &deaf{ctx: r.Context()}), nil }, TooSlow},
		{"endless body", func(r *http.Request) (*http.Response, error) {
			return resp(r, 200, io.NopCloser(endless('#'))), nil
		}, OK},
	} {
		o := s.options()
		o.TLS, o.Transport = nil, c.trip
		o.Limits = Limits{DNS: time.Millisecond, Connect: time.Millisecond, TLS: time.Millisecond}
		switch c.want {
		case HeaderTimeout:
			o.Limits.Header = 100 * time.Millisecond
		case TooSlow:
			o.Limits.Grace = 100 * time.Millisecond
		}
		r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, "https://site.test/"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Cause != c.want || r.Hops[0].Via != "transport" {
			t.Errorf("%s: %v (%s) via %q, want %v", c.name, r.Cause, r.Detail, r.Hops[0].Via, c.want)
		}
		checkVerdicts(t, r)
		s.unseen(t, r)
	}
	asked := false
	o := s.options()
	o.TLS, o.Transport = nil, roundTripper(func(r *http.Request) (*http.Response, error) { asked = true; return resp(r, 200, text("")), nil })
	for url, want := range map[string]Cause{"http://10.0.0.1/": AddressRefused, "http://site.test:25/": PortRefused, "ftp://site.test/": NoNetwork} {
		if r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, url)); err != nil || r.Cause != want || asked {
			t.Errorf("%s: %v, %v, asked: %v", url, r.Cause, err, asked)
		}
	}
	settled(t, before+1) // the name server
}

// TestAddresses: the addresses of a site are tried one after another. A dead one costs a second,
// and a slow one is tried again, within the time for all.
func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		dials string // what becomes of each: s silent, r refused, a answered, x stop
		order string // of the addresses
		took  time.Duration
	}{
		{"a", "1", 0},
		{"sa", "12", time.Second},
		{"ra", "12", 0},
		{"ssa", "121", 2 * time.Second},
		{"rsa", "122", time.Second},
		{"ssrr", "1212", 2 * time.Second},
		{"ssss", "1212", 10 * time.Second},
		{"rr", "12", 0},
		{"x", "1", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, order := time.Now(), ""
			at := []netip.AddrPort{netip.AddrPortFrom(addrA, 1), netip.AddrPortFrom(addrB, 2)}
			_, err := dialAny(at, 10*time.Second, func(at netip.AddrPort, most time.Duration) (net.Conn, bool, error) {
				order += fmt.Sprint(at.Port())
				switch tt.dials[len(order)-1] {
				case 's':
					time.Sleep(most)
					return nil, false, os.ErrDeadlineExceeded
				case 'a':
					return nil, false, nil
				}
				return nil, tt.dials == "x", syscall.ECONNREFUSED
			})
			if order != tt.order || (err == nil) != strings.HasSuffix(tt.dials, "a") || time.Since(began) != tt.took {
				t.Errorf("%s: tried %s in %v: %v; want %s in %v", tt.dials, order, time.Since(began), err, tt.order, tt.took)
			}
		})
	}
}

// TestPageDials: each connection of a page is started at its address, and no more are opened
// than the request may have.
func TestPageDials(t *testing.T) {
	s := newStage(t)
	at := s.listen(t, "127.0.0.2:0", speak(answer(whole("200 OK", "a page"))))
	s.dns.name("two.test", addresses("127.0.0.1", "127.0.0.2"))
	transport := s.client(t, s.options()).Transport()
	started := map[string]int{}
	ctx := WithDials(t.Context(), 1, func(_ context.Context, addr netip.Addr) error { started[addr.String()]++; return nil })
	conn, err := transport.DialContext(ctx, "tcp", "two.test:"+at.port())
	if err != nil || conn.RemoteAddr().String() != at.Addr().String() || started["127.0.0.2"] != 1 || started["127.0.0.1"] > 1 {
		t.Fatalf("%v, started %v", err, started)
	}
	conn.Close()
	if _, err := transport.DialContext(ctx, "tcp", "two.test:"+at.port()); err == nil || !strings.Contains(err.Error(), "no more are opened") {
		t.Errorf("a second connection: %v", err)
	}
}

// badBody panics.
type badBody struct{}

func (badBody) Read([]byte) (int, error) { panic("x") }
func (badBody) Close() error             { panic("y") }

// deaf is a body that ends only after its request.
type deaf struct{ ctx context.Context }

func (d *deaf) Read([]byte) (int, error) { <-d.ctx.Done(); return 0, d.ctx.Err() }
func (d *deaf) Close() error             { return nil }

// endless is a reader that returns one byte again and again.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// TestBodyMemory: a record takes hardly more memory than its body, whatever room reading needed.
func TestBodyMemory(t *testing.T) {
	for _, size := range []int{0, 1, 5000, 70_000, 300_000, 512_000, 900_000} {
		c, err := New(Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/plain"}}, Request: r,
				ContentLength: -1, Body: io.NopCloser(strings.NewReader(strings.Repeat("Allow: /\n", size/9+1))),
			}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		origin, _, _ := robots.ParseURL("http://a.example/")
		record, err := c.Fetch(t.Context(), origin)
		if err != nil {
			t.Fatal(err)
		}
		if length := len(record.Body); cap(record.Body) > length+length/8+64 || length < min(size, 512_000) {
			t.Errorf("a body of %d bytes: %d are kept, in room for %d", size, length, cap(record.Body))
		}
	}
}
