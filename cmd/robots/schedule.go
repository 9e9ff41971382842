package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // --zone must not depend on what the machine has installed
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/cobra"
)

func scheduleCommand(std *streams, status *int) *cobra.Command {
	p := &plan{call: newCall(std)}
	cmd := &cobra.Command{
		Use:   "schedule [-a TOKEN]... [-d DIALECT] [--at TIME] [--pages N] [--zone ZONE] {-f FILE | URL}",
		Short: "Say when the next request may start, and how long a crawl takes",
		Long: `Schedule makes one answer of all that a robots.txt says about pace to a crawler
(Crawl-delay, Request-rate with its windows, Visit-time): the pace over the day,
the next permitted starts, how long a number of pages takes, and what became of
every line. A wish that the dialect's engine says it ignores is shown and not
followed; one that the standard leaves to the crawler is followed (--obey).

It asks the site of the URL, or takes a file with -f. With --redis the first
start is that of the fleet: after the last request of any of its workers.

Exit status: 0 whatever the pace is, 2 bad use, unreadable input or interrupted,
3 undecided: robots.txt cannot be reached and no earlier copy holds.`,
		Example: `  robots schedule -a SeznamBot -d seznam https://example.com/
  robots schedule -f robots.txt -a SeznamBot -d seznam --pages 1800
  robots schedule -f robots.txt --at 2026-01-31T17:58:00Z --zone Europe/Prague
  robots schedule -f robots.txt --floor 2s --ceiling 1m --format json`,
		DisableFlagsInUseLine: true,
		RunE:                  p.run(status, p.answer),
	}
	f := cmd.Flags()
	f.SortFlags = false
	p.agentFlag(cmd)
	p.fileFlags(cmd)
	p.atFlag(cmd, "the `TIME` from which on to look, as in 2026-01-31T18:00:00Z\n(default now)")
	f.IntVar(&p.pages, "pages", 1000, "say how long `N` pages take")
	f.StringVar(&p.policy.Zone, "zone", "UTC", "the time `ZONE` in which the site means its windows, as in\nEurope/Prague")
	f.DurationVar(&p.policy.Floor, "floor", 0, "never wait less than this `DURATION` between requests, as in 2s")
	f.DurationVar(&p.policy.Ceiling, "ceiling", 0, "wait no longer than this `DURATION`, whatever the site asks for, as in 1m")
	f.StringVar(&p.obey, "obey", pace.ObeyUnlessIgnored.String(), "`WHAT` to follow: unless-ignored, all but what the dialect's engine\nignores; honoured, what it follows; declared, everything")
	complete(cmd, "obey", []string{pace.ObeyUnlessIgnored.String(), pace.ObeyHonoured.String(), pace.ObeyDeclared.String()})
	p.site.register(cmd)
	p.site.registerLeased(cmd)
	registerFormat(cmd, &p.format)
	p.colourFlag(cmd)
	return cmd
}

// A plan is one run of schedule: its flags, and what it answers.
type plan struct {
	*call
	pages  int
	obey   string
	policy pace.Policy

	schedule *pace.Schedule
	from     time.Time // that of --at, or now
	next     []pace.Turn
	day      []pace.Span
	takes    time.Duration // the pages
	within   bool          // takes is known
	fleet    *pace.Turn    // the next start of the fleet of --redis, nil without
}

// nextStarts is how many starts schedule lists.
const nextStarts = 5

// answer answers for one crawler and one file.
func (p *plan) answer(ctx context.Context) (status int, err error) {
	if p.given("file") {
		err = p.fileAlone()
	} else if len(p.args) == 0 {
		err = errors.New("name one URL of the site, or a robots.txt with -f FILE")
	}
	if err != nil {
		return exitBad, err
	}
	if err := p.checkPolicy(); err != nil {
		return exitBad, err
	}
	if p.args[0], err = p.oneURL(); err != nil {
		return exitBad, err
	}
	if err := p.open(); err != nil {
		return exitBad, err
	}
	_, err = p.call.answer(ctx, func(page *page) (err error) {
		status, err = p.show(ctx, page)
		return err
	})
	if err != nil {
		return exitBad, err
	}
	return status, nil
}

// show makes the plan of a site or a file and writes it.
func (p *plan) show(ctx context.Context, page *page) (status int, err error) {
	rules := p.rules[0].Rules
	if _, fallback := rules.FallbackReason(); fallback || rules.State().Text() != "" {
		p.warn("%s", p.state(page, (*robots.State).Text))
	}
	if p.from = p.at; p.at.IsZero() {
		p.from = p.std.now()
	}
	if rules.Match(robots.RawPath("/")).Undecided() {
		if p.format == formatJSON {
			err = p.printUndecided()
		}
		return exitUndecided, err
	}
	if p.schedule, err = pace.NewSchedule(rules, p.policy); err != nil {
		return exitBad, err
	}
	if p.live != nil && p.live.fleet != nil && p.at.IsZero() {
		turn, err := p.live.fleet.Limiter().NotBefore(ctx, pace.Key{Origin: page.site.origin}, p.schedule)
		if err == nil {
			p.fleet, p.from = &turn, p.std.now()
		} else {
			p.warn("the fleet's pace is not known: %w", err)
		}
	}
	p.lookAhead()
	if p.format == formatJSON {
		return exitAllowed, p.printJSON()
	}
	p.print()
	return exitAllowed, nil
}

// checkPolicy reads the flags of the pace.
func (p *plan) checkPolicy() error {
	if p.pages < 0 {
		return fmt.Errorf("--pages %d is not a number of pages, 0 or more", p.pages)
	}
	if p.policy.Obey.UnmarshalText([]byte(p.obey)) != nil {
		return fmt.Errorf("unknown --obey %q: it is unless-ignored, honoured or declared", clip(p.obey))
	}
	return p.policy.Check()
}

// lookAhead asks the schedule for the day, the next starts and the whole crawl.
func (p *plan) lookAhead() {
	p.from = p.from.In(p.schedule.Zone())
	p.day = p.schedule.Day(p.from)
	from, last := p.from, time.Time{}
	for i := range nextStarts {
		turn := p.schedule.Turn(from, last)
		if p.fleet != nil && i == 0 {
			turn = *p.fleet
		}
		turn.Start = turn.Start.In(p.schedule.Zone())
		p.next = append(p.next, turn)
		last = turn.Start
		if last.After(from) {
			from = last
		}
	}
	p.takes, p.within = p.schedule.Duration(p.pages, p.from)
}

// planWidth is the width that a schedule keeps to: that of its chart.
const planWidth = 80

// clock is how moments are written for people; the zone stands in the heading.
const clock = "2006-01-02 15:04:05"

func (p *plan) print() {
	w, colours := p.std.out, p.palette
	who := robots.Printable(strings.Join(p.rules[0].Tokens(), ", "))
	group := "no group of the file is for it"
	if g := p.rules[0].Group(); !g.IsZero() {
		group = "group " + g.Token() + ", " + lineList(g.Lines())
	}
	fmt.Fprintf(w, "%s  %s\n", colours.paint(bold, who), colours.paint(faint, "("+p.schedule.Dialect()+", "+group+")"))
	first := p.next[0]
	when := "now"
	if wait := first.Start.Sub(p.from); wait > 0 {
		when = "in " + pace.Words(wait)
	}
	who = "a request may start"
	if p.fleet != nil {
		who = "the fleet may start a request"
	}
	fmt.Fprintf(w, "At %s %s %s; then %s.\n", p.from.Format(clock+" MST"), who, when, one(first.Interval))

	heading(w, colours, "Pages an hour on "+p.from.Format("2006-01-02")+", "+p.schedule.Zone().String())
	if len(p.day) > 1 { // else there is nothing to see
		p.chart(w, colours)
	}
	p.printDay(w)

	heading(w, colours, "Next starts, each after an answer that takes no time")
	before := p.from
	for _, turn := range p.next {
		wait := "at once"
		if d := turn.Start.Sub(before); d > 0 {
			wait = "after " + pace.Words(d)
		}
		reason := turn.Reasons[0]
		reason.Interval = 0 // it stands in the column before
		wrap(w, planWidth, "  "+turn.Start.Format(startFormat(p.next))+"  "+fill(wait, 16)+"  ", reason.String())
		before = turn.Start
	}

	heading(w, colours, "How long it takes")
	takes := "more than ten years"
	if p.within {
		takes = pace.Words(p.takes)
	}
	fmt.Fprintf(w, "  %s pages: %s\n", thousands(p.pages), colours.paint(bold, takes))
	p.printEntries(w, colours)
}

// one says an interval as short as it can be said: "one every 30 s".
func one(interval time.Duration) string {
	return strings.Replace(pace.Every(interval), "one request", "one", 1)
}

// startFormat shows fractions of a second only where a start has one.
func startFormat(turns []pace.Turn) string {
	for _, t := range turns {
		if t.Start.Nanosecond() >= int(time.Millisecond) {
			return clock + ".000"
		}
	}
	return clock
}

// maxRows bounds the tables of a file that declares hundreds of windows.
const maxRows = 40

// printDay lists the paces of the day with their reasons.
func (p *plan) printDay(w io.Writer) {
	for i, s := range p.day {
		if i == maxRows {
			fmt.Fprintf(w, "  and %d more\n", len(p.day)-i)
			break
		}
		to := s.To.Format("15:04")
		if i == len(p.day)-1 && to == "00:00" {
			to = "24:00"
		}
		what := one(s.Interval)
		if !s.Open {
			what = "closed"
		}
		lead := fmt.Sprintf("  %s-%s  %s  ", s.From.Format("15:04"), to, fill(what, 20))
		var reasons []string
		for _, r := range s.Reasons {
			r.Interval = 0 // it stands in the column before
			reasons = append(reasons, r.String())
		}
		why := reasons[0]
		if len(reasons) > 1 {
			why += "; also " + strings.Join(reasons[1:], "; ")
		}
		wrap(w, planWidth, lead, why)
	}
}

// printEntries lists what the file declares and what became of it.
func (p *plan) printEntries(w io.Writer, colours palette) {
	entries := p.schedule.Entries()
	heading(w, colours, "What the file says")
	if len(entries) == 0 {
		fmt.Fprintln(w, "  nothing about pace for this crawler")
		return
	}
	line, value := 0, 0
	text := make([]string, len(entries))
	for i, e := range entries {
		text[i] = title(e.Field) + ": " + robots.Printable(e.Value)
		line = max(line, len(strconv.Itoa(e.Line)))
		value = max(value, min(utf8.RuneCountInString(text[i]), maxRuleColumn-8))
	}
	for i, e := range entries {
		if i == maxRows {
			fmt.Fprintf(w, "  and %d more\n", len(entries)-i+p.schedule.Dropped())
			return
		}
		style := green
		switch e.Fate {
		case pace.FateAdjusted, pace.FateOverridden:
			style = yellow
		case pace.FateIgnored, pace.FateUnusable:
			style = red
		}
		said := colours.paint(style, e.Fate.String())
		if e.Why != "" {
			said += ": " + e.Why
		}
		wrap(w, planWidth, fmt.Sprintf("  line %*d  %s  ", line, e.Line, fill(text[i], value)), said)
	}
}

func title(f robots.Field) string {
	s := f.String()
	return strings.ToUpper(s[:1]) + s[1:]
}

// The chart: a column an hour, chartRows high in eighths of a character.
const chartRows = 6

var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// chart draws how many pages each hour of the day has room for, 80 columns wide.
func (p *plan) chart(w io.Writer, colours palette) {
	hours := p.hours()
	most := 0.0
	for _, n := range hours {
		most = max(most, n)
	}
	for row := chartRows - 1; row >= 0; row-- {
		label := ""
		switch row {
		case chartRows - 1:
			label = short(most)
		case 0:
			label = "0"
		}
		var bars strings.Builder
		for _, n := range hours {
			level := 0
			if most > 0 {
				level = int(math.Round(n / most * chartRows * 8))
			}
			if n > 0 {
				level = max(level, 1) // what is not closed is seen
			}
			cell := eighths[min(max(level-8*row, 0), 8)]
			bars.WriteString(" " + cell + cell)
		}
		fmt.Fprintf(w, "  %5s %s\n", label, strings.TrimRight(colours.paint(green, strings.TrimRight(bars.String(), " ")), " "))
	}
	axis := ""
	for h := range hours {
		axis += fmt.Sprintf(" %02d", h)
	}
	fmt.Fprintf(w, "  %5s %s\n\n", "", colours.paint(faint, axis))
}

// hours returns the pages an hour in each hour of the clock. An hour that comes
// twice counts as one of the same pace, one that does not come as 0.
func (p *plan) hours() (hours [24]float64) {
	var spent [24]float64
	for _, s := range p.day {
		for from := s.From; from.Before(s.To); {
			past := time.Duration(from.Minute())*time.Minute + time.Duration(from.Second())*time.Second + time.Duration(from.Nanosecond())
			to := from.Add(time.Hour - past)
			if to.After(s.To) {
				to = s.To
			}
			spent[from.Hour()] += to.Sub(from).Hours()
			if s.Open {
				hours[from.Hour()] += float64(to.Sub(from)) / float64(max(s.Interval, time.Millisecond))
			}
			from = to
		}
	}
	for h := range hours {
		if spent[h] > 0 {
			hours[h] /= spent[h]
		}
	}
	return hours
}

// The JSON of schedule. Durations are in seconds; a moment is RFC 3339 in the
// zone of the schedule.
type (
	jsonPlan struct {
		Schema   int         `json:"schema"`
		Agent    []string    `json:"agent"`
		Group    *string     `json:"group"`
		Dialect  string      `json:"dialect"`
		Obey     pace.Obey   `json:"obey"`
		Zone     string      `json:"zone"`
		At       string      `json:"at"`
		Next     []jsonTurn  `json:"next"`
		Day      []jsonSpan  `json:"day"`
		Declared []jsonEntry `json:"declared"`
		Dropped  int         `json:"dropped"`
		Pages    int         `json:"pages"`
		Seconds  *float64    `json:"seconds"` // null: more than ten years
		*jsonState
	}
	// jsonUndecided is the answer while nobody knows what a site asks for.
	jsonUndecided struct {
		Schema  int      `json:"schema"`
		Agent   []string `json:"agent"`
		Dialect string   `json:"dialect"`
		At      string   `json:"at"`
		jsonState
		NextTry *string `json:"next_try"` // null: not by itself
	}
	jsonTurn struct {
		Start    string       `json:"start"`
		Interval float64      `json:"interval"`
		Reasons  []jsonReason `json:"reasons"`
	}
	jsonSpan struct {
		From     string       `json:"from"`
		To       string       `json:"to"`
		Open     bool         `json:"open"`
		Interval float64      `json:"interval"`
		Reasons  []jsonReason `json:"reasons"`
	}
	jsonReason struct {
		Cause    pace.Cause `json:"cause"`
		Line     *int       `json:"line"`
		Value    *string    `json:"value"`
		Interval float64    `json:"interval"`
		Text     string     `json:"text"`
	}
	jsonEntry struct {
		Line     int       `json:"line"`
		Field    string    `json:"field"`
		Value    string    `json:"value"`
		Declared float64   `json:"declared"`
		Interval float64   `json:"interval"`
		Fate     pace.Fate `json:"fate"`
		Why      *string   `json:"why"`
	}
)

func (p *plan) printJSON() error {
	j := jsonPlan{
		Schema: 1, Agent: p.rules[0].Tokens(), Dialect: p.schedule.Dialect(), Obey: p.schedule.Policy().Obey,
		Zone: p.schedule.Zone().String(), At: p.from.Format(time.RFC3339Nano),
		Declared: []jsonEntry{}, Dropped: p.schedule.Dropped(), Pages: p.pages,
	}
	if g := p.rules[0].Group(); !g.IsZero() {
		j.Group = notEmpty(g.Token())
	}
	if p.within {
		seconds := p.takes.Seconds()
		j.Seconds = &seconds
	}
	for _, t := range p.next {
		j.Next = append(j.Next, jsonTurn{t.Start.Format(time.RFC3339Nano), t.Interval.Seconds(), jsonReasons(t.Reasons)})
	}
	for _, s := range p.day {
		j.Day = append(j.Day, jsonSpan{s.From.Format(time.RFC3339), s.To.Format(time.RFC3339), s.Open, s.Interval.Seconds(), jsonReasons(s.Reasons)})
	}
	for _, e := range p.schedule.Entries() {
		j.Declared = append(j.Declared, jsonEntry{e.Line, e.Field.String(), e.Value, e.Declared.Seconds(), e.Interval.Seconds(), e.Fate, notEmpty(e.Why)})
	}
	if p.record != nil {
		j.jsonState = newJSONState(p.record, p.rules[0].State().Text())
	}
	return encode(p.std.out, j)
}

// printUndecided writes an object without a pace: none is known.
func (p *plan) printUndecided() error {
	r := p.rules[0]
	j := jsonUndecided{Schema: 1, Agent: r.Tokens(), Dialect: r.Dialect().Name, At: p.from.UTC().Format(time.RFC3339Nano), jsonState: *newJSONState(p.record, r.State().Text())}
	if t := p.record.NextTry; !t.IsZero() {
		j.NextTry = notEmpty(stamp(t))
	}
	return encode(p.std.out, j)
}

func jsonReasons(reasons []pace.Reason) []jsonReason {
	all := []jsonReason{}
	for _, r := range reasons {
		j := jsonReason{Cause: r.Cause, Value: notEmpty(r.Value), Interval: r.Interval.Seconds(), Text: r.String()}
		if r.Line > 0 {
			j.Line = &r.Line
		}
		all = append(all, j)
	}
	return all
}
