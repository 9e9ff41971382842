package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	ruleFlags
	crawlerFlags
	site       siteFlags
	chosen     []Crawler // of --agent, without their dialects
	dialects   []robots.Dialect
	dialectsOf string // the file of --dialects
	urls       string // the file of --urls
	failOn     string
	fail       lint.Severity // of --fail-on, above all of them if it names a kind
	budget     int           // steps per direction
	limit      int           // changes shown per crawler and direction, 0 for all

	name     string // of the new file, as given
	sections []*section
	read     int // URLs of --urls
}

func newDiffer(std *streams) *differ {
	return &differ{command: newCommand(std), ruleFlags: ruleFlags{maxBytes: noLimit}}
}

func diffCommand(std *streams) *cobra.Command {
	d := newDiffer(std)
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

// A section is the comparison of all crawlers in one dialect, or in two.
type section struct {
	old, new robots.Dialect
	dialects []string  // their names; empty if each crawler is compared in its own instead
	sides    [2]string // words for the old and the new file
	crawlers []*crawler
	compared map[[2]string]*comparison
	declared []*declaredChange // crawlers with equal changes share one
}

func newSection(before, after robots.Dialect) *section {
	s := &section{old: before, new: after, dialects: []string{after.Name}, sides: [2]string{"old", "new"}}
	if s.between() {
		s.sides = [2]string{before.Name, after.Name}
		s.dialects = s.sides[:]
	}
	return s
}

// auto reports whether each crawler is compared in its own dialect.
func (s *section) auto() bool { return len(s.dialects) == 0 }

// between reports whether one file is compared in two dialects.
func (s *section) between() bool { return s.old.Name != s.new.Name }

// A crawler is what changes for one crawler.
type crawler struct {
	Crawler
	dialects [2]robots.Dialect
	*difference
	note string // "" for none
}

// A difference is what changes for the crawlers that each file names in the same places.
type difference struct {
	rules     [2]*robots.Rules // of one of them
	shared    *comparison      // by all crawlers with equal rules
	elsewhere bool             // the lines of the rules are not those of the comparison
	declared  []*declaredChange
}

// A comparison is what changes for crawlers whose rules are equal.
type comparison struct {
	rules [2]*robots.Rules // of one of them
	compare.Result
	rewritten bool        // only URLs differ that browsers rewrite before sending
	important bool        // newly blocked URLs are errors: see isImportant
	urls      [2]urlCount // newly blocked and newly allowed ones of --urls
}

// compareRules compares the rules of a crawler over all URLs, or those of two dialects over
// normalized URLs: on others, engines differ for nearly every rule.
func (s *section) compareRules(rules [2]*robots.Rules, o compare.Options) *comparison {
	if s.between() {
		o.URLs = compare.NormalURLs
	}
	c := &comparison{rules: rules, Result: compare.Rules(rules[0], rules[1], o)}
	sent := func(c compare.Change) bool { return c.Normal && !strings.Contains(c.Path, "'") }
	if c.Differs() && !slices.ContainsFunc(slices.Concat(c.NewlyBlocked.Changes, c.NewlyAllowed.Changes), sent) {
		o.URLs = compare.BrowserURLs
		c.rewritten = compare.Rules(rules[0], rules[1], o).Same()
	}
	return c
}

// complete reports whether everything is decided.
func (c *comparison) complete() bool { return c.NewlyBlocked.Complete && c.NewlyAllowed.Complete }

func (d *differ) diff(ctx context.Context) (int, error) {
	if err := d.check(); err != nil {
		return exitBad, err
	}
	names := d.args
	if d.dialectsOf != "" {
		names = []string{d.dialectsOf}
	}
	files, err := d.known(ctx, &d.site, d.dialects, names...)
	if err != nil {
		return exitBad, err
	}
	d.name = names[len(names)-1]
	for _, c := range d.chosen {
		c.Dialect = d.dialects[0]
		d.warnCrawlers([]Crawler{c}, nil)
	}
	for _, s := range d.pairs() {
		d.sections = append(d.sections, s)
		if d.compare(ctx, s, [2]ask.Source{files[0].Source, files[len(files)-1].Source}); ctx.Err() != nil {
			return exitBad, errInterrupted
		}
	}
	if err := d.countURLs(); err != nil {
		return exitBad, err
	}
	r := d.report()
	d.write(r)
	return r.status(), nil
}

// check checks the flags and arguments before anything is read.
func (d *differ) check() error {
	d.fail = failLevel(d.failOn)
	switch {
	case d.given("dialects") && len(d.args) > 0:
		return fmt.Errorf("unexpected argument %q: --dialects compares one file", clip(d.args[0]))
	case d.given("dialects") && d.dialectsOf == "", d.given("urls") && d.urls == "":
		return errors.New("empty file name")
	case d.given("dialects") && d.dialect == ask.AllDialects:
		return errors.New("--dialects compares one dialect with the others; name it with -d, or omit -d")
	case d.urls == "-" && (slices.Contains(d.args, "-") || d.dialectsOf == "-"):
		return errors.New("standard input can be read only once")
	case d.given("dialects"):
	case len(d.args) < 2:
		return errors.New("two files needed; name the old and the new one, or one with --dialects FILE")
	case len(d.args) > 2:
		return fmt.Errorf("unexpected argument %q after two files", clip(d.args[2]))
	}
	switch {
	case d.dialect == ask.AutoDialect && !d.given("dialects"):
		d.dialects = autoDialects
	case d.dialect == ask.AllDialects:
		d.dialects = robots.Dialects()
	default:
		one, err := ask.DialectFor(d.dialect)
		if err != nil {
			return err
		}
		d.dialects = []robots.Dialect{one}
	}
	if !d.given("limit") && (d.format == formatText || d.format == formatMarkdown || d.format == formatGitHub) {
		d.limit = 10
	}
	var err error
	d.chosen, err = d.parseAgents()
	return err
}

// autoDialects are the dialects that the directory has for crawlers.
var autoDialects = []robots.Dialect{robots.RFC9309, robots.Google, robots.Bing, robots.Seznam, robots.Yandex}

// pairs returns the sections, without the comparison.
func (d *differ) pairs() (list []*section) {
	switch {
	case d.dialectsOf != "":
		old := d.dialects[0]
		for _, other := range []robots.Dialect{robots.Google, robots.GoogleCPP, robots.Seznam, robots.Bing, robots.Yandex, robots.RFC9309} {
			if other.Name != old.Name {
				list = append(list, newSection(old, other))
			}
		}
	case d.dialect == ask.AutoDialect:
		list = []*section{newSection(robots.RFC9309, robots.RFC9309)}
		list[0].dialects = nil
	default:
		for _, one := range d.dialects {
			list = append(list, newSection(one, one))
		}
	}
	return list
}

// compare compares a pair of files for every crawler, until the context ends.
func (d *differ) compare(ctx context.Context, s *section, pair [2]ask.Source) {
	rulesOf := func(side int) func(robots.Dialect) *robots.Rules {
		return func(dialect robots.Dialect) *robots.Rules { return d.rules(pair[side], dialect, d.std.now(), nil) }
	}
	s.crawlers = d.compared(s, rulesOf)
	var rules [2][]*robots.Rules
	for side := range pair {
		var all robots.Crawlers
		for _, c := range s.crawlers {
			all.Add(c.dialects[side], c.Tokens...)
		}
		rules[side] = all.RulesBy(rulesOf(side))
	}
	s.compared = map[[2]string]*comparison{} // by the rules of both sides
	made := map[[2]string]*difference{}
	places := [2]places{{}, {}}
	for i, c := range s.crawlers {
		if ctx.Err() != nil {
			return
		}
		own := [2]*robots.Rules{rules[0][i], rules[1][i]}
		place := [2]string{places[0].of(own[0]), places[1].of(own[1])}
		if c.difference = made[place]; c.difference == nil {
			text := [2]string{textOf(own[0]), textOf(own[1])}
			if s.compared[text] == nil {
				s.compared[text] = s.compareRules(own, compare.Options{Steps: d.budget, SkipRobotsTxt: s.between()})
			}
			c.difference = &difference{rules: own, shared: s.compared[text], declared: s.declare(own)}
			for side, r := range c.shared.rules {
				c.elsewhere = c.elsewhere || !slices.Equal(ruleLines(r), ruleLines(own[side]))
			}
			made[place] = c.difference
		}
		for _, change := range c.declared {
			if !slices.Contains(ofFile, change.Field) {
				change.crawlers = append(change.crawlers, c.Name)
			}
		}
		c.shared.important = c.shared.important || len(d.chosen) > 0 || isImportant(c.Name)
		if s.between() {
			c.note = robotsNote(own)
		} else {
			c.note = groupNote(own)
		}
	}
}

// places are, by dialect, the numbers of the user-agent lines of a file, each with that of the first line of its block.
type places map[string]map[int]int

// of names the blocks that name a crawler: crawlers named in the same ones have the same rules and records (D-08).
func (p places) of(r *robots.Rules) string {
	d, g := r.Dialect(), r.Group()
	firsts, known := p[d.Name]
	if !known {
		firsts = map[int]int{}
		p[d.Name] = firsts
		group, first, ended := 0, 0, true
		for l := range r.File().Lines(d) {
			switch l.Field {
			case robots.FieldUserAgent:
				if ended || l.Group != group {
					group, first, ended = l.Group, l.Number, false
				}
				firsts[l.Number] = first
			case robots.FieldNone, robots.FieldUnknown:
			default:
				ended = true
			}
		}
	}
	var blocks []int
	for _, n := range g.Lines() {
		blocks = append(blocks, firsts[n])
	}
	reason, _ := r.FallbackReason()
	return fmt.Sprintln(d.Name, reason, g.Token() == "*", slices.Compact(blocks))
}

// compared returns the crawlers of --agent, else * and every crawler that either file names,
// sorted.
func (d *differ) compared(s *section, rulesOf func(side int) func(robots.Dialect) *robots.Rules) (list []*crawler) {
	inDialects := func(c Crawler) *crawler {
		if !s.auto() {
			return &crawler{Crawler: c, dialects: [2]robots.Dialect{s.old, s.new}}
		}
		own, _ := ask.DialectFor(ask.AutoDialect, c.Tokens...) // never an error
		return &crawler{Crawler: c, dialects: [2]robots.Dialect{own, own}}
	}
	for i, c := range d.chosen {
		if !slices.ContainsFunc(d.chosen[:i], func(o Crawler) bool { return o.Name == c.Name }) {
			list = append(list, inDialects(c))
		}
	}
	if len(list) > 0 {
		return list
	}
	for side, one := range []robots.Dialect{s.old, s.new} {
		dialects := []robots.Dialect{one}
		if s.auto() {
			dialects = autoDialects
		}
		for _, dialect := range dialects {
			for _, name := range rulesOf(side)(dialect).File().Crawlers(dialect) {
				if c := inDialects(Crawler{Name: name, Tokens: []string{name}}); c.dialects[side].Name == dialect.Name {
					list = append(list, c)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b *crawler) int { return strings.Compare(a.Name, b.Name) })
	list = slices.CompactFunc(list, func(a, b *crawler) bool { return a.Name == b.Name })
	return append([]*crawler{inDialects(Crawler{Name: anyCrawler, Tokens: []string{anyCrawler}})}, list...)
}

// textOf is the same for rules that decide alike: the dialect and the lines of the rules.
func textOf(r *robots.Rules) string {
	reason, _ := r.FallbackReason()
	var b strings.Builder
	fmt.Fprintln(&b, r.Dialect().Name, reason)
	for rule := range r.All() {
		b.WriteString(rule.Directive() + ":" + rule.Path() + "\n") // a path has no line end
	}
	return b.String()
}

// ruleLines returns the lines of rules.
func ruleLines(r *robots.Rules) []int {
	var lines []int
	for rule := range r.All() {
		lines = append(lines, rule.Line())
	}
	return lines
}

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

// A directed is one of the two directions of a comparison.
type directed struct {
	id    string // newly-blocked or newly-allowed
	name  string // in text
	where compare.Direction
	urls  urlCount

	severity lint.Severity
	fails    bool // --fail-on selects it
}

// found reports whether something changes in this direction.
func (w directed) found() bool { return len(w.where.Changes)+w.urls.n > 0 }

// directions returns both, what is newly blocked first.
func (d *differ) directions(s *section, c *comparison) [2]directed {
	blocked, allowed := "newly blocked", "newly allowed"
	if s.between() {
		blocked, allowed = "only "+s.new.Name+" blocks", "only "+s.old.Name+" blocks"
	}
	severity := lint.Warning
	if c.important {
		severity = lint.Error
	}
	return [2]directed{
		{failBlocked, blocked, c.NewlyBlocked, c.urls[0], severity, d.selects(failBlocked, severity)},
		{failAllowed, allowed, c.NewlyAllowed, c.urls[1], lint.Warning, d.selects(failAllowed, lint.Warning)},
	}
}

// selects reports whether --fail-on selects a change.
func (d *differ) selects(kind string, severity lint.Severity) bool {
	return kind == d.failOn || severity >= d.fail
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

// A group is crawlers of a section with the same result.
type group struct {
	*comparison
	names    []string
	note     string
	dialects []string
	sameRow  bool // all have the line numbers of the first
}

// changes reports whether something changes in either direction.
func (c *comparison) changes() bool { return !c.Same() || c.urls[0].n+c.urls[1].n > 0 }

// groups returns the crawlers of a section by result: those without a change together,
// others by comparison.
func (s *section) groups() []*group {
	type key struct {
		shared *comparison
		note   string
	}
	made := map[key]*group{}
	var list []*group
	for _, c := range s.crawlers {
		k := key{c.shared, c.note}
		if !c.shared.changes() {
			k.shared = nil
		}
		g := made[k]
		if g == nil {
			g = &group{comparison: c.shared, note: c.note, dialects: append([]string{}, s.dialects...), sameRow: true}
			made[k] = g
			list = append(list, g)
		}
		g.names = append(g.names, c.Name)
		if name := c.dialects[1].Name; s.auto() && !slices.Contains(g.dialects, name) {
			g.dialects = append(g.dialects, name)
		}
		g.sameRow = g.sameRow && !c.elsewhere
	}
	return list
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
