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

// A schedule is when requests of a crawler may start, and how long a crawl takes.
type schedule struct {
	*pace.Schedule
	from   time.Time // that of --at, or now
	next   []nextRequest
	day    []pace.Span
	pages  int
	takes  time.Duration // of the pages
	within bool          // takes is known
	fleet  *nextRequest  // of the fleet given with --redis, nil without
}

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

// schedule makes the schedule of a crawler.
func (v *view) schedule(ctx context.Context) (*schedule, error) {
	made, err := pace.NewSchedule(v.rules, v.policy)
	if err != nil {
		return nil, err
	}
	p := &schedule{Schedule: made, from: cmp.Or(v.at, v.std.now()), pages: v.pages}
	if v.live != nil && v.live.fleet != nil && v.at.IsZero() && v.from.Record != nil {
		list, err := v.live.fleet.Limiter().Try(ctx, []pace.Request{{Origin: v.from.Record.Origin, Schedule: made}}, 0)
		if err == nil {
			interval, _ := made.At(list[0].NotBefore)
			p.fleet, p.from = &nextRequest{list[0].NotBefore, interval, list[0].Reasons}, v.std.now()
		} else {
			v.warn("the fleet's crawl rate is not known: %w", err)
		}
	}
	p.from = p.from.In(made.Zone())
	p.day = made.Day(p.from)
	from, last := p.from, time.Time{}
	for i := range nextStarts {
		next := nextOf(made, from, pace.State{Last: last})
		if p.fleet != nil && i == 0 {
			next = *p.fleet
		}
		next.Start = next.Start.In(made.Zone())
		p.next = append(p.next, next)
		if last = next.Start; last.After(from) {
			from = last
		}
	}
	p.takes, p.within = made.Duration(p.pages, p.from)
	return p, nil
}

// clock is how moments are written for people; the zone stands in the heading.
const clock = "2006-01-02 15:04:05"

func (p *schedule) write(w io.Writer, colors palette) {
	heading(w, colors, "Crawl rate")
	first := p.next[0]
	when := "now"
	if wait := first.Start.Sub(p.from); wait > 0 {
		when = "in " + duration.Text(wait)
	}
	who := "a request may start"
	if p.fleet != nil {
		who = "the fleet may start a request"
	}
	fmt.Fprintf(w, "  At %s %s %s; then %s.\n", p.from.Format(clock+" MST"), who, when, one(first.Interval))

	heading(w, colors, "Pages an hour on "+p.from.Format("2006-01-02")+", "+p.Zone().String())
	if len(p.day) > 1 { // else there is nothing to see
		p.chart(w, colors)
	}
	p.printDay(w)

	heading(w, colors, "Next requests, each after an immediate response")
	before, form := p.from, clock
	if slices.ContainsFunc(p.next, func(n nextRequest) bool { return n.Start.Nanosecond() >= int(time.Millisecond) }) {
		form += ".000"
	}
	for _, next := range p.next {
		wait := "at once"
		if d := next.Start.Sub(before); d > 0 {
			wait = "after " + duration.Text(d)
		}
		help.Wrap(w, "  "+next.Start.Format(form)+"  "+fill(wait, 16)+"  ", without(next.Reasons[0]))
		before = next.Start
	}

	heading(w, colors, "Duration")
	takes := "more than ten years"
	if p.within {
		takes = duration.Text(p.takes)
	}
	fmt.Fprintf(w, "  %s pages: %s\n", screen.Thousands(p.pages), colors.paint(bold, takes))
	p.printEntries(w, colors)
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

// maxRows bounds the tables of a file that declares hundreds of windows.
const maxRows = 40

// printDay lists the paces of the day with their reasons.
func (p *schedule) printDay(w io.Writer) {
	for i, s := range p.day {
		if i == maxRows {
			fmt.Fprintf(w, "  and %d more\n", len(p.day)-i)
			break
		}
		to := s.To.Format("15:04")
		if i == len(p.day)-1 && to == "00:00" {
			to = "24:00"
		}
		what := "closed"
		if s.Open {
			what = one(s.Interval)
		}
		why := without(s.Reasons[0])
		for _, r := range s.Reasons[1:] {
			why += "; also " + without(r)
		}
		help.Wrap(w, fmt.Sprintf("  %s-%s  %s  ", s.From.Format("15:04"), to, fill(what, 20)), why)
	}
}

// printEntries lists the rate lines of the file and how each is used.
func (p *schedule) printEntries(w io.Writer, colors palette) {
	entries := p.Entries()
	heading(w, colors, "Delays declared")
	if len(entries) == 0 {
		fmt.Fprintln(w, "  none for this crawler")
	}
	var rows [][]string
	for _, e := range entries[:min(len(entries), maxRows)] {
		style := map[pace.Use]string{pace.UseAdjusted: yellow, pace.UseOverridden: yellow, pace.UseIgnored: red, pace.UseUnusable: red}
		said := colors.paint(cmp.Or(style[e.Use], green), string(e.Use))
		if e.Why != "" {
			said += ": " + e.Why
		}
		rows = append(rows, []string{"  line " + strconv.Itoa(e.Line), robots.Printable(title(e.Field.String()) + ": " + e.Value), said})
	}
	alignWrapped(w, rows)
	if len(entries) > maxRows {
		fmt.Fprintf(w, "  and %d more\n", len(entries)-maxRows+p.Dropped())
	}
}

// The chart: a column an hour, chartRows high in eighths of a character.
const chartRows = 6

var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// chart draws how many pages each hour of the day has room for, 80 columns wide.
func (p *schedule) chart(w io.Writer, colors palette) {
	hours := p.hours()
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

// hours returns the pages an hour in each hour of the clock. An hour that comes twice counts as
// one of the same pace, one that does not come as 0.
func (p *schedule) hours() (hours [24]float64) {
	var minutes [24]float64
	for t := p.day[0].From; t.Before(p.day[len(p.day)-1].To); t = t.Add(time.Minute) {
		minutes[t.Hour()]++
		if interval, open := p.At(t); open {
			hours[t.Hour()] += float64(time.Hour) / float64(max(interval, time.Millisecond))
		}
	}
	for h := range hours {
		hours[h] /= max(minutes[h], 1)
	}
	return hours
}

// json returns the JSON of a schedule. Durations are in seconds; a time is RFC 3339 in its zone.
func (p *schedule) json() jsonObject {
	var seconds *float64 // null: more than ten years
	if p.within {
		seconds = new(p.takes.Seconds())
	}
	next, day, declared := []jsonObject{}, []jsonObject{}, []jsonObject{}
	for _, t := range p.next {
		next = append(next, jsonObject{{"start", t.Start.Format(time.RFC3339Nano)}, {"interval", t.Interval.Seconds()}, {"reasons", jsonReasons(t.Reasons)}})
	}
	for _, s := range p.day {
		day = append(day, jsonObject{
			{"from", s.From.Format(time.RFC3339)}, {"to", s.To.Format(time.RFC3339)}, {"open", s.Open}, {"interval", s.Interval.Seconds()},
			{"reasons", jsonReasons(s.Reasons)},
		})
	}
	for _, e := range p.Entries() {
		declared = append(declared, jsonObject{
			{"line", e.Line}, {"field", e.Field.String()}, {"value", e.Value}, {"declared", e.Declared.Seconds()}, {"interval", e.Interval.Seconds()},
			{"fate", e.Use}, {"why", notEmpty(e.Why)},
		})
	}
	return jsonObject{
		{"obey", p.Policy().Obey}, {"zone", p.Zone().String()}, {"at", p.from.Format(time.RFC3339Nano)}, {"next", next}, {"day", day},
		{"declared", declared}, {"dropped", p.Dropped()}, {"pages", p.pages}, {"seconds", seconds},
	}
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
