package compare

import "strings"

// A glob is the automaton of a pattern. Its state is the number of bytes of the
// pieces that have been found, from 0 to all of them, or dead. The first piece
// must begin the path; each later one is left behind where it is found first,
// which is always right, since nothing is lost by looking for the rest from there
// on. When all is found a pattern without an end holds for good; one with an end
// holds if the path ends there.
type glob struct {
	text string // the pieces, one after the other
	head int    // bytes of the first
	end  bool
	// fail says for the states from head on where to look for another byte than
	// the one waited for: a state that waits for a byte not yet tried, or the
	// complement of the state in which no byte of the piece is found. So a path of
	// failures is short: it grows with the logarithm of the piece (Knuth, Morris
	// and Pratt, 1977).
	fail []int32
	held letters // bytes of the text
	// rest says for each state how many bytes a URL needs at least from there: fewer
	// than are missing where a byte that no URI may hold is the image of its escape
	// (D-14, D-43). nil if all are needed.
	rest []int32
}

// dead is the state from which nothing is found any more.
const dead = 1<<31 - 1

func newGlob(pieces []string, end, escapes bool) *glob {
	g := &glob{text: pieces[0], head: len(pieces[0]), end: end}
	if len(pieces) > 1 {
		g.text = strings.Join(pieces, "")
		g.fail = make([]int32, len(g.text)-g.head+1)
		base := g.head
		for _, p := range pieces[1:] {
			g.search(base, p)
			base += len(p)
		}
	}
	g.held = lettersOf(g.text)
	if escapes {
		g.shorten(pieces)
	}
	return g
}

// shorten fills in rest: what a raw byte of three bytes in the normal form can be for the
// text. Where a piece ends or begins, a star may take a part of them.
func (g *glob) shorten(pieces []string) {
	starts := make([]bool, len(g.text)+1) // a piece starts here
	at := 0
	for _, p := range pieces {
		at += len(p)
		starts[at] = true
	}
	starts[len(g.text)] = !g.end
	for i := len(g.text) - 1; i >= 0; i-- {
		n := g.missing(int32(i+1)) + 1
		if c := g.text[i]; c != '%' && (!starts[i] || strings.IndexByte("23567", c) < 0) {
			if g.rest != nil {
				g.rest[i] = n
			}
			continue
		}
		for _, c := range []byte(foreign) {
			w := string([]byte{'%', upperHex[c>>4], upperHex[c&15]})
			text := g.text[i:]
			switch {
			case strings.HasPrefix(text, w):
				n = min(n, g.missing(int32(i+3))+1)
			case strings.HasPrefix(text, w[:2]) && starts[i+2],
				strings.HasPrefix(text, w[1:]) && starts[i],
				strings.HasPrefix(text, w[:1]+w[2:]) && starts[i+1]:
				n = min(n, g.missing(int32(i+2))+1)
			}
		}
		if g.rest == nil && int(n) < len(g.text)-i {
			g.rest = make([]int32, len(g.text)+1)
			for q := range g.rest {
				g.rest[q] = int32(len(g.text) - q)
			}
		}
		if g.rest != nil {
			g.rest[i] = n
		}
	}
}

// search fills in the failures of the piece that begins at state base.
func (g *glob) search(base int, piece string) {
	fail := g.fail[base-g.head:]
	none := ^int32(base)
	fail[0] = none
	at := int32(0) // the longest beginning of the piece that ends here, -1 for none
	for i := 1; i < len(piece); i++ {
		if piece[i] == piece[at] {
			fail[i] = fail[at]
		} else {
			fail[i] = int32(base) + at
			for at >= 0 && piece[i] != piece[at] {
				if at = fail[at]; at >= 0 {
					at -= int32(base)
				} else {
					at = -1
				}
			}
		}
		at++
	}
	fail[len(piece)] = int32(base) + at
}

// step returns the state after a byte.
func (g *glob) step(q int32, c byte) int32 {
	switch {
	case int(q) < g.head:
		if g.text[q] == c {
			return q + 1
		}
		return dead
	case int(q) == len(g.text):
		if !g.end {
			return q
		}
		if g.fail == nil {
			return dead
		}
		q = g.fail[int(q)-g.head]
	case q == dead:
		return dead
	}
	for q >= 0 {
		if g.text[q] == c {
			return q + 1
		}
		q = g.fail[int(q)-g.head]
	}
	return ^q
}

// run returns the state after some bytes.
func (g *glob) run(q int32, s string) int32 {
	for i := 0; i < len(s) && q != dead; i++ {
		q = g.step(q, s[i])
	}
	return q
}

// done reports whether all is found.
func (g *glob) done(q int32) bool { return int(q) == len(g.text) }

// holds reports whether the pattern matches whatever follows.
func (g *glob) holds(q int32) bool { return !g.end && g.done(q) }

// missing returns how many bytes the URL must have at least from here.
func (g *glob) missing(q int32) int32 {
	if g.rest != nil {
		return g.rest[q]
	}
	return int32(len(g.text)) - q
}

// only reports that one byte alone keeps the pattern alive.
func (g *glob) only(q int32) bool { return int(q) < g.head }

// waits adds the bytes that lead elsewhere than all others do.
func (g *glob) waits(q int32, to *letters) {
	if int(q) == len(g.text) {
		if !g.end || g.fail == nil {
			return
		}
		q = g.fail[int(q)-g.head]
	}
	if g.only(q) {
		to.add(g.text[q])
		return
	}
	for q >= 0 {
		to.add(g.text[q])
		q = g.fail[int(q)-g.head]
	}
}

// letters is a set of bytes below 0x80; patterns hold no others.
type letters [2]uint64

func (l *letters) add(c byte) {
	if c < 0x80 {
		l[c>>6] |= 1 << (c & 63)
	}
}

func (l letters) has(c byte) bool { return c < 0x80 && l[c>>6]&(1<<(c&63)) != 0 }

func (l *letters) join(m letters) { l[0], l[1] = l[0]|m[0], l[1]|m[1] }

func (l letters) and(m letters) letters    { return letters{l[0] & m[0], l[1] & m[1]} }
func (l letters) andNot(m letters) letters { return letters{l[0] &^ m[0], l[1] &^ m[1]} }
func (l letters) empty() bool              { return l[0]|l[1] == 0 }
func (l letters) meets(m letters) bool     { return l[0]&m[0]|l[1]&m[1] != 0 }

// holds reports whether all bytes of a text are letters of the set.
func (l letters) holds(s string) bool {
	for i := range len(s) {
		if !l.has(s[i]) {
			return false
		}
	}
	return true
}

func lettersOf(s string) (l letters) {
	for i := range len(s) {
		l.add(s[i])
	}
	return l
}
