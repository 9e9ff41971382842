package lint

import (
	"errors"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// prove determines which fixes are safe, and drops findings of rules without effect (RT504) that
// cannot be removed together with the others: of equivalent rules all but one are reported.
func (p *pass) prove() {
	var fixes, more []*Diagnostic
	for _, d := range p.found {
		switch {
		case d.Fix == nil || d.Check.Fix != SafeIfProved || d.Severity == Off || len(d.Dialects) == 0:
		case d.Check.ID == "RT504":
			more = append(more, d)
		default:
			fixes = append(fixes, d)
		}
	}
	slices.Reverse(more) // so that the first one stays
	fixes = p.leaveOne(append(fixes, more...))
	safe, proved := p.together(nil, fixes, p.all)
	for d := range proved {
		d.Fix.Safe = true
	}
	if len(p.views) < len(p.all) {
		left := slices.DeleteFunc(fixes, func(d *Diagnostic) bool { return proved[d] || d.Check.ID != "RT504" })
		_, enough := p.together(safe, left, p.views)
		for d := range enough {
			proved[d] = true
		}
	}
	p.found = slices.DeleteFunc(p.found, func(d *Diagnostic) bool {
		return d.Check.ID == "RT504" && d.Severity != Off && !proved[d]
	})
}

// leaveOne removes fixes that would delete the last rule of a group, which would then be merged
// with the next group, or look truncated.
func (p *pass) leaveOne(found []*Diagnostic) (left []*Diagnostic) {
	rules := make([]map[int]int, len(p.all)) // of each group
	for i, v := range p.all {
		rules[i] = map[int]int{}
		for _, s := range v.lines {
			if isRule(s.field) {
				rules[i][int(s.group)]++
			}
		}
	}
	for _, d := range found {
		l, ok := p.removes[d.Fix]
		last := false
		for i, v := range p.all {
			last = last || ok && v.group(l) >= 0 && rules[i][v.group(l)] == 1
		}
		if last {
			d.Fix = nil
			continue
		}
		left = append(left, d)
		for i, v := range p.all {
			if ok {
				rules[i][v.group(l)]--
			}
		}
	}
	return left
}

// together returns the fixes that change no verdict in some dialects when they are applied
// together, after edits that change none. It applies all of them and compares the verdicts for
// every crawler. If these differ, it tries each half, so that one fix remains of two rules that
// replace each other.
func (p *pass) together(safe []Edit, found []*Diagnostic, views []*view) ([]Edit, map[*Diagnostic]bool) {
	hold := map[*Diagnostic]bool{}
	var try func(found []*Diagnostic)
	try = func(found []*Diagnostic) {
		if len(found) == 0 || !p.spend(8*len(p.lines)) {
			return
		}
		edits := slices.Clip(safe)
		for _, d := range found {
			edits = append(edits, d.Fix.Edits...)
		}
		if p.sameVerdicts(robots.Parse(Apply(p.body, edits)), views) {
			safe = edits
			for _, d := range found {
				hold[d] = true
			}
			return
		}
		if half := len(found) / 2; half > 0 {
			try(found[:half])
			try(found[half:])
		}
	}
	try(found)
	return safe, hold
}

// sameVerdicts reports whether it is proved that another file has the same verdicts for every
// crawler in some dialects.
func (p *pass) sameVerdicts(other *robots.File, views []*view) bool {
	o := newPass(other, Options{})
	same := map[[2]string]bool{} // that are proved
	for i, v := range p.all {
		if !slices.Contains(views, v) {
			continue
		}
		asked := map[[2]*robots.Rules]bool{}
		if !p.both(v, o, o.all[i], func(_ string, a, b *robots.Rules) bool {
			if asked[[2]*robots.Rules{a, b}] {
				return true
			}
			asked[[2]*robots.Rules{a, b}] = true
			if !p.spend(a.Len() + b.Len()) {
				return false
			}
			keys := [2]string{p.key(a), o.key(b)}
			if !same[keys] {
				options := p.budget()
				options.SkipRobotsTxt = false
				r := p.compared(a, b, options)
				p.undecided = p.undecided || r.String() == "undecided"
				same[keys] = r.Same()
			}
			return same[keys]
		}) {
			return false
		}
	}
	return true
}

// both calls do with the rules of every crawler in two files, until it returns false, and reports
// whether it always returned true. It returns false, too, if the steps do not suffice.
func (p *pass) both(v *view, other *pass, w *view, do func(name string, a, b *robots.Rules) bool) bool {
	if !p.spend(4 * (len(p.lines) + len(other.lines))) {
		return false
	}
	for _, name := range union(v.crawlers(), w.crawlers()) {
		other.steps = p.steps
		a, b := p.rules(v, name), other.rules(w, name)
		p.steps = min(p.steps, other.steps)
		if a == nil || b == nil {
			p.undecided = true
			return false
		}
		if !do(name, a, b) {
			return false
		}
	}
	return true
}

// compared compares two sets of rules.
func (p *pass) compared(a, b *robots.Rules, o compare.Options) compare.Result {
	r := compare.Rules(a, b, o)
	p.steps -= 64 + r.NewlyBlocked.Steps + r.NewlyAllowed.Steps
	return r
}

// union returns the entries of two sorted lists after their first entry, "*".
func union(a, b []string) []string {
	all := slices.Concat(a, b[1:])
	slices.Sort(all[1:])
	return slices.Compact(all)
}

// sameForAll returns an error unless two files have the same rules, delays, rates, sitemaps and
// signals for every crawler in all dialects: the same effective lines in the same order and the
// same groups.
func sameForAll(a, b *robots.File) error {
	for _, d := range robots.Dialects() {
		after := effective(b, d)
		for _, l := range effective(a, d) {
			if len(after) == 0 || after[0].Field != l.Field || after[0].Group != l.Group || b.Text(after[0].Value) != a.Text(l.Value) {
				return errors.New("in " + d.Name + " line " + itoa(l.Number) + " would be read differently; the file or the line is near a size limit")
			}
			after = after[1:]
		}
		if len(after) > 0 {
			return errors.New("in " + d.Name + " more lines would count, from line " + itoa(after[0].Number) + " of the result on")
		}
	}
	return nil
}

// effective returns the lines of a file with a field that the dialect reads.
func effective(f *robots.File, d robots.Dialect) (lines []robots.Line) {
	for l := range f.Lines(d) {
		if l.Field > robots.FieldUnknown {
			lines = append(lines, l)
		}
	}
	return lines
}

// findChanges sets Change of each fix that is not safe. It uses only steps that remain after all
// other proofs.
func (p *pass) findChanges() {
	defer func(was bool) { p.undecided = was }(p.undecided)
	for _, d := range p.found {
		if d.Fix == nil || d.Fix.Safe || d.Severity == Off || len(d.Dialects) == 0 || !p.spend(8*len(p.lines)) {
			continue
		}
		d.Fix.Change = p.change(d)
	}
}

// change returns what a fix changes for the first crawler that it affects: in a dialect in which
// the finding matters, or otherwise in another one, which it names.
func (p *pass) change(d *Diagnostic) string {
	other := &pass{file: robots.Parse(Apply(p.body, d.Fix.Edits))}
	other.lines = slices.Collect(other.file.Lines(robots.Dialect{}))
	for _, v := range p.all {
		if slices.Contains(d.Dialects, v.dialect.Name) {
			if c := p.changeIn(v, other); c != "" {
				return c
			}
		}
	}
	for _, v := range p.all {
		if !slices.Contains(d.Dialects, v.dialect.Name) {
			if c := p.changeIn(v, other); c != "" {
				return c + " in " + v.dialect.Name
			}
		}
	}
	return ""
}

func (p *pass) changeIn(v *view, other *pass) (change string) {
	p.both(v, other, newView(other.file, v.dialect, len(other.lines)), func(name string, a, b *robots.Rules) bool {
		switch r := p.compared(a, b, p.budget()); {
		case len(r.NewlyBlocked.Changes) > 0:
			change = "blocks " + r.NewlyBlocked.Changes[0].Path
		case len(r.NewlyAllowed.Changes) > 0:
			change = "allows " + r.NewlyAllowed.Changes[0].Path
		}
		if change != "" && name != "*" {
			change += " for " + robots.Printable(name)
		}
		return change == ""
	})
	return change
}
