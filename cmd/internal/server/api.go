package server

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

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

	api     huma.API
	handler http.Handler
	openAPI []byte // the document
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

// route makes the handler and the document.
func (s *Service) route() {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("robots", s.parts.Version)
	config.Info.Description = "Check robots.txt rules, and acquire permits to crawl. Every response with a status of 400 or more is a problem (RFC 9457)."
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil
	config.Formats = map[string]huma.Format{typeJSON: jsonFormat, "json": jsonFormat} // the second is for +json
	config.Transformers = []huma.Transformer{finishProblem}
	s.api = humago.New(mux, config)
	s.api.UseMiddleware(negotiate, strictQuery)

	s.registerCheck()
	s.registerRobots()
	s.registerText()
	s.registerPermits()
	s.registerAbout()
	s.registerDocs()
	s.boundURLs()

	document, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		panic(fmt.Sprintf("server: the OpenAPI document: %v", err))
	}
	s.openAPI = document
	for path, item := range s.api.OpenAPI().Paths {
		mux.Handle(path, wrongMethod(item))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		NewProblem(NotFound, "unknown path; /docs lists the operations").Write(w, r)
	})
	s.handler = recovered(mux)
}

// boundURLs sets the length of each URL, of which the tag of its member says only that it has
// a bound.
func (s *Service) boundURLs() {
	most := int(s.parts.URLBytes)
	bound := func(schema *huma.Schema) {
		if schema != nil && schema.MaxLength != nil {
			schema.MaxLength = &most
			schema.PrecomputeMessages()
		}
	}
	for _, item := range s.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post} {
			if op == nil {
				continue
			}
			for _, p := range op.Parameters {
				if p.Name == "url" {
					bound(p.Schema)
				}
			}
		}
	}
	for _, schema := range s.api.OpenAPI().Components.Schemas.Map() {
		bound(schema.Properties["url"])
	}
}

// wrongMethod answers requests whose path is known and whose method is not.
func wrongMethod(item *huma.PathItem) http.Handler {
	var allowed []string
	for method, op := range map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post} {
		if op != nil {
			allowed = append(allowed, method)
		}
	}
	if item.Get != nil {
		allowed = append(allowed, http.MethodHead)
	}
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

// writeProblem answers a request of huma with a problem.
func writeProblem(ctx huma.Context, p *Problem) {
	r, w := humago.Unwrap(ctx)
	p.Write(w, r)
}

// finishProblem completes a problem that huma writes.
func finishProblem(ctx huma.Context, _ string, v any) (any, error) {
	p, ok := v.(*Problem)
	if !ok {
		return v, nil
	}
	r, w := humago.Unwrap(ctx)
	return p.head(w, r), nil
}

// produces is where an operation keeps the types that it writes.
const produces = "produces"

// negotiate refuses a request whose Accept header leaves nothing that is written here.
// A weight of 0 is taken as any other: who excludes a type does not name it alone.
func negotiate(ctx huma.Context, next func(huma.Context)) {
	accept := ctx.Header("Accept")
	types, _ := ctx.Operation().Metadata[produces].([]string)
	if accept == "" || len(types) == 0 || accepts(accept, types) {
		next(ctx)
		return
	}
	writeProblem(ctx, NewProblem(NotAcceptable, "the Accept header excludes every type of the response (known: "+strings.Join(types, ", ")+")"))
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

// An answer is a response whose body is written already.
type answer struct {
	Status       int
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Options      string `header:"X-Content-Type-Options"`
	RetryAfter   string `header:"Retry-After"`
	Body         []byte
}

// answerWith writes a value as an answer.
func answerWith(v any) (*answer, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &answer{Status: http.StatusOK, ContentType: typeJSON, CacheControl: "no-store", Body: append(text, '\n')}, nil
}

// operation completes the description of an operation: what it answers with 200, by its
// type, and that all else is a problem.
func (s *Service) operation(op huma.Operation, ok map[string]*huma.Schema) huma.Operation {
	problem := s.schema(Problem{})
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	content := map[string]*huma.MediaType{}
	var types []string
	for t, schema := range ok {
		content[t] = &huma.MediaType{Schema: schema}
		types = append(types, t)
	}
	slices.Sort(types)
	op.Responses["200"] = &huma.Response{Description: "OK", Content: content}
	op.Responses["default"] = &huma.Response{
		Description: "A problem: its type is " + problemTypes(),
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: problem}},
	}
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[produces] = types
	op.Metadata[registryOf] = s.api.OpenAPI().Components.Schemas
	op.BodyReadTimeout = s.parts.BodyTimeout
	op.MaxBodyBytes = cmp.Or(op.MaxBodyBytes, s.parts.BodyBytes+1)
	return op
}

// problemTypes lists the types of problems.
func problemTypes() string {
	var words []string
	for t := range problems {
		words = append(words, string(t))
	}
	slices.Sort(words)
	return "/problems/ and one of " + strings.Join(words, ", ")
}
