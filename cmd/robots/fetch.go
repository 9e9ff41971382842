package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

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
	c.writeAnswer(newFetchReport(l, url, r, now, c.site.probe))
	if c.format == formatJSON {
		l.Hint(r)
	}
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

// meaningOf returns the cause of an outcome, and its effect on crawlers.
func meaningOf(l *source.Live, r *fetch.Record, now time.Time) (why, means string) {
	why = r.Cause.Sentence()
	switch {
	case r.Cause == fetch.OK:
		why = "a file of " + render.Count(len(r.Body), "byte")
		if r.Truncated {
			why = "a file of more than " + render.Count(len(r.Body), "byte") + ", which are kept"
		}
	case r.Status != 0:
		why = "status " + strconv.Itoa(r.Status) + ": " + why
	}
	if r.Detail != "" {
		why += " (" + r.Detail + ")"
	}
	rules := r.Rules(robots.RFC9309, now)
	_, fallback := rules.FallbackReason()
	whole := rules.Match(robots.RawPath("/"))
	switch {
	case r.Outcome == fetch.Refused:
		means = "No request was sent to the site."
		if h := l.Permit(r); h != "" {
			means += " " + h + "."
		}
	case r.Outcome == fetch.Success && !fallback:
		means = "Its rules decide; robots check judges URLs by them."
		if whole.Reason == robots.ReasonEmptyFile {
			means = "A crawler may fetch everything: the file has no rules."
		}
	case r.Cause == fetch.RedirectLimit || r.Cause == fetch.RedirectLoop:
		means = "A crawler may fetch everything: such redirects count as no robots.txt."
	case r.Outcome == fetch.Unavailable:
		means = "A crawler may fetch everything: the site has no robots.txt."
	case !fallback:
		means = "The copy of " + render.Stamp(r.LastGood.Fetched) + " applies for now (RFC 9309)."
	case whole.Allowed:
		means = "A crawler may fetch everything after an outage this long (RFC 9309)."
	default:
		means = "A crawler without an earlier copy may fetch nothing for now (RFC 9309)."
	}
	return why, means
}
