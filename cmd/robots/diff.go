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
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
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

func diffCommand(std *screen.Streams) *cobra.Command {
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
	d.formatFlag(cmd, render.FormatSARIF, render.FormatJUnit, render.FormatGitHub, formatMarkdown)
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
	pair := [2]answer.Source{files[0].At(d.std.Now()), files[len(files)-1].At(d.std.Now())}
	for _, s := range d.sections {
		s.compare(pair, d.chosen, answer.DiffOptions{Steps: d.budget, Changes: d.limit})
	}
	if err := d.countURLs(); err != nil {
		return exitBad, err
	}
	r := d.report()
	d.write(r)
	return statusOfReport(r), nil
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
	if err := source.StdinOnce(append(slices.Clone(names), d.urls)...); err != nil {
		return nil, err
	}
	if !d.given("limit") && (d.format == formatText || d.format == formatMarkdown || d.format == render.FormatGitHub) {
		d.limit = 10
	}
	return names, d.choose()
}

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
		d.dialects = answer.CurrentDialects()
		add(robots.Dialect{}, robots.Dialect{})
	default:
		add(one, one)
	}
	word := d.dialect
	if word == ask.AllDialects {
		word = d.dialects[0].Name
	}
	chosen, err := d.parseAgents(word)
	for _, c := range chosen {
		if !slices.ContainsFunc(d.chosen, func(o Crawler) bool { return o.Name == c.Name }) {
			d.chosen = append(d.chosen, c)
		}
	}
	return err
}

// A section is a part of the output: two files in one dialect or each crawler's own, or one
// file as two dialects read it.
type section struct {
	dialects [2]robots.Dialect // of the old and the new side, zero for the crawler's own
	*answer.Difference
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

// compare compares two files for the chosen crawlers, or else * and all crawlers that they
// name.
func (s *section) compare(pair [2]answer.Source, chosen []Crawler, o answer.DiffOptions) {
	who := s.named(pair, chosen)
	o.Important = len(chosen) > 0
	if s.between() {
		o.NewDialect = s.dialects[1]
	}
	s.Difference = answer.Diff(pair[0], pair[1], who, o)
}

// named returns the chosen crawlers in the dialect of the old side, or else * and those for which
// the files can differ.
func (s *section) named(pair [2]answer.Source, chosen []Crawler) (list []answer.Crawler) {
	for _, c := range chosen {
		if s.auto() {
			list = append(list, c.Crawler)
		} else {
			list = append(list, answer.InDialect(s.dialects[0], c.Name, c.Given()...))
		}
	}
	if len(chosen) == 0 {
		return answer.Comparable(pair[0], pair[1], s.dialects)
	}
	return list
}

// A direction is one of the two directions of a comparison.
type direction struct {
	id   string // newly-blocked or newly-allowed
	name string // in text
	*answer.Direction
}

// directions returns both directions of the result of a group.
func (s *section) directions(g *answer.DifferenceGroup) []direction {
	blocked := direction{id: failBlocked, name: "newly blocked", Direction: &g.Blocked}
	allowed := direction{id: failAllowed, name: "newly allowed", Direction: &g.Allowed}
	if s.between() {
		blocked.name = "only " + s.dialects[1].Name + " blocks"
		allowed.name = "only " + s.dialects[0].Name + " blocks"
	}
	return []direction{blocked, allowed}
}

// reasons describes why a URL is allowed on one side and blocked on the other.
func (s *section) reasons(c compare.Change) (before, after string) {
	before, after = "old", "new"
	if s.between() {
		before, after = s.dialects[0].Name, s.dialects[1].Name
	}
	before += " " + answer.Reason(c.Old)
	after += " " + answer.Reason(c.New)
	if !c.Shortest {
		after += " (possibly not the shortest)"
	}
	return before, after
}

// crawlersText names the crawlers of a group and their dialects.
func (s *section) crawlersText(g *answer.DifferenceGroup) string {
	separator := ", "
	if s.between() {
		separator = " → "
	}
	return nameList(g.Names) + " (" + strings.Join(g.Dialects, separator) + ")"
}

// severity returns the severity of changes in one direction.
func severity(g *answer.DifferenceGroup, d direction) lint.Severity {
	if g.Important && d.id == failBlocked {
		return lint.Error
	}
	return lint.Warning
}

// selects reports whether --fail-on selects a change.
func (d *differ) selects(kind string, severity lint.Severity) bool {
	return kind == d.failOn || severity >= failLevel(d.failOn)
}

// statusOfReport is the exit status: a failing change counts before an undecided one.
func statusOfReport(r *render.Report) int {
	status := exitAllowed
	for _, f := range r.Findings {
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

// result describes the result of a group.
func (d *differ) result(g *answer.DifferenceGroup) string {
	n := len(g.Blocked.Changes) + len(g.Allowed.Changes)
	switch {
	case n > 0 && g.OnlyRewritten:
		return render.Count(n, "change") + ", only for URLs that browsers rewrite before sending them"
	case n > 0 && g.Complete():
		return render.Count(n, "change")
	case n > 0:
		return render.Count(n, "change") + ", possibly more (" + helps(d.budget) + ")"
	case g.Same():
		return "same (proved)"
	case g.Blocked.None():
		return "nothing newly blocked (proved), newly allowed undecided (" + helps(d.budget) + ")"
	case g.Allowed.None():
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
	return render.Listed(written, 8)
}
