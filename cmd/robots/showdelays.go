package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // --zone must not depend on what the machine has installed

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/pace"
)

// A nextRequest is when the next request may start, and why not earlier.
type nextRequest struct {
	Start    time.Time
	Interval time.Duration
	Reasons  []pace.Reason
}

// nextOf returns the next request of a schedule in a state.
func nextOf(s *pace.Schedule, t time.Time, state pace.State) nextRequest {
	start, reasons := s.Explain(t, state)
	interval, _ := s.At(start)
	for _, r := range reasons {
		if r.Cause == pace.CauseBackOff {
			interval = r.Interval
		}
	}
	return nextRequest{start, interval, reasons}
}

// nextStarts is how many requests are listed.
const nextStarts = 5

// clock is how moments are written for people; the zone stands in the heading.
const clock = "2006-01-02 15:04:05"

// delays writes when requests of the crawler may start and how long a crawl takes, and returns the
// same in JSON. Durations are in seconds; a time is RFC 3339 in the zone of the schedule.
func (v *view) delays(ctx context.Context, w io.Writer) jsonObject {
	s, _ := pace.NewSchedule(v.rules, v.policy) // no error: the policy has been checked
	from, who := cmp.Or(v.at, v.std.now()), "a request may start"
	var next []nextRequest
	if v.live != nil && v.live.fleet != nil && v.at.IsZero() && v.Record != nil {
		list, err := v.live.fleet.Limiter().Try(ctx, []pace.Request{{Origin: v.Record.Origin, Schedule: s}}, 0)
		if err == nil {
			interval, _ := s.At(list[0].NotBefore)
			next = []nextRequest{{list[0].NotBefore, interval, list[0].Reasons}}
			from, who = v.std.now(), "the fleet may start a request"
		} else {
			v.warn("the fleet's crawl rate is not known: %w", err)
		}
	}
	from = from.In(s.Zone())
	t, last := from, time.Time{}
	for i := range nextStarts {
		if i == len(next) {
			next = append(next, nextOf(s, t, pace.State{Last: last}))
		}
		next[i].Start = next[i].Start.In(s.Zone())
		if last = next[i].Start; last.After(t) {
			t = last
		}
	}

	heading(w, v.palette, "Crawl rate")
	when := "now"
	if wait := next[0].Start.Sub(from); wait > 0 {
		when = "in " + duration.Text(wait)
	}
	fmt.Fprintf(w, "  At %s %s %s; then %s.\n", from.Format(clock+" MST"), who, when, one(next[0].Interval))

	heading(w, v.palette, "Pages an hour on "+from.Format("2006-01-02")+", "+s.Zone().String())
	spans := s.Day(from)
	if len(spans) > 1 { // else there is nothing to see
		chart(w, v.palette, s, spans)
	}
	day := writeDay(w, spans)
	heading(w, v.palette, "Next requests, each after an immediate response")
	starts := writeNext(w, from, next)
	heading(w, v.palette, "Duration")
	takes, limited := s.Duration(v.pages, from)
	text, seconds := "more than ten years", (*float64)(nil)
	if limited {
		text, seconds = duration.Text(takes), new(takes.Seconds())
	}
	fmt.Fprintf(w, "  %s pages: %s\n", screen.Thousands(v.pages), v.palette.paint(bold, text))
	heading(w, v.palette, "Delays declared")
	declared := writeEntries(w, v.palette, s)
	return jsonObject{
		{"obey", s.Policy().Obey}, {"zone", s.Zone().String()}, {"at", from.Format(time.RFC3339Nano)}, {"next", starts}, {"day", day},
		{"declared", declared}, {"dropped", s.Dropped()}, {"pages", v.pages}, {"seconds", seconds},
	}
}

// one says an interval as short as it can be said: "one every 30 s".
func one(interval time.Duration) string {
	return strings.Replace(duration.Rate(interval), "one request", "one", 1)
}

// without returns a reason without its interval, which stands in the column before.
func without(r pace.Reason) string {
	r.Interval = 0
	return r.String()
}

// writeNext lists the next requests from a time on.
func writeNext(w io.Writer, from time.Time, next []nextRequest) (list []jsonObject) {
	form := clock
	if slices.ContainsFunc(next, func(n nextRequest) bool { return n.Start.Nanosecond() >= int(time.Millisecond) }) {
		form += ".000"
	}
	for _, n := range next {
		list = append(list, jsonObject{{"start", n.Start.Format(time.RFC3339Nano)}, {"interval", n.Interval.Seconds()}, {"reasons", jsonReasons(n.Reasons)}})
		wait := "at once"
		if d := n.Start.Sub(from); d > 0 {
			wait = "after " + duration.Text(d)
		}
		help.Wrap(w, "  "+n.Start.Format(form)+"  "+fill(wait, 16)+"  ", without(n.Reasons[0]))
		from = n.Start
	}
	return list
}

// maxRows bounds the tables of a file that declares hundreds of windows.
const maxRows = 40

// writeDay lists the paces of the day with their reasons.
func writeDay(w io.Writer, day []pace.Span) (list []jsonObject) {
	for i, s := range day {
		list = append(list, jsonObject{
			{"from", s.From.Format(time.RFC3339)}, {"to", s.To.Format(time.RFC3339)}, {"open", s.Open}, {"interval", s.Interval.Seconds()},
			{"reasons", jsonReasons(s.Reasons)},
		})
		if i >= maxRows {
			continue
		}
		to, what := s.To.Format("15:04"), "closed"
		if i == len(day)-1 && to == "00:00" {
			to = "24:00"
		}
		if s.Open {
			what = one(s.Interval)
		}
		why := without(s.Reasons[0])
		for _, r := range s.Reasons[1:] {
			why += "; also " + without(r)
		}
		help.Wrap(w, fmt.Sprintf("  %s-%s  %s  ", s.From.Format("15:04"), to, fill(what, 20)), why)
	}
	if len(day) > maxRows {
		fmt.Fprintf(w, "  and %d more\n", len(day)-maxRows)
	}
	return list
}

// writeEntries lists the rate lines of the file and how each is used.
func writeEntries(w io.Writer, colors palette, s *pace.Schedule) []jsonObject {
	styles := map[pace.Use]string{pace.UseAdjusted: yellow, pace.UseOverridden: yellow, pace.UseIgnored: red, pace.UseUnusable: red}
	list, rows := []jsonObject{}, [][]string{}
	for _, e := range s.Entries() {
		list = append(list, jsonObject{
			{"line", e.Line}, {"field", e.Field.String()}, {"value", e.Value}, {"declared", e.Declared.Seconds()}, {"interval", e.Interval.Seconds()},
			{"fate", e.Use}, {"why", notEmpty(e.Why)},
		})
		said := colors.paint(cmp.Or(styles[e.Use], green), string(e.Use))
		if e.Why != "" {
			said += ": " + e.Why
		}
		rows = append(rows, []string{"  line " + strconv.Itoa(e.Line), robots.Printable(title(e.Field.String()) + ": " + e.Value), said})
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "  none for this crawler")
	}
	alignWrapped(w, rows[:min(len(rows), maxRows)])
	if len(rows) > maxRows {
		fmt.Fprintf(w, "  and %d more\n", len(rows)-maxRows+s.Dropped())
	}
	return list
}

func jsonReasons(reasons []pace.Reason) []jsonObject {
	all := []jsonObject{}
	for _, r := range reasons {
		all = append(all, jsonObject{
			{"cause", r.Cause}, {"line", notEmpty(r.Line)}, {"value", notEmpty(r.Value)}, {"interval", r.Interval.Seconds()}, {"text", r.String()},
		})
	}
	return all
}

// The chart: a column an hour, chartRows high in eighths of a character.
const chartRows = 6

var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// chart draws how many pages each hour of the day has room for, 80 columns wide.
func chart(w io.Writer, colors palette, s *pace.Schedule, day []pace.Span) {
	hours := hoursOf(s, day)
	most := slices.Max(hours[:])
	for row := chartRows - 1; row >= 0; row-- {
		label := map[int]string{chartRows - 1: short(most), 0: "0"}[row]
		bars := ""
		for _, n := range hours {
			level := 0
			if n > 0 {
				level = max(int(math.Round(n/most*chartRows*8)), 1) // what is not closed is seen
			}
			bars += " " + strings.Repeat(eighths[min(max(level-8*row, 0), 8)], 2)
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %5s %s", label, colors.paint(green, strings.TrimRight(bars, " "))), " "))
	}
	axis := ""
	for h := range hours {
		axis += fmt.Sprintf(" %02d", h)
	}
	fmt.Fprintf(w, "  %5s %s\n\n", "", colors.paint(faint, axis))
}

// hoursOf returns the pages an hour in each hour of the clock. An hour that comes twice counts as
// one of the same pace, one that does not come as 0.
func hoursOf(s *pace.Schedule, day []pace.Span) (hours [24]float64) {
	var minutes [24]float64
	for t := day[0].From; t.Before(day[len(day)-1].To); t = t.Add(time.Minute) {
		minutes[t.Hour()]++
		if interval, open := s.At(t); open {
			hours[t.Hour()] += float64(time.Hour) / float64(max(interval, time.Millisecond))
		}
	}
	for h := range hours {
		hours[h] /= max(minutes[h], 1)
	}
	return hours
}
