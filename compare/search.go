package compare

import (
	"math/bits"
	"slices"
)

// A search looks for a shortest URL that all needed patterns match and none of the
// banned. It is A* over nodes: the states of the needed, of the banned that are
// alive, and the place where the URL stands. The cost is the length so far, the
// estimate what the needed patterns miss at least.
//
// Few units need to be tried after a node. Take one whose images no needed pattern
// waits for and put a byte in its place for which no live pattern waits at all: the
// needed ones are where they were, and every banned one is thrown back as far as
// it can be. So the units to try are those for which a needed pattern waits, a byte
// that none waits for, and '?', behind which dots mean nothing.
type search struct {
	m     *meter
	abc   *alphabet
	autos []auto
	needs int // so many of them are needed, the others are banned
	plain bool
	avoid letters // with which banned rules go on that take no part
	units []int16 // units, plus one, that a needed pattern may wait for
	every []int16 // units that patterns can tell apart, once they are needed
	seen  map[class]bool

	nodes  []node
	arena  []uint32 // of each node: needed states, place, then automaton and state of each live ban
	vector []uint32 // the same of a node to be
	table  []int32  // nodes by hash, plus one
	queue  []int32  // the last node of each length, plus one
	base   int32    // the length of the first
}

type auto struct {
	g    *glob
	side int
	q    int32 // where it begins
}

func (a auto) holds() bool { return a.g.holds(a.q) }

type node struct {
	parent, next int32 // next of the same length, plus one
	cost         int32
	at, size     int32 // in the arena
	hash         uint32
	unit         int16 // plus one
	stale        bool  // a later node is the same, and nearer
}

// outcome is what became of a search.
type outcome uint8

const (
	exhausted outcome = iota // the limit came first
	none                     // there is no such URL shorter than the bound
	found
)

// run returns a shortest URL of less than bound bytes that begins with prefix, at
// which the automata stand where they begin.
func (s *search) run(prefix string, at place, bound, limit int) (path []int16, o outcome) {
	s.nodes, s.arena, s.queue = s.nodes[:0], s.arena[:0], s.queue[:0]
	if s.table == nil {
		s.table = make([]int32, 64)
	}
	s.table = s.table[:64]
	clear(s.table)
	s.choose()
	s.vector = s.vector[:0]
	for i := range s.autos {
		if i == s.needs {
			s.vector = append(s.vector, uint32(s.place(at)))
		}
		a := &s.autos[i]
		if i >= s.needs {
			s.vector = append(s.vector, uint32(i))
		}
		s.vector = append(s.vector, uint32(a.q))
	}
	if s.needs == len(s.autos) {
		s.vector = append(s.vector, uint32(s.place(at)))
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
			if s.m.used >= limit {
				return nil, exhausted
			}
			s.expand(n, bound)
		}
	}
	return nil, none
}

// place is where the URL stands as far as it matters.
func (s *search) place(at place) place {
	if s.plain {
		return at/placePercent*placePercent + placeOther
	}
	return at
}

// A class is what the patterns of a search see of a unit: the images, with a byte that
// no pattern holds for each that none does.
type class struct {
	images [2][3]byte
	char   byte
	place  [2]bool
}

// choose finds the units that a needed pattern may wait for, and whether a path of this
// search can have dot segments: only if one of them asks for a dot, or if there may be no
// other byte to take.
func (s *search) choose() {
	var needed, held [2]letters
	var all letters
	for i := range s.autos {
		a := &s.autos[i]
		held[a.side].join(a.g.held)
		all.join(a.g.held)
		if i < s.needs {
			needed[a.side].join(a.g.held)
		}
	}
	s.plain = !s.abc.dotFree || s.abc.urls != BrowserURLs && !needed[0].has('.') && !needed[1].has('.') && !plainLetters.andNot(all).empty()
	s.units, s.every = s.units[:0], s.every[:0]
	if s.seen == nil {
		s.seen = map[class]bool{}
	} else if len(s.seen) > 0 {
		clear(s.seen)
	}
	escapes := s.abc.cross || needed[0].has('%')
	for i := range s.abc.units {
		u := &s.abc.units[i]
		if len(u.raw) > 1 && !escapes {
			break // a plain byte before the digits does the same
		}
		if (u.held[0].meets(needed[0]) || u.held[1].meets(needed[1])) && (len(u.image[0]) == 1 || s.isNew(u, &held)) {
			s.units = append(s.units, int16(i+1))
		}
	}
}

// isNew reports whether no pattern of this search can tell a unit from one before it.
func (s *search) isNew(u *unit, held *[2]letters) bool {
	c := class{char: u.char, place: u.place}
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
	for i := range s.needs {
		most = max(most, s.autos[i].g.missing(int32(vector[i])))
	}
	return most
}

// goal reports whether the path may end at a node.
func (s *search) goal(n int32) bool {
	v := s.vectorOf(n)
	for i := range s.needs {
		if !s.autos[i].g.done(int32(v[i])) {
			return false
		}
	}
	if !place(v[s.needs]).ends() {
		return false
	}
	for i := s.needs + 1; i < len(v); i += 2 {
		if s.autos[v[i]].g.done(int32(v[i+1])) {
			return false
		}
	}
	return true
}

// path returns the units of a node since the first.
func (s *search) path(n int32) (units []int16) {
	for ; s.nodes[n].parent >= 0; n = s.nodes[n].parent {
		units = append(units, s.nodes[n].unit)
	}
	slices.Reverse(units)
	return units
}

// expand tries what may follow a node.
func (s *search) expand(n int32, bound int) {
	v := s.vectorOf(n)
	at := place(v[s.needs])
	var waited, forced [2]letters // what each side's needed patterns wait for, and what keeps them alive
	var isForced [2]bool
	var all letters
	for i := range s.needs {
		a, q := &s.autos[i], int32(v[i])
		var w letters
		a.g.waits(q, &w)
		all.join(w)
		waited[a.side].join(w)
		if a.g.only(q) || a.g.end && a.g.fail == nil {
			if !isForced[a.side] {
				isForced[a.side], forced[a.side] = true, w
			}
			forced[a.side] = forced[a.side].and(w)
		}
	}
	for i := s.needs + 1; i < len(v); i += 2 {
		s.autos[v[i]].g.waits(int32(v[i+1]), &all)
	}
	s.m.spend(len(v) / 2)

	units, every := s.units, false
	if !isForced[0] && !isForced[1] {
		if other, ok := s.unwaited(all, at); !ok {
			units, every = s.everyUnit(), true
		} else {
			s.try(n, other, bound)
			if !s.plain && at.query() == 0 && !waited[0].has('?') {
				s.try(n, s.abc.single[0]['?'], bound)
			}
		}
	}
	for _, id := range units {
		u := &s.abc.units[id-1]
		if !every && !u.held[0].meets(waited[0]) && !u.held[1].meets(waited[1]) {
			continue
		}
		if isForced[0] && !forced[0].has(u.image[0][0]) || isForced[1] && !forced[1].has(u.image[1][0]) {
			continue
		}
		s.try(n, id, bound)
	}
}

// everyUnit returns the units that patterns can tell apart.
func (s *search) everyUnit() []int16 {
	if len(s.every) > 0 {
		return s.every
	}
	var held [2]letters
	for i := range s.autos {
		held[s.autos[i].side].join(s.autos[i].g.held)
	}
	clear(s.seen)
	for i := range s.abc.units {
		if s.isNew(&s.abc.units[i], &held) {
			s.every = append(s.every, int16(i+1))
		}
	}
	return s.every
}

// unwaited returns a byte that stands for all that nobody waits for, if it can be
// one that banned rules which take no part would not like.
func (s *search) unwaited(all letters, at place) (id int16, ok bool) {
	if at >= placePercent {
		all.join(hexLetters)
	}
	for _, l := range plainOrder {
		if l = l.andNot(all).andNot(s.avoid); !l.empty() {
			return s.abc.single[0][l.take()], true
		}
	}
	if l := plainLetters.andNot(all); !l.empty() {
		return s.abc.single[0][l.take()], true
	}
	return 0, false
}

// take removes a letter of a set that is not empty and returns it.
func (l *letters) take() byte {
	if l[1] != 0 {
		c := bits.TrailingZeros64(l[1])
		l[1] &^= 1 << c
		return byte(64 + c)
	}
	c := bits.TrailingZeros64(l[0])
	l[0] &^= 1 << c
	return byte(c)
}

// try makes the node that a unit leads to.
func (s *search) try(from int32, id int16, bound int) {
	v := s.vectorOf(from)
	at, ok := s.abc.follow(place(v[s.needs]), id)
	if !ok {
		return
	}
	u := &s.abc.units[id-1]
	s.vector = s.vector[:0]
	for i := range s.needs {
		q := s.feed(i, int32(v[i]), u)
		if q == dead {
			return
		}
		s.vector = append(s.vector, uint32(q))
	}
	s.vector = append(s.vector, uint32(s.place(at)))
	for i := s.needs + 1; i < len(v); i += 2 {
		switch q := s.feed(int(v[i]), int32(v[i+1]), u); {
		case q == dead:
		case s.autos[v[i]].g.holds(q):
			return
		default:
			s.vector = append(s.vector, v[i], uint32(q))
		}
	}
	s.push(from, id, s.nodes[from].cost+int32(len(u.raw)), bound)
}

// feed returns the state of an automaton after a unit.
func (s *search) feed(i int, q int32, u *unit) int32 {
	a := &s.autos[i]
	text := u.image[a.side]
	s.m.used += len(text)
	for j := 0; j < len(text) && q != dead; j++ {
		q = a.g.step(q, text[j])
	}
	return q
}

// push keeps the node in s.vector unless it is known or too long.
func (s *search) push(parent int32, id int16, cost int32, bound int) {
	f := cost + s.missing(s.vector)
	if int(f) >= bound {
		return
	}
	h := hash(s.vector)
	mask := uint32(len(s.table) - 1)
	i := h & mask
	for ; s.table[i] > 0; i = (i + 1) & mask {
		n := s.table[i] - 1
		v := &s.nodes[n]
		if v.hash != h || !slices.Equal(s.vectorOf(n), s.vector) {
			continue
		}
		if v.cost <= cost {
			return
		}
		v.stale = true // a shorter way to it
		break
	}
	for int(f-s.base) >= len(s.queue) {
		s.queue = append(s.queue, 0)
	}
	last := int32(len(s.nodes))
	s.nodes = append(s.nodes, node{parent: parent, next: s.queue[f-s.base], cost: cost, at: int32(len(s.arena)), size: int32(len(s.vector)), hash: h, unit: id})
	s.arena = append(s.arena, s.vector...)
	s.queue[f-s.base] = last + 1
	s.table[i] = last + 1
	if 2*len(s.nodes) > len(s.table) {
		s.grow()
	}
}

func (s *search) grow() {
	n := 2 * len(s.table)
	if cap(s.table) >= n {
		s.table = s.table[:n]
		clear(s.table)
	} else {
		s.table = make([]int32, n)
	}
	mask := uint32(n - 1)
	for id := range s.nodes {
		if s.nodes[id].stale {
			continue
		}
		h := s.nodes[id].hash
		i := h & mask
		for s.table[i] > 0 {
			i = (i + 1) & mask
		}
		s.table[i] = int32(id) + 1
	}
}

func hash(vector []uint32) uint32 {
	h := uint64(len(vector))
	for _, x := range vector {
		h = (h ^ uint64(x)) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return uint32(h >> 16)
}
