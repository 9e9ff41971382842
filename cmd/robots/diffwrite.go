package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/shapes"
	"github.com/robotskit/robots/compare"
)

// This file writes what diff has found.

func (d *differ) write() error {
	switch d.format {
	case formatJSON:
		return d.writeJSON()
	case formatGitHub:
		d.writeGitHub()
	case formatJUnit:
		return d.writeJUnit()
	case formatMarkdown:
		d.writeMarkdown()
	default:
		d.writeText()
	}
	return nil
}

// each calls fn with the sections, those of which the same is written together.
func (d *differ) each(write func(io.Writer, *section), fn func(titles []string, text string)) {
	var texts []string
	titles := map[string][]string{}
	for i := range d.sections {
		var b bytes.Buffer
		write(&b, &d.sections[i])
		text := b.String()
		if titles[text] == nil {
			texts = append(texts, text)
		}
		titles[text] = append(titles[text], d.sections[i].title())
	}
	for _, text := range texts {
		fn(titles[text], text)
	}
}

func (d *differ) writeText() {
	first := true
	d.each(d.sectionText, func(titles []string, text string) {
		if len(d.sections) > 1 {
			if !first {
				fmt.Fprintln(d.std.out)
			}
			fmt.Fprintln(d.std.out, d.palette.paint(bold, strings.Join(titles, ", ")))
		}
		first = false
		_, _ = io.WriteString(d.std.out, text)
	})
}

// nameColumn is the least width of the column of crawlers.
const nameColumn = 10

func (d *differ) sectionText(w io.Writer, s *section) {
	p, sides := d.palette, s.sides()
	for _, g := range s.groups() {
		style := green
		if !g.Same() {
			style = yellow
		}
		if d.fails(s, g.comparison) {
			style = red
		}
		fmt.Fprintf(w, "%s  %s\n", fill(nameList(g.names, robots.Printable), nameColumn), p.paint(style, d.result(g.comparison)))
		for _, note := range g.notes {
			fmt.Fprintf(w, "  %s\n", note)
		}
		if !g.sameRow && g.Differs() {
			fmt.Fprintf(w, "  lines are those of %s, and the same is written for the others\n", robots.Printable(g.names[0]))
		}
		ways, paths, olds := 0, 0, 0
		for _, way := range d.directions(s, g.comparison) {
			changes, _ := d.shown(way.where.Changes)
			for _, c := range changes {
				ways, paths, olds = max(ways, len(way.name)), max(paths, min(columns(robots.Printable(c.Path)), maxURLColumn)), max(olds, min(columns(reasonOf(c.Old)), maxRuleColumn))
			}
		}
		for _, way := range d.directions(s, g.comparison) {
			changes, rest := d.shown(way.where.Changes)
			for _, c := range changes {
				fmt.Fprintf(w, "  %-*s  %s  %s %s  %s %s%s\n", ways, way.name, fill(robots.Printable(c.Path), paths), sides[0], fill(reasonOf(c.Old), olds), sides[1], reasonOf(c.New), notShortest(c))
			}
			if rest > 0 {
				fmt.Fprintf(w, "  and %d more %s (--limit)\n", rest, way.name)
			}
		}
		if text := d.weighed(s, g.comparison, robots.Printable); text != "" {
			fmt.Fprintf(w, "  %s\n", text)
		}
	}
	lead := fill("declared", nameColumn) + "  "
	for _, line := range s.declaredLines() {
		for _, text := range line.texts(d.limit, robots.Printable, robots.Printable) {
			fmt.Fprintf(w, "%s%s\n", lead, text)
			lead = fill("", nameColumn) + "  "
		}
	}
}

// notShortest says of a URL that there may be a shorter one.
func notShortest(c compare.Change) string {
	if c.Shortest {
		return ""
	}
	return " (there may be a shorter one)"
}

// fails reports whether --fail-on names what came of a comparison.
func (d *differ) fails(s *section, c *comparison) bool {
	for _, way := range d.directions(s, c) {
		if way.fails && len(way.where.Changes)+way.urls.n > 0 {
			return true
		}
	}
	return false
}

// weighed says how many real URLs change, "" without --urls.
func (d *differ) weighed(s *section, c *comparison, url func(string) string) string {
	if d.urls == "" {
		return ""
	}
	said := "of " + count(d.read, "URL")
	for i, way := range d.directions(s, c) {
		said += []string{" ", ", "}[i] + thousands(way.urls.n) + " " + way.name
		if way.urls.n > 0 {
			said += " (the first is " + url(way.urls.first) + ")"
		}
	}
	return said
}

// The JSON of diff.
type (
	jsonDiff struct {
		Schema       int              `json:"schema"`
		Agent        string           `json:"agent"`
		Dialect      string           `json:"dialect,omitempty"`
		OldDialect   string           `json:"old_dialect,omitempty"`
		NewDialect   string           `json:"new_dialect,omitempty"`
		Result       string           `json:"result"`
		NewlyBlocked []jsonChange     `json:"newly_blocked"`
		NewlyOpen    []jsonChange     `json:"newly_open"`
		Complete     bool             `json:"complete"`
		Declared     []declaredChange `json:"declared"`
		Steps        int              `json:"steps"`
		Notes        []string         `json:"notes"`
		URLs         *jsonWeight      `json:"urls,omitempty"`
	}
	jsonChange struct {
		Path     string     `json:"path"`
		Shortest bool       `json:"shortest"`
		Old      jsonAnswer `json:"old"`
		New      jsonAnswer `json:"new"`
	}
	jsonAnswer struct {
		Allowed bool         `json:"allowed"`
		Rule    *shapes.Rule `json:"rule"`
	}
	jsonWeight struct {
		Read         int `json:"read"`
		NewlyBlocked int `json:"newly_blocked"`
		NewlyOpen    int `json:"newly_open"`
	}
)

// writeJSON writes a line for each crawler and dialect. The URLs are those of a
// comparison that crawlers share, the rules each crawler's own.
func (d *differ) writeJSON() error {
	for i := range d.sections {
		s := &d.sections[i]
		for _, c := range s.crawlers {
			changes := func(where compare.Direction) []jsonChange {
				list := []jsonChange{}
				shown, _ := d.shown(where.Changes)
				for _, change := range shown {
					path, _ := robots.ParsePath("https://example.com" + change.Path) // which compare has asked so
					a, b := c.rules[0].Match(path), c.rules[1].Match(path)
					list = append(list, jsonChange{change.Path, change.Shortest, jsonAnswer{a.Allowed, shapes.NewRule(a.Rule)}, jsonAnswer{b.Allowed, shapes.NewRule(b.Rule)}})
				}
				return list
			}
			j := jsonDiff{
				Schema: 1, Agent: c.name, Dialect: s.new.Name, Result: c.shared.Result.String(),
				NewlyBlocked: changes(c.shared.NewlyBlocked), NewlyOpen: changes(c.shared.NewlyOpen),
				Complete: c.shared.complete(), Declared: append([]declaredChange{}, c.declared...),
				Steps: c.shared.NewlyBlocked.Steps + c.shared.NewlyOpen.Steps, Notes: append([]string{}, c.notes...),
			}
			if s.between() {
				j.Dialect, j.OldDialect, j.NewDialect = "", s.old.Name, s.new.Name
			}
			if d.urls != "" {
				j.URLs = &jsonWeight{d.read, c.shared.urls.blocked.n, c.shared.urls.open.n}
			}
			if err := encode(d.std.out, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// sentence says of a change what both files say.
func sentence(s *section, c compare.Change) string {
	return s.sides()[0] + " " + reasonOf(c.Old) + "; " + s.sides()[1] + " " + reasonOf(c.New) + notShortest(c)
}

// writeGitHub writes annotations: errors for what --fail-on names.
func (d *differ) writeGitHub() {
	file := inRepository(d.names[1])
	say := func(fails bool, line int, title, text string) {
		level := "notice"
		if fails {
			level = "error"
		}
		annotate(d.std.out, annotation{level, file, line, title, robots.Printable(text)})
	}
	same := true
	for i := range d.sections {
		s := &d.sections[i]
		for _, g := range s.groups() {
			who := nameList(g.names, robots.Printable) + " (" + s.title() + ")"
			for _, way := range d.directions(s, g.comparison) {
				changes, rest := d.shown(way.where.Changes)
				for _, c := range changes {
					line := 0
					if !c.New.Rule.IsZero() {
						line = c.New.Rule.Line()
					}
					say(way.fails, line, "robots.txt: "+way.name, c.Path+" for "+who+": "+sentence(s, c))
				}
				if rest > 0 {
					say(way.fails, 0, "robots.txt: "+way.name, "and "+strconv.Itoa(rest)+" more for "+who)
				}
				if !way.where.Complete {
					annotate(d.std.out, annotation{"warning", file, 0, "robots.txt: undecided", "for " + who + " not all that is " + way.name + " is known: " + helps(d.budget)})
				}
				if way.urls.n > 0 {
					say(way.fails, 0, "robots.txt: "+way.name, "for "+who+": "+d.weighed(s, g.comparison, robots.Printable))
				}
			}
			for _, note := range g.notes {
				say(false, 0, "robots.txt: groups", who+": "+note)
			}
			same = same && g.Same() && !g.urls.any()
		}
		for _, line := range s.declaredLines() {
			for _, text := range line.texts(10, robots.Printable, robots.Printable) {
				same = false
				say(d.failOn == failAny, 0, "robots.txt: declared", text+" ("+s.title()+")")
			}
		}
	}
	if same {
		fmt.Fprintln(d.std.out, "robots diff: same (proved)")
	}
}

// writeJUnit writes a case for each crawler and dialect.
func (d *differ) writeJUnit() error {
	suite := junitSuite{Name: robots.Printable(d.names[1])}
	for i := range d.sections {
		s := &d.sections[i]
		for _, c := range s.crawlers {
			one := section{old: s.old, new: s.new, crawlers: []*crawler{c}}
			var text bytes.Buffer
			d.sectionText(&text, &one)
			j := junitCase{Name: robots.Printable(c.name), Class: s.title()}
			undecided := false
			for _, way := range d.directions(s, c.shared) {
				undecided = undecided || way.fails && !way.where.Complete
			}
			message := d.result(c.shared)
			if c.shared.Same() && len(c.declared) > 0 {
				message = "rules are the same, what is declared is not"
			}
			problem := &junitProblem{"change", message, "\n" + text.String()}
			switch {
			case d.fails(s, c.shared) || d.failOn == failAny && len(c.declared) > 0:
				j.Failure = problem
			case undecided:
				problem.Type = "undecided"
				j.Error = problem
			case !c.shared.Same() || len(c.declared) > 0:
				suite.Out += text.String() // of a case that passes
			}
			suite.Cases = append(suite.Cases, j)
		}
	}
	return writeJUnit(d.std.out, "robots diff", d.std.now(), []junitSuite{suite})
}

// maxMarkdown is how much is written for a comment, in bytes: GitHub takes 65,536
// characters.
const maxMarkdown = 60_000

func (d *differ) writeMarkdown() {
	var b bytes.Buffer
	title := "What changes in "
	if d.dialectsOf != "" {
		title = "How engines read "
	}
	fmt.Fprintf(&b, "### %s%s\n", title, mdCode(d.names[1]))
	cut := false
	d.each(d.sectionMarkdown, func(titles []string, text string) {
		if len(d.sections) > 1 {
			text = "\n#### " + strings.Join(titles, ", ") + "\n" + text
		}
		if room := maxMarkdown - b.Len(); len(text) > room {
			text = text[:strings.LastIndexByte(text[:max(room, 0)], '\n')+1]
			cut = true
		}
		b.WriteString(text)
	})
	if cut {
		b.WriteString("\nThere is more than a comment holds: `robots diff` shows all.\n")
	}
	d.std.out.Write(b.Bytes())
}

func (d *differ) sectionMarkdown(w io.Writer, s *section) {
	groups := s.groups()
	table := false
	for _, g := range groups {
		for _, way := range d.directions(s, g.comparison) {
			changes, rest := d.shown(way.where.Changes)
			if len(changes) > 0 && !table {
				fmt.Fprintf(w, "\n| crawler | change | URL | %s | %s |\n| --- | --- | --- | --- | --- |\n", s.sides()[0], s.sides()[1])
				table = true
			}
			for _, c := range changes {
				fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", nameList(g.names, mdCode), way.name, mdCode(c.Path), mdReason(c.Old), mdReason(c.New))
			}
			if rest > 0 {
				fmt.Fprintf(w, "| %s | %s | and %d more | | |\n", nameList(g.names, mdCode), way.name, rest)
			}
		}
	}
	fmt.Fprintln(w)
	for _, g := range groups {
		names := nameList(g.names, mdCode)
		fmt.Fprintf(w, "- %s: %s\n", names, d.result(g.comparison))
		for _, note := range g.notes {
			fmt.Fprintf(w, "  - %s\n", strings.ReplaceAll(note, "*", `\*`))
		}
		if text := d.weighed(s, g.comparison, mdCode); text != "" {
			fmt.Fprintf(w, "  - %s\n", text)
		}
	}
	for _, line := range s.declaredLines() {
		for _, text := range line.texts(d.limit, mdCode, mdCode) {
			fmt.Fprintf(w, "- %s\n", text)
		}
	}
}

// mdReason is reasonOf with the rule as code.
func mdReason(v robots.Verdict) string {
	if v.Rule.IsZero() || v.Undefined {
		return strings.ReplaceAll(robots.Printable(reasonOf(v)), "|", `\|`)
	}
	return "line " + strconv.Itoa(v.Rule.Line()) + ": " + mdCode(v.Rule.String())
}
