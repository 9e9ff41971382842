package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/lint"
)

// severityWords are the severities of events.
var severityWords = map[lint.Severity]string{lint.Error: "critical", lint.Warning: "warning", lint.Note: "info"}

// A siteReport is the result of one observation of a site.
type siteReport struct {
	Site      string       `json:"site"`           // its origin
	Observed  time.Time    `json:"observed"`       // when it was fetched
	Since     time.Time    `json:"since,omitzero"` // when the previous version was first observed
	Severity  string       `json:"severity"`       // of the most severe event: critical, warning or info; empty for no change
	Undecided bool         `json:"undecided"`      // a proof exceeded the budget, or there is nothing to compare with
	Events    []watchEvent `json:"events"`         // in the order found

	severity lint.Severity
}

// A watchEvent is one change of a robots.txt.
type watchEvent struct {
	Severity string `json:"severity"` // critical, warning or info
	// Kind is newly-blocked, newly-allowed, declared, layout, foreign, failing, not-fetched, recovered, missing or baseline.
	Kind     string       `json:"kind"`
	Crawlers []string     `json:"crawlers,omitempty"` // that the change concerns
	Dialect  string       `json:"dialect,omitempty"`  // of a verdict
	Path     string       `json:"path,omitempty"`     // a shortest URL that changed
	Old      *watchedRule `json:"old,omitempty"`      // that decided before
	New      *watchedRule `json:"new,omitempty"`      // that decides now
	Text     string       `json:"text"`               // a phrase
}

// A watchedRule is the rule behind a verdict.
type watchedRule struct {
	Line int    `json:"line"` // from 1; 0 if no rule matches
	Rule string `json:"rule"` // as written, empty if no rule matches
}

func (r *siteReport) addEvent(severity lint.Severity, e watchEvent) {
	e.Severity = severityWords[severity]
	if severity > r.severity {
		r.severity, r.Severity = severity, e.Severity
	}
	r.Events = append(r.Events, e)
}

func (r *siteReport) add(severity lint.Severity, kind, format string, args ...any) {
	r.addEvent(severity, watchEvent{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (r *siteReport) status(fail lint.Severity) int {
	switch {
	case r.severity >= fail:
		return exitDisallowed
	case r.Undecided:
		return exitUndecided
	}
	return exitAllowed
}

// A siteState is the last version of one site, and its failures since. The zero value is a site
// that was never fetched.
type siteState struct {
	Changed      time.Time `json:"changed,omitzero"` // when the version was seen first, zero for no version
	Missing      bool      `json:"missing,omitempty"`
	Text         string    `json:"robots,omitempty"`
	Bytes        []byte    `json:"robots_b64,omitempty"` // a file that is not valid UTF-8, without Text
	Failures     int       `json:"failures,omitempty"`
	FailingSince time.Time `json:"failing_since,omitzero"`
}

func (s *siteState) body() []byte { return append([]byte(s.Text), s.Bytes...) }

// observe compares a record with the last version of the site, and returns the version to keep.
func (r *siteReport) observe(last siteState, record *fetch.Record, budget int) siteState {
	if !record.Outcome.Good() {
		return r.failing(last, record)
	}
	next := siteState{Changed: r.Observed, Missing: record.Outcome == fetch.Unavailable}
	version := fmt.Sprintf("%d bytes", len(record.Body))
	switch {
	case next.Missing:
		version = "no robots.txt, so every URL is allowed"
	case utf8.Valid(record.Body):
		next.Text = string(record.Body)
	default:
		next.Bytes = record.Body
	}
	if last.Changed.IsZero() {
		r.add(lint.Note, "baseline", "first version: %s", version)
		r.foreign(next.body())
		return next
	}
	r.Since = last.Changed
	if last.Failures > 0 {
		r.add(lint.Note, "recovered", "reachable again, after failing since %s", last.FailingSince.Format(time.RFC3339))
	}
	switch {
	case last.Missing && !next.Missing:
		r.add(lint.Note, "missing", "robots.txt exists now")
	case next.Missing && !last.Missing:
		r.add(lint.Warning, "missing", "robots.txt is missing (status %d), so every URL is allowed", record.Status)
	case bytes.Equal(last.body(), next.body()):
		next.Changed = last.Changed
		return next
	}
	r.foreign(next.body())
	r.compare(robots.Parse(last.body()), robots.Parse(next.body()), budget)
	return next
}

// foreign warns of a new version that is not a robots.txt, such as a web page.
func (r *siteReport) foreign(body []byte) {
	if source.IsForeign(robots.Parse(body)) {
		r.add(lint.Warning, "foreign", "the response has no line of a robots.txt, so everything is allowed: is it a web page?")
	}
}

// failing notes a failure. One alone is often an accident; the second in a row is critical. A failure on this side says
// nothing about the site (D-55).
func (r *siteReport) failing(last siteState, record *fetch.Record) siteState {
	// Without the copy of an earlier fetch.
	rules := func(d robots.Dialect) *robots.Rules {
		return (ask.Source{Record: record}).Obey(d, 0, r.Observed, []string{anyCrawler})
	}
	fact := source.FactOf(rules(robots.RFC9309).State())
	if record.FailingSince.IsZero() {
		r.Undecided = true
		r.add(lint.Note, "not-fetched", "robots.txt was not fetched: %s", fact)
		return last
	}
	last.Failures++
	if last.Failures == 1 {
		last.FailingSince = r.Observed
		r.add(lint.Note, "failing", "unreachable: %s", fact)
		return last
	}
	var blocking []string
	for _, d := range answer.CurrentDialects() {
		if !rules(d).Allowed(robots.RawPath("/")) {
			blocking = append(blocking, d.Name)
		}
	}
	r.add(lint.Error, "failing", "unreachable: %s; failing since %s (%d observations); without a copy, crawlers treat the site as blocked (%s)",
		fact, last.FailingSince.Format(time.RFC3339), last.Failures, strings.Join(blocking, ", "))
	return last
}

// expect compares the file of a site with the expected one.
func (r *siteReport) expect(expected *robots.File, record *fetch.Record, budget int) {
	switch {
	case !record.Outcome.Good():
		r.Undecided = true
		r.failing(siteState{}, record)
	case record.Outcome == fetch.Unavailable:
		r.add(lint.Error, "missing", "the site has no robots.txt (status %d)", record.Status)
	case !bytes.Equal(expected.Bytes(), record.Body):
		r.foreign(record.Body)
		r.compare(expected, robots.Parse(record.Body), budget)
	}
}

// compare reports what differs for * and for every crawler that either file names, each in the dialect that the directory has
// for it. Crawlers with equal changes share their events.
func (r *siteReport) compare(before, after *robots.File, budget int) {
	s := &section{}
	s.compare([2]answer.Source{before, after}, nil, answer.DiffOptions{Steps: budget})
	same := len(s.Declared) == 0
	rule := func(v robots.Verdict) *watchedRule { return &watchedRule{v.Rule.Line(), v.Rule.String()} }
	for _, g := range s.Groups() {
		same = same && g.Same()
		r.Undecided = r.Undecided || !g.Same() && !g.Differs()
		for _, one := range s.directions(g) {
			for _, c := range one.Changes {
				r.addEvent(severity(g, one), watchEvent{
					Kind: one.id, Crawlers: g.Names, Dialect: c.New.Dialect, Path: c.Path, Old: rule(c.Old), New: rule(c.New),
					Text: fmt.Sprintf("%s: %s (before: %s; now: %s)", one.name, c.Path, answer.Reason(c.Old), answer.Reason(c.New)),
				})
			}
		}
	}
	for _, l := range s.Declared {
		r.addEvent(lint.Warning, watchEvent{Kind: "declared", Crawlers: l.Crawlers, Text: title(l.Field) + ": " + declaredChange(l, 0)})
	}
	if same {
		r.add(lint.Note, "layout", "the text changed, but no URL and no declaration for any crawler (proved)")
	}
}

// text writes the report for people, with the site between two marks.
func (r *siteReport) text(out io.Writer, mark string) {
	fmt.Fprintf(out, "%s%s%s: %s, observed %s", mark, robots.Printable(r.Site), mark, cmp.Or(r.Severity, "unchanged"), r.Observed.Format(time.RFC3339))
	if !r.Since.IsZero() && r.Severity != "" {
		fmt.Fprintf(out, "; previous version of %s", r.Since.Format(time.RFC3339))
	}
	fmt.Fprintln(out)
	for _, e := range r.Events {
		names := ""
		if len(e.Crawlers) > 0 {
			names = render.Listed(e.Crawlers, 5) + ": "
		}
		fmt.Fprintf(out, "  %-8s  %s\n", e.Severity, robots.Printable(names+e.Text))
	}
}
