package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// diffOptions are one run of robots diff.
type diffOptions struct {
	std        *screen.Streams
	args       []string
	flags      *pflag.FlagSet
	output     outputFlags
	crawler    crawlerFlags
	site       siteFlags
	dialectsOf string // the file of --dialects
	urls       string // the file of --urls
	failOn     string
	budget     int // steps per direction
	limit      int // changes shown per crawler and direction, 0 for all
}

func newDiffCommand(std *screen.Streams) *cobra.Command {
	o := &diffOptions{std: std}
	cmd := &cobra.Command{Use: "diff", RunE: runE(std, &o.args, o.run)}
	o.flags = cmd.Flags()
	f := cmd.Flags()
	f.StringArrayVarP(
		&o.crawler.agents, "agent", "a", nil,
		"`TOKEN[,TOKEN]` product tokens of a crawler, most specific first (repeat for more; default * and all crawlers named)",
	)
	o.crawler.registerDialect(cmd, true)
	f.StringVar(&o.dialectsOf, "dialects", "", "`FILE` robots.txt to compare as the dialects read it")
	f.StringVar(&o.urls, "urls", "", "`FILE` list, sitemap or access log of URLs, to count those that change: a file, its URL, or -")
	failOnFlag(cmd, &o.failOn, lint.Warning.String(), answer.NewlyBlocked, answer.NewlyAllowed)
	budgetFlag(cmd, &o.budget)
	numberFlag(
		cmd, &o.limit, 0, "limit", "`N` maximum changes shown per crawler and direction, 0 for all (default 10 in text and markdown)",
		"a number of changes, 0 for all",
	)
	o.site.register(cmd)
	o.output.registerFormat(cmd, render.FormatSARIF, render.FormatJUnit, render.FormatGitHub, formatMarkdown)
	o.output.registerColor(cmd)
	return cmd
}

// run compares two files, or one as dialects read it.
func (o *diffOptions) run(ctx context.Context) (int, error) {
	names, err := o.files()
	if err != nil {
		return exitBad, err
	}
	pairs, dialects, err := o.dialectPairs()
	if err != nil {
		return exitBad, err
	}
	chosen, err := o.chosen(dialects)
	if err != nil {
		return exitBad, err
	}
	o.site.downloads = ask.NamesSite(o.urls)
	files, err := o.site.known(ctx, o.output.reader(o.std), dialects, names...)
	if err != nil {
		return exitBad, err
	}
	warnCrawlers(o.std, chosen, dialectsOf(chosen), nil)
	d := render.Diff{File: names[len(names)-1], Budget: o.budget, Limit: o.shownChanges(), Fails: o.fails}
	before := files[0].At(o.std.Now())
	after := files[len(files)-1].At(o.std.Now())
	for _, pair := range pairs {
		options := answer.DiffOptions{Steps: o.budget, Changes: d.Limit}
		d.Differences = append(d.Differences, answer.DiffIn(before, after, pair, chosen, options))
	}
	if o.flags.Changed("urls") {
		if err := o.countURLs(ctx, &d); err != nil {
			return exitBad, err
		}
	}
	return o.write(&d), nil
}

// files checks the arguments, and returns the names of the files.
func (o *diffOptions) files() (names []string, err error) {
	names = o.args
	switch {
	case o.flags.Changed("dialects") && len(names) > 0:
		return nil, fmt.Errorf("unexpected argument %q: --dialects compares one file", clip(names[0]))
	case o.flags.Changed("dialects") && o.crawler.dialect == ask.AllDialects:
		return nil, errors.New("--dialects compares one dialect with the others; name it with -d, or omit -d")
	case o.flags.Changed("dialects"):
		names = []string{o.dialectsOf}
	case len(names) < 2:
		return nil, errors.New("two files required; name the old and the new one, or one with --dialects FILE")
	case len(names) > 2:
		return nil, fmt.Errorf("unexpected argument %q: diff compares two files", clip(names[2]))
	}
	return names, source.StdinOnce(append(slices.Clone(names), o.urls)...)
}

// shownChanges returns the limit of the changes that are shown, 0 for all.
func (o *diffOptions) shownChanges() int {
	if !o.flags.Changed("limit") &&
		(o.output.format == formatText || o.output.format == formatMarkdown || o.output.format == render.FormatGitHub) {
		return 10
	}
	return o.limit
}

// dialectPairs returns the dialects of the old and the new side of each comparison, zero for those of
// the crawlers, and all dialects in which the files are read.
func (o *diffOptions) dialectPairs() (pairs [][2]robots.Dialect, dialects []robots.Dialect, err error) {
	if o.crawler.dialect == ask.AllDialects {
		for _, d := range robots.Dialects() {
			pairs = append(pairs, [2]robots.Dialect{d, d})
		}
		return pairs, robots.Dialects(), nil
	}
	one, err := ask.DialectFor(o.crawler.dialect)
	switch {
	case err != nil:
		return nil, nil, err
	case o.flags.Changed("dialects"):
		others := []robots.Dialect{robots.Google, robots.GoogleCPP, robots.Seznam, robots.Bing, robots.Yandex, robots.RFC9309}
		for _, other := range others {
			if other.Name != one.Name {
				pairs = append(pairs, [2]robots.Dialect{one, other})
			}
		}
	case o.crawler.dialect == ask.AutoDialect:
		return [][2]robots.Dialect{{}}, answer.CurrentDialects(), nil
	default:
		pairs = [][2]robots.Dialect{{one, one}}
	}
	return pairs, []robots.Dialect{one}, nil
}

// chosen returns the crawlers of --agent, each once.
func (o *diffOptions) chosen(dialects []robots.Dialect) (chosen []answer.Crawler, err error) {
	dialect := o.crawler.dialect
	if dialect == ask.AllDialects {
		dialect = dialects[0].Name
	}
	named, err := o.crawler.parseAgents(dialect)
	for _, c := range named {
		if !slices.ContainsFunc(chosen, func(other answer.Crawler) bool { return other.Name == c.Name }) {
			chosen = append(chosen, c)
		}
	}
	return chosen, err
}

// countURLs counts the URLs of --urls that change in every comparison.
func (o *diffOptions) countURLs(ctx context.Context, d *render.Diff) error {
	var live *source.Live
	if o.site.downloads {
		var err error
		if live, err = o.site.open(o.std, nil, 0); err != nil {
			return err
		}
		defer live.Close()
	}
	list, err := source.OpenURLs(ctx, o.std, live, o.urls)
	if err != nil {
		return err
	}
	defer list.Close()
	skipped := 0
	firstSkipped := 0
	d.WithURLs = true
	for url, err := range list.All() {
		for _, difference := range d.Differences {
			if err == nil {
				err = difference.CountURL(url, list.AsURL(url))
			}
		}
		if err == nil {
			d.URLs++
			continue
		}
		skipped++
		if skipped == 1 {
			firstSkipped = list.Line
		}
	}
	for _, difference := range d.Differences {
		difference.CountedURLs(d.URLs)
	}
	switch {
	case list.Err != nil:
		return list.Err
	case d.URLs == 0:
		return fmt.Errorf("%s: no URLs; --urls takes a list, CSV, a sitemap or an access log", list.Title)
	case skipped > 0:
		o.std.Warn("%s: %s without a URL, first line %d", list.Title, render.Count(skipped, "line"), firstSkipped)
	}
	return nil
}

// fails reports whether --fail-on selects a change.
func (o *diffOptions) fails(kind string, severity lint.Severity) bool {
	return kind == o.failOn || severity >= ask.FailLevel(o.failOn)
}

// write writes the result, and returns the exit status.
func (o *diffOptions) write(d *render.Diff) int {
	report := d.Report(programVersion())
	switch o.output.format {
	case formatText:
		d.Text(o.std.Out, o.output.palette(o.std))
	case formatJSON:
		for _, difference := range d.Differences {
			for _, c := range difference.Crawlers {
				o.std.EncodeAnswer(c)
			}
		}
	default:
		report.Write(o.std, o.output.format)
	}
	return statusOfReport(report)
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
