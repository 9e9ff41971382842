package main

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// report returns the findings for other programs. A file without any has one that passed.
func (l *linting) report(files []*linted) *report {
	r := &report{command: "robots lint"}
	for i := range lint.Checks {
		c := &lint.Checks[i]
		level := c.Severity.String()
		if c.Severity == lint.Off {
			level = lint.Note.String()
		}
		r.rules = append(r.rules, object{
			"id": c.ID, "name": c.Name, "shortDescription": sarifText(c.What), "fullDescription": sarifText(c.What + " " + c.Why),
			"helpUri":              projectURL + "/blob/main/docs/lint.md#" + strings.ToLower(c.ID) + "-" + c.Name,
			"defaultConfiguration": object{"enabled": c.Severity != lint.Off, "level": level},
		})
	}
	for _, f := range files {
		f.lines = slices.Collect(robots.Parse(f.checked).Lines(robots.Dialect{}))
		for i := range f.Diagnostics {
			r.findings = append(r.findings, f.finding(&f.Diagnostics[i]))
		}
		if len(f.Diagnostics) == 0 {
			r.findings = append(r.findings, Finding{File: f.Name, Case: "no findings"})
		}
	}
	r.summary = cmp.Or(l.counts(), "no findings")
	return r
}

func (f *linted) finding(d *lint.Diagnostic) Finding {
	message := d.Message
	if text := advice(d); text != "" {
		message += ": " + text
	}
	found := Finding{
		File: f.Name, Region: f.region(d.Span.Start, d.Span.End), Level: d.Severity.String(), Failed: d.Severity >= f.fail,
		ID: d.Check.ID, Case: d.Check.ID + " " + d.Check.Name,
		Message: message + " (" + dialectsText(d.Dialects) + ")", Details: f.lineOf(d), Key: knownOf(f, d).fingerprint(), Dialects: d.Dialects,
	}
	if d.Fix != nil && d.Check.ID != "RT104" { // SARIF does not count the byte order mark, which RT104 removes
		var edits []object
		for _, e := range d.Fix.Edits {
			edits = append(edits, object{"deletedRegion": f.region(e.Start, e.End), "insertedContent": sarifText(e.Text)})
		}
		change := object{"artifactLocation": sarifFile(f.Name), "replacements": edits}
		found.Fix = object{"description": sarifText(cmp.Or(advice(d), d.Message)), "artifactChanges": []object{change}}
		found.SafeFix = d.Fix.Safe
	}
	return found
}

// region converts offsets in the text of the findings.
func (f *linted) region(start, end int) (r Region) {
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
