package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
	"golang.org/x/time/rate"
)

const (
	// mostHeld limits the bodies of concurrent requests and responses, in bytes.
	mostHeld = 256 << 20
	// mostWork limits the work of a request, without waits.
	mostWork = time.Second
	// workOfQuestion is the work that counts as one question in the rate limit.
	workOfQuestion = 10 * time.Millisecond
	// stuckAfter is how long requests can wait, with none being served, until the service is
	// not ready.
	stuckAfter = 10 * time.Second
)

// A Gate limits who can use a service, how much, and how much concurrently. It refuses with
// problems.
type Gate struct {
	c        *Config
	hosts    map[string]bool
	cross    *http.CrossOriginProtection
	tokens   []token
	proxies  []netip.Prefix
	public   bool // a client without a token can be anyone, not only a user of this machine
	clients  *clients
	places   *places
	held     atomic.Int64 // bytes of bodies and responses
	log      *slog.Logger
	metrics  *Metrics
	draining atomic.Bool
}

// NewGate returns a gate for a checked configuration. The error is about the file of tokens.
func NewGate(c *Config, log *slog.Logger, m *Metrics) (*Gate, error) {
	tokens, err := readTokens(c)
	if err != nil {
		return nil, err
	}
	g := &Gate{
		c: c, hosts: map[string]bool{"localhost": true}, cross: http.NewCrossOriginProtection(), tokens: tokens, log: log, metrics: m,
		public:  c.Public || len(c.Hosts) > 0 || len(c.TrustedProxies) > 0,
		clients: newClients(limit{rate.Limit(c.ClientRate), c.ClientBurst}, limit{rate.Limit(float64(c.NewOrigins) / 60), c.NewOrigins}, mostClients),
		places:  newPlaces(cmp.Or(c.Concurrency, runtime.GOMAXPROCS(0)), c.Queue, c.QueueTime),
	}
	if c.ClientRate == 0 {
		g.clients.questions = limit{}
	}
	for _, h := range c.Hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	for _, p := range c.TrustedProxies {
		prefix, err := parsePrefix(p)
		if err != nil {
			return nil, err
		}
		g.proxies = append(g.proxies, prefix)
	}
	for _, o := range c.CORS {
		if err := g.cross.AddTrustedOrigin(o); err != nil {
			return nil, err
		}
	}
	m.gauge("requests_working", "Requests in progress, including those that wait for sites.", func() float64 { return float64(g.places.working()) })
	m.gauge("requests_waiting_for_sites", "Requests in progress that wait for a site or a permit.", func() float64 { return float64(g.places.away.Load()) })
	m.gauge("queue_length", "Requests in the queue.", func() float64 { return float64(g.places.waiting.Load()) })
	m.gauge("queue_limit", "Maximum length of the queue.", func() float64 { return float64(c.Queue) })
	m.gauge("held_request_bytes", "Bytes of request and response bodies in memory.", func() float64 { return float64(g.held.Load()) })
	return g, nil
}

// An exchange is a request and its response.
type exchange struct {
	gate    *Gate
	id      string
	client  string
	outside atomic.Bool  // within Wait
	idle    atomic.Int64 // nanoseconds in Wait
	began   time.Time    // of the work

	mu        sync.Mutex
	questions int
	origin    string
	outcome   Outcome
}

func (v *exchange) answered(origin string, o Outcome) {
	v.gate.metrics.questions[o].inc()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.questions++
	v.origin, v.outcome = origin, o
}

// fault counts and logs a panic.
func (g *Gate) fault(id string, fault any) {
	g.metrics.panics.inc()
	g.log.Error("panic", "id", id, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
}

// charge takes n questions of a client with a rate limit.
func (v *exchange) charge(c Caller, n int) (ok bool, retryAfter int) {
	if !c.Anonymous {
		return true, 0
	}
	wait := v.gate.clients.ask(v.client, n)
	return wait == 0, seconds(wait)
}

// worked returns how long the request has worked, without waits.
func (v *exchange) worked() time.Duration { return time.Since(v.began) - time.Duration(v.idle.Load()) }

// Wrap returns a handler that checks requests before it passes them to next.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		a := &response{ResponseWriter: w, gate: g, request: r}
		id := r.Header.Get("X-Request-Id")
		if !plain(id, 64) {
			id = fmt.Sprintf("%016x", rand.Uint64())
			r.Header.Set("X-Request-Id", id)
		}
		v := &exchange{gate: g, id: id, client: network(clientAddress(r, g.proxies))}
		trace := r.Header.Get("Traceparent")
		traceID := traceOf(trace)
		h := w.Header()
		h.Set("X-Request-Id", id)
		h.Set("X-Content-Type-Options", "nosniff")
		if traceID != "" {
			h.Set("Traceparent", trace)
		}
		if g.draining.Load() {
			h.Set("Connection", "close") // the next request should go to another server
		}
		defer func() {
			fault := recover()
			if fault != nil && fault != http.ErrAbortHandler { //nolint:errorlint // panics are compared
				g.fault(id, fault)
				a.reset()
				NewProblem(Internal, "internal error; please report it with the X-Request-Id").Write(a, r)
			}
			a.send()
			took := time.Since(begun)
			g.metrics.requests[a.status/100].inc()
			g.metrics.took.Observe(took.Seconds())
			g.note(v, a, r, id, traceID, took)
			if fault == http.ErrAbortHandler || a.broken { //nolint:errorlint // panics are compared
				panic(http.ErrAbortHandler) // so that the client notices that the response is incomplete
			}
		}()
		if p := g.pass(a, r, v, next); p != nil {
			g.metrics.refused[ProblemType(strings.TrimPrefix(p.Type, "/problems/"))].inc()
			p.Write(a, r)
		}
	})
}

// pass checks a request, cheapest check first, and reads nothing from clients without
// permission. It returns why a request is refused.
func (g *Gate) pass(w *response, r *http.Request, v *exchange, next http.Handler) *Problem {
	control := http.NewResponseController(w.ResponseWriter)
	hasBody := r.ContentLength != 0 && r.Body != nil
	if hasBody {
		_ = control.SetReadDeadline(time.Now().Add(g.c.BodyTime)) // for refused requests too; not supported by test recorders
	}
	if n := int64(len(r.RequestURI)); n > int64(g.c.URLBytes) {
		return NewProblem(TooLarge, fmt.Sprintf("the URL has %d bytes; the limit is %d", n, int64(g.c.URLBytes)))
	}
	if p := g.checkHost(r); p != nil {
		return p
	}
	if p, done := g.checkOrigin(w, r); p != nil || done {
		return p
	}
	caller, p := g.identify(w, r, v.client)
	v.client = caller.Name
	if caller.Anonymous || p != nil {
		if wait := g.clients.ask(caller.Name, 1); wait > 0 {
			return NewProblem(RateLimited, fmt.Sprintf("%s sends more than %d requests per second", caller.Name, g.c.ClientRate)).After(seconds(wait))
		}
	}
	if p != nil {
		return p
	}
	ctx := WithCaller(r.Context(), caller)
	if isAsset(r) { // files in memory take no work
		w.direct = true
		next.ServeHTTP(w, r.WithContext(ctx))
		return nil
	}
	busy := func() *Problem { return NewProblem(Busy, "the service is overloaded; try again").After(1) }
	if hasBody {
		if p := checkEncoding(r); p != nil {
			return p
		}
		if g.places.full() {
			return busy() // before the body takes memory
		}
		body, p := g.readBody(w, r)
		defer func() { g.held.Add(-int64(cap(body))) }()
		if p != nil {
			return p
		}
		_ = control.SetReadDeadline(time.Time{}) // otherwise the wait for the next request would end this one
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	if len(r.TransferEncoding) > 0 {
		// net/http ignores a Content-Length beside Transfer-Encoding, with which a proxy might
		// have found another request in the connection (RFC 9112 section 6.3).
		w.Header().Set("Connection", "close")
	}
	switch err := g.places.enter(r.Context()); {
	case errors.Is(err, errBusy):
		return busy()
	case err != nil:
		return NewProblem(Busy, "the client has disconnected")
	}
	v.began = time.Now()
	defer func() {
		g.places.leave()
		if caller.Anonymous {
			g.clients.owe(caller.Name, int(v.worked()/workOfQuestion))
		}
	}()
	next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, exchangeKey{}, v)))
	return nil
}

// isAsset reports whether a request is for a file of the page.
func isAsset(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/page/"))
}

// checkEncoding refuses bodies in unsupported encodings.
func checkEncoding(r *http.Request) *Problem {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return NewProblem(UnsupportedType, fmt.Sprintf("the Content-Encoding %q is not supported; send the body without one", ask.Clip(e)))
	}
	_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if c := parameters["charset"]; c != "" && !strings.EqualFold(c, "utf-8") {
		return NewProblem(UnsupportedType, fmt.Sprintf("the charset %q is not supported; send UTF-8", ask.Clip(c)))
	}
	return nil
}

// checkHost refuses other host names: a page can point its own name at this address, and then
// send same-origin requests (DNS rebinding).
func (g *Gate) checkHost(r *http.Request) *Problem {
	name, addr := hostOf(r.Host)
	if g.hosts[name] || addr.IsValid() && addr.Zone() == "" && addr.Unmap().IsLoopback() {
		return nil
	}
	return NewProblem(ForbiddenHost, fmt.Sprintf("%q is not a host of this service; use localhost, or a name given with --host", ask.Clip(r.Host)))
}

// checkOrigin refuses requests of pages of other sites: all but GET, and those that can cause
// a fetch. It answers preflight requests for the origins of --cors.
func (g *Gate) checkOrigin(w *response, r *http.Request) (p *Problem, done bool) {
	origin := r.Header.Get("Origin")
	listed := origin != "" && slices.Contains(g.c.CORS, origin)
	h := w.Header()
	if len(g.c.CORS) > 0 {
		h.Add("Vary", "Origin")
	}
	if listed {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id, Traceparent")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return nil, true
		}
		return nil, false
	}
	foreign := g.cross.Check(r) != nil
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		switch site := r.Header.Get("Sec-Fetch-Site"); {
		case site == "cross-site" || site == "same-site":
			foreign = true
		case site == "" && origin != "": // a browser without that header
			_, host, _ := strings.Cut(origin, "://")
			foreign = foreign || host != r.Host
		}
	}
	if foreign {
		return NewProblem(CrossOrigin, "pages of other sites may not use this service; --cors names the origins that may"), false
	}
	return nil, false
}

// identify returns the client of a request, even of a refused one.
func (g *Gate) identify(w http.ResponseWriter, r *http.Request, address string) (Caller, *Problem) {
	caller := Caller{Name: address}
	text := bearer(r)
	switch t := find(g.tokens, text); {
	case t != nil:
		caller.Name, caller.Scopes = t.name, t.scopes
		return caller, nil
	case text != "" && len(g.tokens) > 0:
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		return caller, NewProblem(Unauthorized, "the token in Authorization is not valid")
	case len(g.tokens) > 0 && !g.c.Anonymous && !open(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		return caller, NewProblem(Unauthorized, "this service needs a token; send Authorization: Bearer and the token")
	}
	caller.Scopes = ScopeCheck | ScopeFetch | ScopePermit
	if g.public {
		caller.Anonymous = true
		name := caller.Name
		caller.NewOrigin = func() (bool, int) {
			wait := g.clients.origin(name)
			return wait == 0, seconds(wait)
		}
	}
	return caller, nil
}

// open reports whether a request is for the page or a document, which need no token.
func open(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/v1/")
}

// readBody reads the body of a request before it takes a place, so that a slow client takes
// none, and no more memory than it has sent. The memory counts in g.held.
func (g *Gate) readBody(w *response, r *http.Request) ([]byte, *Problem) {
	most := int64(g.c.BodyBytes)
	if r.URL.Path == "/v1/check" || r.URL.Path == "/page/ask" { // many questions, or two files
		most = int64(g.c.BatchBytes)
	}
	tooLarge := NewProblem(TooLarge, fmt.Sprintf("the body has more than %d bytes: send less at a time", most))
	if r.ContentLength > most {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	var body []byte
	for {
		if len(body) == cap(body) {
			grown := min(max(4<<10, 2*int64(cap(body))), most+1)
			if r.ContentLength >= 0 && grown < 64<<10 {
				grown = min(r.ContentLength+1, 64<<10) // up to this size the Content-Length is trusted
			}
			more := make([]byte, len(body), grown)
			added := int64(cap(more) - cap(body))
			if g.held.Add(added) > mostHeld {
				g.held.Add(-added)
				w.Header().Set("Connection", "close")
				return body, NewProblem(Busy, "the service is receiving too much data; try again").After(1)
			}
			copy(more, body)
			body = more
		}
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if int64(len(body)) > most {
			w.Header().Set("Connection", "close")
			return body, tooLarge
		}
		switch timeout, is := errors.AsType[net.Error](err); {
		case err == io.EOF: // as io.Reader says
			return body, nil
		case is && timeout.Timeout():
			w.Header().Set("Connection", "close")
			p := NewProblem(BadJSON, fmt.Sprintf("the body did not arrive within %s", g.c.BodyTime))
			p.Status = http.StatusRequestTimeout
			return body, p
		case err != nil:
			w.Header().Set("Connection", "close")
			return body, NewProblem(BadJSON, "the body is shorter than its Content-Length, or its chunks are malformed")
		}
	}
}

// note logs a request. Without --log-urls, the line contains no query and no text of the
// client.
func (g *Gate) note(v *exchange, a *response, r *http.Request, id, traceID string, took time.Duration) {
	if !g.log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	target := r.URL.Path
	if strings.HasPrefix(target, "/v1/permits/") {
		target = "/v1/permits/" // an id is a right
	}
	if g.c.LogURLs {
		target = r.RequestURI
		if len(target) > 2048 {
			target = target[:2048]
		}
	} else {
		target = ask.Clip(target)
	}
	list := []slog.Attr{
		slog.String("id", id), slog.String("client", v.client), slog.String("method", ask.Clip(r.Method)), slog.String("url", target),
		slog.Int("status", a.status), slog.Float64("ms", float64(took.Microseconds())/1000), slog.Int64("bytes", a.bytes),
	}
	v.mu.Lock()
	switch {
	case v.questions == 1:
		list = append(list, slog.String("origin", ask.Clip(v.origin)), slog.String("outcome", v.outcome.String()))
	case v.questions > 1:
		list = append(list, slog.Int("questions", v.questions))
	}
	v.mu.Unlock()
	if traceID != "" {
		list = append(list, slog.String("trace_id", traceID))
	}
	g.log.LogAttrs(r.Context(), slog.LevelInfo, "request", list...)
}

// traceOf returns the trace id of a traceparent, or "" (W3C Trace Context).
func traceOf(parent string) string {
	if len(parent) != 55 || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' {
		return ""
	}
	for i := range len(parent) {
		if b := parent[i]; (b < '0' || b > '9') && (b < 'a' || b > 'f') && b != '-' {
			return ""
		}
	}
	return parent[3:35]
}

// A response is kept until its handler has returned, so that a client that reads slowly takes
// no place, and a late panic is still a problem. It replaces plain-text errors, such as those
// of http.ServeMux.
type response struct {
	http.ResponseWriter
	gate    *Gate
	request *http.Request
	direct  bool // written at once
	status  int
	body    []byte
	bytes   int64 // written
	broken  bool  // the client did not get all of it
}

// Unwrap lets http.ResponseController reach the connection.
func (a *response) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *response) WriteHeader(status int) {
	if status < 200 {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	if a.status != 0 {
		return
	}
	a.status = status
	if a.direct {
		a.limitTime()
		a.ResponseWriter.WriteHeader(status)
	}
}

// limitTime sets the timeout for the client to read the response.
func (a *response) limitTime() {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.gate.c.WriteTime)) // not supported by test recorders
}

func (a *response) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.direct {
		n, err := a.ResponseWriter.Write(b)
		a.bytes += int64(n)
		return n, err
	}
	before := cap(a.body)
	a.body = append(a.body, b...)
	a.gate.held.Add(int64(cap(a.body) - before))
	return len(b), nil
}

// reset drops what was not sent.
func (a *response) reset() {
	if a.direct && a.status != 0 {
		a.broken = true
		return
	}
	a.gate.held.Add(-int64(cap(a.body)))
	a.status, a.body = 0, nil
	for _, name := range []string{"Content-Length", "Content-Type", "Content-Encoding", "Etag"} {
		a.Header().Del(name)
	}
}

// send writes the response to the client.
func (a *response) send() {
	if a.direct || a.broken {
		a.status = cmp.Or(a.status, http.StatusOK)
		return
	}
	defer func() { a.gate.held.Add(-int64(cap(a.body))) }()
	a.status = cmp.Or(a.status, http.StatusOK) // like net/http
	if a.status >= 400 && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.problem()
	} else if a.gate.held.Load() > mostHeld && len(a.body) > 64<<10 {
		a.reset()
		NewProblem(Busy, "the service is sending too much data; try again").After(1).Write(a, a.request)
	}
	a.limitTime()
	if a.Header().Get("Content-Length") == "" && a.request.Method != http.MethodHead && a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		a.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	a.ResponseWriter.WriteHeader(a.status)
	n, err := a.ResponseWriter.Write(a.body)
	a.bytes, a.broken = int64(n), err != nil && a.request.Method != http.MethodHead && n < len(a.body) && a.status != http.StatusNoContent && a.status != http.StatusNotModified
}

// problem replaces a plain text with a problem.
func (a *response) problem() {
	status, text, allow := a.status, string(a.body), a.Header().Get("Allow")
	a.reset()
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: strings.TrimSpace(text[:min(len(text), 256)])}
	switch status {
	case http.StatusNotFound:
		p = NewProblem(NotFound, "unknown path; /docs lists the operations")
	case http.StatusMethodNotAllowed:
		p = NewProblem(MethodNotAllowed, "the methods of this path are "+allow)
	}
	p.Write(a, a.request)
}
