package pace

import (
	"iter"
	"slices"
	"time"
)

// A Span is a period with one crawl rate, From inclusive, To exclusive.
type Span struct {
	From, To time.Time // in the schedule's zone
	Open     bool      // false if closed by Visit-time
	Interval time.Duration
	Reasons  []Reason // of the rate, the deciding one first
}

// Day returns the rates of the calendar day of t in the schedule's zone, in order and without
// gaps: 24 hours, or 23 or 25 where the clocks change.
func (s *Schedule) Day(t time.Time) []Span {
	s = s.orDefault()
	y, m, d := t.In(s.zone).Date()
	return slices.Collect(s.Spans(s.midnight(y, m, d), s.midnight(y, m, d+1)))
}

// midnight returns the first instant of a day: after the jump if the clocks skip midnight.
func (s *Schedule) midnight(y int, m time.Month, d int) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, s.zone)
	if t.Hour() == 23 {
		if _, change := t.ZoneBounds(); !change.IsZero() {
			t = change
		}
	}
	return t
}

// Spans yields the rates between two instants, in order and without gaps, for programs that
// cannot call a Schedule.
func (s *Schedule) Spans(from, to time.Time) iter.Seq[Span] {
	s = s.orDefault()
	return func(yield func(Span) bool) {
		for from.Before(to) {
			p, end := s.partSpan(from)
			for end.Before(to) { // the same rate across midnight or a clock change
				next, after := s.partSpan(end)
				if next.from != p.from && !p.alike(next) {
					break
				}
				end = after
			}
			if end.After(to) {
				end = to
			}
			span := Span{From: from.In(s.zone), To: end.In(s.zone), Open: !p.closed, Interval: p.interval, Reasons: s.reasons(p, time.Time{})}
			if p.closed {
				span.Reasons = s.closedReasons(s.opening(from))
			}
			if !yield(span) {
				return
			}
			from = end
		}
	}
}

// alike reports whether two parts have the same reasons, so that a reader sees one.
func (p part) alike(other part) bool {
	return p.closed && other.closed || p.closed == other.closed && slices.Equal(p.entryIndexes, other.entryIndexes)
}

// horizon is how far ahead Duration looks.
const horizon = 3653 * 24 * time.Hour

// Duration returns how long a number of pages takes if every response is immediate: up to an
// interval after the start of the last page. A real crawl takes longer, since intervals count
// from the ends of responses. ok is false if it takes more than ten years.
func (s *Schedule) Duration(pages int, from time.Time) (d time.Duration, ok bool) {
	s = s.orDefault()
	if pages <= 0 {
		return 0, true
	}
	end := from.Add(horizon)
	u := s.Next(from, State{})
	for u.Before(end) {
		p, edge := s.partSpan(u)
		// How many starts from u on fit into this part.
		left := pages
		if p.interval > 0 {
			left = int(min(int64(pages), 1+int64((edge.Sub(u)-1)/p.interval)))
		}
		last := u.Add(time.Duration(left-1) * p.interval)
		pages -= left
		if pages == 0 {
			d = last.Add(p.interval).Sub(from)
			return d, d <= horizon
		}
		u = s.Next(last, State{Last: last})
	}
	return 0, false
}
