package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ruleFlags are the flags that change what the rules of a file are.
type ruleFlags struct {
	maxBytes      int       // 0: those of the dialects
	at            time.Time // zero for now
	userInitiated bool
}

// options returns what the flags change.
func (f *ruleFlags) options() source.RuleOptions {
	return source.RuleOptions{MaxBytes: f.maxBytes, At: f.at, UserInitiated: f.userInitiated}
}

// urlFlags are the flags of the commands that check URLs: for which crawlers, by which robots.txt.
type urlFlags struct {
	set      *pflag.FlagSet // of the command
	crawlers crawlerFlags
	file     string
	noRobots bool // there is no robots.txt, so everything is allowed
	urls     string
	rules    ruleFlags
	site     siteFlags
}

// register declares the flags and those of the output, which has more formats than text and json.
func (f *urlFlags) register(cmd *cobra.Command, output *outputFlags, formats ...string) {
	f.crawlers.register(cmd, true)
	f.crawlers.registerPurpose(cmd)
	f.registerSources(cmd)
	output.registerFormat(cmd, formats...)
	f.site.register(cmd)
	registerMaxBytes(cmd, &f.rules.maxBytes)
	timeFlag(cmd, &f.rules.at, judgedAt)
	usage := "judge fetches that a user started, to which robots.txt does not apply"
	cmd.Flags().BoolVar(&f.rules.userInitiated, "user-initiated", false, usage)
	f.site.registerProbe(cmd)
	output.registerColor(cmd)
}

// registerSources declares -f and --urls.
func (f *urlFlags) registerSources(cmd *cobra.Command) {
	f.set = cmd.Flags()
	registerFile(cmd, &f.file)
	f.set.StringVar(&f.urls, "urls", "", "`FILE` list, CSV, sitemap or access log to read URLs from: a file, or its URL")
}

// registerFile declares -f.
func registerFile(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "file", "f", "", "`FILE` robots.txt to judge by: a file, - for standard input, or the URL of a site")
}

// hasFile reports whether -f is given.
func (f *urlFlags) hasFile() bool { return f.set.Changed("file") }

// open returns the chosen crawlers, and the URLs of the arguments and --urls with their robots.txt. A mistake in the flags or arguments is
// found before anything is fetched or answered. The caller closes the URLs.
func (f *urlFlags) open(
	ctx context.Context, std *screen.Streams, output *outputFlags, args []string,
) (*chosenCrawlers, *source.CheckedURLs, error) {
	chosen, err := f.crawlers.choose()
	if err != nil {
		return nil, nil, err
	}
	if len(args) == 0 && f.urls == "" {
		return nil, nil, errors.New("no URL given; name at least one, - to read a list from standard input, or --urls FILE")
	}
	if err := source.StdinOnce(append(slices.Clone(args), f.urls, f.file)...); err != nil {
		return nil, nil, err
	}
	f.site.downloads = ask.NamesSite(f.urls)
	urls := &source.CheckedURLs{
		Reader:   output.reader(std),
		URLs:     &source.URLReader{Std: std, Args: args, URLs: f.urls},
		Crawlers: chosen.list,
		Rules:    f.rules.options(),
		Hints:    output.format != formatText,
	}
	if f.hasFile() || f.noRobots {
		urls.RobotsTXT = &source.RobotsTXT{}
	}
	if err := checkURLs(urls, args); err != nil {
		return nil, nil, err
	}
	from, live, err := f.openRobots(ctx, urls.Reader, &chosen)
	if err != nil {
		return nil, nil, err
	}
	urls.Live = live
	if urls.Live == nil && ask.NamesSite(f.urls) {
		if urls.Live, err = f.site.open(std, dialectsOf(chosen.list), f.rules.maxBytes); err != nil {
			return nil, nil, err
		}
	}
	if urls.RobotsTXT == nil {
		urls.AddCredentials(args)
	}
	if urls.RobotsTXT != nil {
		urls.RobotsTXT = &from
	}
	if f.site.probe && !slices.ContainsFunc(chosen.list, func(c answer.Crawler) bool { return c.Dialect.ServerErrorsMayMiss }) {
		std.Warn("--probe changes nothing here: only %s use its result", strings.Join(probing(), " and "))
	}
	return &chosen, urls, nil
}

// checkURLs returns an error if an argument is not a URL.
func checkURLs(urls *source.CheckedURLs, args []string) error {
	for _, arg := range args {
		_, err := urls.Parse(arg, new(answer.Target))
		if err == nil || arg == "-" {
			continue
		}
		if info, _ := os.Stat(arg); urls.RobotsTXT == nil && info != nil && info.Mode().IsRegular() {
			return fmt.Errorf("%q is a file; name it with -f", clip(arg))
		}
		return err
	}
	return nil
}

// openRobots returns the robots.txt of -f, or else the client that fetches from the sites of URLs. It warns about the names of the
// crawlers.
func (f *urlFlags) openRobots(
	ctx context.Context, r *source.Reader, chosen *chosenCrawlers,
) (t source.RobotsTXT, l *source.Live, err error) {
	dialects := dialectsOf(chosen.list)
	switch {
	case f.hasFile():
		var files []source.Text
		if files, l, err = f.site.named(ctx, r, dialects, f.rules.maxBytes, f.file); err == nil {
			t = files[0].RobotsTXT
		}
	case f.noRobots:
		t.File = robots.Parse(nil)
	default:
		l, err = f.site.open(r.Std, dialects, f.rules.maxBytes)
	}
	if err != nil {
		return t, l, err
	}
	file := t.File
	if f.noRobots {
		file = nil
	}
	warnCrawlers(r.Std, chosen.named, dialects, file)
	return t, l, nil
}

// A urlTally counts URLs by the exit status of their verdicts.
type urlTally struct {
	std      *screen.Streams
	byStatus [exitUndecided + 1]int // of URLs by status, and of lines without one
}

func (t *urlTally) add(status int) { t.byStatus[status]++ }

// addBadLine reports a line of a list without a URL.
func (t *urlTally) addBadLine(err error) {
	t.std.Complain(err)
	t.byStatus[exitBad]++
}

// status returns the exit status of all URLs: bad lines count before undecided before disallowed. After a list it writes the
// counts on standard error.
func (t *urlTally) status(urls *source.CheckedURLs) (int, error) {
	switch {
	case urls.Err() != nil:
		return exitBad, urls.Err()
	case t.std.Failed == nil && urls.URLs.IsList():
		t.writeCounts(urls.Read)
	}
	for _, status := range []int{exitBad, exitUndecided, exitDisallowed} {
		if t.byStatus[status] > 0 {
			return status, nil
		}
	}
	return exitAllowed, nil
}

// writeCounts writes the counts of a list.
func (t *urlTally) writeCounts(urls int) {
	var parts []string
	for _, p := range []struct {
		status int
		word   string
	}{{exitAllowed, "allowed"}, {exitDisallowed, "disallowed"}, {exitUndecided, "undecided"}} {
		if n := t.byStatus[p.status]; n > 0 {
			parts = append(parts, screen.Thousands(n)+" "+p.word)
		}
	}
	if n := t.byStatus[exitBad]; n > 0 {
		parts = append(parts, render.Count(n, "line")+" without a URL")
	}
	t.std.Complain(errors.New(render.Count(urls, "URL") + ": " + strings.Join(parts, ", ")))
}

// status returns the exit status of the verdicts for the crawlers: that of the decisive one, or the worst.
func (c *chosenCrawlers) status(list []robots.Verdict) (status int) {
	for i := range list {
		if c.decisive < 0 || c.decisive == i {
			status = max(status, statusOf(&list[i]))
		}
	}
	return status
}

// statusOf returns the exit status of a verdict.
func statusOf(v *robots.Verdict) int {
	switch {
	case v.Allowed:
		return exitAllowed
	case v.Undecided():
		return exitUndecided
	}
	return exitDisallowed
}
