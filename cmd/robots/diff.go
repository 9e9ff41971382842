package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
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
	site       siteFlags
	agents     []string
	tokens     map[string][]string // of each of the agents
	dialect    string
	dialects   []robots.Dialect
	auto       bool   // each crawler is compared in its own dialect
	dialectsOf string // the file of --dialects
	urls       string // the file of --urls
	failOn     string
	fail       lint.Severity // of --fail-on, above all of them if it names a kind
	budget     int           // steps per direction
	limit      int           // changes shown per crawler and direction, 0 for all

	names    [2]string // of the old and the new file, as given
	sections []section
	read     int // URLs of --urls
}

func newDiffer(std *streams) *differ {
	return &differ{command: newCommand(std, formatSARIF, formatJUnit, formatGitHub, formatMarkdown), ruleFlags: ruleFlags{maxBytes: noLimit}}
}

func diffCommand(std *streams, status *int) *cobra.Command {
	d := newDiffer(std)
	cmd := &cobra.Command{
		Use:   "diff [-a TOKEN]... [-d DIALECT] OLD NEW | --dialects FILE",
		Short: "Show which URLs a change blocks or allows",
		Long: `Compare two versions of a robots.txt over all URLs. For each crawler named in
either file, and for *, diff proves that access is unchanged or prints a shortest
URL that changed and the line responsible. Delays, sitemaps and signals are compared
too. OLD and NEW are files, - for standard input, or URLs of sites.

The proof covers every URL that a client can send, including escaped letters, invalid
escapes and /../. Each crawler is compared in its own dialect, rfc9309 if that is not
known, unless -d names one. A crawler named in a file is compared by that name alone. For one that
falls back to the group of another name, use -a Googlebot-Image,Googlebot.

With --dialects, one FILE is compared with itself as different engines read it:
--dialect (default rfc9309) against google, google-cpp, seznam, bing and yandex, over
normalized URLs (RFC 3986 section 6.2.2), /robots.txt excluded.

Severities: error (newly blocked for *, for a search crawler or for a crawler named
with -a), warning (other changed URLs, delays, sitemaps, signals), note (a different
group applies). --fail-on takes one, or newly-blocked or newly-allowed for the changes
of one kind, whatever their severity.

Exit status: 0 no change that --fail-on selects; 1 such a change; 2 invalid usage, a
file that cannot be read or an unreachable site; 3 undecided within --budget. With
--dialect all, every dialect counts.`,
		Example: `  robots diff robots.txt new.txt
  git show origin/main:robots.txt | robots diff - robots.txt
  robots diff --fail-on newly-blocked -d google https://example.com/ robots.txt
  robots diff --urls access.log old.txt new.txt
  robots diff --dialects robots.txt`,
		DisableFlagsInUseLine: true,
		RunE:                  d.run(status, d.diff),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&d.agents, "agent", "a", nil, "`TOKEN[,TOKEN]` product tokens of a crawler, most specific first (repeat for more; default * and all crawlers named)")
	f.StringVarP(&d.dialect, "dialect", "d", ask.AutoDialect, "`NAME` auto, "+dialectList()+", all")
	complete(cmd, "dialect", append(dialectNames(), ask.AutoDialect, allDialects))
	f.StringVar(&d.dialectsOf, "dialects", "", "`FILE` robots.txt to compare as the dialects read it")
	f.StringVar(&d.urls, "urls", "", "`FILE` list, sitemap or access log of URLs, to count those that change; - for standard input")
	failOnFlag(cmd, &d.failOn, lint.Warning.String(), failBlocked, failAllowed)
	budgetFlag(cmd, &d.budget)
	f.Func("limit", "`N` maximum changes shown per crawler and direction, 0 for all (default 10 in text and markdown)", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return fmt.Errorf("invalid --limit %q; write a number of changes, 0 for all", clip(s))
		}
		d.limit = int(n)
		return nil
	})
	d.site.register(cmd)
	registerFormat(cmd, &d.format, d.formats...)
	d.colorFlag(cmd)
	return cmd
}

// budgetFlag declares the limit of a proof.
func budgetFlag(cmd *cobra.Command, budget *int) {
	*budget = compare.DefaultSteps
	cmd.Flags().Func("budget", "`N` maximum steps of a proof (default "+strconv.Itoa(compare.DefaultSteps)+")", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil || n == 0 {
			return fmt.Errorf("invalid --budget %q; write a number of steps, 1 to 2147483647", clip(s))
		}
		*budget = int(n)
		return nil
	})
}

// helps suggests a larger budget.
func helps(budget int) string {
	return "try --budget " + strconv.Itoa(min(budget, (1<<31-1)/10)*10)
}

// A section is the comparison of all crawlers in one dialect, or in two.
type section struct {
	old, new robots.Dialect
	auto     bool // of each crawler its own instead
	crawlers []*crawler
}

// title names the dialects of a section.
func (s *section) title() string {
	if s.between() {
		return s.old.Name + " → " + s.new.Name
	}
	return s.new.Name
}

// between reports whether one file is compared in two dialects.
func (s *section) between() bool { return s.old.Name != s.new.Name }

// sides are the words for the old and the new file.
func (s *section) sides() [2]string {
	if s.between() {
		return [2]string{s.old.Name, s.new.Name}
	}
	return [2]string{"old", "new"}
}

// A crawler is what changes for one crawler.
type crawler struct {
	name     string
	dialect  string // of the new file
	rules    [2]*robots.Rules
	shared   *comparison // by all crawlers with equal rules
	declared []declaredChange
	notes    []string
}

// A comparison is what changes for crawlers whose rules are equal.
type comparison struct {
	rules [2]*robots.Rules // of one of them
	compare.Result
	rewritten bool // only URLs differ that browsers rewrite before sending
	important bool // newly blocked URLs are errors: see isImportant
	urls      urlCounts
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
	var list []Crawler
	for _, one := range d.dialects {
		list = append(list, Crawler{Name: anyCrawler, Tokens: []string{anyCrawler}, Dialect: one})
	}
	sources, live, err := d.known(ctx, &d.site, list, noLimit, names...)
	if err != nil {
		return exitBad, err
	}
	defer live.close()
	d.names = [2]string{names[0], names[len(names)-1]}
	for _, a := range d.agents {
		d.warnCrawlers([]Crawler{{Name: a, Tokens: d.tokens[a], Dialect: d.dialects[0]}}, nil)
	}
	pair := [2]source{sources[0], sources[len(sources)-1]}
	if d.compareAll(ctx, pair); ctx.Err() != nil {
		return exitBad, errInterrupted
	}
	if err := d.countURLs(); err != nil {
		return exitBad, err
	}
	if err := d.write(); err != nil {
		return exitBad, err
	}
	return d.status(), nil
}

// check checks the flags and arguments before anything is read.
func (d *differ) check() error {
	var err error
	if d.fail, err = severityNamed("--fail-on", d.failOn, failNever, failBlocked, failAllowed); err != nil {
		return err
	}
	switch {
	case d.given("dialects") && len(d.args) > 0:
		return fmt.Errorf("unexpected argument %q: --dialects compares one file", clip(d.args[0]))
	case d.given("dialects") && d.dialectsOf == "", d.given("urls") && d.urls == "":
		return errors.New("empty file name")
	case d.given("dialects") && d.dialect == allDialects:
		return errors.New("--dialects compares one dialect with the others; name it with -d, or omit -d")
	case d.urls == "-" && (slices.Contains(d.args, "-") || d.dialectsOf == "-"):
		return errors.New("standard input can be read only once")
	case d.given("dialects"):
	case len(d.args) < 2:
		return errors.New("two files needed; name the old and the new one, or one with --dialects FILE")
	case len(d.args) > 2:
		return fmt.Errorf("unexpected argument %q after two files", clip(d.args[2]))
	}
	d.auto = d.dialect == ask.AutoDialect && !d.given("dialects")
	switch {
	case d.auto:
		d.dialects = autoDialects
	case d.dialect == ask.AutoDialect:
		d.dialects = []robots.Dialect{robots.RFC9309}
	case d.dialect == allDialects:
		d.dialects = robots.Dialects()
	default:
		one, err := dialectByName(d.dialect)
		if err != nil {
			return err
		}
		d.dialects = []robots.Dialect{one}
	}
	if !d.given("limit") && (d.format == formatText || d.format == formatMarkdown || d.format == formatGitHub) {
		d.limit = 10
	}
	d.tokens = map[string][]string{}
	for _, a := range d.agents {
		tokens, err := ask.Tokens(a)
		if err != nil {
			return fmt.Errorf("-a %w", err)
		}
		d.tokens[a] = tokens
	}
	return nil
}

// autoDialects are the dialects that the directory has for crawlers.
var autoDialects = []robots.Dialect{robots.RFC9309, robots.Google, robots.Bing, robots.Yandex, robots.Seznam}

// compareAll compares a pair of files in all dialects, until the context ends.
func (d *differ) compareAll(ctx context.Context, pair [2]source) {
	for _, p := range d.pairs() {
		if ctx.Err() != nil {
			return
		}
		d.sections = append(d.sections, d.compare(pair, p[0], p[1]))
	}
	if d.auto {
		d.joinSections()
	}
}

// joinSections makes one section of those for the dialects of the crawlers.
func (d *differ) joinSections() {
	all := section{old: robots.RFC9309, new: robots.RFC9309, auto: true}
	for _, s := range d.sections {
		all.crawlers = append(all.crawlers, s.crawlers...)
	}
	order := func(c *crawler) (int, string) {
		if i := slices.Index(d.agents, c.name); i >= 0 {
			return i, ""
		}
		return len(d.agents), strings.TrimPrefix(c.name, anyCrawler)
	}
	slices.SortStableFunc(all.crawlers, func(a, b *crawler) int {
		i, x := order(a)
		j, y := order(b)
		return cmp.Or(i-j, strings.Compare(x, y))
	})
	d.sections = []section{all}
}

// pairs returns the dialects of the old and the new file.
func (d *differ) pairs() (pairs [][2]robots.Dialect) {
	if d.dialectsOf == "" {
		for _, one := range d.dialects {
			pairs = append(pairs, [2]robots.Dialect{one, one})
		}
		return pairs
	}
	old := d.dialects[0]
	for _, other := range []robots.Dialect{robots.Google, robots.GoogleCPP, robots.Seznam, robots.Bing, robots.Yandex, robots.RFC9309} {
		if other.Name != old.Name {
			pairs = append(pairs, [2]robots.Dialect{old, other})
		}
	}
	return pairs
}

// compare compares a pair of files for every crawler. Crawlers with equal rules on both
// sides share a comparison, and those in the same groups what is declared.
func (d *differ) compare(pair [2]source, before, after robots.Dialect) section {
	s := section{old: before, new: after}
	o := compare.Options{Steps: d.budget, SkipRobotsTxt: s.between()}
	var all [2]func(robots.Dialect) *robots.Rules
	for side := range all {
		all[side] = func(dialect robots.Dialect) *robots.Rules {
			return d.rules(pair[side], dialect, d.std.now(), nil)
		}
	}
	names := d.crawlers([2]*robots.File{all[0](before).File(), all[1](after).File()}, before, after)
	rules := [2][]*robots.Rules{d.rulesFor(names, before, all[0]), d.rulesFor(names, after, all[1])}
	compared := map[[2][sha256.Size]byte]*comparison{}
	made := map[[2]*robots.Rules]*crawler{}
	for i, name := range names {
		c := &crawler{name: name, dialect: after.Name, rules: [2]*robots.Rules{rules[0][i], rules[1][i]}}
		if other := made[c.rules]; other != nil {
			c.shared, c.declared = other.shared, other.declared
		} else {
			made[c.rules] = c
			key := [2][sha256.Size]byte{keyOf(c.rules[0]), keyOf(c.rules[1])}
			if c.shared = compared[key]; c.shared == nil {
				c.shared = s.compareRules(c.rules, o)
				compared[key] = c.shared
			}
			c.declared = declared(c.rules[0], c.rules[1])
		}
		c.shared.important = c.shared.important || isImportant(name) || slices.Contains(d.agents, name)
		if !s.between() {
			c.notes = append(c.notes, groupNote(c.rules)...)
		} else if a, b := c.rules[0].Match(robotsTxt), c.rules[1].Match(robotsTxt); a.Allowed != b.Allowed {
			raw, reason := before.Name, reasonOf(a)
			if a.Allowed {
				raw, reason = after.Name, reasonOf(b)
			}
			c.notes = append(c.notes, "/robots.txt excluded: only "+raw+" does not exempt it ("+reason+")")
		}
		s.crawlers = append(s.crawlers, c)
	}
	return s
}

// rulesFor returns the rules of each crawler. Crawlers in the same groups share them.
func (d *differ) rulesFor(names []string, dialect robots.Dialect, of func(robots.Dialect) *robots.Rules) []*robots.Rules {
	var all robots.Crawlers
	for _, name := range names {
		all.Add(dialect, d.tokensOf(name)...)
	}
	return all.RulesBy(of)
}

// tokensOf returns the product tokens of a crawler, given with -a or named in a file.
func (d *differ) tokensOf(name string) []string {
	if tokens := d.tokens[name]; tokens != nil {
		return tokens
	}
	return []string{name}
}

// robotsTxt is the path of every robots.txt.
var robotsTxt = robots.RawPath("/robots.txt")

// crawlers returns the crawlers of --agent, else * and every crawler that either file
// names, sorted.
func (d *differ) crawlers(files [2]*robots.File, before, after robots.Dialect) []string {
	var names []string
	for _, a := range d.agents {
		if !slices.Contains(names, a) {
			names = append(names, a)
		}
	}
	if len(d.agents) == 0 {
		names = append(files[0].Crawlers(before), files[1].Crawlers(after)...)
		slices.Sort(names)
		names = append([]string{anyCrawler}, slices.Compact(names)...)
	}
	if d.auto {
		names = slices.DeleteFunc(names, func(name string) bool {
			own, _ := ask.DialectFor(ask.AutoDialect, d.tokensOf(name)...) // never an error
			return own.Name != after.Name
		})
	}
	return names
}

// keyOf identifies rules of one dialect by their text.
func keyOf(r *robots.Rules) (sum [sha256.Size]byte) {
	h := sha256.New()
	if reason, none := r.FallbackReason(); none {
		_, _ = io.WriteString(h, reason.String())
	}
	for rule := range r.All() {
		_, _ = io.WriteString(h, rule.Directive()+":"+rule.Path()+"\n") // a path has no line end
	}
	h.Sum(sum[:0])
	return sum
}

// ruleLines returns the lines of rules.
func ruleLines(r *robots.Rules) []int {
	var lines []int
	for rule := range r.All() {
		lines = append(lines, rule.Line())
	}
	return lines
}

// groupNote reports that a different group applies to a crawler than before.
func groupNote(rules [2]*robots.Rules) []string {
	kind := [2]string{}
	for i, r := range rules {
		switch g := r.Group(); {
		case g.IsZero():
			kind[i] = "none"
		case g.Token() == "*":
			kind[i] = "star"
		default:
			kind[i] = "own"
		}
	}
	note := map[[2]string]string{
		{"own", "star"}:  "no group names it any more; the * group applies instead",
		{"own", "none"}:  "no group names it any more, and no * group applies; everything is allowed",
		{"star", "own"}:  "a group names it now; the * group no longer applies",
		{"none", "own"}:  "a group names it now; before, no group applied",
		{"star", "none"}: "the * group was removed; everything is allowed for crawlers without a group",
		{"none", "star"}: "a * group was added; before, no group applied to crawlers without a group",
	}[kind]
	if note == "" {
		return nil
	}
	return []string{note}
}

// A directed is one of the two directions of a comparison.
type directed struct {
	id    string // newly-blocked or newly-allowed
	name  string // in text
	where compare.Direction
	urls  *urlCount

	severity lint.Severity
	fails    bool // --fail-on selects it
}

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
		{failBlocked, blocked, c.NewlyBlocked, &c.urls.blocked, severity, d.selects(failBlocked, severity)},
		{failAllowed, allowed, c.NewlyAllowed, &c.urls.allowed, lint.Warning, d.selects(failAllowed, lint.Warning)},
	}
}

// selects reports whether --fail-on selects a change.
func (d *differ) selects(kind string, severity lint.Severity) bool {
	return kind == d.failOn || severity >= d.fail
}

// status is the exit status: a failing change counts before an undecided one.
func (d *differ) status() int {
	status := exitAllowed
	for i := range d.sections {
		s := &d.sections[i]
		for _, c := range s.crawlers {
			if d.selects("declared", lint.Warning) && len(c.declared) > 0 || d.selects("groups", lint.Note) && len(c.notes) > 0 {
				return exitDisallowed
			}
			for _, way := range d.directions(s, c.shared) {
				switch {
				case !way.fails:
				case len(way.where.Changes) > 0 || way.urls.n > 0:
					return exitDisallowed
				case !way.where.Complete:
					status = exitUndecided
				}
			}
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
	notes    []string
	dialects []string
	sameRow  bool // all have the line numbers of the first
}

// groups returns the crawlers of a section by result: those without a change together,
// others by comparison.
func (s *section) groups() []*group {
	type key struct {
		shared *comparison
		notes  string
	}
	made := map[key]*group{}
	var list []*group
	for _, c := range s.crawlers {
		k := key{c.shared, strings.Join(c.notes, "\n")}
		if c.shared.Same() && !c.shared.urls.any() {
			k.shared = nil
		}
		g := made[k]
		if g == nil {
			g = &group{comparison: c.shared, notes: c.notes, sameRow: true}
			made[k] = g
			list = append(list, g)
		}
		g.names = append(g.names, c.name)
		if !slices.Contains(g.dialects, c.dialect) {
			g.dialects = append(g.dialects, c.dialect)
		}
		for i, r := range c.rules {
			g.sameRow = g.sameRow && (g.Same() || slices.Equal(ruleLines(r), ruleLines(g.rules[i])))
		}
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

// maxNames limits how many crawlers a line of text names.
const maxNames = 8

// nameList joins names of crawlers, up to a limit.
func nameList(names []string) string {
	rest := ""
	if len(names) > maxNames+1 {
		rest = " and " + strconv.Itoa(len(names)-maxNames) + " more"
		names = names[:maxNames]
	}
	written := make([]string, len(names))
	for i, n := range names {
		written[i] = robots.Printable(cmp.Or(n, `""`))
	}
	return strings.Join(written, ", ") + rest
}
