package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/spf13/cobra"
)

// Formats that reviews of a change show.
const (
	formatGitHub = "github"
	formatJUnit  = "junit"
)

// The values of --fail-on.
const (
	failBlocked = "newly-blocked"
	failOpen    = "newly-open"
	failAny     = "any"
	failNever   = "never"
)

// A differ is one run of the verb diff.
type differ struct {
	*call
	dialectsOf string // the file of --dialects
	urls       string // the file of --urls
	failOn     string
	budget     int // steps a direction
	limit      int // changes shown of a crawler in a direction, 0 for all

	names    [2]string // of the old and the new file, as they were given
	sections []section
	read     int // URLs of --urls
}

func diffCommand(std *streams, status *int) *cobra.Command {
	d := &differ{call: newCall(std)}
	d.formats = []string{formatGitHub, formatJUnit, formatMarkdown}
	cmd := &cobra.Command{
		Use:   "diff [-a TOKEN]... [-d DIALECT] OLD NEW | --dialects FILE",
		Short: "Say what a change of a robots.txt blocks and opens",
		Long: `Diff compares two robots.txt files over all URLs: for every crawler that either
names, and for * (everyone else), it proves that both answer alike, or gives a
shortest URL that NEW blocks or opens, for each rule that causes it. What the
files declare beside rules (delays, sitemaps, signals) is compared too. OLD and
NEW are files, - for standard input, or URLs of sites.

The proof covers every URL that a client can send, escapes of letters, broken
escapes and /../ included. A crawler is compared by its own name alone; one that takes another name's group
when it finds none of its own, as Googlebot-Image does, has no line of its own
until a file names it.

With --dialects one FILE is compared with itself as engines read it: --dialect
(the standard) against each of google, google-cpp, seznam, bing and yandex, over
normalized URLs (RFC 3986 section 6.2.2) and without /robots.txt itself.

Exit status: 0 nothing that --fail-on names, 1 something of it, 2 bad use, a file
that cannot be read or a site out of reach, 3 nothing of it is known, but not all
is decided (--budget). Of --dialect all every dialect counts.`,
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
	f.StringArrayVarP(&d.agents, "agent", "a", nil, "compare only for the crawler with this product `TOKEN`; repeat it for\nmore (default * and every crawler that is named)")
	f.StringVarP(&d.dialect, "dialect", "d", robots.RFC9309.Name, "read the files as `NAME` does: "+strings.Replace(dialectList(), " google-legacy", "\ngoogle-legacy", 1)+", or all for each of them")
	complete(cmd, "dialect", append(dialectNames(), allDialects))
	f.StringVar(&d.dialectsOf, "dialects", "", "compare how engines read this one `FILE`")
	f.StringVar(&d.urls, "urls", "", "count the URLs of this `FILE` that change: a list, a sitemap or an\naccess log, - for standard input")
	f.StringVar(&d.failOn, "fail-on", failAny, "exit with 1 on this `CHANGE`: newly-blocked, newly-open, any, also of\nwhat is declared, or never")
	complete(cmd, "fail-on", []string{failBlocked, failOpen, failAny, failNever})
	budgetFlag(cmd, &d.budget)
	f.Func("limit", "show at most `N` changes of a crawler in each direction, 0 for all\n(default 10, of json and junit all)", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return fmt.Errorf("--limit %s is not a number of changes, 0 or more", strconv.Quote(clip(s)))
		}
		d.limit = int(n)
		return nil
	})
	d.site.register(cmd)
	registerFormat(cmd, &d.format, d.formats...)
	d.colourFlag(cmd)
	return cmd
}

// budgetFlag declares how much work a proof may take.
func budgetFlag(cmd *cobra.Command, budget *int) {
	*budget = compare.DefaultSteps
	cmd.Flags().Func("budget", "give up a proof after `N` steps of some ten nanoseconds\n(default "+strconv.Itoa(compare.DefaultSteps)+")", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil || n == 0 {
			return fmt.Errorf("--budget %s is not a number of steps, 1 to 2147483647", strconv.Quote(clip(s)))
		}
		*budget = int(n)
		return nil
	})
}

// helps says which budget may decide what a budget has not.
func helps(budget int) string {
	return "--budget " + strconv.Itoa(min(budget, (1<<31-1)/10)*10) + " may help"
}

// A section is the comparison of all crawlers in one dialect, or in two.
type section struct {
	old, new robots.Dialect
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
	rules    [2]*robots.Rules
	shared   *comparison // with all whose rules are equal
	declared []declaredChange
	notes    []string
}

// A comparison is what changes for crawlers whose rules are equal.
type comparison struct {
	rules [2]*robots.Rules // of one of them
	compare.Result
	rewritten bool // browsers send other URLs in place of all that differ
	urls      weight
}

// compareRules compares the rules of a crawler over all URLs, or those of two dialects over
// URLs in normal form: on others engines differ for nearly every rule.
func (s *section) compareRules(rules [2]*robots.Rules, o compare.Options) *comparison {
	if s.between() {
		o.URLs = compare.NormalURLs
	}
	c := &comparison{rules: rules, Result: compare.Rules(rules[0], rules[1], o)}
	sent := func(c compare.Change) bool { return c.Normal && !strings.Contains(c.Path, "'") }
	if c.Differs() && !slices.ContainsFunc(slices.Concat(c.NewlyBlocked.Changes, c.NewlyOpen.Changes), sent) {
		o.URLs = compare.BrowserURLs
		c.rewritten = compare.Rules(rules[0], rules[1], o).Same()
	}
	return c
}

// complete reports whether all is decided.
func (c *comparison) complete() bool { return c.NewlyBlocked.Complete && c.NewlyOpen.Complete }

func (d *differ) diff(ctx context.Context) (int, error) {
	if err := d.check(); err != nil {
		return exitBad, err
	}
	names := d.args
	if d.dialectsOf != "" {
		names = []string{d.dialectsOf}
	}
	sources, err := d.sources(ctx, names)
	if err != nil {
		return exitBad, err
	}
	d.names = [2]string{names[0], names[len(names)-1]}
	d.warnAgents()
	pair := [2]source{sources[0], sources[len(sources)-1]}
	for _, p := range d.pairs() {
		if err := ctx.Err(); err != nil {
			return exitBad, errInterrupted
		}
		d.sections = append(d.sections, d.compare(pair, p[0], p[1]))
	}
	if err := d.weigh(); err != nil {
		return exitBad, err
	}
	if err := d.write(); err != nil {
		return exitBad, err
	}
	return d.status(), nil
}

// check finds what is wrong with a call before anything is read.
func (d *differ) check() error {
	switch {
	case !slices.Contains([]string{failBlocked, failOpen, failAny, failNever}, d.failOn):
		return fmt.Errorf("unknown --fail-on %q: it is one of newly-blocked, newly-open, any and never", clip(d.failOn))
	case d.given("dialects") && len(d.args) > 0:
		return fmt.Errorf("unexpected argument %q: --dialects takes the one file that is compared", clip(d.args[0]))
	case d.given("dialects") && d.dialectsOf == "":
		return errors.New("the name after --dialects is empty")
	case d.given("dialects") && d.dialect == allDialects:
		return errors.New("--dialects compares one dialect with others: name it with -d, or leave -d out")
	case d.given("urls") && d.urls == "":
		return errors.New("the name after --urls is empty")
	case d.urls == "-" && (slices.Contains(d.args, "-") || d.dialectsOf == "-"):
		return errors.New("standard input can be read only once")
	case d.given("dialects"):
	case len(d.args) < 2:
		return errors.New("two files are compared: name the old one and the new one, or one with --dialects FILE")
	case len(d.args) > 2:
		return fmt.Errorf("unexpected argument %q: two files are compared", clip(d.args[2]))
	}
	if d.dialect == allDialects {
		d.dialects = robots.Dialects()
	} else {
		one, err := dialectByName(d.dialect)
		if err != nil {
			return err
		}
		d.dialects = []robots.Dialect{one}
	}
	if !d.given("limit") && d.format != formatJSON && d.format != formatJUnit {
		d.limit = 10
	}
	return checkAgents(d.agents, d.dialects...)
}

// pairs returns the dialects in which the old and the new file are read.
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

// compare compares a pair of files for every crawler. Those whose rules are equal on
// both sides are compared once.
func (d *differ) compare(pair [2]source, before, after robots.Dialect) section {
	s := section{old: before, new: after}
	o := compare.Options{Steps: d.budget, SkipRobotsTxt: s.between()}
	compared := map[[2][sha256.Size]byte]*comparison{}
	var files [2]*robots.File
	rulesOf := func(side int, names ...string) *robots.Rules {
		return d.compile(pair[side], []robots.Dialect{before, after}[side], d.maxBytes, d.std.now(), names).Rules
	}
	for side := range files {
		files[side] = rulesOf(side, "*").File()
	}
	named := [2]census{censusOf(files[0], before), censusOf(files[1], after)}
	made := map[[2]string]*crawler{}
	for _, name := range d.crawlers(files, before, after) {
		c := &crawler{name: name}
		together := [2]string{named[0].of(name), named[1].of(name)}
		if other := made[together]; other != nil {
			c.rules, c.shared, c.declared = other.rules, other.shared, other.declared
		} else {
			made[together] = c
			c.rules = [2]*robots.Rules{rulesOf(0, name), rulesOf(1, name)}
			key := [2][sha256.Size]byte{keyOf(c.rules[0]), keyOf(c.rules[1])}
			if c.shared = compared[key]; c.shared == nil {
				c.shared = s.compareRules(c.rules, o)
				compared[key] = c.shared
			}
			if named[0].apart || named[1].apart || len(s.crawlers) == 0 {
				c.declared = declared(c.rules[0], c.rules[1])
			} else {
				c.declared = s.crawlers[0].declared
			}
		}
		if !s.between() {
			c.notes = append(c.notes, groupNote(c.rules)...)
		} else if a, b := c.rules[0].Match(robotsTxt), c.rules[1].Match(robotsTxt); a.Allowed != b.Allowed {
			raw, says := before.Name, reasonOf(a)
			if a.Allowed {
				raw, says = after.Name, reasonOf(b)
			}
			c.notes = append(c.notes, "/robots.txt itself is left out: "+raw+" alone does not exempt it ("+says+")")
		}
		s.crawlers = append(s.crawlers, c)
	}
	return s
}

// A census says which crawlers a file names together: whom the same lines name, or
// none, obeys the same rules and records.
type census struct {
	dialect robots.Dialect
	rows    map[string][]byte // of each name the rows in which it stands, four bytes for each
	apart   bool              // some group has a record of its own, such as a delay
}

// censusOf counts the rows of user-agent lines with nothing between them that counts.
// What follows in a group holds for the row whole: also a delay, which belongs to
// the lines directly above it (D-08).
func censusOf(f *robots.File, d robots.Dialect) census {
	c := census{dialect: d, rows: map[string][]byte{}}
	row, group, open := 0, -1, false
	for r := range f.Readings(d) {
		if r.Field != robots.FieldUserAgent {
			open = false
			c.apart = c.apart || r.Group >= 0 && r.Field != robots.FieldAllow && r.Field != robots.FieldDisallow
			continue
		}
		if !open || r.Group != group {
			row, group, open = row+1, r.Group, true
		}
		for _, name := range r.Names {
			rows := c.rows[name]
			if n := len(rows); n == 0 || binary.LittleEndian.Uint32(rows[n-4:]) != uint32(row) {
				c.rows[name] = binary.LittleEndian.AppendUint32(rows, uint32(row))
			}
		}
	}
	return c
}

// of returns what is the same for crawlers of which the same holds.
func (c *census) of(name string) string {
	if tokens := robots.ProductTokens(name); len(tokens) != 1 || tokens[0] != name || name == "*" {
		return "as " + name // which may stand for several names, or for everyone else
	}
	if slices.ContainsFunc(strings.Fields(c.dialect.IgnoreStar), func(s string) bool { return strings.EqualFold(s, name) }) {
		return "as " + name
	}
	if !c.dialect.ExactCase {
		lower := []byte(name) // ASCII alone, as the engine compares
		for i, b := range lower {
			if 'A' <= b && b <= 'Z' {
				lower[i] += 'a' - 'A'
			}
		}
		name = string(lower)
	}
	return "in " + string(c.rows[name])
}

// robotsTxt is the path of every robots.txt.
var robotsTxt = robots.RawPath("/robots.txt")

// crawlers returns who is compared: who is named with --agent, else everyone whom no
// group names and then every crawler that either file names, sorted.
func (d *differ) crawlers(files [2]*robots.File, before, after robots.Dialect) []string {
	var names []string
	if len(d.agents) > 0 {
		for _, a := range d.agents {
			if !slices.Contains(names, a) {
				names = append(names, a)
			}
		}
		return names
	}
	names = append(files[0].Crawlers(before), files[1].Crawlers(after)...)
	slices.Sort(names)
	return append([]string{"*"}, slices.Compact(names)...)
}

// keyOf is the same for rules of one dialect that answer alike because they are
// written alike.
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

// groupNote says in words that another group holds for a crawler than before.
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
	switch kind {
	case [2]string{"own", "star"}:
		return []string{"no group names it any more: it falls back to the group of *"}
	case [2]string{"own", "none"}:
		return []string{"no group names it any more, and none of * holds for it: it may fetch everything"}
	case [2]string{"star", "own"}:
		return []string{"a group names it now: that of * no longer holds for it"}
	case [2]string{"none", "own"}:
		return []string{"a group names it now: before, none held for it"}
	case [2]string{"star", "none"}:
		return []string{"there is no group of * any more: who is not named may fetch everything"}
	case [2]string{"none", "star"}:
		return []string{"there is a group of * now: before, none held for who is not named"}
	}
	return nil
}

// A directed is one of the two directions of a comparison.
type directed struct {
	name  string // in text
	where compare.Direction
	fails bool   // --fail-on names it
	urls  *tally // of them
}

// directions returns both, what is newly blocked first.
func (d *differ) directions(s *section, c *comparison) [2]directed {
	blocked, open := "newly blocked", "newly open"
	if s.between() {
		blocked, open = "only "+s.new.Name+" blocks", "only "+s.old.Name+" blocks"
	}
	return [2]directed{
		{blocked, c.NewlyBlocked, d.failOn == failAny || d.failOn == failBlocked, &c.urls.blocked},
		{open, c.NewlyOpen, d.failOn == failAny || d.failOn == failOpen, &c.urls.open},
	}
}

// status is the exit status: what fails counts before what is undecided.
func (d *differ) status() int {
	status := exitAllowed
	for i := range d.sections {
		s := &d.sections[i]
		for _, c := range s.crawlers {
			if d.failOn == failAny && len(c.declared) > 0 {
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

// shown returns the changes that are shown of a direction, and how many are not.
func (d *differ) shown(changes []compare.Change) ([]compare.Change, int) {
	if d.limit == 0 || len(changes) <= d.limit {
		return changes, 0
	}
	return changes[:d.limit], len(changes) - d.limit
}

// A group is crawlers of a section of which the same is said.
type group struct {
	*comparison
	names   []string
	notes   []string
	sameRow bool // the lines of all are those of the first
}

// groups returns the crawlers of a section by what is said of them: those for whom
// nothing changes together, others by their comparison.
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
		for i, r := range c.rules {
			g.sameRow = g.sameRow && (g.Same() || slices.Equal(ruleLines(r), ruleLines(g.rules[i])))
		}
	}
	return list
}

// result says in words what came of a comparison.
func (d *differ) result(c *comparison) string {
	n := len(c.NewlyBlocked.Changes) + len(c.NewlyOpen.Changes)
	switch {
	case n > 0 && c.rewritten:
		return count(n, "change") + ", only for URLs that browsers rewrite before sending them"
	case n > 0 && c.complete():
		return count(n, "change")
	case n > 0:
		return count(n, "change") + ", perhaps more (" + helps(d.budget) + ")"
	case c.Same():
		return "same (proved)"
	case c.NewlyBlocked.None():
		return "nothing newly blocked (proved), newly open undecided (" + helps(d.budget) + ")"
	case c.NewlyOpen.None():
		return "nothing newly open (proved), newly blocked undecided (" + helps(d.budget) + ")"
	}
	return "undecided (" + helps(d.budget) + ")"
}

// mostNames is how many crawlers a line of text names.
const mostNames = 8

// nameList joins the names of crawlers, of many only the first.
func nameList(names []string, name func(string) string) string {
	rest := ""
	if len(names) > mostNames+1 {
		rest = " and " + strconv.Itoa(len(names)-mostNames) + " more"
		names = names[:mostNames]
	}
	written := make([]string, len(names))
	for i, n := range names {
		written[i] = name(cmp.Or(n, `""`))
	}
	return strings.Join(written, ", ") + rest
}
