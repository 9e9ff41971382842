package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/pace"
)

// clockLayout is how moments are written for people; the zone stands in the heading.
const clockLayout = "2006-01-02 15:04:05"

// writeDelays writes when requests of the crawler may start and how long a crawl takes.
func writeDelays(w io.Writer, colors Palette, d *answer.Delays, byFleet bool) {
	from := d.At.Time
	who := "a request may start"
	if byFleet {
		who = "the fleet may start a request"
	}
	Heading(w, colors, "Crawl rate")
	when := "now"
	if wait := d.Next[0].Start.Sub(from); wait > 0 {
		when = "in " + duration.Text(wait)
	}
	fmt.Fprintf(w, "  At %s %s %s; then %s.\n", from.Format(clockLayout+" MST"), who, when, oneEvery(d.Next[0].Interval))

	Heading(w, colors, "Pages an hour on "+from.Format("2006-01-02")+", "+d.Zone)
	if d.Hours != nil {
		chart(w, colors, d.Hours)
	}
	writeDay(w, d.Day)
	Heading(w, colors, "Next requests, each after an immediate response")
	writeNextRequests(w, from, d.Next)
	Heading(w, colors, "Duration")
	text := "more than ten years"
	if d.Takes != nil {
		text = duration.Text(time.Duration(*d.Takes))
	}
	fmt.Fprintf(w, "  %s pages: %s\n", screen.Thousands(d.Pages), colors.Paint(Bold, text))
	Heading(w, colors, "Delays declared")
	writeDeclared(w, colors, d)
}

// oneEvery formats an interval: "one every 30 s".
func oneEvery(interval answer.Interval) string {
	return strings.Replace(duration.Rate(time.Duration(interval)), "one request", "one", 1)
}

// writeNextRequests lists the next requests from a time on.
func writeNextRequests(w io.Writer, from time.Time, next []answer.NextRequest) {
	form := clockLayout
	if slices.ContainsFunc(next, func(n answer.NextRequest) bool { return n.Start.Nanosecond() >= int(time.Millisecond) }) {
		form += ".000"
	}
	for _, n := range next {
		wait := "at once"
		if d := n.Start.Sub(from); d > 0 {
			wait = "after " + duration.Text(d)
		}
		Wrap(w, "  "+n.Start.Format(form)+"  "+Fill(wait, 16)+"  ", n.Reasons[0].Short)
		from = n.Start.Time
	}
}

// maxDelayRows bounds the tables of a file that declares hundreds of windows.
const maxDelayRows = 40

// writeDay lists the paces of the day with their reasons.
func writeDay(w io.Writer, day []answer.Span) {
	for i, s := range day[:min(len(day), maxDelayRows)] {
		to := s.To.Format("15:04")
		what := "closed"
		if i == len(day)-1 && to == "00:00" {
			to = "24:00"
		}
		if s.Open {
			what = oneEvery(s.Interval)
		}
		why := s.Reasons[0].Short
		for _, r := range s.Reasons[1:] {
			why += "; also " + r.Short
		}
		Wrap(w, fmt.Sprintf("  %s-%s  %s  ", s.From.Format("15:04"), to, Fill(what, 20)), why)
	}
	if len(day) > maxDelayRows {
		fmt.Fprintf(w, "  and %d more\n", len(day)-maxDelayRows)
	}
}

// writeDeclared lists the rate lines of the file and how each is used.
func writeDeclared(w io.Writer, colors Palette, d *answer.Delays) {
	styles := map[pace.Use]string{
		pace.UseAdjusted: Yellow, pace.UseOverridden: Yellow, pace.UseIgnored: Red, pace.UseUnusable: Red,
	}
	var rows [][]string
	for _, e := range d.Declared[:min(len(d.Declared), maxDelayRows)] {
		use := colors.Paint(cmp.Or(styles[e.Use], Green), string(e.Use))
		if e.Why != nil {
			use += ": " + *e.Why
		}
		rows = append(rows, []string{"  line " + strconv.Itoa(e.Line), robots.Printable(answer.FieldTitle(e.Field) + ": " + e.Value), use})
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "  none for this crawler")
	}
	AlignWrapped(w, rows)
	if more := len(d.Declared) - maxDelayRows; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more+d.Dropped)
	}
}

// The chart: a column an hour, chartRows high in eighths of a character.
const chartRows = 6

var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// chart draws how many pages each hour of the day has room for, 80 columns wide.
func chart(w io.Writer, colors Palette, hours []float64) {
	most := slices.Max(hours)
	for row := chartRows - 1; row >= 0; row-- {
		label := map[int]string{chartRows - 1: Short(most), 0: "0"}[row]
		bars := ""
		for _, n := range hours {
			level := 0
			if n > 0 {
				level = max(int(math.Round(n/most*chartRows*8)), 1) // what is not closed is seen
			}
			bars += " " + strings.Repeat(eighths[min(max(level-8*row, 0), 8)], 2)
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %5s %s", label, colors.Paint(Green, strings.TrimRight(bars, " "))), " "))
	}
	axis := ""
	for h := range hours {
		axis += fmt.Sprintf(" %02d", h)
	}
	fmt.Fprintf(w, "  %5s %s\n\n", "", colors.Paint(Faint, axis))
}
