// Package lint finds mistakes in robots.txt files, reports the engines that they affect,
// and fixes them.
//
// A [Check] finds one kind of mistake; [Checks] lists them. [File] runs all checks and
// returns a [Diagnostic] for each finding: where and what it is, the dialects in which it
// matters and, often, a [Fix]. Checks have no rules of their own for what a line means:
// they get that from package robots in each dialect.
//
// # Fixes
//
// Fixes are safe if it is proved that all of them together change no verdict for any crawler in
// any of the eight dialects (see package compare), whatever product tokens the crawler has: in
// google-cpp, which combines the groups of all its tokens, for every combination. Every
// other fix makes the file mean what was probably intended and needs a review; some would
// change a verdict only for such a combination. [Fix.Change] is an example of the effect. A
// verdict counts as allowed or disallowed here: in google-2019 and google-legacy a safe
// fix can turn one that is undefined into a defined one with the same Allowed.
// [ApplyFixes] applies the safe fixes or all of them.
//
// # Ignoring findings
//
// A comment with a reason disables a check for its line or, as ignore-file, for the file:
//
//	Disallow: /a  # lint:ignore RT504 kept for the old crawler
//	# lint:ignore-file RT309 groups are sorted by product
//
// # Formatting
//
// [Format] writes a file in a standard layout and proves that its meaning is the same.
package lint

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// Severity is the severity of a finding.
type Severity uint8

const (
	// Off disables a check.
	Off Severity = iota
	// Note is information; the file might be correct.
	Note
	// Warning is probably unintended, or read differently by some engine.
	Warning
	// Error does not have the intended effect in at least some engines.
	Error
)

var severityNames = [...]string{"off", "note", "warning", "error"}

// String returns "off", "note", "warning" or "error".
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return ""
}

// ParseSeverity returns the severity with the given name, as returned by String.
func ParseSeverity(name string) (Severity, bool) {
	i := slices.Index(severityNames[:], name)
	return Severity(max(i, 0)), i >= 0
}

// A Diagnostic is a finding.
type Diagnostic struct {
	Check    *Check
	Severity Severity // of the check, unless Options.Severities sets another

	// Span is the position in the file, empty for a finding on the whole file. The
	// following fields are the same position in lines and columns, both from 1.
	// Columns count bytes; the end is exclusive.
	Span      robots.Span
	Line      int
	Column    int
	EndLine   int
	EndColumn int

	Message string // what is wrong, as a phrase
	Advice  string // how to fix it, or ""
	// Dialects are the names of the affected dialects, in the order of robots.Dialects.
	Dialects []string
	Fix      *Fix // nil if there is none
}

// A Fix is a change of the file that fixes a finding.
type Fix struct {
	// Safe is set if it is proved that all safe fixes of the file together change no verdict for
	// any crawler, in google-cpp also with several product tokens. A part of them rarely does:
	// where ** is shortened in one of two rules, the other one is the longer.
	Safe bool
	// Change is an example of what an unsafe fix changes, such as "blocks /a" or "allows /a
	// for googlebot", or "" if there is no known example.
	Change string
	Edits  []Edit
}

// An Edit replaces the bytes of a file from Start up to End.
type Edit struct {
	Start, End int
	Text       string
}

// Apply returns the file with the edits applied, which must be those of fixes for this file. Of
// two overlapping edits only the first is applied.
func Apply(body []byte, edits []Edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	out := make([]byte, 0, len(body))
	done := 0
	for _, e := range edits {
		if e.Start < done {
			continue
		}
		out = append(append(out, body[done:e.Start]...), e.Text...)
		done = e.End
	}
	return append(out, body[done:]...)
}

// Find returns the check with an id or name, nil if there is none.
func Find(id string) *Check {
	i := slices.IndexFunc(Checks, func(c Check) bool { return c.ID == id || c.Name == id })
	if i < 0 {
		return nil
	}
	return &Checks[i]
}

// Options configure File. The zero value runs all checks in all dialects.
type Options struct {
	// Severities overrides the severity of checks, by id.
	Severities map[string]Severity
	// Dialects are the names of the dialects in which to look for mistakes. Unknown names are
	// ignored, and without a known one these are all dialects.
	// Safe fixes are always proved in all dialects.
	Dialects []string
	// MaxSteps limits the work for one file, in steps of package compare; 0 means
	// DefaultMaxSteps. Reading the file in all dialects and its checks without proofs take about
	// 200 steps for each line; they are counted and always done, and proofs get the rest.
	MaxSteps int
}

// DefaultMaxSteps is the default of Options.MaxSteps, about a second.
const DefaultMaxSteps = 40_000_000

// MaxFindings is the largest number of findings per check in a Result.
const MaxFindings = 1000

// A Result is the result of File.
type Result struct {
	Diagnostics []Diagnostic // by position, then by id
	Dropped     int          // number of findings beyond MaxFindings
	// Undecided is set if MaxSteps did not suffice: there might be more findings of RT502,
	// RT503 and RT504, and more fixes might be safe.
	Undecided bool
	// Steps is the number of steps of all work, at most about MaxSteps, or those for reading the
	// file once and its checks without proofs if they are more.
	Steps int
}

// ApplyFixes applies the safe fixes, or all of them, until none is left. It returns the fixed
// file, the findings whose fixes were applied without being safe, and the findings that
// remain. Options.MaxSteps is the limit for all rounds together.
func ApplyFixes(body []byte, o Options, all bool) (fixed []byte, changes []Diagnostic, left Result) {
	if o.MaxSteps <= 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	const mostRounds = 10 // a fix can lead to another finding
	rest := o
	used := 0
	for range mostRounds {
		left = File(robots.Parse(body), rest)
		var edits []Edit
		for _, d := range left.Diagnostics {
			if d.Fix != nil && (d.Fix.Safe || all) {
				edits = append(edits, d.Fix.Edits...)
				if !d.Fix.Safe {
					changes = append(changes, d)
				}
			}
		}
		after := Apply(body, edits)
		if bytes.Equal(after, body) {
			break
		}
		body = after
		used += left.Steps
		if used >= o.MaxSteps {
			left = File(robots.Parse(body), Options{Severities: o.Severities, Dialects: o.Dialects, MaxSteps: 1})
			break
		}
		rest.MaxSteps = o.MaxSteps - used
	}
	left.Steps += used
	return body, changes, left
}

// File returns the findings in a file.
func File(f *robots.File, o Options) Result {
	p := newPass(f, o)
	ignores := p.ignores()
	p.checkLines()
	for i := range Checks {
		c := &Checks[i]
		if on := p.begin(c); c.find != nil && p.runs(c, on) {
			c.find(p)
		}
	}
	slices.SortStableFunc(p.found, func(a, b *Diagnostic) int { return strings.Compare(a.Check.ID, b.Check.ID) })
	p.silence(ignores)
	p.prove()
	p.findChanges()
	return p.result()
}

// runs reports whether a check runs on the file.
func (p *pass) runs(c *Check, on bool) bool { return (on || !c.proved) && (p.kind == "" || c.anyKind) }

// checkLines runs the checks of lines and of rules with a path, all for one line after another.
func (p *pass) checkLines() {
	var checks []int
	for i := range Checks {
		if c := &Checks[i]; (c.line != nil || c.path != nil) && p.runs(c, p.severities[i] != Off) {
			checks = append(checks, i)
		}
	}
	for l := range p.text.Lines(robots.Dialect{}) {
		if l.Span.Start == l.Span.End {
			continue
		}
		path := ""
		if isRule(l.Field) && p.misreading(l) == readAsMeant {
			path = p.textOf(l.Value)
		}
		for _, i := range checks {
			c := &Checks[i]
			p.check = c
			p.severity = p.severities[i]
			switch {
			case c.line != nil:
				c.line(p, l)
			case path != "":
				c.path(p, l, path)
			}
		}
	}
}
