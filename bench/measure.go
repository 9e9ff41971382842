package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"
)

// An engine is one competitor in a row: a pass over all of the row's input.
// The round lets a pass vary its input; all engines get the same. What a pass
// returns (a count of verdicts) keeps the compiler from dropping the work.
type engine struct {
	name string
	pass func(round int) int
	// timed is a pass of an engine that is no part of this thread, and the time
	// that it says it took; pass is nil then.
	timed func(round int) time.Duration
}

// run makes passes and returns their time.
func (e engine) run(round, passes int) (d time.Duration) {
	if e.timed != nil {
		for range passes {
			d += e.timed(round)
		}
		return d
	}
	start := now()
	for range passes {
		sink += e.pass(round)
	}
	return now() - start
}

// work is what a row measures. The first engine is ours.
type work struct {
	engines   []engine
	ops       int  // per pass
	byteCount int  // of files read per pass, 0 if none is
	slow      bool // passes may take seconds: the first of such an engine has to do
}

// result holds nanoseconds per operation.
type result struct {
	name      string
	about     string
	unit      string
	goal      goal
	ops       int
	byteCount int
	ns        map[string][]float64 // by engine, in the order of the rounds
}

type options struct {
	rounds int
	target time.Duration // of one measurement
}

// sink takes results, so that no measured call is left out by the compiler.
var sink int //nolint:unused // written, never read

// measure runs all engines in every round, forwards in even and backwards in odd
// rounds, so that a noisy neighbour meets all of them alike.
func measure(w *work, o options) map[string][]float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	passes := make([]int, len(w.engines))
	rounds := make([]int, len(w.engines))
	ns := map[string][]float64{}
	for i, e := range w.engines {
		var once time.Duration
		passes[i], once = calibrate(e, o.target)
		rounds[i] = o.rounds
		if w.slow && once > o.target {
			rounds[i] = 0
			ns[e.name] = []float64{float64(once.Nanoseconds()) / float64(w.ops)}
		} else {
			passes[i], _ = calibrate(e, o.target) // what is built at first use is built now
		}
	}
	for round := range o.rounds {
		for k := range w.engines {
			if round%2 == 1 {
				k = len(w.engines) - 1 - k
			}
			if round >= rounds[k] {
				continue
			}
			e := w.engines[k]
			runtime.GC()
			d := e.run(round, passes[k])
			ns[e.name] = append(ns[e.name], float64(d.Nanoseconds())/float64(passes[k]*w.ops))
		}
	}
	return ns
}

// calibrate returns how many passes fill the target and what one takes.
func calibrate(e engine, target time.Duration) (passes int, once time.Duration) {
	for n := 1; ; n *= 4 {
		d := e.run(0, n)
		if d >= target/8 || n > 1<<30 {
			return max(1, int(float64(n)*float64(target)/float64(d)+0.5)), d / time.Duration(n)
		}
	}
}

// median returns the middle and the ends; the values are sorted.
func median(v []float64) (mid, low, high float64) {
	if len(v) == 0 {
		return 0, 0, 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	mid = v[len(v)/2]
	if len(v)%2 == 0 {
		mid = (v[len(v)/2-1] + mid) / 2
	}
	return mid, v[0], v[len(v)-1]
}

// ratios returns how many times ours is faster than the other in each round
// that both were in.
func (r *result) ratios(other string) []float64 {
	ours, theirs := r.ns[ours], r.ns[other]
	var q []float64
	for i := range min(len(ours), len(theirs)) {
		q = append(q, theirs[i]/ours[i])
	}
	return q
}

// allocs returns the allocations per operation of one pass: the least of three,
// because the runtime allocates too.
func allocs(w *work, e engine) float64 {
	if e.name == ours {
		for range 64 {
			sink += e.pass(0) // whatever is built at first use is built now
		}
	}
	runtime.GC()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sink += e.pass(0)
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	return float64(least) / float64(w.ops)
}

// retained returns the bytes of heap that make leaves reachable.
func retained(build func() any) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
