package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/robotskit/robots"
	"github.com/spf13/cobra"
)

func sitemapsCommand(std *streams, status *int) *cobra.Command {
	c := newCall(std)
	cmd := &cobra.Command{
		Use:   "sitemaps [-f FILE | URL...]",
		Short: "List the sitemaps a robots.txt names",
		Long: `Sitemaps lists the values of all Sitemap lines as written, one per line, in the
order of the file. They belong to no crawler. It takes the robots.txt of each
site that a URL names, any URL of the site, or a file with -f.

Exit status: 0 even if there are none, 2 bad use, unreadable input, a line of -
that is no URL or interrupted, 3 undecided: a robots.txt cannot be reached and no earlier copy
holds.`,
		Example: `  robots sitemaps https://example.com/
  robots sitemaps -f robots.txt
  robots sitemaps -f - --format json < robots.txt`,
		DisableFlagsInUseLine: true,
		RunE:                  c.run(status, func(ctx context.Context) (int, error) { return sitemaps(ctx, c) }),
	}
	cmd.Flags().SortFlags = false
	c.fileFlags(cmd)
	c.atFlag(cmd, judgedAt)
	c.site.register(cmd)
	registerFormat(cmd, &c.format)
	return cmd
}

// sitemaps lists sitemaps: of the file of -f, or of every site that a URL names.
func sitemaps(ctx context.Context, c *call) (int, error) {
	switch {
	case !c.given("file") && len(c.args) == 0:
		return exitBad, errors.New("nothing given: name a URL of the site, or a robots.txt with -f FILE")
	case c.given("file"):
		if err := c.fileAlone(); err != nil {
			return exitBad, err
		}
	}
	if err := c.open(); err != nil {
		return exitBad, err
	}
	open := false
	status, err := c.answer(ctx, func(p *page) error {
		if p.site != nil && p.site.shown {
			return nil
		}
		rules := c.rules[0].Rules
		state := c.state(p, (*robots.State).Text)
		if _, fallback := rules.FallbackReason(); fallback {
			c.warn("%s", state)
		}
		known := isKnown(rules)
		open = open || !known
		if known || c.format == formatJSON {
			return c.printSitemaps(rules)
		}
		return nil
	})
	switch {
	case status == exitBad:
		return exitBad, err
	case open:
		return exitUndecided, nil
	}
	return exitAllowed, nil
}

// printSitemaps writes the list. A program that reads it gets the bytes of the
// file; a terminal gets nothing that could steer it.
func (c *call) printSitemaps(rules *robots.Rules) error {
	list := rules.Sitemaps()
	if c.format != formatJSON {
		for _, s := range list {
			if c.std.terminal {
				s = robots.Printable(s)
			}
			fmt.Fprintln(c.std.out, s)
		}
		return nil
	}
	var state *jsonState
	if c.record != nil {
		state = newJSONState(c.record, rules.State().Text())
	}
	return encode(c.std.out, struct {
		Schema   int      `json:"schema"`
		Sitemaps []string `json:"sitemaps"`
		Dialect  string   `json:"dialect"`
		*jsonState
	}{1, append([]string{}, list...), rules.Dialect().Name, state})
}
