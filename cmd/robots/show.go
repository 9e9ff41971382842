package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/cobra"
)

// showParts are the values of --only.
var showParts = []string{string(answer.PartGroups), string(answer.PartDelays), string(answer.PartSitemaps), string(answer.PartSignals), string(answer.PartClean)}

// A showCommand is one run of show.
type showCommand struct {
	*command
	crawlerFlags
	ruleFlags
	site   siteFlags
	only   []string
	pages  int
	url    string // to clean by Clean-param
	policy pace.Policy
}

func newShow(std *screen.Streams) *cobra.Command {
	s := &showCommand{command: newCommand(std)}
	cmd := &cobra.Command{Use: "show"}
	f := cmd.Flags()
	s.crawlerFlags.register(cmd, false)
	f.StringSliceVar(&s.only, "only", nil, "`PART` parts to show: "+strings.Join(showParts, ", "))
	complete(cmd, "only", showParts)
	f.IntVar(&s.pages, "pages", 1000, "`N` number of pages in the estimate of a crawl")
	f.StringVar(&s.url, "url", "", "`URL` show the URL without the parameters that Clean-param names")
	s.formatFlag(cmd)
	f.StringVar(&s.policy.Zone, "zone", "UTC", "`NAME` time zone of Visit-time and Request-rate, such as Europe/Prague")
	f.DurationVar(&s.policy.Floor, "floor", 0, "`DURATION` minimum interval between requests, such as 2s")
	f.DurationVar(&s.policy.Ceiling, "ceiling", 0, "`DURATION` maximum interval between requests, whatever the site declares, such as 1m")
	choiceFlag(cmd, (*string)(&s.policy.Obey), "obey", waysToObey[0], "`WHICH` delays to follow: unless-ignored (by the dialect), honored (by it), declared (all)", waysToObey...)
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
	chosen, err := s.choose()
	if err != nil {
		return exitBad, err
	}
	list := chosen.list
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	files, live, err := s.named(ctx, &s.site, dialectsOf(list), s.maxBytes, s.args...)
	if err != nil {
		return exitBad, err
	}
	defer live.Close()
	var only *robots.File
	if len(files) == 1 {
		only = files[0].File
	}
	warnCrawlers(s.std, chosen.named, dialectsOf(list), only)
	status := exitAllowed
	for i, f := range files {
		f.Name = s.args[i] // as given, for a site too
		for k, c := range list {
			v := view{showCommand: s, Text: f, live: live, crawler: c, first: i+k == 0}
			v.write(ctx)
			if !v.known {
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

func (s *showCommand) shows(part answer.Part) bool {
	return len(s.only) == 0 || slices.Contains(s.only, string(part))
}

// A siteOutcome is the outcome of the fetch of a robots.txt.
type siteOutcome struct {
	RobotsURL string `json:"robots_url"` // of a site
	Outcome   string `json:"outcome"`    // of the fetch of a site's robots.txt
	Note      string `json:"note"`       // on the outcome, can be empty
}

func newSiteOutcome(r *fetch.Record, note string) *siteOutcome {
	return &siteOutcome{RobotsURL: r.Origin.RobotsURL(), Outcome: r.Outcome.String(), Note: note}
}

// A shownFile is a line of JSON: what a robots.txt declares, and where it is from.
type shownFile struct {
	answer.Facts
	File *string `json:"file,omitempty"` // as given; absent for a site
	*siteOutcome
	NextTry string `json:"next_try,omitempty"` // when the next attempt is due, of a site whose rules are not known
}

// A view is a robots.txt as one crawler reads it.
type view struct {
	*showCommand
	source.Text
	live    *source.Live // nil if nothing is fetched
	crawler answer.Crawler
	first   bool // of the run
	known   bool // set by write: see answer.Facts
}

// Rules returns the rules of a crawler by the flags, for answer.Source.
func (v *view) Rules(d robots.Dialect, tokens ...string) *robots.Rules {
	return v.showCommand.rules(v.RobotsTXT, d, v.std.Now(), tokens)
}

// write writes the parts. The text says nothing else of a site whose rules are not known.
func (v *view) write(ctx context.Context) {
	options := answer.ShowOptions{Policy: v.policy, Pages: v.pages, URL: v.url}
	for _, part := range v.only {
		options.Parts = append(options.Parts, answer.Part(part))
	}
	var site *robots.Rules // nil for a file
	if v.Record != nil {
		site = v.Rules(v.crawler.Dialect, v.crawler.Tokens...)
		if v.shows(answer.PartDelays) && answer.Known(site) {
			options.First = v.fleetPermit(ctx, site)
		}
	}
	facts := answer.Show(v, &v.crawler, cmp.Or(v.at, v.std.Now()), options)
	v.known = facts.Known
	w := &strings.Builder{}
	v.writeHeading(w, &facts, site)
	v.writeParts(w, &facts, options.First != nil)
	switch {
	case v.format == formatJSON:
		v.writeJSON(facts, site)
	case v.known && slices.Equal(options.Parts, []answer.Part{answer.PartSitemaps}):
		for _, s := range facts.Sitemaps { // as written, except that a terminal gets no control characters
			if v.std.Terminal {
				s = robots.Printable(s)
			}
			fmt.Fprintln(v.std.Out, s)
		}
	case v.known:
		_, _ = v.std.Out.WriteString(w.String())
	}
}

// fleetPermit returns when and why a fleet lets the next request start, nil without a fleet.
func (v *view) fleetPermit(ctx context.Context, rules *robots.Rules) *pace.Permit {
	if v.live == nil || v.live.Fleet == nil || !v.at.IsZero() {
		return nil
	}
	s, _ := pace.NewSchedule(rules, v.policy) // no error: the policy has been checked
	list, err := v.live.Fleet.Limiter().Try(ctx, []pace.Request{{Origin: v.Record.Origin, Schedule: s}}, 0)
	if err != nil {
		v.warn("the fleet's crawl rate is not known: %w", err)
		return nil
	}
	return &list[0]
}

// writeHeading writes the name, the crawler and, for a site, the outcome of the fetch.
func (v *view) writeHeading(w io.Writer, facts *answer.Facts, site *robots.Rules) {
	p := v.palette
	if !v.first {
		fmt.Fprintln(w)
	}
	place := "no group applies"
	if facts.Group != nil {
		place = "group " + facts.Group.String() + ", " + render.LineList(facts.Group.Lines)
	}
	fmt.Fprintf(w, "%s  %s\n", p.Paint(render.Bold, robots.Printable(v.Title())), p.Paint(render.Faint, "("+robots.Printable(v.crawler.Name+", "+facts.Dialect+", ")+place+")"))
	if f := facts.Fallback; f != nil {
		fmt.Fprintln(w, p.Paint(render.Faint, robots.Printable(v.crawler.Sentence(*f))))
	}
	if site == nil {
		return
	}
	state := v.live.StateLine(v.Record, site.State(), site.State().Text())
	if _, fallback := site.FallbackReason(); fallback {
		v.warn("%s", state)
	} else {
		fmt.Fprintln(w, p.Paint(render.Faint, robots.Printable(state)))
	}
}

// writeParts writes the parts of the answer.
func (v *view) writeParts(w io.Writer, facts *answer.Facts, byFleet bool) {
	part := func(title string, rows [][]string) {
		if render.Heading(w, v.palette, title); len(rows) == 0 {
			fmt.Fprintln(w, "  none")
		}
		render.Align(w, rows)
	}
	if facts.Groups != nil {
		var rows [][]string
		for _, g := range facts.Groups {
			rows = append(rows, []string{"  " + g.String(), render.Count(g.Rules, "rule") + ", " + render.LineList(g.Lines)})
		}
		part("Groups", rows)
	}
	if facts.Delays != nil {
		writeDelays(w, v.palette, facts.Delays, byFleet)
	}
	if facts.Sitemaps != nil {
		var rows [][]string
		for _, s := range facts.Sitemaps {
			rows = append(rows, []string{"  " + robots.Printable(s)})
		}
		part("Sitemaps", rows)
	}
	if len(facts.CleanParams) > 0 || facts.CleanURL != nil {
		var rows [][]string
		for i := range facts.CleanParams {
			c := &facts.CleanParams[i]
			rows = append(rows, []string{"  " + render.LineList([]int{c.Line}), robots.Printable(c.String())})
		}
		if facts.CleanURL != nil {
			rows = append(rows, []string{"  URL", robots.Printable(*facts.CleanURL)})
		}
		part("Clean-param", rows)
	}
	if s := facts.Signals; s != nil {
		part("Signals", signalRows(v.palette, s.Signals))
		printNotes(w, v.palette, s.Notes, s.Dropped)
	}
}

// writeJSON writes the answer as a line of JSON.
func (v *view) writeJSON(facts answer.Facts, site *robots.Rules) {
	line := shownFile{Facts: facts}
	if r := v.Record; r == nil {
		line.File = &v.Name
	} else {
		line.siteOutcome = newSiteOutcome(r, site.State().Text())
		if !facts.Known && !r.NextTry.IsZero() {
			line.NextTry = render.Stamp(r.NextTry)
		}
	}
	v.std.EncodeAnswer(line)
}
