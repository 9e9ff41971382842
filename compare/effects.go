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
	// Unopposed is set if no rule of higher precedence that can match the same URLs has the opposite verdict.
	Unopposed bool
	// AnyDialect is set if the use is certainly the same in every dialect in which all rules have the same patterns,
	// weights and verdicts.
	AnyDialect bool
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
	byLine := make([]int, 0, len(side.rules)) // indexes of rules
	for i := range side.rules {
		if side.rules[i].line >= 0 {
			byLine = append(byLine, i)
		}
	}
	slices.SortFunc(byLine, func(i, k int) int {
		return cmp.Or(cmp.Compare(side.rules[i].line, side.rules[k].line), cmp.Compare(i, k))
	})
	_, allURLs, _ := answer(r)
	starts := make([]int, 0, r.Len()) // of rules in the file, where one can have two patterns
	for rule := range r.All() {
		starts = append(starts, rule.Span().Start)
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	effects := make([]Effect, len(starts))
	counted := 0
	at := -1
	for rule := range r.All() {
		at++
		line := rule.Span().Start
		place, _ := slices.BinarySearch(starts, line)
		if !effects[place].Rule.IsZero() {
			continue // the other pattern of an Allow of an index page
		}
		from, found := slices.BinarySearchFunc(byLine, line, func(i, line int) int { return cmp.Compare(side.rules[i].line, line) })
		to := from
		for to < len(byLine) && side.rules[byLine[to]].line == line {
			to++
		}
		e := Effect{Rule: rule, Use: NeverMatches, AnyDialect: true}
		switch {
		case at < len(o.Known) && o.Known[at] != Undecided:
			e.Use = o.Known[at]
		case allURLs:
			e = Effect{Rule: rule, Use: NeverDecides}
		case found:
			f.meter.limit = min(16*o.steps(), f.meter.used+o.steps()/16)
			e.Use, e.AnyDialect = f.use(side, byLine[from:to])
			e.Unopposed = e.Use == NeverDecides && !slices.ContainsFunc(byLine[from:to], func(i int) bool { return f.isOpposed(side, i) })
		}
		e.Steps = f.meter.used - counted
		counted = f.meter.used
		effects[place] = e
	}
	return effects
}

// use returns the use of a rule whose patterns are at these places in the list, and whether it is the same in every
// dialect in which all rules have the same patterns, weights and verdicts. It is if the simplest URLs show it, and
// if no search was necessary to prove that the rule is not needed, as patterns without '%' and literal '*' and '$' have the same
// pieces in every dialect.
func (f *finder) use(side *list, ruleIndexes []int) (_ Use, anyDialect bool) {
	shown := NeverMatches
	anyDialect = true
	for _, i := range ruleIndexes {
		shown = min(shown, f.shownUse(side, i))
		anyDialect = anyDialect && !slices.ContainsFunc(side.rules[i].pieces, func(p string) bool { return strings.ContainsAny(p, "%*$") })
	}
	if shown == Needed {
		return Needed, true
	}
	searches := f.searches
	for _, ask := range []struct {
		aim aim
		yes Use
	}{{aimDiffers, Needed}, {aimDecides, NoEffect}, {aimMatches, NeverDecides}} {
		if shown == ask.yes {
			return shown, anyDialect && shown == NoEffect && f.searches == searches
		}
		open := false
		for _, i := range ruleIndexes {
			q := []example{{side: side, otherSide: side, rule: i, aim: ask.aim, without: side.rules[i].line}}
			open = !f.find(q) || open
			if q[0].path != "" {
				return ask.yes, false
			}
		}
		if open {
			return Undecided, false
		}
	}
	return NeverMatches, false
}

// rulesPerStep is the number of rules whose beginnings are only compared in one step.
const rulesPerStep = 16

// isOpposed reports whether a rule before this one can match the same URLs with the opposite verdict.
func (f *finder) isOpposed(side *list, index int) bool {
	c := &side.rules[index]
	f.met = side.meeting(f.met[:0], c.head, &f.meter)
	return slices.ContainsFunc(f.met, func(i int) bool { return i < index && side.rules[i].line >= 0 && side.rules[i].allow != c.allow })
}

// shownUse tries the two simplest URLs that a rule matches, and returns what they show: that it is needed,
// that it decides (NoEffect) or that it matches (NeverDecides), or nothing (NeverMatches). Only URLs are tried
// that are their own normal form in every dialect, and which no dialect exempts.
func (f *finder) shownUse(side *list, index int) Use {
	c := &side.rules[index]
	shown := NeverMatches
	if f.meter.empty() {
		return shown
	}
	for i, star := range []string{"", "x"} {
		if i > 0 && len(c.pieces) == 1 {
			break
		}
		path := c.pieces[0]
		if len(c.pieces) > 1 {
			path = strings.Join(c.pieces, star)
		}
		if c.pieces[0] == "" {
			path = "/" + path
		}
		if strings.ContainsAny(path, "%*$") || path == robotsTxt || !isOf(NormalURLs, path) {
			continue
		}
		first := len(side.rules) // of the other rules that match
		own := first
		f.meter.spend(1)
		side.beginning(path, func(i int) {
			r := &side.rules[i]
			f.meter.spend(1)
			switch {
			case i >= first || !r.matches(path, &f.meter):
			case r.line == c.line:
				own = min(own, i)
			default:
				first = i
			}
		})
		use := NeverMatches
		switch {
		case own < first && c.allow != (first == len(side.rules) || side.rules[first].allow):
			return Needed
		case own < first:
			use = NoEffect
		case c.matches(path, &f.meter):
			use = NeverDecides
		}
		shown = min(shown, use)
	}
	return shown
}
