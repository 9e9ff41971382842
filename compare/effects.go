package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// An Effect is what a rule is needed for.
type Effect struct {
	Rule robots.Rule
	Use  Use
	// Steps is the number of steps used; the first includes the preparation for all.
	Steps int
}

// Use is the kind of an Effect.
type Use uint8

const (
	Undecided    Use = iota // the steps did not suffice
	Needed                  // without it some verdict would change
	NoEffect                // it decides, but without it no verdict would change
	NeverDecides            // wherever it matches, a rule of higher precedence matches
	NeverMatches            // no URL matches
)

// String returns undecided, needed, no-effect, never-decides or never-matches.
func (u Use) String() string {
	names := [...]string{"undecided", "needed", "no-effect", "never-decides", "never-matches"}
	if int(u) >= len(names) {
		u = Undecided
	}
	return names[u]
}

// Effects returns the effect of each rule, in file order. Each is examined separately: of
// two equivalent rules neither has an effect, but only one of them can be removed. A rule
// can take a sixteenth of Options.Steps, and all together sixteen times Options.Steps.
func Effects(r *robots.Rules, o Options) []Effect {
	c := newComparison(r, r, o)
	f := &c.finder
	side := &c.lists[0]
	otherSide := &c.lists[1]
	ruleIndexes := map[int][]int{}
	for i := range side.rules {
		line := side.rules[i].line
		ruleIndexes[line] = append(ruleIndexes[line], i)
	}
	_, allURLs, _ := answer(r)
	effects := make([]Effect, 0, r.Len())
	seen := map[int]bool{}
	counted := 0
	for rule := range r.All() {
		line := rule.Span().Start
		if seen[line] {
			continue // the other pattern of an Allow of an index page
		}
		seen[line] = true
		e := Effect{Rule: rule, Use: NeverMatches}
		switch {
		case allURLs:
			e.Use = NeverDecides
		case len(ruleIndexes[line]) > 0:
			f.meter.limit = min(16*o.steps(), f.meter.used+o.steps()/16)
			e.Use = f.use(side, otherSide, ruleIndexes[line])
		}
		e.Steps = f.meter.used - counted
		counted = f.meter.used
		effects = append(effects, e)
	}
	slices.SortFunc(effects, func(a, b Effect) int { return cmp.Compare(a.Rule.Span().Start, b.Rule.Span().Start) })
	return effects
}

// use returns the use of a rule whose patterns are at these places in the list.
func (f *finder) use(side, otherSide *list, ruleIndexes []int) Use {
	for _, i := range ruleIndexes {
		if f.isNeeded(side, i) {
			return Needed
		}
	}
	for _, ask := range []struct {
		aim aim
		yes Use
	}{{aimDiffers, Needed}, {aimDecides, NoEffect}, {aimMatches, NeverDecides}} {
		open := false
		for _, i := range ruleIndexes {
			q := []example{{side: side, otherSide: otherSide, rule: i, aim: ask.aim, without: side.rules[i].line}}
			open = !f.find(q) || open
			if q[0].path != "" {
				return ask.yes
			}
		}
		if open {
			return Undecided
		}
	}
	return NeverMatches
}

// rulesPerStep is the number of rules whose beginnings are only compared in one step.
const rulesPerStep = 16

// isNeeded tries the two simplest URLs that a rule matches, and reports whether the verdict of one
// changes without the rule. Only URLs are tried that are their own normal form in every dialect.
func (f *finder) isNeeded(side *list, index int) bool {
	c := &side.rules[index]
	if f.meter.empty() {
		return false
	}
	for i, star := range []string{"", "x"} {
		if i > 0 && len(c.pieces) == 1 {
			break
		}
		path := strings.Join(c.pieces, star)
		if c.pieces[0] == "" {
			path = "/" + path
		}
		if strings.Contains(path, "%") || !isOf(NormalURLs, path) {
			continue
		}
		decides := false
		allowed := true // without the rule
		f.meter.spend(1 + len(side.rules)/rulesPerStep)
		for i := range side.rules {
			r := &side.rules[i]
			if !strings.HasPrefix(path, r.pieces[0]) || !r.matches(path, &f.meter) {
				continue
			}
			if r.line == c.line {
				decides = true
				continue
			}
			allowed = r.allow
			break
		}
		if decides && allowed != c.allow {
			return true
		}
	}
	return false
}
