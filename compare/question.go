package compare

import "slices"

// A question asks for a shortest URL that one rule decides on its side and on
// which the other side says the opposite. Where both sides differ, the deciding
// rule of one of them at least is not common: were both common, each would stand
// in both lists, and they would be one rule. So two lists answer alike if this
// question has no answer for any rule that is not common.
type question struct {
	own, other *list
	rule       int    // its place in own
	aim        aim    // what is asked
	without    int    // rules of this line count for nothing in other, -1 for none
	heavier    []int  // of own, before the rule, that may match where it does
	against    []int  // of other, with the rule's own answer
	partners   []pair // still to be searched
	path       string // the best so far, "" for none
	cut        bool   // the steps ended before all pairs were known
}

type aim uint8

const (
	aimDiffers aim = iota // the other side says the opposite
	aimDecides            // whatever the other side says
	aimMatches            // whatever any rule says
)

// A pair is the rule and what decides on the other side.
type pair struct {
	partner int // its place in other; noRule for the default, or where other does not count
	least   int // no URL of the pair is shorter
}

const noRule = -1

// finder answers questions about the same lists.
type finder struct {
	m meter
	s search
}

// prepare finds what may have to do with the rule.
func (f *finder) prepare(q *question) {
	c := &q.own.rules[q.rule]
	if q.aim != aimMatches {
		for i := range q.rule {
			r := &q.own.rules[i]
			if !c.meets(r, &f.m) {
				continue
			}
			if r.covers(c, q.own.rfc, q.own.rfc, &f.m) {
				return // it never decides
			}
			q.heavier = append(q.heavier, i)
			if q.cut = f.m.empty(); q.cut {
				return
			}
		}
	}
	if q.aim != aimDiffers {
		q.partners = append(q.partners, pair{noRule, c.least})
		return
	}
	covered := false
	for i := range q.other.rules {
		r := &q.other.rules[i]
		if r.line == q.without && r.line >= 0 || !c.meets(r, &f.m) {
			continue
		}
		if r.allow == c.allow {
			if covered = r.covers(c, q.other.rfc, q.own.rfc, &f.m); covered {
				break // what comes later decides nowhere where c matches
			}
			if r.twin == noRule || r.twin >= q.rule { // else it is among the heavier
				q.against = append(q.against, i)
			}
		} else if r.twin == noRule || r.twin > q.rule { // else it decides before c
			q.partners = append(q.partners, pair{i, max(c.least, r.least)})
		}
		if q.cut = f.m.empty(); q.cut {
			return
		}
	}
	if !covered && !c.allow {
		q.partners = append(q.partners, pair{noRule, c.least})
	}
	slices.SortStableFunc(q.partners, func(a, b pair) int { return a.least - b.least })
}

// run searches the pairs that are left, each for so many steps, and leaves those
// for which these are not enough.
func (f *finder) run(q *question, steps int) {
	left := q.partners[:0]
	for i, p := range q.partners {
		if q.path != "" && p.least >= len(q.path) {
			break // so are all others
		}
		if f.m.empty() {
			left = append(left, q.partners[i:]...)
			break
		}
		path, o := f.pair(q, p, min(f.m.limit, f.m.used+steps))
		switch o {
		case exhausted:
			left = append(left, p)
		case found:
			q.path = path
		}
	}
	q.partners = left
}

// open reports whether a shorter URL, or one at all, may have been missed.
func (q *question) open() bool {
	return q.cut || slices.ContainsFunc(q.partners, func(p pair) bool { return q.path == "" || p.least < len(q.path) })
}

// pair searches one pair.
func (f *finder) pair(q *question, p pair, limit int) (string, outcome) {
	s := &f.s
	s.m, s.cross, s.autos = &f.m, q.own.rfc != q.other.rfc, s.autos[:0]
	c := &q.own.rules[q.rule]
	prefix := c.head
	var partner *rule
	if p.partner != noRule {
		partner = &q.other.rules[p.partner]
		if len(partner.head) > len(prefix) {
			prefix = partner.head
		}
	}
	prefix, at, ok := s.begin(prefix)
	if !ok {
		return "", none
	}
	add := func(r *rule, rfc bool) int32 {
		g := r.automaton(&f.m)
		n := min(len(r.head), len(prefix))
		f.m.spend(1 + len(prefix) - n)
		state := g.run(int32(n), prefix[n:])
		s.autos = append(s.autos, auto{g, rfc, state})
		return state
	}
	bound := 1<<31 - 1
	if q.path != "" {
		bound = len(q.path)
	}
	if add(c, q.own.rfc) == dead || partner != nil && add(partner, q.other.rfc) == dead {
		return "", none
	}
	s.needs = len(s.autos)
	ban := func(r *rule, rfc bool) bool {
		n := min(len(r.head), len(prefix))
		f.m.spend(1 + n/bytesPerStep)
		if r.head[:n] != prefix[:n] {
			return true
		}
		state := add(r, rfc)
		if state == dead {
			s.autos = s.autos[:len(s.autos)-1]
			return true
		}
		return !r.glob.holds(state)
	}
	for _, i := range q.heavier {
		if !ban(&q.own.rules[i], q.own.rfc) {
			return "", none
		}
	}
	if q.aim == aimDiffers {
		for _, i := range q.against {
			if partner != nil && i > p.partner {
				break
			}
			if !ban(&q.other.rules[i], q.other.rfc) {
				return "", none
			}
		}
	}
	return s.run(prefix, at, bound, limit)
}

// begin returns how much of a text that a URL must begin with is whole units, and
// where its dots stand then; false if no URL begins so.
func (s *search) begin(text string) (prefix string, at dots, ok bool) {
	if text == "" {
		text = "/"
	}
	i := 0
	for i < len(text) {
		n := 1
		if text[i] == '%' {
			if i+3 > len(text) {
				break
			}
			n = 3
		}
		if n == 1 && !rawLetters.has(text[i]) || n == 3 && !escapes(text[i+1], text[i+2]) {
			return "", 0, false
		}
		if at, ok = at.step(text[i]); !ok {
			return "", 0, false
		}
		i += n
	}
	return text[:i], at, true
}
