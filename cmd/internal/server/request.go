package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/internal/duration"
)

// A request is a request of a known operation. Its methods read the query and the body; the first
// invalid value is its problem, and what they return after that means nothing.
type request struct {
	*http.Request
	s        *Service
	exchange *exchange
	query    url.Values
	problem  *Problem
}

// fail keeps a problem, if there is one and it is the first.
func (r *request) fail(p *Problem) { r.problem = cmp.Or(r.problem, p) }

// readQuery reads the query. It refuses unknown parameters, and repeated ones that are not lists
// ("agent..."): which value counts would be a guess.
func (r *request) readQuery(known []string) {
	if r.URL.RawQuery == "" {
		return
	}
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if !escaped(part) {
			r.fail(NewProblem(BadParameter,
				"the query cannot be read: write special characters as %XX, a semicolon as %3B, and & between parameters"))
		}
	}
	r.query, _ = url.ParseQuery(r.URL.RawQuery) // no error: it is escaped
	for _, name := range slices.Sorted(maps.Keys(r.query)) {
		message := ""
		switch {
		case slices.Contains(known, name+"..."):
			continue
		case !slices.Contains(known, name):
			message = isUnknown + suggestion(name, known)
		case len(r.query[name]) > 1:
			message = "is given more than once: give it once"
		default:
			continue
		}
		t := BadParameter
		if name == "url" {
			t = BadURL
		}
		r.fail(wrong(t, "query."+strings.ToValidUTF8(ask.Clip(name), "\uFFFD"), "", message))
	}
}

// escaped reports whether all parsers read a part of a query in the same way.
func escaped(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ';':
			return false
		case '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
		}
	}
	return true
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|' ' && c|' ' <= 'f' }

// suggestion returns the known name that an unknown one probably stands for, or all known names.
func suggestion(name string, known []string) string {
	var names []string
	for _, k := range known {
		names = append(names, strings.TrimSuffix(k, "..."))
	}
	if len(names) == 0 {
		return " (there are no parameters)"
	}
	return ask.Hint(name, names)
}

// url returns a URL with at most Parts.URLBytes, which must be given.
func (r *request) url(location string, u *string) string {
	switch {
	case u == nil:
		r.fail(wrong(BadURL, location, "", isMissing))
		return ""
	case int64(len(*u)) > r.s.parts.URLBytes:
		r.fail(wrong(BadURL, location, *u, fmt.Sprintf("must have %d characters or fewer", r.s.parts.URLBytes)))
	}
	return *u
}

// queryURL returns the parameter url.
func (r *request) queryURL() string {
	if !r.query.Has("url") {
		return r.url("query.url", nil)
	}
	return r.url("query.url", &r.query["url"][0])
}

// queryAgents returns the parameters agent.
func (r *request) queryAgents() []string {
	agents := r.query["agent"]
	r.fail(tooMany("query.agent", len(agents), mostAgents))
	return agents
}

// flag returns a boolean parameter.
func (r *request) flag(name string) bool {
	if !r.query.Has(name) {
		return false
	}
	v, err := strconv.ParseBool(r.query.Get(name))
	if err != nil {
		r.fail(wrong(BadParameter, "query."+name, r.query.Get(name), notBool))
	}
	return v
}

// keyword reports whether a parameter is given, with its only possible value.
func (r *request) keyword(name, only string) bool {
	given := r.query.Has(name)
	if v := r.query.Get(name); given && v != only {
		r.fail(wrong(BadParameter, "query."+name, v, `must be one of "`+only+`"`))
	}
	return given
}

// duration reads a duration such as 1m30s, or a number of seconds; a missing one is the usual.
func (r *request) duration(location, text string, usual, least, most time.Duration) time.Duration {
	if text == "" {
		return usual
	}
	d, err := time.ParseDuration(text)
	if seconds, number := strconv.ParseFloat(text, 64); err != nil && number == nil && seconds >= 0 && seconds <= most.Seconds() {
		d = time.Duration(seconds * float64(time.Second))
		err = nil
	}
	if err != nil || d < least || d > most {
		message := fmt.Sprintf("must be a time such as 5s, from %s to %s", duration.Text(least), duration.Text(most))
		r.fail(wrong(BadParameter, location, text, message))
	}
	return d
}

// timeout reads how long to wait for a fetch.
func (r *request) timeout(location, text string) time.Duration {
	return r.duration(location, text, usualWait, 0, mostWait)
}

// crawler returns the crawler with some product tokens, which it checks, in the dialect with a
// name, or the default. Location is the prefix of both, such as "query.".
func (r *request) crawler(location, dialect string, agents []string) answer.Crawler {
	c, err := ask.Crawler(cmp.Or(dialect, r.s.parts.Dialect), "", agents...)
	if err != nil {
		r.fail(invalid(BadParameter, location+"dialect", dialect, err))
	}
	r.fail(checkAgents(agents, c.Dialect, location+"agent"))
	return c
}

// site returns the origin and path of a URL as a dialect reads it.
func (r *request) site(location string, d robots.Dialect, url string) (robots.Origin, robots.Path) {
	origin, path, p := siteOf(d, url, location)
	r.fail(p)
	return origin, path
}
