package robots

import (
	"slices"
	"strings"
	"sync"
)

// suffixAutomaton knows where every piece of text occurs in one path. It is for
// hostile files: with thousands of rules with stars whose pieces nearly occur, a
// substring search costs up to the length of the path for each piece. Walking the
// automaton costs the length of the piece, whatever the path, so a match costs no
// more than reading the rules. Building it takes longer than most matches, so it
// is built only when a match has taken much work (workLimit).
//
// A state stands for pieces that occur at the same places; state 1 is the empty
// piece, 0 is none. A piece that occurs is read from state 1, byte by byte.
type suffixAutomaton struct {
	path    string // a view of text
	text    []byte
	class   [256]uint16 // the number of a byte among those of the path, from 1
	classes int
	next    []uint16 // by state and class
	states  []automatonState
	order   []uint16 // the states from short to long
	counts  []uint16
}

type automatonState struct {
	link        uint16 // the state of the longest shorter suffix that occurs elsewhere too
	size        uint16 // bytes of the longest piece
	first, last uint16 // where the piece ends, at its first and last occurrence
}

// maxAutomatonPath is the longest path for which the automaton is built: two
// states per byte must fit 16 bits. For longer paths a match stays bounded by
// pattern x path.
const maxAutomatonPath = 1<<15 - 2

var occurrencesPool = sync.Pool{New: func() any { return new(suffixAutomaton) }}

func newSuffixAutomaton(path string) *suffixAutomaton {
	o := occurrencesPool.Get().(*suffixAutomaton)
	o.text = append(o.text[:0], path...) // the caller's path may be on its stack
	o.path, o.classes = view(o.text), 0
	o.class = [256]uint16{}
	for i := range len(path) {
		if c := &o.class[path[i]]; *c == 0 {
			o.classes++
			*c = uint16(o.classes)
		}
	}
	most := 2*len(path) + 2
	o.next = slices.Grow(o.next[:0], most*o.classes)
	o.states = slices.Grow(o.states[:0], most)
	o.states = append(o.states, automatonState{}, automatonState{}) // none and the empty piece
	o.next = o.next[:2*o.classes]
	clear(o.next)
	last := uint16(1)
	for i := range len(path) {
		last = o.extend(last, int(o.class[path[i]])-1, uint16(i+1))
	}

	// The last occurrence of a piece is the last of all longer pieces that end
	// with it: from long to short, along the links.
	o.order = slices.Grow(o.order[:0], len(o.states))[:len(o.states)]
	o.counts = slices.Grow(o.counts[:0], len(path)+2)[:len(path)+2]
	counts := o.counts
	clear(counts)
	for _, s := range o.states {
		counts[s.size]++
	}
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
	for i := len(o.states) - 1; i >= 0; i-- {
		size := o.states[i].size
		counts[size]--
		o.order[counts[size]] = uint16(i)
	}
	for i := len(o.order) - 1; i >= 0; i-- {
		s := &o.states[o.order[i]]
		link := &o.states[s.link]
		link.last = max(link.last, s.last)
	}
	return o
}

// free gives the memory back for the next path.
func (o *suffixAutomaton) free() {
	occurrencesPool.Put(o)
}

// add makes a state with the transitions of another, 0 for none.
func (o *suffixAutomaton) add(s automatonState, like uint16) uint16 {
	n := len(o.next)
	o.next = o.next[:n+o.classes]
	copy(o.next[n:], o.next[int(like)*o.classes:(int(like)+1)*o.classes])
	o.states = append(o.states, s)
	return uint16(len(o.states) - 1)
}

// extend adds the byte of class c, which ends at end, to the text read so far,
// of which the whole is state last (Blumer et al., 1985).
func (o *suffixAutomaton) extend(last uint16, c int, end uint16) uint16 {
	k := o.classes
	s := o.add(automatonState{size: o.states[last].size + 1, first: end, last: end}, 0)
	p := last
	for p != 0 && o.next[int(p)*k+c] == 0 {
		o.next[int(p)*k+c] = s
		p = o.states[p].link
	}
	if p == 0 {
		o.states[s].link = 1
		return s
	}
	q := o.next[int(p)*k+c]
	if o.states[p].size+1 == o.states[q].size {
		o.states[s].link = q
		return s
	}
	like := o.states[q]
	like.size = o.states[p].size + 1
	clone := o.add(like, q)
	for p != 0 && o.next[int(p)*k+c] == q {
		o.next[int(p)*k+c] = clone
		p = o.states[p].link
	}
	o.states[q].link, o.states[s].link = clone, clone
	return s
}

// index returns where piece occurs first at or after from, -1 if it does not,
// and the bytes it looked at.
func (o *suffixAutomaton) index(piece string, from int) (at, work int) {
	state := uint16(1)
	for i := range len(piece) {
		c := o.class[piece[i]]
		if c == 0 {
			return -1, i + 1
		}
		if state = o.next[int(state)*o.classes+int(c)-1]; state == 0 {
			return -1, i + 1
		}
	}
	s := &o.states[state]
	switch first, last := int(s.first)-len(piece), int(s.last)-len(piece); {
	case first >= from:
		return first, len(piece)
	case last < from:
		return -1, len(piece)
	}
	// It occurs before and after from: the next one is found by looking, which
	// only moves forward, so that it costs the path once for a whole rule.
	i := strings.Index(o.path[from:], piece)
	return from + i, len(piece) + i
}

// match is Pattern.match with the automaton, and the bytes it looked at.
func (o *suffixAutomaton) match(p Pattern) (ok bool, work int) {
	pat := p.text
	star := strings.IndexByte(pat, '*')
	if star < 0 || !strings.HasPrefix(o.path, pat[:star]) {
		return p.match(o.path), star + 1
	}
	at, work := star, star
	pat = pat[star+1:]
	for {
		star = strings.IndexByte(pat, '*')
		if star == 0 {
			pat = pat[1:]
			work++
			continue
		}
		piece := pat
		if star < 0 {
			if n := len(pat); n > 0 && pat[n-1] == '$' {
				return strings.HasSuffix(o.path[at:], pat[:n-1]), work + n
			}
		} else {
			piece = pat[:star]
		}
		i, looked := o.index(piece, at)
		work += looked
		if i < 0 || star < 0 {
			return i >= 0, work
		}
		at, pat = i+len(piece), pat[star+1:]
	}
}
