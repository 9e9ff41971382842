package page

import (
	"errors"
	"strconv"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/pace"
)

// ratePages is the number of pages in the example.
const ratePages = 1800

// rates returns the crawl rate of a day in UTC, hour by hour, and how long a crawl takes.
func rates(_ *budget.Budget, args []string) (any, error) {
	c, err := readCrawler(args[1])
	if err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return nil, errors.New("the time " + strconv.Quote(clip(args[2])) + " is not a number of seconds since 1970")
	}
	s, err := pace.NewSchedule(c.rules(robots.Parse([]byte(args[0]))), pace.Policy{})
	if err != nil {
		return nil, err
	}
	now := time.Unix(seconds, 0).UTC()
	day := now.Truncate(24 * time.Hour)
	hours, entries := []object{}, []object{}
	for hour := range 24 {
		from := day.Add(time.Duration(hour) * time.Hour)
		pages, spans := 0.0, []string{}
		for span := range s.Spans(from, from.Add(time.Hour)) {
			text := span.From.Format("15:04") + " closed"
			if span.Open {
				pages += float64(span.To.Sub(span.From)) / float64(max(span.Interval, time.Millisecond))
				text = span.From.Format("15:04") + " " + duration.Rate(span.Interval)
			}
			if len(span.Reasons) > 0 {
				r := span.Reasons[0]
				r.Interval = 0
				text += " (" + r.String() + ")"
			}
			spans = append(spans, text)
		}
		hours = append(hours, object{"spans": spans, "pages": pages})
	}
	for _, e := range s.Entries() {
		entries = append(entries, object{"line": e.Line, "field": e.Field.String(), "value": robots.Printable(e.Value), "fate": e.Use, "why": e.Why})
	}
	interval, _ := s.At(now)
	takes := "more than ten years"
	if d, ok := s.Duration(ratePages, now); ok {
		takes = duration.Text(d)
	}
	return object{"hours": hours, "pace": duration.Rate(interval), "pages": ratePages, "takes": takes, "entries": entries}, nil
}
