package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A question is one URL under one dialect.
type question struct {
	url   string
	path  robots.Path
	rules *robots.Rules
}

// A page is one URL of the command line with a question for every dialect asked
// for; the first is that of the default dialect.
type page struct {
	url   string
	asked []question
	site  *pageSite // nil with -f
}

// A pageSite is a site with what its pages share.
type pageSite struct {
	*site
	met  bool // a page of it has had its turn
	told bool // what came of the fetch has been said
}

// pages are all URLs of a call, checked and ready to be answered.
type pages struct {
	std  *streams
	name string
	settings
	dialects []robots.Dialect
	pages    []page
	bad      []error // lines of standard input that are no URLs

	// The rest is unused with -f.
	live          *live
	sites         []*pageSite // in the order of the URLs
	current       *pageSite   // whose page is shown, with
	record        *fetch.Record
	rules         []*robots.Rules // of every dialect
	tokens        []string
	userInitiated bool
	json          bool
}

// prepare reads everything the call names and checks all of it: whatever is bad
// about a call is found before anything is fetched or answered.
func prepare(std *streams, name string, o *options) (*pages, error) {
	j := &pages{std: std, name: name, tokens: callers(o.agents), userInitiated: o.userInitiated, json: o.format == formatJSON}
	var err error
	if j.dialects, err = dialects(o.dialect); err != nil {
		return nil, err
	}
	if j.settings, err = o.settings(std); err != nil {
		return nil, err
	}
	if o.file.given {
		if err := o.live.unused(); err != nil {
			return nil, err
		}
	}
	urls, err := readURLs(std, o.urls, o.file.text)
	if err != nil {
		return nil, err
	}
	if len(urls) == 0 {
		return nil, errors.New("no URL given: name at least one, or - to read them from standard input")
	}
	if err := j.parse(urls, !o.file.given); err != nil {
		return nil, err
	}
	if err := checkAgents(o.agents, j.dialects...); err != nil {
		return nil, err
	}
	if !o.file.given {
		if j.live, err = newLive(std, name, &o.live, j.maxBytes, j.dialects...); err != nil {
			return nil, err
		}
		warnAgents(std, name, o.agents, j.dialects...)
		if used := slices.ContainsFunc(j.dialects, func(d robots.Dialect) bool { return d.ServerErrorsMayMiss }); o.live.probe && !used {
			warn(std, name, "--probe changes nothing in %s: %s alone use what it finds", o.dialect, strings.Join(probing(), " and "))
		}
		return j, nil
	}
	file, err := readFile(std, name, o.file, j.dialects[0], j.maxBytes)
	if err != nil {
		return nil, err
	}
	warnAgents(std, name, o.agents, j.dialects...)
	for i, d := range j.dialects {
		f, d := limited(file, d, j.maxBytes)
		rules := j.applied(f.Rules(d, j.tokens...))
		for k := range j.pages {
			j.pages[k].asked[i].rules = rules
		}
	}
	return j, nil
}

// parse takes the URLs apart and finds the sites among them. A bad URL is an
// error of the call, but a bad line of a list is only kept, to be named: of
// thousands of lines from elsewhere one may be anything.
func (j *pages) parse(urls []target, fetched bool) error {
	j.pages = make([]page, 0, len(urls))
	sites := map[robots.Origin]*pageSite{}
	for _, t := range urls {
		p, origin, err := j.parseURL(t.url, fetched)
		switch {
		case err == nil:
		case t.line == 0 && fetched && isFile(t.url):
			return fmt.Errorf("%q is a file: name it with -f", clip(t.url))
		case t.line == 0:
			return err
		default:
			j.bad = append(j.bad, t.wrong(err))
			continue
		}
		if fetched {
			if p.site = sites[origin]; p.site == nil {
				p.site = &pageSite{site: newSite(origin)}
				sites[origin] = p.site
				j.sites = append(j.sites, p.site)
			}
		}
		j.pages = append(j.pages, p)
	}
	return nil
}

// parseURL makes the page of a URL, and returns its origin if that is needed.
func (j *pages) parseURL(url string, fetched bool) (p page, origin robots.Origin, err error) {
	p.url = url
	for _, d := range j.dialects {
		var path robots.Path
		if fetched {
			origin, path, err = parseLive(d, url)
		} else {
			path, err = parsePath(d, url)
		}
		if err != nil {
			return p, origin, err
		}
		p.asked = append(p.asked, question{url: url, path: path})
	}
	return p, origin, nil
}

// parsePath takes the path out of a URL as the dialect does: google-cpp is
// given raw strings, of which none is an error (C-17).
func parsePath(d robots.Dialect, url string) (robots.Path, error) {
	if d.Escapes == robots.EscapesRaw {
		return robots.RawPath(url), nil
	}
	return robots.ParsePath(url)
}

func (j *pages) applied(r *robots.Rules) *robots.Rules {
	if j.userInitiated {
		return r.UserInitiated()
	}
	return r
}

// sitesAhead is how many sites are fetched before the answer that waits for the
// first of them, so that a slow site delays few.
const sitesAhead = 256

// answer calls show for every page in order, as soon as its robots.txt is
// there, and returns the exit status of all: undecided outranks disallowed, which
// outranks allowed. Of several dialects the default one counts, which is the
// first; an undefined verdict counts by its boolean. If ctx ends, the pages
// whose robots.txt is there are shown. Bad lines of a list are named first, and
// outrank every verdict.
func (j *pages) answer(ctx context.Context, show func(*page)) (int, error) {
	for _, err := range j.bad {
		complain(j.std, j.name, err)
	}
	status, err := j.verdicts(ctx, show)
	if len(j.bad) > 0 {
		status = exitBad
	}
	return status, err
}

func (j *pages) verdicts(ctx context.Context, show func(*page)) (int, error) {
	if j.live == nil {
		status := exitAllowed
		for i := range j.pages {
			if ctx.Err() != nil {
				return exitBad, errInterrupted
			}
			show(&j.pages[i])
			status = max(status, statusOf(j.pages[i].asked[0]))
		}
		return status, nil
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	defer j.live.close()
	said := newProgress(j.std, j.name, len(j.sites))
	defer said.stop()
	window := make(chan struct{}, sitesAhead)
	go j.fetch(ctx, window, said)
	status, answered := exitAllowed, 0
	var failed error
	for i := range j.pages {
		p := &j.pages[i]
		if err := j.wait(ctx, p, window, said); err != nil {
			if ctx.Err() == nil && failed == nil {
				failed = err
			}
			continue
		}
		said.aside(func() {
			show(p)
			if j.std.terminal {
				_ = j.std.out.Flush() // the last flush reports its error
			}
		})
		answered++
		status = max(status, statusOf(p.asked[0]))
		for k := range p.asked {
			p.asked[k].rules = nil // of which only the last are held
		}
	}
	switch {
	case ctx.Err() != nil && answered < len(j.pages):
		return exitBad, fmt.Errorf("%w: %d of %d URLs are answered", errInterrupted, answered, len(j.pages))
	case failed != nil:
		return exitBad, failed
	}
	return status, nil
}

// fetch starts on the sites in order, no further ahead than the window allows.
func (j *pages) fetch(ctx context.Context, window chan<- struct{}, said *progress) {
	for _, s := range j.sites {
		select {
		case window <- struct{}{}:
		case <-ctx.Done():
			return
		}
		j.live.start(ctx, s.site, func(r *fetch.Record) {
			said.site(r == nil || !r.Outcome.Good())
		})
	}
}

// wait waits for a page's robots.txt and sets the rules of its questions. Only
// the rules of one site are held, as many URLs in succession ask about one.
func (j *pages) wait(ctx context.Context, p *page, window <-chan struct{}, said *progress) error {
	s := p.site
	select {
	case <-s.ready:
	default:
		said.aside(func() { _ = j.std.out.Flush() }) // the last flush reports its error
		select {
		case <-s.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	first := !s.met
	if first {
		s.met = true
		<-window
	}
	if j.current != s {
		r, err := j.live.get(ctx, s.site)
		if err != nil {
			return err
		}
		j.current, j.record, j.rules = s, r, nil
		if first && r.Outcome == fetch.Success {
			title := r.Origin.RobotsURL()
			if r.Truncated {
				title += " is cut by the fetch"
			}
			said.aside(func() { warnFile(j.std, j.name, title, robots.Parse(r.Body), j.dialects[0], j.maxBytes) })
		}
		at := j.at
		if at.IsZero() {
			at = j.std.now()
		}
		for _, d := range j.dialects {
			j.rules = append(j.rules, j.applied(rulesOf(r, d, j.maxBytes, at, j.tokens...)))
		}
		if j.json {
			j.live.hint(r)
		}
	}
	for i := range p.asked {
		p.asked[i].rules = j.rules[i]
	}
	return nil
}

// state says what came of the fetch of a page's robots.txt, once for each site,
// and what the first dialect makes of it.
func (j *pages) state(p *page) string {
	if p.site == nil || p.site.told {
		return ""
	}
	p.site.told = true
	return j.live.stateLine(j.record, j.rules[0].State())
}

// fact says what came of the fetch alone, once for each site.
func (j *pages) fact(p *page) string {
	if p.site == nil || p.site.told {
		return ""
	}
	p.site.told = true
	return j.live.factLine(j.record, j.rules[0].State())
}

// statusOf returns the exit status of one answer.
func statusOf(q question) int {
	switch v := q.rules.Match(q.path); {
	case v.Allowed:
		return exitAllowed
	case undecided(v):
		return exitUndecided
	}
	return exitDisallowed
}
