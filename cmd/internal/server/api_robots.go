package server

import (
	"context"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
)

// The record and the crawl rate of a site.

const typeText = "text/plain"

// robots answers GET /v1/robots.
func (s *Service) robots(r *request) *response {
	url := r.queryURL()
	onlyBody := r.keyword("body", "1")
	origin, _ := r.site("query.url", robots.RFC9309, url)
	wait := r.timeout("query.wait", r.query.Get("wait"))
	if r.problem != nil {
		return nil
	}
	record, p := s.record(r.Context(), origin, wait)
	r.fail(p)
	switch {
	case r.problem != nil:
		return nil
	case !onlyBody:
		return s.answerRecord(record)
	case record.Outcome == fetch.Success:
		return &response{kind: typeText, caching: s.maxAge(record), body: record.Body}
	case record.LastGood != nil && record.LastGood.Outcome == fetch.Success:
		return &response{kind: typeText, caching: s.maxAge(record), body: record.LastGood.Body}
	case record.Outcome == fetch.Unavailable:
		r.fail(NewProblem(NotFound, origin.String()+" has no robots.txt: "+record.Cause.Sentence()))
	default: // whether it has one is not known
		r.fail(NewProblem(Pending, "robots.txt of "+origin.String()+": "+record.Cause.Sentence()).After(s.lifetime(record)))
	}
	return nil
}

func (s *Service) answerRecord(r *fetch.Record) *response {
	a := respond(source.NewSiteRecord(r))
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
	r.fail(p)
	if p != nil {
		return nil
	}
	return s.answerRecord(record)
}

// schedule answers GET /v1/schedule.
func (s *Service) schedule(r *request) *response {
	url := r.queryURL()
	agents := r.queryAgents()
	q := r.question("query.", url, agents, r.query.Get("dialect"), r.query.Get("wait"))
	q.path = robots.RawPath("/")
	v := r.verdict(q, false)
	if r.problem != nil {
		return nil
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	rate := answer.NewCrawlRate(q.rules, s.parts.Policy, agents, now, !v.Undecided(), mostEntries)
	a := respond(rate)
	a.caching = s.maxAge(q.record)
	if len(rate.Windows) > 0 { // the answer is about now
		a.caching = private(min(s.lifetime(q.record), rate.Windows[0].To.Sub(now)))
	}
	return a
}
