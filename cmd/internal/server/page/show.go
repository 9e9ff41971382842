package page

import (
	"errors"
	"strconv"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/internal/duration"
)

// ratePages is the number of pages of the estimate.
const ratePages = 1800

// A shownFile is what a file declares, with the crawl rate of a day as it is drawn.
type shownFile struct {
	answer.Facts
	SitemapsDropped int       `json:"sitemaps_dropped"` // beyond the limit
	Stated          bool      `json:"stated"`           // the file sets the rate of this crawler, at some time of the day
	Pace            string    `json:"pace"`             // at the time
	Takes           string    `json:"takes"`            // of the estimate, a duration
	Hours           []float64 `json:"hours"`            // pages per hour, for each of the day in UTC
	Phases          []phase   `json:"phases"`           // of the day, in order
}

// A phase is a part of the day with one crawl rate.
type phase struct {
	From string `json:"from"` // as in 18:00
	To   string `json:"to"`   // as in 24:00
	Text string `json:"text"` // the rate, and the deciding reason
}

// show returns what a file declares for a crawler at a time.
func show(b *budget.Budget, args []string) (any, error) {
	c, err := readCrawler(args[1])
	if err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return nil, errors.New("the time " + strconv.Quote(clip(args[2])) + " is not a number of seconds since 1970")
	}
	if err := b.Work(budget.Reading(args[0]) + budget.Scheduling(len(args[0]))); err != nil {
		return nil, err
	}
	options := answer.ShowOptions{Sections: []answer.Section{answer.SectionDelays, answer.SectionSitemaps}, Pages: ratePages}
	s := shownFile{Facts: answer.Show(robots.Parse([]byte(args[0])), &c, time.Unix(seconds, 0).UTC(), options)}
	if n := len(s.Sitemaps); n > maxNamed {
		s.Sitemaps = s.Sitemaps[:maxNamed]
		s.SitemapsDropped = n - maxNamed
	}
	s.draw()
	return s, nil
}

// draw describes the crawl rate.
func (s *shownFile) draw() {
	delays := s.Delays
	interval := time.Duration(delays.Next[0].Interval)
	s.Pace = duration.Rate(interval)
	s.Takes = "more than ten years"
	if delays.Takes != nil {
		s.Takes = duration.Text(time.Duration(*delays.Takes))
	}
	s.Hours = delays.Hours
	if s.Hours == nil {
		s.Hours = make([]float64, 24)
		for i := range s.Hours {
			s.Hours[i] = float64(time.Hour) / float64(max(interval, time.Millisecond))
		}
	}
	for _, span := range delays.Day {
		p := phase{From: span.From.Format("15:04"), To: span.To.Format("15:04"), Text: "closed"}
		if p.To == "00:00" {
			p.To = "24:00"
		}
		if span.Open {
			p.Text = duration.Rate(time.Duration(span.Interval))
		}
		if len(span.Reasons) > 0 {
			p.Text += " (" + span.Reasons[0].Short + ")"
			s.Stated = s.Stated || span.Reasons[0].Line != nil
		}
		s.Phases = append(s.Phases, p)
	}
	if reasons := delays.Next[0].Reasons; s.Stated && len(reasons) > 0 && reasons[0].Line == nil {
		s.Pace = "the file sets no rate for this hour"
	}
}
