package pace

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/duration"
)

// maxEntries limits the entries that never decide, so that a hostile file cannot make a report
// of any size.
const maxEntries = 100

const minutes = 24 * 60

// NewSchedule returns the schedule for the crawler of r under the operator's policy. The error
// is about the policy, never about the site: a value that is unusable or not followed is an
// Entry. Nil rules declare nothing.
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

// A planner divides the day by the entries.
type planner struct {
	*Schedule
	rate   [minutes]int // entry of the windowed rate that applies, from 1, or 0
	open   [minutes]bool
	edge   [minutes + 1]bool // the window of a followed entry begins or has ended
	visits bool              // some Visit-time is followed
	always int               // entry of the slowest Request-rate without a window, from 1
	delay  int               // entry of the largest Crawl-delay, from 1
}

// add reads one declared line.
func (b *planner) add(r robots.Record, d *robots.Dialect) {
	e := Entry{Field: r.Field, Line: r.Line, Value: strings.Clone(clip(r.Value)), Use: UseHonored, Why: r.Problem}
	honor, name := d.RequestRate, "Request-rate"
	switch r.Field {
	case robots.FieldCrawlDelay:
		honor, name = d.CrawlDelay, "Crawl-delay"
		e.Declared = seconds(r.Delay)
		e.Interval = min(e.Declared, b.policy.MaxCrawlDelay)
		if e.Interval < e.Declared {
			e.Use, e.Why = UseAdjusted, "longer than "+duration.Text(b.policy.MaxCrawlDelay)+", the longest that is followed in full"
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
				e.Use, e.Why = UseAdjusted, join(e.Why, d.Name+" goes no slower than one in "+strconv.Itoa(d.RateFloor)+" s (RATE-04)")
			}
		}
	case robots.FieldVisitTime:
		e.Window = r.Window
		name = "Visit-time"
	}
	switch {
	case !r.Usable:
		e.Use = UseUnusable
		e.Declared, e.Interval = 0, 0
	case honor == robots.HonorIgnored && b.policy.Obey != ObeyDeclared:
		e.Use, e.Why = UseIgnored, d.Name+" does not follow "+name
	case honor == robots.HonorReported && b.policy.Obey == ObeyDocumented:
		e.Use, e.Why = UseIgnored, d.Name+" leaves "+name+" to the crawler, and the policy follows only what engines document"
	default:
		b.bound(&e)
	}
	b.entries = append(b.entries, e)
}

// bound limits the interval of an entry by the operator's floor and ceiling.
func (b *planner) bound(e *Entry) {
	if e.Field == robots.FieldVisitTime {
		return
	}
	switch p := &b.policy; {
	case e.Interval < p.Floor:
		e.Interval, e.Use, e.Why = p.Floor, UseAdjusted, join(e.Why, "faster than the operator's floor of "+duration.Text(p.Floor))
	case e.Interval > p.Ceiling:
		e.Interval, e.Use, e.Why = p.Ceiling, UseAdjusted, join(e.Why, "slower than the operator's ceiling of "+duration.Text(p.Ceiling))
	}
}

// honored reports whether an entry is followed.
func (e *Entry) honored() bool { return e.Use != UseIgnored && e.Use != UseUnusable }

// paint finds the deciding entries of each minute: the slowest rate whose window contains it,
// else the slowest without a window; the slowest Crawl-delay; and whether the site is open
// (D-31, D-34).
func (b *planner) paint() {
	var rates []int // entries with windows
	for i := range b.entries {
		e := &b.entries[i]
		switch {
		case !e.honored():
			continue
		case e.Field == robots.FieldCrawlDelay:
			b.delay = b.slower(b.delay, i+1)
		case e.Field == robots.FieldVisitTime:
			b.visits = true
			for m := range minutesOf(e.Window) {
				b.open[m] = true
			}
		case e.Window.Always():
			b.always = b.slower(b.always, i+1)
		default:
			rates = append(rates, i)
		}
		from, end := e.Window.Minutes()
		b.edge[from], b.edge[end] = true, true
	}
	// A minute is that of the slowest rate, which comes first.
	slices.SortStableFunc(rates, func(x, y int) int {
		return cmp.Compare(b.entries[y].Interval, b.entries[x].Interval)
	})
	left := minutes
	for _, i := range rates {
		if left == 0 {
			break
		}
		for m := range minutesOf(b.entries[i].Window) {
			if b.rate[m] == 0 {
				b.rate[m] = i + 1
				left--
			}
		}
	}
}

// slower returns the slower of two entries, counted from 1, or the first if they are equal. 0
// is none.
func (b *planner) slower(one, other int) int {
	if one == 0 || other > 0 && b.entries[other-1].Interval > b.entries[one-1].Interval {
		return other
	}
	return one
}

// divide divides the day into parts.
func (b *planner) divide() {
	b.least = maxInterval
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
	b.parts = slices.Clone(parts) // without spare capacity, as one is kept per site
}

// deciding returns the entry that decides in a minute, from 1, or 0.
func (b *planner) deciding(m int) int {
	if b.rate[m] > 0 {
		return b.slower(b.rate[m], b.delay)
	}
	return b.slower(b.always, b.delay)
}

// report marks followed entries that never decide, and drops those beyond maxEntries.
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
		if e.honored() && e.Field != robots.FieldVisitTime && !decides[i+1] {
			e.Use, e.Why = UseOverridden, join(e.Why, b.overriding(i))
		}
		if !decides[i+1] {
			if extra++; extra > maxEntries {
				b.dropped++
				continue
			}
		}
		kept = append(kept, e)
	}
	b.entries = slices.Clone(kept)
}

// overriding names the lines that decide where an entry applies.
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
		return "the site is closed whenever it applies"
	case 1:
		return "line " + strconv.Itoa(lines[0]) + " decides whenever it applies"
	}
	slices.Sort(lines)
	s := "other lines decide whenever it applies: " + strconv.Itoa(lines[0])
	for _, n := range lines[1:min(len(lines), most)] {
		s += ", " + strconv.Itoa(n)
	}
	if len(lines) > most {
		s += " and more"
	}
	return s
}

// minutesOf yields the minutes of a window.
func minutesOf(w robots.Window) iter.Seq[int] {
	return func(yield func(int) bool) {
		from, end := w.Minutes()
		if from >= end { // past midnight
			end += minutes
		}
		for m := from; m < end && yield(m%minutes); m++ {
		}
	}
}

// spacing returns the interval of a rate, rounded up to a nanosecond so that a period never
// contains one request more.
func spacing(r robots.RequestRate) time.Duration {
	seconds, n := time.Duration(r.Seconds), time.Duration(r.Requests)
	if seconds >= maxInterval/time.Second {
		if seconds /= n; seconds >= maxInterval/time.Second {
			return maxInterval
		}
		return (seconds + 1) * time.Second
	}
	return (seconds*time.Second + n - 1) / n
}

// seconds returns a number of seconds as an interval.
func seconds(s float64) time.Duration {
	if s >= maxInterval.Seconds() {
		return maxInterval
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
