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
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/cobra"
)

// scheduleOptions are the flags of schedule, as written.
type scheduleOptions struct {
	options
	pages  int
	zone   string
	obey   string
	policy pace.Policy
}

func scheduleCommand(std *streams, status *int) *cobra.Command {
	var o scheduleOptions
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
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.urls = args
			*status, err = schedule(cmd.Context(), &o, std)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	registerAgent(cmd, &o.agents)
	registerFile(cmd, &o.file)
	registerDialect(cmd, &o.dialect)
	registerMaxBytes(cmd, &o.maxBytes)
	f.Var(&o.at, "at", "the `TIME` from which on to look, as in 2026-01-31T18:00:00Z\n(default now)")
	f.IntVar(&o.pages, "pages", 1000, "say how long `N` pages take")
	f.StringVar(&o.zone, "zone", "UTC", "the time `ZONE` in which the site means its windows, as in\nEurope/Prague")
	f.DurationVar(&o.policy.Floor, "floor", 0, "never wait less than this `DURATION` between requests, as in 2s")
	f.DurationVar(&o.policy.Ceiling, "ceiling", 0, "wait no longer than this `DURATION`, whatever the site asks for, as in 1m")
	f.StringVar(&o.obey, "obey", pace.ObeyUnlessIgnored.String(), "`WHAT` to follow: unless-ignored, all but what the dialect's engine\nignores; honoured, what it follows; declared, everything")
	complete(cmd, "obey", []string{pace.ObeyUnlessIgnored.String(), pace.ObeyHonoured.String(), pace.ObeyDeclared.String()})
	o.live.register(cmd)
	registerFormat(cmd, &o.format)
	f.StringVar(&o.colour, "color", colourAuto, "colour the text or not: `WHEN` is auto, always or never")
	complete(cmd, "color", []string{colourAuto, colourAlways, colourNever})
	return cmd
}

// plan is what schedule answers.
type plan struct {
	agents   []string
	group    robots.Group
	schedule *pace.Schedule
	at       time.Time
	next     []pace.Turn
	day      []pace.Span
	pages    int
	takes    time.Duration
	within   bool          // takes is known
	fleet    *pace.Turn    // the next start of the fleet of --redis, nil without
	record   *fetch.Record // nil with -f
	note     string        // on its state
}

// nextStarts is how many starts schedule lists.
const nextStarts = 5

// schedule answers for one crawler and one file.
func schedule(ctx context.Context, o *scheduleOptions, std *streams) (int, error) {
	const name = "robots schedule"
	if o.file.given && len(o.urls) > 0 {
		return exitBad, fmt.Errorf("unexpected argument %q: the file is named with -f FILE", clip(o.urls[0]))
	}
	d, err := dialectByName(o.dialect)
	if err != nil {
		return exitBad, err
	}
	given, err := o.settings(std)
	if err != nil {
		return exitBad, err
	}
	if err := o.checkPolicy(); err != nil {
		return exitBad, err
	}
	p := plan{at: std.now(), pages: o.pages}
	if o.at.given {
		p.at = given.at
	}
	var rules *robots.Rules
	if o.file.given {
		rules, err = o.fileRules(std, name, d, given.maxBytes)
	} else {
		rules, err = o.siteRules(ctx, std, name, &p)
	}
	if err != nil {
		return exitBad, err
	}
	p.agents, p.group = rules.Tokens(), rules.Group()
	if undecided(rules.Match(robots.RawPath("/"))) {
		if o.format == formatJSON {
			return exitUndecided, p.printUndecided(std.out, rules.Dialect().Name)
		}
		return exitUndecided, nil
	}
	if p.schedule, err = pace.NewSchedule(rules, o.policy); err != nil {
		return exitBad, err
	}
	if p.fleet != nil { // whose start counts from after the fetch
		p.at = std.now()
	}
	p.lookAhead()
	if o.format == formatJSON {
		return exitAllowed, p.printJSON(std.out)
	}
	p.print(std.out, given.colours)
	return exitAllowed, nil
}

// checkPolicy reads the flags of the pace.
func (o *scheduleOptions) checkPolicy() error {
	if o.pages < 0 {
		return fmt.Errorf("--pages %d is not a number of pages, 0 or more", o.pages)
	}
	o.policy.Zone = o.zone
	if o.policy.Obey.UnmarshalText([]byte(o.obey)) != nil {
		return fmt.Errorf("unknown --obey %q: it is unless-ignored, honoured or declared", clip(o.obey))
	}
	return o.policy.Check()
}

// lookAhead asks the schedule for the day, the next starts and the whole crawl.
func (p *plan) lookAhead() {
	p.at = p.at.In(p.schedule.Zone())
	p.day = p.schedule.Day(p.at)
	var last time.Time
	for range nextStarts {
		turn := p.schedule.Turn(maxTime(p.at, last), last)
		if p.fleet != nil && last.IsZero() {
			turn = *p.fleet
		}
		turn.Start = turn.Start.In(p.schedule.Zone())
		p.next = append(p.next, turn)
		last = turn.Start
	}
	p.takes, p.within = p.schedule.Duration(p.pages, p.at)
}

// fileRules returns the rules of the file of -f.
func (o *scheduleOptions) fileRules(std *streams, name string, d robots.Dialect, maxBytes int) (*robots.Rules, error) {
	if err := o.live.unused(); err != nil {
		return nil, err
	}
	if err := checkAgents(o.agents, d); err != nil {
		return nil, err
	}
	file, err := readFile(std, name, o.file, d, maxBytes)
	if err != nil {
		return nil, err
	}
	warnAgents(std, name, o.agents, d)
	file, d = limited(file, d, maxBytes)
	return file.Rules(d, callers(o.agents)...), nil
}

// siteRules asks the site of the one URL and says how it stands with it, and asks
// the fleet for its next start there.
func (o *scheduleOptions) siteRules(ctx context.Context, std *streams, name string, into *plan) (rules *robots.Rules, err error) {
	if len(o.urls) == 0 {
		return nil, errors.New("name one URL of the site, or a robots.txt with -f FILE")
	}
	url, err := oneURL(std, o.urls)
	if err != nil {
		return nil, err
	}
	o.urls = []string{url}
	j, err := prepare(std, name, &o.options)
	if err != nil {
		return nil, err
	}
	_, err = j.answer(ctx, func(p *page) {
		rules = p.asked[0].rules
		into.record, into.note = j.record, rules.State().Text()
		_, fallback := rules.FallbackReason()
		if s := rules.State(); fallback || s.Text() != "" {
			warn(std, name, "%s", j.state(p))
		}
		if f := j.live.fleet; f != nil && !o.at.given {
			into.fleet = o.fleetTurn(ctx, std, name, f, p.site.origin, rules)
		}
	})
	return rules, err
}

// fleetTurn asks the fleet for its next start at a site.
func (o *scheduleOptions) fleetTurn(ctx context.Context, std *streams, name string, f *fleet.Fleet, origin robots.Origin, rules *robots.Rules) *pace.Turn {
	s, err := pace.NewSchedule(rules, o.policy)
	if err == nil {
		var turn pace.Turn
		if turn, err = f.Limiter().NotBefore(ctx, pace.Key{Origin: origin}, s); err == nil {
			return &turn
		}
	}
	warn(std, name, "the fleet's pace is not known: %w", err)
	return nil
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// clock is how moments are written for people; the zone stands in the heading.
const clock = "2006-01-02 15:04:05"

func (p *plan) print(w io.Writer, colours palette) {
	who := robots.Printable(strings.Join(p.agents, ", "))
	group := "no group of the file is for it"
	if !p.group.IsZero() {
		group = "group " + p.group.Token() + ", " + lineList(p.group.Lines())
	}
	fmt.Fprintf(w, "%s  %s\n", colours.paint(bold, who), colours.paint(faint, "("+p.schedule.Dialect()+", "+group+")"))
	first := p.next[0]
	when := "now"
	if wait := first.Start.Sub(p.at); wait > 0 {
		when = "in " + pace.Words(wait)
	}
	who = "a request may start"
	if p.fleet != nil {
		who = "the fleet may start a request"
	}
	fmt.Fprintf(w, "At %s %s %s; then %s.\n", p.at.Format(clock+" MST"), who, when, one(first.Interval))

	heading(w, colours, "Pages an hour on "+p.at.Format("2006-01-02")+", "+p.schedule.Zone().String())
	if len(p.day) > 1 { // else there is nothing to see
		p.chart(w, colours)
	}
	p.printDay(w)

	heading(w, colours, "Next starts, each after an answer that takes no time")
	before := p.at
	for _, turn := range p.next {
		wait := "at once"
		if d := turn.Start.Sub(before); d > 0 {
			wait = "after " + pace.Words(d)
		}
		reason := turn.Reasons[0]
		reason.Interval = 0 // it stands in the column before
		lead := "  " + turn.Start.Format(startFormat(p.next)) + "  " + fill(wait, 16) + "  "
		wrapAt(w, lead, utf8.RuneCountInString(lead), 80, reason.String())
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
		wrapAt(w, lead, 2+11+2+20+2, 80, why)
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
		style, said := green, e.Fate.String()
		switch e.Fate {
		case pace.Adjusted, pace.Overridden:
			style = yellow
		case pace.Ignored, pace.Unusable:
			style = red
		}
		if e.Why != "" {
			said += ": " + e.Why
		}
		lead := fmt.Sprintf("  line %*d  %s  ", line, e.Line, fill(text[i], value))
		// Only the first word is coloured; wrap counts what it prints.
		wrapAt(w, lead, 2+5+line+2+max(value, utf8.RuneCountInString(text[i]))+2, 80, said, func(s string) string {
			return strings.Replace(s, e.Fate.String(), colours.paint(style, e.Fate.String()), 1)
		})
	}
}

func title(f robots.Field) string {
	s := f.String()
	return strings.ToUpper(s[:1]) + s[1:]
}

// wrapAt is wrap with a width. What it wrote is dressed, with what has no width.
func wrapAt(w io.Writer, lead string, indent, width int, text string, dress ...func(string) string) {
	if indent > width-24 { // no room beside it: below, as far in as usual
		fmt.Fprintln(w, strings.TrimRight(lead, " "))
		lead, indent = strings.Repeat(" ", 12), 12
	}
	var b strings.Builder
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case line == "":
			line = word
		case indent+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(line + "\n" + strings.Repeat(" ", indent))
			line = word
		default:
			line += " " + word
		}
	}
	s := b.String() + line
	for _, d := range dress {
		s = d(s)
	}
	fmt.Fprintln(w, lead+s)
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
			to := maxTime(from, from.Add(time.Hour-time.Duration(from.Minute())*time.Minute-time.Duration(from.Second())*time.Second-time.Duration(from.Nanosecond())))
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

// short writes a number in at most five characters.
func short(n float64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatFloat(n/1e6, 'f', 1, 64) + "M"
	case n >= 1e5:
		return strconv.FormatFloat(n/1e3, 'f', 0, 64) + "k"
	case n >= 10 || n == math.Trunc(n):
		return strconv.FormatFloat(n, 'f', 0, 64)
	default:
		return strconv.FormatFloat(n, 'f', 2, 64)
	}
}

// thousands writes a number as people do: 1,800.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
