package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/quote"
	"github.com/robotskit/robots/pace"
)

// A fetcher fetches what its clients may have fetched. The cache calls it if neither memory
// nor store has the record, with the context of the client that caused the flight, which
// continues when that client is gone. So records in memory cost a client nothing, and
// abandoned fetches are limited here.
type fetcher struct {
	client *fetch.Client
	ftp    bool
	most   int64
	flying atomic.Int64
}

// A refusal reports that a client may not cause a fetch.
type refusal struct {
	*Problem
	client string
}

// Fetch is required by cache.Fetcher.
func (f *fetcher) Fetch(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	return f.FetchAfter(ctx, origin, func() error { return nil })
}

// FetchAfter fetches if the client of ctx may cause a fetch.
func (f *fetcher) FetchAfter(ctx context.Context, origin robots.Origin, before func() error) (*fetch.Record, error) {
	c := exchangeOf(ctx).Caller
	if p := f.refuses(c, origin); p != nil {
		return nil, &refusal{p, c.Name}
	}
	defer f.flying.Add(-1)
	if f.flying.Add(1) > f.most {
		return nil, &refusal{NewProblem(Busy, "too many sites are being fetched: try again in a second").After(time.Second), c.Name}
	}
	return f.client.FetchAfter(ctx, origin, before)
}

func (f *fetcher) refuses(c Caller, origin robots.Origin) *Problem {
	port := origin.Port()
	switch {
	case c.Scopes&ScopeFetch == 0:
		return NewProblem(Forbidden, "the token lacks the scope fetch, which is needed to fetch robots.txt of "+origin.String())
	case origin.Scheme() == "ftp" && !f.ftp:
		return NewProblem(BadURL, "this service does not fetch ftp sites: use http or https")
	case c.Anonymous && (origin.Scheme() == "ftp" || port != 80 && port != 443):
		return NewProblem(Unauthorized, "without a token only http and https sites on ports 80 and 443 are fetched, not "+origin.String())
	}
	if wait := reserve(c.limits.origins, 1); wait > 0 {
		detail := "robots.txt of " + origin.String() + " is not fetched: you have reached your limit of new sites; try again later"
		return NewProblem(RateLimited, detail).After(wait)
	}
	return nil
}

// rules waits for the rules of a site for a crawler.
func (s *Service) rules(
	ctx context.Context, c *cache.Crawler, origin robots.Origin, wait time.Duration,
) (rules *robots.Rules, r *fetch.Record, p *Problem) {
	// A record in memory needs no timer, and its background refresh does not count for the
	// client.
	rules, r, err := s.cache.Rules(ended, origin, c)
	if err != nil {
		p = s.await(ctx, origin, wait, func(ctx context.Context) (err error) {
			rules, r, err = s.cache.Rules(ctx, origin, c)
			return err
		})
	}
	return rules, r, p
}

// paceOf returns the schedule of rules.
func (s *Service) paceOf(rules *robots.Rules) *pace.Schedule {
	schedule, _ := pace.NewSchedule(rules, s.parts.Policy) // no error: New has checked the policy
	return schedule
}

// record waits for the record of a site.
func (s *Service) record(ctx context.Context, origin robots.Origin, wait time.Duration) (r *fetch.Record, p *Problem) {
	r = s.held(origin)
	if r != nil {
		return r, nil
	}
	p = s.await(ctx, origin, wait, func(ctx context.Context) (err error) {
		r, err = s.cache.Get(ctx, origin)
		return err
	})
	return r, p
}

// ended is a context that has ended: a cache then returns only records in memory.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// held returns the record of a site if it is in memory, else nil.
func (s *Service) held(origin robots.Origin) *fetch.Record {
	r, err := s.cache.Get(ended, origin)
	if err != nil {
		return nil
	}
	return r
}

// await calls get until it succeeds or the wait is over. A fetch that has begun continues.
func (s *Service) await(ctx context.Context, origin robots.Origin, wait time.Duration, get func(context.Context) error) *Problem {
	waiting, cancel := context.WithTimeout(ctx, max(wait, leastWait))
	defer cancel()
	for {
		var err error
		exchangeOf(ctx).wait(func() { err = get(waiting) })
		if err == nil {
			return nil
		}
		// The flight might have been started by another client, who may not cause a fetch.
		if r, ok := errors.AsType[*refusal](err); ok && r.client != exchangeOf(ctx).Name && waiting.Err() == nil {
			continue
		}
		return s.fetchProblem(origin, err)
	}
}

// fetchProblem returns the problem for a missing record.
func (s *Service) fetchProblem(origin robots.Origin, err error) *Problem {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.Problem
	}
	switch ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled); {
	case ended && s.parts.DownSince != nil && !s.parts.DownSince().IsZero():
		return NewProblem(Pending, "robots.txt of "+origin.String()+" cannot be fetched while Redis is unreachable").After(pendingAfter)
	case ended:
		return NewProblem(Pending, "robots.txt of "+origin.String()+" is being fetched: try again").After(pendingAfter)
	case errors.Is(err, cache.ErrClosed):
		return NewProblem(Busy, "the service is stopping: use another, or try again").After(time.Second)
	}
	return NewProblem(Pending, "robots.txt of "+origin.String()+" could not be fetched: "+robots.Printable(err.Error())).After(pendingAfter)
}

// siteOf returns the origin and path of a URL as a dialect reads it.
func siteOf(d robots.Dialect, url, location string) (robots.Origin, robots.Path, *Problem) {
	if strings.HasPrefix(url, "/") {
		return robots.Origin{}, robots.Path{}, wrong(BadURL, location, url, "must be an absolute URL such as https://example.com/page")
	}
	origin, path, err := ask.URL(d, url, true)
	if err != nil {
		return origin, path, invalid(BadURL, location, url, err)
	}
	return origin, path, nil
}

// checkAgents returns a problem for invalid product tokens.
func checkAgents(agents []string, d robots.Dialect, location string) *Problem {
	if len(agents) > mostAgents {
		return wrong(TooMany, location, "", fmt.Sprintf("has %d product tokens: at most %d are allowed", len(agents), mostAgents))
	}
	for _, a := range agents {
		switch {
		case len(a) > longestAgent:
			return wrong(BadParameter, location, a, fmt.Sprintf("has more than %d bytes: use a product token such as MyBot", longestAgent))
		case strings.IndexByte(a, 0) >= 0:
			return wrong(BadParameter, location, "", "contains a NUL: use a product token such as MyBot")
		}
		if names := ask.Listed(a); names != nil && !d.RawTokens {
			message := "contains several tokens: send them separately, most specific first: " + strings.Join(names, ", then ")
			return wrong(BadParameter, location, a, message)
		}
	}
	return nil
}

// appendAgent appends the member agent of an answer, as given.
func appendAgent(dst []byte, agents []string) []byte {
	dst = append(dst, `"agent":`...)
	switch len(agents) {
	case 0:
		return append(dst, `"*"`...)
	case 1:
		return quote.Append(dst, agents[0])
	}
	return answer.AppendStrings(dst, agents)
}

// lifetime returns the time until a record expires or is fetched again.
func (s *Service) lifetime(r *fetch.Record) time.Duration {
	until := r.Expires
	if !r.Outcome.Good() {
		until = r.NextTry
	}
	if until.IsZero() {
		return 0
	}
	return max(until.Sub(s.now()), 0).Truncate(time.Second)
}

// maxAge returns the Cache-Control of an answer from a record.
func (s *Service) maxAge(r *fetch.Record) string { return private(s.lifetime(r)) }

// private returns the Cache-Control of an answer for one client.
func private(age time.Duration) string {
	return "private, max-age=" + strconv.Itoa(int(age/time.Second))
}
