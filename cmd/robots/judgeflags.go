package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

// judgeFlags are the flags of the verbs that judge URLs.
type judgeFlags struct {
	*command
	crawlerFlags
	ruleFlags
	file string
	urls string
	site siteFlags
}

func newJudgeFlags(std *streams, formats ...string) *judgeFlags {
	return &judgeFlags{command: newCommand(std, formats...), ruleFlags: ruleFlags{maxBytes: noLimit}}
}

func (f *judgeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	f.crawlerFlags.register(cmd, true)
	f.registerCategories(cmd)
	f.registerFile(cmd, &f.file)
	flags.StringVar(&f.urls, "urls", "", "`FILE` list, CSV, sitemap or access log to read URLs from")
	f.formatFlag(cmd)
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
	j := &judge{command: f.command, ruleFlags: f.ruleFlags, fetches: !f.given("file")}
	var err error
	if j.crawlers, j.decisive, err = f.crawlers(); err != nil {
		return nil, nil, err
	}
	u, err := newURLReader(f.std, f.args, f.urls, f.file)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range u.names {
		if _, _, err := j.parse(name.text); err != nil && !name.list {
			if info, _ := os.Stat(name.text); j.fetches && info != nil && info.Mode().IsRegular() {
				err = fmt.Errorf("%q is a file: name it with -f", clip(name.text))
			}
			return nil, nil, err
		}
	}
	if j.fetches {
		if j.live, err = newLive(f.command, &f.site, dialectsOf(j.crawlers), f.maxBytes); err != nil {
			return nil, nil, err
		}
		j.source = j.live
	} else {
		named, live, err := f.named(ctx, &f.site, j.crawlers, f.maxBytes, f.file)
		if err != nil {
			return nil, nil, err
		}
		if err := mustKnow(live, named[0], j.crawlers); err != nil {
			live.close()
			return nil, nil, err
		}
		j.source, j.live = newOneFile(named[0]), live
	}
	f.warnCrawlers(j.crawlers, fileOf(j.source))
	f.site.warnProbe(f.command, j.crawlers)
	return j, u, nil
}

// warnProbe warns if no crawler's dialect uses the result of --probe.
func (s *siteFlags) warnProbe(c *command, list []Crawler) {
	if s.probe && !slices.ContainsFunc(list, func(c Crawler) bool { return c.Dialect.ServerErrorsMayMiss }) {
		c.warn("--probe changes nothing here: only %s use its result", strings.Join(probing(), " and "))
	}
}

// fileOf returns the file of a source with one, else nil.
func fileOf(s Source) *robots.File {
	if one, ok := s.(*oneFile); ok {
		return one.File
	}
	return nil
}

// named returns the robots.txt of files, standard input and sites. Sites are fetched
// concurrently, by the returned client, which the caller closes.
func (c *command) named(ctx context.Context, flags *siteFlags, list []Crawler, maxBytes int, names ...string) ([]ask.Source, *live, error) {
	origins := make([]robots.Origin, len(names))
	stdin, fetches := 0, false
	for i, name := range names {
		switch {
		case name == "":
			return nil, nil, errors.New("empty file name")
		case name == "-":
			stdin++
		case isURL(name):
			fetches = true
			var err error
			if origins[i], err = siteOf(name); err != nil {
				return nil, nil, err
			}
		}
	}
	if stdin > 1 {
		return nil, nil, errors.New("standard input can be read only once")
	}
	if !fetches {
		if err := flags.unused("with a file"); err != nil {
			return nil, nil, err
		}
	}
	sources := make([]ask.Source, len(names))
	for i, name := range names {
		if isURL(name) {
			continue
		}
		var err error
		if sources[i].File, err = c.readRobots(name, list[0].Dialect, maxBytes); err != nil {
			return nil, nil, err
		}
	}
	if !fetches {
		return sources, nil, nil
	}
	l, err := newLive(c, flags, dialectsOf(list), maxBytes)
	if err != nil {
		return nil, nil, err
	}
	if err := l.fetchAll(ctx, c, origins, sources); err != nil {
		l.close()
		return nil, nil, err
	}
	for i, s := range sources {
		if r := s.Record; r != nil && r.Outcome == fetch.Success && !slices.Contains(origins[:i], origins[i]) {
			c.warnFile(r.Origin.RobotsURL(), robots.Parse(r.Body), list[0].Dialect, maxBytes)
		}
	}
	return sources, l, nil
}

// mustKnow returns an error if the rules of a site are not known.
func mustKnow(l *live, s ask.Source, list []Crawler) error {
	if s.Record == nil {
		return nil
	}
	for _, d := range dialectsOf(list) {
		if rules := s.Record.Rules(d, l.began); !isKnown(rules) {
			return fmt.Errorf("cannot get %s", l.stateLine(s.Record, rules.State(), rules.State().Text()))
		}
	}
	return nil
}

// fetchAll fills in the records of sites.
func (l *live) fetchAll(ctx context.Context, c *command, origins []robots.Origin, sources []ask.Source) (err error) {
	defer l.progress.report(c.std.screen, c.name)()
	ctx, stop := interruptible(ctx)
	defer stop()
	sites := make([]*site, len(origins))
	for i, o := range origins {
		if !o.IsZero() {
			sites[i] = l.start(ctx, o)
		}
	}
	for i, s := range sites {
		if s == nil {
			continue
		}
		if !s.await(ctx, func() {}) {
			return errInterrupted
		}
		if sources[i], err = l.get(ctx, s); err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			return err
		}
	}
	return nil
}
