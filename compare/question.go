package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/robotskit/robots"
)

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
	longest    int    // with no path: no longer one is asked for, 0 for any
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
	m    meter
	abc  *alphabet
	s    search
	bans []ban // scratch
}

// ask finds what may have to do with the rule.
func (f *finder) ask(q *question) {
	c := &q.own.rules[q.rule]
	if q.aim != aimMatches {
		for i := range q.rule {
			r := &q.own.rules[i]
			if !c.meets(r, &f.m) {
				continue
			}
			if r.covers(c, false, &f.m) {
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
	covered, cross := false, q.own.form != q.other.form
	for i := range q.other.rules {
		r := &q.other.rules[i]
		if r.line == q.without && r.line >= 0 || !c.meets(r, &f.m) {
			continue
		}
		if r.allow == c.allow {
			if covered = r.covers(c, cross, &f.m); covered {
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
	if exact := len(c.pieces) == 1 && c.end; f.abc.dots && len(q.partners) > 0 && (!exact || q.own.form == robots.EscapesGoogle) {
		q.cut = true // URLs with dot segments are not searched
	}
	slices.SortStableFunc(q.partners, func(a, b pair) int { return a.least - b.least })
}

// run searches the pairs that are left, each for so many steps, and leaves those
// for which these are not enough.
func (f *finder) run(q *question, steps int) {
	left := q.partners[:0]
	for i, p := range q.partners {
		if p.least >= q.bound() {
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

// bound is the length from which on a URL is of no use.
func (q *question) bound() int {
	switch {
	case q.path != "":
		return len(q.path)
	case q.longest > 0:
		return q.longest + 1
	}
	return math.MaxInt32
}

// open reports whether a shorter URL, or one at all, may have been missed.
func (q *question) open() bool {
	return q.cut || slices.ContainsFunc(q.partners, func(p pair) bool { return p.least < q.bound() })
}

// pair searches one pair.
//
// Of the banned rules few matter, so the search begins without any. If one of
// them matches what is found, the search begins again with those that do. What is
// found with fewer bans is never longer, so the first that no ban matches is a
// shortest.
func (f *finder) pair(q *question, p pair, limit int) (string, outcome) {
	s, m := &f.s, &f.m
	s.m, s.abc, s.autos = m, f.abc, s.autos[:0]
	c := &q.own.rules[q.rule]
	head := c.head
	var partner *rule
	if p.partner != noRule {
		if partner = &q.other.rules[p.partner]; len(partner.head) > len(head) {
			head = partner.head
		}
	}
	head = cmp.Or(head, "/")
	prefix, n, at, ok := s.abc.spell(head)
	if head = head[:n]; !ok {
		return "", none
	}
	if !s.add(c, q.own, head) || partner != nil && !s.add(partner, q.other, head) {
		return "", none
	}
	s.needs = len(s.autos)
	bound := q.bound()

	bans := f.bans[:0]
	defer func() { f.bans = bans[:0] }()
	s.avoid = letters{}
	covered := func(r *rule, of *list) bool {
		n := min(len(r.head), len(head))
		m.spend(1 + n/bytesPerStep)
		if r.head[:n] != head[:n] {
			return false
		}
		switch {
		case n < len(r.head):
			s.avoid.add(r.head[n])
		case len(r.pieces) > 1:
			s.avoid.add(r.pieces[1][0])
		case n == len(r.pieces[0]) && !r.end:
			return true // it matches all that begins so
		}
		bans = append(bans, ban{r, of})
		return false
	}
	for _, i := range q.heavier {
		if covered(&q.own.rules[i], q.own) {
			return "", none
		}
	}
	if q.aim == aimDiffers {
		for _, i := range q.against {
			if partner != nil && i > p.partner {
				break
			}
			if covered(&q.other.rules[i], q.other) {
				return "", none
			}
		}
	}
	for round := 1; ; round++ {
		units, o := s.run(prefix, at, bound, limit)
		if o != found {
			return "", o
		}
		path, images := []byte(prefix), [2][]byte{[]byte(head), []byte(head)}
		for _, id := range units {
			u := &s.abc.units[id-1]
			path = append(path, u.raw...)
			images[0] = append(images[0], u.image[0]...)
			images[1] = append(images[1], u.image[1]...)
		}
		texts := [2]string{string(images[0]), string(images[1])}
		wrong := 0 // so many bans match, and stand first
		for i, b := range bans {
			if b.matches(texts[b.of.side], m) {
				bans[i], bans[wrong] = bans[wrong], b
				wrong++
			}
		}
		switch {
		case wrong == 0:
			return string(path), found
		case m.used >= limit:
			return "", exhausted
		case round == maxBanned:
			wrong = len(bans)
		}
		for _, b := range bans[:wrong] {
			if s.add(b.rule, b.of, head) && s.autos[len(s.autos)-1].holds() {
				return "", none
			}
		}
		bans = bans[wrong:]
	}
}

// maxBanned is how many searches of a pair end in a banned URL before all banned
// rules take part in the next.
const maxBanned = 24

type ban struct {
	*rule
	of *list
}

// add lets a rule take part in the search from the head on; false if it cannot
// match what begins so.
func (s *search) add(r *rule, of *list, head string) bool {
	g := of.automaton(r, s.m)
	n := min(len(r.head), len(head))
	s.m.spend(1 + len(head) - n)
	q := g.run(int32(n), head[n:])
	if q == dead {
		return false
	}
	s.autos = append(s.autos, auto{g, of.side, q})
	return true
}
