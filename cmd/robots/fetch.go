package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

// fetchOptions are the flags of fetch, as written.
type fetchOptions struct {
	live   liveFlags
	body   bool
	format string
	colour string
	urls   []string
}

func fetchCommand(std *streams, status *int) *cobra.Command {
	var o fetchOptions
	cmd := &cobra.Command{
		Use:   "fetch URL",
		Short: "Fetch the robots.txt of a site and say what came of it",
		Long: `Fetch asks a site for its robots.txt, and says what came of it: every request
with its time, the outcome and what it means for crawlers, how long the answer
holds, and the headers that matter. URL is any URL of the site, or - for one on
standard input. With --cache the answer is kept in that file; the site is asked
whatever the file holds.

Exit status: 0 the site has answered, with a file or that there is none; 2 bad
use or interrupted; 3 it is out of reach, or the address guard refuses it.`,
		Example: `  robots fetch https://example.com/list?sort=price
  robots fetch --body https://example.com/ > robots.txt
  robots fetch --format json --timeout 5s https://example.com/`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.urls = args
			*status, err = fetchOne(cmd.Context(), &o, std)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&o.body, "body", false, "print the file and nothing else")
	o.live.register(cmd)
	o.live.registerProbe(cmd)
	registerFormat(cmd, &o.format)
	registerColour(cmd, &o.colour)
	return cmd
}

// fetchOne asks one site.
func fetchOne(ctx context.Context, o *fetchOptions, std *streams) (int, error) {
	if err := checkFormat(o.format); err != nil {
		return exitBad, err
	}
	colours, err := newPalette(o.colour, std.terminal)
	switch {
	case err != nil:
		return exitBad, err
	case o.body && o.format == formatJSON:
		return exitBad, errors.New("--body prints the file as it is, so --format json has no use with it")
	}
	url, err := oneURL(std, o.urls)
	if err != nil {
		return exitBad, err
	}
	origin, _, err := parseLive(robots.RFC9309, url)
	if err != nil {
		return exitBad, err
	}
	l, err := newLive(std, "robots fetch", &o.live, noLimit)
	if err != nil {
		return exitBad, err
	}
	defer l.close()
	ctx, stop := interruptible(ctx)
	defer stop()
	r, err := l.refresh(ctx, origin)
	switch {
	case ctx.Err() != nil:
		return exitBad, errInterrupted
	case err != nil:
		return exitBad, err
	}
	switch {
	case o.format == formatJSON:
		std.out.Write(append(appendRecord(nil, url, r), '\n'))
		l.hint(r)
	case o.body:
		printBody(std, r)
		if r.Outcome != fetch.Success {
			complain(std, "robots fetch", errors.New(l.stateLine(r, r.Rules(robots.RFC9309, std.now()).State())))
		}
	default:
		l.printRecord(std.out, colours, r, std.now(), o.live.probe)
	}
	if r.Outcome.Good() {
		return exitAllowed, nil
	}
	return exitUndecided, nil
}

// printBody writes a file: its octets for a program, and for a terminal what
// cannot steer it.
func printBody(std *streams, r *fetch.Record) {
	if !std.terminal {
		std.out.Write(r.Body)
		return
	}
	for line := range bytes.Lines(r.Body) {
		fmt.Fprintln(std.out, robots.Printable(string(bytes.TrimRight(line, "\r\n"))))
	}
}

// printRecord writes what came of a fetch, and of its probe if there was one.
func (l *live) printRecord(w io.Writer, colours palette, r *fetch.Record, now time.Time, probed bool) {
	style := green
	if !r.Outcome.Good() {
		style = red
	}
	fmt.Fprintf(w, "%s  %s\n", colours.paint(style, r.Outcome.String()), colours.paint(bold, r.Origin.RobotsURL()))
	why, means := l.meaning(r, now)
	for _, line := range []string{why, means} {
		wrap(w, "  ", 2, line)
	}
	heading(w, colours, "Requests")
	number := len(strconv.Itoa(len(r.Hops)))
	for i := range r.Hops {
		h := &r.Hops[i]
		fmt.Fprintf(w, "  %*d  %s\n", number, i+1, robots.Printable(h.URL))
		indent := fmt.Sprintf("  %*s  ", number, "")
		if h.Location != "" {
			fmt.Fprintf(w, "%sstatus %d, redirects to %s\n", indent, h.Status, robots.Printable(h.Location))
		} else if h.Status != 0 {
			fmt.Fprintf(w, "%sstatus %d\n", indent, h.Status)
		} else {
			fmt.Fprintf(w, "%sno answer\n", indent)
		}
		fmt.Fprintf(w, "%s%s\n", indent, colours.paint(faint, timings(h)))
	}
	heading(w, colours, "Details")
	for _, d := range details(r) {
		fmt.Fprintf(w, "  %-11s  %s\n", d[0], robots.Printable(d[1]))
	}
	if probed && r.Cause == fetch.ServerError {
		found := "found nothing: the 5xx is a failure in every dialect"
		if r.MissingIs5xx {
			found = "the home page works and a page that cannot exist is answered 5xx: this 5xx counts as 404 in " + strings.Join(probing(), " and ")
		}
		fmt.Fprintf(w, "  %-11s  %s\n", "probe", found)
	}
	if len(r.Header) == 0 {
		return
	}
	heading(w, colours, "Headers that matter")
	for _, name := range fetch.HeaderNames() {
		if v, ok := r.Header[name]; ok {
			fmt.Fprintf(w, "  %s: %s\n", name, robots.Printable(v))
		}
	}
}

// meaning says why an outcome is what it is, and what follows for crawlers.
func (l *live) meaning(r *fetch.Record, now time.Time) (why, means string) {
	why = r.Cause.Sentence()
	switch {
	case r.Cause == fetch.OK:
		why = "a file of " + count(len(r.Body), "octet")
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
		means = "Nothing was asked of the site."
		if h := l.permit(r); h != "" {
			means += " The option " + h + "."
		}
	case r.Outcome == fetch.Success && !fallback:
		means = "Its rules decide; robots check says of a URL what they allow."
		if r.Cause == fetch.Empty {
			means = "A crawler may fetch everything: the file has no rules."
		}
	case r.Cause == fetch.RedirectLimit || r.Cause == fetch.RedirectLoop:
		means = "A crawler may fetch everything: such redirects count as no robots.txt."
	case r.Outcome == fetch.Unavailable:
		means = "A crawler may fetch everything: the site has no robots.txt."
	case !fallback:
		means = "The copy of " + stamp(r.LastGood.Fetched) + " holds for now, as RFC 9309 says."
	case whole.Allowed:
		means = "A crawler may fetch everything, as RFC 9309 says after so long."
	default:
		means = "A crawler without an earlier copy may fetch nothing for now, as RFC 9309 says."
	}
	return why, means
}

// timings says how long the phases of a request took, and what it asked.
func timings(h *fetch.Hop) string {
	s := took(h.Took())
	sep := ": "
	for _, phase := range phases(h) {
		if phase.took >= 50*time.Microsecond {
			s += sep + phase.title + " " + took(phase.took)
			sep = ", "
		}
	}
	if h.Address != "" {
		s += " (" + h.Address + ")"
	}
	return s
}

// phase is a part of a request, with its name in JSON and for people.
type phase struct {
	name, title string
	took        time.Duration
}

func phases(h *fetch.Hop) []phase {
	return []phase{
		{"dns", "DNS", h.DNS}, {"connect", "connecting", h.Connect}, {"tls", "TLS", h.TLS},
		{"header", "headers", h.Header}, {"body", "body", h.Body},
	}
}

// details returns names and values of what else there is to know.
func details(r *fetch.Record) [][2]string {
	list := [][2]string{{"asked at", stamp(r.Started) + ", took " + took(max(r.Took(), time.Millisecond))}}
	add := func(name, value string) { list = append(list, [2]string{name, value}) }
	if r.URL != r.Origin.RobotsURL() {
		add("final URL", r.URL)
	}
	if r.Outcome == fetch.Success {
		size := count(len(r.Body), "octet")
		if r.Truncated {
			size += ", cut: the file goes on"
		}
		if n := received(r); n > 0 {
			size += ", " + count(int(n), "octet") + " received with headers"
		}
		add("size", size)
		add("SHA-256", fmt.Sprintf("%x", fetch.HashOf(r.Body)))
	}
	switch {
	case r.Outcome.Good():
		life := lasting(r.Expires.Sub(r.Fetched))
		if r.StatedBy != "" {
			life += "; " + r.StatedBy + " says " + lasting(r.StatedLife)
		} else {
			life += "; the site says nothing"
		}
		add("fresh until", stamp(r.Expires)+" ("+life+")")
	case r.Outcome == fetch.Unreachable:
		again := stamp(r.NextTry)
		if r.RetryAfter > 0 {
			again += " (Retry-After says " + lasting(r.RetryAfter) + ")"
		}
		add("ask again", again)
		if !r.FailingSince.IsZero() && r.FailingSince.Before(r.Fetched) {
			add("failing", "since "+stamp(r.FailingSince)+", "+count(r.Failures, "attempt"))
		}
		if r.LastGood != nil {
			add("last answer", stamp(r.LastGood.Fetched)+", status "+strconv.Itoa(r.LastGood.Status))
		}
	}
	return list
}

// received returns the octets of the last request as they came.
func received(r *fetch.Record) int64 {
	if len(r.Hops) == 0 {
		return 0
	}
	return r.Hops[len(r.Hops)-1].Received
}

// appendRecord appends what came of a fetch as one object.
func appendRecord(dst []byte, url string, r *fetch.Record) []byte {
	text := func(name, value string) {
		dst = append(dst, `,"`+name+`":`...)
		dst = robots.AppendQuoted(dst, value)
	}
	number := func(name string, n int64) { dst = strconv.AppendInt(append(dst, `,"`+name+`":`...), n, 10) }
	moment := func(name string, t time.Time) {
		if !t.IsZero() {
			text(name, stamp(t))
		}
	}
	dst = append(dst, `{"schema":1`...)
	text("url", url)
	text("robots_url", r.Origin.RobotsURL())
	text("outcome", r.Outcome.String())
	text("cause", r.Cause.String())
	text("detail", r.Detail)
	number("status", int64(r.Status))
	text("final_url", r.URL)
	number("redirects", int64(r.Redirects()))
	moment("started", r.Started)
	moment("fetched", r.Fetched)
	dst = appendMillis(append(dst, `,"took_ms":`...), r.Took())
	if r.Outcome.Good() {
		moment("expires", r.Expires)
		if r.StatedBy != "" {
			text("stated_by", r.StatedBy)
			number("stated_seconds", int64(r.StatedLife/time.Second))
		}
	} else {
		if r.RetryAfter > 0 {
			number("retry_after_seconds", int64(r.RetryAfter/time.Second))
		}
		moment("failing_since", r.FailingSince)
		number("failures", int64(r.Failures))
		moment("next_try", r.NextTry)
		if r.LastGood != nil {
			moment("last_good", r.LastGood.Fetched)
		}
		if r.MissingIs5xx {
			dst = append(dst, `,"missing_is_5xx":true`...)
		}
	}
	if r.Outcome == fetch.Success {
		number("size", int64(len(r.Body)))
		dst = strconv.AppendBool(append(dst, `,"truncated":`...), r.Truncated)
		text("sha256", fmt.Sprintf("%x", fetch.HashOf(r.Body)))
	}
	dst = append(dst, `,"headers":{`...)
	first := true
	for _, name := range fetch.HeaderNames() {
		if v, ok := r.Header[name]; ok {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = robots.AppendQuoted(dst, name)
			dst = robots.AppendQuoted(append(dst, ':'), v)
		}
	}
	dst = append(dst, `},"hops":[`...)
	for i := range r.Hops {
		h := &r.Hops[i]
		dst = appendComma(dst, i)
		dst = append(dst, `{"url":`...)
		dst = robots.AppendQuoted(dst, h.URL)
		text("address", h.Address)
		number("status", int64(h.Status))
		text("location", h.Location)
		number("received", h.Received)
		for _, phase := range phases(h) {
			dst = appendMillis(append(dst, `,"`+phase.name+`_ms":`...), phase.took)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// appendMillis appends a duration in milliseconds, as exact as it was measured.
func appendMillis(dst []byte, d time.Duration) []byte {
	return strconv.AppendFloat(dst, float64(d.Microseconds())/1000, 'f', -1, 64)
}
