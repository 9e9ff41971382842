package answer

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/robotskit/robots/crawlers"
)

// A LogReport is what crawlers and other programs did in access logs.
type LogReport struct {
	Finding  *LogFinding       `json:"finding"`  // the most important, null if nothing is known to be faked or disallowed
	Logs     []string          `json:"logs"`     // their names
	From     *time.Time        `json:"from"`     // time of the first request, null if the logs have no times
	To       *time.Time        `json:"to"`       // time of the last request
	Lines    int               `json:"lines"`    // that were read
	Requests int               `json:"requests"` // lines that are requests, those of browsers included
	Crawlers []CrawlerRequests `json:"crawlers"` // and other programs that name themselves, most requests first
	Rules    []RuleUse         `json:"rules"`    // of robots.txt in its order; null without --unused
}

// A LogFinding is the crawler with most requests of a kind.
type LogFinding struct {
	Kind          string `json:"kind"`           // faked or, if no request is, disallowed
	Name          string `json:"name"`           // of the crawler or program
	Requests      int    `json:"requests"`       // of this kind
	Of            int    `json:"of"`             // all requests of the crawler
	OtherCrawlers int    `json:"other_crawlers"` // other crawlers and programs with such requests
	OtherRequests int    `json:"other_requests"` // their requests of this kind
}

// CrawlerRequests are the requests of a crawler, or of another program, in access logs.
type CrawlerRequests struct {
	Name      string           `json:"name"`       // usual name of the crawler, or what the program calls itself
	Known     bool             `json:"known"`      // the directory has the crawler
	UserAgent *string          `json:"user_agent"` // the first header of a program that is not known; null for a crawler
	Operator  string           `json:"operator"`   // or unknown
	Purpose   crawlers.Purpose `json:"purpose"`    // or unknown
	Share     float64          `json:"share"`      // percentage of all requests in the logs
	RequestCounts
	Addresses int                 `json:"addresses"`  // that sent the requests
	RobotsTXT int                 `json:"robots_txt"` // requests for /robots.txt
	Why       *string             `json:"why"`        // reason why the first unknown address is unknown, null if none is
	Fakes     []FakeAddress       `json:"fakes"`      // those with most requests
	Forbidden []ForbiddenRequests `json:"forbidden"`  // lines of robots.txt that were not obeyed, most requests first; null without -f

	Crawler crawlers.Crawler  `json:"-"`
	Unknown crawlers.Identity `json:"-"` // of the first unknown address
	Advice  string            `json:"-"` // the flag that would help to verify unknown addresses, "" if none would
	Remark  string            `json:"-"` // on the crawler, "" for none
}

// Misbehaves reports whether requests are faked, or disallowed by the file.
func (r *CrawlerRequests) Misbehaves() bool { return r.Faked > 0 || len(r.Forbidden) > 0 }

// Disallowed is the number of requests that a robots.txt disallows.
func (r *CrawlerRequests) Disallowed() (n int) {
	for _, line := range r.Forbidden {
		n += line.Requests
	}
	return n
}

// Report returns the report on logs with so many lines.
func (t *Traffic) Report(logs []string, lines int) *LogReport {
	r := &LogReport{Logs: logs, Lines: lines, Requests: t.Lines, Crawlers: []CrawlerRequests{}}
	if !t.from.IsZero() {
		r.From = &t.from
		r.To = &t.to
	}
	for v := range maps.Values(t.visitors) {
		r.Crawlers = append(r.Crawlers, t.requestsOf(v))
	}
	for v := range maps.Values(t.programs) {
		r.Crawlers = append(r.Crawlers, t.requestsOf(v))
	}
	slices.SortFunc(r.Crawlers, func(a, b CrawlerRequests) int {
		return cmp.Or(b.Requests-a.Requests, strings.Compare(a.Name, b.Name))
	})
	if t.Unused {
		r.Rules = t.ruleUses()
	}
	faked := func(c *CrawlerRequests) int { return c.Faked }
	r.Finding = cmp.Or(r.finding("faked", faked), r.finding("disallowed", (*CrawlerRequests).Disallowed))
	return r
}

// requestsOf returns the requests of a program, with those that a robots.txt disallows if there is one.
func (t *Traffic) requestsOf(v *visitor) CrawlerRequests {
	r := CrawlerRequests{
		Name: v.Name, Known: v.isKnown(), UserAgent: OrNull(v.userAgent), Operator: v.Operator, Purpose: v.Purpose,
		RequestCounts: v.requests, Addresses: v.addresses, RobotsTXT: v.robotsTXT,
		Why: OrNull(v.unknown.Why), Fakes: v.fakes, Crawler: v.Crawler, Unknown: v.unknown,
	}
	r.Share = math.Round(1000*float64(r.Requests)/float64(t.Lines)) / 10
	if t.File != nil {
		r.Forbidden = []ForbiddenRequests{}
	}
	for _, line := range v.lines {
		r.Forbidden = append(r.Forbidden, *line)
	}
	slices.SortFunc(r.Forbidden, func(a, b ForbiddenRequests) int {
		return cmp.Or(b.Requests-a.Requests, a.Line-b.Line)
	})
	return r
}

// Known returns the numbers of crawlers in the directory and of their requests, Others those of other programs.
func (r *LogReport) Known() (programs, requests int) { return r.count(true) }

// Others returns the numbers of programs that are not in the directory and of their requests.
func (r *LogReport) Others() (programs, requests int) { return r.count(false) }

func (r *LogReport) count(known bool) (programs, requests int) {
	for i := range r.Crawlers {
		if r.Crawlers[i].Known == known {
			programs++
			requests += r.Crawlers[i].Requests
		}
	}
	return programs, requests
}

// finding returns the crawler with most requests of a kind, nil if there is no such request.
func (r *LogReport) finding(kind string, number func(*CrawlerRequests) int) *LogFinding {
	f := &LogFinding{Kind: kind}
	programs := 0
	total := 0
	for i := range r.Crawlers {
		c := &r.Crawlers[i]
		n := number(c)
		if n == 0 {
			continue
		}
		programs++
		total += n
		if n > f.Requests {
			f.Name = c.Name
			f.Requests = n
			f.Of = c.Requests
		}
	}
	if programs == 0 {
		return nil
	}
	f.OtherCrawlers = programs - 1
	f.OtherRequests = total - f.Requests
	return f
}
