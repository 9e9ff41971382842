package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/shapes"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// write writes the result in the format of --format.
func (d *differ) write(r *report) {
	switch d.format {
	case formatText:
		d.writeText()
	case formatJSON:
		d.writeJSON()
	default:
		r.write(d.std, d.format)
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
			fmt.Fprintln(d.std.out)
		}
		if len(d.sections) > 1 {
			fmt.Fprintln(d.std.out, d.palette.paint(bold, strings.Join(titles[text], ", ")))
		}
		_, _ = io.WriteString(d.std.out, text)
	}
}

// nameColumn is the minimum width of the column of crawlers.
const nameColumn = 10

func (d *differ) sectionText(w io.Writer, s *section) {
	for _, g := range s.groups() {
		style := green
		switch {
		case slices.ContainsFunc(g.ways[:], func(w way) bool { return len(w.Changes)+w.urls > 0 && d.selects(w.id, g.severity(w)) }):
			style = red
		case !g.Same():
			style = yellow
		}
		who := nameList(g.names)
		if s.auto() && !slices.Equal(g.dialects, []string{robots.RFC9309.Name}) {
			who = s.who(g)
		}
		fmt.Fprintf(w, "%s  %s\n", fill(who, nameColumn), d.palette.paint(style, d.result(g.comparison)))
		if g.note != "" {
			fmt.Fprintf(w, "  %s\n", g.note)
		}
		if g.elsewhere && g.Differs() {
			fmt.Fprintf(w, "  line numbers are those of %s; the others have the same rules elsewhere\n", robots.Printable(g.names[0]))
		}
		var rows [][]string
		for _, way := range g.ways {
			changes, rest := d.shown(way.Changes)
			for _, c := range changes {
				before, after := s.reasons(c)
				rows = append(rows, []string{"  " + way.name, robots.Printable(c.Path), before, after})
			}
			if rest > 0 {
				rows = append(rows, []string{fmt.Sprintf("  and %d more %s (--limit)", rest, way.name)})
			}
		}
		align(w, rows)
		if text := d.countText(g); text != "" {
			fmt.Fprintf(w, "  %s\n", text)
		}
	}
	lead := fill("declared", nameColumn) + "  "
	for _, line := range s.declared {
		for _, text := range line.texts(d.limit) {
			fmt.Fprintf(w, "%s%s\n", lead, text)
			lead = fill("", nameColumn) + "  "
		}
	}
}

// countText describes how many URLs of --urls change, "" without it.
func (d *differ) countText(g *group) string {
	if d.urls == "" {
		return ""
	}
	var counts []string
	for _, w := range g.ways {
		text := screen.Thousands(w.urls) + " " + w.name
		if w.urls > 0 {
			text += " (first: " + robots.Printable(w.firstURL) + ")"
		}
		counts = append(counts, text)
	}
	return "of " + count(d.read, "URL") + ": " + strings.Join(counts, ", ")
}

// writeJSON writes a line for each crawler and dialect, with the line numbers of its own
// rules.
func (d *differ) writeJSON() {
	for _, s := range d.sections {
		for _, c := range s.crawlers {
			j, notes := jsonObject{{"schema", 1}, {"agent", c.name}}, []string{}
			if s.between() {
				j = append(j, jsonMember{"old_dialect", s.dialects[0].Name}, jsonMember{"new_dialect", s.dialects[1].Name})
			} else {
				j = append(j, jsonMember{"dialect", c.rules[1].Dialect().Name})
			}
			if c.note != "" {
				notes = append(notes, c.note)
			}
			j = append(j, jsonObject{
				{"result", c.Result.String()}, {"newly_blocked", d.jsonChanges(c.rules, c.NewlyBlocked)}, {"newly_allowed", d.jsonChanges(c.rules, c.NewlyAllowed)},
				{"complete", c.complete()}, {"declared", append([]*declaredChange{}, c.declared...)}, {"steps", c.NewlyBlocked.Steps + c.NewlyAllowed.Steps},
				{"notes", notes},
			}...)
			if d.urls != "" {
				j = append(j, jsonMember{"urls", jsonObject{{"read", d.read}, {"newly_blocked", c.ways[0].urls}, {"newly_allowed", c.ways[1].urls}}})
			}
			d.std.encode(j)
		}
	}
}

// jsonChanges describes changes for a crawler in JSON.
func (d *differ) jsonChanges(rules [2]*robots.Rules, changes compare.Direction) []jsonObject {
	list := []jsonObject{}
	shown, _ := d.shown(changes.Changes)
	for _, change := range shown {
		path, _ := robots.ParsePath("https://example.com" + change.Path)
		answer := func(r *robots.Rules) jsonObject {
			v := r.Match(path)
			return jsonObject{{"allowed", v.Allowed}, {"rule", shapes.NewRule(v.Rule)}}
		}
		list = append(list, jsonObject{{"path", change.Path}, {"shortest", change.Shortest}, {"old", answer(rules[0])}, {"new", answer(rules[1])}})
	}
	return list
}

// report returns the changes for other programs. Crawlers without a change are findings
// that passed.
func (d *differ) report() *report {
	r := &report{command: "robots diff", summary: "same (proved)", rules: []object{
		{"id": failBlocked, "shortDescription": sarifText("URLs that were allowed are blocked.")},
		{"id": failAllowed, "shortDescription": sarifText("URLs that were blocked are allowed.")},
		{"id": "groups", "shortDescription": sarifText("A different group applies to a crawler.")},
		{"id": "declared", "shortDescription": sarifText("Delays, sitemaps or signals differ.")},
		{"id": "undecided", "shortDescription": sarifText("A proof exceeded its budget.")},
	}}
	for _, s := range d.sections {
		for _, g := range s.groups() {
			d.addGroup(r, s, g)
		}
		for _, line := range s.declared {
			for _, text := range line.texts(d.limit) {
				d.add(r, Finding{Case: title(line.Field), Dialects: s.dialectNames()}, "declared", text, lint.Warning)
			}
		}
	}
	if n := len(r.shown()); n > 0 {
		r.summary = count(n, "finding")
	}
	return r
}

// addGroup adds the findings for crawlers with the same result.
func (d *differ) addGroup(r *report, s *section, g *group) {
	who := s.who(g)
	add := func(id, message string, severity lint.Severity) *Finding {
		return d.add(r, Finding{Case: nameList(g.names), Dialects: g.dialects}, id, message, severity)
	}
	for _, w := range g.ways {
		severity := g.severity(w)
		changes, rest := d.shown(w.Changes)
		for _, c := range changes {
			before, after := s.reasons(c)
			f := add(w.id, w.name+": "+c.Path+" for "+who+": "+before+"; "+after, severity)
			f.Case += ": " + c.Path
			f.Region.StartLine = c.New.Rule.Line()
		}
		if rest > 0 {
			add(w.id, w.name+": and "+strconv.Itoa(rest)+" more for "+who, severity)
		}
		if !w.Complete {
			f := add("undecided", "undecided for "+who+" whether more is "+w.name+"; "+helps(d.budget), lint.Warning)
			f.Failed, f.Undecided = false, d.selects(w.id, severity)
		}
		if w.urls > 0 {
			add(w.id, w.name+" for "+who+": "+d.countText(g), severity)
		}
	}
	if g.note != "" {
		add("groups", who+": "+g.note, lint.Note)
	}
	if !g.changes() {
		f := add(failBlocked, d.result(g.comparison), lint.Note)
		f.Level, f.Failed = "", false
	}
}

// add adds a finding about crawlers or a field.
func (d *differ) add(r *report, about Finding, id, message string, severity lint.Severity) *Finding {
	about.File, about.ID, about.Message = d.name, id, message
	about.Level, about.Failed = severity.String(), d.selects(id, severity)
	r.findings = append(r.findings, about)
	return &r.findings[len(r.findings)-1]
}
