package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/indexing"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// maxRedirects limits the redirects of a page that are followed, as Google does.
const maxRedirects = 10

// ownToken is the product token of the program.
const ownToken = "robotskit"

// A fetchedPage is a page and the outcome of fetching it.
type fetchedPage struct {
	page *indexing.Page // nil if it is unavailable
	urls []string       // requested, redirects included; none if the page was not fetched
	kind string         // Content-Type
	size int            // bytes of the body that were read
	err  error          // why the page is unavailable or truncated
}

// fetch fetches a page for the first crawler that may fetch it and all its redirects. A redirect
// that blocks a crawler becomes its verdict.
func (p *pageCommand) fetch(ctx context.Context, address string, list []pageVerdict) (f fetchedPage) {
	for i := range list {
		if !list[i].verdict.Allowed {
			continue
		}
		f = fetchedPage{urls: []string{address}}
		f.err = p.fetchAs(ctx, list[i].Crawler, &f, func(next string) error {
			f.urls = append(f.urls, next)
			return p.judgeRedirect(ctx, next, list)
		})
		if _, disallowed := errors.AsType[*polite.DisallowedError](f.err); !disallowed {
			break
		}
	}
	return f
}

// judgeRedirect judges a redirect for all crawlers that may fetch the page so far.
func (p *pageCommand) judgeRedirect(ctx context.Context, address string, list []pageVerdict) error {
	t, origin, err := p.j.parse(address)
	if err != nil {
		return err
	}
	r, err := p.j.live.Cache.Get(ctx, origin)
	if err != nil {
		return err
	}
	for i, rules := range p.j.rulesIn(answer.RobotsTXT{Record: r}) {
		if v := rules.Match(t.pathFor(list[i].Dialect)); list[i].verdict.Allowed && !v.Allowed {
			list[i].verdict, list[i].blockedAt = &v, address
		}
	}
	return nil
}

// fetchAs fetches a page as a crawler. Every request is checked against the robots.txt of its
// site and keeps the crawl rate. At most indexing.MaxBytes of HTML are read, and no other content.
func (p *pageCommand) fetchAs(ctx context.Context, c answer.Crawler, f *fetchedPage, redirected func(string) error) error {
	name, others, l := c.Tokens[0], c.Tokens[1:], p.j.live
	if name == answer.AnyCrawler || name == "" {
		name, others = ownToken, nil
	}
	t, err := polite.New(name, polite.Options{
		Tokens: others, UserAgent: l.Options.UserAgent, Dialect: c.Dialect, Fetch: l.Options, Cache: l.Cache, Limiter: soonLimiter{l.Limiter},
	})
	if err != nil {
		return err
	}
	defer t.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, l.Options.Limits.Total)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.urls[0], nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: t, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return http.ErrUseLastResponse
		}
		return redirected(next.URL.String())
	}}
	resp, err := client.Do(req)
	if err != nil {
		return errors.Unwrap(err) // without the address
	}
	defer resp.Body.Close()
	f.kind = resp.Header.Get("Content-Type")
	var body []byte
	if resp.StatusCode/100 == 2 && indexing.IsHTML(resp.Header) {
		body, err = io.ReadAll(io.LimitReader(resp.Body, indexing.MaxBytes+1))
		f.size = min(len(body), indexing.MaxBytes)
	}
	f.page = indexing.Parse(resp.Header, body)
	f.page.Status = resp.StatusCode
	f.page.Cut = f.page.Cut || err != nil
	return err
}

// A soonLimiter does not count the fetch of robots.txt as a request: a person waits for the page,
// and a Crawl-delay can be longer than the time for it.
type soonLimiter struct{ pace.Limiter }

func (l soonLimiter) Acquire(ctx context.Context, r pace.Request) (pace.Permit, error) {
	r.Fetched = time.Time{}
	return l.Limiter.Acquire(ctx, r)
}
