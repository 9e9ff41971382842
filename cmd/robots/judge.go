package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// A judge judges URLs for crawlers, one after another.
type judge struct {
	*command
	ruleFlags
	crawlers []Crawler
	decisive int   // index of the crawler whose verdicts give the exit status, -1 for the worst
	fetches  bool  // from the site of each URL, else there is one robots.txt for all
	live     *live // nil if nothing is fetched

	// The robots.txt of the last URL.
	site     *site
	from     ask.Source
	shown    bool           // its state has been written
	rules    []*ask.RuleSet // of each crawler
	verdicts []robots.Verdict
	width    int        // of the column of URLs
	reading  sync.Mutex // held while a URL is read that is in no chunk

	read, judged int                    // URLs, without lines that have none
	counts       [exitUndecided + 1]int // of URLs by status
	all          bool                   // no URL follows
	failed       error                  // why not all are judged
}

// A urlTarget is a URL to judge.
type urlTarget struct {
	url  string
	raw  string // the URL for dialects that read it as it is
	path robots.Path
	site *site
	err  error // why a line of a list is not a URL
}

// pathFor returns the path of a URL as a dialect reads it.
func (t *urlTarget) pathFor(d robots.Dialect) robots.Path {
	if d.Escapes == robots.EscapesRaw {
		return robots.RawPath(t.raw)
	}
	return t.path
}

// parse reads a URL, which must be valid in the dialects of all crawlers.
func (j *judge) parse(url string) (t urlTarget, origin robots.Origin, err error) {
	t.url, t.raw = url, url
	for i := range j.crawlers {
		d := &j.crawlers[i].Dialect
		if i > 0 && d.Escapes == j.crawlers[i-1].Dialect.Escapes {
			continue
		}
		var path robots.Path
		if origin, path, err = ask.URL(*d, url, j.fetches); err != nil {
			return t, origin, err
		}
		if d.Escapes != robots.EscapesRaw {
			t.path = path
		}
	}
	return t, origin, nil
}

// maxAhead limits how many chunks of URLs are read before they are judged: some thousand
// URLs, so that a slow site delays few fetches.
const maxAhead = 64

// each calls show with each URL in order as soon as its robots.txt is there, and returns the
// exit status of all: undecided before disallowed before allowed. A line of a list that is
// not a URL is reported and makes the status exitBad. If ctx ends, the URLs whose robots.txt
// is there are shown. An error of show ends it.
func (j *judge) each(ctx context.Context, u *urlReader, show func(*urlTarget) error) (int, error) {
	if j.fetches {
		defer j.std.screen.Report(progressInterval, func() string { return j.live.progress.line(j.std.name) })()
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	lists := u.isList()
	chunks := make(chan []urlTarget, maxAhead)
	var failed error
	go func() {
		defer close(chunks)
		failed = j.readURLs(ctx, u, chunks)
	}()
	for more := true; more; {
		c, ok, err := receive(ctx, chunks, j.std.out.Flush)
		if !ok && err == nil && ctx.Err() == nil {
			j.all, j.failed = true, cmp.Or(j.failed, failed)
		}
		more = ok && j.chunk(ctx, c, show)
	}
	if ctx.Err() != nil {
		j.reading.Lock() // waits for what is read already
		for len(chunks) > 0 {
			j.chunk(ctx, <-chunks, show) // those whose sites have answered
		}
		j.reading.Unlock()
	}
	status, err := j.end(ctx)
	if lists && j.all && err == nil {
		j.summary()
	}
	return status, err
}

// readURLs reads URLs in chunks, each as large as it can be without waiting for input, and begins to
// fetch from their sites.
func (j *judge) readURLs(ctx context.Context, u *urlReader, chunks chan []urlTarget) error {
	var chunk []urlTarget
	sites := map[robots.Origin]*site{}
	send := func(failed error) error {
		if len(chunk) == 0 {
			return failed
		}
		defer j.reading.Unlock()
		if len(chunks) == cap(chunks) {
			select {
			case chunks <- chunk:
			case <-ctx.Done():
				return ctx.Err()
			}
		} else {
			chunks <- chunk // what was read before an interrupt is judged
		}
		chunk = nil
		return failed
	}
	for text, err := range u.all() {
		if err != nil && !errors.As(err, new(lineError)) {
			return send(err)
		}
		if len(chunk) == 0 {
			j.reading.Lock()
		}
		t := urlTarget{err: err}
		var origin robots.Origin
		if err == nil {
			url := u.list.asURL(text)
			if j.fetches && url != text {
				url = "/" + strings.TrimLeft(text, "/") // which names no site to fetch from
			}
			t, origin, err = j.parse(url)
			t.url = text
			if err != nil {
				t.err = u.at(err)
			} else if j.fetches {
				if t.site = sites[origin]; t.site == nil {
					t.site = j.live.start(ctx, origin)
					sites[origin] = t.site
				}
			}
		}
		if chunk = append(chunk, t); len(chunk) == chunkLines || !u.ready() {
			if err := send(nil); err != nil {
				return err
			}
		}
	}
	return send(nil)
}

// chunk judges some URLs, and reports whether more are wanted.
func (j *judge) chunk(ctx context.Context, targets []urlTarget, show func(*urlTarget) error) bool {
	for i := range targets {
		if t := &targets[i]; t.err == nil {
			j.read++
			j.width = max(j.width, min(utf8.RuneCountInString(robots.Printable(t.url)), maxURLColumn))
		}
	}
	for i := range targets {
		t := &targets[i]
		if t.err != nil {
			j.std.complain(t.err)
			j.counts[exitBad]++
			continue
		}
		if err := j.await(ctx, t); err != nil {
			j.failed = err
			continue
		}
		status := j.judgeOne(t)
		if err := show(t); err != nil {
			j.failed = err
			return false
		}
		j.judged++
		j.counts[status]++
		if j.std.terminal {
			_ = j.std.out.Flush() // the last flush reports its error
		}
	}
	_, err := j.std.out.Write(nil)
	return err == nil
}

// end returns the exit status, and an error if not all URLs are judged.
func (j *judge) end(ctx context.Context) (int, error) {
	switch {
	case ctx.Err() != nil && (j.judged < j.read || !j.all || j.failed != nil):
		return exitBad, fmt.Errorf("%w: %d of %d URLs are checked", errInterrupted, j.judged, j.read)
	case j.failed != nil:
		return exitBad, j.failed
	}
	for _, status := range []int{exitBad, exitUndecided, exitDisallowed} {
		if j.counts[status] > 0 {
			return status, nil
		}
	}
	return exitAllowed, nil
}

// await waits for the robots.txt of a URL, and makes its rules.
func (j *judge) await(ctx context.Context, t *urlTarget) error {
	if !j.fetches || t.site == j.site {
		return nil
	}
	r, err := j.live.get(ctx, t.site, func() { _ = j.std.out.Flush() }) // the last flush reports its error
	if err == nil {
		j.open(t.site, ask.Source{Record: r})
	}
	return err
}

// open makes the rules in the robots.txt of a site, and warns once about it.
func (j *judge) open(s *site, from ask.Source) {
	if rec := from.Record; rec != nil && !s.answered {
		if j.fetches {
			text := siteFile(rec)
			j.parseFile(&text, j.crawlers[0].Dialect, j.maxBytes)
		}
		if j.format != formatText && j.live != nil {
			j.live.hint(rec)
		}
	}
	j.site, j.from, j.rules, j.shown = s, from, j.rulesIn(from), s.answered
	s.answered = true
}

// judgeOne sets the verdicts on a URL, and returns its status.
func (j *judge) judgeOne(t *urlTarget) (status int) {
	j.verdicts = j.verdicts[:0]
	for i, r := range j.rules {
		v := r.Match(t.pathFor(j.crawlers[i].Dialect))
		j.verdicts = append(j.verdicts, v)
		if j.decisive < 0 || j.decisive == i {
			status = max(status, statusOf(v))
		}
	}
	return status
}

// summary writes the counts of a list on standard error.
func (j *judge) summary() {
	var parts []string
	for _, p := range []struct {
		status int
		word   string
	}{{exitAllowed, "allowed"}, {exitDisallowed, "disallowed"}, {exitUndecided, "undecided"}} {
		if n := j.counts[p.status]; n > 0 {
			parts = append(parts, screen.Thousands(n)+" "+p.word)
		}
	}
	if n := j.counts[exitBad]; n > 0 {
		parts = append(parts, count(n, "line")+" without a URL")
	}
	j.std.complain(errors.New(count(j.read, "URL") + ": " + strings.Join(parts, ", ")))
}

// ruleFlags are the flags that change what the rules of a file are.
type ruleFlags struct {
	maxBytes      int       // noLimit without --max-bytes
	at            time.Time // zero for now
	userInitiated bool
}

// rules returns what a crawler obeys by a robots.txt.
func (f *ruleFlags) rules(from ask.Source, d robots.Dialect, now time.Time, tokens []string) *robots.Rules {
	rules := from.Obey(d, f.maxBytes, cmp.Or(f.at, now), tokens)
	if f.userInitiated {
		rules = rules.UserInitiated()
	}
	return rules
}

// rulesIn returns the rules of each crawler in a robots.txt.
func (j *judge) rulesIn(from ask.Source) (all []*ask.RuleSet) {
	for _, c := range j.crawlers {
		all = append(all, &ask.RuleSet{Rules: j.ruleFlags.rules(from, c.Dialect, j.std.now(), c.Tokens)})
	}
	return all
}

// stateOf returns what is known of the robots.txt of the last URL, once for each site.
func (j *judge) stateOf(note func(*robots.State) string) string {
	if j.from.Record == nil || j.shown {
		return ""
	}
	j.shown = true
	s := j.rules[0].State()
	return j.live.stateLine(j.from.Record, s, note(s))
}

// statusOf returns the exit status of a verdict.
func statusOf(v robots.Verdict) int {
	switch {
	case v.Allowed:
		return exitAllowed
	case v.Undecided():
		return exitUndecided
	}
	return exitDisallowed
}
