package server

import (
	"context"
	"fmt"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/pace"
)

// Permits for many sites, with one call of the limiter.

// longestURL is the maximum size of each URL in bytes.
const longestURL = 8 << 10

// A wantedPage is a URL of a request, with its permit.
type wantedPage struct {
	question
	problem *Problem
	verdict robots.Verdict
	permit  pace.Permit
}

// maxURLs is the maximum number of URLs in a request.
const maxURLs = 1000

// permits answers POST /v1/permits/next.
func (s *Service) permits(r *request) (*answer, *Problem) {
	ctx := r.Context()
	var b struct {
		URLs    []string `json:"urls"`
		Most    *int     `json:"most"`
		Agent   Agents   `json:"agent"`
		Dialect string   `json:"dialect"`
		Wait    string   `json:"wait"`
		Hold    string   `json:"hold"`
		Done    []Return `json:"done"`
	}
	p := r.decode(&b)
	most := len(b.URLs)
	switch {
	case p != nil:
	case b.URLs == nil:
		p = wrong(BadParameter, "body.urls", "", isMissing)
	case most == 0:
		p = wrong(BadParameter, "body.urls", "", "must not be empty")
	case b.Most != nil:
		most = *b.Most
		p = outside("body.most", float64(most), 1, maxURLs)
	}
	if p == nil {
		p = tooMany("body.urls", len(b.URLs), maxURLs)
	}
	var hold, timeout time.Duration
	if p == nil {
		hold, p = holdOf(b.Hold)
	}
	if p == nil {
		timeout, p = timeoutOf(b.Wait, "body.wait")
	}
	var d robots.Dialect
	if p == nil {
		d, p = s.crawlerOf(b.Agent, b.Dialect, "body.")
	}
	if p == nil {
		p = exchangeOf(ctx).charge(len(b.URLs))
	}
	if p != nil {
		return nil, p
	}
	returned, p := s.releaseAll(ctx, b.Done)
	if p != nil {
		return nil, p
	}

	pages := make([]wantedPage, len(b.URLs))
	s.readPages(ctx, pages, b.URLs, d, b.Agent, timeout)
	var err error
	exchangeOf(ctx).wait(func() { err = s.acquireFirst(ctx, pages, most, hold) })
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

// readPages finds the verdicts for URLs. Sites that are not in memory are fetched
// concurrently.
func (s *Service) readPages(ctx context.Context, pages []wantedPage, urls []string, d robots.Dialect, agents Agents, wait time.Duration) {
	who := &crawler{Crawler: cache.Crawler{Dialect: d, Tokens: agents}}
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
		if q.record, q.terms, err = s.terms(ended, q.origin, who); err != nil {
			missing[q.origin] = append(missing[q.origin], q)
		}
	}
	inParallel(ctx, missing, func(origin robots.Origin, of []*wantedPage) {
		record, terms, p := s.get(ctx, who, origin, wait)
		for _, q := range of {
			q.record, q.terms, q.problem = record, terms, p
		}
	})
	for i := range pages {
		if q := &pages[i]; q.problem == nil {
			q.verdict = q.terms.rules.Match(q.path)
		}
	}
}

// acquireFirst acquires permits for the first allowed pages whose sites are ready, at most
// most.
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
