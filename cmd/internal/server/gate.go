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
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
)

// mostBodies bounds what the bodies of all requests that have not been answered
// hold, in bytes.
const mostBodies = 256 << 20

// A Gate is what stands before a service: who may ask, how much, and how much of it
// at a time. It refuses with problems.
type Gate struct {
	c        *Config
	hosts    map[string]bool
	cross    *http.CrossOriginProtection
	tokens   []token
	proxies  []netip.Prefix
	unknown  bool // a caller without a token may be anybody, and not only a user of this machine
	clients  *clients
	queue    *queue
	bodies   atomic.Int64
	log      *slog.Logger
	metrics  *Metrics
	draining atomic.Bool
}

// NewGate returns a gate by a configuration that was checked. The error is about
// the file of tokens.
func NewGate(c *Config, log *slog.Logger, m *Metrics) (*Gate, error) {
	tokens, err := readTokens(c)
	if err != nil {
		return nil, err
	}
	g := &Gate{
		c: c, hosts: map[string]bool{"localhost": true}, cross: http.NewCrossOriginProtection(), tokens: tokens, log: log, metrics: m,
		unknown: c.Public || len(c.Hosts) > 0 || len(c.TrustedProxies) > 0,
		clients: newClients(newRate(c.ClientRate, time.Second, c.ClientBurst), newRate(c.NewOrigins, time.Minute, c.NewOrigins), mostClients),
		queue:   newQueue(cmp.Or(c.Concurrency, runtime.GOMAXPROCS(0)), c.Fetches, c.Queue, c.QueueTime),
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
	m.gauge("requests_working", "Requests under way, with those that wait for sites.", func() float64 { n, _, _ := g.queue.length(); return float64(n) })
	m.gauge("requests_waiting_for_sites", "Requests under way that wait for a site or a turn.", func() float64 { _, n, _ := g.queue.length(); return float64(n) })
	m.gauge("queue_length", "Requests that wait for their turn.", func() float64 { _, _, n := g.queue.length(); return float64(n) })
	m.gauge("queue_limit", "Most requests that may wait.", func() float64 { return float64(c.Queue) })
	return g, nil
}

// A passage is one request on its way through the gates.
type passage struct {
	gate   *Gate
	id     string
	client string
	lent   atomic.Bool // Wait is under way

	mu        sync.Mutex
	questions int
	origin    string
	outcome   Outcome
}

func (v *passage) answered(origin string, o Outcome) {
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

func (v *passage) charge(n int) (ok bool, retryAfter int) {
	wait := v.gate.clients.ask(v.client, n)
	return wait == 0, seconds(wait)
}

// Wrap returns a handler that lets through to next what the gates let through.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		a := &response{ResponseWriter: w, gate: g, request: r}
		id := r.Header.Get("X-Request-Id")
		if !plain(id, 64) {
			id = fmt.Sprintf("%016x", rand.Uint64())
			r.Header.Set("X-Request-Id", id)
		}
		v := &passage{gate: g, id: id, client: network(clientAddress(r, g.proxies))}
		trace := r.Header.Get("Traceparent")
		traceID := traceOf(trace)
		h := w.Header()
		h.Set("X-Request-Id", id)
		h.Set("X-Content-Type-Options", "nosniff")
		if traceID != "" {
			h.Set("Traceparent", trace)
		}
		if g.draining.Load() {
			h.Set("Connection", "close") // the next request goes to another server
		}
		defer func() {
			fault := recover()
			if fault != nil && fault != http.ErrAbortHandler { //nolint:errorlint // panics are compared
				g.fault(id, fault)
				a.broken = a.status != 0 && !a.plain
				if a.status == 0 {
					NewProblem(Internal, "this is a fault of the service; its log has it as "+id).Write(a, r)
				}
			}
			a.finish()
			took := time.Since(begun)
			g.metrics.requests[a.status/100].inc()
			g.metrics.took.observe(took.Seconds())
			g.note(v, a, r, id, traceID, took)
			if fault != nil && (a.broken || fault == http.ErrAbortHandler) { //nolint:errorlint // panics are compared
				panic(http.ErrAbortHandler) // the client is to see that the answer has no end
			}
		}()
		if p := g.pass(a, r, v, next); p != nil {
			g.metrics.refused[ProblemType(strings.TrimPrefix(p.Type, "/problems/"))].inc()
			p.Write(a, r)
		}
	})
}

// pass is the gates, in order: what costs least comes first, and nothing is read
// or remembered of who has no right to ask. It returns why a request is refused.
func (g *Gate) pass(w *response, r *http.Request, v *passage, next http.Handler) *Problem {
	control := http.NewResponseController(w.ResponseWriter)
	hasBody := r.ContentLength != 0 && r.Body != nil
	if hasBody {
		// Whoever is refused has no longer either.
		_ = control.SetReadDeadline(time.Now().Add(g.c.BodyTime)) // a test's recorder has none
	}
	if n := int64(len(r.RequestURI)); n > g.c.URLBytes {
		return NewProblem(TooLarge, fmt.Sprintf("the URL has %d bytes, at most %d are read", n, g.c.URLBytes))
	}
	if p := g.checkHost(r); p != nil {
		return p
	}
	if p, done := g.checkOrigin(w, r); p != nil || done {
		return p
	}
	caller, p := g.identify(w, r, v.client)
	v.client = caller.Name
	if wait := g.clients.ask(caller.Name, 1); wait > 0 {
		return NewProblem(RateLimited, fmt.Sprintf("%s asks more than %d questions a second", caller.Name, g.c.ClientRate)).After(seconds(wait))
	}
	if p != nil {
		return p
	}
	busy := func() *Problem { return NewProblem(Busy, "the service has more to do than it can: ask again").After(1) }
	if hasBody && g.queue.refuses() {
		return busy() // what the body costs is kept for those who are answered
	}
	if hasBody {
		body, p := g.readBody(w, r)
		defer func() { g.bodies.Add(-int64(cap(body))) }()
		if p != nil {
			return p
		}
		_ = control.SetReadDeadline(time.Time{}) // else the wait for the next request would end this one
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	switch err := g.queue.enter(r.Context()); {
	case errors.Is(err, errBusy):
		return busy()
	case err != nil:
		return NewProblem(Busy, "the client has gone")
	}
	defer g.queue.leave()
	ctx := context.WithValue(WithCaller(r.Context(), caller), passageKey{}, v)
	next.ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// checkHost refuses the names of others: a page can have a name of its own lead to
// this address, and ask as if it were of the same site (DNS rebinding).
func (g *Gate) checkHost(r *http.Request) *Problem {
	name, addr := hostOf(r.Host)
	if g.hosts[name] || addr.IsValid() && addr.Zone() == "" && addr.Unmap().IsLoopback() {
		return nil
	}
	return NewProblem(ForbiddenHost, fmt.Sprintf("%q is no host of this service: it is asked as localhost, or by a name of --host", ask.Clip(r.Host)))
}

// checkOrigin refuses what a page of another site has its reader's browser ask:
// everything that is no GET, and what may cause a fetch. It answers the questions
// of browsers about that for the origins of --cors.
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
		case site == "cross-site":
			foreign = true
		case site == "" && origin != "": // a browser without that header
			_, host, _ := strings.Cut(origin, "://")
			foreign = foreign || host != r.Host
		}
	}
	if foreign {
		return NewProblem(CrossOrigin, "a page of another site may not ask this service; --cors names the origins that may"), false
	}
	return nil, false
}

// identify says who asks. Of a caller who may not ask at all it says who that is,
// too.
func (g *Gate) identify(w http.ResponseWriter, r *http.Request, address string) (Caller, *Problem) {
	caller := Caller{Name: address}
	text := bearer(r)
	switch t := find(g.tokens, text); {
	case t != nil:
		caller.Name, caller.Scopes = t.name, t.scopes
		return caller, nil
	case text != "" && len(g.tokens) > 0:
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		return caller, NewProblem(Unauthorized, "the token in Authorization is none of this service")
	case len(g.tokens) > 0 && !g.c.Anonymous && !open(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		return caller, NewProblem(Unauthorized, "this service answers with a token alone: send Authorization: Bearer and the token")
	}
	caller.Scopes = ScopeCheck | ScopeFetch | ScopePermit
	if g.unknown {
		caller.Anonymous = true
		name := caller.Name
		caller.NewOrigin = func() (bool, int) {
			wait := g.clients.origin(name)
			return wait == 0, seconds(wait)
		}
	}
	return caller, nil
}

// open reports whether a request is for the page or a document, which tell
// nothing and cost nothing.
func open(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/v1/")
}

// readBody reads the body of a request before it waits for its turn, so that a
// slow one costs no place, and whatever it says of its length, no more memory than
// what has come. What it has counts in g.bodies.
func (g *Gate) readBody(w *response, r *http.Request) ([]byte, *Problem) {
	most := g.c.BodyBytes
	if r.URL.Path == "/v1/check" || r.URL.Path == "/page/ask" { // many questions, two files
		most = g.c.BatchBytes
	}
	tooLarge := NewProblem(TooLarge, fmt.Sprintf("the body has more than %d bytes", most))
	if r.ContentLength > most {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	var body []byte
	for {
		if len(body) == cap(body) {
			grown := min(max(4<<10, 2*int64(cap(body))), most+1)
			if r.ContentLength >= 0 && grown < 64<<10 {
				grown = min(r.ContentLength+1, 64<<10) // honest lengths are usual, and cheap to believe so far
			}
			more := make([]byte, len(body), grown)
			added := int64(cap(more) - cap(body))
			if g.bodies.Add(added) > mostBodies {
				g.bodies.Add(-added)
				w.Header().Set("Connection", "close")
				return body, NewProblem(Busy, "the service has too many bodies to read: ask again").After(1)
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
			p := NewProblem(BadJSON, fmt.Sprintf("the body did not come within %s", g.c.BodyTime))
			p.Status = http.StatusRequestTimeout
			return body, p
		case err != nil:
			w.Header().Set("Connection", "close")
			return body, NewProblem(BadJSON, "the body ends before its length, or its chunks are malformed")
		}
	}
}

// note writes the line of a request into the log. Without --log-urls it has no
// query and no text that was sent.
func (g *Gate) note(v *passage, a *response, r *http.Request, id, traceID string, took time.Duration) {
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

// traceOf returns the trace of a traceparent, "" if it is none (W3C Trace Context).
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

// A response is an answer on its way out. It sets the time that its client has to
// take it, counts it, and makes a problem of a plain text that says what went wrong
// in a handler that knows no problems, such as http.ServeMux.
type response struct {
	http.ResponseWriter
	gate    *Gate
	request *http.Request
	status  int
	bytes   int64
	foreign []byte // of a plain text that becomes a problem
	plain   bool
	broken  bool // there was a part of an answer when a fault came
}

// Unwrap lets http.ResponseController reach the connection.
func (a *response) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *response) WriteHeader(status int) {
	if a.status != 0 {
		return
	}
	if status < 200 {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	a.status = status
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.gate.c.WriteTime)) // a test's recorder has none
	if status >= 400 && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.plain = true
		return // finish writes it
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *response) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.plain {
		a.foreign = append(a.foreign, b[:min(len(b), 256-min(256, len(a.foreign)))]...)
		return len(b), nil
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// finish writes a problem in place of a plain text.
func (a *response) finish() {
	if a.status == 0 {
		a.status = http.StatusOK // as net/http takes it
		return
	}
	if !a.plain {
		return
	}
	a.plain = false
	a.Header().Del("Content-Length")
	p := &Problem{Type: "about:blank", Title: http.StatusText(a.status), Status: a.status, Detail: strings.TrimSpace(string(a.foreign))}
	switch a.status {
	case http.StatusNotFound:
		p = NewProblem(NotFound, "there is nothing at this path")
	case http.StatusMethodNotAllowed:
		p = NewProblem(MethodNotAllowed, a.request.Method+" is not a method of this path: it has "+a.Header().Get("Allow"))
	}
	p.Write(rest{a}, a.request)
}

// rest writes an answer whose status is known.
type rest struct{ *response }

func (w rest) WriteHeader(status int) { w.ResponseWriter.WriteHeader(status) }
