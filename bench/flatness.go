package main

import (
	"regexp"
	"slices"
)

// short are rounds that are many and short, so that what is compared is measured in the same
// rounds, one beside the other: neighbours on the machine, who take part of the caches, meet
// both alike.
func (o options) short() options { return options{rounds: 5 * o.rounds, target: o.target / 5} }

// ofRounds is the median of what each round gives, and the half in the middle.
func ofRounds(name, unit string, rounds int, g goal, of func(i int) float64) fact {
	values := make([]float64, rounds)
	for i := range values {
		values[i] = of(i)
	}
	slices.Sort(values)
	mid, _, _ := median(values)
	return fact{name, unit + "; half of the rounds " + number(values[rounds/4]) + "–" + number(values[rounds*3/4]), map[string]float64{ours: mid}, g}
}

// measureFlatness measures how much longer many rules, or many crawlers, take than few.
func measureFlatness(s *set, o options, seed uint64, selected *regexp.Regexp) []fact {
	o = o.short()
	var facts []fact
	for _, k := range []struct {
		name, what string
		few, many  func() *work
		floor, aim float64
	}{
		{"flatness-literal", "time of match-literal/10000 ÷ match-literal/10",
			func() *work { return match(literalProblem(seed, 10), false) }, func() *work { return match(literalProblem(seed, 10_000), false) }, 3, 2},
		{"flatness-mixed", "time of match-mixed/100 ÷ match-mixed/10",
			func() *work { return match(mixedProblem(s, seed, 10), false) }, func() *work { return match(mixedProblem(s, seed, 100), false) }, 4, 3},
		{"crowd-alike", "time of crawlers-100 ÷ crawlers-1", func() *work { return alone(s) }, func() *work { return crowdAlike(s) }, 3, 2},
		{"crowd-dialects", "time of crawlers-dialects ÷ crawlers-1", func() *work { return alone(s) }, func() *work { return crowdDialects(s) }, 3, 2},
	} {
		if !selected.MatchString(k.name) {
			continue
		}
		few, many := k.few(), k.many()
		a, b := few.engines[0], many.engines[0]
		a.name, b.name = "few", "many"
		ns := measure(&work{ops: few.ops, engines: []engine{a, b}}, o) // both have as many operations
		f := ofRounds(k.name, k.what, o.rounds, goal{atMost, k.floor, k.aim}, func(i int) float64 { return ns[b.name][i] / ns[a.name][i] })
		progress("%s", f.line())
		facts = append(facts, f)
	}
	return facts
}
