package page

import (
	"strconv"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// ratePages is the example that is counted: the pages of a middling site.
const ratePages = 1800

// rates says how fast a crawler may go over one day in UTC, hour by hour, and what
// a crawl costs in time.
func rates(w *writer, args []string) string {
	c, wrong := readCrawler(args[1])
	if wrong != "" {
		return wrong
	}
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return "the time " + strconv.Quote(clip(args[2])) + " is not a number of seconds since 1970"
	}
	rules := c.rules(robots.Parse([]byte(args[0])))
	s, err := pace.NewSchedule(rules, pace.Policy{})
	if err != nil {
		return err.Error()
	}
	now := time.Unix(seconds, 0).UTC()
	day := now.Truncate(24 * time.Hour)
	w.list("hours")
	for hour := range 24 {
		from := day.Add(time.Duration(hour) * time.Hour)
		pages := 0.0
		w.open('{')
		w.list("spans")
		for span := range s.Spans(from, from.Add(time.Hour)) {
			text := span.From.Format("15:04") + " "
			switch {
			case !span.Open:
				text += "closed"
			default:
				pages += float64(span.To.Sub(span.From)) / float64(max(span.Interval, time.Millisecond))
				text += pace.Every(span.Interval)
			}
			if len(span.Reasons) > 0 {
				r := span.Reasons[0]
				r.Interval = 0
				text += " (" + r.String() + ")"
			}
			w.value(text)
		}
		w.close(']')
		w.float("pages", pages)
		w.close('}')
	}
	w.close(']')
	interval, _ := s.At(now)
	w.text("pace", pace.Every(interval))
	w.number("pages", ratePages)
	takes := "more than ten years"
	if d, ok := s.Duration(ratePages, now); ok {
		takes = pace.Words(d)
	}
	w.text("takes", takes)
	w.list("entries")
	for _, e := range s.Entries() {
		w.open('{')
		w.number("line", e.Line)
		w.text("field", e.Field.String())
		w.text("value", robots.Printable(e.Value))
		w.text("fate", e.Use.String())
		w.text("why", e.Why)
		w.close('}')
	}
	w.close(']')
	return ""
}
