package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots/cmd/internal/budget"
	"golang.org/x/time/rate"
)

// A gated is a running service behind a gate.
type gated struct {
	t         *testing.T
	gate      *Gate
	at, admin string
	log       bytes.Buffer // read it after stop
	end       context.CancelFunc
	ended     chan error
}

// local is a configuration on loopback without limits for clients, with changed settings.
func local(t testing.TB, settings ...string) *Config {
	t.Helper()
	c, _, _, err := load(t, append([]string{"listen=127.0.0.1:0", "admin=127.0.0.1:0", "store=memory", "client-rate=0"}, settings...), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs a service until the test ends.
func run(t *testing.T, c *Config, handler http.Handler, ready func(context.Context) error) *gated {
	t.Helper()
	s := &gated{t: t, ended: make(chan error, 1)}
	var err error
	if s.gate, err = NewGate(c, slog.New(slog.NewJSONHandler(&s.log, nil)), NewMetrics()); err != nil {
		t.Fatal(err)
	}
	if ready == nil {
		ready = func(context.Context) error { return nil }
	}
	ctx, end := context.WithCancel(t.Context())
	s.end = end
	listening := make(chan struct{})
	go func() {
		s.ended <- Run(ctx, s.gate, handler, ready, func(at, admin net.Addr) {
			s.at = at.String()
			if admin != nil {
				s.admin = "http://" + admin.String()
			}
			close(listening)
		})
	}()
	select {
	case <-listening:
	case err := <-s.ended:
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// stop ends the service.
func (s *gated) stop() {
	if s.end == nil {
		return
	}
	s.end()
	s.end = nil
	if err := <-s.ended; err != nil {
		s.t.Error(err)
	}
	if n, left := s.gate.held.Load(), s.gate.slots.working(); n != 0 || left != 0 {
		s.t.Errorf("after all requests %d bytes and %d slots are not released", n, left)
	}
}

// raw sends text on a new connection and returns the response, nil if the server closed the
// connection without one.
func (s *gated) raw(text string, half bool) *http.Response {
	s.t.Helper()
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(s.send(text, half), &http.Request{Method: method})
	if err != nil {
		return nil
	}
	return resp
}

func (s *gated) send(text string, half bool) *bufio.Reader {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.at)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	if half {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	return bufio.NewReader(conn)
}

// readProblem reads a valid problem.
func readProblem(t *testing.T, resp *http.Response) Problem {
	t.Helper()
	var p Problem
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if kind := resp.Header.Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("status %d is %s: %s", resp.StatusCode, kind, body)
	}
	if resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the type of a problem can be guessed: %v", resp.Header)
	}
	if resp.Request.Method == http.MethodHead {
		return p
	}
	if err := json.Unmarshal(body, &p); err != nil || p.Status != resp.StatusCode || p.Title == "" || p.Detail == "" {
		t.Errorf("status %d: %v in %s", resp.StatusCode, err, body)
	}
	return p
}

// answering is a service that returns the name of the caller, and reads the body.
func answering() http.Handler {
	mux := http.NewServeMux()
	who := func(w http.ResponseWriter, r *http.Request) {
		c := exchangeOf(r.Context())
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %v %d %d %v", c.Name, c.Anonymous, c.Scopes, n, err)
	}
	mux.HandleFunc("/v1/check", who)
	mux.HandleFunc("POST /v1/lint", who)
	mux.HandleFunc("GET /{$}", who)
	mux.HandleFunc("GET /fault", func(http.ResponseWriter, *http.Request) { panic("at the disco") })
	mux.HandleFunc("GET /chunks", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "34")
		for _, chunk := range []string{"before", "HTTP/1.1 417 of a robots.txt"} {
			_, _ = io.WriteString(w, chunk)
			_ = http.NewResponseController(exchangeOf(r.Context()).ResponseWriter).Flush()
		}
	})
	mux.HandleFunc("GET /half", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		panic("in the middle")
	})
	return mux
}

const (
	tokenA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	tokenB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// TestGates: the gate refuses each kind of invalid request with its problem, and accepts all
// others.
func TestGates(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("old check,fetch,permit "+tokenA+"\nnew check "+tokenB+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plainSite := run(t, local(t, "host=robots.example", "cors=https://tools.example"), answering(), nil)
	withTokens := run(t, local(t, "tokens-file="+tokens), answering(), nil)
	loopback := run(t, local(t), answering(), nil)
	const get = "GET /v1/check?url=x HTTP/1.1\r\n"
	const local = "Host: 127.0.0.1\r\n"
	long := strings.Repeat("x", 9000)
	for _, c := range []struct {
		name, request string
		at            *gated
		status        int
		want          string // the type of the problem, or what the body begins with
	}{
		{"literal", get + local, plainSite, 200, "127.0.0.1/32 true 7 0"},
		{"loopback alone", get + local, loopback, 200, "127.0.0.1/32 false 7 0"},
		{"localhost", get + "Host: LocalHost:8780\r\n", plainSite, 200, "127.0.0.1/32"},
		{"IPv6 literal", get + "Host: [::1]:8780\r\n", plainSite, 200, ""},
		{"another loopback", get + "Host: 127.9.9.9:1\r\n", plainSite, 200, ""},
		{"name of --host", get + "Host: ROBOTS.example:443\r\n", plainSite, 200, ""},
		{"not without --host", get + "Host: robots.example\r\n", loopback, 421, "forbidden-host"},
		{"rebinding", get + "Host: 127.0.0.1.evil.example:8780\r\n", plainSite, 421, "forbidden-host"},
		{"name below localhost", get + "Host: evil.localhost\r\n", plainSite, 421, "forbidden-host"},
		{"name before a listed one", get + "Host: x.robots.example\r\n", plainSite, 421, "forbidden-host"},
		{"short literal", get + "Host: 127.1\r\n", plainSite, 421, "forbidden-host"},
		{"number for an address", get + "Host: 2130706433\r\n", plainSite, 421, "forbidden-host"},
		{"unspecified", get + "Host: 0.0.0.0:8780\r\n", plainSite, 421, "forbidden-host"},
		{"zone", get + "Host: [::1%25lo]\r\n", plainSite, 421, "forbidden-host"},
		{"empty Host", get + "Host:\r\n", plainSite, 421, "forbidden-host: the Host header is missing"},
		{"port without number", get + "Host: localhost:x\r\n", plainSite, 421, "forbidden-host"},
		{"absolute target", "GET http://evil.example/v1/check HTTP/1.1\r\n" + local, plainSite, 421, "forbidden-host"},
		{"no Host", get, plainSite, 400, "about:blank"},
		{"two Hosts", get + local + local, plainSite, 400, "about:blank"},
		{"HTTP/1.0", "GET / HTTP/1.0\r\n", plainSite, 421, "forbidden-host"},

		{"cross-site GET that fetches", get + local + "Sec-Fetch-Site: cross-site\r\n", plainSite, 403, "cross-origin"},
		{"cross-site link to the page", "GET / HTTP/1.1\r\n" + local + "Sec-Fetch-Site: cross-site\r\n", plainSite, 200, ""},
		{"another site of one domain", get + local + "Sec-Fetch-Site: same-site\r\n", plainSite, 403, "cross-origin"},
		{"same origin", get + local + "Sec-Fetch-Site: same-origin\r\n", plainSite, 200, ""},
		{"typed by its user", get + local + "Sec-Fetch-Site: none\r\n", plainSite, 200, ""},
		{"foreign POST", "POST /v1/lint HTTP/1.1\r\nContent-Length: 0\r\n" + local + "Sec-Fetch-Site: same-site\r\n", plainSite, 403, "cross-origin"},
		{"foreign POST, old browser", "POST /v1/lint HTTP/1.1\r\nContent-Length: 0\r\n" + local + "Origin: https://evil.example\r\n", plainSite, 403, "cross-origin"},
		{"foreign GET, old browser", get + local + "Origin: https://evil.example\r\n", plainSite, 403, "cross-origin"},
		{"opaque origin", get + local + "Origin: null\r\n", plainSite, 403, "cross-origin"},
		{"own GET, old browser", get + local + "Origin: http://127.0.0.1\r\n", plainSite, 200, ""},
		{"origin of --cors", get + local + "Sec-Fetch-Site: cross-site\r\nOrigin: https://tools.example\r\n", plainSite, 200, ""},
		{"other scheme than --cors", get + local + "Sec-Fetch-Site: cross-site\r\nOrigin: http://tools.example\r\n", plainSite, 403, "cross-origin"},
		{"preflight", "OPTIONS /v1/lint HTTP/1.1\r\n" + local + "Sec-Fetch-Site: cross-site\r\nOrigin: https://tools.example\r\nAccess-Control-Request-Method: POST\r\n", plainSite, 204, ""},
		{"foreign preflight", "OPTIONS /v1/lint HTTP/1.1\r\n" + local + "Sec-Fetch-Site: cross-site\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n", plainSite, 403, "cross-origin"},

		{"a token", get + local + "Authorization: Bearer " + tokenA + "\r\n", withTokens, 200, "old false 7 0"},
		{"another, less allowed", get + local + "Authorization: bearer " + tokenB + "\r\n", withTokens, 200, "new false 1 0"},
		{"no token", get + local, withTokens, 401, "unauthorized"},
		{"no token for the page", "GET / HTTP/1.1\r\n" + local, withTokens, 200, "127.0.0.1/32"},
		{"no token for a POST", "POST /page/ask HTTP/1.1\r\nContent-Length: 0\r\n" + local, withTokens, 401, "unauthorized: this service needs tokens, with which its page needs WebAssembly"},
		{"wrong token", get + local + "Authorization: Bearer " + tokenA + "x\r\n", withTokens, 401, "unauthorized"},
		{"wrong token for the page", "GET / HTTP/1.1\r\n" + local + "Authorization: Bearer x\r\n", withTokens, 401, "unauthorized"},
		{"password instead of a token", get + local + "Authorization: Basic " + tokenA + "\r\n", withTokens, 401, "unauthorized"},

		{"URL too long", "GET /" + long + " HTTP/1.1\r\n" + local, plainSite, 413, "too-large"},
		{"head too large", get + local + "X: " + long + long + "\r\n", plainSite, 431, "about:blank"},
		{"body", "POST /v1/lint HTTP/1.1\r\nContent-Length: 5\r\n" + local + "\r\n12345", plainSite, 200, "127.0.0.1/32 true 7 5 <nil>"},
		{"body in chunks", "POST /v1/lint HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + local + "\r\n5\r\n12345\r\n0\r\n\r\n", plainSite, 200, "127.0.0.1/32 true 7 5 <nil>"},
		{"body that is said to be too large", "POST /v1/lint HTTP/1.1\r\nContent-Length: 1048577\r\n" + local, plainSite, 413, "too-large"},
		{"batch may be larger", "POST /v1/check HTTP/1.1\r\nContent-Length: 8388609\r\n" + local, plainSite, 413, "too-large"},
		{"chunks that are too large", "POST /v1/lint HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + local + "\r\n" + strings.Repeat("10000\r\n"+strings.Repeat("y", 1<<16)+"\r\n", 17), plainSite, 413, "too-large"},
		{"body shorter than said", "POST /v1/lint HTTP/1.1\r\nContent-Length: 50\r\n" + local + "\r\n12345", plainSite, 400, "bad-json"},
		{"length below zero", "POST /v1/lint HTTP/1.1\r\nContent-Length: -1\r\n" + local, plainSite, 400, "about:blank"},
		{"two lengths", "POST /v1/lint HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" + local + "\r\n12", plainSite, 400, "about:blank"},
		{"malformed chunks", "POST /v1/lint HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + local + "\r\nzz\r\n", plainSite, 400, "bad-json"},
		{"unknown coding", "POST /v1/lint HTTP/1.1\r\nTransfer-Encoding: gzip\r\n" + local, plainSite, 501, "about:blank"},
		{"unknown Expect", get + local + "Expect: much\r\n", plainSite, 417, "about:blank: the Expect header is unknown"},

		{"UTF-16", "POST /v1/lint HTTP/1.1\r\nContent-Type: application/json; charset=utf-16\r\nContent-Length: 2\r\n" + local + "\r\n{}", plainSite, 415, "unsupported-type"},
		{"compressed body", "POST /v1/lint HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n" + local + "\r\n{}", plainSite, 415, "unsupported-type"},

		{"unknown path", "GET /etc/passwd HTTP/1.1\r\n" + local, plainSite, 404, "not-found"},
		{"escaped dots", "GET /v1/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + local, plainSite, 404, "not-found"},
		{"NUL", "GET /%00 HTTP/1.1\r\n" + local, plainSite, 404, "not-found"},
		{"other method", "DELETE /v1/lint HTTP/1.1\r\n" + local, plainSite, 405, "method-not-allowed"},
		{"body like a refusal", "GET /chunks HTTP/1.1\r\n" + local, plainSite, 200, "beforeHTTP/1.1 417 of a robots.txt"},
		{"no HTTP", "\x16\x03\x01\x02\r\n", plainSite, 400, "about:blank"},
		{"a fault", "GET /fault HTTP/1.1\r\n" + local, plainSite, 500, "internal"},
		{"HEAD", "HEAD /nothing HTTP/1.1\r\n" + local, plainSite, 404, ""},
	} {
		text := c.request
		if !strings.Contains(text, "\r\n\r\n") {
			text += "\r\n"
		}
		resp := c.at.raw(text, true)
		if resp == nil {
			t.Errorf("%s: no answer", c.name)
			continue
		}
		if resp.StatusCode != c.status {
			body, _ := io.ReadAll(resp.Body)
			t.Errorf("%s: status %d %s, want %d", c.name, resp.StatusCode, body, c.status)
			continue
		}
		if c.status >= 400 {
			if p := readProblem(t, resp); !strings.HasPrefix(strings.TrimPrefix(p.Type, "/problems/")+": "+p.Detail, c.want) {
				t.Errorf("%s: %+v, want %s", c.name, p, c.want)
			}
		} else if body, _ := io.ReadAll(resp.Body); !strings.HasPrefix(string(body), c.want) {
			t.Errorf("%s: got %s, want %s", c.name, body, c.want)
		}
		if c.status == 204 && resp.Header.Get("Access-Control-Allow-Origin") != "https://tools.example" {
			t.Errorf("%s: headers %v", c.name, resp.Header)
		}
		if c.status == 401 && !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: headers %v", c.name, resp.Header)
		}
	}
	if resp := plainSite.raw("GET /half HTTP/1.1\r\n"+local+"\r\n", false); resp != nil {
		if body, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("an answer that breaks is complete: %s", body)
		}
	}
	if resp := plainSite.raw("POST /v1/lint HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n"+local+"\r\n0\r\n\r\n", false); resp == nil || !resp.Close {
		t.Errorf("a length beside chunks leaves the connection open: %v", resp)
	}
	both := plainSite.send("GET / HTTP/1.1\r\n"+local+"\r\nGET / HTTP/1.1\r\n\r\n", false)
	for _, status := range []int{200, 400} {
		resp, err := http.ReadResponse(both, &http.Request{})
		if err != nil || resp.StatusCode != status {
			t.Fatalf("of two requests on a connection: %v, %v, want %d", resp, err, status)
		}
		if status == 400 {
			readProblem(t, resp)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	plainSite.stop()
	withTokens.stop()
	for _, want := range []string{`"msg":"panic"`, "at the disco", "in the middle"} {
		if !strings.Contains(plainSite.log.String(), want) {
			t.Errorf("the log has no %s", want)
		}
	}
	for _, never := range []string{tokenA, tokenB, "url=x"} {
		if strings.Contains(withTokens.log.String()+plainSite.log.String(), never) {
			t.Errorf("the log has %s", never)
		}
	}
}

// A pipeListener accepts the server's ends of pipes. The time of a service at one is fake in a bubble.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l pipeListener) Close() error {
	close(l)
	return nil
}

func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// send sends text on a new connection.
func (l pipeListener) send(t *testing.T, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close() })
	l <- server
	if _, err := io.WriteString(client, text); err != nil {
		t.Fatal(err)
	}
	return client, bufio.NewReader(client)
}

// bubble runs a service in a bubble with a fake clock.
func bubble(t *testing.T, handler http.Handler, test func(t *testing.T, l pipeListener), options ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g, err := NewGate(local(t, options...), slog.New(slog.DiscardHandler), NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		l := make(pipeListener)
		s := g.server(t.Context(), handler)
		var serving sync.WaitGroup
		serving.Go(func() { _ = s.Serve(problemListener{l, g}) })
		test(t, l)
		s.Close()
		serving.Wait()
	})
}

// TestSlow: headers or a body that do not arrive in time end the connection, and take no slot
// meanwhile.
func TestSlow(t *testing.T) {
	bubble(t, answering(), func(t *testing.T, l pipeListener) {
		_, in := l.send(t, "GET / HTTP/1.1\r\nHost: loc")
		if resp, err := http.ReadResponse(in, nil); err == nil {
			t.Errorf("half of the headers get status %d", resp.StatusCode)
		}
		began := time.Now()
		_, in = l.send(t, "POST /v1/lint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12")
		synctest.Wait()
		_, other := l.send(t, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if resp, err := http.ReadResponse(other, nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("next to half of a body another request gets %v, %v", resp, err)
		}
		resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
		if err != nil || resp.StatusCode != http.StatusRequestTimeout || time.Since(began) != 2*time.Second {
			t.Fatalf("half of a body gets %v, %v after %v", resp, err, time.Since(began))
		}
		readProblem(t, resp)
	}, "header-time=1s", "body-time=2s", "concurrency=1", "queue=0")
}

// TestLongAnswer: a request with a body can take longer than the timeout of the body, and its
// context does not end before the client disconnects.
func TestLongAnswer(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r.Context()).wait(func() {
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
		})
		fmt.Fprint(w, r.Context().Err())
	})
	bubble(t, handler, func(t *testing.T, l pipeListener) {
		const request = "POST /v1/lint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n12"
		conn, in := l.send(t, request)
		for i := range 2 { // on one connection
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != "<nil>" {
				t.Errorf("the context ended: %s, %v", body, err)
			}
			if i == 0 {
				_, _ = io.WriteString(conn, request)
			}
		}
	}, "body-time=300ms", "write-time=300ms")
}

// TestUnreadResponse: a client that does not read a response is disconnected after the timeout, whoever writes it, and
// the timeout of a response, or of the status 100, does not end the next one.
func TestUnreadResponse(t *testing.T) {
	bubble(t, answering(), func(t *testing.T, l pipeListener) {
		for name, request := range map[string]string{
			"a response": "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "a refusal": "GET /\r\n\r\n",
		} {
			conn, in := l.send(t, request)
			time.Sleep(2*time.Second - 1)
			synctest.Wait()
			_ = conn.SetReadDeadline(time.Now().Add(time.Nanosecond))
			if _, err := in.ReadByte(); err != nil {
				t.Errorf("%s ends before its timeout: %v", name, err)
			}
			conn, in = l.send(t, request)
			time.Sleep(2*time.Second + 1)
			synctest.Wait()
			_ = conn.SetReadDeadline(time.Now().Add(time.Nanosecond))
			if text, err := io.ReadAll(in); err != nil || len(text) > 0 {
				t.Errorf("%s after its timeout: %q, %v", name, text, err)
			}
		}
		const request = "POST /v1/lint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"
		conn, in := l.send(t, request)
		for i, status := range []int{100, 200, 100, 200} {
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != status {
				t.Fatalf("response %d: %v, %v", i, resp, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			time.Sleep(3 * time.Second)
			if i < 3 {
				_, _ = io.WriteString(conn, []string{"x", request}[i%2])
			}
		}
	}, "write-time=2s")
}

// TestLog: a line for each request, with a valid id of the client, its trace, the question, and
// a query only if configured.
func TestLog(t *testing.T) {
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		exchangeOf(r.Context()).answered("https://shop.example", OutcomeDisallowed)
		if r.URL.Query().Get("n") == "2" {
			exchangeOf(r.Context()).answered("https://other.example", OutcomeBad)
		}
	})
	for urls, want := range map[string]string{
		"false": `"url":"/v1/check","status":200,`, "true": `"url":"/v1/check?url=a&n=1","status":200,`,
	} {
		s := run(t, local(t, "log-urls="+urls), handler, nil)
		const trace = "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"
		resp := s.raw("GET /v1/check?url=a&n=1 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: mine-1\r\n"+trace+"\r\n", false)
		if resp == nil || resp.Header.Get("X-Request-Id") != "mine-1" || !strings.HasPrefix(resp.Header.Get("Traceparent"), "00-0af7") {
			t.Fatalf("got %+v", resp)
		}
		resp = s.raw("GET /v1/check?n=2 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: <mine>\r\n\r\n", false)
		if id := resp.Header.Get("X-Request-Id"); len(id) != 16 {
			t.Errorf("the id is %q", id)
		}
		s.raw("POST /v1/permits/p_secret/done HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", false)
		s.raw("POST /v1/permits/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", false)
		s.stop() // the log is whole then
		log := s.log.String()
		for _, w := range []string{want, `"id":"mine-1","client":"127.0.0.1/32","method":"GET"`, `"origin":"https://shop.example","outcome":"disallowed","trace_id":"0af7651916cd43dd8448eb211c80319c"`, `"questions":2`, `"url":"/v1/permits/next"`} {
			if !strings.Contains(log, w) {
				t.Errorf("the log has no %s:\n%s", w, log)
			}
		}
		if urls == "false" && strings.Contains(log, "p_secret") {
			t.Errorf("the log has a permit:\n%s", log)
		}
	}
}

// TestLoggedURL: with --log-urls, no token, permit or password is logged, wherever a client puts it.
func TestLoggedURL(t *testing.T) {
	secret := strings.Repeat("s", 40)
	c := local(t)
	c.Tokens = "a check " + secret + "\n"
	g, err := NewGate(c, slog.New(slog.DiscardHandler), NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"/v1/check?url=a&n=1":                               "/v1/check?url=a&n=1",
		"/v1/check?url=/shop_a&flag":                        "/v1/check?url=/shop_a&flag",
		"/v1/check?url=a&access_token=other":                "/v1/check?url=a&access_token=xxxxx",
		"/v1/check?key=" + secret + "&n=1":                  "/v1/check?key=xxxxx&n=1",
		"/v1/check?key=%73" + secret[1:]:                    "/v1/check?key=xxxxx",
		"/v1/check?" + secret:                               "/v1/check?xxxxx",
		"/v1/check?key=Bearer+" + secret:                    "/v1/check?key=xxxxx",
		"/v1/check?url=https://me:geheim@a.example/":        "/v1/check?url=xxxxx",
		"/v1/check?url=https%3A%2F%2Fme:geheim%40a.example": "/v1/check?url=xxxxx",
		"/v1/robots?id=p_geheim":                            "/v1/robots?id=xxxxx",
		"http://me:geheim@localhost/v1/check?a=b":           "/v1/check?a=b",
		"/v1/check?a=%zz":                                   "/v1/check?a=xxxxx",
	} {
		v := &exchange{request: httptest.NewRequest(http.MethodGet, target, http.NoBody), settings: g.settings.Load()}
		if got := v.loggedURL(); got != want {
			t.Errorf("%s is logged as %s, want %s", target, got, want)
		}
	}
}

// TestClientAddress: X-Forwarded-For counts as far as trusted proxies wrote it.
func TestClientAddress(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"192.0.2.1:5", "198.51.100.1", "192.0.2.1/32"},
		{"10.0.0.1:5", "", "10.0.0.1/32"},
		{"10.0.0.1:5", "198.51.100.1", "198.51.100.1/32"},
		{"10.0.0.1:5", "203.0.113.9, 198.51.100.1, 10.9.9.9", "198.51.100.1/32"},
		{"10.0.0.1:5", "203.0.113.9, nonsense", "10.0.0.1/32"},
		{"10.0.0.1:5", "nonsense, 203.0.113.9", "203.0.113.9/32"},
		{"10.0.0.1:5", "10.0.0.2, 10.0.0.3", "10.0.0.2/32"},
		{"[2001:db8:1:2:3::4]:5", "", "2001:db8:1:2::/64"},
		{"[fd00::1]:5", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:5", "", "192.0.2.1/32"},
		{"10.0.0.1:5", "::ffff:192.0.2.1", "192.0.2.1/32"},
		{"[fe80::1%eth0]:5", "", "fe80::/64"},
		{"@", "", "unknown"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{}}
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := network(clientAddress(r, trusted)); got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}

// TestClients: each client has a rate and a burst of questions and of new origins.
func TestClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := NewGate(local(t, "client-rate=200"), slog.New(slog.DiscardHandler), NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		a, b := g.limitsOf("a"), g.limitsOf("b")
		for i, c := range []struct {
			after time.Duration
			of    *rate.Limiter
			n     int
			wait  time.Duration
		}{
			{0, a.questions, 1001, 5005 * time.Millisecond}, // never at once
			{0, a.questions, 1000, 0},
			{0, a.questions, 1, 5 * time.Millisecond},
			{0, b.questions, 1, 0},
			{time.Second, a.questions, 201, 5 * time.Millisecond},
			{0, a.questions, 200, 0},
			{0, a.origins, 20, 0},
			{0, a.origins, 1, 3 * time.Second},
			{3 * time.Second, g.limitsOf("a").origins, 1, 0},
		} {
			time.Sleep(c.after)
			if wait := reserve(c.of, c.n); wait != c.wait {
				t.Errorf("%d: %d wait %s, want %s", i, c.n, wait, c.wait)
			}
		}
		g.settings.Load().ClientRate = 0
		if wait := reserve(g.limitsOf("c").questions, 1e6); wait != 0 {
			t.Errorf("without a limit a client waits %s", wait)
		}
	})
}

// TestRate: beyond the rate the status is 429 with Retry-After. A batch counts its questions, and
// a request its work; one that works for too long is refused.
func TestRate(t *testing.T) {
	s := run(t, local(t, "client-rate=1", "client-burst=100", "host=x.example"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := exchangeOf(r.Context())
		v.limits.questions.SetLimit(1e-3) // per second, which a slow machine does not notice
		if r.URL.Path == "/work" {
			OverBudget(v.budget.Work(2*budget.Steps)).Write(w, r)
			return
		}
		if p := v.charge(map[string]int{"/many": 200, "/batch": 60}[r.URL.Path]); p != nil {
			p.Write(w, r)
		}
	}), nil)
	for i, c := range []struct {
		path, detail string
		status       int
		wait         int // at most, in seconds
	}{
		{"/many", "200 questions exceed your limit of 100 at a time", 429, 199_000},
		{"/batch", "", 200, 0},
		{"/batch", "60 questions exceed your current rate limit", 429, 21_000},
		{"/work", "the request needs more work than one request may use", 413, 0},
		{"/batch", "127.0.0.1/32 sends more than 1 requests per second", 429, 64_000},
	} {
		resp := s.raw("GET "+c.path+" HTTP/1.1\r\nHost: localhost\r\n\r\n", false)
		wait, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		if resp.StatusCode != c.status || (wait > 0) != (c.wait > 0) || wait > c.wait {
			t.Errorf("%d: status %d, Retry-After %d", i, resp.StatusCode, wait)
		}
		if c.status != 200 && !strings.HasPrefix(readProblem(t, resp).Detail, c.detail) {
			t.Errorf("%d: not %s", i, c.detail)
		}
	}
}

// TestQueue: a free slot goes to the request whose client has the largest allowance, of equals to the first.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSlots(1, 10, time.Second)
		var order []string
		enter := func(name string, allowance float64) {
			if err := p.enter(context.Background(), func() float64 { return allowance }); err != nil {
				t.Error(name, err)
			}
			order = append(order, name)
			time.Sleep(time.Millisecond)
			p.leave()
		}
		go enter("working", 0)
		synctest.Wait()
		for _, q := range []struct {
			name      string
			allowance float64
		}{{"in debt", -100}, {"used some", 900}, {"new", 999}, {"new too", 999}, {"without a limit", math.Inf(1)}} {
			go enter(q.name, q.allowance)
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"working", "without a limit", "new", "new too", "used some", "in debt"}; !slices.Equal(order, want) {
			t.Errorf("the order is %q, want %q", order, want)
		}
		if n := p.working() + p.waiting.Load(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// TestPlaces: the numbers of requests that work and that wait are limited, and one that waits
// for a site has no slot.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSlots(1, 1, time.Second)
		ctx := context.Background()
		equal := func() float64 { return 0 }
		if err := p.enter(ctx, equal); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() { waited <- p.enter(ctx, equal) }()
		synctest.Wait()
		if !p.full() {
			t.Error("with one at work and one waiting there is room")
		}
		if err := p.enter(ctx, equal); err != errBusy {
			t.Errorf("beyond the queue: %v", err)
		}
		go p.withoutSlot(func() { time.Sleep(time.Minute) })
		synctest.Wait()
		if err := <-waited; err != nil || p.working() != 2 {
			t.Errorf("beside a request that waits for a site: %v, %d at work", err, p.working())
		}
		if err := p.enter(ctx, equal); err != errBusy { // after a second
			t.Errorf("patience: %v", err)
		}
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if err := p.enter(short, equal); err != context.DeadlineExceeded {
			t.Errorf("a client that has gone: %v", err)
		}
		go func() { waited <- p.enter(ctx, equal) }()
		time.Sleep(500 * time.Millisecond)
		if p.stuck(time.Minute) || !p.stuck(time.Millisecond) {
			t.Error("nothing was served for a second, and not for a minute")
		}
		p.leave()
		if err := <-waited; err != nil {
			t.Error(err)
		}
		p.leave()
		time.Sleep(time.Minute)
		p.leave() // the one that is back
		if n := p.working() + p.waiting.Load(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// TestSilentReaders: clients that do not read their responses delay no others, neither with
// files of the page nor with API responses.
func TestSilentReaders(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 16<<20)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page/robots.wasm", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) })
	mux.HandleFunc("GET /v1/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(large)))
		_, _ = w.Write(large)
	})
	mux.HandleFunc("GET /v1/check", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") })
	s := run(t, local(t, "concurrency=1", "queue=1", "write-time=1m"), mux, nil)
	for i := range 8 {
		conn, err := net.Dial("tcp", s.at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", []string{"/page/robots.wasm", "/v1/large"}[i%2])
		if _, err := conn.Read(make([]byte, 64)); err != nil { // the answer is on its way
			t.Fatal(err)
		}
	}
	for range 10 {
		resp := s.raw("GET /v1/check HTTP/1.1\r\nHost: localhost\r\n\r\n", false)
		if body, err := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(body) != "served" {
			t.Fatalf("beside silent readers: status %d, %s, %v", resp.StatusCode, body, err)
		}
	}
	if resp, err := http.Get(s.admin + "/readyz"); err != nil || resp.StatusCode != 200 {
		t.Errorf("/readyz: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	// They can only use so much memory; what needs none is served.
	s.gate.held.Add(mostHeld)
	defer s.gate.held.Add(-mostHeld)
	for request, status := range map[string]int{
		"GET /v1/check HTTP/1.1\r\nHost: localhost\r\n\r\n":                       200,
		"GET /v1/large HTTP/1.1\r\nHost: localhost\r\n\r\n":                       503,
		"GET /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx": 503,
	} {
		if resp := s.raw(request, false); resp.StatusCode != status {
			t.Errorf("without memory %.20s has status %d", request, resp.StatusCode)
		} else if status == 503 {
			readProblem(t, resp)
		}
	}
}

// TestGateBusy: with a full queue the status is 503 at once, and the admin listener responds.
func TestGateBusy(t *testing.T) {
	hold := make(chan struct{})
	entered := make(chan struct{}, 2)
	var ready error
	s := run(t, local(t, "concurrency=1", "queue=0"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-hold
	}), func(context.Context) error { return ready })
	go http.Get("http://" + s.at + "/v1/check") // its answer comes at the end
	<-entered
	resp := s.raw("GET /v1/check HTTP/1.1\r\nHost: localhost\r\n\r\n", false)
	if p := readProblem(t, resp); p.Type != "/problems/busy" || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("%+v %v", p, resp.Header)
	}
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "ready", "/debug/pprof/goroutine": "", "/debug/pprof/": "",
		"/metrics": "robots_requests_working 1\n", "/nothing": "", "/debug/pprof/cmdline": "",
	} {
		resp, err := http.Get(s.admin + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(body), want) || (resp.StatusCode != 200) != (path == "/nothing" || path == "/debug/pprof/cmdline") {
			t.Errorf("%s: status %d, no %q in %s", path, resp.StatusCode, want, body)
		}
	}
	close(hold)
}

// TestAdminHost: the admin listener answers IP addresses, localhost and names given with --host, and no
// page of another site.
func TestAdminHost(t *testing.T) {
	s := run(t, local(t, "host=robots"), answering(), nil)
	at := strings.TrimPrefix(s.admin, "http://")
	for _, c := range []struct {
		host, header string
		status       int
	}{
		{at, "", 200}, {"localhost", "", 200}, {"robots:8781", "", 200}, {"ROBOTS", "", 200}, {"10.1.2.3:8781", "", 200}, {"[2001:db8::1]:8781", "", 200},
		{"evil.example", "", 421}, {"evil.example:8781", "", 421}, {"127.0.0.1.evil.example", "", 421}, {"localhost.evil.example", "", 421},
		{"localhost", "Origin: http://evil.example\r\n", 403}, {"localhost", "Sec-Fetch-Site: cross-site\r\n", 403},
		{"localhost", "Sec-Fetch-Site: same-origin\r\n", 200}, {"localhost", "Sec-Fetch-Site: none\r\n", 200},
	} {
		for _, path := range []string{"/healthz", "/metrics", "/debug/pprof/goroutine"} {
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n", path, c.host, c.header)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != c.status {
				t.Errorf("%s of %s with %q: %v, %v, want %d", path, c.host, c.header, resp, err, c.status)
			}
			conn.Close()
		}
	}
}
