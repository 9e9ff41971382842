package pace

import (
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace/internal/backoff"
)

// A Schedule decides when requests of one crawler to one site can start, by the declared
// values and the operator's Policy. It has no clock and no history, is immutable, and is safe
// for concurrent use. A nil *Schedule declares nothing, under the zero Policy.
type Schedule struct {
	policy  Policy // filled
	zone    *time.Location
	dialect string
	parts   []part // of the day, in order, the first from minute 0
	fastest time.Duration
	slowest time.Duration // of the open parts
	entries []Entry
	dropped int
}

// A part is a part of every day with one rate, up to the next part.
type part struct {
	from         int16 // minute of the day, local time
	closed       bool  // by Visit-time
	interval     time.Duration
	entryIndexes []int32 // in Schedule.entries, the deciding one first; below 0 for one that was dropped
}

var undeclared = sync.OnceValue(func() *Schedule {
	s, _ := NewSchedule(nil, Policy{}) // no error: the zero policy is valid
	return s
})

func (s *Schedule) orDefault() *Schedule {
	if s == nil {
		return undeclared()
	}
	return s
}

// Policy returns the operator's policy with defaults.
func (s *Schedule) Policy() Policy { return s.orDefault().policy }

// Zone returns the time zone of the windows.
func (s *Schedule) Zone() *time.Location { return s.orDefault().zone }

// Dialect returns the name of the dialect of the rules, "" if there are none.
func (s *Schedule) Dialect() string { return s.orDefault().dialect }

// Entries returns the rate lines that apply to this crawler and how each is used, in file
// order, at most 100 besides those that decide.
func (s *Schedule) Entries() []Entry { return append([]Entry(nil), s.orDefault().entries...) }

// Dropped returns the number of further entries. They have an effect like the others; only
// the report on them is missing.
func (s *Schedule) Dropped() int { return s.orDefault().dropped }

// Slowest returns the longest interval of the day while the site is open: once
// it has passed since the last response, that response does not matter any more.
func (s *Schedule) Slowest() time.Duration { return s.orDefault().slowest }

// Fastest returns the shortest interval of the day while the site is open.
func (s *Schedule) Fastest() time.Duration { return s.orDefault().fastest }

// Steady returns the interval of a schedule that is the same at all times, and whether it is.
func (s *Schedule) Steady() (interval time.Duration, ok bool) {
	s = s.orDefault()
	return s.parts[0].interval, len(s.parts) == 1
}

// At returns the interval at t, and whether the site is open.
func (s *Schedule) At(t time.Time) (interval time.Duration, open bool) {
	s = s.orDefault()
	p := s.partAt(t)
	return p.interval, !p.closed
}

// Next returns the first instant from t on at which a request can start in a state. It
// examines at most the windows of two days and does not allocate.
func (s *Schedule) Next(t time.Time, state State) time.Time {
	s = s.orDefault()
	last := state.Last
	if state.Busy {
		last = latest(last, t)
	}
	// Nothing can start before the shortest interval has passed.
	u := latest(latest(latest(t, state.NotBefore), state.Address), nextAfter(last, state.stretched(s.fastest)))
	if len(s.parts) == 1 { // never closed
		return u
	}
	for {
		p, end := s.partSpan(u)
		if !p.closed {
			if at := nextAfter(last, state.stretched(p.interval)); !at.After(u) {
				return u
			} else if at.Before(end) {
				return at
			}
		}
		// The loop ends at the latest in the part with the shortest interval, which is open
		// for at least a minute a day.
		u = end
	}
}

// nextAfter returns the instant an interval after last, the zero time if last is zero.
func nextAfter(last time.Time, interval time.Duration) time.Time {
	if last.IsZero() {
		return time.Time{}
	}
	return last.Add(interval)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A State is what a limiter knows of a site at some time. The zero value is a site that was
// never requested.
type State struct {
	Last      time.Time // end of the last response, or start of a request in progress; zero for none
	BackOff   uint16    // factor of the interval (of a second if that is longer) during a back-off, 0 for none
	NotBefore time.Time // from a Retry-After, zero for none
	Address   time.Time // first start that the IP address permits, zero for now
	// Busy is set if no further request can be sent now: the start is at least an interval
	// ahead.
	Busy bool
}

func (s State) stretched(interval time.Duration) time.Duration {
	return backoff.Interval(interval, s.BackOff)
}

// Explain returns Next and its reasons, the deciding one first, followed by slower ones that
// it overrides (D-34).
func (s *Schedule) Explain(t time.Time, state State) (start time.Time, reasons []Reason) {
	s = s.orDefault()
	start = s.Next(t, state)
	p := s.partAt(start)
	interval := state.stretched(p.interval)
	reasons = s.reasons(p, state.Last)
	add := func(c Cause, interval time.Duration, until time.Time) {
		reasons = append(reasons, Reason{Cause: c, Interval: interval, Until: until})
	}
	if state.BackOff > 0 {
		add(CauseBackOff, interval, nextAfter(state.Last, interval))
	}
	if state.NotBefore.After(t) {
		add(CauseRetryAfter, 0, state.NotBefore)
	}
	if state.Address.After(t) {
		add(CauseAddress, 0, state.Address)
	}
	if state.Busy {
		add(CauseBusy, 0, t.Add(interval))
	}
	open := t
	for _, r := range reasons {
		open = latest(open, r.Until)
	}
	if !s.partAt(open).closed {
		open = t // so that being closed at t is reported too
	}
	if s.partAt(open).closed {
		reasons = append(reasons, s.closedReasons(s.opening(open))...)
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int { return b.Until.Compare(a.Until) })
	return start, reasons
}

// opening returns the first instant from t on at which the site is open.
func (s *Schedule) opening(t time.Time) time.Time {
	p, end := s.partSpan(t)
	for p.closed {
		t = end
		p, end = s.partSpan(t)
	}
	return t
}

// maxReasons limits the reasons of an answer; the slower ones come first.
const maxReasons = 8

// reasons returns the reasons for the rate of a part, the deciding one first.
func (s *Schedule) reasons(p part, last time.Time) []Reason {
	var list []Reason
	declared := s.policy.Default // of the deciding entry
	for k, i := range p.entryIndexes {
		if i < 0 {
			continue
		}
		e := &s.entries[i]
		r := Reason{Cause: CauseRequestRate, Line: e.Line, Value: e.Value, Interval: e.Interval, Until: nextAfter(last, e.Interval)}
		if e.Field == robots.FieldCrawlDelay {
			r.Cause = CauseCrawlDelay
		}
		list = append(list, r)
		if k == 0 {
			declared = e.Declared
		}
	}
	if len(list) == 0 {
		list = append(list, Reason{Cause: CauseDefault, Interval: p.interval, Until: nextAfter(last, p.interval)})
	}
	if p.interval != declared && (p.interval == s.policy.Floor || p.interval == s.policy.Ceiling) {
		operator := list[0]
		operator.Cause = CauseFloor
		operator.Line = 0
		operator.Value = ""
		if p.interval < declared {
			operator.Cause = CauseCeiling
		}
		list = slices.Insert(list, 0, operator)
	}
	return list[:min(len(list), maxReasons)]
}

// closedReasons returns the Visit-time lines as reasons for waiting until an instant.
func (s *Schedule) closedReasons(until time.Time) []Reason {
	var list []Reason
	for i := range s.entries {
		if e := &s.entries[i]; e.Field == robots.FieldVisitTime && e.honored() && len(list) < maxReasons {
			list = append(list, Reason{Cause: CauseVisitTime, Line: e.Line, Value: e.Value, Until: until})
		}
	}
	return list
}

// partAt returns the part of the day at t.
func (s *Schedule) partAt(t time.Time) part {
	if len(s.parts) == 1 {
		return s.parts[0]
	}
	return s.parts[s.partIndex(s.secondOfDay(t)/60)]
}

// secondOfDay returns the second of the day of t in local time.
func (s *Schedule) secondOfDay(t time.Time) int {
	if s.zone == time.UTC {
		const day = 24 * 60 * 60
		return int((t.Unix()%day + day) % day)
	}
	h, m, sec := t.In(s.zone).Clock()
	return (h*60+m)*60 + sec
}

// partIndex returns the index of the part of a minute of the day.
func (s *Schedule) partIndex(minute int) int {
	i, begins := slices.BinarySearchFunc(s.parts, minute, func(p part, minute int) int { return int(p.from) - minute })
	if !begins {
		i--
	}
	return i
}

// partSpan returns the part at t and the instant at which it can end: the end of the part in local
// time, or an earlier clock change.
func (s *Schedule) partSpan(t time.Time) (part, time.Time) {
	if len(s.parts) == 1 {
		return s.parts[0], t.Add(maxInterval)
	}
	second := s.secondOfDay(t)
	i := s.partIndex(second / 60)
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
