package fetch

import (
	"testing"
	"time"

	"github.com/robotskit/robots"
)

// TestOutageAt: the steps of an outage begin at their ages; those that allow everything also
// need failures that cover them.
func TestOutageAt(t *testing.T) {
	const h = time.Hour
	plan := outagePlan{
		copied:  []outageStep{{}, {from: h, action: useCopy}, {from: 3 * h, action: allowResponding}},
		without: []outageStep{{}, {from: h, action: allowAll}, {from: 3 * h, action: allowResponding}},
	}
	for _, row := range []struct {
		copied bool
		o      outageState
		want   action
		next   time.Duration
	}{
		// With a copy the clock decides, unless the site responds.
		{true, outageState{age: -1}, disallowAll, h},
		{true, outageState{age: h - 1}, disallowAll, h},
		{true, outageState{age: h}, useCopy, 3 * h},
		{true, outageState{age: 3*h - 1}, useCopy, 3 * h},
		{true, outageState{age: 3 * h}, disallowAll, 0},
		{true, outageState{age: 1 << 62, covered: 1 << 62, failures: 99}, disallowAll, 0},
		{true, outageState{age: 1 << 62, responds: true}, useCopy, 3 * h},
		{true, outageState{age: 1 << 62, responds: true, covered: 3*h - 1, failures: 99}, useCopy, 3 * h},
		{true, outageState{age: 3 * h, responds: true, covered: 3 * h, failures: 5}, allowAll, 0},
		// Without a copy, a step that allows needs failures, and one that disallows needs the
		// clock.
		{false, outageState{age: 3*h - 1}, disallowAll, h},
		{false, outageState{age: 3*h - 1, covered: h, failures: 4}, disallowAll, h},
		{false, outageState{age: 3*h - 1, covered: h - 1, failures: 99}, disallowAll, h},
		{false, outageState{age: 3*h - 1, covered: h, failures: 5}, allowAll, 3 * h},
		{false, outageState{age: 3 * h, covered: h, failures: 5}, disallowAll, 0},
		{false, outageState{age: 3 * h, covered: h, failures: 5, responds: true}, allowAll, 3 * h},
		{false, outageState{age: 1 << 62, responds: true}, disallowAll, h},
	} {
		steps := plan.without
		if row.copied {
			steps = plan.copied
		}
		step, next := row.o.at(steps)
		if next == nil {
			next = &outageStep{}
		}
		if got := row.o.does(step); got != row.want || next.from != row.next {
			t.Errorf("%+v: %v, next %v; want %v, %v", row.o, got, next.from, row.want, row.next)
		}
	}
	long := outageState{age: 1 << 62, covered: 1 << 62, failures: 1 << 30, responds: true}
	for _, unset := range []robots.Outage{0, 99} {
		for _, steps := range [][]outageStep{planOf(unset).copied, planOf(unset).without} {
			if step, next := long.at(steps); long.does(step) != disallowAll || next != nil {
				t.Errorf("outage %d ends: %v, %v", unset, step, next)
			}
		}
	}
}
