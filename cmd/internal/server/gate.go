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
	"net/url"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"golang.org/x/sync/errgroup"
)

// firstBuffer is the largest part of a body for which there is memory before it arrives.
const firstBuffer = 4 << 10

// stuckAfter is how long requests can wait, with none being served, until the service is not ready.
const stuckAfter = 10 * time.Second

// A Gate limits who can use a service, how much, and how much concurrently. It refuses with
// problems.
type Gate struct {
	settings atomic.Pointer[settings]
	cross    *http.CrossOriginProtection
	clients  *lru.Cache[string, *limits]
	places   *places
	held     atomic.Int64 // bytes of bodies and responses
	open     atomic.Int64 // requests without an answer
	log      *slog.Logger
	metrics  *Metrics
	draining atomic.Bool
}

// NewGate returns a gate for a checked configuration. The error is about the file of tokens.
func NewGate(c *Config, log *slog.Logger, m *Metrics) (*Gate, error) {
	read, err := newSettings(c)
	if err != nil {
		return nil, err
	}
	g := &Gate{
		cross: http.NewCrossOriginProtection(), log: log, metrics: m,
		places: newPlaces(cmp.Or(c.Concurrency, runtime.GOMAXPROCS(0)), c.Queue, c.QueueTime),
	}
	g.settings.Store(read)
	g.clients, _ = lru.New[string, *limits](mostClients) // no error: the size is above 0
	m.gauge("requests_working", "Requests in progress, including those that wait for sites.", func() float64 { return float64(g.places.working()) })
	m.gauge("requests_waiting_for_sites", "Requests in progress that wait for a site or a permit.", func() float64 { return float64(g.places.away.Load()) })
	m.gauge("queue_length", "Requests in the queue.", func() float64 { return float64(g.places.waiting.Load()) })
	m.gauge("queue_limit", "Maximum length of the queue.", func() float64 { return float64(c.Queue) })
	m.gauge("held_request_bytes", "Bytes of request and response bodies in memory.", func() float64 { return float64(g.held.Load()) })
	return g, nil
}

// settings are what a Gate has read of a configuration. A request keeps those with which it began.
type settings struct {
	*Config
	hosts   map[string]bool
	tokens  []token
	proxies []netip.Prefix
	public  bool // a client without a token can be anyone, not only a user of this machine
}

func newSettings(c *Config) (*settings, error) {
	tokens, err := readTokens(c)
	if err != nil {
		return nil, err
	}
	s := &settings{Config: c, hosts: map[string]bool{"localhost": true}, tokens: tokens, public: c.Public || len(c.Hosts) > 0 || len(c.TrustedProxies) > 0}
	for _, h := range c.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	for _, p := range c.TrustedProxies {
		prefix, err := ask.Prefix(p)
		if err != nil {
			return nil, err
		}
		s.proxies = append(s.proxies, prefix)
	}
	return s, nil
}

// Reloaded are the settings that Reload changes, by name; the others last as long as the process.
var Reloaded = []string{
	"host", "cors", "trusted-proxy", "tokens-file", "client-rate", "client-burst", "new-origins", "body-size", "batch-size", "body-time", "write-time",
	"drain-delay", "grace", "log-urls",
}

// Reload reads the tokens again and applies the settings in Reloaded of a checked configuration to all
// further requests. Connections and requests in progress continue, except for requests with a token that is
// removed or changed: they end with the status 401. After an error the settings are those before.
func (g *Gate) Reload(c *Config) error {
	old := g.settings.Load()
	merged := *old.Config
	merged.Hosts, merged.CORS, merged.TrustedProxies = c.Hosts, c.CORS, c.TrustedProxies
	merged.TokensFile, merged.Tokens = c.TokensFile, c.Tokens
	merged.ClientRate, merged.ClientBurst, merged.NewOrigins = c.ClientRate, c.ClientBurst, c.NewOrigins
	merged.BodyBytes, merged.BatchBytes = c.BodyBytes, c.BatchBytes
	merged.BodyTime, merged.WriteTime = c.BodyTime, c.WriteTime
	merged.DrainDelay, merged.Grace = c.DrainDelay, c.Grace
	merged.LogURLs = c.LogURLs
	read, err := newSettings(&merged)
	switch {
	case err != nil:
		return err
	case len(old.tokens) > 0 && len(read.tokens) == 0:
		return errors.New("there are no tokens any more; restart the service to answer clients without one")
	}
	kept := map[context.Context]bool{}
	for i := range read.tokens {
		t := &read.tokens[i]
		if j := slices.IndexFunc(old.tokens, func(before token) bool { return before.same(t) }); j >= 0 {
			*t = old.tokens[j]
			kept[t.valid] = true
		}
	}
	g.settings.Store(read)
	for _, t := range old.tokens {
		if !kept[t.valid] {
			t.removed()
		}
	}
	if old.ClientRate != read.ClientRate || old.ClientBurst != read.ClientBurst || old.NewOrigins != read.NewOrigins {
		g.clients.Purge()
	}
	return nil
}

// Wrap returns a handler that checks requests before it passes them to next.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &exchange{
			ResponseWriter: w, gate: g, settings: g.settings.Load(), arrived: time.Now(),
			budget: budget.New(budget.Steps, budget.Bytes), files: budget.New(0, budget.FileBytes),
		}
		v.Caller = Caller{Name: network(clientAddress(r, v.settings.proxies)), limits: unlimited}
		v.request = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, v))
		g.open.Add(1)
		defer g.open.Add(-1)
		defer v.end()
		if c, ok := r.Context().Value(connKey{}).(*problemConn); ok {
			c.passed = true
		}
		v.identify()
		// A request meets these checks in this order: the cheapest first, and nothing is read
		// from a client without permission.
		for _, check := range []func(*http.Request) *Problem{v.checkURL, v.checkHost, v.checkOrigin, v.authenticate, v.receive, v.enter} {
			if p := check(v.request); p != nil {
				p.Write(v, r)
				return
			}
			if v.status != 0 {
				return // a preflight request
			}
		}
		next.ServeHTTP(v, v.request)
	})
}

// An exchange is a request and the writer of its response. Handlers find it in the context of
// the request. Once the response begins, the request has no place, so that a client that reads
// slowly takes none. Handlers therefore write when they are done.
type exchange struct {
	http.ResponseWriter
	Caller
	token    *token // nil without one
	gate     *Gate  // nil without a gate
	settings *settings
	request  *http.Request
	release  func() // of what the request's context holds, or nil
	id       string
	traceID  string
	arrived  time.Time

	budget *budget.Budget
	files  *budget.Budget // bytes of records
	held   atomic.Int64   // bytes
	placed bool           // it has a place, and does not wait for a site

	questions int
	origin    string
	outcome   Outcome

	status  int
	bytes   int64 // written
	discard bool  // a problem has replaced the response
}

type exchangeKey struct{}

// exchangeOf returns the exchange in a context. Without a gate, its client has all rights.
func exchangeOf(ctx context.Context) *exchange {
	if v, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return v
	}
	return &exchange{budget: budget.New(budget.Steps, budget.Bytes), files: budget.New(0, budget.FileBytes), Caller: Caller{Name: "local", Scopes: allScopes, limits: unlimited}}
}

var (
	identifier  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`) // W3C Trace Context
)

// identify gives the exchange the ids of the client, or its own, and sets the headers of all
// responses.
func (v *exchange) identify() {
	r, h := v.request, v.Header()
	if v.id = r.Header.Get("X-Request-Id"); !identifier.MatchString(v.id) {
		v.id = fmt.Sprintf("%016x", rand.Uint64())
	}
	h.Set("X-Request-Id", v.id)
	h.Set("X-Content-Type-Options", "nosniff")
	if trace := traceparent.FindStringSubmatch(r.Header.Get("Traceparent")); trace != nil {
		v.traceID = trace[1]
		h.Set("Traceparent", trace[0])
	}
	if v.gate.draining.Load() || len(r.TransferEncoding) > 0 {
		// The next request should go to another server. And net/http ignores a Content-Length
		// beside Transfer-Encoding, with which a proxy might have found another request in the
		// connection (RFC 9112 section 6.3).
		h.Set("Connection", "close")
	}
}

// checkURL refuses long URLs.
func (v *exchange) checkURL(r *http.Request) *Problem {
	if r.ContentLength != 0 {
		// Also for the body of a refused request. net/http ends the limit with the body. Test
		// recorders do not support it.
		_ = http.NewResponseController(v.ResponseWriter).SetReadDeadline(time.Now().Add(v.settings.BodyTime))
	}
	if n, most := len(r.RequestURI), int(v.settings.URLBytes); n > most {
		return NewProblem(TooLarge, fmt.Sprintf("the URL has %d bytes; the limit is %d", n, most))
	}
	return nil
}

// checkHost refuses other host names: a page can point its own name at this address, and then
// send same-origin requests (DNS rebinding).
func (v *exchange) checkHost(r *http.Request) *Problem { return v.settings.checkHost(r.Host) }

func (s *settings) checkHost(host string) *Problem {
	name, addr := hostOf(host)
	if s.hosts[name] || addr.IsValid() && addr.Zone() == "" && addr.Unmap().IsLoopback() {
		return nil
	}
	detail := "the Host header is missing"
	if host != "" {
		detail = fmt.Sprintf("%q is not a host of this service; use localhost, or a name given with --host", ask.Clip(host))
	}
	return NewProblem(ForbiddenHost, detail)
}

// checkOrigin refuses requests of pages of other sites: all but GET, and those that can cause
// a fetch. It answers preflight requests for the origins of --cors.
func (v *exchange) checkOrigin(r *http.Request) *Problem {
	h, allowed := v.Header(), v.settings.CORS
	if len(allowed) > 0 {
		h.Add("Vary", "Origin")
	}
	if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(allowed, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id, Traceparent")
			h.Set("Access-Control-Max-Age", "600")
			v.WriteHeader(http.StatusNoContent)
		}
		return nil
	}
	checked := *r
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		checked.Method = http.MethodPost // GET can cause a fetch too
	}
	if v.gate.cross.Check(&checked) != nil {
		return NewProblem(CrossOrigin, "pages of other sites may not use this service; --cors names the origins that may")
	}
	return nil
}

// authenticate finds the client by its token, and counts the question of one without.
func (v *exchange) authenticate(r *http.Request) (p *Problem) {
	g, text := v.gate, bearer(r)
	if t := find(v.settings.tokens, text); t != nil {
		v.Name, v.Scopes = t.name, t.scopes
		ctx, cancel := context.WithCancel(r.Context())
		stop := context.AfterFunc(t.valid, cancel)
		v.token, v.request = t, r.WithContext(ctx)
		v.release = func() {
			stop()
			cancel()
		}
		return nil
	}
	switch {
	case len(v.settings.tokens) == 0:
	case text != "":
		v.Header().Set("WWW-Authenticate", invalidToken)
		p = NewProblem(Unauthorized, "the token in Authorization is not valid")
	case !v.settings.Anonymous && r.URL.Path == "/page/ask":
		p = NewProblem(Unauthorized, "this service needs tokens, with which its page needs WebAssembly: use a release, and a browser that supports it")
	case !v.settings.Anonymous && !isOpen(r):
		p = NewProblem(Unauthorized, "this service needs a token; send Authorization: Bearer and the token")
	}
	v.Scopes, v.Caller.Anonymous = allScopes, v.settings.public
	if v.settings.public || p != nil {
		v.limits = g.limitsOf(v.Name)
	}
	if wait := take(v.limits.questions, 1); wait > 0 {
		return NewProblem(RateLimited, fmt.Sprintf("%s sends more than %d requests per second", v.Name, v.settings.ClientRate)).After(wait)
	}
	return p
}

// invalidToken is the WWW-Authenticate of a wrong token (RFC 6750 section 3.1).
const invalidToken = `Bearer error="invalid_token"`

// isOpen reports whether a request is for the page or a document, which need no token.
func isOpen(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/v1/")
}

var errTooMuch = errors.New("the requests in progress have too many bytes")

// receive reads the body before the request takes a place, so that a slow client takes none,
// and no more memory than it has sent.
func (v *exchange) receive(r *http.Request) *Problem {
	if r.ContentLength == 0 {
		return nil
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return NewProblem(UnsupportedType, fmt.Sprintf("the Content-Encoding %q is not supported; send the body without one", ask.Clip(e)))
	}
	_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if c := parameters["charset"]; c != "" && !strings.EqualFold(c, "utf-8") {
		return NewProblem(UnsupportedType, fmt.Sprintf("the charset %q is not supported; send UTF-8", ask.Clip(c)))
	}
	if v.gate.places.full() {
		return overloaded()
	}
	most := int64(v.settings.BodyBytes)
	if r.URL.Path == "/v1/check" || r.URL.Path == "/page/ask" { // many questions, or two files
		most = int64(v.settings.BatchBytes)
	}
	body, err := []byte(nil), error(&http.MaxBytesError{Limit: most})
	if r.ContentLength <= most {
		received := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), firstBuffer)+bytes.MinRead))
		_, err = received.ReadFrom(holding{http.MaxBytesReader(v.ResponseWriter, r.Body, most), v})
		body = received.Bytes()
	}
	if err == nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return nil
	}
	v.Header().Set("Connection", "close")
	_, large := errors.AsType[*http.MaxBytesError](err)
	timeout, failed := errors.AsType[net.Error](err)
	switch {
	case large:
		return NewProblem(TooLarge, fmt.Sprintf("the body has more than %d bytes: send less at a time", most))
	case errors.Is(err, errTooMuch):
		return NewProblem(Busy, "the service is receiving too much data; try again").After(time.Second)
	case failed && timeout.Timeout():
		p := NewProblem(BadJSON, fmt.Sprintf("the body did not arrive within %s", v.settings.BodyTime))
		p.Status = http.StatusRequestTimeout
		return p
	}
	return NewProblem(BadJSON, "the body is shorter than its Content-Length, or its chunks are malformed")
}

// holding counts what is read as memory of an exchange.
type holding struct {
	io.Reader
	v *exchange
}

func (h holding) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if !h.v.hold(int64(n)) {
		return n, errTooMuch
	}
	return n, err
}

// hold counts memory of the exchange until its end, and reports whether all exchanges are within
// the limit.
func (v *exchange) hold(n int64) bool {
	v.held.Add(n)
	return v.gate.held.Add(n) <= mostHeld
}

// Needs returns a problem if the client of a request with a context lacks one of the scopes, for handlers
// of other packages.
func Needs(ctx context.Context, s Scope) *Problem { return exchangeOf(ctx).needs(s) }

// Budget returns the budget of the request with a context, for handlers of other packages.
func Budget(ctx context.Context) *budget.Budget { return exchangeOf(ctx).budget }

// keep takes the bytes of a record that the request refers to, or returns a problem.
func (v *exchange) keep(n int) *Problem {
	if err := v.files.Hold(n); err != nil {
		return OverBudget(err)
	}
	if v.gate != nil && !v.hold(int64(n)) {
		return NewProblem(Busy, "the service holds too many files; try again").After(time.Second)
	}
	return nil
}

func overloaded() *Problem {
	return NewProblem(Busy, "the service is overloaded; try again").After(time.Second)
}

// enter takes a place for all requests but those for files of the page, which are in memory.
func (v *exchange) enter(r *http.Request) *Problem {
	if isOpen(r) && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/page/")) {
		return nil
	}
	if err := v.gate.places.enter(r.Context()); errors.Is(err, errBusy) {
		return overloaded()
	} else if err != nil {
		return NewProblem(Busy, "the client has disconnected")
	}
	v.placed = true
	return nil
}

// OverBudget returns the problem of a request that exceeds its budget.
func OverBudget(err error) *Problem { return NewProblem(TooLarge, err.Error()) }

// wait calls f, which waits for a site or a permit, and releases the request's place
// meanwhile. Within another wait it only calls f.
func (v *exchange) wait(f func()) {
	if !v.placed {
		f()
		return
	}
	v.placed = false
	defer func() { v.placed = true }()
	v.gate.places.outside(f)
}

// inParallel calls get for all missing sites concurrently, within one wait.
func inParallel[T any](ctx context.Context, missing map[robots.Origin]T, get func(robots.Origin, T)) {
	if len(missing) == 0 {
		return
	}
	exchangeOf(ctx).wait(func() {
		var gets errgroup.Group
		gets.SetLimit(mostParallel)
		for origin, site := range missing {
			gets.Go(func() error {
				get(origin, site)
				return nil
			})
		}
		_ = gets.Wait()
	})
}

// charge counts the questions of a batch, besides the one of each request, against the rate
// limit of the client, before any is answered.
func (v *exchange) charge(n int) *Problem {
	wait, most := take(v.limits.questions, max(0, n-1)), v.limits.questions.Burst()
	switch {
	case wait <= 0:
		return nil
	case n-1 > most:
		return NewProblem(RateLimited, fmt.Sprintf("%d questions exceed your limit of %d at a time", n, most)).After(wait)
	}
	return NewProblem(RateLimited, fmt.Sprintf("%d questions exceed your current rate limit; send fewer at a time, or later", n)).After(wait)
}

// An Outcome is the outcome of a question, for logs and metrics.
type Outcome uint8

// The outcomes.
const (
	OutcomeAllowed    Outcome = iota
	OutcomeDisallowed         // by a rule or by the dialect's policy
	OutcomeUndecided          // the site is unreachable
	OutcomePending            // the fetch is in progress
	OutcomeBad                // invalid
	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "disallowed", "undecided", "pending", "bad"}

// String returns the name in logs and metrics.
func (o Outcome) String() string { return outcomeNames[o] }

// answered counts the outcome of a question. The origin is logged if it is the only question of
// the request; it is in no metric.
func (v *exchange) answered(origin string, o Outcome) {
	v.questions++
	v.origin, v.outcome = origin, o
	if v.gate != nil {
		v.gate.metrics.questions.WithLabelValues(o.String()).Inc()
	}
}

// leave releases the place of the request, and counts its work against the rate limit.
func (v *exchange) leave() {
	if v.placed {
		v.placed = false
		v.gate.places.leave()
		v.limits.owe(v.budget.Used())
	}
}

// WriteHeader begins the response, or a problem instead if that is a plain-text error, such as
// those of http.ServeMux, if clients that do not read hold too much memory, or if the token was removed
// meanwhile.
func (v *exchange) WriteHeader(status int) {
	if v.status != 0 {
		return
	}
	h := v.Header()
	size, _ := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	full := v.placed && !v.hold(size) && size > 64<<10
	v.leave()
	switch {
	case v.token != nil && v.token.valid.Err() != nil:
		v.token = nil
		h.Set("WWW-Authenticate", invalidToken)
		NewProblem(Unauthorized, "the token in Authorization is not valid any more").Write(v, v.request)
		v.discard = true
		return
	case status >= 400 && strings.HasPrefix(h.Get("Content-Type"), "text/plain"):
		p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: "the request is not valid"}
		switch status {
		case http.StatusNotFound:
			p = NewProblem(NotFound, "unknown path; /docs lists the operations")
		case http.StatusMethodNotAllowed:
			p = NewProblem(MethodNotAllowed, "this path accepts only "+h.Get("Allow"))
		}
		p.Write(v, v.request)
		v.discard = true
		return
	case full:
		NewProblem(Busy, "the service is sending too much data; try again").After(time.Second).Write(v, v.request)
		v.discard = true
		return
	}
	v.status = status
	_ = http.NewResponseController(v.ResponseWriter).SetWriteDeadline(time.Now().Add(v.settings.WriteTime)) // not supported by test recorders
	v.ResponseWriter.WriteHeader(status)
}

func (v *exchange) Write(b []byte) (int, error) {
	v.WriteHeader(http.StatusOK)
	if v.discard {
		return len(b), nil
	}
	n, err := v.ResponseWriter.Write(b)
	v.bytes += int64(n)
	return n, err
}

// end completes the exchange, after a panic too. It is deferred.
func (v *exchange) end() {
	fault := recover()
	if fault != nil && fault != http.ErrAbortHandler { //nolint:errorlint // panics are compared
		v.gate.metrics.panics.Inc()
		v.gate.log.Error("panic", "id", v.id, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
		if v.status == 0 {
			NewProblem(Internal, "internal error; please report it with the X-Request-Id").Write(v, v.request)
			fault = nil
		}
	}
	v.leave()
	if v.release != nil {
		v.release()
	}
	v.gate.held.Add(-v.held.Load())
	v.status = cmp.Or(v.status, http.StatusOK) // like net/http
	took := time.Since(v.arrived)
	v.gate.metrics.requests.WithLabelValues(fmt.Sprintf("%dxx", v.status/100)).Inc()
	v.gate.metrics.took.Observe(took.Seconds())
	v.note(took)
	v.request.Body = http.NoBody // a fetch in the background can outlive the exchange
	if fault != nil {
		panic(http.ErrAbortHandler) // so that the client notices that the response is incomplete
	}
}

// loggedURL returns the path and the query of a request. Values that are a token, the id of a permit or a
// URL with a password are xxxxx.
func (v *exchange) loggedURL() string {
	u := v.request.URL
	if u.RawQuery == "" {
		return ask.Clip(u.Path)
	}
	secret := func(raw string) bool {
		text, err := url.QueryUnescape(raw)
		if err != nil {
			return true
		}
		site, err := url.Parse(text)
		return find(v.settings.tokens, strings.TrimPrefix(text, "Bearer ")) != nil || strings.HasPrefix(text, permitHead) || err == nil && site.User != nil
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if secret(name) {
			name = "xxxxx"
		}
		if secret(value) || strings.HasSuffix(name, "token") {
			value = "xxxxx"
		}
		if strings.Contains(pair, "=") {
			name += "=" + value
		}
		pairs[i] = name
	}
	text := u.EscapedPath() + "?" + strings.Join(pairs, "&")
	return text[:min(len(text), 2048)]
}

// note logs a request. Without --log-urls, the line contains no query and no text of the
// client.
func (v *exchange) note(took time.Duration) {
	r := v.request
	if !v.gate.log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	target := ask.Clip(r.URL.Path)
	switch cleaned := path.Clean("/" + r.URL.Path); {
	case strings.HasPrefix(cleaned, "/v1/permits/") && cleaned != "/v1/permits/next":
		target = "/v1/permits/" // an id is a right
	case v.settings.LogURLs:
		target = v.loggedURL()
	}
	list := []slog.Attr{
		slog.String("id", v.id), slog.String("client", v.Name), slog.String("method", ask.Clip(r.Method)), slog.String("url", target),
		slog.Int("status", v.status), slog.Float64("ms", float64(took.Microseconds())/1000), slog.Int64("bytes", v.bytes),
	}
	switch {
	case v.questions == 1:
		if v.origin != "" {
			list = append(list, slog.String("origin", ask.Clip(v.origin)))
		}
		list = append(list, slog.String("outcome", v.outcome.String()))
	case v.questions > 1:
		list = append(list, slog.Int("questions", v.questions))
	}
	if v.traceID != "" {
		list = append(list, slog.String("trace_id", v.traceID))
	}
	v.gate.log.LogAttrs(r.Context(), slog.LevelInfo, "request", list...)
}
