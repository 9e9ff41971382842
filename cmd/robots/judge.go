package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
)

// A judge judges URLs for crawlers, one after another.
type judge struct {
	*command
	ruleFlags
	crawlers []answer.Crawler
	decisive int          // index of the crawler whose verdicts give the exit status, -1 for the worst
	fetches  bool         // from the site of each URL, else there is one robots.txt for all
	live     *source.Live // nil if nothing is fetched

	// The robots.txt of the last URL.
	site     *source.Site
	from     answer.RobotsTXT
	rules    []*answer.RuleSet // of each crawler
	about    [][]byte          // the members of JSON answers that describe each crawler
	verdicts []robots.Verdict

	judged int // URLs before the last one
	width  int // of the column of URLs
}

// A urlTarget is a URL to judge.
type urlTarget struct {
	url  string
	raw  string // the URL for dialects that read it as it is
	path robots.Path
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

// each calls show with each URL in order as soon as its robots.txt is there, and returns the
// exit status of all: undecided before disallowed before allowed. A line of a list that is
// not a URL is reported and makes the status exitBad. If ctx or the run is interrupted, the URLs
// whose robots.txt is there are shown. An error of show ends it.
func (j *judge) each(ctx context.Context, u *source.URLReader, show func(context.Context, *urlTarget) error) (int, error) {
	if j.fetches {
		defer j.std.Screen.Report(source.ProgressInterval, func() string { return j.live.Progress.Line(j.std.Name) })()
	}
	parse := func(text string) (t urlTarget, origin robots.Origin, err error) {
		url := text
		if !j.fetches {
			url = u.AsURL(text)
		}
		t, origin, err = j.parse(url)
		t.url = answer.HideUser(text)
		return t, origin, err
	}
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	var read int                      // URLs, without lines that have none
	var counts [exitUndecided + 1]int // of URLs by status, and of lines without one
	var failed error                  // why not all URLs are judged
all:
	for entries, err := range source.ReadAhead(ctx, source.Parsed(u, parse), u.Ready, true, j.live, j.std) {
		for i := range entries {
			if t := &entries[i].Line; entries[i].Err == nil {
				read++
				j.width = max(j.width, min(utf8.RuneCountInString(robots.Printable(t.url)), render.MaxURLColumn))
			}
		}
		for i := range entries {
			t := &entries[i].Line
			if entries[i].Err != nil {
				j.std.Complain(entries[i].Err)
				counts[exitBad]++
				continue
			}
			if err := j.await(ctx, entries[i].Site); err != nil {
				failed = err
				continue
			}
			status := j.judgeOne(t)
			if err := show(ctx, t); err != nil {
				failed = err
				break all
			}
			j.site.Answered = true
			j.judged++
			counts[status]++
		}
		failed = cmp.Or(failed, err)
	}
	switch {
	case ctx.Err() != nil && read == 0:
		return exitBad, screen.ErrInterrupted
	case ctx.Err() != nil:
		return exitBad, fmt.Errorf("%w: %d of %d URLs are checked", screen.ErrInterrupted, j.judged, read)
	case failed != nil:
		return exitBad, failed
	case j.std.Failed == nil && u.IsList():
		j.summary(read, &counts)
	}
	for _, status := range []int{exitBad, exitUndecided, exitDisallowed} {
		if counts[status] > 0 {
			return status, nil
		}
	}
	return exitAllowed, nil
}

// await waits for a site that the next URL needs, and makes its rules.
func (j *judge) await(ctx context.Context, s *source.Site) error {
	if s == nil || s == j.site {
		return nil
	}
	r, err := j.live.Get(ctx, s)
	if err == nil {
		j.open(s, answer.RobotsTXT{Record: r})
	}
	return err
}

// open makes the rules in the robots.txt of a site, and warns once about it.
func (j *judge) open(s *source.Site, from answer.RobotsTXT) {
	if rec := from.Record; rec != nil && !s.Answered {
		text := source.SiteFile(rec)
		j.reader().Parse(&text, j.crawlers[0].Dialect, j.maxBytes)
		if j.format != formatText {
			j.live.Hint(rec)
		}
	}
	j.site, j.from, j.rules = s, from, j.rulesIn(from)
	j.about = nil
	for i, rules := range j.rules {
		c := &j.crawlers[i]
		about := append(answer.AppendStrings([]byte(`,"agent":`), c.Echo()), ',')
		j.about = append(j.about, c.AppendJSON(about, rules.Rules))
	}
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
func (j *judge) summary(read int, counts *[exitUndecided + 1]int) {
	var parts []string
	for _, p := range []struct {
		status int
		word   string
	}{{exitAllowed, "allowed"}, {exitDisallowed, "disallowed"}, {exitUndecided, "undecided"}} {
		if n := counts[p.status]; n > 0 {
			parts = append(parts, screen.Thousands(n)+" "+p.word)
		}
	}
	if n := counts[exitBad]; n > 0 {
		parts = append(parts, render.Count(n, "line")+" without a URL")
	}
	j.std.Complain(errors.New(render.Count(read, "URL") + ": " + strings.Join(parts, ", ")))
}

// ruleFlags are the flags that change what the rules of a file are.
type ruleFlags struct {
	maxBytes      int       // 0: those of the dialects
	at            time.Time // zero for now
	userInitiated bool
}

// rules returns what a crawler obeys by a robots.txt.
func (f *ruleFlags) rules(from answer.RobotsTXT, d robots.Dialect, now time.Time, tokens []string) *robots.Rules {
	rules := from.Obey(d, f.maxBytes, cmp.Or(f.at, now), tokens)
	if f.userInitiated {
		rules = rules.UserInitiated()
	}
	return rules
}

// rulesIn returns the rules of each crawler in a robots.txt.
func (j *judge) rulesIn(from answer.RobotsTXT) (all []*answer.RuleSet) {
	for _, c := range j.crawlers {
		all = append(all, &answer.RuleSet{Rules: j.ruleFlags.rules(from, c.Dialect, j.std.Now(), c.Tokens)})
	}
	return all
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
