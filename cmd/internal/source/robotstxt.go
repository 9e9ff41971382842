package source

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/fetch"
)

// A RobotsTXT is a robots.txt: a file, or the outcome of its fetch.
type RobotsTXT struct {
	File   *robots.File
	Record *fetch.Record
}

// Reading returns the steps for making rules (budget.Reading).
func (t RobotsTXT) Reading() int {
	switch {
	case t.File != nil:
		return budget.Reading(t.File.Bytes())
	case t.Record == nil:
		return budget.Reading[string]()
	case t.Record.LastGood != nil:
		return budget.Reading(t.Record.Body, t.Record.LastGood.Body)
	}
	return budget.Reading(t.Record.Body)
}

// Obey returns the rules of a crawler at a time, with maxBytes instead of the dialect's size
// limit; 0 leaves that.
func (t RobotsTXT) Obey(d robots.Dialect, maxBytes int, at time.Time, tokens []string) *robots.Rules {
	if maxBytes > 0 {
		d.MaxFileBytes = maxBytes
	}
	if t.Record != nil {
		return t.Record.Rules(d, at, tokens...)
	}
	return t.File.Rules(d, tokens...)
}
