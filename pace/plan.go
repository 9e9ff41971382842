package pace

import (
	"cmp"
	"iter"
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
	honor := d.RequestRate
	name := "Request-rate"
	switch r.Field {
	case robots.FieldCrawlDelay:
		honor = d.CrawlDelay
		name = "Crawl-delay"
		e.Declared = seconds(r.Delay)
		e.Interval = min(e.Declared, s.policy.MaxCrawlDelay)
		if e.Interval < e.Declared {
			e.Use = UseAdjusted
			e.Why = "longer than " + duration.Text(s.policy.MaxCrawlDelay) + ", the longest that is followed in full"
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
				e.Use = UseAdjusted
				e.Why = join(e.Why, d.Name+" goes no slower than one in "+strconv.Itoa(d.RateFloor)+" s (RATE-04)")
			}
		}
	case robots.FieldVisitTime:
		e.Window = r.Window
		name = "Visit-time"
	}
	switch {
	case !r.Usable:
		e.Use = UseUnusable
		e.Declared = 0
		e.Interval = 0
	case honor == robots.HonorIgnored && s.policy.Obey != ObeyDeclared:
		e.Use = UseIgnored
		e.Why = d.Name + " does not follow " + name
	case honor == robots.HonorReported && s.policy.Obey == ObeyDocumented:
		e.Use = UseIgnored
		e.Why = d.Name + " leaves " + name + " to the crawler, and the policy follows only what engines document"
	case r.Field != robots.FieldVisitTime && e.Interval < s.policy.Floor:
		e.Interval = s.policy.Floor
		e.Use = UseAdjusted
		e.Why = join(e.Why, "faster than the operator's floor of "+duration.Text(s.policy.Floor))
	case r.Field != robots.FieldVisitTime && e.Interval > s.policy.Ceiling:
		e.Interval = s.policy.Ceiling
		e.Use = UseAdjusted
		e.Why = join(
			e.Why, "slower than the operator's ceiling of "+duration.Text(s.policy.Ceiling),
		)
	}
	s.entries = append(s.entries, e)
}

// honored reports whether an entry is followed.
func (e *Entry) honored() bool { return e.Use != UseIgnored && e.Use != UseUnusable }

// divide divides the day into parts, and finds the entries that decide in each, the slowest first:
// the rates whose window contains it, else those without a window, and the Crawl-delays (D-31, D-34).
func (s *Schedule) divide() {
	var rates, visits []int32
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
		from, end := e.Window.Minutes()
		edges[from] = true
		edges[end%minutes] = true
	}
	slices.SortStableFunc(rates, func(x, y int32) int { return cmp.Compare(s.entries[y].Interval, s.entries[x].Interval) })
	starts := slices.Sorted(maps.Keys(edges))
	s.parts = make([]part, len(starts))
	for i, m := range starts {
		s.parts[i] = part{from: int16(m), closed: len(visits) > 0}
	}
	s.openForVisits(visits)
	s.assignRates(rates)
	s.setIntervals()
}

// openForVisits opens the parts in the windows of some visit times.
func (s *Schedule) openForVisits(visits []int32) {
	closed := newRemaining(len(s.parts))
	for _, i := range visits {
		for from, end := range s.spansOf(i) {
			for k := closed.next(from); k < end; k = closed.next(k) {
				s.parts[k].closed = false
				closed.remove(k)
			}
		}
	}
}

// assignRates gives each part the entries that apply in it, of rates from the slowest. A rate without a
// window applies outside the windows of others. The entries are the first that apply, so each part is
// visited only until it has maxReasons of them, however many lines there are.
func (s *Schedule) assignRates(rates []int32) {
	undecided := newRemaining(len(s.parts))
	undecidedOutside := newRemaining(len(s.parts))
	inWindow := newRemaining(len(s.parts))
	for _, i := range rates {
		if e := &s.entries[i]; e.Field != robots.FieldRequestRate || !e.Window.Set {
			continue
		}
		for from, end := range s.spansOf(i) {
			for k := inWindow.next(from); k < end; k = inWindow.next(k) {
				inWindow.remove(k)
				undecidedOutside.remove(k)
			}
		}
	}
	for _, i := range rates {
		remaining := undecided
		if e := &s.entries[i]; e.Field != robots.FieldCrawlDelay && !e.Window.Set {
			remaining = undecidedOutside
		}
		for from, end := range s.spansOf(i) {
			for k := remaining.next(from); k < end; k = remaining.next(k + 1) {
				p := &s.parts[k]
				p.entryIndexes = append(p.entryIndexes, i)
				if len(p.entryIndexes) == maxReasons {
					undecided.remove(k)
					undecidedOutside.remove(k)
				}
			}
		}
	}
}

// setIntervals sets the interval of each part, and the fastest and slowest of those that are open.
func (s *Schedule) setIntervals() {
	s.fastest = maxInterval
	for i := range s.parts {
		p := &s.parts[i]
		p.entryIndexes = slices.Clone(p.entryIndexes) // without spare capacity, as one is kept per site
		p.interval = min(max(s.policy.Default, s.policy.Floor), s.policy.Ceiling)
		if len(p.entryIndexes) > 0 {
			p.interval = s.entries[p.entryIndexes[0]].Interval
		}
		if !p.closed {
			s.fastest = min(s.fastest, p.interval)
			s.slowest = max(s.slowest, p.interval)
		}
	}
}

// spansOf yields the parts of the day, from inclusive and end exclusive, in which an entry applies. Its
// window begins and ends with a part.
func (s *Schedule) spansOf(entry int32) iter.Seq2[int, int] {
	from, end := s.entries[entry].Window.Minutes()
	partAt := func(minute int) int {
		i, _ := slices.BinarySearchFunc(s.parts, minute, func(p part, minute int) int { return int(p.from) - minute })
		return i
	}
	return func(yield func(int, int) bool) {
		if from < end {
			yield(partAt(from), partAt(end))
			return
		}
		if yield(partAt(from), len(s.parts)) {
			yield(0, partAt(end))
		}
	}
}

// remaining is a set of numbers from 0, to visit each until it is removed. An element is its own index
// if it remains, else an index from which to search on.
type remaining []int

func newRemaining(n int) remaining {
	r := make(remaining, n+1)
	for i := range r {
		r[i] = i
	}
	return r
}

// next returns the first number from i on that remains, or the size of the whole set.
func (r remaining) next(i int) int {
	for r[i] != i {
		r[i] = r[r[i]]
		i = r[i]
	}
	return i
}

func (r remaining) remove(i int) { r[i] = i + 1 }

// report marks followed entries that never decide, and drops those beyond maxEntries.
func (s *Schedule) report() {
	decides := make([]bool, len(s.entries))
	for _, p := range s.parts {
		if !p.closed && len(p.entryIndexes) > 0 {
			decides[p.entryIndexes[0]] = true
		}
	}
	var reported []Entry
	undeciding := 0
	newIndexes := make([]int32, len(s.entries))
	for i, e := range s.entries {
		newIndexes[i] = int32(len(reported))
		if !decides[i] {
			undeciding++
			if undeciding > maxEntries {
				s.dropped++
				newIndexes[i] = -1
				continue
			}
		}
		if e.honored() && e.Field != robots.FieldVisitTime && !decides[i] {
			e.Use = UseOverridden
			e.Why = join(e.Why, s.overriding(i))
		}
		reported = append(reported, e)
	}
	s.entries = slices.Clone(reported)
	for _, p := range s.parts {
		for k, i := range p.entryIndexes {
			p.entryIndexes[k] = newIndexes[i]
		}
	}
}

// overriding names the lines that decide where an entry applies.
func (s *Schedule) overriding(i int) string {
	const most = 3
	deciding := map[int]bool{}
	for from, end := range s.spansOf(int32(i)) {
		for _, p := range s.parts[from:end] {
			if !p.closed && len(p.entryIndexes) > 0 {
				deciding[s.entries[p.entryIndexes[0]].Line] = true
			}
		}
	}
	lines := slices.Sorted(maps.Keys(deciding))
	switch len(lines) {
	case 0:
		return "the site is closed whenever it applies"
	case 1:
		return "line " + strconv.Itoa(lines[0]) + " decides whenever it applies"
	}
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
	seconds := time.Duration(r.Seconds)
	n := time.Duration(r.Requests)
	if seconds >= maxInterval/time.Second {
		seconds /= n
		if seconds >= maxInterval/time.Second {
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
