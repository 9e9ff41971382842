package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// What is known of a site: the record of its robots.txt, and its pace.

// A Record is the outcome of a robots.txt fetch.
type Record struct {
	_            struct{}          `additionalProperties:"true"`
	URL          string            `json:"url" doc:"URL of the robots.txt"`
	Outcome      string            `json:"outcome" enum:"success,unavailable,unreachable,refused" doc:"unavailable: the site has none"`
	Cause        string            `json:"cause" doc:"a word for programs"`
	Note         string            `json:"note" doc:"a sentence for people"`
	Status       int               `json:"status" doc:"of the last answer: an HTTP status or an FTP reply, 0 without an answer"`
	FinalURL     string            `json:"final_url" doc:"of the last request"`
	Started      *time.Time        `json:"started,omitempty"`
	Fetched      *time.Time        `json:"fetched,omitempty" doc:"when the response was complete, or the attempt had failed"`
	Expires      *time.Time        `json:"expires,omitempty" doc:"until when a good answer is fresh"`
	NextTry      *time.Time        `json:"next_try,omitempty" doc:"time of the next attempt after a failure"`
	FailingSince *time.Time        `json:"failing_since,omitempty" doc:"the first failure of the site after its last good answer"`
	Failures     int               `json:"failures,omitempty" doc:"how many there were since then"`
	LastGood     *GoodCopy         `json:"last_good,omitempty" doc:"the last answer before that, which may be in use"`
	Bytes        int               `json:"bytes" doc:"of the file"`
	SHA256       string            `json:"sha256,omitempty" doc:"of the file, in hexadecimal"`
	Truncated    bool              `json:"truncated" doc:"the file goes on after the bytes that were kept"`
	Degraded     bool              `json:"degraded,omitempty" doc:"the shared store was unreachable"`
	Headers      map[string]string `json:"headers" doc:"headers of the last response that matter for a robots.txt"`
	Hops         []Hop             `json:"hops" doc:"every request, redirects included"`
}

// A GoodCopy is an answer kept through an outage.
type GoodCopy struct {
	_       struct{}   `additionalProperties:"true"`
	Status  int        `json:"status"`
	Fetched *time.Time `json:"fetched,omitempty"`
	Bytes   int        `json:"bytes"`
	SHA256  string     `json:"sha256,omitempty"`
}

// A Hop is one request of a fetch.
type Hop struct {
	_        struct{} `additionalProperties:"true"`
	URL      string   `json:"url"`
	Address  string   `json:"address" doc:"of the site that was connected to, empty if none was"`
	Protocol string   `json:"protocol,omitempty"`
	Via      string   `json:"via,omitempty" doc:"the proxy or protocol, if not the usual one"`
	Status   int      `json:"status"`
	Location string   `json:"location,omitempty" doc:"of a redirect, as sent"`
	Received int64    `json:"received" doc:"bytes"`
	Seconds  float64  `json:"seconds" doc:"how long it took"`
}

// some returns nil for no time. Times of a service are whole milliseconds in UTC.
func some(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

func newRecord(r *fetch.Record) *Record {
	j := &Record{
		URL: r.Origin.RobotsURL(), Outcome: r.Outcome.String(), Cause: r.Cause.String(), Note: r.Cause.Sentence(), Status: r.Status, FinalURL: r.URL,
		Started: some(r.Started), Fetched: some(r.Fetched), Expires: some(r.Expires), NextTry: some(r.NextTry),
		FailingSince: some(r.FailingSince), Failures: r.Failures,
		Bytes: len(r.Body), Truncated: r.Truncated, Degraded: r.Degraded, Headers: map[string]string{}, Hops: []Hop{},
	}
	if r.Detail != "" {
		j.Note += " (" + r.Detail + ")"
	}
	if r.Outcome == fetch.Success {
		j.SHA256 = fmt.Sprintf("%x", sha256.Sum256(r.Body))
	}
	if g := r.LastGood; g != nil {
		j.LastGood = &GoodCopy{Status: g.Status, Fetched: some(g.Fetched), Bytes: len(g.Body)}
		if g.Outcome == fetch.Success {
			j.LastGood.SHA256 = fmt.Sprintf("%x", sha256.Sum256(g.Body))
		}
	}
	maps.Copy(j.Headers, r.Header)
	for i := range r.Hops {
		h := &r.Hops[i]
		j.Hops = append(j.Hops, Hop{URL: h.URL, Address: h.Address, Protocol: h.Protocol, Via: h.Via, Status: h.Status, Location: h.Location, Received: h.Received, Seconds: h.Took().Seconds()})
	}
	return j
}

const typeText = "text/plain"

type robotsInput struct {
	URL  string `query:"url" required:"true" maxLength:"8192" doc:"any URL of the site" example:"https://shop.example/"`
	File string `query:"body" enum:"1" doc:"1: return the file as text/plain; during an outage the last good copy"`
	Wait string `query:"wait" default:"10s" doc:"timeout for a robots.txt without a record, 0s to 30s"`
}

type refreshInput struct {
	Body struct {
		URL  string `json:"url" maxLength:"8192" doc:"any URL of the site" example:"https://shop.example/"`
		Wait string `json:"wait,omitempty" doc:"timeout for the fetch, 0s to 30s; default 10s"`
	}
}

type scheduleInput struct {
	URL     string   `query:"url" required:"true" maxLength:"8192" doc:"any URL of the site" example:"https://shop.example/"`
	Agent   []string `query:"agent,explode" maxItems:"20" doc:"product token of the crawler; repeated: the tokens of one crawler, most specific first" example:"MyBot"`
	Dialect string   `query:"dialect" doc:"dialect of the rules"`
	Wait    string   `query:"wait" default:"10s" doc:"timeout for a robots.txt without a record, 0s to 30s"`
}

func (s *Service) registerRobots() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "robots", Method: http.MethodGet, Path: "/v1/robots",
		Summary:     "Show the record of a robots.txt",
		Description: "An unreachable site is an answer with the status 200. With body=1 the file is returned, always as text/plain.",
	}, map[string]*huma.Schema{typeJSON: s.schema(Record{}), typeText: {Type: huma.TypeString}}), s.robots)

	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "robots-refresh", Method: http.MethodPost, Path: "/v1/robots/refresh",
		Summary:     "Fetch a robots.txt again now",
		Description: "It counts as a new site for the client.",
	}, map[string]*huma.Schema{typeJSON: s.schema(Record{})}), s.refresh)

	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "schedule", Method: http.MethodGet, Path: "/v1/schedule",
		Summary: "Show the crawl rate of a site for the next 24 hours",
	}, map[string]*huma.Schema{typeJSON: s.schema(Schedule{})}), s.schedule)
}

// site returns the site of a URL and how long to wait for it.
func (s *Service) site(ctx context.Context, url, wait, location string) (origin robots.Origin, patient time.Duration, p *Problem) {
	if !CallerOf(ctx).May(ScopeCheck) {
		return origin, 0, NewProblem(Unauthorized, "a token with the scope check is needed")
	}
	if origin, _, p = siteOf(robots.RFC9309, url, location+"url"); p == nil {
		patient, p = patience(wait, location+"wait")
	}
	return origin, patient, p
}

func (s *Service) robots(ctx context.Context, in *robotsInput) (*answer, error) {
	origin, wait, p := s.site(ctx, in.URL, in.Wait, "query.")
	if p != nil {
		return nil, p
	}
	r, p := s.record(ctx, origin, wait)
	if p != nil {
		return nil, p
	}
	if in.File == "" {
		return s.answerRecord(r)
	}
	body, has := r.Body, r.Outcome == fetch.Success
	if g := r.LastGood; !has && g != nil {
		body, has = g.Body, g.Outcome == fetch.Success
	}
	if !has {
		return nil, NewProblem(NotFound, "there is no robots.txt of "+origin.String()+" to show: "+r.Cause.Sentence())
	}
	return &answer{
		Status: http.StatusOK, ContentType: typeText, Options: "nosniff",
		CacheControl: s.maxAge(r), Body: body,
	}, nil
}

func (s *Service) answerRecord(r *fetch.Record) (*answer, error) {
	a, err := answerWith(newRecord(r))
	if err == nil {
		a.CacheControl = s.maxAge(r)
	}
	return a, err
}

func (s *Service) refresh(ctx context.Context, in *refreshInput) (*answer, error) {
	origin, wait, p := s.site(ctx, in.Body.URL, in.Body.Wait, "body.")
	if p != nil {
		return nil, p
	}
	var r *fetch.Record
	p = s.await(ctx, origin, wait, func(ctx context.Context) (err error) {
		r, err = s.cache.Refresh(ctx, origin)
		return err
	})
	if p != nil {
		return nil, p
	}
	return s.answerRecord(r)
}

// A Schedule is the pace of a site for a crawler.
type Schedule struct {
	_        struct{}   `additionalProperties:"true"`
	Dialect  string     `json:"dialect"`
	Agent    Agents     `json:"agent"`
	At       time.Time  `json:"at" doc:"when the windows begin"`
	Allowed  bool       `json:"allowed" doc:"false if robots.txt is unreachable; there are no windows then"`
	Interval float64    `json:"interval" doc:"seconds between two starts now"`
	Next     *time.Time `json:"next,omitempty" doc:"the first start that the schedule permits, regardless of other requests"`
	Windows  []Window   `json:"windows" doc:"the next 24 hours"`
	Declared []Declared `json:"declared" doc:"lines about the crawl rate, and how each is used"`
	Dropped  int        `json:"dropped" doc:"number of further lines"`
}

// A Window is a time with one pace.
type Window struct {
	_        struct{}  `additionalProperties:"true"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Open     bool      `json:"open" doc:"false: closed for crawlers"`
	Interval float64   `json:"interval" doc:"seconds between two starts"`
	Reasons  []string  `json:"reasons" doc:"sentences, the deciding reason first"`
}

// A Declared is a line about pace.
type Declared struct {
	_        struct{} `additionalProperties:"true"`
	Line     int      `json:"line"`
	Field    string   `json:"field"`
	Value    string   `json:"value"`
	Interval float64  `json:"interval" doc:"seconds, 0 if it says none"`
	Fate     string   `json:"fate" doc:"a word for programs"`
	Why      string   `json:"why,omitempty"`
}

// mostEntries bounds the windows and the lines of a file with hundreds of them.
const mostEntries = 1000

func (s *Service) schedule(ctx context.Context, in *scheduleInput) (*answer, error) {
	q, p := s.question(ctx, in.URL, in.Agent, in.Dialect, false, in.Wait, "query.")
	if p != nil {
		return nil, p
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	plan := q.terms.schedule
	j := &Schedule{Dialect: plan.Dialect(), Agent: q.agents, At: now, Allowed: !q.terms.rules.Match(robots.RawPath("/")).Undecided(), Windows: []Window{}, Declared: []Declared{}, Dropped: plan.Dropped()}
	if len(j.Agent) == 0 {
		j.Agent = Agents{"*"}
	}
	if j.Allowed {
		interval, _ := plan.At(now)
		j.Interval = interval.Seconds()
		next := plan.Next(now, pace.State{}).UTC()
		j.Next = &next
		for span := range plan.Spans(now, now.Add(24*time.Hour)) {
			if len(j.Windows) == mostEntries {
				break
			}
			j.Windows = append(j.Windows, Window{From: span.From.UTC(), To: span.To.UTC(), Open: span.Open, Interval: span.Interval.Seconds(), Reasons: reasonsOf(span.Reasons)})
		}
	}
	for i, e := range plan.Entries() {
		if i == mostEntries {
			j.Dropped += len(plan.Entries()) - i
			break
		}
		j.Declared = append(j.Declared, Declared{Line: e.Line, Field: e.Field.String(), Value: e.Value, Interval: e.Interval.Seconds(), Fate: e.Use.String(), Why: e.Why})
	}
	a, err := answerWith(j)
	if err == nil {
		a.CacheControl = s.maxAge(q.record)
	}
	return a, err
}

// reasonsOf returns reasons in words.
func reasonsOf(reasons []pace.Reason) []string {
	words := []string{}
	for _, r := range reasons {
		words = append(words, r.String())
	}
	return words
}
