package lint

import (
	"errors"
	"iter"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// prove finds out which fixes are safe: it makes all at once and asks whether every crawler
// still gets the same verdicts in all dialects. If not, it halves them, so that of two
// rules that stand in for each other one fix stays. What is left is safe together.
func (p *pass) prove() {
	var fixes []*Fix
	for _, d := range p.found {
		if d.Fix != nil && !d.Check.Change && len(d.Dialects) > 0 {
			fixes = append(fixes, d.Fix)
		}
	}
	var safe []Edit
	var try func(fixes []*Fix)
	try = func(fixes []*Fix) {
		if len(fixes) == 0 {
			return
		}
		edits := safe
		for _, f := range fixes {
			edits = append(edits, f.Edits...)
		}
		if p.sameVerdicts(robots.Parse(Apply(p.body, edits))) {
			safe = slices.Clip(edits)
			for _, f := range fixes {
				f.Safe = true
			}
			return
		}
		if half := len(fixes) / 2; half > 0 {
			try(fixes[:half])
			try(fixes[half:])
		}
	}
	try(fixes)
}

// sameVerdicts reports whether it is proved that every crawler gets the same verdicts from
// another file, in all dialects.
func (p *pass) sameVerdicts(other *robots.File) bool {
	lines := 0
	for range other.Lines() {
		lines++
	}
	for _, v := range p.all {
		w := newView(other, v.dialect, lines)
		if !p.spend(lines) {
			return false
		}
		for _, name := range union(v.crawlers(), w.crawlers()) {
			a, b := p.rules(v, name), p.rulesOf(other, w, lines, name)
			if a == nil || b == nil {
				return false
			}
			if sameRules(a, b) {
				continue
			}
			o := p.budget()
			o.SkipRobotsTxt = false
			blocked := compare.Blocked(a, b, o)
			if !p.spend(blocked.Steps) || !blocked.None() {
				return false
			}
			open := compare.Blocked(b, a, o)
			if !p.spend(open.Steps) || !open.None() {
				return false
			}
		}
	}
	return true
}

// rulesOf is rules for another file.
func (p *pass) rulesOf(f *robots.File, v *view, lines int, name string) *robots.Rules {
	other := pass{file: f, lines: make([]robots.Line, lines), steps: p.steps}
	r := other.rules(v, name)
	p.steps = other.steps
	return r
}

// sameRules reports whether two sets hold the same rules in the same order.
func sameRules(a, b *robots.Rules) bool {
	if a.Len() != b.Len() {
		return false
	}
	var of []string
	for r := range a.All() {
		of = append(of, r.String())
	}
	i := 0
	for r := range b.All() {
		if r.String() != of[i] {
			return false
		}
		i++
	}
	return true
}

// union returns what either of two sorted lists holds after their first entry, "*".
func union(a, b []string) []string {
	all := slices.Concat(a, b[1:])
	slices.Sort(all[1:])
	return slices.Compact(all)
}

// sameForAll returns an error unless every crawler reads the same rules, delays, rates,
// sitemaps and signals out of two files, in all dialects: the lines that count are the same
// ones in the same order, and stand in the same groups.
func sameForAll(a, b *robots.File) error {
	for _, d := range robots.Dialects() {
		next, stop := iter.Pull(b.Readings(d))
		for r := range a.Readings(d) {
			s, ok := next()
			if !ok || s.Field != r.Field || s.Group != r.Group || b.Text(s.Value) != a.Text(r.Value) {
				stop()
				return errors.New("in " + d.Name + " line " + itoa(r.Line) + " would be read in another way; the file or a line of it is about as long as engines read")
			}
		}
		s, more := next()
		stop()
		if more {
			return errors.New("in " + d.Name + " more lines would count than now, from line " + itoa(s.Line) + " of the result on")
		}
	}
	return nil
}
