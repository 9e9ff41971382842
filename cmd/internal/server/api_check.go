package server

import (
	"net/http"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/quote"
)

// Verdicts for one URL or for many.

const typeLines = "application/x-ndjson"

// check answers GET /v1/check.
func (s *Service) check(r *request) *response {
	url := r.queryURL()
	agents := r.queryAgents()
	userInitiated := r.flag("user_initiated")
	asStatus := r.keyword("as", "status")
	q := r.question("query.", url, agents, r.query.Get("dialect"), r.query.Get("wait"))
	v := r.verdict(q, userInitiated)
	switch {
	case r.problem != nil:
		return nil
	case !asStatus:
		return &response{kind: typeJSON, caching: s.maxAge(q.record), body: append(q.appendVerdict([]byte("{"), v), "}\n"...)}
	case v.Allowed:
		return &response{status: http.StatusNoContent, caching: s.maxAge(q.record)}
	case v.Undecided():
		r.fail(NewProblem(Pending, "robots.txt of "+q.origin.String()+": "+v.String()).After(s.lifetime(q.record)))
	default:
		r.fail(NewProblem(Disallowed, "the URL is "+v.String()))
	}
	return nil
}

// A siteQuestion is a question about a live site, with the site's rules once there is a verdict.
type siteQuestion struct {
	url     string
	agents  []string // as given
	crawler answer.Crawler
	origin  robots.Origin
	path    robots.Path
	wait    time.Duration
	rules   *robots.Rules
	record  *fetch.Record
}

// question reads a question. Location is the prefix of its parts, such as "query.".
func (r *request) question(location, url string, agents []string, dialect, wait string) *siteQuestion {
	q := &siteQuestion{url: url, agents: agents, crawler: r.crawler(location, dialect, agents)}
	q.origin, q.path = r.site(location+"url", q.crawler.Dialect, url)
	q.wait = r.timeout(location+"wait", wait)
	return q
}

// verdict waits for the rules of a question, and counts its outcome, a problem too.
func (r *request) verdict(q *siteQuestion, userInitiated bool) (v robots.Verdict) {
	if r.problem == nil {
		c := &cache.Crawler{Dialect: q.crawler.Dialect, Tokens: q.crawler.Tokens}
		q.rules, q.record, r.problem = r.s.rules(r.Context(), c, q.origin, q.wait)
	}
	if r.problem == nil && userInitiated {
		q.rules = q.rules.UserInitiated()
	}
	if r.problem == nil {
		v = q.rules.Match(q.path)
	}
	r.exchange.judged(q.origin, v, r.problem)
	return v
}

// appendVerdict appends the members of an answer, without braces.
func (q *siteQuestion) appendVerdict(dst []byte, v robots.Verdict) []byte {
	dst = append(v.AppendJSON(dst), ',')
	dst = append(q.rules.AppendJSON(dst, answerLimits), `,"url":`...)
	dst = append(quote.Append(dst, q.url), ',')
	dst = append(appendAgent(dst, q.agents), ',')
	return q.crawler.AppendJSON(dst, q.rules)
}
