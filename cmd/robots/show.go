package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	_ "time/tzdata" // --zone must not depend on what the machine has installed

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/cobra"
)

// showSections are the values of --only.
var showSections = []string{
	string(answer.SectionGroups),
	string(answer.SectionDelays),
	string(answer.SectionSitemaps),
	string(answer.SectionSignals),
	string(answer.SectionClean),
}

// waysToObey are the values of --obey.
var waysToObey = []string{string(pace.ObeyUnlessIgnored), string(pace.ObeyDocumented), string(pace.ObeyDeclared)}

// showOptions are one run of robots show.
type showOptions struct {
	std      *screen.Streams
	args     []string // names of robots.txt files
	crawlers crawlerFlags
	only     []string
	pages    int
	url      string // to clean by Clean-param
	output   outputFlags
	policy   pace.Policy
	site     siteFlags
	rules    ruleFlags
}

func newShowCommand(std *screen.Streams) *cobra.Command {
	o := &showOptions{std: std}
	cmd := &cobra.Command{Use: "show", RunE: runE(std, &o.args, o.run)}
	f := cmd.Flags()
	o.crawlers.register(cmd, false)
	f.StringSliceVar(&o.only, "only", nil, "`SECTION` sections to show: "+strings.Join(showSections, ", "))
	complete(cmd, "only", showSections)
	f.IntVar(&o.pages, "pages", 1000, "`N` number of pages in the estimate of a crawl")
	f.StringVar(&o.url, "url", "", "`URL` show the URL without the parameters that Clean-param names")
	o.output.registerFormat(cmd)
	f.StringVar(&o.policy.Zone, "zone", "UTC", "`NAME` time zone of Visit-time and Request-rate, such as Europe/Prague")
	f.DurationVar(&o.policy.Floor, "floor", 0, "`DURATION` minimum interval between requests, such as 2s")
	f.DurationVar(&o.policy.Ceiling, "ceiling", 0, "`DURATION` maximum interval between requests, whatever the site declares, such as 1m")
	obeyUsage := "`WHICH` delays to follow: unless-ignored (by the dialect), honored (by it), declared (all)"
	choiceFlag(cmd, (*string)(&o.policy.Obey), "obey", waysToObey[0], obeyUsage, waysToObey...)
	o.site.register(cmd)
	o.site.pages = true
	registerMaxBytes(cmd, &o.rules.maxBytes)
	timeFlag(cmd, &o.rules.at, "`TIME` time to start from, such as 2026-01-31T18:00:00Z (default now)")
	o.output.registerColor(cmd)
	return cmd
}

func (o *showOptions) run(ctx context.Context) (int, error) {
	if err := o.validate(); err != nil {
		return exitBad, err
	}
	chosen, err := o.crawlers.choose()
	if err != nil {
		return exitBad, err
	}
	dialects := dialectsOf(chosen.list)
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	files, live, err := o.site.named(ctx, o.output.reader(o.std), dialects, o.rules.maxBytes, o.args...)
	if err != nil {
		return exitBad, err
	}
	defer live.Close()
	var only *robots.File
	if len(files) == 1 {
		only = files[0].File
	}
	warnCrawlers(o.std, chosen.named, dialects, only)
	status := exitAllowed
	for i := range files {
		files[i].Name = o.args[i] // as given, for a site too
		for k := range chosen.list {
			shown := o.show(ctx, live, &files[i], chosen.list[k])
			o.write(&shown, i+k == 0)
			if !shown.Known {
				status = exitUndecided
			}
		}
	}
	return status, nil
}

// validate checks the flags and arguments.
func (o *showOptions) validate() error {
	if len(o.args) == 0 {
		return errors.New("no robots.txt given; name a file, - for standard input, or the URL of a site")
	}
	for _, section := range o.only {
		if !slices.Contains(showSections, section) {
			return fmt.Errorf("unknown --only %q (known: %s)", clip(section), strings.Join(showSections, ", "))
		}
	}
	if o.pages < 0 {
		return fmt.Errorf("--pages %d is not a number of pages, 0 or more", o.pages)
	}
	return o.policy.Check()
}

// show returns what a robots.txt declares, as a crawler reads it.
func (o *showOptions) show(ctx context.Context, live *source.Live, file *source.Text, c answer.Crawler) answer.ShownFile {
	options := answer.ShowOptions{Policy: o.policy, Pages: o.pages, URL: o.url}
	for _, section := range o.only {
		options.Sections = append(options.Sections, answer.Section(section))
	}
	ruleOptions := o.rules.options()
	from := ruleOptions.Source(file.RobotsTXT, o.std.Now())
	shown := answer.ShownFile{Title: file.Title(), Crawler: c}
	record := file.Record
	if record == nil {
		shown.File = &file.Name
		shown.Facts = answer.Show(from, &c, cmp.Or(o.rules.at, o.std.Now()), options)
		return shown
	}
	rules := from.Rules(c.Dialect, c.Tokens...)
	if answer.Known(rules) && (len(o.only) == 0 || slices.Contains(o.only, string(answer.SectionDelays))) {
		options.First = o.fleetPermit(ctx, live, file, rules)
	}
	shown.ByFleet = options.First != nil
	shown.Facts = answer.Show(from, &c, cmp.Or(o.rules.at, o.std.Now()), options)
	shown.SiteOutcome = source.SiteOutcome(record, rules.State().Text())
	if !shown.Known && !record.NextTry.IsZero() {
		shown.NextTry = render.Stamp(record.NextTry)
	}
	shown.State = live.StateLine(record, rules.State(), rules.State().Text())
	if _, fallback := rules.FallbackReason(); fallback {
		o.std.Warn("%s", shown.State)
		shown.State = ""
	}
	return shown
}

// fleetPermit returns when and why a fleet lets the next request start, nil without a fleet.
func (o *showOptions) fleetPermit(ctx context.Context, live *source.Live, file *source.Text, rules *robots.Rules) *pace.Permit {
	if live == nil || live.Fleet == nil || !o.rules.at.IsZero() {
		return nil
	}
	schedule, _ := pace.NewSchedule(rules, o.policy) // no error: the policy has been checked
	list, err := live.Fleet.Limiter().Try(ctx, []pace.Request{{Origin: file.Record.Origin, Schedule: schedule}}, 0)
	if err != nil {
		o.std.Warn("the fleet's crawl rate is not known: %w", err)
		return nil
	}
	return &list[0]
}

// write writes JSON or text. Of a site whose rules are not known, the text has only the warning.
func (o *showOptions) write(s *answer.ShownFile, first bool) {
	w := o.std.Out
	switch {
	case o.output.json():
		o.std.EncodeAnswer(s)
	case !s.Known:
	case slices.Equal(o.only, []string{string(answer.SectionSitemaps)}):
		for _, url := range s.Sitemaps { // as written, except that a terminal gets no control characters
			if o.std.Terminal {
				url = robots.Printable(url)
			}
			fmt.Fprintln(w, url)
		}
	default:
		if !first {
			fmt.Fprintln(w)
		}
		render.Show(w, o.output.palette(o.std), s)
	}
}
