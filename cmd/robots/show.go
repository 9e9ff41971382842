package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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

func newShow(std *streams, status *int) *cobra.Command {
	s := &showCommand{command: newCommand(std), ruleFlags: ruleFlags{maxBytes: noLimit}}
	cmd := &cobra.Command{
		Use:   "show [-a TOKEN[,TOKEN]]... [--only PART] {FILE | URL | -}...",
		Short: "Show groups, delays, sitemaps, signals",
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
		DisableFlagsInUseLine: true,
	}
	f := cmd.Flags()
	f.SortFlags = false
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
	cmd.RunE = s.run(status, s.show)
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
	sources, live, err := s.named(ctx, &s.site, list, s.maxBytes, s.args...)
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

// jsonView is the JSON of show: a part is there if it is shown.
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
}

type jsonGroup struct {
	Token string `json:"token"`
	Lines []int  `json:"lines"`
}

// write writes the parts, and reports whether the rules of the site are known.
func (v *view) write(ctx context.Context) (known bool, err error) {
	known = isKnown(v.rules)
	state := ""
	if v.from.Record != nil {
		state = v.live.stateLine(v.from.Record, v.rules.State(), v.rules.State().Text())
	}
	if _, fallback := v.rules.FallbackReason(); fallback && state != "" {
		v.warn("%s", state)
		state = ""
	}
	var delays *schedule
	if known && v.shows(partDelays) {
		if delays, err = v.schedule(ctx); err != nil {
			return known, err
		}
	}
	if v.format == formatJSON {
		return known, v.writeJSON(delays, known)
	}
	if !known {
		return false, nil
	}
	w := v.std.out
	if slices.Equal(v.only, []string{partSitemaps}) {
		v.writeSitemaps("")
		return true, nil
	}
	if !v.first {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s  %s\n", v.palette.paint(bold, robots.Printable((&textFile{name: v.name}).title())), v.palette.paint(faint, "("+v.reader()+")"))
	if state != "" {
		fmt.Fprintf(w, "%s\n", v.palette.paint(faint, robots.Printable(state)))
	}
	if v.shows(partGroups) {
		v.writeGroups()
	}
	if delays != nil {
		delays.write(w, v.palette)
	}
	if v.shows(partSitemaps) {
		heading(w, v.palette, "Sitemaps")
		v.writeSitemaps("  ")
	}
	if v.shows(partSignals) {
		v.writeSignals()
	}
	return true, nil
}

// reader names the crawler, the dialect and the group.
func (v *view) reader() string {
	group := "no group applies"
	if g := v.rules.Group(); !g.IsZero() {
		group = "group " + robots.Printable(g.Token()) + ", " + lineList(g.Lines())
	}
	return robots.Printable(v.crawler.Name) + ", " + v.rules.Dialect().Name + ", " + group
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
	for _, name := range append(f.Crawlers(d), anyCrawler) {
		r := v.ruleFlags.rules(v.from, d, v.std.now(), []string{name})
		if g := r.Group(); !g.IsZero() && !slices.ContainsFunc(list, func(c groupCount) bool { return c.Token == g.Token() }) {
			list = append(list, groupCount{g.Token(), g.Lines(), r.Len()})
		}
	}
	slices.SortStableFunc(list, func(a, b groupCount) int { return a.Lines[0] - b.Lines[0] })
	return list
}

func (v *view) writeGroups() {
	list := v.groups()
	heading(v.std.out, v.palette, "Groups")
	names := 0
	for _, g := range list {
		names = max(names, min(columns(g.Token), maxRuleColumn))
	}
	for _, g := range list {
		fmt.Fprintf(v.std.out, "  %s  %s, %s\n", fill(robots.Printable(g.Token), names), count(g.Rules, "rule"), lineList(g.Lines))
	}
	if len(list) == 0 {
		fmt.Fprintln(v.std.out, "  none")
	}
}

// writeSitemaps lists sitemaps as written. A terminal gets no control characters.
func (v *view) writeSitemaps(indent string) {
	list := v.rules.Sitemaps()
	for _, s := range list {
		if v.std.terminal || indent != "" {
			s = robots.Printable(s)
		}
		fmt.Fprintln(v.std.out, indent+s)
	}
	if len(list) == 0 && indent != "" {
		fmt.Fprintln(v.std.out, indent+"none")
	}
}

func (v *view) writeSignals() {
	w := v.std.out
	heading(w, v.palette, "Signals")
	list, e := v.signals()
	if len(list) == 0 {
		fmt.Fprintln(w, "  none")
	}
	printSignals(w, v.palette, list)
	printNotes(w, v.palette, e)
}

// maxNotes limits the notes, as those of an explanation are.
const maxNotes = 50

// signals returns the signals that apply to the crawler, with notes.
func (v *view) signals() ([]siteSignal, *robots.Explanation) {
	list := signalsOf(v.rules, nil)
	notes := append(remarks(v.rules), disagreements(list)...)
	slices.SortStableFunc(notes, func(a, b robots.Note) int { return a.Line - b.Line })
	e := &robots.Explanation{Notes: notes}
	if len(notes) > maxNotes {
		e.Notes, e.Dropped = notes[:maxNotes], len(notes)-maxNotes
	}
	return list, e
}

func (v *view) writeJSON(delays *schedule, known bool) error {
	j := jsonView{Schema: 1, Agent: v.rules.Tokens(), Dialect: v.rules.Dialect().Name}
	if v.from.File != nil {
		j.File = v.name
	}
	if len(j.Agent) == 0 { // rules shared by crawlers
		j.Agent = v.crawler.Tokens
	}
	if g := v.rules.Group(); !g.IsZero() {
		j.Group = &jsonGroup{g.Token(), g.Lines()}
	}
	if delays != nil {
		j.Delays = delays.json()
	}
	if v.shows(partGroups) {
		j.Groups = v.groups()
	}
	if v.shows(partSitemaps) {
		j.Sitemaps = append([]string{}, v.rules.Sitemaps()...)
	}
	if v.shows(partSignals) {
		list, e := v.signals()
		j.Signals, j.Notes = append([]siteSignal{}, list...), jsonNotes(e)
	}
	if r := v.from.Record; r != nil {
		j.jsonState = newJSONState(r, v.rules.State().Text())
		if !known && !r.NextTry.IsZero() {
			j.NextTry = notEmpty(stamp(r.NextTry))
		}
	}
	return encode(v.std.out, j)
}

// start is the time from which the schedule is made.
func (s *showCommand) start() time.Time {
	if s.at.IsZero() {
		return s.std.now()
	}
	return s.at
}
