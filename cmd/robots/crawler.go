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
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

// A Crawler is a crawler that robots.txt is judged for.
type Crawler struct {
	answer.Crawler
	listed bool // chosen by its category in the directory, not named by the user
}

// anyCrawler is the name of a crawler without a name: the group of * applies to it.
const anyCrawler = "*"

// crawlerFlags are the flags that name crawlers and their dialect.
type crawlerFlags struct {
	agents     []string
	dialect    string
	categories []string
}

// register declares the flags. With all, --dialect can be "all".
func (f *crawlerFlags) register(cmd *cobra.Command, all bool) {
	cmd.Flags().StringArrayVarP(&f.agents, "agent", "a", nil, "`TOKEN[,TOKEN]` product tokens of one crawler, most specific first (repeat for several crawlers)")
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

func (f *crawlerFlags) registerCategories(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.categories, "crawlers", nil, "`CATEGORY` also judge for all known crawlers of these categories, such as search,ai")
	complete(cmd, "crawlers", categories())
}

// parseAgents returns the crawlers of --agent in a dialect, or as the dialect auto means them.
func (f *crawlerFlags) parseAgents(dialect string) (list []Crawler, err error) {
	for _, value := range f.agents {
		tokens, err := ask.Tokens(value)
		if err != nil {
			return nil, fmt.Errorf("-a %w", err)
		}
		c, err := ask.Crawler(dialect, value, tokens...)
		if err != nil {
			return nil, err
		}
		list = append(list, Crawler{Crawler: c})
	}
	return list, nil
}

// crawlers returns the crawlers named by the flags, and the index of the one whose verdicts
// decide the exit status: -1 if the worst verdict of all does.
func (f *crawlerFlags) crawlers() (list []Crawler, decisive int, err error) {
	dialect := f.dialect
	if dialect == ask.AllDialects {
		dialect = ask.AutoDialect
	}
	if len(f.categories) > 0 {
		entries, _, err := choose(f.categories, "", false)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range entries {
			c := answer.Auto(e.Name, e.Name)
			if dialect != ask.AutoDialect {
				if c, err = ask.Crawler(dialect, e.Name, e.Tokens...); err != nil {
					return nil, 0, err
				}
			}
			list = append(list, Crawler{Crawler: c, listed: true})
		}
	}
	named, err := f.parseAgents(dialect)
	if err != nil {
		return nil, 0, err
	}
	if list = append(list, named...); len(list) == 0 {
		c, err := ask.Crawler(dialect, anyCrawler, anyCrawler)
		if err != nil {
			return nil, 0, err
		}
		list = []Crawler{{Crawler: c}}
	}
	if f.dialect != ask.AllDialects {
		return list, -1, nil
	}
	if len(list) > 1 {
		return nil, 0, errors.New("--dialect all compares the dialects for one crawler, not for several")
	}
	one := list[0]
	list = nil
	for i, d := range robots.Dialects() {
		if d.Name == one.Dialect.Name {
			decisive = i
		}
		list = append(list, Crawler{Crawler: answer.InDialect(d, one.Name, one.Given()...)})
	}
	return list, decisive, nil
}

// dialectsOf returns the dialects of crawlers, each once.
func dialectsOf(list []Crawler) (all []robots.Dialect) {
	for _, c := range list {
		if !slices.ContainsFunc(all, func(d robots.Dialect) bool { return d.Name == c.Dialect.Name }) {
			all = append(all, c.Dialect)
		}
	}
	return all
}

// warnCrawlers warns of tokens given by the user that are not product tokens, and of
// misspelled names of known crawlers: of those that the file names, as searching the directory
// takes longer than starting, or without a file of all.
func (c *command) warnCrawlers(list []Crawler, file *robots.File) {
	dialects, names := dialectsOf(list), crawlers.Names()
	if file != nil {
		var named []string
		for _, d := range dialects {
			named = append(named, file.Crawlers(d)...)
		}
		names = slices.Values(named)
	}
	for _, crawler := range list {
		for _, token := range crawler.Given() {
			if token == anyCrawler || crawler.listed {
				continue
			}
			if s := reading(token, dialects...); s != "" {
				c.std.WarnOnce("-a "+s, "-a %s", s)
			}
			if s := suggestion(token, names); s != "" {
				c.std.WarnOnce("no "+token, "-a %s is not a known crawler%s", strconv.Quote(clip(token)), s)
			}
		}
	}
}
