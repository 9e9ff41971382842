package server

import (
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
func (s *Service) permits(r *request) *answer {
	var b struct {
		URLs    []string `json:"urls"`
		Most    *int     `json:"most"`
		Agent   Agents   `json:"agent"`
		Dialect string   `json:"dialect"`
		Wait    string   `json:"wait"`
		Hold    string   `json:"hold"`
		Done    []Return `json:"done"`
	}
	r.decode(&b)
	most := len(b.URLs)
	switch {
	case b.URLs == nil:
		r.fail(wrong(BadParameter, "body.urls", "", isMissing))
	case most == 0:
		r.fail(wrong(BadParameter, "body.urls", "", "must not be empty"))
	case b.Most != nil:
		most = *b.Most
		r.fail(outside("body.most", float64(most), 1, maxURLs))
	}
	r.fail(tooMany("body.urls", len(b.URLs), maxURLs))
	hold, wait := r.hold(b.Hold), r.timeout("body.wait", b.Wait)
	crawler := &cache.Crawler{Dialect: r.crawler("body.", b.Dialect, b.Agent), Tokens: b.Agent}
	if r.problem == nil {
		r.problem = r.exchange.charge(len(b.URLs))
	}
	returned := r.releaseAll(b.Done)
	if r.problem != nil {
		return nil
	}
	pages := r.pages(b.URLs, crawler, wait)
	// Permits are for the first allowed pages whose sites are ready, at most most.
	var allowed []*wantedPage
	var requests []pace.Request
	for i := range pages {
		if q := &pages[i]; q.verdict.Allowed {
			allowed = append(allowed, q)
			requests = append(requests, pace.Request{Origin: q.origin, Schedule: s.paceOf(q.rules), Addr: q.record.Addr(), Lifetime: hold})
		}
	}
	list := r.try(requests, most)
	if r.problem != nil {
		return nil
	}
	for i, q := range allowed {
		q.permit = list[i]
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
	return permitsOf(append(out, ']'), returned)
}

// pages finds the verdicts for URLs. Sites that are not in memory are fetched concurrently.
func (r *request) pages(urls []string, c *cache.Crawler, wait time.Duration) []wantedPage {
	pages := make([]wantedPage, len(urls))
	missing := map[robots.Origin][]*wantedPage{}
	for i, url := range urls {
		q := &pages[i]
		q.url, q.crawler = url, c
		if len(url) > longestURL {
			q.problem = wrong(BadURL, "body.urls", url, fmt.Sprintf("has a URL of more than %d bytes", longestURL))
		} else if q.origin, q.path, q.problem = siteOf(c.Dialect, url, "body.urls"); q.problem == nil {
			var err error
			if q.rules, q.record, err = r.s.cache.Rules(ended, q.origin, c); err != nil {
				missing[q.origin] = append(missing[q.origin], q)
			}
		}
	}
	inParallel(r.Context(), missing, func(origin robots.Origin, of []*wantedPage) {
		rules, record, p := r.s.rules(r.Context(), c, origin, wait)
		for _, q := range of {
			q.rules, q.record, q.problem = rules, record, p
		}
	})
	for i := range pages {
		q := &pages[i]
		if q.problem == nil {
			q.verdict = q.rules.Match(q.path)
		}
		r.exchange.judged(q.origin, q.verdict, q.problem)
	}
	return pages
}
