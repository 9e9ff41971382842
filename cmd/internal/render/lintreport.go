package render

import (
	"cmp"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/lint"
)

// Report returns the findings for other programs. A file without any has one that passed.
func (l *Lint) Report(version string) *Report {
	r := &Report{Command: "robots lint", Version: version}
	for i := range lint.Checks {
		r.Rules = append(r.Rules, NewCheck(&lint.Checks[i]))
	}
	for _, f := range l.Files {
		lines := slices.Collect(robots.Parse(f.Checked).Lines(robots.Dialect{}))
		one := lintReport{f, lines}
		for i := range f.Diagnostics {
			r.Findings = append(r.Findings, one.finding(&f.Diagnostics[i]))
		}
		if len(f.Diagnostics) == 0 {
			r.Findings = append(r.Findings, Finding{File: f.Name, Case: "no findings"})
		}
	}
	r.Summary = cmp.Or(lintCounts(&l.Counts), "no findings")
	return r
}

// A lintReport has the lines of a file, to convert offsets.
type lintReport struct {
	file  *answer.LintedFile
	lines []robots.Line
}

// finding returns a finding for other programs.
func (r *lintReport) finding(d *lint.Diagnostic) Finding {
	message := d.Message
	if text := advice(d); text != "" {
		message += ": " + text
	}
	f := r.file
	found := Finding{
		File: f.Name, Region: r.region(d.Span.Start, d.Span.End), Level: d.Severity.String(), Failed: d.Severity >= f.Fail,
		ID: d.Check.ID, Case: d.Check.ID + " " + d.Check.Name,
		Message: message + " (" + dialectsText(d.Dialects) + ")", Details: f.LineOf(d),
		Key: f.Known(f.Name, d).Fingerprint(), Dialects: d.Dialects,
	}
	if d.Fix != nil && d.Check.ID != "RT104" { // SARIF does not count the byte order mark, which RT104 removes
		found.Fix = &Fix{Description: cmp.Or(advice(d), d.Message), Safe: d.Fix.Safe}
		for _, e := range d.Fix.Edits {
			found.Fix.Replacements = append(found.Fix.Replacements, NewReplacement(r.region(e.Start, e.End), e.Text))
		}
	}
	return found
}

// region converts offsets in the text of the findings.
func (r *lintReport) region(start, end int) (region Region) {
	region.StartLine, region.StartColumn = r.position(start)
	region.EndLine, region.EndColumn = r.position(end)
	return region
}

// position returns the line and column of an offset.
func (r *lintReport) position(offset int) (line, column int) {
	line = sort.Search(len(r.lines), func(i int) bool { return r.lines[i].Span.Start > offset })
	if line == 0 { // in the byte order mark, which is no character
		return 1, 1
	}
	span := r.lines[line-1].Span
	if offset > span.End { // after the end of the last line
		return line + 1, 1
	}
	return line, 1 + utf8.RuneCount(r.file.Checked[span.Start:offset])
}
