package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/duration"
)

// Fetch writes a fetch as text. If a 5xx was probed, probing are the dialects that use the result.
func Fetch(w io.Writer, colors Palette, f *answer.Fetch, probing []string) {
	style := Green
	if !f.Answered() {
		style = Red
	}
	fmt.Fprintf(w, "%s  %s\n", colors.Paint(style, f.Outcome), colors.Paint(Bold, f.RobotsURL))
	Wrap(w, "  ", f.Reason)
	Wrap(w, "  ", f.Effect)
	for _, n := range f.Notes {
		Wrap(w, "  ", colors.Paint(Yellow, "note")+"  "+robots.Printable(n.Text)+" ("+colors.Link(n.Clause)+")")
	}
	Heading(w, colors, "Requests")
	for i := range f.Hops {
		hop := &f.Hops[i]
		lead := fmt.Sprintf("  %*d  ", len(strconv.Itoa(len(f.Hops))), i+1)
		indent := strings.Repeat(" ", len(lead))
		fmt.Fprintf(w, "%s%s\n%s%s\n", lead, robots.Printable(hop.URL), indent, hopResponse(hop))
		fmt.Fprintf(w, "%s%s\n", indent, colors.Paint(Faint, hopTimings(hop)))
	}
	Heading(w, colors, "Details")
	rows := fetchDetails(f)
	if len(probing) > 0 && f.Cause == fetch.ServerError.String() {
		rows = append(rows, [2]string{"probe", probeResult(f, probing)})
	}
	for _, row := range rows {
		fmt.Fprintf(w, "  %-11s  %s\n", row[0], robots.Printable(row[1]))
	}
	if len(f.Headers) > 0 {
		Heading(w, colors, "Headers that matter")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		fmt.Fprintf(w, "  %s: %s\n", name, robots.Printable(f.Headers[name]))
	}
}

// hopResponse describes the response to a request.
func hopResponse(h *answer.FetchHop) string {
	text := "no answer"
	if h.Status != 0 || h.Location != "" {
		text = "status " + strconv.Itoa(h.Status)
	}
	if h.Location != "" {
		text += ", redirects to " + robots.Printable(h.Location)
	}
	return text
}

// hopTimings describes the duration of a request, of its phases from 1 ms, and the connection.
func hopTimings(h *answer.FetchHop) string {
	var phases []string
	total := answer.Milliseconds(0)
	for _, phase := range []struct {
		title string
		took  answer.Milliseconds
	}{
		{"DNS", h.DNS}, {"connecting", h.Connect}, {"TLS", h.TLS}, {"headers", h.Header}, {"body", h.Body},
	} {
		total += phase.took
		if phase.took >= answer.Milliseconds(time.Millisecond) {
			phases = append(phases, phase.title+" "+Took(time.Duration(phase.took)))
		}
	}
	text := Took(time.Duration(total))
	if len(phases) > 0 {
		text += ": " + strings.Join(phases, ", ")
	}
	if h.Address != "" {
		text += " (" + h.Address + ")"
	}
	if h.Via != "" {
		text += " via " + h.Via
	}
	return text
}

// fetchDetails returns further facts with their names.
func fetchDetails(f *answer.Fetch) (rows [][2]string) {
	add := func(name, value string) { rows = append(rows, [2]string{name, value}) }
	add("fetched at", string(f.Started)+", took "+Took(time.Duration(f.Took)))
	if f.FinalURL != f.RobotsURL {
		add("final URL", f.FinalURL)
	}
	if f.Size != nil {
		size := Count(*f.Size, "byte")
		if *f.Truncated {
			size += ", truncated"
		}
		if n := len(f.Hops); n > 0 && f.Hops[n-1].Received > 0 {
			size += ", " + Count(int(f.Hops[n-1].Received), "byte") + " received with headers"
		}
		add("size", size)
		add("SHA-256", f.SHA256)
	}
	switch {
	case f.Answered():
		add("fresh until", fetchLifetime(f))
	case f.Outcome == fetch.Unreachable.String():
		rows = append(rows, fetchOutage(f)...)
	}
	return rows
}

// probeResult describes what a probe after a 5xx has changed.
func probeResult(f *answer.Fetch, dialects []string) string {
	if !f.MissingIs5xx {
		return "no effect: the 5xx is a failure in every dialect"
	}
	return "the home page works and a page that cannot exist is answered 5xx: this 5xx counts as 404 in " + strings.Join(dialects, " and ")
}

// fetchLifetime describes how long an answer is used.
func fetchLifetime(f *answer.Fetch) string {
	stated := "the site states none"
	if f.StatedBy != "" {
		stated = f.StatedBy + " is " + seconds(*f.StatedSeconds)
	}
	return string(f.Expires) + " (" + duration.Text(f.Lifetime) + "; " + stated + ")"
}

// fetchOutage returns the facts of a failure with their names.
func fetchOutage(f *answer.Fetch) (rows [][2]string) {
	next := string(f.NextTry)
	if f.RetryAfterSeconds != nil {
		next += " (Retry-After " + seconds(*f.RetryAfterSeconds) + ")"
	}
	rows = append(rows, [2]string{"next try", next})
	if f.FailedBefore {
		rows = append(rows, [2]string{"failing", "since " + string(f.FailingSince) + ", " + Count(*f.Failures, "attempt")})
	}
	if f.LastGood != "" {
		rows = append(rows, [2]string{"last answer", string(f.LastGood) + ", status " + strconv.Itoa(f.LastGoodStatus)})
	}
	return rows
}

// seconds formats a number of seconds as a duration.
func seconds(n int64) string { return duration.Text(time.Duration(n) * time.Second) }
