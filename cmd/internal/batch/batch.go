// Package batch reads the lines of a batch and writes their answers (docs/batch.md). The caller
// fetches robots.txt for lines without one.
package batch

import (
	"errors"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
)

// A Code is the kind of an error of a line. The words are a contract (docs/batch.md).
type Code string

const (
	BadJSON      Code = "bad-json"      // not JSON, or not an object
	BadURL       Code = "bad-url"       // missing, not a URL, or without a site to fetch from
	BadParameter Code = "bad-parameter" // any other member
	TooLarge     Code = "too-large"     // the line, or the budget of the request is used up
	Pending      Code = "pending"       // its robots.txt is not available in time
)

// coded is an error with its code.
type coded struct {
	code Code
	error
}

// CodeOf returns the code of an error: nearly all are about a member.
func CodeOf(err error) Code {
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	if errors.Is(err, budget.ErrSteps) || errors.Is(err, budget.ErrBytes) {
		return TooLarge
	}
	return BadParameter
}

// Defaults are for members that a line leaves out. Any number of answerers share them.
type Defaults struct {
	Agents        []string       // tokens of the crawler, most specific first; none: the group of * applies
	Dialect       robots.Dialect // not the zero value
	Auto          bool           // the dialect documented for the line's agent, else RFC 9309, instead of Dialect
	MaxBytes      int            // size limit of the file; 0: that of the dialect
	At            time.Time      // when to judge; zero: now
	File          *robots.File   // nil: it is fetched from the site
	UserInitiated bool           // a user started the fetches

	// Limits are those of a program that answers others.
	Limits Limits
	// Budget limits the work and the bytes of all answers together; nil is no limit. Questions that come
	// after it is used up are answered with TooLarge.
	Budget *budget.Budget

	// OnAgent is called with the tokens of a member agent and their dialect, unless recent lines had them; it can be nil.
	OnAgent func(token string, d robots.Dialect)
}

// Limits are the largest sizes of the members of a question, and of the lists of an answer. 0 is no limit.
type Limits struct {
	URL    int // bytes
	Tokens int // in the member agent
	Token  int // bytes of each of them
	Answer robots.JSONLimits
}

// exceeds reports whether a size is beyond a limit, 0 for none.
func exceeds(size, limit int) bool { return limit > 0 && size > limit }

// Site returns the site whose robots.txt a question needs: neither the line nor the defaults
// have a file. For all other lines, invalid ones included, it is zero. It also returns the URL.
func (d *Defaults) Site(q *Question) (site robots.Origin, url string) {
	if q.bad == nil && q.url != nil && d.fetches(q) {
		url, _ = q.string(q.url)
		if !exceeds(len(url), d.Limits.URL) {
			site, _, _ = ask.URL(robots.RFC9309, url, true)
		}
	}
	return site, url
}

func (d *Defaults) fetches(q *Question) bool {
	return d.File == nil && q.robots == nil && q.robotsB64 == nil
}
