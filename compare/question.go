package compare

import (
	"slices"
	"strings"
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
	s    search
	bans []ban // scratch
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
//
// Of the banned rules few matter, so the search begins without any. If one of
// them matches what is found, the search begins again with those that do. What is
// found with fewer bans is never longer, so the first that no ban matches is a
// shortest.
func (f *finder) pair(q *question, p pair, limit int) (string, outcome) {
	s, m := &f.s, &f.m
	s.m, s.cross, s.autos = m, q.own.rfc != q.other.rfc, s.autos[:0]
	c := &q.own.rules[q.rule]
	prefix := c.head
	var partner *rule
	if p.partner != noRule {
		if partner = &q.other.rules[p.partner]; len(partner.head) > len(prefix) {
			prefix = partner.head
		}
	}
	prefix, at, ok := begin(prefix, q.own.rfc)
	if !ok || !s.add(c, q.own.rfc, prefix) || partner != nil && !s.add(partner, q.other.rfc, prefix) {
		return "", none
	}
	s.needs = len(s.autos)
	bound := 1<<31 - 1
	if q.path != "" {
		bound = len(q.path)
	}

	bans := f.bans[:0]
	defer func() { f.bans = bans[:0] }()
	s.avoid = letters{}
	covered := func(r *rule, rfc bool) bool {
		n := min(len(r.head), len(prefix))
		m.spend(1 + n/bytesPerStep)
		if r.head[:n] != prefix[:n] {
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
		bans = append(bans, ban{r, rfc})
		return false
	}
	for _, i := range q.heavier {
		if covered(&q.own.rules[i], q.own.rfc) {
			return "", none
		}
	}
	if q.aim == aimDiffers {
		for _, i := range q.against {
			if partner != nil && i > p.partner {
				break
			}
			if covered(&q.other.rules[i], q.other.rfc) {
				return "", none
			}
		}
	}
	for round := 1; ; round++ {
		path, o := s.run(prefix, at, bound, limit)
		if o != found {
			return "", o
		}
		image := rfcImage(path)
		wrong := 0 // so many bans match, and stand first
		for i, b := range bans {
			text := path
			if b.rfc {
				text = image
			}
			if b.matches(text, m) {
				bans[i], bans[wrong] = bans[wrong], b
				wrong++
			}
		}
		switch {
		case wrong == 0:
			return path, found
		case m.used >= limit:
			return "", exhausted
		case round == patience:
			wrong = len(bans)
		}
		for _, b := range bans[:wrong] {
			if s.add(b.rule, b.rfc, prefix) && s.autos[len(s.autos)-1].holds() {
				return "", none
			}
		}
		bans = bans[wrong:]
	}
}

// patience is how many searches of a pair end in a banned URL before all banned
// rules take part in the next.
const patience = 24

type ban struct {
	*rule
	rfc bool
}

// rfcImage returns a path as it is in EscapesRFC, with the bytes themselves for
// literals.
func rfcImage(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	return strings.NewReplacer("%2A", "*", "%24", "$").Replace(path)
}

// add lets a rule take part in the search from the prefix on; false if it cannot
// match what begins so.
func (s *search) add(r *rule, rfc bool, prefix string) bool {
	g := r.automaton(s.m)
	n := min(len(r.head), len(prefix))
	s.m.spend(1 + len(prefix) - n)
	q := g.run(int32(n), prefix[n:])
	if q == dead {
		return false
	}
	s.autos = append(s.autos, auto{g, rfc, q})
	return true
}

// begin returns how much of a head is whole units of a URL, and where its dots
// stand then; false if no URL begins so.
func begin(head string, rfc bool) (prefix string, at dots, ok bool) {
	if head == "" {
		head = "/"
	}
	i := 0
	for i < len(head) {
		u := raw(head[i])
		if u.text[0] == '%' {
			if i+3 > len(head) {
				break
			}
			u = unit{[3]byte{'%', head[i+1], head[i+2]}, 3}
		}
		_, special := u.special() // which is one byte in EscapesRFC, so these three are none
		if u.size == 1 && !rawLetters.has(u.text[0]) || u.size == 3 && (!escapes(u.text[1], u.text[2]) || special && rfc) {
			return "", 0, false
		}
		if at, ok = at.step(u.text[0]); !ok {
			return "", 0, false
		}
		i += int(u.size)
	}
	return head[:i], at, true
}
