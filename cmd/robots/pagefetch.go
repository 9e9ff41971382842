package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/indexing"
	"github.com/robotskit/robots/polite"
)

// This file fetches a page as a crawler may.

// maxRedirects is how many redirects of a page are followed, as many as Google does.
const maxRedirects = 10

// A fetchedPage is what came of the fetch of a page.
type fetchedPage struct {
	page *indexing.Page // nil if it could not be read
	urls []string       // that were asked for, or would have been: the last is that of the answer
	kind string         // Content-Type
	size int            // bytes of the body that were read
	err  error          // why the page could not be read, or not to its end
}

// fetchPage fetches a page for a crawler that may fetch it: politely, as every request
// is held against the robots.txt of its site and waits for its turn. Of HTML at most
// indexing.MaxBytes are read, of other types nothing.
func (l *live) fetchPage(ctx context.Context, address string, d robots.Dialect, tokens []string) (f fetchedPage) {
	f.urls = []string{address}
	name := tokens[0]
	if name == "*" || name == "" { // nobody: so as the program itself
		name, tokens = ownToken, tokens[:1]
	}
	t, err := polite.New(name, polite.Options{
		Tokens: tokens[1:], UserAgent: l.asking.UserAgent, Dialect: d, Fetch: l.asking, Cache: l.cache, Limiter: l.limiter,
	})
	if err != nil {
		f.err = err
		return f
	}
	defer t.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, l.asking.Limits.Total)
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
			err = wrapped.Err // without the address, which is told beside it
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

// hops judges the redirects of a page for everybody who asks: the first verdict that
// keeps a crawler out is its verdict.
func (c *pageCall) hops(ctx context.Context, f *fetchedPage, who []pageAsker) error {
	if len(f.urls) == 1 {
		return nil
	}
	defer c.compileAll(source{Record: c.record}) // the rules of the page itself
	for _, address := range f.urls[1:] {
		p := page{url: address, paths: make([]robots.Path, len(c.dialects))}
		origin, err := c.split(address, p.paths)
		if err != nil {
			f.err = cmp.Or(f.err, err)
			return nil
		}
		r, err := c.live.cache.Get(ctx, origin)
		if err != nil {
			return err
		}
		c.compileAll(source{Record: r})
		for i := range who {
			if w := &who[i]; w.verdict.Allowed {
				if v := c.rulesOf(i).Match(c.pathOf(&p, i)); !v.Allowed {
					w.verdict, w.shutAt = v, address
				}
			}
		}
	}
	return nil
}
