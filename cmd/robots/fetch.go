package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

// A fetchCall is one run of robots fetch.
type fetchCall struct {
	*command
	site siteFlags
	body bool // print only the file
}

func fetchCommand(std *screen.Streams) *cobra.Command {
	c := &fetchCall{command: newCommand(std)}
	cmd := &cobra.Command{Use: "fetch"}
	cmd.Flags().BoolVar(&c.body, "body", false, "print only the file")
	c.formatFlag(cmd)
	c.site.register(cmd)
	c.site.registerProbe(cmd)
	c.colorFlag(cmd)
	cmd.RunE = c.run(c.fetch)
	return cmd
}

func (c *fetchCall) fetch(ctx context.Context) (int, error) {
	if c.body && c.format == formatJSON {
		return exitBad, errors.New("--body prints the file as it is, so it excludes --format json")
	}
	url, err := c.oneURL()
	if err != nil {
		return exitBad, err
	}
	origin, _, err := ask.URL(robots.RFC9309, url, true)
	if err != nil {
		return exitBad, err
	}
	l, err := c.openLive(&c.site, nil, 0)
	if err != nil {
		return exitBad, err
	}
	defer l.Close()
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	get := l.Cache.Refresh // whatever is kept
	if l.Store == nil {
		get = l.Client.Fetch // the cache would randomize the lifetime
	}
	r, err := get(ctx, origin)
	switch {
	case ctx.Err() != nil:
		return exitBad, screen.ErrInterrupted
	case err != nil:
		return exitBad, err
	}
	text := source.SiteFile(r)
	c.reader().Parse(&text, robots.RFC9309, 0)
	c.write(l, url, r)
	if r.Outcome.Good() {
		return exitAllowed, nil
	}
	return exitUndecided, nil
}

// write writes the report, or only the file.
func (c *fetchCall) write(l *source.Live, url string, r *fetch.Record) {
	now := c.std.Now()
	if c.body {
		printBody(c.std, r)
		if r.Outcome != fetch.Success {
			s := r.Rules(robots.RFC9309, now).State()
			c.std.Complain(errors.New(l.StateLine(r, s, s.Text())))
		}
		return
	}
	fetched := l.Fetched(url, r, now)
	if c.format == formatJSON {
		c.std.EncodeAnswer(fetched)
		l.Hint(r)
		return
	}
	var dialects []string
	if c.site.probe {
		dialects = probing()
	}
	render.Fetch(c.std.Out, c.palette, fetched, dialects)
}

// oneURL returns the URL of a verb that takes one site: the argument, or the URL on standard
// input.
func (c *command) oneURL() (string, error) {
	switch {
	case len(c.args) == 0:
		return "", errors.New("no URL given: name any URL of the site")
	case len(c.args) > 1:
		return "", fmt.Errorf("unexpected argument %q: one site at a time", clip(c.args[1]))
	}
	url := ""
	u := &source.URLReader{Std: c.std, Args: c.args}
	for text, err := range u.All() {
		if err == nil && url != "" {
			err = errors.New("several URLs on standard input: use one site at a time")
		}
		if err != nil {
			return "", err
		}
		url = text
	}
	return url, u.Err
}

// printBody writes a file: its bytes, or for a terminal without control characters.
func printBody(std *screen.Streams, r *fetch.Record) {
	if !std.Terminal {
		std.Out.Write(r.Body)
		return
	}
	for line := range bytes.Lines(r.Body) {
		fmt.Fprintln(std.Out, robots.Printable(string(bytes.TrimRight(line, "\r\n"))))
	}
}
