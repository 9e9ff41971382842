package source

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/indexing"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// maxRedirects limits the redirects of a page that are followed, as Google does.
const maxRedirects = 10

// ownToken is the product token of the program.
const ownToken = "robotskit"

// A Page is a page and the outcome of fetching it.
type Page struct {
	Page *indexing.Page // nil if it is unavailable
	URLs []string       // requested, redirects included; none if the page was not fetched
	kind string         // Content-Type
	size int            // bytes of the body that were read
	err  error          // why the page is unavailable or truncated
}

// Fetch describes the fetch, nil if the page was not fetched.
func (p *Page) Fetch() *answer.PageFetch {
	if len(p.URLs) == 0 {
		return nil
	}
	var urls []string
	for _, url := range p.URLs {
		urls = append(urls, answer.HideUser(url))
	}
	f := &answer.PageFetch{URLs: urls, Type: answer.OrNull(p.kind), Bytes: p.size}
	if p.Page != nil {
		f.Status = answer.OrNull(p.Page.Status)
		f.Cut = p.Page.Cut
	}
	if p.err != nil {
		f.Error = answer.OrNull(p.err.Error())
	}
	return f
}

// SiteOutcome returns the outcome of the fetch of a robots.txt, nil for a file.
func SiteOutcome(r *fetch.Record, note string) *answer.SiteOutcome {
	if r == nil {
		return nil
	}
	return &answer.SiteOutcome{RobotsURL: r.Origin.RobotsURL(), Outcome: r.Outcome.String(), Note: note}
}

// FetchPage fetches a page for the first crawler that may fetch it and all its redirects. A redirect that blocks a crawler becomes
// its verdict.
func (u *CheckedURLs) FetchPage(ctx context.Context, url string, verdicts []answer.PageVerdict) (p Page) {
	for i := range verdicts {
		if !verdicts[i].Allows() {
			continue
		}
		p = Page{URLs: []string{url}}
		p.err = u.fetchPageAs(ctx, &u.Crawlers[i], &p, func(next string) error {
			p.URLs = append(p.URLs, next)
			return u.judgeRedirect(ctx, next, verdicts)
		})
		if _, disallowed := errors.AsType[*polite.DisallowedError](p.err); !disallowed {
			break
		}
	}
	return p
}

// judgeRedirect judges a redirect for all crawlers that may fetch the page so far.
func (u *CheckedURLs) judgeRedirect(ctx context.Context, url string, verdicts []answer.PageVerdict) error {
	var target answer.Target
	site, err := u.Parse(url, &target)
	if err != nil {
		return err
	}
	record, err := u.Live.CacheOf(site).Get(ctx, site)
	if err != nil {
		return err
	}
	for i, rules := range u.RulesIn(RobotsTXT{Record: record}) {
		verdict := rules.Match(target.Path(&u.Crawlers[i].Dialect))
		if verdicts[i].Allows() && !verdict.Allowed {
			verdicts[i] = answer.PageVerdict{Verdict: &verdict, BlockedAt: url}
		}
	}
	return nil
}

// fetchPageAs fetches a page as a crawler. Every request is checked against the robots.txt of its site and keeps the crawl rate. At
// most indexing.MaxBytes of HTML are read, and no other content.
func (u *CheckedURLs) fetchPageAs(ctx context.Context, c *answer.Crawler, p *Page, redirected func(string) error) error {
	l := u.Live
	site, _, err := robots.ParseURL(p.URLs[0])
	if err != nil {
		return err
	}
	t, err := l.transport(c, l.CacheOf(site))
	if err != nil {
		return err
	}
	defer t.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, l.Options.Limits.Total)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, withoutUser(p.URLs[0]), nil)
	if err != nil {
		return err
	}
	l.authorize(req)
	client := http.Client{Transport: t, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return http.ErrUseLastResponse
		}
		next.URL.User = nil
		err := redirected(next.URL.String())
		l.authorize(next)
		return err
	}}
	resp, err := client.Do(req)
	if err != nil {
		return errors.Unwrap(err) // without the address
	}
	defer resp.Body.Close()
	p.kind = resp.Header.Get("Content-Type")
	var body []byte
	if resp.StatusCode/100 == 2 && indexing.IsHTML(resp.Header) {
		body, err = io.ReadAll(io.LimitReader(resp.Body, indexing.MaxBytes+1))
		p.size = min(len(body), indexing.MaxBytes)
	}
	p.Page = indexing.Parse(resp.Header, body)
	p.Page.Status = resp.StatusCode
	p.Page.Cut = p.Page.Cut || err != nil
	return err
}

// transport returns a transport that sends the requests of a crawler, which obeys the records of a cache.
func (l *Live) transport(c *answer.Crawler, records *cache.Cache) (*polite.Transport, error) {
	name := c.Tokens[0]
	others := c.Tokens[1:]
	if name == answer.AnyCrawler || name == "" {
		name = ownToken
		others = nil
	}
	return polite.New(name, polite.Options{
		Tokens:    others,
		UserAgent: l.Options.UserAgent,
		Dialect:   c.Dialect,
		Fetch:     l.Options,
		Cache:     records,
		Limiter:   soonLimiter{l.Limiter},
	})
}

// A soonLimiter does not count the fetch of robots.txt as a request: a person waits for the page, and a Crawl-delay can be longer
// than the time for it.
type soonLimiter struct{ pace.Limiter }

// Acquire acquires a permit as if robots.txt had not been fetched.
func (l soonLimiter) Acquire(ctx context.Context, r pace.Request) (pace.Permit, error) {
	r.Fetched = time.Time{}
	return l.Limiter.Acquire(ctx, r)
}
