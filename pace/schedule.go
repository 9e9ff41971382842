package pace

import (
	"cmp"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/robotskit/robots"
)

// A Schedule is the pace of one crawler on one site: everything that the site
// declares and the operator wishes, made into one answer to "when may the next
// request start, and why". It is a pure value: it knows no clock and no history,
// never changes, and is safe for concurrent use. A nil *Schedule is that of a
// site that declares nothing under the zero Policy.
//
// One rule gives all answers. With s the end of the last response, a request
// may start at an instant u if the site is open at u and
//
//	u >= s + interval in force at u
//
// A rate of N documents in a period P is an interval of P/N (D-32): no period of
// length P, wherever it begins, then holds more than N starts under that rate.
// There is no burst, because N at once and N more a moment after the period's
// end would be 2N in a period that begins between them. As the interval is that
// at u and not that at s, entering a slower window asks for its interval since
// the last response, and leaving it ends its wish at once: a rate of one a day
// in the night does not block the day.
//
// Windows follow the wall clock of the policy's zone; they end at the instant that
// is written, and an end of HH59 at the full hour; a start after the end runs over
// midnight, a start equal to the end is the whole day (D-30).
type Schedule struct {
	policy  Policy // filled
	zone    *time.Location
	dialect string
	parts   []part // of the day, in order, the first from minute 0
	least   time.Duration
	most    time.Duration // of the parts that are open
	entries []Entry
	dropped int
	whole   *Schedule // of which this is a worker's share, nil for no share
}

// part is a part of every day in which one pace holds, up to the next part.
type part struct {
	from     int16 // minute of the day on the wall clock of the zone
	closed   bool  // by Visit-time
	interval time.Duration
}

var undeclared = sync.OnceValue(func() *Schedule {
	s, _ := NewSchedule(nil, Policy{}) // the zero policy is possible
	return s
})

func (s *Schedule) orDefault() *Schedule {
	if s == nil {
		return undeclared()
	}
	return s
}

// Policy returns the operator's wishes, with the defaults filled in.
func (s *Schedule) Policy() Policy { return s.orDefault().policy }

// Zone returns the time zone of the windows.
func (s *Schedule) Zone() *time.Location { return s.orDefault().zone }

// Dialect returns the name of the dialect of the rules, "" if there are none.
func (s *Schedule) Dialect() string { return s.orDefault().dialect }

// Entries returns what the site declares about pace to this crawler and what
// became of each line, in file order, at most MaxEntries and those that decide.
func (s *Schedule) Entries() []Entry { return append([]Entry(nil), s.orDefault().entries...) }

// Dropped returns how many entries are left out over MaxEntries. They count as
// any other; only the report on them is missing.
func (s *Schedule) Dropped() int { return s.orDefault().dropped }

// MemoryBytes returns about how many bytes of memory the schedule holds. It is for
// whoever bounds the memory of many.
func (s *Schedule) MemoryBytes() int {
	s = s.orDefault()
	n := int(unsafe.Sizeof(*s)) + int(unsafe.Sizeof(part{}))*cap(s.parts) + int(unsafe.Sizeof(Entry{}))*cap(s.entries)
	for i := range s.entries {
		n += len(s.entries[i].Value) + len(s.entries[i].Why)
	}
	return n
}

// Slowest returns the longest interval of the day while the site is open: once
// it has passed since the last response, that response does not matter any more.
func (s *Schedule) Slowest() time.Duration { return s.orDefault().most }

// Fastest returns the shortest interval of the day while the site is open.
func (s *Schedule) Fastest() time.Duration { return s.orDefault().least }

// Steady returns the one interval of a schedule that is the same at all times,
// and whether it is.
func (s *Schedule) Steady() (interval time.Duration, ok bool) {
	s = s.orDefault()
	return s.parts[0].interval, len(s.parts) == 1
}

// Slowed returns the schedule with all intervals times n, MaxInterval at most,
// and the same windows: the share of one of n workers that do not know of each other's
// starts. Its turns have CauseDegraded. For n below 2 it is s itself.
func (s *Schedule) Slowed(n int) *Schedule {
	s = s.orDefault()
	if n < 2 {
		return s
	}
	slow := *s
	slow.whole = s
	slow.parts = slices.Clone(s.parts)
	for i := range slow.parts {
		slow.parts[i].interval = times(s.parts[i].interval, time.Duration(n))
	}
	slow.least, slow.most = times(s.least, time.Duration(n)), times(s.most, time.Duration(n))
	return &slow
}

// At returns what holds at t: the interval, and whether the site is open for
// crawlers.
func (s *Schedule) At(t time.Time) (interval time.Duration, open bool) {
	s = s.orDefault()
	p := s.at(t)
	return p.interval, !p.closed
}

// Next returns the earliest instant at or after t at which a request may start
// if the last response ended at last; a zero last means that there was none. The
// time it takes does not depend on the times or intervals: it looks at no more
// than the windows of two days. It does not allocate.
func (s *Schedule) Next(t, last time.Time) time.Time { return s.orDefault().next(t, last, BackOff{}) }

// next is Next with all intervals as a back-off stretches them.
func (s *Schedule) next(t, last time.Time, back BackOff) time.Time {
	// Nothing may start before the shortest interval has passed.
	u := latest(t, since(last, back.Interval(s.least)))
	if len(s.parts) == 1 { // never closed
		return u
	}
	for {
		p, end := s.span(u)
		if !p.closed {
			if at := since(last, back.Interval(p.interval)); !at.After(u) {
				return u
			} else if at.Before(end) {
				return at
			}
		}
		// The loop ends at the latest in the part with the shortest interval, which is
		// open for at least a minute of a day.
		u = end
	}
}

// since returns the instant an interval after last, the zero time if there was
// no last response.
func since(last time.Time, interval time.Duration) time.Time {
	if last.IsZero() {
		return time.Time{}
	}
	return last.Add(interval)
}

// times multiplies up to MaxInterval.
func times(interval, factor time.Duration) time.Duration {
	if factor > 1 && interval > MaxInterval/factor {
		return MaxInterval
	}
	return interval * factor
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Turn returns Next with its reasons.
func (s *Schedule) Turn(t, last time.Time) Turn { return s.TurnIn(t, State{Last: last}) }

// A State is what a limiter knows of a key at one moment, on one clock. The zero
// value is a site that was never asked.
type State struct {
	Last    time.Time // end of the last response, or start of a request without an end; zero for none
	BackOff BackOff
	// NotBefore is when a Retry-After allows the next request, zero if there is none.
	NotBefore time.Time
	// Address is when the pace of the IP address allows it, zero if it does now.
	Address time.Time
	// Busy says that no further request may be under way: the start is at least an
	// interval from now.
	Busy bool
}

// NextIn returns when the next request may start in a state: the schedule, the
// back-off and the address must all be ready.
func (s *Schedule) NextIn(t time.Time, state State) time.Time {
	last := state.Last
	if state.Busy {
		last = latest(last, t)
	}
	return s.orDefault().next(latest(latest(t, state.NotBefore), state.Address), last, state.BackOff)
}

// TurnIn returns NextIn with its reasons. A store that decides by its own means
// explains its decision with this.
func (s *Schedule) TurnIn(t time.Time, state State) Turn {
	s = s.orDefault()
	turn := Turn{Start: s.NextIn(t, state)}
	p := s.at(turn.Start)
	turn.Interval = state.BackOff.Interval(p.interval)
	turn.Reasons = s.reasons(p, state.Last)
	add := func(c Cause, interval time.Duration, until time.Time) {
		turn.Reasons = append(turn.Reasons, Reason{Cause: c, Interval: interval, Until: until})
	}
	if state.BackOff.Factor > 0 {
		add(CauseBackOff, turn.Interval, since(state.Last, turn.Interval))
	}
	if state.NotBefore.After(t) {
		add(CauseRetryAfter, 0, state.NotBefore)
	}
	if state.Address.After(t) {
		add(CauseAddress, 0, state.Address)
	}
	if state.Busy {
		add(CauseBusy, 0, t.Add(turn.Interval))
	}
	open := t
	for _, r := range turn.Reasons {
		open = latest(open, r.Until)
	}
	if !s.at(open).closed {
		open = t // say too that it was closed when asked
	}
	if s.at(open).closed {
		turn.Reasons = append(turn.Reasons, s.closing(s.opening(open))...)
	}
	slices.SortStableFunc(turn.Reasons, func(a, b Reason) int { return b.Until.Compare(a.Until) })
	return turn
}

// opening returns the first instant at or after t at which the site is open.
func (s *Schedule) opening(t time.Time) time.Time {
	p, end := s.span(t)
	for p.closed {
		t = end
		p, end = s.span(t)
	}
	return t
}

// maxReasons bounds the reasons of one answer: what is slower stands first.
const maxReasons = 8

// reasons returns what is behind the pace of a part, the deciding one first.
func (s *Schedule) reasons(p part, last time.Time) []Reason {
	if w := s.whole; w != nil {
		share := Reason{Cause: CauseDegraded, Interval: p.interval, Until: since(last, p.interval)}
		return slices.Insert(w.reasons(w.parts[w.find(int(p.from))], last), 0, share)
	}
	second := 60 * int(p.from)
	windowed := false
	for i := range s.entries {
		e := &s.entries[i]
		windowed = windowed || e.honoured() && e.Field == robots.FieldRequestRate && e.Window.Set && e.Window.Contains(second)
	}
	var all []Reason
	declared := time.Duration(0) // of the deciding one
	for i := range s.entries {
		e := &s.entries[i]
		r := Reason{Line: e.Line, Value: e.Value, Interval: e.Interval, Until: since(last, e.Interval)}
		switch {
		case !e.honoured():
			continue
		case e.Field == robots.FieldCrawlDelay:
			r.Cause = CauseCrawlDelay
		case e.Field == robots.FieldRequestRate && e.Window.Set == windowed && e.Window.Contains(second):
			r.Cause = CauseRequestRate
		default:
			continue
		}
		if e.Interval == p.interval && declared == 0 {
			declared = e.Declared
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		declared = s.policy.Default
		all = append(all, Reason{Cause: CauseDefault, Interval: p.interval, Until: since(last, p.interval)})
	}
	slices.SortStableFunc(all, func(a, b Reason) int { return cmp.Compare(b.Interval, a.Interval) })
	if p.interval != declared && (p.interval == s.policy.Floor || p.interval == s.policy.Ceiling) {
		operator := all[0]
		operator.Cause, operator.Line, operator.Value = CauseFloor, 0, ""
		if p.interval < declared {
			operator.Cause = CauseCeiling
		}
		all = slices.Insert(all, 0, operator)
	}
	return all[:min(len(all), maxReasons)]
}

// closing returns the Visit-time lines as the reasons for waiting until then.
func (s *Schedule) closing(until time.Time) []Reason {
	var all []Reason
	for i := range s.entries {
		if e := &s.entries[i]; e.Field == robots.FieldVisitTime && e.honoured() && len(all) < maxReasons {
			all = append(all, Reason{Cause: CauseVisitTime, Line: e.Line, Value: e.Value, Until: until})
		}
	}
	return all
}

// at returns the part of the day that holds at t.
func (s *Schedule) at(t time.Time) part {
	if len(s.parts) == 1 {
		return s.parts[0]
	}
	return s.parts[s.find(s.second(t)/60)]
}

// second returns the second of the day of t on the wall clock of the zone.
func (s *Schedule) second(t time.Time) int {
	if s.zone == time.UTC {
		const day = 24 * 60 * 60
		return int((t.Unix()%day + day) % day)
	}
	h, m, sec := t.In(s.zone).Clock()
	return (h*60+m)*60 + sec
}

// find returns the index of the part of a minute of the day.
func (s *Schedule) find(minute int) int {
	low, high := 0, len(s.parts)
	for high-low > 1 {
		if mid := (low + high) / 2; int(s.parts[mid].from) <= minute {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// span returns the part that holds at t and the instant at which another may:
// the end of the part on the wall clock, or a change of that clock before it,
// after which the hour is another one.
func (s *Schedule) span(t time.Time) (part, time.Time) {
	if len(s.parts) == 1 {
		return s.parts[0], t.Add(MaxInterval)
	}
	second := s.second(t)
	i := s.find(second / 60)
	edge := 24 * 60
	if i+1 < len(s.parts) {
		edge = int(s.parts[i+1].from)
	}
	left := time.Duration(edge*60-second)*time.Second - time.Duration(t.Nanosecond())
	end := t.Add(left)
	if s.zone != time.UTC {
		if _, change := t.In(s.zone).ZoneBounds(); !change.IsZero() && change.Before(end) {
			end = change
		}
	}
	return s.parts[i], end
}
