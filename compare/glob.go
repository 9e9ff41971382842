package compare

import (
	"slices"
	"strings"
)

// A glob is the automaton of a pattern. Its state is the number of bytes of the pieces that are
// found, or dead. The path must begin with the first piece. Each further piece is searched from
// the end of the one before, and its first occurrence is as good as any later one. When all
// pieces are found, a pattern without an end matches whatever follows, and one with an end
// matches if the path ends.
type glob struct {
	text string // all pieces
	head int    // bytes of the first
	end  bool
	// fail has for the states from head on the state to try next if the byte is not the
	// expected one: one that expects another byte, or the complement of the state in which no
	// byte of the piece is found. So a path of failures grows only with the logarithm of the
	// piece (Knuth, Morris and Pratt, 1977).
	fail      []int32
	textBytes letters // bytes of the text
	// minRest has for each state a lower bound of the bytes that a URL still needs. They are fewer
	// than those of the text where a byte that is invalid in URIs has the image of its escape
	// (D-14, D-43). Nil if that is nowhere possible.
	minRest []int32
}

// dead is the state of a pattern that cannot match any more.
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
	g.textBytes = lettersOf(g.text)
	if escapes && strings.ContainsAny(g.text, "%23567") {
		g.shorten()
	}
	return g
}

// shorten fills in rest. A byte that is invalid in URIs has three bytes in the normal form, and
// stars can match some of them. So a byte of a URL finds at most three bytes of the text if they
// begin with '%', and two if they begin a piece with the first digit of such an escape.
func (g *glob) shorten() {
	g.minRest = make([]int32, len(g.text)+1)
	for i := len(g.text) - 1; i >= 0; i-- {
		found := 1
		switch c := g.text[i]; {
		case c == '%':
			found = 3
		case strings.IndexByte("23567", c) >= 0 && i >= g.head && g.fail[i-g.head] == ^int32(i):
			found = 2
		}
		g.minRest[i] = 1 + slices.Min(g.minRest[i+1:min(i+1+found, len(g.minRest))])
	}
}

// search fills in fail for the piece that begins at state base.
func (g *glob) search(base int, piece string) {
	fail := g.fail[base-g.head:]
	none := ^int32(base)
	fail[0] = none
	at := int32(0) // length of the longest prefix of the piece that ends here, -1 for none
	for i := 1; i < len(piece); i++ {
		if piece[i] == piece[at] {
			fail[i] = fail[at]
		} else {
			fail[i] = int32(base) + at
			for at >= 0 && piece[i] != piece[at] {
				at = fail[at]
				if at >= 0 {
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

// done reports whether all pieces are found.
func (g *glob) done(q int32) bool { return int(q) == len(g.text) }

// holds reports whether the pattern matches whatever follows.
func (g *glob) holds(q int32) bool { return !g.end && g.done(q) }

// missing returns a lower bound of the bytes that the URL still needs.
func (g *glob) missing(q int32) int32 {
	if g.minRest != nil {
		return g.minRest[q]
	}
	return int32(len(g.text)) - q
}

// only reports whether every byte but one leads to dead.
func (g *glob) only(q int32) bool { return int(q) < g.head }

// waits adds the bytes that do not lead to the same state as most bytes.
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

// letters is a set of bytes below 0x80; patterns contain no others.
type letters [2]uint64

func (l *letters) add(c byte) {
	if c < 0x80 {
		l[c>>6] |= 1 << (c & 63)
	}
}

func (l letters) has(c byte) bool { return c < 0x80 && l[c>>6]&(1<<(c&63)) != 0 }

func (l *letters) join(m letters) {
	l[0] = l[0] | m[0]
	l[1] = l[1] | m[1]
}

func (l letters) and(m letters) letters    { return letters{l[0] & m[0], l[1] & m[1]} }
func (l letters) andNot(m letters) letters { return letters{l[0] &^ m[0], l[1] &^ m[1]} }
func (l letters) empty() bool              { return l[0]|l[1] == 0 }
func (l letters) meets(m letters) bool     { return l[0]&m[0]|l[1]&m[1] != 0 }

func lettersOf(s string) (l letters) {
	for i := range len(s) {
		l.add(s[i])
	}
	return l
}
