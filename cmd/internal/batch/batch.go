// Package batch is what a line of a batch means: the question in it, its judgement, the
// line that answers it (docs/batch.md). Whoever has lines brings the robots.txt of those
// that have none.
package batch

import (
	"errors"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// A Code is what is wrong with a line in one word, for programs. The words are a
// contract (docs/batch.md).
type Code string

const (
	BadJSON      Code = "bad-json"      // not JSON, or not an object
	BadURL       Code = "bad-url"       // missing, not a URL, or without a site to ask
	BadParameter Code = "bad-parameter" // any other member
	TooLarge     Code = "too-large"     // the line
	Pending      Code = "pending"       // its robots.txt cannot be had in time
)

// coded is an error with its code.
type coded struct {
	code Code
	error
}

func fail(code Code, err error) error {
	if err == nil {
		return nil
	}
	return coded{code, err}
}

// codeOf returns the code of an error: nearly all are about a member.
func codeOf(err error) Code {
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	return BadParameter
}

// Defaults stand for the members that a line leaves out. They are read only, by any
// number of answerers.
type Defaults struct {
	Agents        []string       // tokens of the crawler, most wanted first; none: one that nobody names
	Dialect       robots.Dialect // a zero value is no dialect
	Auto          bool           // the dialect documented for the line's agent, else RFC 9309, instead of Dialect
	MaxBytes      int            // of the file that are read; ask.NoLimit: as many as the dialect reads
	At            time.Time      // when to judge; zero: now
	File          *robots.File   // nil: the site is asked
	UserInitiated bool           // a user asked for the pages

	// Heard is called with each token of a line that has not been read before, under its
	// dialect; nil: nobody is told. It is called by all answerers at a time.
	Heard func(token string, d robots.Dialect)
}

// Site returns the site that a question asks about, if its robots.txt is to be fetched:
// the line has no file, and there is none by default. For all others, bad ones too, it
// returns false, and Append answers them.
func (d *Defaults) Site(q *Question) (site robots.Origin, fetched bool) {
	if q.bad != nil || q.url == nil || !d.fetches(q) {
		return site, false
	}
	text, _ := q.string(q.url)
	site, path, err := ask.URL(robots.RFC9309, text, true)
	if err != nil {
		return site, false
	}
	q.split, q.text, q.path = true, text, path
	return site, true
}

func (d *Defaults) fetches(q *Question) bool {
	return d.File == nil && q.robots == nil && q.robotsB64 == nil
}
