package server

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/pace"
)

// Permits for a frontier, which has URLs of many sites: one call of the limiter for all of them.

// longestURL is how many bytes each may have.
const longestURL = 8 << 10

type permitsInput struct {
	Body struct {
		URLs    []string `json:"urls" minItems:"1" maxItems:"1000" doc:"URLs to request, usually each of another site, most wanted first" example:"https://shop.example/a"`
		Most    int      `json:"most,omitempty" minimum:"1" maximum:"1000" doc:"maximum number of permits, default all"`
		Agent   Agents   `json:"agent,omitempty"`
		Dialect string   `json:"dialect,omitempty" doc:"dialect of the rules"`
		Wait    string   `json:"wait,omitempty" doc:"timeout for all robots.txt without a record, 0s to 30s; default 10s"`
		Hold    string   `json:"hold,omitempty" doc:"lifetime of each permit after its start, 1s to 1h; default 2m" example:"2m"`
		Done    []Return `json:"done,omitempty" maxItems:"100" doc:"permits to release, which saves a request for each"`
	}
}

// PermitAnswers are those about many URLs, in their order.
type PermitAnswers struct {
	_       struct{}     `additionalProperties:"true"`
	Answers []PermitLine `json:"answers"`
	Done    []Returned   `json:"done,omitempty" doc:"the results of the permits in done, in order"`
}

// A PermitLine is the answer about one URL of many: the members of PermitAnswer, or an error.
type PermitLine struct{}

// Schema says so.
func (PermitLine) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		r.SchemaFromRef(r.Schema(reflect.TypeFor[PermitAnswer](), true, "").Ref),
		r.SchemaFromRef(r.Schema(reflect.TypeFor[LineError](), true, "").Ref),
	}}
}

// A wantedPage is one URL of many, with its permit.
type wantedPage struct {
	question
	problem *Problem
	verdict robots.Verdict
	permit  pace.Permit
}

func (s *Service) permits(ctx context.Context, in *permitsInput) (*answer, error) {
	b := &in.Body
	p := mayPermit(ctx)
	if p == nil && !CallerOf(ctx).May(ScopeCheck) {
		p = NewProblem(Unauthorized, "a token with the scope check is needed")
	}
	var hold, patient time.Duration
	if p == nil {
		hold, p = holdOf(b.Hold)
	}
	if p == nil {
		patient, p = patience(b.Wait, "body.wait")
	}
	d, wrongDialect := s.dialectOf(b.Dialect, "body.dialect")
	if p == nil {
		p = wrongDialect
	}
	if p == nil {
		p = checkAgents(b.Agent, d, "body.agent")
	}
	if p == nil {
		p = charge(ctx, len(b.URLs))
	}
	if p != nil {
		return nil, p
	}
	returned, p := s.giveBackAll(ctx, b.Done)
	if p != nil {
		return nil, p
	}

	pages := make([]wantedPage, len(b.URLs))
	s.readPages(ctx, pages, b.URLs, d, b.Agent, patient)
	most := b.Most
	if most == 0 {
		most = len(pages)
	}
	var err error
	Wait(ctx, func() { err = s.acquireFirst(ctx, pages, most, hold) })
	if err != nil {
		return nil, noPace(err)
	}
	out := []byte(`{"answers":[`)
	for i := range pages {
		if i > 0 {
			out = append(out, ",\n"...)
		}
		q := &pages[i]
		if q.problem != nil {
			out = appendJSON(out, LineError{Error: q.problem.Error(), Code: string(q.problem.code())})
			continue
		}
		out = append(s.appendPermit(append(out, '{'), &q.question, q.verdict, q.permit, hold), '}')
	}
	return permitsOf(append(out, ']'), returned), nil
}

// readPages finds what the sites say of their URLs. Those that are not held are asked at the
// same time.
func (s *Service) readPages(ctx context.Context, pages []wantedPage, urls []string, d robots.Dialect, agents Agents, wait time.Duration) {
	crawler := &asker{Crawler: cache.Crawler{Dialect: d, Tokens: agents}}
	missing := map[robots.Origin][]*wantedPage{}
	for i, url := range urls {
		q := &pages[i]
		q.url, q.agents = url, agents
		if len(url) > longestURL {
			q.problem = wrong(BadURL, "body.urls", url, fmt.Sprintf("has a URL of more than %d bytes", longestURL))
			continue
		}
		if q.origin, q.path, q.problem = siteOf(d, url, "body.urls"); q.problem != nil {
			continue
		}
		var err error
		if q.record, q.terms, err = s.terms(ended, q.origin, crawler); err != nil {
			missing[q.origin] = append(missing[q.origin], q)
		}
	}
	if len(missing) > 0 {
		Wait(ctx, func() {
			var asking sync.WaitGroup
			for origin, of := range missing {
				asking.Go(func() {
					record, terms, p := s.get(ctx, crawler, origin, wait)
					for _, q := range of {
						q.record, q.terms, q.problem = record, terms, p
					}
				})
			}
			asking.Wait()
		})
	}
	for i := range pages {
		if q := &pages[i]; q.problem == nil {
			q.verdict = q.terms.rules.Match(q.path)
		}
	}
}

// acquireFirst acquires permits for the first most of the pages that are allowed and whose sites are ready.
func (s *Service) acquireFirst(ctx context.Context, pages []wantedPage, most int, hold time.Duration) error {
	var allowed []*wantedPage
	var requests []pace.Request
	for i := range pages {
		if q := &pages[i]; q.problem == nil && q.verdict.Allowed {
			allowed = append(allowed, q)
			requests = append(requests, pace.Request{Origin: q.origin, Schedule: q.terms.schedule, Addr: q.record.Addr(), Lifetime: hold})
		}
	}
	list, err := s.limiter.Try(ctx, requests, most)
	if err != nil {
		return err
	}
	for i, q := range allowed {
		q.permit = list[i]
	}
	return nil
}
