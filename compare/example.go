package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/robotskit/robots"
)

// An example is a shortest URL that a rule decides in its list, side, and for which the
// other list, otherSide, has the opposite verdict. Where two lists differ, at least one of the two deciding
// rules is in only one list: if both rules were in both lists, they would be the same rule. So
// the lists have the same verdicts if there is no example for any rule that is in only
// one list.
type example struct {
	side, otherSide *list
	rule            int // index in side
	aim             aim
	without         int    // line whose rules otherSide is without, -1 for none
	heavier         []int  // rules of side with a higher precedence that might match the same URLs
	against         []int  // rules of otherSide with the same verdict as the rule
	partners        []pair // pairs that are not yet searched
	path            string // shortest URL so far, "" for none
	longest         int    // maximum length of the URL, 0 for any
	exhausted       bool   // the step limit was reached before all pairs were found
}

// An aim is a condition for the URL of an example.
type aim uint8

const (
	aimDiffers aim = iota // the rule decides, and the other list has the opposite verdict
	aimDecides            // the rule decides
	aimMatches            // the rule matches
)

// A pair is the rule of an example and the rule that decides in the other list.
type pair struct {
	partner int // index in otherSide; noRule if no rule decides there, or for the other aims
	minLen  int // minimum length of a URL of the pair
}

const noRule = -1

// finder finds examples of the same lists.
type finder struct {
	meter    meter
	alphabet *alphabet
	search   search
	bans     []*rule // reused memory
	met      []int   // likewise
	searches int     // number of pairs searched so far
}

// findPairs sets the rules that can affect the answer, and the pairs to search.
func (f *finder) findPairs(q *example) {
	c := &q.side.rules[q.rule]
	if q.aim != aimMatches {
		f.met = q.side.meeting(f.met[:0], c.head, &f.meter)
		for _, i := range f.met {
			if i >= q.rule {
				break
			}
			if q.side.rules[i].covers(c, false, &f.meter) {
				return // the rule never decides
			}
			q.heavier = append(q.heavier, i)
			q.exhausted = f.meter.empty()
			if q.exhausted {
				return
			}
		}
	}
	if q.aim != aimDiffers {
		q.partners = append(q.partners, pair{noRule, c.minLen})
		return
	}
	covered := false
	cross := q.side.form != q.otherSide.form
	f.met = q.otherSide.meeting(f.met[:0], c.head, &f.meter)
	for _, i := range f.met {
		r := &q.otherSide.rules[i]
		if r.line == q.without && r.line >= 0 {
			continue
		}
		if r.allow == c.allow {
			covered = r.covers(c, cross, &f.meter)
			if covered {
				break // no later rule decides where c matches
			}
			if r.otherIndex == noRule || r.otherIndex >= q.rule { // otherwise it is in q.heavier
				q.against = append(q.against, i)
			}
		} else if r.otherIndex == noRule || r.otherIndex > q.rule { // otherwise it decides before c
			q.partners = append(q.partners, pair{i, max(c.minLen, r.minLen)})
		}
		q.exhausted = f.meter.empty()
		if q.exhausted {
			return
		}
	}
	if !covered && !c.allow {
		q.partners = append(q.partners, pair{noRule, c.minLen})
	}
	if exact := len(c.pieces) == 1 && c.end; f.alphabet.dots && len(q.partners) > 0 && (!exact || q.side.form == robots.EscapesGoogle) {
		q.exhausted = true // URLs with dot segments are not searched
	}
	slices.SortStableFunc(q.partners, func(a, b pair) int { return a.minLen - b.minLen })
}

// run searches the remaining pairs with a number of steps each. Pairs that need more steps
// remain.
func (f *finder) run(q *example, steps int) {
	left := q.partners[:0]
	for i, p := range q.partners {
		if p.minLen >= q.bound() {
			break // and so are all further pairs
		}
		if f.meter.empty() {
			left = append(left, q.partners[i:]...)
			break
		}
		path, o := f.pair(q, p, min(f.meter.limit, f.meter.used+steps))
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
func (q *example) bound() int {
	switch {
	case q.path != "":
		return len(q.path)
	case q.longest > 0:
		return q.longest + 1
	}
	return math.MaxInt32
}

// open reports whether a shorter URL, or any URL, might have been missed.
func (q *example) open() bool {
	return q.exhausted || slices.ContainsFunc(q.partners, func(p pair) bool { return p.minLen < q.bound() })
}

// pair searches for a shortest URL of one pair.
//
// Few of the banned rules affect the result, so the search starts without any. If some of them
// match the URL it finds, it starts again with these. With fewer bans the URL is never longer,
// so the first URL that no banned rule matches is a shortest.
func (f *finder) pair(q *example, p pair, limit int) (string, outcome) {
	f.searches++
	s := &f.search
	start, ok := f.startPair(q, p)
	if !ok {
		return "", none
	}
	bans, ok := f.bansOf(q, p, start.head)
	defer func() { f.bans = bans[:0] }()
	if !ok {
		return "", none
	}
	bound := q.bound()
	for round := 1; ; round++ {
		units, o := s.run(start.prefix, start.at, bound, limit)
		if o != found {
			return "", o
		}
		path, images := s.spelled(start, units)
		wrong := matchingFirst(bans, images, &f.meter)
		switch {
		case wrong == 0:
			return path, found
		case f.meter.used >= limit:
			return "", exhausted
		case round == maxBanned:
			wrong = len(bans)
		}
		for _, b := range bans[:wrong] {
			if s.add(b, start.head) && s.automata[len(s.automata)-1].holds() {
				return "", none
			}
		}
		bans = bans[wrong:]
	}
}

// A pairStart is what all URLs of a pair begin with.
type pairStart struct {
	head   string   // as the rules see it
	prefix string   // of the URL, spelled for the head
	at     position // of the search behind the prefix
}

// startPair prepares the search for a pair: the URL must match its rule, and its partner if it has one. It reports false if no URL
// matches both.
func (f *finder) startPair(q *example, p pair) (start pairStart, ok bool) {
	s := &f.search
	s.meter = &f.meter
	s.alphabet = f.alphabet
	s.automata = s.automata[:0]
	c := &q.side.rules[q.rule]
	head := c.head
	partner := q.partnerRule(p)
	if partner != nil && len(partner.head) > len(head) {
		head = partner.head
	}
	head = cmp.Or(head, "/")
	prefix, n, at, ok := s.alphabet.spell(make([]byte, 0, 64), head)
	start = pairStart{head[:n], string(prefix), at}
	if !ok || !s.add(c, start.head) || partner != nil && !s.add(partner, start.head) {
		return start, false
	}
	s.neededCount = len(s.automata)
	return start, true
}

// partnerRule returns the rule that decides in the other list, nil for none.
func (q *example) partnerRule(p pair) *rule {
	if p.partner == noRule {
		return nil
	}
	return &q.otherSide.rules[p.partner]
}

// bansOf returns the rules that must not match the URL of a pair, and sets the letters that most of them need. It reports false if one
// of them matches every URL with the head.
func (f *finder) bansOf(q *example, p pair, head string) (bans []*rule, ok bool) {
	f.search.avoid = letters{}
	bans = f.bans[:0]
	for _, i := range q.heavier {
		if bans, ok = f.ban(bans, &q.side.rules[i], head); !ok {
			return bans, false
		}
	}
	if q.aim != aimDiffers {
		return bans, true
	}
	for _, i := range q.against {
		if p.partner != noRule && i > p.partner {
			break
		}
		if bans, ok = f.ban(bans, &q.otherSide.rules[i], head); !ok {
			return bans, false
		}
	}
	return bans, true
}

// ban appends a rule that must not match, if it can match a URL with the head. It reports false if it matches all of them.
func (f *finder) ban(bans []*rule, r *rule, head string) (_ []*rule, ok bool) {
	avoid := &f.search.avoid
	n := min(len(r.head), len(head))
	f.meter.spend(1 + n/bytesPerStep)
	if r.head[:n] != head[:n] {
		return bans, true
	}
	switch {
	case n < len(r.head):
		avoid.add(r.head[n])
	case len(r.pieces) > 1:
		avoid.add(r.pieces[1][0])
	case n == len(r.pieces[0]) && !r.end:
		return bans, false
	}
	return append(bans, r), true
}

// spelled returns the URL of a found sequence of units, and how each list sees it.
func (s *search) spelled(start pairStart, units []int16) (path string, images [2]string) {
	url := []byte(start.prefix)
	seen := [2][]byte{[]byte(start.head), []byte(start.head)}
	for _, id := range units {
		u := &s.alphabet.units[id-1]
		url = append(url, u.raw...)
		seen[0] = append(seen[0], u.image[0]...)
		seen[1] = append(seen[1], u.image[1]...)
	}
	return string(url), [2]string{string(seen[0]), string(seen[1])}
}

// matchingFirst moves the rules that match a URL to the front, and returns their number.
func matchingFirst(bans []*rule, images [2]string, m *meter) (n int) {
	for i, b := range bans {
		if b.matches(images[b.list.side], m) {
			bans[i] = bans[n]
			bans[n] = b
			n++
		}
	}
	return n
}

// maxBanned is the number of searches of a pair with a banned URL as the result after which
// the next search includes all banned rules.
const maxBanned = 24

// add includes a rule in the search, after the head. It returns false if the rule cannot match
// a URL with this head.
func (s *search) add(r *rule, head string) bool {
	g := r.automaton(s.meter)
	n := min(len(r.head), len(head))
	s.meter.spend(1 + len(head) - n)
	q := g.run(int32(n), head[n:])
	if q == dead {
		return false
	}
	s.automata = append(s.automata, automaton{g, r.list.side, q})
	return true
}
