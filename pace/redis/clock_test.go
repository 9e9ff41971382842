package redis

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
)

// movedBy returns what clock_shift.lua does: by how much a server's clock might have been set since a
// value was written, for a call that is sent at one time and handled at another.
func movedBy(n *node, written micros, sent time.Time, now micros) micros {
	at := written
	for _, s := range n.steps {
		if s.last >= written {
			at = min(at+s.sum, s.last)
		}
	}
	return min(at-written+max(math.Ceil(now-n.expected(sent)), 0), now-written)
}

// TestObserve checks, in simulated calls of several workers, that what was written before a step
// of the server's clock counts as later by the step, though slow calls hide it; that it counts as
// later by no other steps than those since the last call of the worker before it was written; and
// that a clock that only drifts shows hardly any.
func TestObserve(t *testing.T) {

	t.Parallel()
	for _, test := range []struct {
		name       string
		step, rate time.Duration // how far, and how often
		drift      float64
		until      time.Duration // when steps and drift end, 0 for never
		lost, most time.Duration // of a step, and how much too much all of them count for
	}{
		{name: "Large", step: time.Hour, rate: 10 * time.Second, most: 2 * time.Second},
		{name: "Small", step: 20 * time.Millisecond, rate: 300 * time.Millisecond, most: 20 * time.Second},
		{name: "Hundred", step: 20 * time.Millisecond, rate: 300 * time.Millisecond, until: 30 * time.Second, most: 2 * time.Second},
		{name: "Rare", step: 20 * time.Millisecond, rate: 7 * time.Second, most: 2 * time.Second},
		{name: "Tiny", step: 3 * time.Millisecond, rate: 300 * time.Millisecond, lost: 10 * time.Millisecond, most: 20 * time.Second},
		{name: "Fast", drift: 2e-4, most: 200 * time.Millisecond},
		{name: "Slow", drift: -2e-4, most: 200 * time.Millisecond},
		{name: "Slewed", drift: 5e-4, most: 200 * time.Millisecond},
		{name: "Faster", drift: 8e-2, until: 45 * time.Second, most: 20 * time.Second},
		{name: "Slower", drift: -5e-4, most: 200 * time.Millisecond},
		{name: "Steady", most: 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			slowest := time.Duration(0)
			leg := func() time.Duration { // of a round trip
				d := 30*time.Microsecond + time.Duration(random.IntN(100))*time.Microsecond
				if random.IntN(3) == 0 { // on a busy machine
					d += time.Duration(random.ExpFloat64() * float64(10*time.Millisecond))
				}
				slowest = max(slowest, d)
				return d
			}
			start := time.Unix(1.7e9, 0)
			now, stepAt, steps := start, start.Add(test.rate), micros(0)
			active := func(at time.Time) bool { return test.until == 0 || at.Sub(start) < test.until }
			ahead := func(at time.Time) micros { // what the clock has gained
				if !active(at) {
					at = start.Add(test.until)
				}
				return steps + microsOf(at.Sub(start))*test.drift
			}
			clock := func(at time.Time) micros { return microsOf(at.Sub(time.Unix(0, 0))) + ahead(at) } // of the server
			workers := []*node{{}, {}, {}}
			seen := []micros{math.NaN(), math.NaN(), math.NaN()} // what the clock had gained at the last call of each
			calls := make([]reading, 8)                          // at the same time
			var written, gained micros                           // a value, and what the clock had gained by then
			var unseen []micros                                  // what each worker had not seen of that
			for now.Sub(start) < 10*time.Minute {
				now = now.Add(time.Duration(random.ExpFloat64() * float64(20*time.Millisecond)))
				k := random.IntN(len(workers))
				n := workers[k]
				for i := range calls {
					r := &calls[i]
					r.sent = now
					reached := now.Add(leg())
					r.received = reached.Add(leg())
					if test.rate > 0 && reached.After(stepAt) && active(reached) {
						stepAt = stepAt.Add(test.rate)
						steps += microsOf(test.step)
					}
					r.now = clock(reached)
					if written == 0 || written >= r.now || math.IsNaN(unseen[k]) {
						continue
					}
					by, since := movedBy(n, written, r.sent, r.now), ahead(reached)-gained
					// Each step might show less, by some of the fastest round trip.
					want := since - microsOf(test.lost) - 200*(1+since/max(microsOf(test.step), 1))
					if test.drift == 0 && by < want {
						t.Fatalf("%s: a value of %.0f µs ago counts as %.0f µs later, want %.0f", now.Sub(start), r.now-written, by, want)
					}
					// Steps are known to a part of their age, and noise looks like one.
					age := (r.now - written) / stepPrecision
					rate := max(test.drift, 0)
					if test.rate > 0 {
						rate = float64(test.step) / float64(test.rate)
					}
					most := max(since, 0) + unseen[k] + age*min(rate, 1) + microsOf(test.step) + 4*microsOf(slowest)
					if by > most {
						t.Fatalf("%s: a value of %.0f µs ago counts as %.0f µs later, want at most %.0f", now.Sub(start), r.now-written, by, most)
					}
				}
				slices.SortFunc(calls, func(a, b reading) int { return a.received.Compare(b.received) })
				for _, r := range calls {
					n.observe(r)
					now = r.received
				}
				seen[k] = ahead(calls[0].sent)
				if random.IntN(5) == 0 {
					written, gained, unseen = clock(now), ahead(now), nil
					for _, s := range seen {
						unseen = append(unseen, max(ahead(now)-s, 0))
					}
				}
			}
			for _, n := range workers {
				sum := 0.0
				for _, s := range n.steps {
					sum += s.sum
				}
				if extra := sum - max(ahead(now), 0); extra > microsOf(test.most) {
					t.Errorf("%.0f µs of steps noticed, want %.0f", sum, ahead(now))
				}
				if len(n.steps) > 200 {
					t.Errorf("%d entries of steps", len(n.steps))
				}
			}
		})
	}
}

// TestMoved checks that a server moves a state by the steps since it was written, as movedBy does.
func TestMoved(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	client := server.Client()
	ns, second := newNodes(client, "robots", time.Hour), microsOf(time.Second)
	const origin = "http://a.example"
	show := func() reply { return ns.run(t.Context(), showScript, []call{ns.call(origin, nil)})[0] }
	now := show().now
	n := ns.node(0)
	for _, steps := range [][]clockSteps{
		nil,
		{{now, now, second}},
		{{now - 50*second, now - 40*second, 30 * second}, {now - 2*second, now - 2*second, second}, {now, now, second}},
	} {
		for _, age := range []micros{1, 1.5 * second, 2 * second, 10 * second, 40 * second, 60 * second} {
			n.steps = steps
			written := now - age
			state := appendDoubles([]byte(n.id), written, written, 0, 0, 0)
			state = binary.LittleEndian.AppendUint32(state, 0)
			if err := client.Do(t.Context(), client.B().Set().Key(ns.stateKey(origin)).Value(string(state)).Build()).Error(); err != nil {
				t.Fatal(err)
			}
			// The call itself counts from here, and as much as is unknown of the clock.
			began, unknown := time.Now(), n.pendingRise+microsOf(n.anchor.received.Sub(n.anchor.sent))
			r := show()
			took := microsOf(time.Since(began)) + unknown + 1
			var last micros
			if _, ok := readDoubles(r.text[1:], &last); r.err != nil || !ok {
				t.Fatal(r.err)
			}
			want := movedBy(&node{anchor: n.anchor, steps: steps}, written, r.received, n.earliestNow(r.received))
			if by := last - written; by < want || by > want+took {
				t.Errorf("with the steps %v a value of %.0f µs ago counts as %.0f µs later, want %.0f", steps, age, by, want)
			}
		}
	}
}
