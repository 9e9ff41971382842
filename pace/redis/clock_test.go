package redis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestObserve checks, in simulated calls of several workers, that what was written before a step
// of the server's clock counts as later by the step, though slow calls hide it, and that a clock
// that only drifts shows hardly any steps.
func TestObserve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		step, rate time.Duration // how far, and how often
		lost, most time.Duration // of a step, and how much too much all of them count for
		drift      float64
	}{
		{name: "Large", step: time.Hour, rate: 10 * time.Second, most: 2 * time.Second},
		{name: "Small", step: 20 * time.Millisecond, rate: 300 * time.Millisecond, most: 20 * time.Second},
		{name: "Rare", step: 20 * time.Millisecond, rate: 7 * time.Second, most: 2 * time.Second},
		{name: "Tiny", step: 3 * time.Millisecond, rate: 300 * time.Millisecond, lost: 10 * time.Millisecond, most: 20 * time.Second},
		{name: "Fast", drift: 2e-4, most: 200 * time.Millisecond},
		{name: "Slow", drift: -2e-4, most: 200 * time.Millisecond},
		{name: "Slewed", drift: 5e-4, most: 200 * time.Millisecond},
		{name: "Slower", drift: -5e-4, most: 200 * time.Millisecond},
		{name: "Steady", most: 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			leg := func() time.Duration { // of a round trip
				d := 30*time.Microsecond + time.Duration(random.IntN(100))*time.Microsecond
				if random.IntN(3) == 0 { // on a busy machine
					d += time.Duration(random.ExpFloat64() * float64(10*time.Millisecond))
				}
				return d
			}
			start := time.Unix(1.7e9, 0)
			now, stepAt, steps := start, start.Add(test.rate), micros(0)
			clock := func(at time.Time) micros { // of the server
				return microsOf(at.Sub(time.Unix(0, 0))) + microsOf(at.Sub(start))*test.drift
			}
			workers := []*node{{}, {}, {}}
			calls := make([]reading, 8) // at the same time
			var written, ahead micros   // a value, and the sum of the steps before it
			for now.Sub(start) < 10*time.Minute {
				now = now.Add(time.Duration(random.ExpFloat64() * float64(20*time.Millisecond)))
				n := workers[random.IntN(len(workers))]
				for i := range calls {
					r := &calls[i]
					r.sent = now
					reached := now.Add(leg())
					r.received = reached.Add(leg())
					if test.rate > 0 && reached.After(stepAt) {
						stepAt, steps = stepAt.Add(test.rate), steps+microsOf(test.step)
					}
					r.now = clock(reached) + steps
					if n.anchor.now > 0 && written > 0 && written < r.now { // as state.lua does
						by := 0.0
						if written <= n.noticed {
							by = min(n.step, n.noticed-written)
						}
						by = min(by+max(math.Ceil(r.now-n.least(now)-microsOf(n.trip)), 0), r.now-written)
						if want := steps - ahead - microsOf(test.lost+n.trip); by < want {
							t.Fatalf("%s: a value of %.0f µs ago counts as %.0f µs later, want %.0f", now.Sub(start), r.now-written, by, want)
						}
					}
				}
				slices.SortFunc(calls, func(a, b reading) int { return a.received.Compare(b.received) })
				for _, r := range calls {
					n.observe(r)
					now = r.received
				}
				if random.IntN(5) == 0 {
					written, ahead = clock(now)+steps, steps
				}
			}
			for _, n := range workers {
				if extra := n.step - steps; extra > microsOf(test.most) {
					t.Errorf("%.0f µs of steps noticed, want %.0f", n.step, steps)
				}
			}
		})
	}
}
