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
	plan.divide()
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
	e := Entry{Field: r.Field, Line: r.Line, Value: strings.Clone(clip(r.Value)), Fate: FateHonoured, Why: r.Problem}
	honour, name := d.RequestRate, "Request-rate"
	switch r.Field {
	case robots.FieldCrawlDelay:
		honour, name = d.CrawlDelay, "Crawl-delay"
		e.Declared = seconds(r.Delay)
		e.Interval = min(e.Declared, b.policy.MaxCrawlDelay)
		if e.Interval < e.Declared {
			e.Fate, e.Why = FateAdjusted, "longer than "+Words(b.policy.MaxCrawlDelay)+", the longest that is honoured in full"
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
				e.Fate, e.Why = FateAdjusted, join(e.Why, d.Name+" goes no slower than one in "+strconv.Itoa(d.RateFloor)+" s (RATE-04)")
			}
		}
	case robots.FieldVisitTime:
		e.Window = r.Window
		name = "Visit-time"
	}
	switch {
	case !r.Usable:
		e.Fate = FateUnusable
		e.Declared, e.Interval = 0, 0
	case honour == robots.HonorIgnored && b.policy.Obey != ObeyDeclared:
		e.Fate, e.Why = FateIgnored, d.Name+" does not follow "+name
	case honour == robots.HonorReported && b.policy.Obey == ObeyHonoured:
		e.Fate, e.Why = FateIgnored, d.Name+" leaves "+name+" to the crawler, and the policy honours only what engines document"
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
		e.Interval, e.Fate, e.Why = p.Floor, FateAdjusted, join(e.Why, "faster than the operator's floor of "+Words(p.Floor))
	case e.Interval > p.Ceiling:
		e.Interval, e.Fate, e.Why = p.Ceiling, FateAdjusted, join(e.Why, "slower than the operator's ceiling of "+Words(p.Ceiling))
	}
}

// honoured reports whether an entry takes part.
func (e *Entry) honoured() bool { return e.Fate != FateIgnored && e.Fate != FateUnusable }

// paint finds what holds in each minute: the slowest rate whose window holds it, else
// the slowest without a window; the slowest Crawl-delay; and whether the site is open
// (D-31, D-34).
func (b *planner) paint() {
	var rates []int // entries with windows
	var blank blankMinutes
	blank.reset()
	for i := range b.entries {
		e := &b.entries[i]
		switch {
		case !e.honoured():
			continue
		case e.Field == robots.FieldCrawlDelay:
			b.delay = b.slower(b.delay, i+1)
		case e.Field == robots.FieldVisitTime:
			b.visits = true
			blank.each(e.Window, func(m int) { b.open[m] = true })
		case e.Window.Always():
			b.always = b.slower(b.always, i+1)
		default:
			rates = append(rates, i)
		}
		from, end := e.Window.Minutes()
		b.edge[from], b.edge[end] = true, true
	}
	// Every minute is painted once, by the first that comes, which is the slowest.
	slices.SortStableFunc(rates, func(x, y int) int {
		return cmp.Compare(b.entries[y].Interval, b.entries[x].Interval)
	})
	blank.reset()
	for _, i := range rates {
		blank.each(b.entries[i].Window, func(m int) { b.rate[m] = i + 1 })
	}
}

// slower returns the slower of two entries, the first if they are equal. Entries
// count from 1 here; 0 is none.
func (b *planner) slower(one, other int) int {
	if one == 0 || other > 0 && b.entries[other-1].Interval > b.entries[one-1].Interval {
		return other
	}
	return one
}

// divide makes the parts of the day.
func (b *planner) divide() {
	b.least = MaxInterval
	var parts []part
	for m := range minutes {
		if m > 0 && !b.edge[m] {
			continue
		}
		p := part{from: int16(m), closed: b.visits && !b.open[m], interval: min(max(b.policy.Default, b.policy.Floor), b.policy.Ceiling)}
		if by := b.deciding(m); by > 0 {
			p.interval = b.entries[by-1].Interval
		}
		if !p.closed {
			b.least, b.most = min(b.least, p.interval), max(b.most, p.interval)
		}
		parts = append(parts, p)
	}
	b.parts = slices.Clone(parts) // and no larger: there is one for each site that is known
}

// deciding returns the entry that decides in a minute, from 1; 0 for none.
func (b *planner) deciding(m int) int {
	if b.rate[m] > 0 {
		return b.slower(b.rate[m], b.delay)
	}
	return b.slower(b.always, b.delay)
}

// report marks the honoured entries that never decide, and drops those of them that are
// more than MaxEntries.
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
			e.Fate, e.Why = FateOverridden, join(e.Why, b.overriding(i))
		}
		if !decides[i+1] {
			if extra++; extra > MaxEntries {
				b.dropped++
				continue
			}
		}
		kept = append(kept, e)
	}
	b.entries = slices.Clone(kept)
}

// overriding says which lines decide where an entry is in force.
func (b *planner) overriding(i int) string {
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
	switch len(lines) {
	case 0:
		return "the site is closed whenever it holds"
	case 1:
		return "line " + strconv.Itoa(lines[0]) + " decides whenever it holds"
	}
	slices.Sort(lines)
	s := "other lines decide whenever it holds: " + strconv.Itoa(lines[0])
	for _, n := range lines[1:min(len(lines), most)] {
		s += ", " + strconv.Itoa(n)
	}
	if len(lines) > most {
		s += " and more"
	}
	return s
}

// blankMinutes finds the minutes that were not visited, each in nearly constant time.
// Of each it holds a minute from which on to look.
type blankMinutes [minutes + 1]int16

func (b *blankMinutes) reset() {
	for i := range b {
		b[i] = int16(i)
	}
}

func (b *blankMinutes) next(m int) int {
	for int(b[m]) != m {
		b[m] = b[b[m]]
		m = int(b[m])
	}
	return m
}

// each calls f for the minutes of a window that were not visited before.
func (b *blankMinutes) each(w robots.Window, f func(m int)) {
	from, end := w.Minutes()
	if from >= end { // over midnight
		b.between(0, end, f)
		end = minutes
	}
	b.between(from, end, f)
}

func (b *blankMinutes) between(from, end int, f func(m int)) {
	for m := b.next(from); m < end; m = b.next(m) {
		f(m)
		b[m] = int16(m + 1)
	}
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
