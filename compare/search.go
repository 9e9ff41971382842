package compare

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A search finds a shortest URL that all needed patterns match and no banned pattern matches.
// It is A* over nodes, each with the states of the needed patterns, the states of the banned
// patterns that can still match, and the place in the URL. The cost is the length so far; the
// estimate is the minimum number of bytes that the needed patterns still require.
//
// Few units have to be tried after a node. Replace a unit that no needed pattern waits for by a
// byte that no pattern waits for: the needed patterns keep their states, and the banned ones
// fall back as far as possible. So the units to try are those that a needed pattern waits for,
// one byte that no pattern waits for, and '?', after which dot segments have no meaning.
type search struct {
	meter       *meter
	alphabet    *alphabet
	automata    []automaton
	neededCount int     // number of needed patterns; the others are banned
	plain       bool    // the URLs have no dot segments, and empty ones are permitted
	avoid       letters // next bytes of banned rules that are not included
	units       []int16 // units, plus one, that a needed pattern can wait for
	seen        map[class]bool

	nodes  []node
	arena  []uint32         // of each node: place, needed states, then automaton and state of each live ban
	vector []uint32         // the same for the next node
	table  map[string]int32 // nodes by the bytes of their vector
	key    []byte           // of the next node
	queue  []int32          // last node of each length, plus one
	base   int32            // length of the first node
}

type automaton struct {
	glob  *glob
	side  int
	state int32 // first state
}

func (a automaton) holds() bool { return a.glob.holds(a.state) }

type node struct {
	parent, next int32 // next of the same length, plus one
	cost         int32
	at, size     int32 // in the arena
	unit         int16 // plus one
	stale        bool  // a later node with the same states costs less
}

// An outcome is the outcome of a search.
type outcome uint8

const (
	exhausted outcome = iota // the limit of steps was reached
	none                     // no such URL is shorter than the bound
	found
)

// run returns a shortest URL of less than bound bytes that begins with prefix, after which the
// automata are in their first states.
func (s *search) run(prefix string, at position, bound, limit int) (path []int16, o outcome) {
	s.nodes = s.nodes[:0]
	s.arena = s.arena[:0]
	s.queue = s.queue[:0]
	if s.table == nil {
		s.table = map[string]int32{}
	}
	clear(s.table)
	s.choose()
	s.vector = append(s.vector[:0], uint32(s.positionOf(at)))
	for i, a := range s.automata {
		if i >= s.neededCount {
			s.vector = append(s.vector, uint32(i))
		}
		s.vector = append(s.vector, uint32(a.state))
	}
	s.base = int32(len(prefix)) + s.missing(s.vector)
	s.push(-1, 0, int32(len(prefix)), bound)
	for f := 0; f < len(s.queue); f++ {
		for s.queue[f] > 0 {
			n := s.queue[f] - 1
			s.queue[f] = s.nodes[n].next
			if s.nodes[n].stale {
				continue
			}
			if s.goal(n) {
				return s.path(n), found
			}
			if s.meter.used >= limit {
				return nil, exhausted
			}
			s.expand(n, bound)
		}
	}
	return nil, none
}

// positionOf returns a position without the distinctions that this search does not need.
func (s *search) positionOf(at position) position {
	if s.plain {
		return at/positionPercent*positionPercent + positionOther
	}
	return at
}

// A class is a unit as the patterns of a search read it: its images, in which one byte stands
// for all bytes that are in no pattern.
type class struct {
	images  [2][3]byte
	char    byte
	validIn [2]bool
}

// choose finds the units that a needed pattern can wait for, and whether a path of this search
// can have dot segments: only if a needed pattern contains a dot, or if every other byte is in
// some pattern.
func (s *search) choose() {
	var needed, held [2]letters
	var all letters
	for i := range s.automata {
		a := &s.automata[i]
		held[a.side].join(a.glob.textBytes)
		all.join(a.glob.textBytes)
		if i < s.neededCount {
			needed[a.side].join(a.glob.textBytes)
		}
	}
	s.plain = !s.alphabet.dotFree ||
		!s.alphabet.full && s.alphabet.urls != BrowserURLs && !needed[0].has('.') && !needed[1].has('.') && !plainLetters.andNot(all).empty()
	s.units = s.units[:0]
	if s.seen == nil {
		s.seen = map[class]bool{}
	} else if len(s.seen) > 0 {
		clear(s.seen)
	}
	escapes := s.alphabet.cross || needed[0].has('%')
	for i := range s.alphabet.units {
		u := &s.alphabet.units[i]
		if len(u.raw) > 1 && !escapes {
			break // an unencoded byte before the digits has the same effect
		}
		if (u.imageBytes[0].meets(needed[0]) || u.imageBytes[1].meets(needed[1])) && (len(u.image[0]) == 1 || s.isNew(u, &held)) {
			s.units = append(s.units, int16(i+1))
		}
	}
}

// isNew reports whether a unit differs for some pattern from all units before it.
func (s *search) isNew(u *unit, held *[2]letters) bool {
	c := class{char: u.char, validIn: u.validIn}
	for side := range u.image {
		for i, b := range []byte(u.image[side]) {
			if held[side].has(b) {
				c.images[side][i] = b
			} else {
				c.images[side][i] = anything[0]
			}
		}
	}
	if s.seen[c] {
		return false
	}
	s.seen[c] = true
	return true
}

func (s *search) vectorOf(n int32) []uint32 {
	v := &s.nodes[n]
	return s.arena[v.at : v.at+v.size]
}

func (s *search) missing(vector []uint32) (most int32) {
	for i := range s.neededCount {
		most = max(most, s.automata[i].glob.missing(int32(vector[1+i])))
	}
	return most
}

// goal reports whether the path can end at a node.
func (s *search) goal(n int32) bool {
	v := s.vectorOf(n)
	for i := range s.neededCount {
		if !s.automata[i].glob.done(int32(v[1+i])) {
			return false
		}
	}
	if !position(v[0]).ends() {
		return false
	}
	for i := s.neededCount + 1; i < len(v); i += 2 {
		if s.automata[v[i]].glob.done(int32(v[i+1])) {
			return false
		}
	}
	return true
}

// path returns the units from the first node to this one.
func (s *search) path(n int32) (units []int16) {
	for ; s.nodes[n].parent >= 0; n = s.nodes[n].parent {
		units = append(units, s.nodes[n].unit)
	}
	slices.Reverse(units)
	return units
}

// expand tries the units that can follow a node.
func (s *search) expand(n int32, bound int) {
	v := s.vectorOf(n)
	at := position(v[0])
	var waited, forced [2]letters // per side: what needed patterns wait for, and the bytes without which one fails
	var isForced [2]bool
	var all letters
	for i := range s.neededCount {
		a := &s.automata[i]
		q := int32(v[1+i])
		var w letters
		a.glob.waits(q, &w)
		all.join(w)
		waited[a.side].join(w)
		if a.glob.only(q) || a.glob.end && a.glob.fail == nil {
			if !isForced[a.side] {
				isForced[a.side] = true
				forced[a.side] = w
			}
			forced[a.side] = forced[a.side].and(w)
		}
	}
	for i := s.neededCount + 1; i < len(v); i += 2 {
		s.automata[v[i]].glob.waits(int32(v[i+1]), &all)
	}
	s.meter.spend(len(v) / 2)

	units := s.units
	every := false
	if !isForced[0] && !isForced[1] {
		if other, ok := s.unwaited(all, at); !ok {
			units = s.alphabet.everyUnit
			every = true
		} else {
			s.try(n, other, bound)
			if !s.plain && at.query() == 0 && !waited[0].has('?') {
				s.try(n, s.alphabet.single[0]['?'], bound)
			}
		}
	}
	for _, id := range units {
		u := &s.alphabet.units[id-1]
		if !every && !u.imageBytes[0].meets(waited[0]) && !u.imageBytes[1].meets(waited[1]) {
			continue
		}
		if isForced[0] && !forced[0].has(u.image[0][0]) || isForced[1] && !forced[1].has(u.image[1][0]) {
			continue
		}
		s.try(n, id, bound)
	}
}

// unwaited returns a byte that no pattern waits for, if possible one that is not in s.avoid.
func (s *search) unwaited(all letters, at position) (id int16, ok bool) {
	if at >= positionPercent {
		all.join(hexLetters)
	}
	for _, l := range plainOrder {
		l = l.andNot(all).andNot(s.avoid)
		if !l.empty() {
			return s.alphabet.single[0][l.first()], true
		}
	}
	if l := plainLetters.andNot(all); !l.empty() {
		return s.alphabet.single[0][l.first()], true
	}
	return 0, false
}

// first returns a letter of a set that is not empty.
func (l letters) first() byte {
	if l[1] != 0 {
		return byte(64 + bits.TrailingZeros64(l[1]))
	}
	return byte(bits.TrailingZeros64(l[0]))
}

// try adds the node after a unit.
func (s *search) try(from int32, id int16, bound int) {
	v := s.vectorOf(from)
	at, ok := s.alphabet.follow(position(v[0]), id)
	if !ok {
		return
	}
	u := &s.alphabet.units[id-1]
	s.vector = append(s.vector[:0], uint32(s.positionOf(at)))
	for i := range s.neededCount {
		q := s.feed(i, int32(v[1+i]), u)
		if q == dead {
			return
		}
		s.vector = append(s.vector, uint32(q))
	}
	for i := s.neededCount + 1; i < len(v); i += 2 {
		switch q := s.feed(int(v[i]), int32(v[i+1]), u); {
		case q == dead:
		case s.automata[v[i]].glob.holds(q):
			return
		default:
			s.vector = append(s.vector, v[i], uint32(q))
		}
	}
	s.push(from, id, s.nodes[from].cost+int32(len(u.raw)), bound)
}

// feed returns the state of an automaton after a unit.
func (s *search) feed(i int, q int32, u *unit) int32 {
	a := &s.automata[i]
	text := u.image[a.side]
	s.meter.used += len(text)
	for j := 0; j < len(text) && q != dead; j++ {
		q = a.glob.step(q, text[j])
	}
	return q
}

// push adds the node in s.vector unless it is known or too long.
func (s *search) push(parent int32, id int16, cost int32, bound int) {
	f := cost + s.missing(s.vector)
	if int(f) >= bound {
		return
	}
	s.key = s.key[:0]
	for _, x := range s.vector {
		s.key = binary.LittleEndian.AppendUint32(s.key, x)
	}
	if n, ok := s.table[string(s.key)]; ok {
		if s.nodes[n].cost <= cost {
			return
		}
		s.nodes[n].stale = true // this path to it is shorter
	}
	for int(f-s.base) >= len(s.queue) {
		s.queue = append(s.queue, 0)
	}
	last := int32(len(s.nodes))
	s.nodes = append(
		s.nodes,
		node{parent: parent, next: s.queue[f-s.base], cost: cost, at: int32(len(s.arena)), size: int32(len(s.vector)), unit: id},
	)
	s.arena = append(s.arena, s.vector...)
	s.queue[f-s.base] = last + 1
	s.table[string(s.key)] = last
}
