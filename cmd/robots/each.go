package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

// This file says who asks, where names of the directory of crawlers do: one crawler
// (--as), or several, each by its own tokens and in its own dialect (--each,
// --crawlers, and the verb crawlers).

// askers are crawlers that are asked about each page.
type askers struct {
	list     []crawlers.Crawler
	together *robots.Crawlers
	rules    []*ruleSet // of each, by the robots.txt of the page under way
}

func (c *call) asFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.as, "as", "", "`NAME` known crawler whose tokens and dialect to use")
}

func (c *call) eachFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&c.each, "each", false, "treat every -a as a separate crawler, with its known tokens and dialect")
	f.StringSliceVar(&c.purposes, "crawlers", nil, "`CATEGORY` also judge for all known crawlers of these categories, such as search,ai")
	complete(cmd, "crawlers", append([]string{anyAI}, purposeNames()...))
}

// who finds out who asks, if names of the directory say so.
func (c *call) who() error {
	several := c.each || len(c.purposes) > 0
	switch {
	case c.given("as") && (len(c.agents) > 0 || several):
		return errors.New("--as says who asks, and so does -a, --each or --crawlers: give one of them")
	case c.given("as"):
		return c.askAs()
	case !several:
		return nil
	case c.dialect == allDialects:
		return errors.New("each crawler is asked in one dialect, not in all: give -d a name, or leave it out")
	case c.each && len(c.agents) == 0:
		return errors.New("--each needs crawlers: name them with -a")
	}
	if _, err := dialectByName(c.dialect); err != nil {
		return err
	}
	if err := checkAgents(c.agents, robots.RFC9309); err != nil {
		return err
	}
	var list []crawlers.Crawler
	if len(c.purposes) > 0 {
		var err error
		if list, err = choose(c.purposes, "", false); err != nil {
			return err
		}
	}
	for _, a := range c.agents {
		e, ok := crawlers.Find(a)
		if !ok {
			e = crawlers.Crawler{Name: a, Tokens: []string{a}, Dialect: c.dialect}
			c.warn("-a %s is no crawler of the directory, so it is asked in %s%s", strconv.Quote(clip(a)), c.dialect, meant(a))
		}
		list = append(list, e)
	}
	if c.given("dialect") {
		list = slices.Clone(list)
		for i := range list {
			list[i].Dialect = c.dialect
		}
	}
	c.agents = nil
	c.askers = newAskers(list)
	return nil
}

// askAs takes the tokens and the dialect of a crawler of the directory, and says so.
func (c *call) askAs() error {
	e, ok := crawlers.Find(c.as)
	if !ok {
		hint := meant(c.as)
		if hint == "" {
			hint = ": robots crawlers lists them; -a takes any name"
		}
		return fmt.Errorf("--as %s is no crawler of the directory%s", strconv.Quote(clip(c.as)), hint)
	}
	c.agents = e.Tokens
	if !c.given("dialect") {
		c.dialect = e.ReadAs().Name
	}
	said := e.Name + " is asked as " + strings.Join(e.Tokens, ", else ") + ", in " + c.dialect
	if r := remark(e, false); r != "" {
		said += "; it: " + r
	}
	complain(c.std, c.name, errors.New(said))
	return nil
}

func newAskers(list []crawlers.Crawler) *askers {
	return &askers{list: list, together: crawlers.Callers(list)}
}

// dialects returns those of the crawlers, after the default, in which warnings about
// a file are given.
func (w *askers) dialects() []robots.Dialect {
	dialects := []robots.Dialect{robots.RFC9309}
	for _, e := range w.list {
		if d := e.ReadAs(); indexOf(dialects, d) < 0 {
			dialects = append(dialects, d)
		}
	}
	return dialects
}

func indexOf(dialects []robots.Dialect, d robots.Dialect) int {
	return slices.IndexFunc(dialects, func(k robots.Dialect) bool { return k.Name == d.Name })
}

// compileAskers makes the rules of each crawler, after those of the dialects.
func (c *call) compileAskers() {
	rules := c.askers.together.RulesBy(func(d robots.Dialect) *robots.Rules { return c.rules[indexOf(c.dialects, d)].Rules })
	c.askers.rules = nil
	for _, r := range rules {
		if c.userInitiated {
			r = r.UserInitiated()
		}
		c.askers.rules = append(c.askers.rules, &ruleSet{RuleSet: ask.RuleSet{Rules: r}})
	}
}

// pathFor returns the path of a page as a crawler among several takes it.
func (c *call) pathFor(paths []robots.Path, at int) robots.Path {
	return paths[indexOf(c.dialects, c.askers.list[at].ReadAs())]
}

// statusOf returns the exit status of one page: the worst of several, else that of
// the first dialect.
func (c *call) statusOf(p *page) int {
	if c.askers == nil {
		return statusOf(c.verdict)
	}
	status := exitAllowed
	for i, rules := range c.askers.rules {
		status = max(status, statusOf(rules.Match(c.pathFor(p.paths, i))))
	}
	return status
}
