package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
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

func newJudgeFlags(std *streams) *judgeFlags {
	return &judgeFlags{command: newCommand(std), ruleFlags: ruleFlags{maxBytes: noLimit}}
}

func (f *judgeFlags) register(cmd *cobra.Command, formats ...string) {
	flags := cmd.Flags()
	f.crawlerFlags.register(cmd, true)
	f.registerCategories(cmd)
	f.registerFile(cmd, &f.file)
	flags.StringVar(&f.urls, "urls", "", "`FILE` list, CSV, sitemap or access log to read URLs from")
	f.formatFlag(cmd, formats...)
	f.site.register(cmd)
	f.ruleFlags.register(cmd)
	f.site.registerProbe(cmd)
	f.colorFlag(cmd)
}

// registerFile declares -f.
func (c *command) registerFile(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "file", "f", "", "`FILE` robots.txt to judge by: a file, - for standard input, or the URL of a site")
}

func (f *ruleFlags) register(cmd *cobra.Command) {
	registerMaxBytes(cmd, &f.maxBytes)
	timeFlag(cmd, &f.at, judgedAt)
	cmd.Flags().BoolVar(&f.userInitiated, "user-initiated", false, "judge fetches that a user started, to which robots.txt does not apply")
}

// open checks the flags, opens the source of robots.txt and returns what reads the URLs. A
// mistake in the flags or arguments is found before anything is fetched or answered. The
// caller closes the judge.
func (f *judgeFlags) open(ctx context.Context) (*judge, *urlReader, error) {
	j := &judge{command: f.command, ruleFlags: f.ruleFlags, fetches: !f.given("file") && !f.noRobots}
	var err error
	if j.crawlers, j.decisive, err = f.crawlers(); err != nil {
		return nil, nil, err
	}
	u, err := newURLReader(f.std, f.args, f.urls, f.file)
	if err != nil {
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
	var file *robots.File
	switch {
	case f.noRobots:
		j.open(new(site), ask.Source{File: robots.Parse(nil)})
	case j.fetches:
		j.live, err = newLive(f.command, &f.site, dialectsOf(j.crawlers), f.maxBytes)
	default:
		var named []textFile
		if named, j.live, err = f.named(ctx, &f.site, dialectsOf(j.crawlers), f.maxBytes, f.file); err == nil {
			file = named[0].File
			j.open(new(site), named[0].Source)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	f.warnCrawlers(j.crawlers, file)
	f.site.warnProbe(f.command, j.crawlers)
	return j, u, nil
}

// warnProbe warns if no crawler's dialect uses the result of --probe.
func (s *siteFlags) warnProbe(c *command, list []Crawler) {
	if s.probe && !slices.ContainsFunc(list, func(c Crawler) bool { return c.Dialect.ServerErrorsMayMiss }) {
		c.warn("--probe changes nothing here: only %s use its result", strings.Join(probing(), " and "))
	}
}
