package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/lint"
)

// Severities of events, the most severe first.
const (
	critical = "critical"
	warning  = "warning"
	info     = "info"
)

// A siteReport is what one observation of a site found.
type siteReport struct {
	Schema    int          `json:"schema"`
	Site      string       `json:"site"`
	Observed  time.Time    `json:"observed"`
	Since     *time.Time   `json:"since,omitempty"` // when the version before was seen first
	Severity  string       `json:"severity"`        // of the most severe event, "" for no change
	Undecided bool         `json:"undecided"`       // a proof exceeded the budget, or there is nothing to compare with
	Events    []watchEvent `json:"events"`
}

// A watchEvent is one change.
type watchEvent struct {
	Severity string       `json:"severity"`
	Kind     string       `json:"kind"` // newly-blocked, newly-allowed, declared, layout, foreign, failing, not-fetched, recovered, missing, baseline
	Crawlers []string     `json:"crawlers,omitempty"`
	Dialect  string       `json:"dialect,omitempty"`
	Path     string       `json:"path,omitempty"` // a shortest URL that changed
	Old      *watchedRule `json:"old,omitempty"`
	New      *watchedRule `json:"new,omitempty"`
	Text     string       `json:"text"` // a clause for people
}

// A watchedRule is the rule behind a verdict, line 0 if no rule matches.
type watchedRule struct {
	Line int    `json:"line"`
	Rule string `json:"rule"`
}

func (r *siteReport) add(e watchEvent) {
	order := []string{critical, warning, info}
	if r.Severity == "" || slices.Index(order, e.Severity) < slices.Index(order, r.Severity) {
		r.Severity = e.Severity
	}
	r.Events = append(r.Events, e)
}

func (r *siteReport) status(fail lint.Severity) int {
	severity, err := severityNamed("severity", r.Severity)
	switch {
	case err == nil && severity >= fail: // an error: no event
		return exitDisallowed
	case r.Undecided:
		return exitUndecided
	}
	return exitAllowed
}

// observe compares a record with the last version of the site, and returns the version to keep.
func (r *siteReport) observe(last *siteState, record *fetch.Record, budget int) *siteState {
	if !record.Outcome.Good() {
		return r.failing(last, record)
	}
	next := &siteState{Changed: r.Observed, Missing: record.Outcome == fetch.Unavailable}
	next.set(record.Body)
	if next.Missing {
		next.set(nil)
	}
	if last == nil || last.Changed.IsZero() {
		r.add(watchEvent{Severity: info, Kind: "baseline", Text: "first version: " + versionText(next)})
		r.foreign(next.body())
		return next
	}
	r.Since = &last.Changed
	if last.Failures > 0 {
		r.add(watchEvent{Severity: info, Kind: "recovered", Text: "reachable again, after failing since " + last.FailingSince.Format(time.RFC3339)})
	}
	if last.Missing != next.Missing {
		e := watchEvent{Severity: warning, Kind: "missing", Text: "robots.txt is missing (status " + fmt.Sprint(record.Status) + "), so every URL is allowed"}
		if last.Missing {
			e.Severity, e.Text = info, "robots.txt exists now"
		}
		r.add(e)
	}
	if last.Missing == next.Missing && string(last.body()) == string(next.body()) {
		next.Changed = last.Changed
		return next
	}
	r.foreign(next.body())
	r.compare(robots.Parse(last.body()), robots.Parse(next.body()), budget)
	return next
}

// foreign warns of a new version that is not a robots.txt, such as a web page.
func (r *siteReport) foreign(body []byte) {
	if isForeign(robots.Parse(body)) {
		r.add(watchEvent{Severity: warning, Kind: "foreign", Text: "the response has no line of a robots.txt, so everything is allowed: is it a web page?"})
	}
}

func versionText(s *siteState) string {
	if s.Missing {
		return "no robots.txt, so every URL is allowed"
	}
	return fmt.Sprintf("%d bytes", len(s.body()))
}

// failing notes a failure. One alone is often an accident; the second in a row is critical. A failure on this side says
// nothing about the site (D-55).
func (r *siteReport) failing(last *siteState, record *fetch.Record) *siteState {
	if record.FailingSince.IsZero() {
		r.Undecided = true
		r.add(watchEvent{Severity: info, Kind: "not-fetched", Text: "robots.txt was not fetched: " + factOf((ask.Source{Record: record}).Obey(robots.RFC9309, 0, r.Observed, []string{anyCrawler}).State())})
		return last
	}
	next := &siteState{}
	if last != nil {
		*next = *last
	}
	next.Failures++
	if next.FailingSince == nil {
		next.FailingSince = &r.Observed
	}
	state := (ask.Source{Record: record}).Obey(robots.RFC9309, 0, r.Observed, []string{anyCrawler}).State()
	e := watchEvent{Severity: info, Kind: "failing", Text: "unreachable: " + factOf(state)}
	if next.Failures > 1 {
		e.Severity = critical
		e.Text += fmt.Sprintf("; failing since %s (%d observations); without a copy, crawlers treat the site as blocked (%s)",
			next.FailingSince.Format(time.RFC3339), next.Failures, strings.Join(blockedIn(record, r.Observed), ", "))
	}
	r.add(e)
	return next
}

// expect compares the file of a site with the expected one.
func (r *siteReport) expect(expected *robots.File, record *fetch.Record, budget int) {
	switch record.Outcome {
	case fetch.Unreachable, fetch.Refused:
		r.Undecided = true
		r.failing(nil, record)
	case fetch.Unavailable:
		r.add(watchEvent{Severity: critical, Kind: "missing", Text: fmt.Sprintf("the site has no robots.txt (status %d)", record.Status)})
	default:
		if string(expected.Bytes()) != string(record.Body) {
			r.foreign(record.Body)
			r.compare(expected, robots.Parse(record.Body), budget)
		}
	}
}

// compare reports what differs for * and for every crawler that either file names, each in the dialect that the directory has
// for it. Crawlers with equal changes share their events.
func (r *siteReport) compare(before, after *robots.File, budget int) {
	d := newDiffer(&streams{now: func() time.Time { return r.Observed }})
	d.budget = budget
	s, same := &section{auto: true}, true
	d.compare(context.Background(), s, [2]source{{File: before}, {File: after}})
	for _, g := range s.groups() {
		same = same && g.Same()
		r.Undecided = r.Undecided || !g.Same() && !g.Differs()
		for _, c := range g.NewlyBlocked.Changes {
			e := changeEvent("newly-blocked", g.names, c)
			if slices.ContainsFunc(g.names, isImportant) {
				e.Severity = critical
			}
			r.add(e)
		}
		for _, c := range g.NewlyAllowed.Changes {
			r.add(changeEvent("newly-allowed", g.names, c))
		}
	}
	lines := s.declaredLines()
	for _, l := range lines {
		text := fmt.Sprintf("%s: %s → %s", l.field, listOr(l.old, "none"), listOr(l.new, "none"))
		r.add(watchEvent{Severity: warning, Kind: "declared", Crawlers: l.crawlers, Text: text})
	}
	if same && len(lines) == 0 {
		r.add(watchEvent{Severity: info, Kind: "layout", Text: "the text changed, but no URL and no declaration for any crawler (proved)"})
	}
}

func changeEvent(kind string, names []string, c compare.Change) watchEvent {
	rule := func(v robots.Verdict) *watchedRule {
		if v.Rule.IsZero() {
			return &watchedRule{}
		}
		return &watchedRule{v.Rule.Line(), v.Rule.String()}
	}
	return watchEvent{Severity: warning, Kind: kind, Crawlers: names, Dialect: c.New.Dialect, Path: c.Path, Old: rule(c.Old), New: rule(c.New),
		Text: fmt.Sprintf("%s: %s (before: %s; now: %s)", strings.ReplaceAll(kind, "-", " "), c.Path, reasonOf(c.Old), reasonOf(c.New))}
}

func listOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

// text writes the report for people, with the site between two marks.
func (r *siteReport) text(out io.Writer, open, end string) {
	result := "unchanged"
	if r.Severity != "" {
		result = r.Severity
	}
	fmt.Fprintf(out, "%s%s%s: %s, observed %s", open, robots.Printable(r.Site), end, result, r.Observed.Format(time.RFC3339))
	if r.Since != nil && r.Severity != "" {
		fmt.Fprintf(out, "; previous version of %s", r.Since.Format(time.RFC3339))
	}
	fmt.Fprintln(out)
	for _, e := range r.Events {
		names := ""
		if len(e.Crawlers) > 0 {
			names = strings.Join(e.Crawlers[:min(len(e.Crawlers), 5)], ", ")
			if n := len(e.Crawlers) - 5; n > 0 {
				names += fmt.Sprintf(" and %d more", n)
			}
			names += ": "
		}
		fmt.Fprintf(out, "  %-8s  %s\n", e.Severity, robots.Printable(names+e.Text))
	}
}

func (w *watcher) print(r siteReport) error {
	if r.Events == nil {
		r.Events = []watchEvent{}
	}
	var err error
	switch w.format {
	case formatJSON:
		var text []byte
		if text, err = json.Marshal(r); err == nil {
			_, err = fmt.Fprintf(w.std.out, "%s\n", text)
		}
	case formatMarkdown:
		fmt.Fprintf(w.std.out, "### %s: %s\n\n", r.Site, cmp.Or(r.Severity, "unchanged"))
		for _, e := range r.Events {
			who := ""
			if len(e.Crawlers) > 0 {
				who = " for " + strings.Join(e.Crawlers, ", ")
			}
			fmt.Fprintf(w.std.out, "- **%s**%s: `%s`\n", e.Severity, robots.Printable(who), strings.ReplaceAll(robots.Printable(e.Text), "`", "'"))
		}
		_, err = fmt.Fprintln(w.std.out)
	default:
		r.text(w.std.out, "", "")
	}
	return err
}
