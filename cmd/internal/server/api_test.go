package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/time/rate"
)

// A bench is a service on loopback. Each response is validated by the OpenAPI document with
// independent libraries.
type bench struct {
	testing.TB
	*Service
	URL    string
	caller atomic.Pointer[Caller]
	judge  *judge
	counts *Metrics
}

func newBench(t testing.TB, p Parts) *bench {
	t.Helper()
	p.Fetch.Guard.AllowPrivate = true
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{TB: t, Service: s, judge: judgeOf(t, s), counts: NewMetrics()}
	gate, err := NewGate(local(t), slog.New(slog.DiscardHandler), b.counts)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gate.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := exchangeOf(r.Context())
		if c := b.caller.Load(); c != nil {
			v.Caller = *c
			v.limits = cmp.Or(c.limits, unlimited)
		}
		s.Handler().ServeHTTP(w, r)
	})))
	t.Cleanup(func() {
		server.Close()
		s.Close()
	})
	b.URL = server.URL
	return b
}

// A testClock is the clock of a service and its limiter, which only tests advance. It begins an hour
// ahead of the fetches, so that the interval after each robots.txt has passed.
type testClock struct{ at atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.set(time.Now().Add(time.Hour))
	return c
}

func (c *testClock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *testClock) set(t time.Time)         { c.at.Store(t.UnixNano()) }
func (c *testClock) advance(d time.Duration) { c.at.Add(int64(d)) }

// fetched fetches the robots.txt of a site, and returns when its response was read.
func (b *bench) fetched(site string) time.Time {
	b.Helper()
	return *decoded[answer.SiteRecord](b, b.get("/v1/robots?url="+site+"/")).Fetched
}

// A judge validates by the OpenAPI document, without the code that makes responses: kin-openapi
// checks the document and finds the operation of a request, jsonschema validates bodies (JSON
// Schema 2020-12).
type judge struct {
	doc      *openapi3.T
	router   routers.Router
	compiler *jsonschema.Compiler
}

// judgeOf reads the document of a service. Members that are not in the document are errors here,
// although clients must accept them.
func judgeOf(t testing.TB, s *Service) *judge {
	t.Helper()
	text := bytes.ReplaceAll(OpenAPI(s.parts.Version), []byte(`"additionalProperties":true`), []byte(`"additionalProperties":false`))
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("the document cannot be read: %v", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatalf("the document is not OpenAPI 3.1: %v", err)
	}
	doc.Servers = nil // the router matches full URLs
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:openapi.json", value); err != nil {
		t.Fatal(err)
	}
	return &judge{doc: doc, router: router, compiler: c}
}

// body validates a body by the schema at a place of an operation. Each line of JSON Lines is an
// answer or a question in the schema of the object form.
func (j *judge) body(route *routers.Route, place, mediaType, body string) error {
	member := map[bool]string{true: "answers", false: "questions"}[strings.HasPrefix(place, "responses")]
	if mediaType == typeLines {
		lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
		mediaType, body = typeJSON, `{"`+member+`":[`+strings.Join(lines, ",")+`]}`
	}
	if !strings.Contains(mediaType, "json") {
		return nil
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	if mediaType == "application/problem+json" {
		return j.validate("mem:openapi.json#/components/schemas/Problem", body)
	}
	at := "mem:openapi.json#/paths/" + escape.Replace(route.Path) + "/" + strings.ToLower(route.Method) + "/" + place + "/content/" + escape.Replace(mediaType) + "/schema"
	return j.validate(at, body)
}

// validate validates JSON text by the schema at a place of the document.
func (j *judge) validate(at, body string) error {
	schema, err := j.compiler.Compile(at)
	if err != nil {
		return fmt.Errorf("the document has no schema for it: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// A reply is a response of the service.
type reply struct {
	status int
	header http.Header
	body   string
}

// ask sends a request and validates its response.
func (b *bench) ask(method, path, contentType, body string) reply {
	b.Helper()
	req, err := http.NewRequest(method, b.URL+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return b.send(req)
}

func (b *bench) send(req *http.Request) reply {
	b.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	r := reply{resp.StatusCode, resp.Header, string(text)}
	b.judgeReply(req, r)
	return r
}

// judgeReply validates a response by the document.
func (b *bench) judgeReply(req *http.Request, r reply) {
	b.Helper()
	if r.status >= 400 {
		b.judgeProblem(req, r)
	}
	route, _, err := b.judge.router.FindRoute(req)
	if err != nil {
		if r.status < 400 && req.Method != http.MethodHead {
			b.Errorf("%s %s: %d, and the document has no such operation: %v", req.Method, req.URL, r.status, err)
		}
		return
	}
	if route.Operation.Responses.Status(r.status) == nil {
		b.Errorf("%s %s: the document has no response %d", req.Method, req.URL, r.status)
		return
	}
	place := fmt.Sprint("responses/", r.status)
	if req.Method == http.MethodHead || r.status == http.StatusNoContent {
		return
	}
	mediaType, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	if err := b.judge.body(route, place, mediaType, r.body); err != nil {
		b.Errorf("%s %s: the answer is not what the document says: %v\n%s", req.Method, req.URL, err, clipped(r.body))
	}
}

func (b *bench) judgeProblem(req *http.Request, r reply) {
	b.Helper()
	var p Problem
	err := json.Unmarshal([]byte(r.body), &p)
	_, known := problems[ProblemType(strings.TrimPrefix(p.Type, "/problems/"))]
	switch {
	case r.header.Get("Content-Type") != "application/problem+json":
		b.Errorf("%s %s: %d is %s, not a problem: %s", req.Method, req.URL, r.status, r.header.Get("Content-Type"), clipped(r.body))
	case err != nil || p.Status != r.status || p.Title == "" || p.Instance != req.URL.Path || !known:
		b.Errorf("%s %s: %d is no whole problem: %v, %s", req.Method, req.URL, r.status, err, clipped(r.body))
	case p.Detail == "" || strings.Contains(p.Detail, "\n") || strings.HasSuffix(p.Detail, "."):
		b.Errorf("%s %s: the detail is no plain sentence: %q", req.Method, req.URL, p.Detail)
	case r.status >= 500 && r.status != 503:
		b.Errorf("%s %s: %d: %s", req.Method, req.URL, r.status, clipped(r.body))
	case (r.status == 503 || r.status == 429) && r.header.Get("Retry-After") == "":
		b.Errorf("%s %s: %d without Retry-After", req.Method, req.URL, r.status)
	}
}

// decoded decodes an answer.
func decoded[T any](b *bench, r reply) (got T) {
	b.Helper()
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 200 {
		b.Fatalf("%d %s, %v", r.status, clipped(r.body), err)
	}
	return got
}

func clipped(s string) string { return s[:min(len(s), 2000)] }

func (b *bench) get(path string) reply {
	b.Helper()
	return b.ask(http.MethodGet, path, "", "")
}

func (b *bench) post(path, body string) reply {
	b.Helper()
	return b.ask(http.MethodPost, path, typeJSON, body)
}

// A site is a site on loopback whose robots.txt can be delayed.
type site struct {
	*httptest.Server
	asked  atomic.Int64
	mu     sync.Mutex
	status int
	body   string
	hold   chan struct{} // if not nil, robots.txt comes when it is closed
}

func newSite(t testing.TB, body string) *site {
	s := &site{status: 200, body: body}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.mu.Lock()
		status, body, hold := s.status, s.body, s.hold
		s.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

const shop = "# shop\nUser-agent: *\nDisallow: /basket\nCrawl-delay: 10\n\nUser-agent: Googlebot\nDisallow: /list\n"

func TestCheck(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop)
	r := b.get("/v1/check?url=" + s.URL + "/basket&agent=MyBot")
	var age int
	if _, err := fmt.Sscanf(r.header.Get("Cache-Control"), "private, max-age=%d", &age); err != nil || age < 1000 || age > 86400 {
		t.Errorf("Cache-Control is %q", r.header.Get("Cache-Control"))
	}
	for _, tt := range []struct {
		query   string
		allowed bool
		part    string
	}{
		{"/basket&agent=Googlebot", true, `"agent":"Googlebot"`},
		{"/list&agent=Googlebot-Image&agent=Googlebot", false, `"agent":["Googlebot-Image","Googlebot"]`},
		{"/basket", false, `"agent":"*"`},
		{"/basket&user_initiated=true", true, `"reason":"user-initiated"`},
		{"/basket&dialect=google&agent=Googlebot", true, `"dialect":"google"`},
	} {
		r := b.get("/v1/check?url=" + s.URL + tt.query)
		if r.status != 200 || strings.Contains(r.body, `"allowed":true`) != tt.allowed || !strings.Contains(r.body, tt.part) {
			t.Errorf("%s: %d %s", tt.query, r.status, r.body)
		}
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("the site was asked %d times", n)
	}
	bad := newSite(t, "")
	bad.status = 500
	for url, status := range map[string]int{s.URL + "/": 204, s.URL + "/basket": 403, bad.URL + "/": 503} {
		if r := b.get("/v1/check?as=status&url=" + url); r.status != status || status == 204 && r.body != "" {
			t.Errorf("the status alone for %s: %d %s", url, r.status, r.body)
		}
	}
	for _, path := range []string{"/v1/check?url=" + s.URL, "/version", "/docs"} {
		if r := b.ask(http.MethodHead, path, "", ""); r.status != 200 || r.body != "" {
			t.Errorf("HEAD %s: %d %q", path, r.status, r.body)
		}
	}
}

// TestPending: a question waits at most for the given time, the fetch continues, and many
// questions share one fetch.
func TestPending(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop)
	s.hold = make(chan struct{})
	for _, wait := range []string{"0s", "10ms", "0.01"} {
		if r := b.get("/v1/check?url=" + s.URL + "/basket&wait=" + wait); r.status != 503 || !strings.Contains(r.body, "/problems/pending") {
			t.Fatalf("wait %s: %d %s", wait, r.status, r.body)
		}
	}
	away := newBench(t, Parts{DownSince: time.Now})
	if r := away.get("/v1/check?url=" + s.URL + "/&wait=0s"); r.status != 503 || !strings.Contains(r.body, "cannot be fetched while Redis is unreachable") {
		t.Errorf("%d %s", r.status, r.body)
	}
	close(s.hold)
	if r := b.get("/v1/check?url=" + s.URL + "/basket&wait=30s"); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if n := s.asked.Load(); n != 2 {
		t.Errorf("the site was asked %d times by two services", n)
	}
}

// TestScopes: the rights of a client are checked before a fetch, and a record in memory counts
// as no new site.
func TestScopes(t *testing.T) {
	b, held, other := newBench(t, Parts{}), newSite(t, shop), newSite(t, shop)
	if r := b.get("/v1/check?url=" + held.URL + "/"); r.status != 200 {
		t.Fatal(r.body)
	}
	origins := func(burst int) *limits {
		return &limits{unlimited.questions, rate.NewLimiter(1./7, burst)}
	}
	one := origins(1)
	for _, tt := range []struct {
		caller Caller
		url    string
		status int
	}{
		{Caller{Name: "a", Scopes: ScopeCheck}, held.URL, 200},
		{Caller{Name: "a", Scopes: ScopeCheck}, other.URL, 403},
		{Caller{Name: "a", Scopes: ScopeFetch}, held.URL, 403},
		{Caller{Name: "a", Scopes: ScopeCheck | ScopeFetch, Anonymous: true}, other.URL, 401}, // its port
		{Caller{Name: "a", Scopes: ScopeCheck | ScopeFetch, limits: origins(0)}, held.URL, 200},
		{Caller{Name: "a", Scopes: ScopeCheck | ScopeFetch, limits: origins(0)}, other.URL, 429},
		{Caller{Name: "a", Scopes: ScopeCheck | ScopeFetch, limits: one}, other.URL, 200},
	} {
		b.caller.Store(&tt.caller)
		if r := b.get("/v1/check?url=" + tt.url + "/&wait=0s"); tt.status != 200 && r.status != tt.status {
			t.Errorf("%+v about %s without a wait: %d %s", tt.caller, tt.url, r.status, r.body)
		}
		r := b.get("/v1/check?url=" + tt.url + "/&wait=30s")
		if r.status != tt.status {
			t.Errorf("%+v about %s: %d %s", tt.caller, tt.url, r.status, r.body)
		}
		if (r.status == 401) != (r.header.Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%+v: status %d with WWW-Authenticate %q", tt.caller, r.status, r.header.Get("WWW-Authenticate"))
		}
		if r.status == 429 && r.header.Get("Retry-After") != "7" {
			t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
		}
	}
	if reserve(one.origins, 1) == 0 || other.asked.Load() != 1 {
		t.Errorf("the fetch did not count; the site was asked %d times", other.asked.Load())
	}
}

// TestJudge: the judge of these tests reports invalid responses.
func TestJudge(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop)
	path := "/v1/check?url=" + s.URL + "/basket"
	req := httptest.NewRequest(http.MethodGet, b.URL+path, nil)
	route, _, err := b.judge.router.FindRoute(req)
	if err != nil {
		t.Fatal(err)
	}
	good := b.get(path).body
	for name, body := range map[string]string{
		"a member more":   strings.Replace(good, `"allowed"`, `"other":1,"allowed"`, 1),
		"another type":    strings.Replace(good, `"allowed":false`, `"allowed":"no"`, 1),
		"an unknown word": strings.Replace(good, `"disallow"`, `"denied"`, 1),
		"no time":         strings.Replace(good, `"expires":"2`, `"expires":"x2`, 1),
		"nothing":         "",
	} {
		if body == good || b.judge.body(route, "responses/200", typeJSON, body) == nil {
			t.Errorf("%s passes", name)
		}
	}
}
