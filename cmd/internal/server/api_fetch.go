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
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// A fetcher fetches what its callers may have fetched. It is asked when neither memory nor
// store has an answer, by the flight that one caller has begun: a flight keeps the values
// of that caller's context and goes on when he is gone. So a held answer costs no caller
// anything, and what goes on unwatched is bounded here.
type fetcher struct {
	client *fetch.Client
	ftp    bool
	most   int64
	flying atomic.Int64
}

// A refusal says that a caller may not cause a fetch.
type refusal struct {
	*Problem
	caller string
}

func (e *refusal) Unwrap() error { return e.Problem }

// begin counts a fetch, or says why there is none.
func (f *fetcher) begin(ctx context.Context, origin robots.Origin) error {
	c := CallerOf(ctx)
	p := f.refuses(c, origin)
	if p == nil && f.flying.Add(1) > f.most {
		f.flying.Add(-1)
		p = NewProblem(Busy, "as many sites are being asked as this service asks at a time: try again in a second").After(1)
	}
	if p != nil {
		return &refusal{p, c.Name}
	}
	return nil
}

func (f *fetcher) refuses(c Caller, origin robots.Origin) *Problem {
	port := origin.Port()
	switch {
	case !c.May(ScopeFetch):
		return NewProblem(Unauthorized, "robots.txt of "+origin.String()+" is not held, and to have it fetched a token with the scope fetch is needed")
	case origin.Scheme() == "ftp" && !f.ftp:
		return NewProblem(BadURL, "sites with the scheme ftp are not asked by this service: ask about http or https")
	case c.Anonymous && (origin.Scheme() == "ftp" || port != 80 && port != 443):
		return NewProblem(Unauthorized, "without a token only http and https on the ports 80 and 443 are asked, and not "+origin.String())
	case c.NewOrigin == nil:
		return nil
	}
	if ok, after := c.NewOrigin(); !ok {
		return NewProblem(RateLimited, "robots.txt of "+origin.String()+" is not held, and you have had as many sites asked as you may for now: try again later").After(after)
	}
	return nil
}

// Fetch is FetchAfter without a function.
func (f *fetcher) Fetch(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	return f.FetchAfter(ctx, origin, func() error { return nil })
}

// FetchAfter fetches what the client of ctx may have fetched.
func (f *fetcher) FetchAfter(ctx context.Context, origin robots.Origin, before func() error) (*fetch.Record, error) {
	if err := f.begin(ctx, origin); err != nil {
		return nil, err
	}
	defer f.flying.Add(-1)
	return f.client.FetchAfter(ctx, origin, before)
}

// A crawler is a crawler with the options of a question.
type crawler struct {
	cache.Crawler
	userInitiated bool
}

// terms are the rules and the schedule of a site for a crawler.
type terms struct {
	rules    *robots.Rules
	schedule *pace.Schedule
}

// terms returns the record of a site and its rules and schedule for a crawler.
func (s *Service) terms(ctx context.Context, origin robots.Origin, c *crawler) (*fetch.Record, *terms, error) {
	rules, r, err := s.cache.Rules(ctx, origin, &c.Crawler)
	if err != nil {
		return nil, nil, err
	}
	if c.userInitiated {
		rules = rules.UserInitiated()
	}
	schedule, _ := pace.NewSchedule(rules, s.parts.Policy) // the error is about the policy, which New has checked
	return r, &terms{rules, schedule}, nil
}

// mostWait and usualWait bound how long a question waits for a fetch.
const (
	mostWait  = 30 * time.Second
	usualWait = 10 * time.Second
)

// timeoutOf reads the parameter wait.
func timeoutOf(text, location string) (time.Duration, *Problem) {
	if text == "" {
		return usualWait, nil
	}
	return durationOf(text, location, 0, mostWait)
}

// durationOf reads a duration such as 1m30s, or a number of seconds.
func durationOf(text, location string, least, most time.Duration) (time.Duration, *Problem) {
	d, err := time.ParseDuration(text)
	if seconds, number := strconv.ParseFloat(text, 64); err != nil && number == nil && seconds >= 0 && seconds <= most.Seconds() {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < least || d > most {
		return 0, wrong(BadParameter, location, text, fmt.Sprintf("must be a time such as 5s, from %s to %s", pace.Words(least), pace.Words(most)))
	}
	return d, nil
}

// get waits for the terms of a site for a crawler.
func (s *Service) get(ctx context.Context, c *crawler, origin robots.Origin, wait time.Duration) (*fetch.Record, *terms, *Problem) {
	// What is held is answered without a timer, and its refresh before its end is not the
	// caller's: no question is behind it.
	r, t, err := s.terms(ended, origin, c)
	if err == nil {
		return r, t, nil
	}
	p := s.await(ctx, origin, wait, func(ctx context.Context) (err error) {
		r, t, err = s.terms(ctx, origin, c)
		return err
	})
	return r, t, p
}

// record waits for the record of a site.
func (s *Service) record(ctx context.Context, origin robots.Origin, wait time.Duration) (r *fetch.Record, p *Problem) {
	if r = s.held(origin); r != nil {
		return r, nil
	}
	p = s.await(ctx, origin, wait, func(ctx context.Context) (err error) {
		r, err = s.cache.Get(ctx, origin)
		return err
	})
	return r, p
}

// ended is a context that has ended: with it a cache answers out of its memory alone.
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

// await calls get until it has an answer or the wait is over. A held answer is there also
// where the wait is 0; then a fetch begins that nobody waits for.
func (s *Service) await(ctx context.Context, origin robots.Origin, wait time.Duration, get func(context.Context) error) *Problem {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		var err error
		Wait(ctx, func() { err = get(waiting) })
		if err == nil {
			return nil
		}
		// The flight may be one that another caller has begun, who may not have it.
		if r, ok := errors.AsType[*refusal](err); ok && r.caller != CallerOf(ctx).Name && waiting.Err() == nil {
			continue
		}
		if wait <= 0 {
			go s.cache.Get(context.WithoutCancel(ctx), origin) // the next request gets the outcome
		}
		return fetchProblem(origin, err)
	}
}

// pendingAfter is the Retry-After, in seconds, of what is being fetched.
const pendingAfter = 2

// fetchProblem says why there is no record.
func fetchProblem(origin robots.Origin, err error) *Problem {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.Problem
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return NewProblem(Pending, "robots.txt of "+origin.String()+" is being fetched and not there yet: ask again").After(pendingAfter)
	case errors.Is(err, cache.ErrClosed):
		return NewProblem(Busy, "the service is being stopped: ask another, or try again").After(1)
	}
	return NewProblem(Pending, "robots.txt of "+origin.String()+" could not be asked for: "+robots.Printable(err.Error())).After(pendingAfter)
}

// siteOf returns the site and the path of a URL, as a dialect reads it.
func siteOf(d robots.Dialect, url, location string) (robots.Origin, robots.Path, *Problem) {
	origin, path, err := ask.URL(d, url, true)
	if err != nil {
		return origin, path, NewProblem(BadURL, err.Error(), FieldError{Location: location, Message: err.Error(), Value: shortValue(url)})
	}
	return origin, path, nil
}

// dialectOf returns the dialect of a name, that of the service if there is none.
func (s *Service) dialectOf(name, location string) (robots.Dialect, *Problem) {
	if name == "" {
		return s.parts.Dialect, nil
	}
	d, err := ask.Dialect(name)
	if err != nil {
		return d, NewProblem(BadParameter, err.Error(), FieldError{Location: location, Message: err.Error(), Value: shortValue(name)})
	}
	return d, nil
}

// Agents of one question.
const (
	mostAgents  = 20
	longestName = 128
)

// checkAgents returns what is wrong with the tokens of a crawler.
func checkAgents(agents []string, d robots.Dialect, location string) *Problem {
	if len(agents) > mostAgents {
		return wrong(TooMany, location, "", fmt.Sprintf("names the crawler in %d ways: %d at most", len(agents), mostAgents))
	}
	for _, a := range agents {
		switch {
		case len(a) > longestName:
			return wrong(BadParameter, location, a, fmt.Sprintf("has more than %d bytes: give a product token such as MyBot", longestName))
		case strings.IndexByte(a, 0) >= 0:
			return wrong(BadParameter, location, "", "holds a NUL: give a product token such as MyBot")
		}
		if names := ask.Listed(a); names != nil && !d.RawTokens {
			return wrong(BadParameter, location, a, "is a list in one string: give its names one by one, the most wanted first, "+strings.Join(names, ", then "))
		}
	}
	return nil
}

// appendAgent appends the member agent of an answer: as it was given.
func appendAgent(dst []byte, agents []string) []byte {
	dst = append(dst, `"agent":`...)
	switch len(agents) {
	case 0:
		return append(dst, `"*"`...)
	case 1:
		return robots.AppendQuoted(dst, agents[0])
	}
	return ask.AppendStrings(dst, agents)
}

// lifetime returns how long the answers of a record are good, in whole seconds: until it
// expires, or until the site is asked again.
func (s *Service) lifetime(r *fetch.Record) int {
	until := r.Expires
	if !r.Outcome.Good() {
		until = r.NextTry
	}
	if until.IsZero() {
		return 0
	}
	return int(max(until.Sub(s.now()), 0) / time.Second)
}

// maxAge is the Cache-Control of an answer about a record.
func (s *Service) maxAge(r *fetch.Record) string {
	return "private, max-age=" + strconv.Itoa(s.lifetime(r))
}
