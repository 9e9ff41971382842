package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
)

// judge writes the access of each crawler by a robots.txt.
func (c *crawlersCommand) judge(ctx context.Context, name string) (int, error) {
	path, err := c.parsePath(name)
	if err != nil {
		return exitBad, err
	}
	var dialects []robots.Dialect
	for _, e := range c.list {
		dialects = append(dialects, e.ReadAs())
	}
	files, live, err := c.named(ctx, &c.site, dialects, 0, name)
	if err != nil {
		return exitBad, err
	}
	defer live.Close()
	at := cmp.Or(c.at, c.std.Now())
	var onPath *robots.Path
	if c.given("path") {
		onPath = &path
	}
	table, _ := answer.AccessTable(files[0].At(at), c.list, onPath, answer.AccessSteps)
	state := ""
	if r := files[0].Record; r != nil {
		s := r.Rules(dialects[0], at).State()
		state = live.StateLine(r, s, source.FactOf(s))
	}
	if slices.ContainsFunc(table, func(r answer.CrawlerAccess) bool { return r.Access == answer.AccessUnknown }) {
		c.warn("%s", state)
		state = ""
	}
	c.printAccess(table, state)
	return exitAllowed, nil
}

// parsePath returns the path of --path, which must be on the site that is fetched.
func (c *crawlersCommand) parsePath(name string) (path robots.Path, err error) {
	if !c.given("path") {
		return path, nil
	}
	if ask.NamesSite(name) && !strings.HasPrefix(c.path, "/") {
		origin, _, err := robots.ParseURL(c.path)
		if site, _, _ := robots.ParseURL(name); err == nil && origin != site {
			return path, fmt.Errorf("--path %s is not a page of %s", strconv.Quote(clip(c.path)), site)
		}
	}
	if path, err = robots.ParsePath(c.path); err != nil {
		err = fmt.Errorf("--path: %w", err)
	}
	return path, err
}

// printAccess writes the access of crawlers in the format of --format, and in text the state of
// the robots.txt.
func (c *crawlersCommand) printAccess(table []answer.CrawlerAccess, state string) {
	switch c.format {
	case formatJSON:
		for _, r := range table {
			c.std.EncodeAnswer(r)
		}
		return
	case formatCSV:
		cells := [][]string{append(slices.Clone(factColumns), "access", "verdict", "line", "rule", "group")}
		for _, r := range table {
			line := ""
			if r.Rule != nil {
				line = strconv.Itoa(r.Rule.Line)
			}
			v := r.Standing.Verdict
			cells = append(cells, append(factCells(r.CrawlerFacts), string(r.Access), answer.Text(r.Verdict), line, v.Rule.String(), robots.Printable(v.Group.Token())))
		}
		c.std.WriteCSV(cells...)
		return
	}
	c.printSections(len(table), func(i int) crawlers.Purpose { return table[i].Purpose }, func(name string, from, to int) (string, [][]string) {
		var rows [][]string
		for _, r := range table[from:to] {
			word := c.accessWord(r.Access)
			if r.Verdict != nil {
				word = c.palette.Verdict(r.Standing.Verdict)
			}
			rows = append(rows, []string{"  " + r.Name, r.Operator, word, c.why(r)})
		}
		return robots.Printable(c.summary(name, table[from:to])), rows
	})
	if state != "" {
		fmt.Fprintln(c.std.Out, c.palette.Paint(render.Faint, robots.Printable(state)))
	}
}

// printList writes entries of the directory in the format of --format.
func (c *crawlersCommand) printList() {
	switch c.format {
	case formatJSON:
		for _, e := range c.list {
			c.std.EncodeAnswer(answer.NewCrawlerEntry(e))
		}
		return
	case formatCSV:
		cells := [][]string{append(slices.Clone(factColumns), "status")}
		for _, e := range c.list {
			cells = append(cells, append(factCells(answer.NewCrawlerEntry(e).CrawlerFacts), string(e.Status)))
		}
		c.std.WriteCSV(cells...)
		return
	}
	c.printSections(len(c.list), func(i int) crawlers.Purpose { return c.list[i].Purpose }, func(name string, from, to int) (string, [][]string) {
		var rows [][]string
		for _, e := range c.list[from:to] {
			rows = append(rows, []string{"  " + e.Name, e.Operator, c.palette.Paint(render.Faint, remark(e, true))})
		}
		return fmt.Sprintf("%s: %d", name, to-from), rows
	})
}

// factColumns are the columns of facts in CSV.
var factColumns = []string{"name", "tokens", "operator", "purpose", "dialect", "obeys"}

func factCells(f answer.CrawlerFacts) []string {
	return []string{f.Name, strings.Join(f.Tokens, " > "), f.Operator, string(f.Purpose), f.Dialect, string(f.Obeys)}
}

// printSections writes n crawlers, of which those with one purpose follow each other, as a section
// for each purpose: a title and rows.
func (c *crawlersCommand) printSections(n int, purpose func(i int) crawlers.Purpose, section func(name string, from, to int) (title string, rows [][]string)) {
	for from, to := 0, 0; from < n; from = to {
		for to < n && purpose(to) == purpose(from) {
			to++
		}
		if from > 0 {
			fmt.Fprintln(c.std.Out)
		}
		title, rows := section(titles.Replace(string(purpose(from))), from, to)
		fmt.Fprintln(c.std.Out, c.palette.Paint(render.Bold, title))
		render.Align(c.std.Out, rows)
	}
	if c.omitted > 0 {
		fmt.Fprintf(c.std.Out, "\n%s\n", c.palette.Paint(render.Faint, "Omitted: "+render.Count(c.omitted, "crawler")+" not in use (--all includes them)"))
	}
}

// accessWord is the access in the column of the table.
func (c *crawlersCommand) accessWord(a answer.Access) string {
	style := map[answer.Access]string{answer.AccessAll: render.Green, answer.AccessNone: render.Red}[a]
	word := strings.Replace(string(a), string(answer.AccessNone), "nothing", 1)
	return c.palette.Paint(cmp.Or(style, render.Yellow), render.Fill(word, len(answer.AccessUndecided)))
}

// why names the rule and the group, and adds remarks on the crawler.
func (c *crawlersCommand) why(r answer.CrawlerAccess) string {
	v := r.Standing.Verdict
	text := answer.Reason(v)
	if r.Others > 0 {
		text += fmt.Sprintf(", and %d more", r.Others)
	}
	text += inGroup(c.palette, v, false)
	e, _ := crawlers.Find(r.Name)
	remarks := remark(e, false)
	if e.Rival != "" && strings.EqualFold(v.Group.Token(), e.Rival) {
		remarks = strings.TrimSuffix("the group of another operator; "+remarks, "; ")
	}
	if remarks != "" {
		text += "  " + c.palette.Paint(render.Yellow, "["+remarks+"]")
	}
	return text
}

// summary returns a sentence on the access of the crawlers of one purpose.
func (c *crawlersCommand) summary(title string, all []answer.CrawlerAccess) string {
	counts := map[answer.Access]int{}
	disallowed := 0
	var unnamed []string
	for _, r := range all {
		counts[r.Access]++
		if !r.Standing.Verdict.Allowed {
			disallowed++
		}
		if !r.Named() {
			unnamed = append(unnamed, r.Name)
		}
	}
	text := render.Count(len(all), title+" crawler")
	if c.given("path") {
		text = fmt.Sprintf("%d of %s may not fetch %s", disallowed, text, c.path)
	} else {
		text = shares(len(all), counts, text)
	}
	switch n := len(unnamed); {
	case n == 0 || all[0].NoFile:
	case n == len(all) && n == 1:
		text += "; the file does not name it"
	case n == len(all):
		text += "; the file names none of them"
	default:
		text += "; not named: " + render.Listed(unnamed, 3)
	}
	return text
}

// shares returns how many of n crawlers of a group have which access.
func shares(n int, counts map[answer.Access]int, group string) string {
	var parts []string
	for _, share := range []struct {
		access    answer.Access
		one, many string
	}{
		{answer.AccessNone, "has no access", "have no access"}, {answer.AccessPart, "has access to a part", "have access to a part"},
		{answer.AccessAll, "has access to all", "have access to all"}, {answer.AccessUndecided, "is undecided", "are undecided"},
		{answer.AccessUnknown, "has unknown access, as robots.txt is unreachable", "have unknown access, as robots.txt is unreachable"},
	} {
		k, who, has := counts[share.access], "", share.many
		if k == 1 {
			has = share.one
		}
		switch {
		case k == 0:
			continue
		case k == n && n > 1:
			who = "all " + group
		case k == n:
			who = group
		case len(parts) == 0:
			who = strconv.Itoa(k) + " of " + group
		default:
			who = strconv.Itoa(k)
		}
		parts = append(parts, who+" "+has)
	}
	return strings.Join(parts, ", ")
}
