package compare

import (
	"math/bits"
	"slices"
)

// A search looks for a shortest URL that all needed patterns match and none of the
// banned. It is A* over nodes: the states of the needed, of the banned that are
// alive, and where the path stands with its dots. The cost is the length so far,
// the estimate what the needed patterns miss at least.
//
// Few bytes need to be tried after a node. Take a byte for which no needed pattern
// waits and put one in its place for which no live pattern waits at all: the
// needed ones are where they were, and every banned one is thrown back as far as
// it can be. So the bytes to try are those for which a needed pattern waits, one
// that nobody waits for, '?', behind which dots mean nothing, and escapes where
// '%' is waited for.
type search struct {
	m     *meter
	cross bool // patterns of both forms take part
	autos []auto
	needs int // so many of them are needed, the others are banned
	plain bool
	avoid letters // with which banned rules go on that take no part
	units []unit  // escapes to try, made when they are needed

	nodes  []node
	arena  []uint32 // of each node: needed states, dots, then automaton and state of each live ban
	vector []uint32 // the same of a node to be
	table  []int32  // nodes by hash, plus one
	queue  []int32  // the last node of each length, plus one
	base   int32    // the length of the first
}

type auto struct {
	g   *glob
	rfc bool
	q   int32 // where it begins
}

func (a auto) holds() bool { return a.g.holds(a.q) }

type node struct {
	parent, next int32 // next of the same length, plus one
	cost         int32
	at, size     int32 // in the arena
	hash         uint32
	unit         unit
	stale        bool // a later node is the same, and nearer
}

// unit is a byte of a URL or a whole escape.
type unit struct {
	text [3]byte
	size uint8
}

func raw(c byte) unit { return unit{[3]byte{c}, 1} }

var (
	escapedStar   = unit{[3]byte{'%', '2', 'A'}, 3}
	escapedDollar = unit{[3]byte{'%', '2', '4'}, 3}
)

// special reports whether the unit is an escape that is one byte in EscapesRFC,
// and which.
func (u unit) special() (byte, bool) {
	switch u {
	case escapedStar:
		return '*', true
	case escapedDollar:
		return '$', true
	}
	return 0, false
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
func (s *search) run(prefix string, at dots, bound, limit int) (string, outcome) {
	s.nodes, s.arena, s.queue = s.nodes[:0], s.arena[:0], s.queue[:0]
	s.units = s.units[:0]
	if s.table == nil {
		s.table = make([]int32, 64)
	}
	s.table = s.table[:64]
	clear(s.table)
	s.decideDots()
	s.vector = s.vector[:0]
	for i := range s.autos {
		if i == s.needs {
			s.vector = append(s.vector, uint32(s.dots(at)))
		}
		a := &s.autos[i]
		if i >= s.needs {
			s.vector = append(s.vector, uint32(i))
		}
		s.vector = append(s.vector, uint32(a.q))
	}
	if s.needs == len(s.autos) {
		s.vector = append(s.vector, uint32(s.dots(at)))
	}
	s.base = int32(len(prefix)) + s.missing(s.vector)
	s.push(-1, unit{}, int32(len(prefix)), bound)
	for f := 0; f < len(s.queue); f++ {
		for s.queue[f] > 0 {
			n := s.queue[f] - 1
			s.queue[f] = s.nodes[n].next
			if s.nodes[n].stale {
				continue
			}
			if s.goal(n) {
				return prefix + s.path(n), found
			}
			if s.m.used >= limit {
				return "", exhausted
			}
			s.expand(n, bound)
		}
	}
	return "", none
}

// dots is where the path stands as far as it matters.
func (s *search) dots(d dots) dots {
	if s.plain {
		return dotsOther
	}
	return d
}

// decideDots finds out whether a path of this search can have dot segments: only
// if a needed pattern asks for a dot, or if there may be no other byte to take.
func (s *search) decideDots() {
	var needed, all letters
	for i := range s.autos {
		all.join(s.autos[i].g.held)
		if i < s.needs {
			needed.join(s.autos[i].g.held)
		}
	}
	s.plain = !needed.has('.') && !plainLetters.andNot(all).empty()
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
	if !dots(v[s.needs]).ends() {
		return false
	}
	for i := s.needs + 1; i < len(v); i += 2 {
		if s.autos[v[i]].g.done(int32(v[i+1])) {
			return false
		}
	}
	return true
}

// path returns the bytes of a node since the first.
func (s *search) path(n int32) string {
	var b []byte
	for ; s.nodes[n].parent >= 0; n = s.nodes[n].parent {
		u := s.nodes[n].unit
		for i := int(u.size) - 1; i >= 0; i-- {
			b = append(b, u.text[i])
		}
	}
	slices.Reverse(b)
	return string(b)
}

// expand tries what may follow a node.
func (s *search) expand(n int32, bound int) {
	v := s.vectorOf(n)
	at := dots(v[s.needs])
	var waited, all letters
	forced := false
	for i := range s.needs {
		g, q := s.autos[i].g, int32(v[i])
		var w letters
		g.waits(q, &w)
		all.join(w)
		switch {
		case g.only(q) || g.end && g.fail == nil:
			if forced {
				waited = waited.and(w)
			} else {
				forced, waited = true, w
			}
		case !forced:
			waited.join(w)
		}
	}
	for i := s.needs + 1; i < len(v); i += 2 {
		s.autos[v[i]].g.waits(int32(v[i+1]), &all)
	}
	s.m.spend(len(v) / 2)

	try, escaped := waited, waited.has('%')
	if !forced {
		other, ok := s.unwaited(all)
		switch {
		case !ok:
			try, escaped = rawLetters, true
		case !s.plain && at != dotsQuery:
			try.add('?')
			fallthrough
		default:
			try.add(other)
		}
	}
	for try = try.and(rawLetters); !try.empty(); {
		s.try(n, raw(try.take()), bound)
	}
	switch {
	case escaped:
		for _, u := range s.escapes() {
			s.try(n, u, bound)
		}
	case s.cross:
		s.try(n, escapedStar, bound)
		s.try(n, escapedDollar, bound)
	}
}

// unwaited returns a byte that stands for all that nobody waits for, if it can be
// one that banned rules which take no part would not like.
func (s *search) unwaited(all letters) (byte, bool) {
	for _, l := range plainOrder {
		if l = l.andNot(all).andNot(s.avoid); !l.empty() {
			return l.take(), true
		}
	}
	if l := plainLetters.andNot(all); !l.empty() {
		return l.take(), true
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
func (s *search) try(from int32, u unit, bound int) {
	v := s.vectorOf(from)
	at, ok := dots(v[s.needs]).step(u.text[0])
	if !ok {
		return
	}
	s.vector = s.vector[:0]
	for i := range s.needs {
		q := s.feed(i, int32(v[i]), u)
		if q == dead {
			return
		}
		s.vector = append(s.vector, uint32(q))
	}
	s.vector = append(s.vector, uint32(s.dots(at)))
	for i := s.needs + 1; i < len(v); i += 2 {
		switch q := s.feed(int(v[i]), int32(v[i+1]), u); {
		case q == dead:
		case s.autos[v[i]].g.holds(q):
			return
		default:
			s.vector = append(s.vector, v[i], uint32(q))
		}
	}
	s.push(from, u, s.nodes[from].cost+int32(u.size), bound)
}

// feed returns the state of an automaton after a unit.
func (s *search) feed(i int, q int32, u unit) int32 {
	a := &s.autos[i]
	s.m.used++
	if u.size == 1 {
		return a.g.step(q, u.text[0])
	}
	if s.cross && a.rfc {
		if c, ok := u.special(); ok {
			return a.g.step(q, c)
		}
	}
	s.m.used += 2
	for _, c := range u.text {
		if q != dead {
			q = a.g.step(q, c)
		}
	}
	return q
}

// push keeps the node in s.vector unless it is known or too long.
func (s *search) push(parent int32, u unit, cost int32, bound int) {
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
	id := int32(len(s.nodes))
	s.nodes = append(s.nodes, node{parent: parent, next: s.queue[f-s.base], cost: cost, at: int32(len(s.arena)), size: int32(len(s.vector)), hash: h, unit: u})
	s.arena = append(s.arena, s.vector...)
	s.queue[f-s.base] = id + 1
	s.table[i] = id + 1
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

// escapes returns the escapes to try: one for each pair of hexadecimal digits
// that some pattern can tell from others.
func (s *search) escapes() []unit {
	if len(s.units) > 0 {
		return s.units
	}
	var held letters
	for i := range s.autos {
		held.join(s.autos[i].g.held)
	}
	var seen [17][17]bool
	class := func(c byte) byte {
		if held.has(c) {
			return hexValue(c)
		}
		return 16
	}
	for _, hi := range []byte(upperHex) {
		for _, lo := range []byte(upperHex) {
			if !escapes(hi, lo) {
				continue
			}
			u := unit{[3]byte{'%', hi, lo}, 3}
			if _, ok := u.special(); ok {
				// In EscapesRFC alone it is '*' or '$', of which the raw byte is shorter.
				if s.cross || !s.autos[0].rfc {
					s.units = append(s.units, u)
				}
				continue
			}
			if seen := &seen[class(hi)][class(lo)]; !*seen {
				*seen = true
				s.units = append(s.units, u)
			}
		}
	}
	return s.units
}
