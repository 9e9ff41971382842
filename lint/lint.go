// Package lint finds mistakes in robots.txt files, says which engines they concern,
// and mends what can be mended without changing a verdict.
//
// A [Check] is one kind of mistake, and a row of [Checks]. [File] runs them all and
// returns [Diagnostic] values: where, what is wrong, in which dialects it matters and,
// often, a [Fix]. Whether a line counts, for whom and with which meaning is asked of
// the engine in each dialect; no check has an opinion of its own about that.
//
// A fix is safe if it is proved that no crawler gets another verdict in any of the
// eight dialects (package compare). Every other fix is a change: it makes the file say
// what was probably meant, and somebody has to look at it.
//
// A file can silence a check by a comment with a reason:
//
//	Disallow: /a  # lint:ignore RT504 kept for the old crawler
//	# lint:ignore-file RT309 groups are sorted by product
//
// [Format] writes a file in one customary layout and proves that nothing else changed.
package lint

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/robotskit/robots"
)

// Severity says how much a finding matters.
type Severity uint8

const (
	// Off is a check that does not run unless somebody asks for it.
	Off Severity = iota
	// Note is worth knowing. The file may well be right.
	Note
	// Warning is probably not what the author meant, or not what some engine reads.
	Warning
	// Error does not do what it says in any engine, or only in some.
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

// ParseSeverity returns the severity of a name that String returns.
func ParseSeverity(name string) (Severity, bool) {
	i := slices.Index(severityNames[:], name)
	return Severity(max(i, 0)), i >= 0
}

// A Diagnostic is one finding.
type Diagnostic struct {
	Check    *Check
	Severity Severity // of the check, unless the options say otherwise

	// Span is what is wrong, in bytes of the file. A finding on the whole file
	// has an empty span at its start. The rest is the same in lines and columns,
	// both from 1; columns count bytes, and the end is the first byte after it.
	Span      robots.Span
	Line      int
	Column    int
	EndLine   int
	EndColumn int

	Message string // one clause: what is wrong here
	Advice  string // what to write instead, "" if there is nothing to say
	// Dialects are the names of those in which it matters, in the order of
	// robots.Dialects.
	Dialects []string
	Fix      *Fix // nil if there is none
}

// A Fix changes the file.
type Fix struct {
	// Safe says that it is proved to change no verdict of any crawler in any
	// dialect, together with all safe fixes before it.
	Safe bool
	// Change is what a fix that is not safe changes for some crawler, as in "blocks /a" or
	// "opens /a for googlebot", "" if nothing is known of it.
	Change string
	Edits  []Edit
}

// An Edit replaces the bytes of a file from Start up to End.
type Edit struct {
	Start, End int
	Text       string
}

// Apply returns the file with the edits made. Of two that overlap the first one
// counts.
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

// Find returns the check of an id or a name, nil if there is none.
func Find(id string) *Check {
	for i := range Checks {
		if Checks[i].ID == id || Checks[i].Name == id {
			return &Checks[i]
		}
	}
	return nil
}

// Options choose what File looks for. The zero value is what most people want.
type Options struct {
	// Severities replace those of checks, by id. Off silences one.
	Severities map[string]Severity
	// Dialects are the names of those to look at, nil for all. A finding that matters
	// in none of them is not reported. Safe fixes are proved in all dialects always.
	Dialects []string
	// MaxSteps bounds the work of all proofs of one file, in steps of package
	// compare; 0 means DefaultMaxSteps.
	MaxSteps int
}

// DefaultMaxSteps bounds the proofs of one file: a second or less.
const DefaultMaxSteps = 20_000_000

// MaxFindings bounds what one check reports of one file, so that a hostile file does not
// make a report of any size.
const MaxFindings = 1000

// A Result is what File found.
type Result struct {
	Diagnostics []Diagnostic // in the order of the file, then of the ids
	Dropped     int          // findings left out over MaxFindings
	// Undecided says that MaxSteps did not suffice for all rules: there may be
	// more of RT502, RT503 and RT504, and more fixes may be safe.
	Undecided bool
	// Steps is how many steps all proofs took, about MaxSteps at most.
	Steps int
}

// Mend makes the fixes of a file, the safe ones or all, until there is nothing more to fix.
// It returns the file, the fixes that are not safe, as they were found, and what is left to
// report. Options.MaxSteps is for all of it.
func Mend(body []byte, o Options, all bool) (mended []byte, changes []Diagnostic, left Result) {
	if o.MaxSteps <= 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	const mostRounds = 10 // a fix of what somebody meant may lead to another one
	for range mostRounds {
		left = File(robots.Parse(body), o)
		var edits []Edit
		for _, d := range left.Diagnostics {
			if d.Fix == nil || !d.Fix.Safe && !all {
				continue
			}
			edits = append(edits, d.Fix.Edits...)
			if !d.Fix.Safe {
				changes = append(changes, d)
			}
		}
		after := Apply(body, edits)
		if bytes.Equal(after, body) {
			break
		}
		body = after
		o.MaxSteps = max(1, o.MaxSteps-left.Steps)
	}
	return body, changes, left
}

// File looks for mistakes in a file.
func File(f *robots.File, o Options) Result {
	p := newPass(f, o)
	ignores := p.ignores()
	for i := range Checks {
		c := &Checks[i]
		on := p.begin(c)
		if c.find == nil || !on && c.proved || p.kind != "" && !c.anyKind {
			continue
		}
		c.find(p)
	}
	p.silence(ignores)
	p.prove()
	p.tellChanges()
	return p.result()
}
