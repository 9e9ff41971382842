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

// wordOf is the access in the column of the table.
func wordOf(a access.Access) string {
	if a == access.None {
		return "nothing"
	}
	return string(a)
}

// A standing is the access of a crawler: with a path, its verdict is that of the path.
type standing struct {
	access.Standing
	crawler crawlers.Crawler
}

// judge writes the access of each crawler by a robots.txt.
func (c *crawlersCommand) judge(ctx context.Context, name string) (int, error) {
	j := judge{command: c.command, ruleFlags: c.ruleFlags}
	for _, e := range c.list {
		j.crawlers = append(j.crawlers, Crawler{Name: e.Name, Tokens: e.Tokens, Dialect: e.ReadAs(), listed: true})
	}
	path, err := c.parsePath(name, &j)
	if err != nil {
		return exitBad, err
	}
	named, live, err := c.named(ctx, &c.site, j.crawlers, noLimit, name)
	if err != nil {
		return exitBad, err
	}
	defer live.close()
	p := access.NewProver(access.Steps)
	var all []standing
	rules := j.rulesIn(named[0])
	for i, r := range rules {
		s := standing{p.Stand(r.Rules), c.list[i]}
		if path != nil {
			s.Verdict, s.Others = r.Match(path.pathFor(j.crawlers[i].Dialect)), 0
		}
		all = append(all, s)
	}
	state := ""
	if r := named[0].Record; r != nil {
		s := rules[0].State()
		state = live.stateLine(r, s, factOf(s))
	}
	return exitAllowed, c.print(all, state)
}

// parsePath returns the URL of --path, nil without one. It must be on the site that is
// fetched.
func (c *crawlersCommand) parsePath(name string, j *judge) (*urlTarget, error) {
	if !c.given("path") {
		return nil, nil
	}
	if isURL(name) && !strings.HasPrefix(c.path, "/") {
		origin, _, err := robots.ParseURL(c.path)
		if site, _, _ := robots.ParseURL(name); err == nil && origin != site {
			return nil, fmt.Errorf("--path %s is not a page of %s", strconv.Quote(clip(c.path)), site)
		}
	}
	t, _, err := j.parse(c.path)
	if err != nil {
		return nil, fmt.Errorf("--path: %w", err)
	}
	return &t, nil
}

// print writes the table in the format of --format.
func (c *crawlersCommand) print(all []standing, state string) error {
	if slices.ContainsFunc(all, func(s standing) bool { return s.Access == access.Unknown }) {
		c.warn("%s", cmp.Or(state, "robots.txt is unavailable"))
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
	byPurpose(c.list, func(p crawlers.Purpose, from, to int) {
		if from > 0 {
			fmt.Fprintln(c.std.out)
		}
		summary := c.summary(titleOf(p), all[from:to])
		fmt.Fprintln(c.std.out, c.palette.paint(bold, robots.Printable(summary)))
		c.table(all[from:to])
	})
	c.printOmitted()
	if state != "" {
		fmt.Fprintln(c.std.out, c.palette.paint(faint, robots.Printable(state)))
	}
	return nil
}

// jsonStanding is the access of a crawler in JSON.
type jsonStanding struct {
	Access  access.Access   `json:"access"`
	Verdict *string         `json:"verdict"` // of the path, null without one
	Rule    json.RawMessage `json:"rule"`
	Group   json.RawMessage `json:"group"`
}

func (c *crawlersCommand) json(s *standing) (*jsonStanding, error) {
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

func (c *crawlersCommand) head() []string {
	return []string{"name", "tokens", "operator", "purpose", "dialect", "obeys", "access", "verdict", "line", "rule", "group"}
}

// rows are the cells of the table in CSV.
func (c *crawlersCommand) rows(all []standing) (rows [][]string) {
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
func (c *crawlersCommand) table(all []standing) {
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

func (c *crawlersCommand) accessWord(s standing) string {
	styles := map[access.Access]string{access.All: green, access.None: red}
	return c.palette.paint(cmp.Or(styles[s.Access], yellow), fmt.Sprintf("%-9s", wordOf(s.Access)))
}

// why names the rule and the group, and adds remarks on the crawler.
func (c *crawlersCommand) why(s standing) string {
	text := reasonOf(s.Verdict)
	if s.Others > 0 {
		text += fmt.Sprintf(", and %d more", s.Others)
	}
	text += inGroup(c.palette, s.Verdict)
	var remarks []string
	if s.crawler.Rival != "" && strings.EqualFold(s.Verdict.Group.Token(), s.crawler.Rival) {
		remarks = append(remarks, "the group of another operator")
	}
	if r := remark(s.crawler, false); r != "" {
		remarks = append(remarks, r)
	}
	if len(remarks) > 0 {
		text += "  " + c.palette.paint(yellow, "["+strings.Join(remarks, "; ")+"]")
	}
	return text
}

// summary returns a sentence on the access of the crawlers of one category.
func (c *crawlersCommand) summary(title string, all []standing) string {
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

// shares returns how many crawlers of a group have which access.
func shares(n int, counts map[access.Access]int, group string) string {
	text := ""
	for _, a := range []access.Access{access.None, access.Part, access.All, access.Undecided, access.Unknown} {
		k := counts[a]
		words := map[access.Access]string{
			access.None: "have no access", access.Part: "have access to a part", access.All: "have access to all",
			access.Undecided: "are undecided", access.Unknown: "have unknown access, as robots.txt is unreachable",
		}[a]
		if k == 1 {
			words = strings.Replace(strings.Replace(words, "are ", "is ", 1), "have ", "has ", 1)
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
