package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/cobra"
)

// The parts of a robots.txt that show prints, the values of --only.
const (
	partGroups   = "groups"
	partDelays   = "delays"
	partSitemaps = "sitemaps"
	partSignals  = "signals"
)

var showParts = []string{partGroups, partDelays, partSitemaps, partSignals}

// A showCommand is one run of show.
type showCommand struct {
	*command
	crawlerFlags
	ruleFlags
	site   siteFlags
	only   []string
	pages  int
	policy pace.Policy
}

func newShow(std *streams) *cobra.Command {
	s := &showCommand{command: newCommand(std)}
	cmd := &cobra.Command{Use: "show"}
	f := cmd.Flags()
	s.crawlerFlags.register(cmd, false)
	f.StringSliceVar(&s.only, "only", nil, "`PART` parts to show: "+strings.Join(showParts, ", "))
	complete(cmd, "only", showParts)
	f.IntVar(&s.pages, "pages", 1000, "`N` number of pages in the estimate of a crawl")
	s.formatFlag(cmd)
	f.StringVar(&s.policy.Zone, "zone", "UTC", "`NAME` time zone of Visit-time and Request-rate, such as Europe/Prague")
	f.DurationVar(&s.policy.Floor, "floor", 0, "`DURATION` minimum interval between requests, such as 2s")
	f.DurationVar(&s.policy.Ceiling, "ceiling", 0, "`DURATION` maximum interval between requests, whatever the site declares, such as 1m")
	choiceFlag(cmd, (*string)(&s.policy.Obey), "obey", waysToObey[0], "`WHICH` delays to follow: unless-ignored (by the dialect), honoured (by it), declared (all)", waysToObey...)
	s.site.register(cmd)
	s.site.pages = true
	registerMaxBytes(cmd, &s.maxBytes)
	timeFlag(cmd, &s.at, "`TIME` time to start from, such as 2026-01-31T18:00:00Z (default now)")
	s.colorFlag(cmd)
	cmd.RunE = s.run(s.show)
	return cmd
}

func (s *showCommand) show(ctx context.Context) (int, error) {
	if err := s.check(); err != nil {
		return exitBad, err
	}
	list, _, err := s.crawlers()
	if err != nil {
		return exitBad, err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	files, live, err := s.named(ctx, &s.site, dialectsOf(list), s.maxBytes, s.args...)
	if err != nil {
		return exitBad, err
	}
	defer live.close()
	var only *robots.File
	if len(files) == 1 {
		only = files[0].File
	}
	s.warnCrawlers(list, only)
	status := exitAllowed
	for i, f := range files {
		f.name = s.args[i] // as given, for a site too
		for k, c := range list {
			rules := s.rules(f.Source, c.Dialect, s.std.now(), c.Tokens)
			v := view{showCommand: s, textFile: f, live: live, crawler: c, rules: rules, first: i+k == 0}
			v.write(ctx)
			if !isKnown(rules) {
				status = exitUndecided
			}
		}
	}
	return status, nil
}

// check checks the flags and arguments.
func (s *showCommand) check() error {
	if len(s.args) == 0 {
		return errors.New("no robots.txt given: name a file, - for standard input, or the URL of a site")
	}
	for _, part := range s.only {
		if !slices.Contains(showParts, part) {
			return fmt.Errorf("unknown part %q of --only (known: %s)", clip(part), strings.Join(showParts, ", "))
		}
	}
	if s.pages < 0 {
		return fmt.Errorf("--pages %d is not a number of pages, 0 or more", s.pages)
	}
	return s.policy.Check()
}

// waysToObey are the values of --obey.
var waysToObey = []string{string(pace.ObeyUnlessIgnored), string(pace.ObeyDocumented), string(pace.ObeyDeclared)}

func (s *showCommand) shows(part string) bool {
	return len(s.only) == 0 || slices.Contains(s.only, part)
}

// A view is a robots.txt as one crawler reads it.
type view struct {
	*showCommand
	textFile
	live    *live // nil if nothing is fetched
	crawler Crawler
	rules   *robots.Rules
	first   bool // of the run
}

// write writes the parts. The text says nothing else of a site whose rules are not known.
func (v *view) write(ctx context.Context) {
	known, group, dialect := isKnown(v.rules), v.rules.Group(), v.rules.Dialect().Name
	j := jsonObject{
		{"schema", 1}, {"agent", v.crawler.Echo()}, {"group", groupMembers(group)}, {"dialect", dialect},
		{"fallback", v.crawler.Fallback(v.rules)}, {"binds", v.crawler.Binds()},
	}
	w, p := &strings.Builder{}, v.palette
	if !v.first {
		fmt.Fprintln(w)
	}
	place := "no group applies"
	if !group.IsZero() {
		place = "group " + group.Token() + ", " + lineList(group.Lines())
	}
	fmt.Fprintf(w, "%s  %s\n", p.paint(bold, robots.Printable(v.title())), p.paint(faint, "("+robots.Printable(v.crawler.Name+", "+dialect+", "+place)+")"))
	if s := v.crawler.FallbackSentence(v.rules); s != "" {
		fmt.Fprintln(w, p.paint(faint, robots.Printable(s)))
	}
	if v.Record != nil {
		state := v.live.stateLine(v.Record, v.rules.State(), v.rules.State().Text())
		if _, fallback := v.rules.FallbackReason(); fallback {
			v.warn("%s", state)
		} else {
			fmt.Fprintln(w, p.paint(faint, robots.Printable(state)))
		}
	}
	part := func(name, title string, value any, rows [][]string) {
		j = append(j, jsonMember{name, value})
		if heading(w, p, title); len(rows) == 0 {
			fmt.Fprintln(w, "  none")
		}
		align(w, rows)
	}
	if v.shows(partGroups) {
		groups, rows := []jsonObject{}, [][]string{}
		for _, r := range v.groups() {
			g := r.Group()
			groups = append(groups, append(groupMembers(g), jsonMember{"rules", r.Len()}))
			rows = append(rows, []string{"  " + robots.Printable(g.Token()), count(r.Len(), "rule") + ", " + lineList(g.Lines())})
		}
		part(partGroups, "Groups", groups, rows)
	}
	if known && v.shows(partDelays) {
		j = append(j, jsonMember{"delays", v.delays(ctx, w)})
	}
	sitemaps := append([]string{}, v.rules.Sitemaps()...)
	if v.shows(partSitemaps) {
		var rows [][]string
		for _, s := range sitemaps {
			rows = append(rows, []string{"  " + robots.Printable(s)})
		}
		part(partSitemaps, "Sitemaps", sitemaps, rows)
	}
	if v.shows(partSignals) {
		signals := answer.SignalsOf(v.rules)
		part(partSignals, "Signals", signals.Signals, signalRows(p, signals.Signals))
		notes := signals.Notes
		if signals.Dropped > 0 {
			notes = append(notes, answer.Note{Text: "and " + strconv.Itoa(signals.Dropped) + " more"})
		}
		j = append(j, jsonMember{"notes", notes})
		printNotes(w, p, signals.Notes, signals.Dropped)
	}
	if r := v.Record; r == nil {
		j = append(j, jsonMember{"file", v.name})
	} else {
		j = append(j, stateMembers(r, v.rules.State().Text())...)
		j = append(j, jsonMember{"next_try", onlyIf(!known && !r.NextTry.IsZero(), stamp(r.NextTry))})
	}
	switch {
	case v.format == formatJSON:
		v.std.encode(j)
	case known && slices.Equal(v.only, []string{partSitemaps}):
		for _, s := range sitemaps { // as written, except that a terminal gets no control characters
			if v.std.terminal {
				s = robots.Printable(s)
			}
			fmt.Fprintln(v.std.out, s)
		}
	case known:
		_, _ = v.std.out.WriteString(w.String())
	}
}

// groups returns the rules of each group, in file order.
func (v *view) groups() []*robots.Rules {
	d := v.rules.Dialect()
	var all robots.Crawlers
	for _, name := range append(v.rules.File().Crawlers(d), anyCrawler) {
		all.Add(d, name)
	}
	list := all.RulesBy(func(d robots.Dialect) *robots.Rules { return v.showCommand.rules(v.Source, d, v.std.now(), nil) })
	list = slices.DeleteFunc(list, func(r *robots.Rules) bool { return r.Group().IsZero() })
	line := func(r *robots.Rules) int { return r.Group().Lines()[0] }
	slices.SortStableFunc(list, func(a, b *robots.Rules) int { return line(a) - line(b) })
	return slices.CompactFunc(list, func(a, b *robots.Rules) bool { // names without a group have that of *
		return line(a) == line(b) && a.Group().Token() == b.Group().Token()
	})
}
