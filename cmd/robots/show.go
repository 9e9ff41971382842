package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/shapes"
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
	obey   string
	policy pace.Policy
}

func newShow(std *streams) *cobra.Command {
	s := &showCommand{command: newCommand(std), ruleFlags: ruleFlags{maxBytes: noLimit}}
	cmd := &cobra.Command{
		Use: "show [-a TOKEN[,TOKEN]]... [--only PART] {FILE | URL | -}...",
		Long: `Show what a robots.txt states to a crawler besides its rules: its groups, the
crawl rate over the day with the next permitted requests (Crawl-delay,
Request-rate, Visit-time), its sitemaps, and signals on the use of content
(Content-Signal, Content-Usage, License, TDMRep, llms.txt) with notes on values
that contradict each other. Each argument is a file, - for standard input, or the
URL of a site, whose robots.txt is fetched.

A delay that the dialect ignores is listed and not followed; one that the
standard leaves to the crawler is followed (--obey). With --only sitemaps it
prints the URLs alone. With --redis the first request is that of the fleet.

Exit status: 0 done, 2 invalid usage or input, 3 undecided: a robots.txt is
unreachable and there is no earlier copy.`,
		Example: `  robots show https://example.com/
  robots show robots.txt -a SeznamBot --pages 1800
  robots show robots.txt --only sitemaps
  robots show robots.txt --only delays --at 2026-01-31T17:58:00Z --zone Europe/Prague
  robots show - --only signals --format json < robots.txt`,
	}
	f := cmd.Flags()
	s.crawlerFlags.register(cmd, false)
	f.StringSliceVar(&s.only, "only", nil, "`PART` parts to show: "+strings.Join(showParts, ", "))
	complete(cmd, "only", showParts)
	f.IntVar(&s.pages, "pages", 1000, "`N` number of pages in the estimate of a crawl")
	s.formatFlag(cmd)
	f.StringVar(&s.policy.Zone, "zone", "UTC", "`NAME` time zone of Visit-time and Request-rate, such as Europe/Prague")
	f.DurationVar(&s.policy.Floor, "floor", 0, "`DURATION` minimum interval between requests, such as 2s")
	f.DurationVar(&s.policy.Ceiling, "ceiling", 0, "`DURATION` maximum interval between requests, whatever the site declares, such as 1m")
	f.StringVar(&s.obey, "obey", waysToObey[0], "`WHICH` delays to follow: unless-ignored (by the dialect), honoured (by it), declared (all)")
	complete(cmd, "obey", waysToObey)
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
	sources, live, err := s.named(ctx, &s.site, dialectsOf(list), s.maxBytes, s.args...)
	if err != nil {
		return exitBad, err
	}
	defer live.close()
	var file *robots.File
	if len(sources) == 1 {
		file = sources[0].File
	}
	s.warnCrawlers(list, file)
	status := exitAllowed
	for i, from := range sources {
		j := judge{command: s.command, ruleFlags: s.ruleFlags, crawlers: list}
		for k, rules := range j.rulesIn(from) {
			v := view{showCommand: s, live: live, name: s.args[i], from: from, crawler: list[k], rules: rules.Rules, first: i+k == 0}
			known, err := v.write(ctx)
			if err != nil {
				return exitBad, err
			}
			if !known {
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
	if s.policy.Obey = pace.Obey(s.obey); !slices.Contains(waysToObey, s.obey) {
		return fmt.Errorf("unknown --obey %q (known: unless-ignored, honoured, declared)", clip(s.obey))
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
	live    *live // nil if nothing is fetched
	name    string
	from    ask.Source
	crawler Crawler
	rules   *robots.Rules
	first   bool // of the run
}

// jsonView is the JSON of show, with what its text has besides: a part is there if it is shown.
type jsonView struct {
	Schema   int           `json:"schema"`
	Agent    []string      `json:"agent"`
	Group    *jsonGroup    `json:"group"`
	Dialect  string        `json:"dialect"`
	Groups   []groupCount  `json:"groups,omitzero"`
	Delays   *jsonSchedule `json:"delays,omitempty"`
	Sitemaps []string      `json:"sitemaps,omitzero"`
	Signals  []siteSignal  `json:"signals,omitzero"`
	Notes    []shapes.Note `json:"notes,omitzero"`
	File     string        `json:"file,omitempty"` // as given; a site has robots_url
	*jsonState
	NextTry *string `json:"next_try,omitempty"`

	state  string // of the fetch
	delays *schedule
	notes  *robots.Explanation
}

// write writes the parts, and reports whether the rules of the site are known.
func (v *view) write(ctx context.Context) (known bool, err error) {
	known = isKnown(v.rules)
	j := jsonView{Schema: 1, Agent: v.rules.Tokens(), Dialect: v.rules.Dialect().Name, Group: newJSONGroup(v.rules.Group())}
	if len(j.Agent) == 0 { // a name without a product token
		j.Agent = v.crawler.Tokens
	}
	if v.from.File != nil {
		j.File = v.name
	}
	if r := v.from.Record; r != nil {
		j.state = v.live.stateLine(r, v.rules.State(), v.rules.State().Text())
		j.jsonState = newJSONState(r, v.rules.State().Text())
		if !known && !r.NextTry.IsZero() {
			j.NextTry = notEmpty(stamp(r.NextTry))
		}
	}
	if _, fallback := v.rules.FallbackReason(); fallback && j.state != "" {
		v.warn("%s", j.state)
		j.state = ""
	}
	if v.shows(partGroups) {
		j.Groups = v.groups()
	}
	if known && v.shows(partDelays) {
		if j.delays, err = v.schedule(ctx); err != nil {
			return known, err
		}
		j.Delays = j.delays.json()
	}
	if v.shows(partSitemaps) {
		j.Sitemaps = append([]string{}, v.rules.Sitemaps()...)
	}
	if v.shows(partSignals) {
		j.Signals, j.notes = v.signals()
		j.Notes = jsonNotes(j.notes)
	}
	if v.format == formatJSON {
		v.std.encode(j)
	} else if known {
		v.print(&j)
	}
	return known, nil
}

// print writes the parts for people.
func (v *view) print(j *jsonView) {
	w, p := v.std.out, v.palette
	switch {
	case slices.Equal(v.only, []string{partSitemaps}):
		for _, s := range j.Sitemaps { // as written, except that a terminal gets no control characters
			if v.std.terminal {
				s = robots.Printable(s)
			}
			fmt.Fprintln(w, s)
		}
		return
	case !v.first:
		fmt.Fprintln(w)
	}
	group := "no group applies"
	if j.Group != nil {
		group = "group " + j.Group.Token + ", " + lineList(j.Group.Lines)
	}
	title := robots.Printable((&textFile{name: v.name}).title())
	fmt.Fprintf(w, "%s  %s\n", p.paint(bold, title), p.paint(faint, "("+robots.Printable(v.crawler.Name+", "+j.Dialect+", "+group)+")"))
	if j.state != "" {
		fmt.Fprintln(w, p.paint(faint, robots.Printable(j.state)))
	}
	part := func(title string, n int) {
		if heading(w, p, title); n == 0 {
			fmt.Fprintln(w, "  none")
		}
	}
	if v.shows(partGroups) {
		part("Groups", len(j.Groups))
		var rows [][]string
		for _, g := range j.Groups {
			rows = append(rows, []string{"  " + robots.Printable(g.Token), count(g.Rules, "rule") + ", " + lineList(g.Lines)})
		}
		align(w, rows)
	}
	if j.delays != nil {
		j.delays.write(w, p)
	}
	if v.shows(partSitemaps) {
		part("Sitemaps", len(j.Sitemaps))
		for _, s := range j.Sitemaps {
			fmt.Fprintln(w, "  "+robots.Printable(s))
		}
	}
	if v.shows(partSignals) {
		part("Signals", len(j.Signals))
		printSignals(w, p, j.Signals)
		printNotes(w, p, j.notes)
	}
}

// A groupCount has the groups for one name.
type groupCount struct {
	Token string `json:"token"`
	Lines []int  `json:"lines"`
	Rules int    `json:"rules"`
}

// groups returns the names in the file with their groups, in file order.
func (v *view) groups() []groupCount {
	list := []groupCount{}
	f := v.rules.File()
	if f == nil {
		return list
	}
	d := v.rules.Dialect()
	var all robots.Crawlers
	for _, name := range append(f.Crawlers(d), anyCrawler) {
		all.Add(d, name)
	}
	listed := map[string]bool{}
	for _, r := range all.RulesBy(func(d robots.Dialect) *robots.Rules { return v.ruleFlags.rules(v.from, d, v.std.now(), nil) }) {
		if g := r.Group(); !g.IsZero() && !listed[g.Token()] {
			listed[g.Token()] = true
			list = append(list, groupCount{g.Token(), g.Lines(), r.Len()})
		}
	}
	slices.SortStableFunc(list, func(a, b groupCount) int { return a.Lines[0] - b.Lines[0] })
	return list
}

// maxNotes limits the notes, as those of an explanation are.
const maxNotes = 50

// signals returns the signals that apply to the crawler, with notes.
func (v *view) signals() ([]siteSignal, *robots.Explanation) {
	list := append([]siteSignal{}, signalsOf(v.rules, nil)...)
	notes := append(remarks(v.rules), disagreements(list)...)
	slices.SortStableFunc(notes, func(a, b robots.Note) int { return a.Line - b.Line })
	shown := min(len(notes), maxNotes)
	return list, &robots.Explanation{Notes: notes[:shown], Dropped: len(notes) - shown}
}
