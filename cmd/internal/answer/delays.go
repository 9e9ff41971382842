package answer

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/quote"
	"github.com/robotskit/robots/pace"
)

// Delays are when requests of a crawler may start, and how long a crawl takes.
type Delays struct {
	Obey     pace.Obey     `json:"obey"`     // unless-ignored, honored or declared: the delays that count
	Zone     string        `json:"zone"`     // time zone of the file's times
	At       Moment        `json:"at"`       // where it starts
	Next     []NextRequest `json:"next"`     // each after an immediate response
	Day      []Span        `json:"day"`      // in order, without gaps
	Declared []Declaration `json:"declared"` // lines of the file
	Dropped  int           `json:"dropped"`  // declarations beyond the limit
	Pages    int           `json:"pages"`    // of the estimate
	Takes    *Interval     `json:"seconds"`  // for the pages; null for more than ten years

	Hours []float64 `json:"-"` // pages an hour, for each hour of the clock; nil if the rate is the same all day
}

// A Moment is a time as RFC 3339 writes it, in its own zone.
type Moment struct{ time.Time }

// MarshalJSON writes any year; that of time.Time refuses those after 9999.
func (m Moment) MarshalJSON() ([]byte, error) {
	return quote.Append(nil, m.Format(time.RFC3339Nano)), nil
}

// An Interval is a duration, in JSON its seconds.
type Interval time.Duration

// MarshalJSON writes seconds.
func (i Interval) MarshalJSON() ([]byte, error) {
	return Seconds(time.Duration(i).Seconds()).MarshalJSON()
}

// A NextRequest is when the next request may start, and why not earlier.
type NextRequest struct {
	Start    Moment        `json:"start"`    // the earliest
	Interval Interval      `json:"interval"` // after it
	Reasons  []DelayReason `json:"reasons"`  // the deciding one first
}

// A Span is a part of a day with one crawl rate.
type Span struct {
	From     Moment        `json:"from"`     // included
	To       Moment        `json:"to"`       // excluded
	Open     bool          `json:"open"`     // false if closed by Visit-time
	Interval Interval      `json:"interval"` // between requests
	Reasons  []DelayReason `json:"reasons"`  // the deciding one first
}

// A DelayReason is why a request has to wait.
type DelayReason struct {
	Cause    pace.Cause `json:"cause"`    // one word
	Line     *int       `json:"line"`     // of the file, null for another cause
	Value    *string    `json:"value"`    // of the line
	Interval Interval   `json:"interval"` // that it demands
	Text     string     `json:"text"`     // a sentence

	Short string `json:"-"` // Text without the interval
}

// A Declaration is a line that declares a delay or a time.
type Declaration struct {
	Line     int      `json:"line"`     // from 1
	Field    string   `json:"field"`    // such as crawl-delay
	Value    string   `json:"value"`    // as written
	Declared Interval `json:"declared"` // that the value means
	Interval Interval `json:"interval"` // that is used for it
	Use      pace.Use `json:"fate"`     // one word: what becomes of it
	Why      *string  `json:"why"`      // it is not used as declared
}

// nextStarts is how many requests are listed.
const nextStarts = 5

// newDelays returns the delays of rules from a time on.
func newDelays(rules *robots.Rules, at time.Time, o ShowOptions) *Delays {
	s, _ := pace.NewSchedule(rules, o.Policy) // no error: the policy has been checked
	from := at.In(s.Zone())
	day := s.Day(from)
	d := &Delays{
		Obey: s.Policy().Obey, Zone: s.Zone().String(), At: Moment{from}, Next: nextRequests(s, from, o.First), Declared: []Declaration{},
		Dropped: s.Dropped(), Pages: o.Pages,
	}
	if len(day) > 1 {
		d.Hours = hoursOf(s, day)
	}
	for _, span := range day {
		d.Day = append(d.Day, Span{
			From: Moment{span.From}, To: Moment{span.To}, Open: span.Open, Interval: Interval(span.Interval), Reasons: newDelayReasons(span.Reasons),
		})
	}
	for _, e := range s.Entries() {
		d.Declared = append(d.Declared, Declaration{
			Line:     e.Line,
			Field:    e.Field.String(),
			Value:    e.Value,
			Declared: Interval(e.Declared),
			Interval: Interval(e.Interval),
			Use:      e.Use,
			Why:      OrNull(e.Why),
		})
	}
	if takes, limited := s.Duration(o.Pages, from); limited {
		d.Takes = new(Interval(takes))
	}
	return d
}

// nextRequests returns the next requests from a time on; the first can be that of a limiter.
func nextRequests(s *pace.Schedule, from time.Time, first *pace.Permit) (next []NextRequest) {
	t := from
	last := time.Time{}
	for i := range nextStarts {
		var n NextRequest
		if i == 0 && first != nil {
			interval, _ := s.At(first.NotBefore)
			n = NextRequest{Moment{first.NotBefore}, Interval(interval), newDelayReasons(first.Reasons)}
		} else {
			n = nextRequest(s, t, pace.State{Last: last})
		}
		n.Start.Time = n.Start.In(s.Zone())
		next = append(next, n)
		last = n.Start.Time
		if last.After(t) {
			t = last
		}
	}
	return next
}

// nextRequest returns the next request of a schedule in a state.
func nextRequest(s *pace.Schedule, t time.Time, state pace.State) NextRequest {
	start, reasons := s.Explain(t, state)
	interval, _ := s.At(start)
	return NextRequest{Moment{start}, Interval(interval), newDelayReasons(reasons)}
}

func newDelayReasons(reasons []pace.Reason) []DelayReason {
	list := []DelayReason{}
	for _, r := range reasons {
		reason := DelayReason{Cause: r.Cause, Value: OrNull(r.Value), Interval: Interval(r.Interval), Text: r.String()}
		if r.Line != 0 {
			reason.Line = new(r.Line)
		}
		r.Interval = 0
		reason.Short = r.String()
		list = append(list, reason)
	}
	return list
}

// hoursOf returns the pages an hour in each hour of the clock. An hour that comes twice counts as
// one of the same pace, one that does not come as 0.
func hoursOf(s *pace.Schedule, day []pace.Span) []float64 {
	hours := make([]float64, 24)
	minutes := make([]float64, 24)
	for t := day[0].From; t.Before(day[len(day)-1].To); t = t.Add(time.Minute) {
		minutes[t.Hour()]++
		if interval, open := s.At(t); open {
			hours[t.Hour()] += float64(time.Hour) / float64(max(interval, time.Millisecond))
		}
	}
	for h := range hours {
		hours[h] /= max(minutes[h], 1)
	}
	return hours
}
