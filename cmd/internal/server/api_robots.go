package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// The record and the crawl rate of a site.

// A Record is the outcome of a robots.txt fetch.
type Record struct {
	URL          string            `json:"url"`
	Outcome      string            `json:"outcome"`
	Cause        string            `json:"cause"`
	Note         string            `json:"note"`
	Status       int               `json:"status"`
	FinalURL     string            `json:"final_url"`
	Started      *time.Time        `json:"started,omitempty"`
	Fetched      *time.Time        `json:"fetched,omitempty"`
	Expires      *time.Time        `json:"expires,omitempty"`
	NextTry      *time.Time        `json:"next_try,omitempty"`
	FailingSince *time.Time        `json:"failing_since,omitempty"`
	Failures     int               `json:"failures,omitempty"`
	LastGood     *GoodCopy         `json:"last_good,omitempty"`
	Bytes        int               `json:"bytes"`
	SHA256       string            `json:"sha256,omitempty"`
	Truncated    bool              `json:"truncated"`
	Degraded     bool              `json:"degraded,omitempty"`
	Headers      map[string]string `json:"headers"`
	Hops         []Hop             `json:"hops"`
}

// A GoodCopy is a last good response.
type GoodCopy struct {
	Status  int        `json:"status"`
	Fetched *time.Time `json:"fetched,omitempty"`
	Bytes   int        `json:"bytes"`
	SHA256  string     `json:"sha256,omitempty"`
}

// A Hop is one request of a fetch.
type Hop struct {
	URL      string  `json:"url"`
	Address  string  `json:"address"`
	Protocol string  `json:"protocol,omitempty"`
	Via      string  `json:"via,omitempty"`
	Status   int     `json:"status"`
	Location string  `json:"location,omitempty"`
	Received int64   `json:"received"`
	Seconds  float64 `json:"seconds"`
}

// some returns nil for the zero time, otherwise the time in UTC and whole milliseconds.
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

// robots answers GET /v1/robots.
func (s *Service) robots(r *request) *response {
	url, onlyBody := r.queryURL(), r.word("body", "1")
	origin, _ := r.site("query.url", robots.RFC9309, url)
	wait := r.timeout("query.wait", r.query.Get("wait"))
	if r.problem != nil {
		return nil
	}
	record, p := s.record(r.Context(), origin, wait)
	if r.fail(p); p != nil {
		return nil
	}
	if !onlyBody {
		return s.answerRecord(record)
	}
	body, has := record.Body, record.Outcome == fetch.Success
	if g := record.LastGood; !has && g != nil {
		body, has = g.Body, g.Outcome == fetch.Success
	}
	switch {
	case has:
	case record.Outcome == fetch.Unavailable:
		r.fail(NewProblem(NotFound, origin.String()+" has no robots.txt: "+record.Cause.Sentence()))
	default: // whether it has one is not known
		r.fail(NewProblem(Pending, "robots.txt of "+origin.String()+": "+record.Cause.Sentence()).After(s.lifetime(record)))
	}
	return &response{kind: typeText, caching: s.maxAge(record), body: body}
}

func (s *Service) answerRecord(r *fetch.Record) *response {
	a := respond(newRecord(r))
	a.caching = s.maxAge(r)
	return a
}

// refresh answers POST /v1/robots/refresh.
func (s *Service) refresh(r *request) *response {
	var in struct {
		URL  *string `json:"url"`
		Wait string  `json:"wait"`
	}
	r.decode(&in)
	origin, _ := r.site("body.url", robots.RFC9309, r.url("body.url", in.URL))
	wait := r.timeout("body.wait", in.Wait)
	if r.problem != nil {
		return nil
	}
	var record *fetch.Record
	p := s.await(r.Context(), origin, wait, func(ctx context.Context) (err error) {
		record, err = s.cache.Refresh(ctx, origin)
		return err
	})
	if r.fail(p); p != nil {
		return nil
	}
	return s.answerRecord(record)
}

// A Schedule is the crawl rate of a site for a crawler.
type Schedule struct {
	Dialect  string     `json:"dialect"`
	Agent    Agents     `json:"agent"`
	At       time.Time  `json:"at"`
	Allowed  bool       `json:"allowed"`
	Interval float64    `json:"interval"`
	Next     *time.Time `json:"next,omitempty"`
	Windows  []Window   `json:"windows"`
	Declared []Declared `json:"declared"`
	Dropped  int        `json:"dropped"`
}

// A Window is a period with one crawl rate.
type Window struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Open     bool      `json:"open"`
	Interval float64   `json:"interval"`
	Reasons  []string  `json:"reasons"`
}

// A Declared is a line about the crawl rate.
type Declared struct {
	Line     int     `json:"line"`
	Field    string  `json:"field"`
	Value    string  `json:"value"`
	Interval float64 `json:"interval"`
	Fate     string  `json:"fate"`
	Why      string  `json:"why,omitempty"`
}

// schedule answers GET /v1/schedule.
func (s *Service) schedule(r *request) *response {
	url, agents := r.queryURL(), r.queryAgents()
	q := r.question("query.", url, agents, r.query.Get("dialect"), r.query.Get("wait"))
	q.path = robots.RawPath("/")
	v := r.verdict(q, false)
	if r.problem != nil {
		return nil
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	plan := s.paceOf(q.rules)
	j := &Schedule{Dialect: plan.Dialect(), Agent: agents, At: now, Allowed: !v.Undecided(), Windows: []Window{}, Declared: []Declared{}, Dropped: plan.Dropped()}
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
		j.Declared = append(j.Declared, Declared{Line: e.Line, Field: e.Field.String(), Value: e.Value, Interval: e.Interval.Seconds(), Fate: string(e.Use), Why: e.Why})
	}
	a := respond(j)
	a.caching = s.maxAge(q.record)
	if len(j.Windows) > 0 { // the answer is about now
		a.caching = private(min(s.lifetime(q.record), j.Windows[0].To.Sub(now)))
	}
	return a
}

// reasonsOf returns reasons as text.
func reasonsOf(reasons []pace.Reason) []string {
	words := []string{}
	for _, r := range reasons {
		words = append(words, r.String())
	}
	return words
}
