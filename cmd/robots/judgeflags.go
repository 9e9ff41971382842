package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/spf13/cobra"
)

// judgeFlags are the flags of the verbs that judge URLs.
type judgeFlags struct {
	*command
	crawlerFlags
	ruleFlags
	file     string
	noRobots bool // there is no robots.txt, so everything is allowed
	urls     string
	site     siteFlags
}

func newJudgeFlags(std *screen.Streams) *judgeFlags {
	return &judgeFlags{command: newCommand(std)}
}

func (f *judgeFlags) register(cmd *cobra.Command, formats ...string) {
	f.crawlerFlags.register(cmd, true)
	f.registerPurpose(cmd)
	f.registerFile(cmd, &f.file)
	cmd.Flags().StringVar(&f.urls, "urls", "", "`FILE` list, CSV, sitemap or access log to read URLs from")
	f.formatFlag(cmd, formats...)
	f.site.register(cmd)
	registerMaxBytes(cmd, &f.maxBytes)
	timeFlag(cmd, &f.at, judgedAt)
	cmd.Flags().BoolVar(&f.userInitiated, "user-initiated", false, "judge fetches that a user started, to which robots.txt does not apply")
	f.site.registerProbe(cmd)
	f.colorFlag(cmd)
}

// registerFile declares -f.
func (c *command) registerFile(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "file", "f", "", "`FILE` robots.txt to judge by: a file, - for standard input, or the URL of a site")
}

// write writes each URL with its verdicts as text or JSON, and returns the exit status.
func (f *judgeFlags) write(ctx context.Context, text, json func(*judge, *urlTarget)) (int, error) {
	j, urls, err := f.open(ctx)
	if err != nil {
		return exitBad, err
	}
	defer j.live.Close()
	if f.format == formatJSON {
		text = json
	}
	return j.each(ctx, urls, func(_ context.Context, t *urlTarget) error {
		text(j, t)
		return nil
	})
}

// open checks the flags, opens the source of robots.txt and returns what reads the URLs. A
// mistake in the flags or arguments is found before anything is fetched or answered. The
// caller closes the judge.
func (f *judgeFlags) open(ctx context.Context) (*judge, *source.URLReader, error) {
	j := &judge{command: f.command, ruleFlags: f.ruleFlags, fetches: !f.given("file") && !f.noRobots}
	chosen, err := f.choose()
	if err != nil {
		return nil, nil, err
	}
	j.crawlers, j.decisive = chosen.list, chosen.decisive
	if len(f.args) == 0 && f.urls == "" {
		return nil, nil, errors.New("no URL given: name at least one, - to read a list from standard input, or --urls FILE")
	}
	if err := source.StdinOnce(append(slices.Clone(f.args), f.urls, f.file)...); err != nil {
		return nil, nil, err
	}
	for _, arg := range f.args {
		if _, _, err := j.parse(arg); err != nil && arg != "-" {
			if info, _ := os.Stat(arg); j.fetches && info != nil && info.Mode().IsRegular() {
				err = fmt.Errorf("%q is a file: name it with -f", clip(arg))
			}
			return nil, nil, err
		}
	}
	var from answer.RobotsTXT
	if from, j.live, err = f.source(ctx, &chosen); err != nil {
		return nil, nil, err
	}
	if f.noRobots {
		from.File = robots.Parse(nil)
	}
	if !j.fetches {
		j.open(new(source.Site), from)
	}
	if f.site.probe && !slices.ContainsFunc(j.crawlers, func(c answer.Crawler) bool { return c.Dialect.ServerErrorsMayMiss }) {
		f.warn("--probe changes nothing here: only %s use its result", strings.Join(probing(), " and "))
	}
	return j, &source.URLReader{Std: f.std, Args: f.args, URLs: f.urls}, nil
}

// source returns the robots.txt of -f, or else the client that fetches from the sites of URLs, which
// the caller closes. It warns about what the crawlers are named.
func (f *judgeFlags) source(ctx context.Context, chosen *chosenCrawlers) (from answer.RobotsTXT, l *source.Live, err error) {
	dialects := dialectsOf(chosen.list)
	switch {
	case f.given("file"):
		var named []source.Text
		if named, l, err = f.named(ctx, &f.site, dialects, f.maxBytes, f.file); err == nil {
			from = named[0].RobotsTXT
		}
	case !f.noRobots:
		l, err = f.openLive(&f.site, dialects, f.maxBytes)
	}
	if err == nil {
		warnCrawlers(f.std, chosen.named, dialects, from.File)
	}
	return from, l, err
}
