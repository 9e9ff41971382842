package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/lint"
)

// write writes the result in the format of --format.
func (d *differ) write(r *render.Report) {
	switch d.format {
	case formatText:
		d.writeText()
	case formatJSON:
		d.writeJSON()
	default:
		r.Write(d.std, d.format)
	}
}

// writeText writes each section under its title. Sections with the same text have one title.
func (d *differ) writeText() {
	var texts []string
	titles := map[string][]string{}
	for _, s := range d.sections {
		var b strings.Builder
		d.sectionText(&b, s)
		text := b.String()
		if titles[text] == nil {
			texts = append(texts, text)
		}
		titles[text] = append(titles[text], strings.Join(s.dialectNames(), " → "))
	}
	for i, text := range texts {
		if i > 0 {
			fmt.Fprintln(d.std.Out)
		}
		if len(d.sections) > 1 {
			fmt.Fprintln(d.std.Out, d.palette.Paint(render.Bold, strings.Join(titles[text], ", ")))
		}
		_, _ = io.WriteString(d.std.Out, text)
	}
}

// nameColumn is the minimum width of the column of crawlers.
const nameColumn = 10

func (d *differ) sectionText(w io.Writer, s *section) {
	for _, g := range s.Groups() {
		fails := func(one direction) bool { return len(one.Changes)+one.URLs > 0 && d.selects(one.id, severity(g, one)) }
		style := render.Green
		switch {
		case slices.ContainsFunc(s.directions(g), fails):
			style = render.Red
		case !g.Same():
			style = render.Yellow
		}
		who := nameList(g.Names)
		if s.auto() && !slices.Equal(g.Dialects, []string{robots.RFC9309.Name}) {
			who = s.crawlersText(g)
		}
		fmt.Fprintf(w, "%s  %s\n", render.Fill(who, nameColumn), d.palette.Paint(style, d.result(g)))
		if g.Note != "" {
			fmt.Fprintf(w, "  %s\n", g.Note)
		}
		if g.Elsewhere && g.Differs() {
			fmt.Fprintf(w, "  line numbers are those of %s; the others have the same rules elsewhere\n", robots.Printable(g.Names[0]))
		}
		var rows [][]string
		for _, one := range s.directions(g) {
			changes, rest := d.shown(one.Changes)
			for _, c := range changes {
				before, after := s.reasons(c)
				rows = append(rows, []string{"  " + one.name, robots.Printable(c.Path), before, after})
			}
			if rest > 0 {
				rows = append(rows, []string{fmt.Sprintf("  and %d more %s (--limit)", rest, one.name)})
			}
		}
		render.Align(w, rows)
		if text := d.countText(s, g); text != "" {
			fmt.Fprintf(w, "  %s\n", text)
		}
	}
	lead := render.Fill("declared", nameColumn) + "  "
	for _, line := range s.Declared {
		for _, text := range declaredTexts(line, d.limit) {
			fmt.Fprintf(w, "%s%s\n", lead, text)
			lead = render.Fill("", nameColumn) + "  "
		}
	}
}

// countText describes how many URLs of --urls change, "" without it.
func (d *differ) countText(s *section, g *answer.DifferenceGroup) string {
	if d.urls == "" {
		return ""
	}
	var counts []string
	for _, one := range s.directions(g) {
		text := screen.Thousands(one.URLs) + " " + one.name
		if one.URLs > 0 {
			text += " (first: " + robots.Printable(one.FirstURL) + ")"
		}
		counts = append(counts, text)
	}
	return "of " + render.Count(d.read, "URL") + ": " + strings.Join(counts, ", ")
}

// writeJSON writes a line for each crawler and dialect.
func (d *differ) writeJSON() {
	for _, s := range d.sections {
		for _, c := range s.Crawlers {
			d.std.EncodeAnswer(c)
		}
	}
}

// report returns the changes for other programs. Crawlers without a change are findings
// that passed.
func (d *differ) report() *render.Report {
	r := &render.Report{Command: "robots diff", Summary: "same (proved)", Version: programVersion(), Rules: []render.Rule{
		render.NewRule(failBlocked, "URLs that were allowed are blocked."),
		render.NewRule(failAllowed, "URLs that were blocked are allowed."),
		render.NewRule("groups", "A different group applies to a crawler."),
		render.NewRule("declared", "Delays, sitemaps or signals differ."),
		render.NewRule("undecided", "A proof exceeded its budget."),
	}}
	for _, s := range d.sections {
		for _, g := range s.Groups() {
			d.addGroup(r, s, g)
		}
		for _, line := range s.Declared {
			for _, text := range declaredTexts(line, d.limit) {
				d.add(r, render.Finding{Case: title(line.Field), Dialects: s.dialectNames()}, "declared", text, lint.Warning)
			}
		}
	}
	if n := len(r.Shown()); n > 0 {
		r.Summary = render.Count(n, "finding")
	}
	return r
}

// addGroup adds the findings for crawlers with the same result.
func (d *differ) addGroup(r *render.Report, s *section, g *answer.DifferenceGroup) {
	who := s.crawlersText(g)
	add := func(id, message string, severity lint.Severity) *render.Finding {
		return d.add(r, render.Finding{Case: nameList(g.Names), Dialects: g.Dialects}, id, message, severity)
	}
	for _, one := range s.directions(g) {
		severity := severity(g, one)
		changes, rest := d.shown(one.Changes)
		for _, c := range changes {
			before, after := s.reasons(c)
			f := add(one.id, one.name+": "+c.Path+" for "+who+": "+before+"; "+after, severity)
			f.Case += ": " + c.Path
			f.Region.StartLine = c.New.Rule.Line()
		}
		if rest > 0 {
			add(one.id, one.name+": and "+strconv.Itoa(rest)+" more for "+who, severity)
		}
		if !one.Complete {
			f := add("undecided", "undecided for "+who+" whether more is "+one.name+"; "+helps(d.budget), lint.Warning)
			f.Failed, f.Undecided = false, d.selects(one.id, severity)
		}
		if one.URLs > 0 {
			add(one.id, one.name+" for "+who+": "+d.countText(s, g), severity)
		}
	}
	if g.Note != "" {
		add("groups", who+": "+g.Note, lint.Note)
	}
	if g.Unchanged() {
		f := add(failBlocked, d.result(g), lint.Note)
		f.Level, f.Failed = "", false
	}
}

// add adds a finding about crawlers or a field.
func (d *differ) add(r *render.Report, about render.Finding, id, message string, severity lint.Severity) *render.Finding {
	about.File, about.ID, about.Message = d.name, id, message
	about.Level, about.Failed = severity.String(), d.selects(id, severity)
	r.Findings = append(r.Findings, about)
	return &r.Findings[len(r.Findings)-1]
}
