package server

import (
	"cmp"
	"crypto/rand"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// Parts are the parts of a Service. In a fleet, Store and Limiter are those of a fleet.Fleet,
// and Secret is its Secret.
type Parts struct {
	// Fetch configures robots.txt fetches. A nil Start is that of the Limiter.
	Fetch fetch.Options
	// Cache configures the cache. Its Fetcher is replaced by one that checks whether the
	// client may cause a fetch.
	Cache cache.Options
	// Fetches limits the origins that are fetched or waited for, including those whose clients
	// have gone: 2,048 if 0. Fetch limits the connections.
	Fetches int
	// URLBytes limits a URL: 8 KiB if 0.
	URLBytes int64
	// FTP permits ftp origins.
	FTP bool
	// Limiter issues permits; nil for one of this process. DownSince, if not nil, returns since
	// when its Redis has been unreachable, zero while it is reachable.
	Limiter   pace.Limiter
	DownSince func() time.Time
	// Policy is the operator's limits for crawl rates.
	Policy pace.Policy
	// Dialect is the name of the default dialect, or ask.AutoDialect: rfc9309 if it is empty.
	Dialect string
	// Secret signs permits; all servers with the same Limiter need the same. If it is empty, a
	// random one is used, and permits end with the process.
	Secret []byte
	// Version is the version of the program.
	Version string
	// Now is the clock of responses and of the usual Limiter, time.Now if nil.
	Now func() time.Time
}

// A Service is the HTTP API. It is safe for concurrent use.
type Service struct {
	parts   Parts
	cache   *cache.Cache
	limiter pace.Limiter
	now     func() time.Time
	dialect robots.Dialect // of Parts.Dialect without a crawler

	handler http.Handler
}

// New returns a service. The error names the invalid part.
func New(p Parts) (*Service, error) {
	p.Dialect = cmp.Or(p.Dialect, robots.RFC9309.Name)
	dialect, err := ask.DialectFor(p.Dialect)
	if err != nil {
		return nil, err
	}
	if err := p.Policy.Check(); err != nil {
		return nil, err
	}
	if p.Limiter == nil {
		local, err := pace.NewLocal(pace.Options{Now: p.Now})
		if err != nil {
			return nil, err
		}
		p.Limiter = local
	}
	if p.Fetch.Start == nil {
		p.Fetch.Start = p.Limiter.StartFetch
	}
	if p.Fetch.Redirected == nil {
		p.Fetch.Redirected = p.Limiter.Requested
	}
	if len(p.Secret) == 0 {
		p.Secret = []byte(rand.Text() + rand.Text())
	}
	p.Fetches = cmp.Or(p.Fetches, 2048)
	p.URLBytes = cmp.Or(p.URLBytes, 8<<10)
	p.Version = cmp.Or(p.Version, "unknown")
	s := &Service{parts: p, limiter: p.Limiter, now: p.Now, dialect: dialect}
	if s.now == nil {
		s.now = time.Now
	}
	client, err := fetch.New(p.Fetch)
	if err != nil {
		return nil, err
	}
	p.Cache.Fetcher = &fetcher{client: client, ftp: p.FTP, most: int64(p.Fetches)}
	if s.cache, err = cache.New(p.Cache); err != nil {
		return nil, err
	}
	s.route()
	return s, nil
}

// Close ends fetches in progress and waits until fetched records are stored. It does not close
// the Limiter and the Store.
func (s *Service) Close() error { return s.cache.Close() }

// Cache returns the cache of the service.
func (s *Service) Cache() *cache.Cache { return s.cache }

// Handler returns the handler for /v1/..., /openapi.json, /docs and /version. A Gate limits its
// clients and the size of bodies, and turns panics into problems.
func (s *Service) Handler() http.Handler { return s.handler }

// An operation answers the requests of a method and path of openapi.yaml.
type operation struct {
	pattern string
	scope   Scope                    // that a client needs, 0 for none
	types   []string                 // of its responses
	run     func(*request) *response // nil after a problem
	query   []string                 // parameters, with "..." if they can be repeated
}

// route makes the handler.
func (s *Service) route() {
	inJSON := []string{typeJSON}
	mux := http.NewServeMux()
	for _, op := range []operation{
		{"GET /v1/check", ScopeCheck, inJSON, s.check, []string{"url", "agent...", "dialect", "user_initiated", "wait", "as"}},
		{"POST /v1/check", ScopeCheck, []string{typeJSON, typeLines}, s.checkMany, []string{"wait"}},
		{"POST /v1/permits", ScopeCheck | ScopePermit, inJSON, s.permit, nil},
		{"POST /v1/permits/next", ScopeCheck | ScopePermit, inJSON, s.permits, nil},
		{"POST /v1/permits/{id}/done", ScopePermit, inJSON, s.done, nil},
		{"GET /v1/robots", ScopeCheck, []string{typeJSON, typeText}, s.robots, []string{"url", "body", "wait"}},
		{"POST /v1/robots/refresh", ScopeCheck, inJSON, s.refresh, nil},
		{"GET /v1/schedule", ScopeCheck, inJSON, s.schedule, []string{"url", "agent...", "dialect", "wait"}},
		{"POST /v1/explain", ScopeCheck, inJSON, s.explain, nil},
		{"POST /v1/lint", ScopeCheck, inJSON, s.lint, nil},
		{"POST /v1/diff", ScopeCheck, inJSON, s.diff, nil},
		{"GET /version", 0, inJSON, s.version, nil},
		{"GET /openapi.json", 0, []string{typeOpenAPI, typeJSON}, s.openAPI, nil},
		{"GET /docs", 0, []string{"text/html"}, s.docs, nil},
	} {
		mux.Handle(op.pattern, s.handle(op))
	}
	mux.HandleFunc("GET /problems/{type}", problemPage)
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, r *http.Request) {
		(&response{kind: typeText, caching: "max-age=86400", body: []byte("User-agent: *\nDisallow: /v1/\n")}).write(w, r)
	})
	s.handler = mux
}

// handle returns the handler of an operation.
func (s *Service) handle(op operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req := &request{Request: r, s: s, exchange: exchangeOf(r.Context())}
		req.fail(acceptable(r.Header.Get("Accept"), op.types))
		req.fail(req.exchange.needs(op.scope))
		req.readQuery(op.query)
		var a *response
		if req.problem == nil {
			a = op.run(req)
		}
		if req.problem != nil {
			req.problem.Write(w, r)
			return
		}
		a.write(w, r)
	}
}

// acceptable refuses an Accept header without any type of the response. Weights are ignored: a
// client that excludes a type does not name it alone.
func acceptable(accept string, types []string) *Problem {
	if accept == "" || accepts(accept, types) {
		return nil
	}
	return NewProblem(NotAcceptable, "the Accept header excludes every type of the response (known: "+strings.Join(types, ", ")+")")
}

func accepts(accept string, types []string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		for _, t := range types {
			if head, many := strings.CutSuffix(name, "/*"); name == t || many && (head == "*" || strings.HasPrefix(t, head+"/")) {
				return true
			}
		}
	}
	return false
}

const typeJSON = "application/json"

// A response is what a client gets, other than a problem.
type response struct {
	status  int // 200 if 0
	kind    string
	caching string // Cache-Control
	header  http.Header
	body    []byte
	zipped  []byte // the body in gzip, for clients that accept it, or nil
}

func (a *response) write(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), a.header)
	if a.kind != "" {
		w.Header().Set("Content-Type", a.kind)
	}
	w.Header().Set("Cache-Control", cmp.Or(a.caching, "no-store"))
	if a.zipped != nil {
		w.Header().Set("Vary", "Accept-Encoding")
		if Encoding(r.Header.Get("Accept-Encoding"), "gzip") != "" {
			w.Header().Set("Content-Encoding", "gzip")
			a.body = a.zipped
		}
	}
	if a.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(cmp.Or(a.status, http.StatusOK))
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body)
	}
}

// respond returns a value as a JSON response.
func respond(v any) *response {
	return &response{kind: typeJSON, body: append(answer.JSON(v), '\n')}
}
