package main

import (
	"cmp"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/lint"
)

// report returns the findings for other programs. A file without any has one that passed.
func (l *linting) report(files []*linted) *render.Report {
	r := &render.Report{Command: "robots lint", Version: programVersion()}
	for i := range lint.Checks {
		r.Rules = append(r.Rules, render.NewCheck(&lint.Checks[i]))
	}
	for _, f := range files {
		f.lines = slices.Collect(robots.Parse(f.checked).Lines(robots.Dialect{}))
		for i := range f.Diagnostics {
			r.Findings = append(r.Findings, f.finding(&f.Diagnostics[i]))
		}
		if len(f.Diagnostics) == 0 {
			r.Findings = append(r.Findings, render.Finding{File: f.Name, Case: "no findings"})
		}
	}
	r.Summary = cmp.Or(l.counts(), "no findings")
	return r
}

func (f *linted) finding(d *lint.Diagnostic) render.Finding {
	message := d.Message
	if text := advice(d); text != "" {
		message += ": " + text
	}
	found := render.Finding{
		File: f.Name, Region: f.region(d.Span.Start, d.Span.End), Level: d.Severity.String(), Failed: d.Severity >= f.fail,
		ID: d.Check.ID, Case: d.Check.ID + " " + d.Check.Name,
		Message: message + " (" + dialectsText(d.Dialects) + ")", Details: f.lineOf(d), Key: knownOf(f, d).fingerprint(), Dialects: d.Dialects,
	}
	if d.Fix != nil && d.Check.ID != "RT104" { // SARIF does not count the byte order mark, which RT104 removes
		found.Fix = &render.Fix{Description: cmp.Or(advice(d), d.Message), Safe: d.Fix.Safe}
		for _, e := range d.Fix.Edits {
			found.Fix.Replacements = append(found.Fix.Replacements, render.NewReplacement(f.region(e.Start, e.End), e.Text))
		}
	}
	return found
}

// region converts offsets in the text of the findings.
func (f *linted) region(start, end int) (r render.Region) {
	r.StartLine, r.StartColumn = f.place(start)
	r.EndLine, r.EndColumn = f.place(end)
	return r
}

func (f *linted) place(offset int) (line, column int) {
	line = sort.Search(len(f.lines), func(i int) bool { return f.lines[i].Span.Start > offset })
	if line == 0 { // in the byte order mark, which is no character
		return 1, 1
	}
	span := f.lines[line-1].Span
	if offset > span.End { // after the end of the last line
		return line + 1, 1
	}
	return line, 1 + utf8.RuneCount(f.checked[span.Start:offset])
}
