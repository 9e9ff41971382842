package answer

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// severityWords are the severities of events.
var severityWords = map[lint.Severity]string{lint.Error: "critical", lint.Warning: "warning", lint.Note: "info"}

// A SiteReport is the result of one observation of a site.
type SiteReport struct {
	Site      string       `json:"site"`           // its origin
	Observed  time.Time    `json:"observed"`       // when it was fetched
	Since     time.Time    `json:"since,omitzero"` // when the previous version was first observed
	Severity  string       `json:"severity"`       // of the most severe event: critical, warning or info; empty for no change
	Undecided bool         `json:"undecided"`      // a proof exceeded the budget, or there is nothing to compare with
	Events    []WatchEvent `json:"events"`         // in the order found

	Worst lint.Severity `json:"-"` // that of Severity, 0 for no change
}

// A WatchEvent is one change of a robots.txt.
type WatchEvent struct {
	Severity string `json:"severity"` // critical, warning or info
	// Kind is newly-blocked, newly-allowed, declared, layout, foreign, failing, not-fetched, recovered, missing or baseline.
	Kind     string       `json:"kind"`
	Crawlers []string     `json:"crawlers,omitempty"` // that the change concerns
	Dialect  string       `json:"dialect,omitempty"`  // of a verdict
	Path     string       `json:"path,omitempty"`     // a shortest URL that changed
	Old      *WatchedRule `json:"old,omitempty"`      // that decided before
	New      *WatchedRule `json:"new,omitempty"`      // that decides now
	Text     string       `json:"text"`               // a phrase
}

// A WatchedRule is the rule behind a verdict.
type WatchedRule struct {
	Line int    `json:"line"` // from 1; 0 if no rule matches
	Rule string `json:"rule"` // as written, empty if no rule matches
}

func (r *SiteReport) addEvent(severity lint.Severity, e WatchEvent) {
	e.Severity = severityWords[severity]
	if severity > r.Worst {
		r.Worst = severity
		r.Severity = e.Severity
	}
	r.Events = append(r.Events, e)
}

func (r *SiteReport) add(severity lint.Severity, kind, format string, args ...any) {
	r.addEvent(severity, WatchEvent{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// A SiteState is the last version of one site, and its failures since. The zero value is a site
// that was never fetched.
type SiteState struct {
	Changed      time.Time `json:"changed,omitzero"` // when the version was seen first, zero for no version
	Missing      bool      `json:"missing,omitempty"`
	Text         string    `json:"robots,omitempty"`
	Bytes        []byte    `json:"robots_b64,omitempty"` // a file that is not valid UTF-8, without Text
	Failures     int       `json:"failures,omitempty"`
	FailingSince time.Time `json:"failing_since,omitzero"`
}

func (s *SiteState) body() []byte { return append([]byte(s.Text), s.Bytes...) }

// An Observation is the outcome of one fetch of a site's robots.txt.
type Observation struct {
	Time     time.Time
	Answered bool   // the site answered
	Missing  bool   // it answered that it has none
	Status   int    // of the response, 0 without one
	Body     []byte // of the file

	OwnSide  bool     // a failure that says nothing about the site
	Fact     string   // about a failure, a phrase
	Blocking []string // dialects that block the site during this failure, without a copy
}

// NewSiteReport returns a report of a site without an event.
func NewSiteReport(site string, o *Observation) *SiteReport {
	return &SiteReport{Site: site, Observed: o.Time, Events: []WatchEvent{}}
}

// Observe compares an observation with the last version of the site, and returns the version to keep.
// steps limits each proof.
func (r *SiteReport) Observe(last SiteState, o *Observation, steps int) SiteState {
	if !o.Answered {
		return r.failing(last, o)
	}
	next := SiteState{Changed: r.Observed, Missing: o.Missing}
	version := fmt.Sprintf("%d bytes", len(o.Body))
	switch {
	case next.Missing:
		version = "no robots.txt, so every URL is allowed"
	case utf8.Valid(o.Body):
		next.Text = string(o.Body)
	default:
		next.Bytes = o.Body
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
		r.add(lint.Warning, "missing", "robots.txt is missing (status %d), so every URL is allowed", o.Status)
	case bytes.Equal(last.body(), next.body()):
		next.Changed = last.Changed
		return next
	}
	r.foreign(next.body())
	r.compare(robots.Parse(last.body()), robots.Parse(next.body()), steps)
	return next
}

// foreign warns of a new version that is not a robots.txt, such as a web page.
func (r *SiteReport) foreign(body []byte) {
	if IsForeign(robots.Parse(body)) {
		r.add(lint.Warning, "foreign", "the response has no line of a robots.txt, so everything is allowed: is it a web page?")
	}
}

// IsForeign reports whether a file has text but no line of a field known in robots.txt.
func IsForeign(f *robots.File) bool {
	text := false
	for line := range f.Lines(robots.Dialect{}) {
		if line.Field > robots.FieldUnknown {
			return false
		}
		text = text || strings.TrimSpace(strings.TrimSuffix(f.Text(line.Span), f.Text(line.Comment))) != ""
	}
	return text
}

// failing notes a failure. One alone is often an accident; the second in a row is critical. A failure on this side says
// nothing about the site (D-55).
func (r *SiteReport) failing(last SiteState, o *Observation) SiteState {
	if o.OwnSide {
		r.Undecided = true
		r.add(lint.Note, "not-fetched", "robots.txt was not fetched: %s", o.Fact)
		return last
	}
	last.Failures++
	if last.Failures == 1 {
		last.FailingSince = r.Observed
		r.add(lint.Note, "failing", "unreachable: %s", o.Fact)
		return last
	}
	const text = "unreachable: %s; failing since %s (%d observations); without a copy, crawlers treat the site as blocked (%s)"
	r.add(lint.Error, "failing", text, o.Fact, last.FailingSince.Format(time.RFC3339), last.Failures, strings.Join(o.Blocking, ", "))
	return last
}

// Expect compares the file of a site with the expected one. steps limits each proof.
func (r *SiteReport) Expect(expected *robots.File, o *Observation, steps int) {
	switch {
	case !o.Answered:
		r.Undecided = true
		r.failing(SiteState{}, o)
	case o.Missing:
		r.add(lint.Error, "missing", "the site has no robots.txt (status %d)", o.Status)
	case !bytes.Equal(expected.Bytes(), o.Body):
		r.foreign(o.Body)
		r.compare(expected, robots.Parse(o.Body), steps)
	}
}

// compare reports what differs for * and for every crawler that either file names, each in the dialect that the directory has
// for it. Crawlers with equal changes share their events.
func (r *SiteReport) compare(before, after *robots.File, steps int) {
	d := DiffIn(before, after, [2]robots.Dialect{}, nil, DiffOptions{Steps: steps})
	same := len(d.Declared) == 0
	rule := func(v robots.Verdict) *WatchedRule { return &WatchedRule{v.Rule.Line(), v.Rule.String()} }
	for _, g := range d.Groups() {
		same = same && g.Same()
		r.Undecided = r.Undecided || !g.Same() && !g.Differs()
		for _, one := range g.Directions() {
			for _, c := range one.Changes {
				r.addEvent(g.Severity(one.Kind), WatchEvent{
					Kind: one.Kind, Crawlers: g.Names, Dialect: c.New.Dialect, Path: c.Path, Old: rule(c.Old), New: rule(c.New),
					Text: fmt.Sprintf("%s: %s (before: %s; now: %s)", d.Title(one), c.Path, Reason(c.Old), Reason(c.New)),
				})
			}
		}
	}
	for _, change := range d.Declared {
		values := listOrNone(change.Old) + " → " + listOrNone(change.New)
		r.addEvent(lint.Warning, WatchEvent{Kind: "declared", Crawlers: change.Crawlers, Text: FieldTitle(change.Field) + ": " + values})
	}
	if same {
		r.add(lint.Note, "layout", "the text changed, but no URL and no declaration for any crawler (proved)")
	}
}

// listOrNone joins values.
func listOrNone(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(values, ", ")
}
