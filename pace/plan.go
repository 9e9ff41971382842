package pace

import (
	"cmp"
	"maps"
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
	if r != nil {
		d := r.Dialect()
		s.dialect = d.Name
		for record := range r.Records() {
			switch record.Field {
			case robots.FieldCrawlDelay, robots.FieldRequestRate, robots.FieldVisitTime:
				s.add(record, &d)
			}
		}
	}
	s.divide()
	s.report()
	return s, nil
}

// add reads one declared line.
func (s *Schedule) add(r robots.Record, d *robots.Dialect) {
	e := Entry{Field: r.Field, Line: r.Line, Value: strings.Clone(clip(r.Value)), Use: UseHonored, Why: r.Problem}
	honor, name := d.RequestRate, "Request-rate"
	switch r.Field {
	case robots.FieldCrawlDelay:
		honor, name = d.CrawlDelay, "Crawl-delay"
		e.Declared = seconds(r.Delay)
		e.Interval = min(e.Declared, s.policy.MaxCrawlDelay)
		if e.Interval < e.Declared {
			e.Use, e.Why = UseAdjusted, "longer than "+duration.Text(s.policy.MaxCrawlDelay)+", the longest that is followed in full"
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
	case honor == robots.HonorIgnored && s.policy.Obey != ObeyDeclared:
		e.Use, e.Why = UseIgnored, d.Name+" does not follow "+name
	case honor == robots.HonorReported && s.policy.Obey == ObeyDocumented:
		e.Use, e.Why = UseIgnored, d.Name+" leaves "+name+" to the crawler, and the policy follows only what engines document"
	case r.Field != robots.FieldVisitTime && e.Interval < s.policy.Floor:
		e.Interval, e.Use, e.Why = s.policy.Floor, UseAdjusted, join(e.Why, "faster than the operator's floor of "+duration.Text(s.policy.Floor))
	case r.Field != robots.FieldVisitTime && e.Interval > s.policy.Ceiling:
		e.Interval, e.Use, e.Why = s.policy.Ceiling, UseAdjusted, join(e.Why, "slower than the operator's ceiling of "+duration.Text(s.policy.Ceiling))
	}
	s.entries = append(s.entries, e)
}

// honored reports whether an entry is followed.
func (e *Entry) honored() bool { return e.Use != UseIgnored && e.Use != UseUnusable }

// divide divides the day into parts, and finds the entries that decide in each, the slowest first:
// the rates whose window contains it, else those without a window, and the Crawl-delays (D-31, D-34).
func (s *Schedule) divide() {
	var rates, windowed, visits []int32
	edges := map[int]bool{0: true} // at which a window of a followed entry begins or has ended
	for i := range s.entries {
		e := &s.entries[i]
		if !e.honored() {
			continue
		}
		if e.Field == robots.FieldVisitTime {
			visits = append(visits, int32(i))
		} else {
			rates = append(rates, int32(i))
		}
		if e.Field == robots.FieldRequestRate && e.Window.Set {
			windowed = append(windowed, int32(i))
		}
		from, end := e.Window.Minutes()
		edges[from], edges[end%minutes] = true, true
	}
	slices.SortStableFunc(rates, func(x, y int32) int { return cmp.Compare(s.entries[y].Interval, s.entries[x].Interval) })
	s.least = maxInterval
	s.parts = make([]part, 0, len(edges))
	for _, m := range slices.Sorted(maps.Keys(edges)) {
		contains := func(i int32) bool { return s.entries[i].Window.Contains(60 * m) }
		p := part{from: int16(m), closed: len(visits) > 0 && !slices.ContainsFunc(visits, contains)}
		inWindow := slices.ContainsFunc(windowed, contains)
		for _, i := range rates {
			if len(p.by) == maxReasons {
				break
			}
			if e := &s.entries[i]; contains(i) && (e.Field == robots.FieldCrawlDelay || e.Window.Set == inWindow) {
				p.by = append(p.by, i)
			}
		}
		p.by = slices.Clone(p.by) // without spare capacity, as one is kept per site
		p.interval = min(max(s.policy.Default, s.policy.Floor), s.policy.Ceiling)
		if len(p.by) > 0 {
			p.interval = s.entries[p.by[0]].Interval
		}
		if !p.closed {
			s.least, s.most = min(s.least, p.interval), max(s.most, p.interval)
		}
		s.parts = append(s.parts, p)
	}
}

// report marks followed entries that never decide, and drops those beyond maxEntries.
func (s *Schedule) report() {
	decides := make([]bool, len(s.entries))
	for _, p := range s.parts {
		if !p.closed && len(p.by) > 0 {
			decides[p.by[0]] = true
		}
	}
	var kept []Entry
	extra, moved := 0, make([]int32, len(s.entries))
	for i, e := range s.entries {
		if e.honored() && e.Field != robots.FieldVisitTime && !decides[i] {
			e.Use, e.Why = UseOverridden, join(e.Why, s.overriding(i))
		}
		if moved[i] = int32(len(kept)); !decides[i] {
			if extra++; extra > maxEntries {
				s.dropped++
				moved[i] = -1
				continue
			}
		}
		kept = append(kept, e)
	}
	s.entries = slices.Clone(kept)
	for _, p := range s.parts {
		for k, i := range p.by {
			p.by[k] = moved[i]
		}
	}
}

// overriding names the lines that decide where an entry applies.
func (s *Schedule) overriding(i int) string {
	const most = 3
	var lines []int
	for _, p := range s.parts {
		if e := &s.entries[i]; p.closed || !e.Window.Contains(60*int(p.from)) {
			continue
		}
		if len(p.by) > 0 && !slices.Contains(lines, s.entries[p.by[0]].Line) {
			lines = append(lines, s.entries[p.by[0]].Line)
		}
	}
	switch len(lines) {
	case 0:
		return "the site is closed whenever it applies"
	case 1:
		return "line " + strconv.Itoa(lines[0]) + " decides whenever it applies"
	}
	slices.Sort(lines)
	text := "other lines decide whenever it applies: " + strconv.Itoa(lines[0])
	for _, n := range lines[1:min(len(lines), most)] {
		text += ", " + strconv.Itoa(n)
	}
	if len(lines) > most {
		text += " and more"
	}
	return text
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
