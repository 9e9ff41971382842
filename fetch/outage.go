package fetch

import (
	"time"

	"github.com/robotskit/robots"
)

// action is what happens while robots.txt is unreachable.
type action uint8

const (
	disallowAll     action = iota
	useCopy                // of the last good fetch
	allowAll               // everything
	allowResponding        // everything, if the caller knows that the rest of the site responds (HTTP-08)
)

// outageFailures is the number of failed attempts that a step needs before it
// allows everything (D-54): two samples a month apart are not a lasting failure.
const outageFailures = 5

// An outageStep applies from an age of an outage on.
type outageStep struct {
	from          time.Duration // since the first failure; if it allows everything, covered by failures (D-54)
	copied        action        // with a last good copy
	without       action        // without one
	clause        string
	clauseForCopy string // with a last good copy, if it differs
}

// RFC 9309's example of a reasonably long period (2.3.1.4) and Google's number are
// both 30 days; the 12 hours are Google's.
const outageLimit = 30 * 24 * time.Hour

// outages has the steps of each robots.Outage, in order of age. RFC 9309 asks for a
// complete disallow (2.3.1.4), but exempts an unreachable robots.txt from the end of a
// copy's lifetime (2.4): D-21.
var outages = [...][]outageStep{
	robots.OutageDisallow: {{clause: "HTTP-04"}},
	robots.OutageKeepCopy: {
		{copied: useCopy, without: disallowAll, clause: "D-22", clauseForCopy: "D-21"},
		{from: outageLimit, copied: useCopy, without: allowAll, clause: "D-22", clauseForCopy: "D-21"},
	},
	robots.OutageGoogle: {
		{clause: "HTTP-08"},
		{from: 12 * time.Hour, copied: useCopy, without: allowAll, clause: "HTTP-08"},
		{from: outageLimit, copied: allowResponding, without: allowResponding, clause: "HTTP-08"},
	},
	robots.Outage2019: {
		{clause: "HTTP-04"},
		{from: outageLimit, copied: useCopy, without: allowAll, clause: "HTTP-06"},
	},
}

// outageSteps returns the steps of a dialect. An unknown Outage never allows.
func outageSteps(o robots.Outage) []outageStep {
	if int(o) >= len(outages) {
		o = robots.OutageDisallow
	}
	return outages[o]
}

// outageState is what the steps of an outage depend on.
type outageState struct {
	age      time.Duration // since the first failure (D-42)
	covered  time.Duration // by failures: the sum of the gaps between them, each of a day at most (D-54)
	failures int
	copied   bool // there is a last good copy
	responds bool // the caller knows that the rest of the site responds (HTTP-08)
}

// statement returns the clause behind a step.
func (s outageStep) statement(o outageState) string {
	if o.copied && s.clauseForCopy != "" {
		return s.clauseForCopy
	}
	return s.clause
}

// action returns disallowAll, useCopy or allowAll.
func (s outageStep) action(o outageState) action {
	a := s.without
	if o.copied {
		a = s.copied
	}
	if a == allowResponding {
		if o.responds {
			return allowAll
		}
		return disallowAll
	}
	return a
}

// begun reports whether a step after the first has begun: one that allows
// everything by the failures, every other by the clock.
func (s outageStep) begun(o outageState) bool {
	if s.action(o) == allowAll {
		return o.covered >= s.from && o.failures >= outageFailures
	}
	return o.age >= s.from
}

// outageAt returns the step that applies, the last that has begun, and the next
// one, nil if there is none.
func outageAt(steps []outageStep, o outageState) (step outageStep, next *outageStep) {
	step = steps[0]
	for i := range steps[1:] {
		if s := &steps[i+1]; s.begun(o) {
			step, next = *s, nil
		} else if next == nil {
			next = s
		}
	}
	return step, next
}
