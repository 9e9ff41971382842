// Bench measures the engine against github.com/temoto/robotstxt and against a
// plain reference matcher, interleaved in one process on the same inputs.
//
//	go run . -corpus DIR            every row, on the files of DIR in place of generated ones
//	go run . -run oneshot -rounds 5 some rows
//	go run . -quick                 half a minute
//	go run . -o results             keep the table and the plot
package main

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	var (
		corpus = flag.String("corpus", "", "`folder` of robots.txt files to measure on, in place of generated ones")
		run    = flag.String("run", "", "only rows that match this `regexp`")
		rounds = flag.Int("rounds", 7, "interleaved rounds")
		seed   = flag.Uint64("seed", 9309, "seed of everything generated")
		quick  = flag.Bool("quick", false, "fewer files, shorter rounds, no slow library on hostile files")
		out    = flag.String("o", "", "`folder` for the table and the plot")
		list   = flag.Bool("list", false, "list the rows and stop")
		passes = flag.Int("passes", 0, "only pass `n` times over the work and print its bytes and operations (see callgrind.sh)")
		kind   = flag.String("work", "oneshot", "work of -passes: oneshot, oneshot-url, askable, url, match-kept, crawlers-1, crawlers-100, crawlers-dialects, memory/build-literal, memory/build-mixed or a row, as match-literal/10000")
		most   = flag.Int("most", math.MaxInt, "only files of at most so many `bytes` for -passes")
		looped = flag.String("loop", "", "only answer URLs on standard input by this `file`, in a loop with temoto (row program/list), or a batch for - (program/batch)")
		name   = flag.String("engine", ours, "engine of -passes: robots, reference or temoto")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "bench takes no arguments, only flags; see bench -h")
		os.Exit(2)
	}
	if *looped != "" {
		if err := loop(*looped); err != nil {
			fmt.Fprintln(os.Stderr, "bench: -loop:", err)
			os.Exit(1)
		}
		return
	}
	selected, err := regexp.Compile(*run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: -run:", err)
		os.Exit(2)
	}
	o := options{rounds: *rounds, target: 120 * time.Millisecond}
	files, step := 4000, 1
	if *quick {
		o = options{rounds: min(*rounds, 3), target: 15 * time.Millisecond}
		files, step = 400, 16
	}

	var s *set
	if *corpus == "" {
		s = newSet("generated", generateFiles(files, *seed), *seed)
	} else if bodies, err := readCorpus(*corpus, step); err == nil {
		s = newSet("corpus", bodies, *seed)
	} else {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *passes > 0 {
		w := workOf(*kind, s, *seed, *most)
		if w == nil {
			fmt.Fprintf(os.Stderr, "bench: -work %q is none of %s, nor memory/build-literal or -mixed, nor a row (-list)\n", *kind, strings.Join(slices.Sorted(maps.Keys(works)), ", "))
			os.Exit(2)
		}
		for _, e := range w.engines {
			for i := range *passes {
				if e.name == *name {
					sink += e.pass(i)
				}
			}
		}
		fmt.Println(w.byteCount, w.ops)
		return
	}
	progress("%s", s)

	temp, err := os.MkdirTemp("", "robots-bench")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	defer os.RemoveAll(temp)
	var results []*result
	var again []func() // measures what is about a time once more
	for _, r := range rows(s, *seed, *quick, temp) {
		if !selected.MatchString(r.name) {
			continue
		}
		if *list {
			fmt.Printf("%s\t%s\n", r.name, r.about)
			continue
		}
		w := r.make()
		res := &result{name: r.name, about: r.about, unit: r.unit, goal: r.goal, ops: w.ops, byteCount: w.byteCount}
		res.ns = measure(w, o)
		progress("%s", res.line())
		results = append(results, res)
		if r.goal.kind == nanos || r.goal.kind == millis {
			again = append(again, func() {
				w := r.make()
				w.engines = w.engines[:1]
				res.ns[ours] = append(res.ns[ours], measure(w, o)[ours]...)
				progress("%s", res.line())
			})
		}
	}
	if *list {
		return
	}
	facts := slices.Concat(measureFacts(s, *seed, selected), measureFlatness(s, o, *seed, selected), measureWarm(o, *seed, selected))
	// Others may use the machine for seconds on end, which no ratio takes out of a time.
	for _, measure := range again {
		measure()
	}
	rep := &report{results: results, facts: facts, set: s, seed: *seed, rounds: o.rounds}
	rep.write(os.Stdout)
	if *out != "" {
		if err := rep.save(*out); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.RemoveAll(temp)
			os.Exit(1)
		}
	}
}

// works are what -work can be besides the names of rows: those that -most can be asked of.
var works = map[string]func(*set) *work{"oneshot": oneShot, "oneshot-url": oneShotURL, "askable": askable, "url": cutURLs,
	"match-kept": matchKept, "crawlers-1": alone, "crawlers-100": crowdAlike, "crawlers-dialects": crowdDialects}

// workOf returns the work of a name, of files of at most so many bytes, nil if there is none.
func workOf(kind string, s *set, seed uint64, most int) *work {
	if of := works[kind]; of != nil {
		return of(s.only(0, most))
	}
	for _, r := range rows(s, seed, true, "") {
		if r.name == kind {
			return r.make()
		}
	}
	for _, k := range builds(s, seed) {
		if kind == "memory/build-"+k.name {
			return warmRules(k.problem())
		}
	}
	return nil
}
