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

// fetchOptions are one run of robots fetch.
type fetchOptions struct {
	std    *screen.Streams
	args   []string
	output outputFlags
	site   siteFlags
	body   bool // print only the file
}

func newFetchCommand(std *screen.Streams) *cobra.Command {
	o := &fetchOptions{std: std}
	cmd := &cobra.Command{Use: "fetch", RunE: runE(std, &o.args, o.run)}
	cmd.Flags().BoolVar(&o.body, "body", false, "print only the file")
	o.output.registerFormat(cmd)
	o.site.register(cmd)
	o.site.registerProbe(cmd)
	o.output.registerColor(cmd)
	return cmd
}

// run fetches the robots.txt of a site.
func (o *fetchOptions) run(ctx context.Context) (int, error) {
	if o.body && o.output.json() {
		return exitBad, errors.New("--body and --format json exclude each other")
	}
	url, err := oneURL(o.std, o.args)
	if err != nil {
		return exitBad, err
	}
	origin, _, err := ask.URL(robots.RFC9309, url, true)
	if err != nil {
		return exitBad, err
	}
	l, err := o.site.open(o.std, nil, 0)
	if err != nil {
		return exitBad, err
	}
	defer l.Close()
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	l.AddCredentials(origin, url)
	get := l.CacheOf(origin).Refresh // whatever is stored
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
	o.output.reader(o.std).Parse(&text, robots.RFC9309, 0)
	o.write(l, url, r)
	if r.Outcome.Good() {
		return exitAllowed, nil
	}
	return exitUndecided, nil
}

// write writes the report, or only the file.
func (o *fetchOptions) write(l *source.Live, url string, r *fetch.Record) {
	now := o.std.Now()
	if o.body {
		printBody(o.std, r)
		if r.Outcome != fetch.Success {
			s := r.Rules(robots.RFC9309, now).State()
			o.std.Complain(errors.New(l.StateLine(r, s, s.Text())))
		}
		return
	}
	fetched := l.Fetched(url, r, now)
	if o.output.json() {
		o.std.EncodeAnswer(fetched)
		l.Hint(r)
		return
	}
	var dialects []string
	if o.site.probe {
		dialects = probing()
	}
	render.Fetch(o.std.Out, o.output.palette(o.std), fetched, dialects)
}

// oneURL returns the URL of a verb that takes one site: the argument, or the URL on standard
// input.
func oneURL(std *screen.Streams, args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", errors.New("no URL given; name any URL of the site")
	case len(args) > 1:
		return "", fmt.Errorf("unexpected argument %q: one site at a time", clip(args[1]))
	}
	url := ""
	u := &source.URLReader{Std: std, Args: args}
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
