package pace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
)

// MaxEntries bounds the entries of a schedule that decide at no time, so that a
// hostile file cannot make a report of any size.
const MaxEntries = 100

const minutes = 24 * 60

// NewSchedule returns the schedule of the crawler of r under an operator's
// policy. The error is about the policy and never about the site: a value that
// cannot be used, or is not honoured, is an Entry that says so. Nil rules
// declare nothing.
func NewSchedule(r *robots.Rules, p Policy) (*Schedule, error) {
	filled, zone, err := p.filled()
	if err != nil {
		return nil, err
	}
	s := &Schedule{policy: filled, zone: zone}
	plan := planner{Schedule: s}
	if r != nil {
		d := r.Dialect()
		s.dialect = d.Name
		for record := range r.Records() {
			switch record.Field {
			case robots.FieldCrawlDelay, robots.FieldRequestRate, robots.FieldVisitTime:
				plan.add(record, &d)
			}
		}
	}
	plan.paint()
	plan.report()
	return s, nil
}

// planner makes the parts of the day out of the entries.
type planner struct {
	*Schedule
	rate   [minutes]int // entry of the windowed rate in force, from 1; 0 for none
	open   [minutes]bool
	edge   [minutes + 1]bool // a window of an honoured entry begins, or one ended before
	visits bool              // some Visit-time is honoured
	always int               // entry of the slowest Request-rate without a window, from 1
	delay  int               // entry of the largest Crawl-delay, from 1
}

// add reads one declared line.
func (b *planner) add(r robots.Record, d *robots.Dialect) {
	e := Entry{Field: r.Field, Line: r.Line, Value: strings.Clone(clip(r.Value)), Fate: Honoured, Why: r.Problem}
	honour, name := d.RequestRate, "Request-rate"
	switch r.Field {
	case robots.FieldCrawlDelay:
		honour, name = d.CrawlDelay, "Crawl-delay"
		e.Declared = seconds(r.Delay)
		e.Interval = min(e.Declared, b.policy.MaxCrawlDelay)
		if e.Interval < e.Declared {
			e.Fate, e.Why = Adjusted, "longer than "+Words(b.policy.MaxCrawlDelay)+", the longest that is honoured in full"
		}
		if r.Inherited {
			e.Why = join(e.Why, "taken from the group of *, as "+d.Name+" does")
		}
	case robots.FieldRequestRate:
		e.Window = r.Rate.Window
		if r.Usable {
			e.Declared = spacing(r.Rate)
			e.Interval = spacing(r.Rate.AtLeast(d.RateFloor))
			if e.Interval < e.Declared {
				e.Fate, e.Why = Adjusted, join(e.Why, d.Name+" goes no slower than one in "+strconv.Itoa(d.RateFloor)+" s (RATE-04)")
			}
		}
	case robots.FieldVisitTime:
		e.Window = r.Window
		name = "Visit-time"
	}
	switch {
	case !r.Usable:
		e.Fate = Unusable
		e.Declared, e.Interval = 0, 0
	case honour == robots.HonourIgnored && b.policy.Obey != ObeyDeclared:
		e.Fate, e.Why = Ignored, d.Name+" does not follow "+name
	case honour == robots.HonourReported && b.policy.Obey == ObeyHonoured:
		e.Fate, e.Why = Ignored, d.Name+" leaves "+name+" to the crawler, and the policy honours only what engines document"
	default:
		b.bound(&e)
	}
	b.entries = append(b.entries, e)
}

// bound brings the interval of an entry between the operator's floor and ceiling.
func (b *planner) bound(e *Entry) {
	if e.Field == robots.FieldVisitTime {
		return
	}
	switch p := &b.policy; {
	case e.Interval < p.Floor:
		e.Interval, e.Fate, e.Why = p.Floor, Adjusted, join(e.Why, "faster than the operator's floor of "+Words(p.Floor))
	case e.Interval > p.Ceiling:
		e.Interval, e.Fate, e.Why = p.Ceiling, Adjusted, join(e.Why, "slower than the operator's ceiling of "+Words(p.Ceiling))
	}
}

// honoured reports whether an entry takes part.
func (e *Entry) honoured() bool { return e.Fate != Ignored && e.Fate != Unusable }

// paint makes the parts of the day: per minute the slowest rate whose window
// holds it, else the slowest without a window, else the default; and the
// Crawl-delay if it is slower (D-31, D-34).
func (b *planner) paint() {
	var rates []int // entries with windows, the slowest first
	for i := range b.entries {
		e := &b.entries[i]
		switch {
		case !e.honoured():
			continue
		case e.Field == robots.FieldCrawlDelay:
			if b.delay == 0 || e.Interval > b.entries[b.delay-1].Interval {
				b.delay = i + 1
			}
		case e.Field == robots.FieldVisitTime:
			b.visits = true
		case !e.Window.Always():
			rates = append(rates, i)
		case b.always == 0 || e.Interval > b.entries[b.always-1].Interval:
			b.always = i + 1
		}
		from, end := e.Window.Minutes()
		b.edge[from], b.edge[end] = true, true
	}
	slices.SortStableFunc(rates, func(x, y int) int {
		return cmp.Compare(b.entries[y].Interval, b.entries[x].Interval)
	})
	// Every minute is painted once, by the first that comes, which is the slowest.
	var bare skip
	bare.reset()
	for _, i := range rates {
		bare.each(b.entries[i].Window, func(m int) { b.rate[m] = i + 1 })
	}
	bare.reset()
	for i := range b.entries {
		if e := &b.entries[i]; e.Field == robots.FieldVisitTime && e.honoured() {
			bare.each(e.Window, func(m int) { b.open[m] = true })
		}
	}
	b.least = MaxInterval
	var parts []part
	for m := range minutes {
		if m > 0 && !b.edge[m] {
			continue
		}
		p := part{from: int16(m), closed: b.visits && !b.open[m], interval: b.defaultInterval()}
		if by := b.deciding(m); by > 0 {
			p.interval = b.entries[by-1].Interval
		}
		if !p.closed {
			b.least, b.most = min(b.least, p.interval), max(b.most, p.interval)
		}
		parts = append(parts, p)
	}
	b.parts = slices.Clip(parts)
}

// deciding returns the entry that decides in a minute, from 1; 0 for none.
func (b *planner) deciding(m int) int {
	by := b.rate[m]
	if by == 0 {
		by = b.always
	}
	if b.delay > 0 && (by == 0 || b.entries[b.delay-1].Interval > b.entries[by-1].Interval) {
		by = b.delay
	}
	return by
}

// defaultInterval is the pace where nothing declared is in force.
func (s *Schedule) defaultInterval() time.Duration {
	return min(max(s.policy.Default, s.policy.Floor), s.policy.Ceiling)
}

// report says of the honoured entries which never decide, and drops what is too
// much of those.
func (b *planner) report() {
	decides := make([]bool, len(b.entries)+1)
	for _, p := range b.parts {
		if !p.closed {
			decides[b.deciding(int(p.from))] = true
		}
	}
	kept := b.entries[:0:0]
	extra := 0
	for i := range b.entries {
		e := b.entries[i]
		if e.honoured() && e.Field != robots.FieldVisitTime && !decides[i+1] {
			e.Fate, e.Why = Outdone, join(e.Why, b.outdoing(i))
		}
		if !decides[i+1] {
			if extra++; extra > MaxEntries {
				b.dropped++
				continue
			}
		}
		kept = append(kept, e)
	}
	b.entries = slices.Clip(kept)
}

// outdoing says which lines decide where an entry holds.
func (b *planner) outdoing(i int) string {
	const most = 3
	var lines []int
	for _, p := range b.parts {
		if e := &b.entries[i]; p.closed || !e.Window.Contains(60*int(p.from)) {
			continue
		}
		if by := b.deciding(int(p.from)); by > 0 && !slices.Contains(lines, b.entries[by-1].Line) {
			lines = append(lines, b.entries[by-1].Line)
		}
	}
	switch {
	case len(lines) == 0:
		return "the site is closed whenever it holds"
	case len(lines) == 1:
		return "line " + strconv.Itoa(lines[0]) + " decides whenever it holds"
	}
	slices.Sort(lines)
	s := "other lines decide whenever it holds: "
	for j, n := range lines[:min(len(lines), most)] {
		if j > 0 {
			s += ", "
		}
		s += strconv.Itoa(n)
	}
	if len(lines) > most {
		s += " and more"
	}
	return s
}

// skip finds minutes that were not visited, each in nearly constant time.
type skip [minutes + 1]int16

func (s *skip) reset() {
	for i := range s {
		s[i] = int16(i)
	}
}

func (s *skip) next(m int) int {
	for int(s[m]) != m {
		s[m] = s[s[m]]
		m = int(s[m])
	}
	return m
}

// each calls f for the minutes of a window that were not visited before.
func (s *skip) each(w robots.Window, f func(m int)) {
	run := func(from, end int) {
		for m := s.next(from); m < end; m = s.next(m) {
			f(m)
			s[m] = int16(m + 1)
		}
	}
	from, end := w.Minutes()
	if from < end {
		run(from, end)
		return
	}
	run(from, minutes)
	run(0, end)
}

// spacing returns the interval of a rate, rounded up to a nanosecond so that a
// period never holds one more.
func spacing(r robots.RequestRate) time.Duration {
	seconds, n := time.Duration(r.Seconds), time.Duration(r.Requests)
	if seconds >= MaxInterval/time.Second {
		if seconds /= n; seconds >= MaxInterval/time.Second {
			return MaxInterval
		}
		return (seconds + 1) * time.Second
	}
	return (seconds*time.Second + n - 1) / n
}

// seconds returns a number of seconds as an interval.
func seconds(s float64) time.Duration {
	if s >= MaxInterval.Seconds() {
		return MaxInterval
	}
	return time.Duration(s * float64(time.Second))
}

func clip(s string) string {
	const most = 80
	return s[:min(len(s), most)]
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
