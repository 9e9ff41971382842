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
	steps := []outageStep{{}, {from: h, copied: useCopy, without: allowAll}, {from: 3 * h, copied: allowResponding, without: allowResponding}}
	for _, row := range []struct {
		o    outageState
		want action
		next time.Duration
	}{
		// With a copy the clock decides, unless the site responds.
		{outageState{copied: true, age: -1}, disallowAll, h},
		{outageState{copied: true, age: h - 1}, disallowAll, h},
		{outageState{copied: true, age: h}, useCopy, 3 * h},
		{outageState{copied: true, age: 3*h - 1}, useCopy, 3 * h},
		{outageState{copied: true, age: 3 * h}, disallowAll, 0},
		{outageState{copied: true, age: 1 << 62, covered: 1 << 62, failures: 99}, disallowAll, 0},
		{outageState{copied: true, age: 1 << 62, responds: true}, useCopy, 3 * h},
		{outageState{copied: true, age: 1 << 62, responds: true, covered: 3*h - 1, failures: 99}, useCopy, 3 * h},
		{outageState{copied: true, age: 3 * h, responds: true, covered: 3 * h, failures: 5}, allowAll, 0},
		// Without a copy, a step that allows needs failures, and one that disallows needs the
		// clock.
		{outageState{age: 3*h - 1}, disallowAll, h},
		{outageState{age: 3*h - 1, covered: h, failures: 4}, disallowAll, h},
		{outageState{age: 3*h - 1, covered: h - 1, failures: 99}, disallowAll, h},
		{outageState{age: 3*h - 1, covered: h, failures: 5}, allowAll, 3 * h},
		{outageState{age: 3 * h, covered: h, failures: 5}, disallowAll, 0},
		{outageState{age: 3 * h, covered: h, failures: 5, responds: true}, allowAll, 3 * h},
		{outageState{age: 1 << 62, responds: true}, disallowAll, h},
	} {
		step, next := outageAt(steps, row.o)
		if next == nil {
			next = &outageStep{}
		}
		if got := step.action(row.o); got != row.want || next.from != row.next {
			t.Errorf("%+v: %v, next %v; want %v, %v", row.o, got, next.from, row.want, row.next)
		}
	}
	long := outageState{age: 1 << 62, covered: 1 << 62, failures: 1 << 30, responds: true}
	for _, unset := range []robots.Outage{0, 99} {
		if step, next := outageAt(outageSteps(unset), long); step.action(long) != disallowAll || next != nil {
			t.Errorf("outage %d ends: %v, %v", unset, step, next)
		}
	}
}
