package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/access"
	"github.com/robotskit/robots/crawlers"
)

// This file asks one robots.txt for many crawlers, and writes the table.

// wordOf is the access in the column of the table.
func wordOf(a access.Access) string {
	if a == access.None {
		return "nothing"
	}
	return string(a)
}

// A standing is what a file says to a crawler: with a path, its verdict is that of the path.
type standing struct {
	access.Standing
	crawler crawlers.Crawler
}

// askSite asks the file, or the site of the URL, for the crawlers of the list.
func (c *crawlersCall) askSite(ctx context.Context) (int, error) {
	c.askers = newAskers(c.list)
	c.dialects = c.askers.dialects()
	c.args = []string{cmp.Or(c.url, "/")}
	if err := c.checkArgs(); err != nil {
		return exitBad, err
	}
	path, err := c.onePath()
	if err != nil {
		return exitBad, err
	}
	if err := c.openSource(); err != nil {
		return exitBad, err
	}
	status, err := c.answer(ctx, func(p *page) error { return c.print(c.stand(path), c.state(p, factOf)) })
	if status == exitBad {
		return exitBad, err
	}
	return exitAllowed, nil
}

// onePath returns the path of --path in each dialect, nil without one. Where a site
// is asked it may not be a page of another.
func (c *crawlersCall) onePath() (paths []robots.Path, err error) {
	if !c.given("path") {
		return nil, nil
	}
	if c.url != "" && !strings.HasPrefix(c.path, "/") {
		origin, _, err := robots.ParseURL(c.path)
		if site, _, _ := robots.ParseURL(c.url); err == nil && origin != site {
			return nil, fmt.Errorf("--path %s is no page of %s", strconv.Quote(clip(c.path)), site)
		}
	}
	for _, d := range c.dialects {
		_, path, err := split(d, c.path, false)
		if err != nil {
			return nil, fmt.Errorf("--path: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// stand finds out what the file says to each crawler.
func (c *crawlersCall) stand(paths []robots.Path) []standing {
	p := access.NewProver(access.Steps)
	var all []standing
	for i, r := range c.askers.rules {
		s := standing{p.Stand(r.Rules), c.list[i]}
		if paths != nil {
			s.Verdict, s.Others = r.Match(c.pathFor(paths, i)), 0
		}
		all = append(all, s)
	}
	return all
}

// print writes the answer in the format that was asked for.
func (c *crawlersCall) print(all []standing, state string) error {
	if slices.ContainsFunc(all, func(s standing) bool { return s.Access == access.Unknown }) {
		c.warn("%s", cmp.Or(state, "the robots.txt cannot be had"))
		state = ""
	}
	switch c.format {
	case formatJSON:
		for i := range all {
			line := newJSONCrawler(all[i].crawler)
			var err error
			if line.jsonStanding, err = c.json(&all[i]); err != nil {
				return err
			}
			if err := encode(c.std.out, line); err != nil {
				return err
			}
		}
		return nil
	case formatCSV:
		return writeCSV(c.std.out, append([][]string{c.head()}, c.rows(all)...))
	}
	first := true
	byPurpose(c.list, func(p crawlers.Purpose, from, to int) {
		if !first {
			fmt.Fprintln(c.std.out)
		}
		first = false
		summary := c.summary(titleOf(p), all[from:to])
		if c.format == formatMarkdown {
			fmt.Fprintf(c.std.out, "## %s\n\n%s.\n\n", titleOf(p), markup.Replace(robots.Printable(summary)))
			writeMarkdown(c.std.out, append([][]string{c.head()}, c.rows(all[from:to])...))
			return
		}
		fmt.Fprintln(c.std.out, c.palette.paint(bold, robots.Printable(summary)))
		c.table(all[from:to])
	})
	c.printMissing("checked", "checks")
	if c.format == formatText {
		c.printState("", state)
	}
	return nil
}

// jsonStanding is what a line of JSON says with a file.
type jsonStanding struct {
	Access  access.Access   `json:"access"`
	Verdict *string         `json:"verdict"` // of the path, null without one
	Rule    json.RawMessage `json:"rule"`
	Group   json.RawMessage `json:"group"`
}

func (c *crawlersCall) json(s *standing) (*jsonStanding, error) {
	var j jsonStanding
	text, err := s.Verdict.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &j) // its rule and group
	}
	if err != nil {
		return nil, errors.New("cannot write the answer")
	}
	j.Access, j.Verdict = s.Access, nil
	if c.given("path") {
		word := s.Verdict.Word()
		j.Verdict = &word
	}
	return &j, nil
}

func (c *crawlersCall) head() []string {
	return []string{"name", "tokens", "operator", "purpose", "dialect", "obeys", "access", "verdict", "line", "rule", "group"}
}

// rows are the cells of the table for programs and documents.
func (c *crawlersCall) rows(all []standing) (rows [][]string) {
	for _, s := range all {
		e, v := s.crawler, s.Verdict
		verdict, line, rule := "", "", ""
		if c.given("path") {
			verdict = v.Word()
		}
		if !v.Rule.IsZero() {
			line, rule = strconv.Itoa(v.Rule.Line()), v.Rule.String()
		}
		rows = append(rows, []string{e.Name, strings.Join(e.Tokens, " > "), e.Operator, string(e.Purpose), e.Dialect, string(e.Obeys),
			string(s.Access), verdict, line, rule, v.Group.Token()})
	}
	return rows
}

// table writes a line for each crawler.
func (c *crawlersCall) table(all []standing) {
	names, operators := 0, 0
	for _, s := range all {
		names, operators = max(names, columns(s.crawler.Name)), max(operators, columns(s.crawler.Operator))
	}
	for _, s := range all {
		what := c.accessWord(s)
		if c.given("path") {
			what = c.palette.verdict(s.Verdict)
		}
		fmt.Fprintf(c.std.out, "  %s  %s  %s  %s\n", fill(s.crawler.Name, names), fill(s.crawler.Operator, operators), what, c.why(s))
	}
}

func (c *crawlersCall) accessWord(s standing) string {
	styles := map[access.Access]string{access.All: green, access.None: red}
	return c.palette.paint(cmp.Or(styles[s.Access], yellow), fmt.Sprintf("%-9s", wordOf(s.Access)))
}

// why says by which rule and group, and what to know of the crawler besides.
func (c *crawlersCall) why(s standing) string {
	text := reasonOf(s.Verdict)
	if s.Others > 0 {
		text += fmt.Sprintf(", and %d more", s.Others)
	}
	text += inGroup(c.palette, s.Verdict)
	var said []string
	if s.crawler.Rival != "" && strings.EqualFold(s.Verdict.Group.Token(), s.crawler.Rival) {
		said = append(said, "the group of a rival")
	}
	if r := remark(s.crawler, false); r != "" {
		said = append(said, r)
	}
	if len(said) > 0 {
		text += "  " + c.palette.paint(yellow, "["+strings.Join(said, "; ")+"]")
	}
	return text
}

// summary says in a sentence how crawlers for one purpose stand.
func (c *crawlersCall) summary(title string, all []standing) string {
	counts := map[access.Access]int{}
	disallowed := 0
	var unnamed []string
	for _, s := range all {
		counts[s.Access]++
		if !s.Verdict.Allowed {
			disallowed++
		}
		if !s.Named() {
			unnamed = append(unnamed, s.crawler.Name)
		}
	}
	group, text := count(len(all), title+" crawler"), ""
	if c.given("path") {
		text = fmt.Sprintf("%d of %s may not fetch %s", disallowed, group, c.path)
	} else {
		text = shares(len(all), counts, group)
	}
	switch n := len(unnamed); {
	case n == 0 || all[0].NoFile:
	case n == len(all) && n == 1:
		text += "; the file does not name it"
	case n == len(all):
		text += "; the file names none of them"
	case n == 1:
		text += "; " + unnamed[0] + " is not named"
	case n <= 3:
		text += "; " + strings.Join(unnamed[:n-1], ", ") + " and " + unnamed[n-1] + " are not named"
	default:
		text += fmt.Sprintf("; %s and %d more are not named", strings.Join(unnamed[:3], ", "), n-3)
	}
	return text
}

// shares says how many of a group have which access.
func shares(n int, counts map[access.Access]int, group string) string {
	text := ""
	for _, a := range []access.Access{access.None, access.Part, access.All, access.Undecided, access.Unknown} {
		k := counts[a]
		words := map[access.Access]string{
			access.None: "are shut out", access.Part: "may read a part", access.All: "may read all",
			access.Undecided: "are undecided", access.Unknown: "cannot be told, as there is no answer",
		}[a]
		if k == 1 {
			words = strings.Replace(words, "are ", "is ", 1)
		}
		switch {
		case k == 0:
		case k == n && n > 1:
			return "all " + group + " " + words
		case k == n:
			return group + " " + words
		case text == "":
			text = strconv.Itoa(k) + " of " + group + " " + words
		default:
			text += ", " + strconv.Itoa(k) + " " + words
		}
	}
	return text
}
