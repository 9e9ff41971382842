package answer

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// A CrawlRate is when a crawler may send requests to a site in the next 24 hours, and what its robots.txt
// declares about that.
type CrawlRate struct {
	Dialect  string         `json:"dialect"`        // in which the crawler reads the file
	Agent    []string       `json:"agent"`          // as given
	At       time.Time      `json:"at"`             // where the 24 hours begin
	Allowed  bool           `json:"allowed"`        // false while it is undecided whether the site may be crawled
	Interval float64        `json:"interval"`       // seconds between requests at present
	Next     *time.Time     `json:"next,omitempty"` // the earliest request, absent if not allowed
	Windows  []RateWindow   `json:"windows"`        // in order, without gaps; none if not allowed
	Declared []RateDeclared `json:"declared"`       // lines of the file
	Dropped  int            `json:"dropped"`        // of these, beyond the limit
}

// A RateWindow is a period with one crawl rate.
type RateWindow struct {
	From     time.Time `json:"from"`     // included
	To       time.Time `json:"to"`       // excluded
	Open     bool      `json:"open"`     // false if closed by Visit-time
	Interval float64   `json:"interval"` // seconds between requests
	Reasons  []string  `json:"reasons"`  // the deciding one first
}

// A RateDeclared is a line about the crawl rate.
type RateDeclared struct {
	Line     int     `json:"line"`          // from 1
	Field    string  `json:"field"`         // such as crawl-delay
	Value    string  `json:"value"`         // as written
	Interval float64 `json:"interval"`      // seconds that are used for it
	Fate     string  `json:"fate"`          // one word: what becomes of it
	Why      string  `json:"why,omitempty"` // it is not used as declared
}

// NewCrawlRate returns the crawl rate of rules at a time. Allowed is whether requests are; each list has at
// most some entries.
func NewCrawlRate(rules *robots.Rules, policy pace.Policy, agents []string, at time.Time, allowed bool, most int) *CrawlRate {
	s, _ := pace.NewSchedule(rules, policy) // no error: the policy has been checked
	j := &CrawlRate{
		Dialect: s.Dialect(), Agent: agents, At: at, Allowed: allowed,
		Windows: []RateWindow{}, Declared: []RateDeclared{}, Dropped: s.Dropped(),
	}
	if len(agents) == 0 {
		j.Agent = []string{AnyCrawler}
	}
	if allowed {
		interval, _ := s.At(at)
		j.Interval = interval.Seconds()
		j.Next = new(s.Next(at, pace.State{}).UTC())
		j.Windows = rateWindows(s, at, most)
	}
	for i, e := range s.Entries() {
		if i == most {
			j.Dropped += len(s.Entries()) - i
			break
		}
		j.Declared = append(j.Declared, RateDeclared{
			Line: e.Line, Field: e.Field.String(), Value: e.Value, Interval: e.Interval.Seconds(), Fate: string(e.Use), Why: e.Why,
		})
	}
	return j
}

// rateWindows returns the first windows of the 24 hours after a time.
func rateWindows(s *pace.Schedule, at time.Time, most int) []RateWindow {
	list := []RateWindow{}
	for span := range s.Spans(at, at.Add(24*time.Hour)) {
		if len(list) == most {
			break
		}
		list = append(list, RateWindow{
			From: span.From.UTC(), To: span.To.UTC(), Open: span.Open, Interval: span.Interval.Seconds(), Reasons: ReasonTexts(span.Reasons),
		})
	}
	return list
}

// ReasonTexts returns why a request has to wait, a sentence for each reason.
func ReasonTexts(reasons []pace.Reason) []string {
	list := []string{}
	for _, r := range reasons {
		list = append(list, r.String())
	}
	return list
}
