package server

import (
	"cmp"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// Parts are what a Service is made of. Of a fleet Store and Limiter are those of a
// fleet.Fleet, and Secret is its Secret.
type Parts struct {
	// Fetch says how robots.txt is fetched. Its Start is that of the Limiter if it is nil.
	Fetch fetch.Options
	// Cache says how what was fetched is kept. Its Fetcher is not used: the service asks
	// for each fetch whether its caller may cause it.
	Cache cache.Options
	// Fetches is how many origins may be asked, or wait for their turn, at a time, those
	// whose callers have gone included: 2,048 if 0. How many connections there are at a
	// time Fetch says.
	Fetches int
	// BodyTimeout is how long the body of a request may take: 15 s if 0.
	BodyTimeout time.Duration
	// URLBytes, BodyBytes and BatchBytes are the most bytes of a URL, of the body of a
	// request and of that of POST /v1/check: 8 KiB, 1 MiB and 8 MiB if 0.
	URLBytes, BodyBytes, BatchBytes int64
	// FTP permits origins with the scheme ftp.
	FTP bool
	// Limiter grants permits: one of this process if nil.
	Limiter pace.Limiter
	// Policy is what the operator says about pace.
	Policy pace.Policy
	// Dialect is how robots.txt is read where a question names none: robots.RFC9309 if it
	// is the zero value.
	Dialect robots.Dialect
	// Secret signs permits: all servers that share a Limiter have one. If it is empty it
	// is made, and the permits end with the process.
	Secret []byte
	// Version is what /version and /openapi.json say.
	Version string
	// Now is the clock of the answers, time.Now if nil.
	Now func() time.Time
}

// A Service answers questions about robots.txt by HTTP. It is safe for concurrent use.
type Service struct {
	parts   Parts
	cache   *cache.Cache
	limiter pace.Limiter
	now     func() time.Time

	handler http.Handler
}

// New makes a service. The error says in one sentence which part cannot be used.
func New(p Parts) (*Service, error) {
	if p.Dialect == (robots.Dialect{}) {
		p.Dialect = robots.RFC9309
	}
	if err := p.Policy.Check(); err != nil {
		return nil, err
	}
	if p.Limiter == nil {
		local, err := pace.NewLocal(pace.Options{})
		if err != nil {
			return nil, err
		}
		p.Limiter = local
	}
	if p.Fetch.Start == nil {
		p.Fetch.Start = p.Limiter.StartFetch
	}
	if len(p.Secret) == 0 {
		p.Secret = []byte(rand.Text() + rand.Text())
	}
	p.Fetches = cmp.Or(p.Fetches, 2048)
	p.BodyTimeout = cmp.Or(p.BodyTimeout, 15*time.Second)
	p.URLBytes, p.BodyBytes, p.BatchBytes = cmp.Or(p.URLBytes, 8<<10), cmp.Or(p.BodyBytes, 1<<20), cmp.Or(p.BatchBytes, 8<<20)
	p.Version = cmp.Or(p.Version, "unknown")
	s := &Service{parts: p, limiter: p.Limiter, now: p.Now}
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

// Close ends the fetches under way and waits until what was fetched is stored. It leaves
// the Limiter and the Store open.
func (s *Service) Close() error { return s.cache.Close() }

// Cache returns what keeps the records of the service.
func (s *Service) Cache() *cache.Cache { return s.cache }

// Handler returns what answers requests: /v1/..., /openapi.json, /docs and /version. It
// bounds no client and writes no log; the Caller of a request is found in its context.
func (s *Service) Handler() http.Handler { return s.handler }

// An operation answers the requests of a method and path of openapi.yaml.
type operation struct {
	pattern string
	types   []string // of its responses
	run     func(*request) (*answer, *Problem)
	query   []string // parameters, with "..." if they can be repeated
}

// route makes the handler.
func (s *Service) route() {
	inJSON := []string{typeJSON}
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, op := range []operation{
		{"GET /v1/check", inJSON, s.check, []string{"url", "agent...", "dialect", "user_initiated", "wait", "as"}},
		{"POST /v1/check", []string{typeJSON, typeLines}, s.checkMany, []string{"wait"}},
		{"POST /v1/permits", inJSON, s.permit, nil},
		{"POST /v1/permits/next", inJSON, s.permits, nil},
		{"POST /v1/permits/{id}/done", inJSON, s.done, nil},
		{"GET /v1/robots", []string{typeJSON, typeText}, s.robots, []string{"url", "body", "wait"}},
		{"POST /v1/robots/refresh", inJSON, s.refresh, nil},
		{"GET /v1/schedule", inJSON, s.schedule, []string{"url", "agent...", "dialect", "wait"}},
		{"POST /v1/explain", inJSON, s.explain, nil},
		{"POST /v1/lint", inJSON, s.lint, nil},
		{"POST /v1/diff", inJSON, s.diff, nil},
		{"GET /version", inJSON, s.version, nil},
		{"GET /openapi.json", []string{typeOpenAPI}, s.openAPI, nil},
		{"GET /docs", []string{"text/html"}, s.docs, nil},
	} {
		mux.Handle(op.pattern, s.handle(op))
		method, path, _ := strings.Cut(op.pattern, " ")
		if methods[path] = append(methods[path], method); method == http.MethodGet {
			methods[path] = append(methods[path], http.MethodHead)
		}
	}
	for path, allowed := range methods {
		mux.Handle(path, wrongMethod(allowed))
	}
	mux.HandleFunc("GET /problems/{type}", problemPage)
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, r *http.Request) {
		(&answer{kind: typeText, caching: "max-age=86400", body: []byte("User-agent: *\nDisallow: /v1/\n")}).write(w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		NewProblem(NotFound, "unknown path; /docs lists the operations").Write(w, r)
	})
	s.handler = recovered(mux)
}

// handle returns the handler of an operation.
func (s *Service) handle(op operation) http.HandlerFunc {
	most := s.parts.BodyBytes
	if op.pattern == "POST /v1/check" {
		most = s.parts.BatchBytes
	}
	return func(w http.ResponseWriter, r *http.Request) {
		a, p := (*answer)(nil), acceptable(r.Header.Get("Accept"), op.types)
		req := &request{Request: r, w: w, s: s, body: most}
		if p == nil {
			req.query, p = parseQuery(r.URL.RawQuery, op.query)
		}
		if p == nil {
			a, p = op.run(req)
		}
		if p != nil {
			p.Write(w, r)
			return
		}
		a.write(w, r)
	}
}

// wrongMethod answers requests of a known path with another method.
func wrongMethod(allowed []string) http.Handler {
	slices.Sort(allowed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		NewProblem(MethodNotAllowed, "this path takes "+strings.Join(allowed, " or ")).Write(w, r)
	})
}

// recovered answers a panic of a handler with a problem, or, where an answer has begun,
// ends the connection.
func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := &began{ResponseWriter: w}
		defer func() {
			fault := recover()
			if fault != nil && fault != http.ErrAbortHandler { //nolint:errorlint // the value itself is the sign
				Fault(r.Context(), fault)
			}
			switch {
			case fault == nil:
			case fault == http.ErrAbortHandler || begun.header: //nolint:errorlint // the value itself is the sign
				panic(http.ErrAbortHandler)
			default:
				internalProblem().Write(w, r)
			}
		}()
		next.ServeHTTP(begun, r)
	})
}

// began knows whether an answer has begun.
type began struct {
	http.ResponseWriter
	header bool
}

func (b *began) WriteHeader(status int) {
	b.header = true
	b.ResponseWriter.WriteHeader(status)
}

func (b *began) Write(p []byte) (int, error) {
	b.header = true
	return b.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (b *began) Unwrap() http.ResponseWriter { return b.ResponseWriter }

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

// An answer is a response.
type answer struct {
	status  int // 200 if 0
	kind    string
	caching string // Cache-Control
	header  http.Header
	body    []byte
}

func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), a.header)
	if a.kind != "" {
		w.Header().Set("Content-Type", a.kind)
	}
	w.Header().Set("Cache-Control", cmp.Or(a.caching, "no-store"))
	if a.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(cmp.Or(a.status, http.StatusOK))
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body)
	}
}

// answerWith returns a value as a JSON response.
func answerWith(v any) (*answer, *Problem) {
	return &answer{kind: typeJSON, body: append(appendJSON(nil, v), '\n')}, nil
}
