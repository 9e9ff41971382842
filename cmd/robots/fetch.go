package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/duration"
	"github.com/spf13/cobra"
)

func fetchCommand(std *streams) *cobra.Command {
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
		l, err := newLive(c, &site, nil, noLimit)
		if err != nil {
			return exitBad, err
		}
		defer l.close()
		ctx, stop := interruptible(ctx)
		defer stop()
		get := l.cache.Refresh // whatever is kept
		if l.store == nil {
			get = l.client.Fetch // the cache would randomize the lifetime
		}
		r, err := get(ctx, origin)
		switch {
		case ctx.Err() != nil:
			return exitBad, errInterrupted
		case err != nil:
			return exitBad, err
		}
		text := siteFile(r)
		c.parseFile(&text, robots.RFC9309, noLimit)
		switch {
		case c.format == formatJSON:
			c.std.encode(recordMembers(url, r))
			l.hint(r)
		case body:
			printBody(c.std, r)
			if r.Outcome != fetch.Success {
				s := r.Rules(robots.RFC9309, c.std.now()).State()
				c.std.complain(errors.New(l.stateLine(r, s, s.Text())))
			}
		default:
			l.printRecord(c.std.out, c.palette, r, c.std.now(), site.probe)
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
	u := &urlReader{std: c.std, args: c.args}
	for text, err := range u.all() {
		if err == nil && url != "" {
			err = errors.New("several URLs on standard input: use one site at a time")
		}
		if err != nil {
			return "", err
		}
		url = text
	}
	return url, u.err
}

// printBody writes a file: its bytes, or for a terminal without control characters.
func printBody(std *streams, r *fetch.Record) {
	if !std.terminal {
		std.out.Write(r.Body)
		return
	}
	for line := range bytes.Lines(r.Body) {
		fmt.Fprintln(std.out, robots.Printable(string(bytes.TrimRight(line, "\r\n"))))
	}
}

// printRecord writes the outcome of a fetch, and of its probe if there was one.
func (l *live) printRecord(w io.Writer, colors palette, r *fetch.Record, now time.Time, probed bool) {
	style := green
	if !r.Outcome.Good() {
		style = red
	}
	fmt.Fprintf(w, "%s  %s\n", colors.paint(style, r.Outcome.String()), colors.paint(bold, r.Origin.RobotsURL()))
	why, means := l.meaning(r, now)
	help.Wrap(w, "  ", why)
	help.Wrap(w, "  ", means)
	heading(w, colors, "Requests")
	for i, h := range r.Hops {
		lead := fmt.Sprintf("  %*d  ", len(strconv.Itoa(len(r.Hops))), i+1)
		indent := strings.Repeat(" ", len(lead))
		answer := "no answer"
		if h.Status != 0 || h.Location != "" {
			answer = "status " + strconv.Itoa(h.Status)
		}
		if h.Location != "" {
			answer += ", redirects to " + robots.Printable(h.Location)
		}
		fmt.Fprintf(w, "%s%s\n%s%s\n%s%s\n", lead, robots.Printable(h.URL), indent, answer, indent, colors.paint(faint, timings(&h)))
	}
	heading(w, colors, "Details")
	detail := func(name, value string) { fmt.Fprintf(w, "  %-11s  %s\n", name, robots.Printable(value)) }
	details(r, detail)
	if probed && r.MissingIs5xx {
		detail("probe", "the home page works and a page that cannot exist is answered 5xx: this 5xx counts as 404 in "+strings.Join(probing(), " and "))
	} else if probed && r.Cause == fetch.ServerError {
		detail("probe", "no effect: the 5xx is a failure in every dialect")
	}
	if len(r.Header) == 0 {
		return
	}
	heading(w, colors, "Headers that matter")
	for _, name := range fetch.HeaderNames() {
		if v, ok := r.Header[name]; ok {
			fmt.Fprintf(w, "  %s: %s\n", name, robots.Printable(v))
		}
	}
}

// meaning returns the cause of an outcome, and its effect on crawlers.
func (l *live) meaning(r *fetch.Record, now time.Time) (why, means string) {
	why = r.Cause.Sentence()
	switch {
	case r.Cause == fetch.OK:
		why = "a file of " + count(len(r.Body), "byte")
		if r.Truncated {
			why = "a file of more than " + count(len(r.Body), "byte") + ", which are kept"
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
		if h := l.permit(r); h != "" {
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
		means = "The copy of " + stamp(r.LastGood.Fetched) + " applies for now (RFC 9309)."
	case whole.Allowed:
		means = "A crawler may fetch everything after an outage this long (RFC 9309)."
	default:
		means = "A crawler without an earlier copy may fetch nothing for now (RFC 9309)."
	}
	return why, means
}

// timings returns how long the phases of a request took, and its address.
func timings(h *fetch.Hop) string {
	var phases []string
	for _, phase := range []struct {
		title string
		took  time.Duration
	}{{"DNS", h.DNS}, {"connecting", h.Connect}, {"TLS", h.TLS}, {"headers", h.Header}, {"body", h.Body}} {
		if phase.took >= time.Millisecond {
			phases = append(phases, phase.title+" "+took(phase.took))
		}
	}
	s := took(h.Took())
	if len(phases) > 0 {
		s += ": " + strings.Join(phases, ", ")
	}
	if h.Address != "" {
		s += " (" + h.Address + ")"
	}
	if h.Via != "" {
		s += " via " + h.Via
	}
	return s
}

// details calls add with names and values of further facts.
func details(r *fetch.Record, add func(name, value string)) {
	add("fetched at", stamp(r.Started)+", took "+took(r.Took()))
	if r.URL != r.Origin.RobotsURL() {
		add("final URL", r.URL)
	}
	if r.Outcome == fetch.Success {
		size := count(len(r.Body), "byte")
		if r.Truncated {
			size += ", truncated"
		}
		if n := len(r.Hops); n > 0 && r.Hops[n-1].Received > 0 {
			size += ", " + count(int(r.Hops[n-1].Received), "byte") + " received with headers"
		}
		add("size", size)
		add("SHA-256", fmt.Sprintf("%x", sha256.Sum256(r.Body)))
	}
	switch {
	case r.Outcome.Good():
		stated := "the site states none"
		if r.StatedBy != "" {
			stated = r.StatedBy + " is " + duration.Text(r.StatedLife)
		}
		add("fresh until", stamp(r.Expires)+" ("+duration.Text(r.Expires.Sub(r.Fetched))+"; "+stated+")")
	case r.Outcome == fetch.Unreachable:
		again := stamp(r.NextTry)
		if r.RetryAfter > 0 {
			again += " (Retry-After " + duration.Text(r.RetryAfter) + ")"
		}
		add("next try", again)
		if !r.FailingSince.IsZero() && r.FailingSince.Before(r.Fetched) {
			add("failing", "since "+stamp(r.FailingSince)+", "+count(r.Failures, "attempt"))
		}
		if r.LastGood != nil {
			add("last answer", stamp(r.LastGood.Fetched)+", status "+strconv.Itoa(r.LastGood.Status))
		}
	}
}

// recordMembers describes the fetch of a URL's robots.txt. Times are RFC 3339; members that do
// not apply are absent.
func recordMembers(url string, r *fetch.Record) jsonObject {
	j := jsonObject{
		{"schema", 1}, {"url", url}, {"robots_url", r.Origin.RobotsURL()},
		{"outcome", r.Outcome.String()}, {"cause", r.Cause.String()}, {"detail", r.Detail},
		{"status", r.Status}, {"final_url", r.URL}, {"redirects", r.Redirects()},
	}
	add := func(name string, value any) { j = append(j, jsonMember{name, value}) }
	addTime := func(name string, t time.Time) {
		if !t.IsZero() {
			add(name, stamp(t))
		}
	}
	addTime("started", r.Started)
	addTime("fetched", r.Fetched)
	add("took_ms", millis(r.Took()))
	if r.Outcome.Good() {
		addTime("expires", r.Expires)
		if r.StatedBy != "" {
			add("stated_by", r.StatedBy)
			add("stated_seconds", int64(r.StatedLife/time.Second))
		}
	} else {
		if r.RetryAfter > 0 {
			add("retry_after_seconds", int64(r.RetryAfter/time.Second))
		}
		addTime("failing_since", r.FailingSince)
		add("failures", r.Failures)
		addTime("next_try", r.NextTry)
		if r.LastGood != nil {
			addTime("last_good", r.LastGood.Fetched)
		}
		if r.MissingIs5xx {
			add("missing_is_5xx", true)
		}
	}
	if r.Outcome == fetch.Success {
		add("size", len(r.Body))
		add("truncated", r.Truncated)
		add("sha256", fmt.Sprintf("%x", sha256.Sum256(r.Body)))
	}
	headers, hops := map[string]string{}, []jsonObject{}
	maps.Copy(headers, r.Header)
	for _, h := range r.Hops {
		hops = append(hops, hopMembers(&h))
	}
	add("headers", headers)
	add("hops", hops)
	return j
}

func hopMembers(h *fetch.Hop) jsonObject {
	j := jsonObject{{"url", h.URL}, {"address", h.Address}}
	if h.Protocol != "" {
		j = append(j, jsonMember{"protocol", h.Protocol})
	}
	if h.Via != "" {
		j = append(j, jsonMember{"via", h.Via})
	}
	return append(j, jsonObject{
		{"status", h.Status}, {"location", h.Location}, {"received", h.Received}, {"dns_ms", millis(h.DNS)},
		{"connect_ms", millis(h.Connect)}, {"tls_ms", millis(h.TLS)}, {"header_ms", millis(h.Header)}, {"body_ms", millis(h.Body)},
	}...)
}

// millis is a duration in milliseconds, as exact as it was measured.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
