package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

func sitemapsCommand(std *streams, status *int) *cobra.Command {
	var o options
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
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.urls = args
			*status, err = sitemaps(cmd.Context(), &o, std)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	registerFile(cmd, &o.file)
	registerDialect(cmd, &o.dialect)
	registerMaxBytes(cmd, &o.maxBytes)
	registerAt(cmd, &o.at)
	o.live.register(cmd)
	registerFormat(cmd, &o.format)
	return cmd
}

// sitemaps lists sitemaps: of the file of -f, or of every site that a URL names.
func sitemaps(ctx context.Context, o *options, std *streams) (int, error) {
	o.colour = colourNever
	if _, err := dialectByName(o.dialect); err != nil {
		return exitBad, err // all of them too
	}
	if !o.file.given && len(o.urls) == 0 {
		return exitBad, errors.New("nothing given: name a URL of the site, or a robots.txt with -f FILE")
	}
	if !o.file.given {
		return liveSitemaps(ctx, o, std)
	}
	if len(o.urls) > 0 {
		return exitBad, fmt.Errorf("unexpected argument %q: the file is named with -f FILE", clip(o.urls[0]))
	}
	// The path is asked for nothing: sitemaps belong to the whole file.
	o.urls = []string{"/"}
	j, err := prepare(std, "robots sitemaps", o)
	if err != nil {
		return exitBad, err
	}
	return exitAllowed, printSitemaps(std, o.format, j.pages[0].asked[0].rules, nil)
}

func liveSitemaps(ctx context.Context, o *options, std *streams) (int, error) {
	j, err := prepare(std, "robots sitemaps", o)
	if err != nil {
		return exitBad, err
	}
	undecided := false
	var failed error
	_, err = j.answer(ctx, func(p *page) {
		if p.site.told {
			return
		}
		rules := p.asked[0].rules
		state := j.state(p)
		reason, fallback := rules.FallbackReason()
		if fallback {
			warn(std, "robots sitemaps", "%s", state)
		}
		if !fallback || reason == robots.ReasonUnavailable || reason == robots.ReasonRedirectLimit {
			failed = errors.Join(failed, printSitemaps(std, o.format, rules, j.record))
			return
		}
		undecided = true
		if o.format == formatJSON {
			failed = errors.Join(failed, printSitemaps(std, o.format, rules, j.record))
		}
	})
	switch {
	case err != nil:
		return exitBad, err
	case failed != nil:
		return exitBad, failed
	case len(j.bad) > 0:
		return exitBad, nil
	case undecided:
		return exitUndecided, nil
	}
	return exitAllowed, nil
}

// printSitemaps writes the list. A program that reads it gets the bytes of the
// file; a terminal gets nothing that could steer it.
func printSitemaps(std *streams, format string, rules *robots.Rules, r *fetch.Record) error {
	list := rules.Sitemaps()
	if format != formatJSON {
		for _, s := range list {
			if std.terminal {
				s = robots.Printable(s)
			}
			fmt.Fprintln(std.out, s)
		}
		return nil
	}
	var state *jsonState
	if r != nil {
		state = newJSONState(r, rules.State().Text())
	}
	return encode(std.out, struct {
		Schema   int      `json:"schema"`
		Sitemaps []quoted `json:"sitemaps"`
		Dialect  string   `json:"dialect"`
		*jsonState
	}{1, quotedList(list), rules.Dialect().Name, state})
}
