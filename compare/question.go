package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/robotskit/robots"
)

// A question asks for a shortest URL that a rule decides in its own list and for which the
// other list has the opposite verdict. Where two lists differ, at least one of the two deciding
// rules is in only one list: if both rules were in both lists, they would be the same rule. So
// the lists have the same verdicts if the question has no answer for any rule that is in only
// one list.
type question struct {
	own, other *list
	rule       int // index in own
	aim        aim
	without    int    // line whose rules other is without, -1 for none
	heavier    []int  // rules of own with a higher precedence that might match the same URLs
	against    []int  // rules of other with the same verdict as the rule
	partners   []pair // not yet searched
	path       string // shortest URL so far, "" for none
	longest    int    // maximum length of the URL, 0 for any
	cut        bool   // the steps ended before all pairs were known
}

// An aim is a condition for the URL of a question.
type aim uint8

const (
	aimDiffers aim = iota // the rule decides, and the other list has the opposite verdict
	aimDecides            // the rule decides
	aimMatches            // the rule matches
)

// A pair is the rule of a question and the rule that decides in the other list.
type pair struct {
	partner int // index in other; noRule if no rule decides there, or for the other aims
	least   int // minimum length of a URL of the pair
}

const noRule = -1

// finder answers questions about the same lists.
type finder struct {
	m    meter
	abc  *alphabet
	s    search
	bans []*rule // reused memory
}

// ask finds the rules that can affect the answer.
func (f *finder) ask(q *question) {
	c := &q.own.rules[q.rule]
	if q.aim != aimMatches {
		for i := range q.rule {
			r := &q.own.rules[i]
			if !c.meets(r, &f.m) {
				continue
			}
			if r.covers(c, false, &f.m) {
				return // the rule never decides
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
				break // no later rule decides where c matches
			}
			if r.twin == noRule || r.twin >= q.rule { // otherwise it is in q.heavier
				q.against = append(q.against, i)
			}
		} else if r.twin == noRule || r.twin > q.rule { // otherwise it decides before c
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

// run searches the remaining pairs with a number of steps each. Pairs that need more steps
// remain.
func (f *finder) run(q *question, steps int) {
	left := q.partners[:0]
	for i, p := range q.partners {
		if p.least >= q.bound() {
			break // and so are all further pairs
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

// bound returns the length that a URL must be shorter than to improve the answer.
func (q *question) bound() int {
	switch {
	case q.path != "":
		return len(q.path)
	case q.longest > 0:
		return q.longest + 1
	}
	return math.MaxInt32
}

// open reports whether a shorter URL, or any URL, might have been missed.
func (q *question) open() bool {
	return q.cut || slices.ContainsFunc(q.partners, func(p pair) bool { return p.least < q.bound() })
}

// pair searches for a shortest URL of one pair.
//
// Few of the banned rules affect the result, so the search starts without any. If some of them
// match the URL it finds, it starts again with these. With fewer bans the URL is never longer,
// so the first URL that no banned rule matches is a shortest.
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
	if !s.add(c, head) || partner != nil && !s.add(partner, head) {
		return "", none
	}
	s.needs = len(s.autos)
	bound := q.bound()

	bans := f.bans[:0]
	defer func() { f.bans = bans[:0] }()
	s.avoid = letters{}
	covered := func(r *rule) bool {
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
			return true // it matches every URL with this head
		}
		bans = append(bans, r)
		return false
	}
	for _, i := range q.heavier {
		if covered(&q.own.rules[i]) {
			return "", none
		}
	}
	if q.aim == aimDiffers {
		for _, i := range q.against {
			if partner != nil && i > p.partner {
				break
			}
			if covered(&q.other.rules[i]) {
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
		wrong := 0 // number of bans that match; they are moved to the front
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
			if s.add(b, head) && s.autos[len(s.autos)-1].holds() {
				return "", none
			}
		}
		bans = bans[wrong:]
	}
}

// maxBanned is the number of searches of a pair with a banned URL as the result after which
// the next search includes all banned rules.
const maxBanned = 24

// add includes a rule in the search, after the head. It returns false if the rule cannot match
// a URL with this head.
func (s *search) add(r *rule, head string) bool {
	g := r.automaton(s.m)
	n := min(len(r.head), len(head))
	s.m.spend(1 + len(head) - n)
	q := g.run(int32(n), head[n:])
	if q == dead {
		return false
	}
	s.autos = append(s.autos, auto{g, r.of.side, q})
	return true
}
