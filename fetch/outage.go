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
	from   time.Duration // since the first failure; if it allows everything, covered by failures (D-54)
	action action
	clause string
}

// outagePlan has the steps in order of age.
type outagePlan struct{ copied, without []outageStep } // with a last good copy, and without one

// RFC 9309's example of a reasonably long period (2.3.1.4) and Google's number are
// both 30 days; the 12 hours are Google's.
const outageLimit = 30 * 24 * time.Hour

// outages has the plan of each robots.Outage. RFC 9309 requires a complete disallow (2.3.1.4),
// but exempts an unreachable robots.txt from the end of a copy's lifetime (2.4): D-21.
var outages = [...]outagePlan{
	robots.OutageDisallow: {
		copied:  []outageStep{{0, disallowAll, "HTTP-04"}},
		without: []outageStep{{0, disallowAll, "HTTP-04"}},
	},
	robots.OutageKeepCopy: {
		copied:  []outageStep{{0, useCopy, "D-21"}},
		without: []outageStep{{0, disallowAll, "D-22"}, {outageLimit, allowAll, "D-22"}},
	},
	robots.OutageGoogle: {
		copied:  []outageStep{{0, disallowAll, "HTTP-08"}, {12 * time.Hour, useCopy, "HTTP-08"}, {outageLimit, allowResponding, "HTTP-08"}},
		without: []outageStep{{0, disallowAll, "HTTP-08"}, {12 * time.Hour, allowAll, "HTTP-08"}, {outageLimit, allowResponding, "HTTP-08"}},
	},
	robots.Outage2019: {
		copied:  []outageStep{{0, disallowAll, "HTTP-04"}, {outageLimit, useCopy, "HTTP-06"}},
		without: []outageStep{{0, disallowAll, "HTTP-04"}, {outageLimit, allowAll, "HTTP-06"}},
	},
}

// planOf returns the plan of a dialect. An unknown Outage never allows.
func planOf(o robots.Outage) outagePlan {
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
	responds bool // the caller knows that the rest of the site responds (HTTP-08)
}

// action returns what a step does: disallowAll, useCopy or allowAll.
func (o outageState) action(s outageStep) action {
	switch {
	case s.action != allowResponding:
		return s.action
	case o.responds:
		return allowAll
	}
	return disallowAll
}

// stepAt returns the step that applies, the last that has begun, and the next one, nil if there is
// none. A step that allows everything begins by the failures, every other by the clock.
func (o outageState) stepAt(steps []outageStep) (step outageStep, next *outageStep) {
	step = steps[0]
	for i := range steps[1:] {
		s := &steps[i+1]
		begun := o.age >= s.from
		if o.action(*s) == allowAll {
			begun = o.covered >= s.from && o.failures >= outageFailures
		}
		if begun {
			step = *s
			next = nil
		} else if next == nil {
			next = s
		}
	}
	return step, next
}
