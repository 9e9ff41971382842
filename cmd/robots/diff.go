package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// The kinds of changes that --fail-on accepts besides severities.
const (
	failBlocked = "newly-blocked"
	failAllowed = "newly-allowed"
)

// A differ is one run of robots diff.
type differ struct {
	*command
	crawlerFlags
	site       siteFlags
	chosen     []Crawler // of --agent
	dialects   []robots.Dialect
	dialectsOf string // the file of --dialects
	urls       string // the file of --urls
	failOn     string
	budget     int // steps per direction
	limit      int // changes shown per crawler and direction, 0 for all

	name     string // of the new file, as given
	sections []*section
	read     int // URLs of --urls
}

func diffCommand(std *streams) *cobra.Command {
	d := &differ{command: newCommand(std)}
	cmd := &cobra.Command{Use: "diff", RunE: d.run(d.diff)}
	f := cmd.Flags()
	f.StringArrayVarP(&d.agents, "agent", "a", nil, "`TOKEN[,TOKEN]` product tokens of a crawler, most specific first (repeat for more; default * and all crawlers named)")
	d.registerDialect(cmd, true)
	f.StringVar(&d.dialectsOf, "dialects", "", "`FILE` robots.txt to compare as the dialects read it")
	f.StringVar(&d.urls, "urls", "", "`FILE` list, sitemap or access log of URLs, to count those that change; - for standard input")
	failOnFlag(cmd, &d.failOn, lint.Warning.String(), failBlocked, failAllowed)
	budgetFlag(cmd, &d.budget)
	numberFlag(cmd, &d.limit, 0, "limit", "`N` maximum changes shown per crawler and direction, 0 for all (default 10 in text and markdown)", "a number of changes, 0 for all")
	d.site.register(cmd)
	d.formatFlag(cmd, formatSARIF, formatJUnit, formatGitHub, formatMarkdown)
	d.colorFlag(cmd)
	return cmd
}

// numberFlag declares a flag with a whole number, of which an error says what to write.
func numberFlag(cmd *cobra.Command, n *int, least uint64, name, usage, write string) {
	cmd.Flags().Func(name, usage, func(s string) error {
		number, err := strconv.ParseUint(s, 10, 31)
		if err != nil || number < least {
			return fmt.Errorf("invalid --%s %q; write %s", name, clip(s), write)
		}
		*n = int(number)
		return nil
	})
}

// budgetFlag declares the limit of a proof.
func budgetFlag(cmd *cobra.Command, budget *int) {
	*budget = compare.DefaultSteps
	numberFlag(cmd, budget, 1, "budget", "`N` maximum steps of a proof (default "+strconv.Itoa(compare.DefaultSteps)+")", "a number of steps, 1 to 2147483647")
}

// helps suggests a larger budget.
func helps(budget int) string {
	return "try --budget " + strconv.Itoa(min(budget, (1<<31-1)/10)*10)
}

func (d *differ) diff(ctx context.Context) (int, error) {
	names, err := d.check()
	if err != nil {
		return exitBad, err
	}
	files, err := d.known(ctx, &d.site, d.dialects, names...)
	if err != nil {
		return exitBad, err
	}
	d.name = names[len(names)-1]
	d.warnCrawlers(d.chosen, nil)
	for _, s := range d.sections {
		s.compare([2]ask.Source{files[0].Source, files[len(files)-1].Source}, d.chosen, d.std.now(), d.budget)
	}
	if err := d.countURLs(); err != nil {
		return exitBad, err
	}
	r := d.report()
	d.write(r)
	return r.status(), nil
}

// check checks the flags and arguments before anything is read, and returns the names of the
// files.
func (d *differ) check() (names []string, err error) {
	switch names = d.args; {
	case d.given("dialects") && len(names) > 0:
		return nil, fmt.Errorf("unexpected argument %q: --dialects compares one file", clip(names[0]))
	case d.given("dialects") && d.dialect == ask.AllDialects:
		return nil, errors.New("--dialects compares one dialect with the others; name it with -d, or omit -d")
	case d.given("dialects"):
		names = []string{d.dialectsOf}
	case len(names) < 2:
		return nil, errors.New("two files needed; name the old and the new one, or one with --dialects FILE")
	case len(names) > 2:
		return nil, fmt.Errorf("unexpected argument %q after two files", clip(names[2]))
	}
	if err := stdinOnce(append(slices.Clone(names), d.urls)...); err != nil {
		return nil, err
	}
	if !d.given("limit") && (d.format == formatText || d.format == formatMarkdown || d.format == formatGitHub) {
		d.limit = 10
	}
	return names, d.choose()
}

// autoDialects are the dialects that the directory has for crawlers.
var autoDialects = []robots.Dialect{robots.RFC9309, robots.Google, robots.Bing, robots.Seznam, robots.Yandex}

// choose sets the sections, the dialects and the crawlers.
func (d *differ) choose() error {
	add := func(before, after robots.Dialect) {
		d.sections = append(d.sections, &section{dialects: [2]robots.Dialect{before, after}})
	}
	one, err := ask.DialectFor(d.dialect)
	d.dialects = []robots.Dialect{one}
	switch {
	case d.dialect == ask.AllDialects:
		d.dialects = robots.Dialects()
		for _, each := range d.dialects {
			add(each, each)
		}
	case err != nil:
		return err
	case d.given("dialects"):
		for _, other := range []robots.Dialect{robots.Google, robots.GoogleCPP, robots.Seznam, robots.Bing, robots.Yandex, robots.RFC9309} {
			if other.Name != one.Name {
				add(one, other)
			}
		}
	case d.dialect == ask.AutoDialect:
		d.dialects = autoDialects
		add(robots.Dialect{}, robots.Dialect{})
	default:
		add(one, one)
	}
	chosen, err := d.parseAgents()
	for _, c := range chosen {
		c.Dialect = d.dialects[0] // for warnings
		if !slices.ContainsFunc(d.chosen, func(o Crawler) bool { return o.Name == c.Name }) {
			d.chosen = append(d.chosen, c)
		}
	}
	return err
}

// A section compares two files for each crawler in one dialect or in its own, or one file as
// two dialects read it.
type section struct {
	dialects    [2]robots.Dialect // of the old and the new side, zero for the crawler's own
	crawlers    []crawler
	comparisons map[[2]string]*comparison // by the rules of both sides
	declared    []*declaredChange         // crawlers with equal changes share one
}

// A crawler is what changes for one crawler.
type crawler struct {
	name      string
	important bool             // newly blocked URLs are errors
	rules     [2]*robots.Rules // of the first crawler that each file names in the same places
	elsewhere bool             // the lines of the rules are not those of the comparison
	declared  []*declaredChange
	note      string // "" for none
	*comparison
}

// A comparison is what changes for crawlers whose rules are equal.
type comparison struct {
	compare.Result
	ways      [2]way           // newly blocked, newly allowed
	rewritten bool             // only URLs differ that browsers rewrite before sending
	first     [2]*robots.Rules // of one of the crawlers
	lines     [2][]int         // of these rules
}

// A way is one of the two directions of a comparison.
type way struct {
	id   string // newly-blocked or newly-allowed
	name string // in text
	*compare.Direction
	urls     int    // of --urls
	firstURL string // of these
}

// auto reports whether each crawler is compared in its own dialect.
func (s *section) auto() bool { return s.dialects[0].Name == "" }

// between reports whether one file is compared in two dialects.
func (s *section) between() bool { return s.dialects[0].Name != s.dialects[1].Name }

// dialectNames returns the names of the dialects, none if each crawler is compared in its own.
func (s *section) dialectNames() []string {
	if s.auto() {
		return []string{}
	}
	return slices.Compact([]string{s.dialects[0].Name, s.dialects[1].Name})
}

// reasons describes why a URL is allowed on one side and blocked on the other.
func (s *section) reasons(c compare.Change) (before, after string) {
	before, after = "old", "new"
	if s.between() {
		before, after = s.dialects[0].Name, s.dialects[1].Name
	}
	before += " " + reasonOf(c.Old)
	after += " " + reasonOf(c.New)
	if !c.Shortest {
		after += " (possibly not the shortest)"
	}
	return before, after
}

// who names the crawlers of a group and their dialects.
func (s *section) who(g *group) string {
	separator := ", "
	if s.between() {
		separator = " → "
	}
	return nameList(g.names) + " (" + strings.Join(g.dialects, separator) + ")"
}

// dialectsOf returns the dialects in which a crawler is compared.
func (s *section) dialectsOf(tokens ...string) [2]robots.Dialect {
	if !s.auto() {
		return s.dialects
	}
	own, _ := ask.DialectFor(ask.AutoDialect, tokens...) // never an error
	return [2]robots.Dialect{own, own}
}

// compare compares a pair of files for the chosen crawlers, or else * and all crawlers that they
// name, with a limit of steps for each proof.
func (s *section) compare(pair [2]ask.Source, chosen []Crawler, at time.Time, budget int) {
	list := chosen
	if len(list) == 0 {
		list = s.named(pair, at)
	}
	var rules [2][]*robots.Rules
	var places [2][]string
	for side, from := range pair {
		var all robots.Crawlers
		for _, c := range list {
			all.Add(s.dialectsOf(c.Tokens...)[side], c.Tokens...)
		}
		rules[side] = all.RulesBy(func(d robots.Dialect) *robots.Rules { return from.Obey(d, 0, at, nil) })
		places[side] = placesOf(rules[side])
	}
	s.comparisons = map[[2]string]*comparison{}
	made := map[string]crawler{} // by their places
	for i, k := range list {
		place := places[0][i] + places[1][i]
		c, ok := made[place]
		if !ok {
			c = s.newCrawler([2]*robots.Rules{rules[0][i], rules[1][i]}, budget)
			made[place] = c
		}
		c.name, c.important = k.Name, len(chosen) > 0 || isImportant(k.Name)
		s.crawlers = append(s.crawlers, c)
		for _, change := range c.declared {
			if !slices.Contains(ofFile, change.Field) {
				change.crawlers = append(change.crawlers, k.Name)
			}
		}
	}
}

// named returns * and the crawlers for which the files can differ.
func (s *section) named(pair [2]ask.Source, at time.Time) (list []Crawler) {
	if s.auto() {
		var files [2]*robots.File
		for side, from := range pair {
			files[side] = from.Obey(robots.RFC9309, 0, at, nil).File()
		}
		for _, c := range compare.Crawlers(files[:]...) {
			list = append(list, Crawler{Name: c.Name, Tokens: c.Tokens})
		}
		return list
	}
	var rules [2]*robots.Rules
	for side, from := range pair {
		rules[side] = from.Obey(s.dialects[side], 0, at, nil)
	}
	for _, name := range compare.Names(rules[:]...) {
		list = append(list, Crawler{Name: name, Tokens: []string{name}})
	}
	return list
}

// placesOf names the blocks of user-agent lines that name each crawler of one file: crawlers
// named in the same blocks have the same rules and records (D-08).
func placesOf(crawlers []*robots.Rules) (places []string) {
	ends := map[string][]int{} // by dialect
	for _, r := range crawlers {
		d, g := r.Dialect(), r.Group()
		if ends[d.Name] == nil {
			ends[d.Name] = separators(r.File(), d)
		}
		var blocks []int
		for _, line := range g.Lines() {
			block, _ := slices.BinarySearch(ends[d.Name], line+1) // the number of separators before
			blocks = append(blocks, block)
		}
		places = append(places, fmt.Sprintln(d.Name, g.Token() == anyCrawler, slices.Compact(blocks)))
	}
	return places
}

// separators returns the lines of a file that end a block of user-agent lines or begin a group.
func separators(f *robots.File, d robots.Dialect) (lines []int) {
	group := -1
	for l := range f.Lines(d) {
		if l.Field > robots.FieldUserAgent || l.Field == robots.FieldUserAgent && l.Group > group {
			group = max(group, l.Group)
			lines = append(lines, l.Number)
		}
	}
	return lines
}

// newCrawler compares the rules and records of a crawler.
func (s *section) newCrawler(rules [2]*robots.Rules, budget int) crawler {
	var texts [2]string
	var lines [2][]int
	for side, r := range rules {
		texts[side], lines[side] = textOf(r)
	}
	if s.comparisons[texts] == nil {
		s.comparisons[texts] = s.compareRules(rules, budget)
		s.comparisons[texts].lines = lines
	}
	c := crawler{rules: rules, comparison: s.comparisons[texts], declared: s.declare(rules), note: groupNote(rules)}
	c.elsewhere = !slices.EqualFunc(lines[:], c.lines[:], slices.Equal)
	if s.between() {
		c.note = robotsNote(rules)
	}
	return c
}

// textOf returns the dialect and the text of rules, which are the same for rules that decide alike, and their lines.
func textOf(r *robots.Rules) (text string, lines []int) {
	b := []byte(r.Dialect().Name)
	for rule := range r.All() {
		b = append(b, "\n"+rule.Directive()+":"+rule.Path()...)
		lines = append(lines, rule.Line())
	}
	return string(b), lines
}

// compareRules compares the rules of a crawler over all URLs, or those of two dialects over
// normalized URLs: on others, engines differ for nearly every rule.
func (s *section) compareRules(rules [2]*robots.Rules, budget int) *comparison {
	o := compare.Options{Steps: budget}
	if s.between() {
		o.URLs, o.SkipRobotsTxt = compare.NormalURLs, true
	}
	c := &comparison{first: rules, Result: compare.Rules(rules[0], rules[1], o)}
	c.ways = [2]way{{id: failBlocked, name: "newly blocked", Direction: &c.NewlyBlocked}, {id: failAllowed, name: "newly allowed", Direction: &c.NewlyAllowed}}
	if s.between() {
		c.ways[0].name, c.ways[1].name = "only "+s.dialects[1].Name+" blocks", "only "+s.dialects[0].Name+" blocks"
	}
	sent := func(c compare.Change) bool { return c.Normal && !strings.Contains(c.Path, "'") }
	if c.Differs() && !slices.ContainsFunc(slices.Concat(c.NewlyBlocked.Changes, c.NewlyAllowed.Changes), sent) {
		o.URLs = compare.BrowserURLs
		c.rewritten = compare.Rules(rules[0], rules[1], o).Same()
	}
	return c
}

// complete reports whether everything is decided.
func (c *comparison) complete() bool { return c.NewlyBlocked.Complete && c.NewlyAllowed.Complete }

// changes reports whether something changes in either direction.
func (c *comparison) changes() bool { return !c.Same() || c.ways[0].urls+c.ways[1].urls > 0 }

// robotsTxt is the path of every robots.txt.
var robotsTxt = robots.RawPath("/robots.txt")

// robotsNote reports that only one of two dialects exempts /robots.txt.
func robotsNote(rules [2]*robots.Rules) string {
	raw, exempt := rules[0].Match(robotsTxt), rules[1].Match(robotsTxt)
	if raw.Allowed == exempt.Allowed {
		return ""
	} else if raw.Allowed {
		raw = exempt
	}
	return "/robots.txt excluded: only " + raw.Dialect + " does not exempt it (" + reasonOf(raw) + ")"
}

// groupNotes describe changes of the group that applies: one that names the crawler, that of * or none.
var groupNotes = map[[2]string]string{
	{"own", "*"}: "no group names it any more; the * group applies instead",
	{"own", ""}:  "no group names it any more, and no * group applies; everything is allowed",
	{"*", "own"}: "a group names it now; the * group no longer applies",
	{"", "own"}:  "a group names it now; before, no group applied",
	{"*", ""}:    "the * group was removed; everything is allowed for crawlers without a group",
	{"", "*"}:    "a * group was added; before, no group applied to crawlers without a group",
}

// groupNote reports that a different group applies to a crawler than before.
func groupNote(rules [2]*robots.Rules) string {
	kind := [2]string{"own", "own"}
	for i, r := range rules {
		if g := r.Group(); g.IsZero() || g.Token() == "*" {
			kind[i] = g.Token()
		}
	}
	return groupNotes[kind]
}

// A group is crawlers of a section with the same result.
type group struct {
	*comparison
	names     []string
	dialects  []string
	note      string
	elsewhere bool // some have their rules in other lines than the first
	important bool // one is important
}

// groups returns the crawlers by result: those without a change together, others by comparison.
func (s *section) groups() (list []*group) {
	type key struct {
		*comparison
		note string
	}
	made := map[key]*group{}
	for _, c := range s.crawlers {
		k := key{c.comparison, c.note}
		if !c.changes() {
			k.comparison = nil
		}
		g := made[k]
		if g == nil {
			g = &group{comparison: c.comparison, note: c.note, dialects: s.dialectNames()}
			made[k] = g
			list = append(list, g)
		}
		g.names = append(g.names, c.name)
		if own := c.rules[1].Dialect().Name; !slices.Contains(g.dialects, own) {
			g.dialects = append(g.dialects, own)
		}
		g.elsewhere = g.elsewhere || c.elsewhere
		g.important = g.important || c.important
	}
	return list
}

// severity returns the severity of changes in one direction.
func (g *group) severity(w way) lint.Severity {
	if g.important && w.id == failBlocked {
		return lint.Error
	}
	return lint.Warning
}

// selects reports whether --fail-on selects a change.
func (d *differ) selects(kind string, severity lint.Severity) bool {
	return kind == d.failOn || severity >= failLevel(d.failOn)
}

// status is the exit status: a failing change counts before an undecided one.
func (r *report) status() int {
	status := exitAllowed
	for _, f := range r.findings {
		switch {
		case f.Failed:
			return exitDisallowed
		case f.Undecided:
			status = exitUndecided
		}
	}
	return status
}

// shown returns the changes to show, and how many are left out.
func (d *differ) shown(changes []compare.Change) ([]compare.Change, int) {
	if d.limit == 0 || len(changes) <= d.limit {
		return changes, 0
	}
	return changes[:d.limit], len(changes) - d.limit
}

// result describes a comparison.
func (d *differ) result(c *comparison) string {
	n := len(c.NewlyBlocked.Changes) + len(c.NewlyAllowed.Changes)
	switch {
	case n > 0 && c.rewritten:
		return count(n, "change") + ", only for URLs that browsers rewrite before sending them"
	case n > 0 && c.complete():
		return count(n, "change")
	case n > 0:
		return count(n, "change") + ", possibly more (" + helps(d.budget) + ")"
	case c.Same():
		return "same (proved)"
	case c.NewlyBlocked.None():
		return "nothing newly blocked (proved), newly allowed undecided (" + helps(d.budget) + ")"
	case c.NewlyAllowed.None():
		return "nothing newly allowed (proved), newly blocked undecided (" + helps(d.budget) + ")"
	}
	return "undecided (" + helps(d.budget) + ")"
}

// nameList joins the first names of crawlers.
func nameList(names []string) string {
	written := make([]string, len(names))
	for i, n := range names {
		written[i] = robots.Printable(cmp.Or(n, `""`))
	}
	return listed(written, 8)
}
