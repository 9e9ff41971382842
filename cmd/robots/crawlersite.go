package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/access"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/crawlers"
)

// A row is a crawler of the directory, with its access if there is a robots.txt. With --path,
// the verdict of the access is that of the path.
type row struct {
	crawlers.Crawler
	*access.Standing
	onPath string // the verdict on --path, "" without
}

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
	defer live.close()
	at, p := cmp.Or(c.at, c.std.now()), access.NewProver(access.Steps)
	var all []row
	for i, e := range c.list {
		rules := files[0].Obey(dialects[i], 0, at, e.Tokens)
		s := p.Stand(rules)
		r := row{Crawler: e, Standing: &s}
		if c.given("path") {
			s.Verdict, s.Others = rules.Match(path), 0
			r.onPath = s.Verdict.Word()
		}
		all = append(all, r)
	}
	state := ""
	if r := files[0].Record; r != nil {
		s := r.Rules(dialects[0], at).State()
		state = live.stateLine(r, s, factOf(s))
	}
	if slices.ContainsFunc(all, func(r row) bool { return r.Access == access.Unknown }) {
		c.warn("%s", state)
		state = ""
	}
	c.print(all, state)
	return exitAllowed, nil
}

// parsePath returns the path of --path, which must be on the site that is fetched.
func (c *crawlersCommand) parsePath(name string) (path robots.Path, err error) {
	if !c.given("path") {
		return path, nil
	}
	if isURL(name) && !strings.HasPrefix(c.path, "/") {
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

// print writes the crawlers in the format of --format, and in text the state of the robots.txt.
func (c *crawlersCommand) print(all []row, state string) {
	switch c.format {
	case formatJSON:
		for _, r := range all {
			c.std.encode(r.members())
		}
		return
	case formatCSV:
		c.std.writeCSV(cells(all)...)
		return
	}
	for from, to := 0, 0; from < len(all); from = to {
		purpose := all[from].Purpose
		for to < len(all) && all[to].Purpose == purpose {
			to++
		}
		if from > 0 {
			fmt.Fprintln(c.std.out)
		}
		c.table(titles.Replace(string(purpose)), all[from:to])
	}
	if c.omitted > 0 {
		fmt.Fprintf(c.std.out, "\n%s\n", c.palette.paint(faint, "Omitted: "+count(c.omitted, "crawler")+" not in use (--all includes them)"))
	}
	if state != "" {
		fmt.Fprintln(c.std.out, c.palette.paint(faint, robots.Printable(state)))
	}
}

// members are the facts of the directory, with the access if there is a robots.txt, else with the
// other facts.
func (r row) members() jsonObject {
	j := jsonObject{
		{"schema", 1}, {"name", r.Name}, {"tokens", r.Tokens}, {"operator", r.Operator},
		{"purpose", r.Purpose}, {"dialect", r.Dialect}, {"obeys", r.Obeys}, {"sources", r.Sources},
	}
	if r.Standing == nil {
		return append(j, jsonObject{
			{"status", r.Status}, {"spellings", append([]string{}, r.Spellings...)},
			{"crawl_delay", r.CrawlDelay}, {"request_rate", r.RequestRate}, {"reverse_dns", r.ReverseDNS}, {"addresses", r.Addresses},
			{"rival", notEmpty(r.Rival)}, {"google_reads", notEmpty(r.GoogleReads)}, {"note", notEmpty(r.Note)},
		}...)
	}
	return append(j, jsonObject{
		{"access", r.Access}, {"verdict", notEmpty(r.onPath)},
		{"rule", answer.NewRule(r.Verdict.Rule)}, {"group", groupMembers(r.Verdict.Group)},
	}...)
}

// cells are the rows in CSV, with a head.
func cells(all []row) [][]string {
	head := []string{"name", "tokens", "operator", "purpose", "dialect", "obeys"}
	if all[0].Standing == nil {
		head = append(head, "status")
	} else {
		head = append(head, "access", "verdict", "line", "rule", "group")
	}
	cells := [][]string{head}
	for _, r := range all {
		line := []string{r.Name, strings.Join(r.Tokens, " > "), r.Operator, string(r.Purpose), r.Dialect, string(r.Obeys)}
		if r.Standing == nil {
			line = append(line, string(r.Status))
		} else {
			v, number := r.Verdict, ""
			if !v.Rule.IsZero() {
				number = strconv.Itoa(v.Rule.Line())
			}
			line = append(line, string(r.Access), r.onPath, number, v.Rule.String(), robots.Printable(v.Group.Token()))
		}
		cells = append(cells, line)
	}
	return cells
}

// table writes the crawlers of one purpose, a line for each, below its title.
func (c *crawlersCommand) table(title string, all []row) {
	if all[0].Standing == nil {
		title = fmt.Sprintf("%s: %d", title, len(all))
	} else {
		title = robots.Printable(c.summary(title, all))
	}
	fmt.Fprintln(c.std.out, c.palette.paint(bold, title))
	var rows [][]string
	for _, r := range all {
		line := []string{"  " + r.Name, r.Operator}
		switch {
		case r.Standing == nil:
			line = append(line, c.palette.paint(faint, remark(r.Crawler, true)))
		case r.onPath != "":
			line = append(line, c.palette.verdict(r.Verdict), c.why(r))
		default:
			line = append(line, c.accessWord(r.Access), c.why(r))
		}
		rows = append(rows, line)
	}
	align(c.std.out, rows)
}

// accessWord is the access in the column of the table.
func (c *crawlersCommand) accessWord(a access.Access) string {
	style := map[access.Access]string{access.All: green, access.None: red}[a]
	word := strings.Replace(string(a), string(access.None), "nothing", 1)
	return c.palette.paint(cmp.Or(style, yellow), fill(word, len(access.Undecided)))
}

// why names the rule and the group, and adds remarks on the crawler.
func (c *crawlersCommand) why(r row) string {
	text := answer.Reason(r.Verdict)
	if r.Others > 0 {
		text += fmt.Sprintf(", and %d more", r.Others)
	}
	text += inGroup(c.palette, r.Verdict, false)
	remarks := remark(r.Crawler, false)
	if r.Rival != "" && strings.EqualFold(r.Verdict.Group.Token(), r.Rival) {
		remarks = strings.TrimSuffix("the group of another operator; "+remarks, "; ")
	}
	if remarks != "" {
		text += "  " + c.palette.paint(yellow, "["+remarks+"]")
	}
	return text
}

// summary returns a sentence on the access of the crawlers of one purpose.
func (c *crawlersCommand) summary(title string, all []row) string {
	counts := map[access.Access]int{}
	disallowed := 0
	var unnamed []string
	for _, r := range all {
		counts[r.Access]++
		if !r.Verdict.Allowed {
			disallowed++
		}
		if !r.Named() {
			unnamed = append(unnamed, r.Name)
		}
	}
	text := count(len(all), title+" crawler")
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
		text += "; not named: " + listed(unnamed, 3)
	}
	return text
}

// shares returns how many of n crawlers of a group have which access.
func shares(n int, counts map[access.Access]int, group string) string {
	var parts []string
	for _, share := range []struct {
		access    access.Access
		one, many string
	}{
		{access.None, "has no access", "have no access"}, {access.Part, "has access to a part", "have access to a part"},
		{access.All, "has access to all", "have access to all"}, {access.Undecided, "is undecided", "are undecided"},
		{access.Unknown, "has unknown access, as robots.txt is unreachable", "have unknown access, as robots.txt is unreachable"},
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
