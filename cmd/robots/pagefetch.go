package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/robotskit/robots/indexing"
	"github.com/robotskit/robots/polite"
)

// maxRedirects limits the redirects of a page that are followed, as Google does.
const maxRedirects = 10

// A fetchedPage is the outcome of fetching a page.
type fetchedPage struct {
	page *indexing.Page // nil if it is unavailable
	urls []string       // requested, redirects included
	kind string         // Content-Type
	size int            // bytes of the body that were read
	err  error          // why the page is unavailable or truncated
}

// fetchPage fetches a page for a crawler that may fetch it. Every request is checked
// against the robots.txt of its site and keeps the crawl rate. At most indexing.MaxBytes
// of HTML are read, and no other content.
func (l *live) fetchPage(ctx context.Context, address string, c Crawler) (f fetchedPage) {
	f.urls = []string{address}
	name, tokens := c.Tokens[0], c.Tokens
	if name == anyCrawler || name == "" {
		name, tokens = ownToken, tokens[:1]
	}
	t, err := polite.New(name, polite.Options{
		Tokens: tokens[1:], UserAgent: l.options.UserAgent, Dialect: c.Dialect, Fetch: l.options, Cache: l.cache, Limiter: l.limiter,
	})
	if err != nil {
		f.err = err
		return f
	}
	defer t.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, l.options.Limits.Total)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		f.err = err
		return f
	}
	client := http.Client{Transport: t, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return http.ErrUseLastResponse
		}
		f.urls = append(f.urls, next.URL.String())
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address
		}
		f.err = err
		return f
	}
	defer resp.Body.Close()
	f.kind = resp.Header.Get("Content-Type")
	var body []byte
	if resp.StatusCode/100 == 2 && indexing.IsHTML(resp.Header) {
		body, f.err = io.ReadAll(io.LimitReader(resp.Body, indexing.MaxBytes+1))
		f.size = min(len(body), indexing.MaxBytes)
	}
	f.page = indexing.Parse(resp.Header, body)
	f.page.Status = resp.StatusCode
	f.page.Cut = f.page.Cut || f.err != nil
	return f
}

// ownToken is the product token of the program.
const ownToken = "robotskit"
