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

// maxEvents limits the events of a report; those beyond are counted in one more.
const maxEvents = 10

// A SiteReport is the result of one observation of a site.
type SiteReport struct {
	Site      string       `json:"site"`           // its origin
	Observed  time.Time    `json:"observed"`       // when it was fetched
	Since     time.Time    `json:"since,omitzero"` // when the previous version was first observed
	Severity  string       `json:"severity"`       // of the most severe event: error, warning or note; empty for no change
	Undecided bool         `json:"undecided"`      // a proof exceeded the budget, or there is nothing to compare with
	Events    []WatchEvent `json:"events"`         // in the order found; if there are more than ten, the most severe ten and the count of the rest

	Worst lint.Severity `json:"-"` // that of Severity, 0 for no change
}

// A WatchEvent is one change of a robots.txt.
type WatchEvent struct {
	Severity string `json:"severity"` // error, warning or note
	// Kind is newly-blocked, newly-allowed, declared, layout, size, foreign, failing, not-fetched, recovered, back, missing,
	// baseline, or more: the count of events that are left out.
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
	e.Severity = severity.String()
	if severity > r.Worst {
		r.Worst = severity
		r.Severity = e.Severity
	}
	r.Events = append(r.Events, e)
}

func (r *SiteReport) add(severity lint.Severity, kind, format string, args ...any) {
	r.addEvent(severity, WatchEvent{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// A SiteState is the last robots.txt of one site, and what has replaced it since. The zero value is a
// site that was never fetched.
type SiteState struct {
	Changed time.Time `json:"changed,omitzero"` // when the version was seen first, zero for no version
	Text    string    `json:"robots,omitempty"`
	Bytes   []byte    `json:"robots_b64,omitempty"` // a file that is not valid UTF-8, without Text

	Missing      bool      `json:"missing,omitempty"` // the last answer was that there is none
	Foreign      bool      `json:"foreign,omitempty"` // the last answer was a page, not a robots.txt
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

// Observe compares an observation with the last robots.txt of the site, and returns the state to keep.
// What replaces a file, such as a page or status 404, is reported once, by what it does; the file is kept
// until another one comes. steps limits each proof.
func (r *SiteReport) Observe(last SiteState, o *Observation, steps int) SiteState {
	defer r.limit()
	if !o.Answered {
		return r.failing(last, o)
	}
	file := robots.Parse(o.Body)
	next := last
	next.Missing = o.Missing
	next.Foreign = !o.Missing && IsForeign(file)
	next.Failures = 0
	next.FailingSince = time.Time{}
	isFile := !next.Missing && !next.Foreign
	if isFile && (last.Missing || last.Foreign || last.Changed.IsZero() || !bytes.Equal(last.body(), o.Body)) {
		next.keep(o)
	}
	if last.Changed.IsZero() {
		next.Changed = r.Observed
		r.first(file, o)
		return next
	}
	r.Since = last.Changed
	if last.Failures > 0 {
		r.add(lint.Note, "recovered", "reachable again, after failing since %s", last.FailingSince.Format(time.RFC3339))
	}
	before := robots.Parse(last.body())
	switch {
	case next.Missing && !last.Missing:
		r.add(lint.Warning, "missing", "robots.txt is missing (status %d), so every URL is allowed", o.Status)
		r.compare(before, file, steps)
	case next.Foreign && !last.Foreign:
		r.add(lint.Warning, "foreign", foreignText)
		r.compare(before, file, steps)
	case !isFile:
		// As it was at the last observation.
	case (last.Missing || last.Foreign) && len(last.body()) == 0:
		r.add(lint.Note, "missing", "robots.txt exists now")
		r.changed(before, file, steps)
	case (last.Missing || last.Foreign) && bytes.Equal(last.body(), o.Body):
		r.add(lint.Note, "back", "robots.txt is back, as on %s", last.Changed.Format(time.RFC3339))
		next.Changed = last.Changed
	case last.Missing || last.Foreign:
		r.add(lint.Note, "back", "robots.txt is back, but not as on %s", last.Changed.Format(time.RFC3339))
		r.changed(before, file, steps)
	case !bytes.Equal(last.body(), o.Body):
		r.changed(before, file, steps)
	}
	return next
}

// keep takes the file of an observation.
func (s *SiteState) keep(o *Observation) {
	s.Changed = o.Time
	s.Text = ""
	s.Bytes = nil
	if utf8.Valid(o.Body) {
		s.Text = string(o.Body)
	} else {
		s.Bytes = o.Body
	}
}

// foreignText is the text about a page instead of a robots.txt.
const foreignText = "the response has no line of a robots.txt, so everything is allowed: is it a web page?"

// first reports the first observation of a site.
func (r *SiteReport) first(file *robots.File, o *Observation) {
	version := fmt.Sprintf("%d bytes", len(o.Body))
	if o.Missing {
		version = "no robots.txt, so every URL is allowed"
	}
	r.add(lint.Note, "baseline", "first version: %s", version)
	r.oversize(file)
	rules := file.Rules(robots.RFC9309)
	switch {
	case !o.Missing && IsForeign(file):
		r.add(lint.Warning, "foreign", foreignText)
	case !o.Missing && NewProver(AccessSteps).Access(rules) == AccessNone:
		r.add(lint.Warning, "baseline", "%s (%s)", blockedText(AnyCrawler), Reason(rules.Match(robots.RawPath("/"))))
	}
}

// oversize names the dialects that do not read the end of a file.
func (r *SiteReport) oversize(file *robots.File) {
	var limits []string
	for _, d := range CurrentDialects() {
		if d.MaxFileBytes > 0 && len(file.Bytes()) > d.MaxFileBytes {
			limits = append(limits, fmt.Sprintf("%s reads %d", d.Name, d.MaxFileBytes))
		}
	}
	if len(limits) > 0 {
		r.add(lint.Warning, "size", "the file is longer than crawlers read, in bytes: %s", strings.Join(limits, ", "))
	}
}

// changed reports a new version of a file.
func (r *SiteReport) changed(before, after *robots.File, steps int) {
	r.oversize(after)
	r.compare(before, after, steps)
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

// failing notes a failure. One alone is often an accident; the second in a row is an error where crawlers
// then treat the site as blocked. Later ones are not reported again. A failure on this side says nothing
// about the site (D-55).
func (r *SiteReport) failing(last SiteState, o *Observation) SiteState {
	if o.OwnSide {
		r.Undecided = true
		r.add(lint.Note, "not-fetched", "robots.txt was not fetched: %s", o.Fact)
		return last
	}
	last.Failures++
	switch {
	case last.Failures == 1:
		last.FailingSince = r.Observed
		r.add(lint.Note, "failing", "unreachable: %s", o.Fact)
	case last.Failures == 2 && len(o.Blocking) > 0:
		const text = "unreachable: %s; failing since %s (%d observations); without a copy, crawlers treat the site as blocked (%s)"
		r.add(lint.Error, "failing", text, o.Fact, last.FailingSince.Format(time.RFC3339), last.Failures, strings.Join(o.Blocking, ", "))
	case last.Failures == 2:
		r.add(
			lint.Warning, "failing", "unreachable: %s; failing since %s (%d observations)", o.Fact,
			last.FailingSince.Format(time.RFC3339), last.Failures,
		)
	}
	return last
}
