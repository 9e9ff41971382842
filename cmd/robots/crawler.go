package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

// crawlerFlags are the flags that name crawlers and their dialect.
type crawlerFlags struct {
	agents   []string
	dialect  string
	purposes []string
}

// register declares the flags. With all, --dialect can be "all".
func (f *crawlerFlags) register(cmd *cobra.Command, all bool) {
	usage := "`TOKEN[,TOKEN]` product tokens of one crawler, most specific first (repeat for several crawlers)"
	cmd.Flags().StringArrayVarP(&f.agents, "agent", "a", nil, usage)
	f.registerDialect(cmd, all)
}

func (f *crawlerFlags) registerDialect(cmd *cobra.Command, all bool) {
	names := append([]string{ask.AutoDialect}, ask.DialectNames()...)
	if all {
		names = append(names, ask.AllDialects)
	}
	cmd.Flags().StringVarP(&f.dialect, "dialect", "d", ask.AutoDialect, "`NAME` "+strings.Join(names, ", "))
	complete(cmd, "dialect", names)
}

func (f *crawlerFlags) registerPurpose(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.purposes, "purpose", nil, "`PURPOSE` also judge for all known crawlers of these purposes, such as search,ai")
	complete(cmd, "purpose", ask.PurposeWords())
}

// parseAgents returns the crawlers of --agent in a dialect, or as the dialect auto means them.
func (f *crawlerFlags) parseAgents(dialect string) (list []answer.Crawler, err error) {
	for _, value := range f.agents {
		tokens, err := ask.Tokens(value)
		if err != nil {
			return nil, fmt.Errorf("-a %w", err)
		}
		c, err := ask.Crawler(dialect, value, tokens...)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// chosenCrawlers are the crawlers of a run.
type chosenCrawlers struct {
	list     []answer.Crawler
	named    []answer.Crawler // those of --agent
	decisive int              // index of the crawler whose verdicts give the exit status, -1 for the worst of all
}

// choose returns the crawlers of the flags: those of --purpose, then those of --agent, or else the one of *. With --dialect all
// it is one crawler in each dialect, and that in its own is decisive.
func (f *crawlerFlags) choose() (c chosenCrawlers, err error) {
	dialect := f.dialect
	if dialect == ask.AllDialects {
		dialect = ask.AutoDialect
	}
	if len(f.purposes) > 0 {
		if c.list, err = f.listed(dialect); err != nil {
			return c, err
		}
	}
	if c.named, err = f.parseAgents(dialect); err != nil {
		return c, err
	}
	c.list = append(c.list, c.named...)
	c.decisive = -1
	if len(c.list) == 0 {
		one, err := ask.Crawler(dialect, answer.AnyCrawler, answer.AnyCrawler)
		if err != nil {
			return c, err
		}
		c.list = []answer.Crawler{one}
	}
	switch {
	case f.dialect != ask.AllDialects:
		return c, nil
	case len(c.list) > 1:
		return c, errors.New("--dialect all compares the dialects for one crawler, not for several")
	}
	one := c.list[0]
	c.list = nil
	for i, d := range robots.Dialects() {
		if d.Name == one.Dialect.Name {
			c.decisive = i
		}
		c.list = append(c.list, answer.InDialect(d, one.Name, one.Given()...))
	}
	return c, nil
}

// listed returns the crawlers of --purpose.
func (f *crawlerFlags) listed(dialect string) (list []answer.Crawler, err error) {
	entries, _, err := ask.ChooseCrawlers(f.purposes, "", false)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		c := answer.Auto(e.Name, e.Name)
		if dialect != ask.AutoDialect {
			if c, err = ask.Crawler(dialect, e.Name, e.Tokens...); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// dialectsOf returns the dialects of crawlers, each once.
func dialectsOf(list []answer.Crawler) (all []robots.Dialect) {
	for _, c := range list {
		if !slices.ContainsFunc(all, func(d robots.Dialect) bool { return d.Name == c.Dialect.Name }) {
			all = append(all, c.Dialect)
		}
	}
	return all
}

// warnCrawlers warns about tokens that are not product tokens in some dialect, and about misspelled names of known crawlers: of
// those that the file names, as searching the directory takes longer than starting, or without a file of all.
func warnCrawlers(std *screen.Streams, named []answer.Crawler, dialects []robots.Dialect, file *robots.File) {
	names := crawlers.Names()
	if file != nil {
		var tokens []string
		for _, d := range dialects {
			tokens = append(tokens, file.Crawlers(d)...)
		}
		names = slices.Values(tokens)
	}
	for _, crawler := range named {
		for _, token := range crawler.Given() {
			if token == answer.AnyCrawler {
				continue
			}
			if s := ask.TokenReading(token, dialects...); s != "" {
				std.WarnOnce("-a "+s, "-a %s", s)
			}
			if s := ask.SimilarCrawler(token, names); s != "" {
				std.WarnOnce("no "+token, "-a %s is not a known crawler%s", strconv.Quote(clip(token)), s)
			}
		}
	}
}

// maxAgentWarnings limits the warnings of a batch on values of agent.
const maxAgentWarnings = 20

// warnAgents returns a function that warns once of each value of agent that is not a product token.
func warnAgents(std *screen.Streams) func(value string, d robots.Dialect) {
	warned := map[string]bool{}
	return func(value string, d robots.Dialect) {
		text := ask.TokenReading(value, d)
		if text == "" || warned[text] || len(warned) > maxAgentWarnings {
			return
		}
		warned[text] = true
		if len(warned) <= maxAgentWarnings {
			std.Warn("agent %s", text)
		} else {
			std.Warn("further agents are not product tokens either; they are not listed")
		}
	}
}
