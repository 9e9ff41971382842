package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/duration"
	"github.com/spf13/cobra"
)

func fetchCommand(std *screen.Streams) *cobra.Command {
	c := newCommand(std)
	var site siteFlags
	body := false
	cmd := &cobra.Command{Use: "fetch"}
	f := cmd.Flags()
	f.BoolVar(&body, "body", false, "print only the file")
	c.formatFlag(cmd)
	site.register(cmd)
	site.registerProbe(cmd)
	c.colorFlag(cmd)
	cmd.RunE = c.run(func(ctx context.Context) (int, error) {
		if body && c.format == formatJSON {
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
		l, err := c.openLive(&site, nil, 0)
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
		if body {
			printBody(c.std, r)
			if r.Outcome != fetch.Success {
				s := r.Rules(robots.RFC9309, c.std.Now()).State()
				c.std.Complain(errors.New(l.StateLine(r, s, s.Text())))
			}
		} else {
			c.answer(reportOf(l, c, url, r, site.probe))
			if c.format == formatJSON {
				l.Hint(r)
			}
		}
		if r.Outcome.Good() {
			return exitAllowed, nil
		}
		return exitUndecided, nil
	})
	return cmd
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

// reportOf describes the fetch of a URL's robots.txt, in JSON and for people. Times are RFC 3339.
func reportOf(l *source.Live, c *command, url string, r *fetch.Record, probed bool) (j jsonObject, text string) {
	w, good, style := &strings.Builder{}, r.Outcome.Good(), render.Green
	if !good {
		style = render.Red
	}
	fmt.Fprintf(w, "%s  %s\n", c.palette.Paint(style, r.Outcome.String()), c.palette.Paint(render.Bold, r.Origin.RobotsURL()))
	why, means := meaningOf(l, r, c.std.Now())
	render.Wrap(w, "  ", why)
	render.Wrap(w, "  ", means)
	render.Heading(w, c.palette, "Requests")
	hops := []jsonObject{}
	for i := range r.Hops {
		hop, answer, timings := describeHop(&r.Hops[i])
		hops = append(hops, hop)
		lead := fmt.Sprintf("  %*d  ", len(strconv.Itoa(len(r.Hops))), i+1)
		indent := strings.Repeat(" ", len(lead))
		fmt.Fprintf(w, "%s%s\n%s%s\n%s%s\n", lead, robots.Printable(r.Hops[i].URL), indent, answer, indent, c.palette.Paint(render.Faint, timings))
	}
	render.Heading(w, c.palette, "Details")
	sum := fmt.Sprintf("%x", sha256.Sum256(r.Body))
	detail := func(name, value string) { fmt.Fprintf(w, "  %-11s  %s\n", name, robots.Printable(value)) }
	details(r, sum, detail)
	if probed && r.MissingIs5xx {
		detail("probe", "the home page works and a page that cannot exist is answered 5xx: this 5xx counts as 404 in "+strings.Join(probing(), " and "))
	} else if probed && r.Cause == fetch.ServerError {
		detail("probe", "no effect: the 5xx is a failure in every dialect")
	}
	headers := map[string]string{}
	maps.Copy(headers, r.Header)
	if len(headers) > 0 {
		render.Heading(w, c.palette, "Headers that matter")
	}
	for _, name := range fetch.HeaderNames() {
		if value, ok := headers[name]; ok {
			fmt.Fprintf(w, "  %s: %s\n", name, robots.Printable(value))
		}
	}
	stated, file := good && r.StatedBy != "", r.Outcome == fetch.Success
	var last fetch.Copy
	if r.LastGood != nil {
		last = *r.LastGood
	}
	return jsonObject{
		{"schema", 1}, {"url", url}, {"robots_url", r.Origin.RobotsURL()},
		{"outcome", r.Outcome.String()}, {"cause", r.Cause.String()}, {"detail", r.Detail},
		{"status", r.Status}, {"final_url", r.URL}, {"redirects", r.Redirects()},
		{"started", render.Stamp(r.Started)}, {"fetched", render.Stamp(r.Fetched)}, {"took_ms", millis(r.Took())},
		{"expires", onlyIf(good, render.Stamp(r.Expires))}, {"stated_by", onlyIf(stated, r.StatedBy)}, {"stated_seconds", onlyIf(stated, int64(r.StatedLife/time.Second))},
		{"retry_after_seconds", onlyIf(!good && r.RetryAfter > 0, int64(r.RetryAfter/time.Second))},
		{"failing_since", onlyIf(!r.FailingSince.IsZero(), render.Stamp(r.FailingSince))}, {"failures", onlyIf(!good, r.Failures)},
		{"next_try", onlyIf(!good, render.Stamp(r.NextTry))}, {"last_good", onlyIf(r.LastGood != nil, render.Stamp(last.Fetched))},
		{"missing_is_5xx", onlyIf(r.MissingIs5xx, true)},
		{"size", onlyIf(file, len(r.Body))}, {"truncated", onlyIf(file, r.Truncated)}, {"sha256", onlyIf(file, sum)},
		{"headers", headers}, {"hops", hops},
	}, w.String()
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

// describeHop describes a request in JSON, and for people what was answered and how long its
// phases took.
func describeHop(h *fetch.Hop) (j jsonObject, answer, timings string) {
	j = jsonObject{
		{"url", h.URL}, {"address", h.Address}, {"protocol", onlyIf(h.Protocol != "", h.Protocol)}, {"via", onlyIf(h.Via != "", h.Via)},
		{"status", h.Status}, {"location", h.Location}, {"received", h.Received},
	}
	var phases []string
	for _, phase := range []struct {
		member, title string
		took          time.Duration
	}{
		{"dns_ms", "DNS", h.DNS}, {"connect_ms", "connecting", h.Connect}, {"tls_ms", "TLS", h.TLS}, {"header_ms", "headers", h.Header}, {"body_ms", "body", h.Body},
	} {
		j = append(j, jsonMember{phase.member, millis(phase.took)})
		if phase.took >= time.Millisecond {
			phases = append(phases, phase.title+" "+render.Took(phase.took))
		}
	}
	timings = render.Took(h.Took())
	if len(phases) > 0 {
		timings += ": " + strings.Join(phases, ", ")
	}
	if h.Address != "" {
		timings += " (" + h.Address + ")"
	}
	if h.Via != "" {
		timings += " via " + h.Via
	}
	answer = "no answer"
	if h.Status != 0 || h.Location != "" {
		answer = "status " + strconv.Itoa(h.Status)
	}
	if h.Location != "" {
		answer += ", redirects to " + robots.Printable(h.Location)
	}
	return j, answer, timings
}

// details calls add with names and values of further facts.
func details(r *fetch.Record, sum string, add func(name, value string)) {
	add("fetched at", render.Stamp(r.Started)+", took "+render.Took(r.Took()))
	if r.URL != r.Origin.RobotsURL() {
		add("final URL", r.URL)
	}
	if r.Outcome == fetch.Success {
		size := render.Count(len(r.Body), "byte")
		if r.Truncated {
			size += ", truncated"
		}
		if n := len(r.Hops); n > 0 && r.Hops[n-1].Received > 0 {
			size += ", " + render.Count(int(r.Hops[n-1].Received), "byte") + " received with headers"
		}
		add("size", size)
		add("SHA-256", sum)
	}
	switch {
	case r.Outcome.Good():
		stated := "the site states none"
		if r.StatedBy != "" {
			stated = r.StatedBy + " is " + duration.Text(r.StatedLife)
		}
		add("fresh until", render.Stamp(r.Expires)+" ("+duration.Text(r.Expires.Sub(r.Fetched))+"; "+stated+")")
	case r.Outcome == fetch.Unreachable:
		again := render.Stamp(r.NextTry)
		if r.RetryAfter > 0 {
			again += " (Retry-After " + duration.Text(r.RetryAfter) + ")"
		}
		add("next try", again)
		if !r.FailingSince.IsZero() && r.FailingSince.Before(r.Fetched) {
			add("failing", "since "+render.Stamp(r.FailingSince)+", "+render.Count(r.Failures, "attempt"))
		}
		if r.LastGood != nil {
			add("last answer", render.Stamp(r.LastGood.Fetched)+", status "+strconv.Itoa(r.LastGood.Status))
		}
	}
}

// millis is a duration in milliseconds, as exact as it was measured.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
