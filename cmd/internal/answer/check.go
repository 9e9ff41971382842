package answer

import (
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// A Check is the verdict on a URL for a crawler, with what its group declares. Batch lines are
// written without this struct, byte for byte as it is encoded.
type Check struct {
	Allowed bool   `json:"allowed"` // whether the crawler may fetch the URL
	Verdict string `json:"verdict"` // allow, disallow or undefined
	Reason  string `json:"reason"`  // one of those of [batch.md](batch.md#answer)
	Rule    *Rule  `json:"rule"`    // that decides
	Group   *Group `json:"group"`   // that applies to the crawler
	*State
	CrawlDelay   *Seconds      `json:"crawl_delay"`   // that the group declares, whether or not the crawler honors it
	RequestRates []RequestRate `json:"request_rates"` // likewise
	// RequestRatesDropped is the number of rates beyond a limit of the API, absent if there are none.
	RequestRatesDropped int      `json:"request_rates_dropped,omitempty"`
	Sitemaps            []string `json:"sitemaps"` // as written, in file order
	// SitemapsDropped is the number of sitemaps beyond a limit of the API, absent if there are none.
	SitemapsDropped int    `json:"sitemaps_dropped,omitempty"`
	Dialect         string `json:"dialect"` // in which the crawler reads the file
	URL             string `json:"url"`     // as given
	Agent           any    `json:"agent"`   // as given: a token, or a list
	// Fallback is the token that the dialect auto added and whose group applies, or null.
	Fallback *crawlers.FurtherToken `json:"fallback"`
	// Binds is whom the file addresses: yes, not-by-star or no.
	Binds crawlers.Binds `json:"binds"`
}

// A Group is the group of a crawler.
type Group struct {
	Token string `json:"token"` // in lower case, or *
	Lines []int  `json:"lines"` // of all user-agent lines that name it
	// LinesDropped is the number of lines beyond a limit of the API, absent if there are none.
	LinesDropped int `json:"lines_dropped,omitempty"`

	text string // Token, printable on a terminal
}

// String returns the token, printable on a terminal.
func (g *Group) String() string { return g.text }

// A State is the outcome of the fetch of a robots.txt. Members that do not apply are absent.
type State struct {
	Status       int    `json:"status,omitempty"`        // of the last response: HTTP status or FTP reply code
	Fetched      Time   `json:"fetched,omitempty"`       // when the file was fetched, or the last attempt made
	Expires      Time   `json:"expires,omitempty"`       // when it is fetched again
	StaleSince   Time   `json:"stale_since,omitempty"`   // since when a copy is used beyond its lifetime
	FailingSince Time   `json:"failing_since,omitempty"` // first failure after the last success
	NextTry      Time   `json:"next_try,omitempty"`      // when the next attempt is due
	CutAt        int    `json:"cut_at,omitempty"`        // bytes after which the fetch truncated the file
	Degraded     bool   `json:"degraded,omitempty"`      // the shared store was unreachable
	Note         string `json:"note,omitempty"`          // a phrase, if the state matters
}

// A Time is a time as RFC 3339 writes it in UTC, "" for none.
type Time string

// Seconds is a duration.
type Seconds float64

// MarshalJSON writes no exponent.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s), 'f', -1, 64), nil
}

// A RequestRate is a value of Request-rate. From and To are HHMM, or null for the whole day.
type RequestRate struct {
	Requests int     `json:"requests"` // at most
	Seconds  int     `json:"seconds"`  // in any as many
	From     *string `json:"from"`     // HHMM
	To       *string `json:"to"`       // HHMM
}

// NewCheck returns the verdict on a path of rules for a crawler. The URL and the agent are as
// given: a token, or a list. Lists are limited; the zero value is no limit.
func NewCheck(r *robots.Rules, c *Crawler, path robots.Path, url string, agent any, limits robots.JSONLimits) Check {
	v := r.Match(path)
	j := Check{
		Allowed:      v.Allowed,
		Verdict:      v.Word(),
		Reason:       v.Reason.String(),
		Rule:         NewRule(v.Rule),
		Group:        LimitedGroup(r.Group(), limits.Lines),
		State:        newState(r.State()),
		RequestRates: []RequestRate{}, Sitemaps: []string{}, Dialect: r.Dialect().Name, URL: validText(HideUser(url)), Agent: agent,
		Fallback: c.Fallback(r), Binds: c.Binds(),
	}
	for rec := range r.Records() {
		switch {
		case !rec.Usable:
		case rec.Field == robots.FieldCrawlDelay:
			j.CrawlDelay = new(max(valueOf(j.CrawlDelay), Seconds(rec.Delay)))
		case rec.Field == robots.FieldRequestRate:
			if limits.Rates > 0 && len(j.RequestRates) == limits.Rates {
				j.RequestRatesDropped++
				continue
			}
			j.RequestRates = append(j.RequestRates, newRequestRate(rec.Rate))
		case rec.Field == robots.FieldSitemap:
			if limits.Sitemaps > 0 && len(j.Sitemaps) == limits.Sitemaps {
				j.SitemapsDropped++
				continue
			}
			j.Sitemaps = append(j.Sitemaps, validText(rec.Value))
		}
	}
	return j
}

// NewGroup returns nil, in JSON null, for no group.
func NewGroup(g robots.Group) *Group { return LimitedGroup(g, 0) }

// LimitedGroup is NewGroup with at most some lines, or all for 0.
func LimitedGroup(g robots.Group, lines int) *Group {
	if g.IsZero() {
		return nil
	}
	shown, dropped := limited(g.Lines(), lines)
	return &Group{Token: validText(g.Token()), Lines: append([]int{}, shown...), LinesDropped: dropped, text: robots.Printable(g.Token())}
}

// newState returns nil if nothing was fetched.
func newState(s *robots.State) *State {
	if s == nil {
		return nil
	}
	at := func(t time.Time) Time {
		if t.IsZero() {
			return ""
		}
		return Time(t.UTC().Format(time.RFC3339))
	}
	return &State{
		Status: s.Status, Fetched: at(s.Fetched), Expires: at(s.Expires), StaleSince: at(s.StaleSince), FailingSince: at(s.FailingSince),
		NextTry: at(s.NextTry), CutAt: s.CutAt, Degraded: s.Degraded, Note: validText(s.Text()),
	}
}

func newRequestRate(r robots.RequestRate) RequestRate {
	j := RequestRate{Requests: r.Requests, Seconds: r.Seconds}
	if !r.Window.Always() {
		from, to, _ := strings.Cut(r.Window.String(), "-")
		j.From = &from
		j.To = &to
	}
	return j
}

// Text returns a text that can be null, "" for that.
func Text(s *string) string { return valueOf(s) }

// valueOf returns the zero value for nil.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// HideUser returns a URL with *** instead of its user and password.
func HideUser(url string) string {
	if strings.IndexByte(url, '@') < 0 { // as nearly all
		return url
	}
	before, user, after := CutUser(url)
	if user == "" {
		return url
	}
	return before + "***@" + after
}

// CutUser returns the user and password of a URL with the @ that ends them, "" if it has none, and the text around them.
func CutUser(url string) (before, user, after string) {
	start := strings.Index(url, "//") + 2
	if start < 2 || start > 2 && !strings.HasSuffix(url[:start], "://") {
		return url, "", ""
	}
	end := len(url)
	if i := strings.IndexAny(url[start:], "/?#\\"); i >= 0 {
		end = start + i
	}
	if i := strings.LastIndexByte(url[start:end], '@'); i >= 0 {
		return url[:start], url[start : start+i+1], url[start+i+1:]
	}
	return url, "", ""
}
