package robots

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// A search finds rules with stars in one path at a bounded cost. A few substring
// searches cost the length of the path each and are the short way. Thousands of
// them, of pieces that nearly occur, are a hostile file; then a suffix tree of the
// path, which tells by reading a piece whether and where it occurs, makes all
// that follows cost what reading the rules costs.
//
// The path is not part of it but given each time, so that it may stay on the
// stack of a caller who brought it into its normal form there.
type search struct {
	work  int // bytes of rules and path looked at
	leaps int // of these on the way to the next occurrence of a piece, for want of successors
	tree  *suffixTree
}

// searchLimit is the work, in lengths of the path, after which the tree is built:
// building takes about as much. What takes less than searchLeast is nobody's harm.
const (
	searchLimit = 4
	searchLeast = 1 << 14
	// shortPath is the length up to which a plain search takes no longer than the tree.
	shortPath = 64
)

// match is Pattern.match.
func (s *search) match(path string, p Pattern) bool {
	if star := strings.IndexByte(p.text, '*'); star < 0 || !strings.HasPrefix(path, p.text[:star]) {
		s.work += len(p.text)
		return star < 0 && p.match(path)
	}
	if s.plain(path) {
		s.work += len(path) + len(p.text)
		return p.match(path)
	}
	return s.walk(p.text)
}

// plain reports whether the next substring search is to be a plain one, and
// builds the tree when no more are.
func (s *search) plain(path string) bool {
	if s.tree == nil {
		if s.work <= searchLeast || len(path) <= shortPath || s.work <= searchLimit*len(path) || len(path) > maxTreePath {
			return true
		}
		s.tree = newSuffixTree(path)
		s.work += len(path)
	}
	return false
}

// done gives the tree back.
func (s *search) done() {
	if s.tree != nil {
		s.tree.free()
		s.tree = nil
	}
}

// walk is Pattern.match by the tree, for a pattern with a star of which the path begins
// with what stands before it.
func (s *search) walk(pat string) bool {
	at := strings.IndexByte(pat, '*')
	last := at
	if strings.IndexByte(pat[at+1:], '*') >= 0 {
		last = strings.LastIndexByte(pat, '*')
	}
	s.work += len(pat) - last
	end := s.lastPlace(pat[last+1:])
	bounded := false
	for pieces := strings.TrimRight(pat[at:last], "*"); pieces != "" && at <= end; {
		piece, rest := nextPiece(pieces)
		s.work += len(pieces) - len(rest)
		// It often comes soon, and then a look is shorter.
		near := s.tree.path[at:min(end, at+4*len(piece)+32)]
		if i := strings.Index(near, piece); i >= 0 {
			at += i + len(piece)
			s.work += i
			pieces = rest
			continue
		}
		s.work += len(near)
		if at+len(near) == end {
			return false
		}
		if !bounded {
			if ok, sure := s.bound(pieces, at, end); sure {
				return ok
			}
			bounded = true
		}
		found, first, last := s.tree.locate(piece)
		switch {
		case found == noNode || last < at:
			return false
		case first >= at:
			at = first
		case s.leaps < searchLimit*len(s.tree.path):
			// Not often: then a search is shorter than what after needs.
			i := strings.Index(s.tree.path[at:], piece)
			s.leaps += i
			s.work += i
			at += i
		default:
			s.work += 2 * bits.Len(uint(len(s.tree.path)))
			at = s.tree.after(found, at)
		}
		at += len(piece)
		pieces = rest
	}
	return at <= end
}

// bound is walk, from a place that is known, but it does not look for the next occurrence
// of a piece that occurs both before and after the one before it. Then it only bounds
// from below where pieces end: enough to be sure that most rules do not match.
func (s *search) bound(pieces string, at, end int) (ok, sure bool) {
	sure = true
	for pieces != "" {
		var piece string
		piece, pieces = nextPiece(pieces)
		s.work += len(piece)
		found, first, last := s.tree.locate(piece)
		if found == noNode || last < at {
			return false, true
		}
		if first >= at {
			at = first
		} else {
			sure = false
		}
		if at += len(piece); at > end {
			return false, true
		}
	}
	return true, sure
}

// lastPlace returns where the pieces before the last one must end at the latest, -1 if the
// last does not occur.
func (s *search) lastPlace(piece string) int {
	if text, ok := strings.CutSuffix(piece, "$"); ok {
		if !strings.HasSuffix(s.tree.path, text) {
			return -1
		}
		return len(s.tree.path) - len(text)
	}
	if piece == "" {
		return len(s.tree.path)
	}
	if found, _, last := s.tree.locate(piece); found != noNode {
		return last
	}
	return -1
}

// nextPiece returns what stands between the star with which pieces begin and the next one,
// and the rest.
func nextPiece(pieces string) (piece, rest string) {
	from := 0
	for from < len(pieces) && pieces[from] == '*' { // "**" is "*"
		from++
	}
	to := from // most pieces are short: a loop takes less than a call
	for to < len(pieces) && pieces[to] != '*' {
		to++
	}
	return pieces[from:to], pieces[to:]
}

// suffixTree is the suffix tree of a path (Ukkonen, 1995) in arrays: 49 bytes per
// byte of the path, 60 with what after needs. Node 0 is the root. An edge leads
// from a node by a symbol, a byte or the end of the path, to a node or to a leaf,
// which stands for the suffix that begins at its number.
type suffixTree struct {
	path  string // a view of text
	text  []byte
	edges []uint64 // hashed by node and symbol, see edge; 0 for none
	start []uint32 // by node: where its text occurs first
	depth []uint32 // bytes of its text
	link  []uint32 // the node of that text without its first byte; after building the parent
	last  []uint32 // where its text occurs last
	order []uint32 // nodes by depth
	spare []uint32
	jumps [1 << jumpBits]jump

	next  successors
	count []uint32 // by node: the leaves below it
	left  []uint32 // the first of them in the order of next
}

// A jump is the last node on the way of eight bytes, by which locate came before:
// in a text of two letters these are eight steps of some fifteen.
type jump struct {
	word uint64
	node uint32
	done uint32 // bytes of its text; 0 for no jump
}

const (
	jumpBits   = 10
	symbolBits = 9
	nodeBits   = 27
	endSymbol  = 256
	leafBit    = 1 << nodeBits
	noNode     = ^uint32(0)
	// maxTreePath is the number of bytes whose nodes have numbers of 27 bits, 128
	// MiB. Longer paths are searched without a tree.
	maxTreePath = 1<<nodeBits - 2
)

var treePool = sync.Pool{New: func() any { return new(suffixTree) }}

func (t *suffixTree) free() {
	if len(t.text) <= 1<<16 {
		treePool.Put(t)
	}
}

// room returns v with n entries of any value.
func room[T any](v []T, n int) []T { return slices.Grow(v[:0], n)[:n] }

func newSuffixTree(path string) *suffixTree {
	t := treePool.Get().(*suffixTree)
	t.read(path)
	return t
}

func (t *suffixTree) read(path string) {
	t.text = append(t.text[:0], path...) // the caller's path may be on its stack
	t.path = view(t.text)
	n := len(path)
	t.edges = room(t.edges, 3*n+8+endSymbol) // at most 2n+1 are used
	clear(t.edges)
	t.start = append(room(t.start, n+2)[:0], 0)
	t.depth = append(room(t.depth, n+2)[:0], 0)
	t.link = append(room(t.link, n+2)[:0], 0)
	t.next.numbers = t.next.numbers[:0]
	clear(t.jumps[:])
	t.build()
	t.finish()
}

// symbol returns the byte at i, or what stands for the end of the path.
func (t *suffixTree) symbol(i int) uint32 {
	if i < len(t.text) {
		return uint32(t.text[i])
	}
	return endSymbol
}

// edge returns where the edge of a node by a symbol is or would be: the node plus
// one, the symbol and where it leads, in 64 bits.
func (t *suffixTree) edge(node, symbol uint32) *uint64 {
	key := uint64(node+1)<<symbolBits | uint64(symbol)
	// The edges of a node are near each other, which saves misses of the cache.
	size := uint64(len(t.edges) - endSymbol)
	h := uint64(node+1)*0x9E3779B97F4A7C15>>32*size>>32 + uint64(symbol)
	for {
		e := &t.edges[h]
		if *e == 0 || *e>>(nodeBits+1) == key {
			return e
		}
		if h++; h == uint64(len(t.edges)) {
			h = 0
		}
	}
}

// to returns where an edge leads.
func to(edge uint64) uint32 { return uint32(edge) & (leafBit<<1 - 1) }

// set fills an edge of a node by a symbol.
func (t *suffixTree) set(e *uint64, node, symbol, target uint32) {
	*e = (uint64(node+1)<<symbolBits|uint64(symbol))<<(nodeBits+1) | uint64(target)
}

// build reads the path byte by byte. What is still to be added, remain suffixes,
// begins at the active point: length bytes, like those at from, below node.
func (t *suffixTree) build() {
	node, from, length, remain := uint32(0), 0, 0, 0
	for i := 0; i <= len(t.text); i++ {
		c := t.symbol(i)
		remain++
		made := uint32(0) // the last node made for this byte: its link is the next one, else the root
		for remain > 0 {
			if length == 0 {
				from = i
			}
			leaf := leafBit | uint32(i-remain+1)
			e := t.edge(node, t.symbol(from))
			if *e == 0 {
				t.set(e, node, t.symbol(from), leaf)
				t.link[made], made = node, 0
			} else {
				child := to(*e)
				first := child &^ leafBit
				if child&leafBit == 0 {
					if span := int(t.depth[child] - t.depth[node]); length >= span {
						node, from, length = child, from+span, length-span
						continue
					}
					first = t.start[child]
				}
				at := int(first+t.depth[node]) + length
				if t.symbol(at) == c {
					length++
					t.link[made] = node
					break
				}
				split := uint32(len(t.start))
				t.start = append(t.start, first)
				t.depth = append(t.depth, t.depth[node]+uint32(length))
				t.link = append(t.link, 0)
				*e = *e&^(leafBit<<1-1) | uint64(split)
				t.set(t.edge(split, t.symbol(at)), split, t.symbol(at), child)
				t.set(t.edge(split, c), split, c, leaf)
				t.link[made], made = split, split
			}
			t.link[0] = 0
			remain--
			if node == 0 && length > 0 {
				length--
				from = i - remain + 1
			} else if node > 0 {
				node = t.link[node]
			}
		}
	}
}

// finish finds parents, the order of depth and the last occurrences.
func (t *suffixTree) finish() {
	nodes := len(t.start)
	t.last = room(t.last, nodes)
	clear(t.last)
	for _, e := range t.edges {
		if e == 0 {
			continue
		}
		node := uint32(e>>(nodeBits+1)>>symbolBits) - 1
		if c := to(e); c&leafBit == 0 {
			t.link[c] = node
		} else {
			t.last[node] = max(t.last[node], c&^leafBit)
		}
	}
	t.order, t.spare = room(t.order, len(t.text)+1), room(t.spare, len(t.text)+2)
	clear(t.spare)
	for _, d := range t.depth {
		t.spare[d+1]++
	}
	for d := 1; d < len(t.spare); d++ {
		t.spare[d] += t.spare[d-1]
	}
	t.order = t.order[:nodes]
	for i, d := range t.depth {
		t.order[t.spare[d]] = uint32(i)
		t.spare[d]++
	}
	for _, v := range slices.Backward(t.order) {
		if p := t.link[v]; v > 0 {
			t.last[p] = max(t.last[p], t.last[v])
		}
	}
}

// locate returns the node or leaf below which piece occurs, noNode if it does not
// occur, and its first and last occurrence.
func (t *suffixTree) locate(piece string) (found uint32, first, last int) {
	node, done := uint32(0), 0
	word := load8(piece)
	j := &t.jumps[word*0x9E3779B97F4A7C15>>(64-jumpBits)]
	if j.word == word && int(j.done) <= len(piece) {
		node, done = j.node, int(j.done)
	}
	for {
		if done > 0 && done <= 8 {
			*j = jump{word, node, uint32(done)}
		}
		if done == len(piece) {
			return node, int(t.start[node]), int(t.last[node])
		}
		e := *t.edge(node, uint32(piece[done]))
		if e == 0 {
			return noNode, 0, 0
		}
		child := to(e)
		if child&leafBit != 0 {
			at := int(child &^ leafBit)
			if !strings.HasPrefix(t.path[at+done:], piece[done:]) {
				return noNode, 0, 0
			}
			return child, at, at
		}
		start, end := int(t.start[child]), min(int(t.depth[child]), len(piece))
		if t.path[start+done:start+end] != piece[done:end] {
			return noNode, 0, 0
		}
		if done = end; end < int(t.depth[child]) {
			return child, start, int(t.last[child])
		}
		node = child
	}
}

// after returns the first occurrence at or after a place of what ends at or above
// a node; there must be one.
func (t *suffixTree) after(node uint32, place int) int {
	if len(t.next.numbers) == 0 {
		t.sortLeaves()
	}
	l := int(t.left[node])
	return t.next.find(l, l+int(t.count[node]), uint32(place))
}

// sortLeaves puts the leaves in an order in which those below a node follow one
// another.
func (t *suffixTree) sortLeaves() {
	nodes := len(t.start)
	t.count, t.left = room(t.count, nodes), room(t.left, nodes)
	clear(t.count)
	leaves := func(fn func(node, leaf uint32)) {
		for _, e := range t.edges {
			if c := to(e); e != 0 && c&leafBit != 0 {
				fn(uint32(e>>(nodeBits+1)>>symbolBits)-1, c&^leafBit)
			}
		}
	}
	leaves(func(node, _ uint32) { t.count[node]++ })
	for _, v := range slices.Backward(t.order) {
		if v > 0 {
			t.count[t.link[v]] += t.count[v]
		}
	}
	// Left is first the place for what comes next below a node, and in the end
	// brought back by what came.
	t.left[0] = 0
	for _, v := range t.order {
		if v > 0 {
			p := t.link[v]
			t.left[v] = t.left[p]
			t.left[p] += t.count[v]
		}
	}
	sorted := room(t.spare, len(t.text)+1)
	leaves(func(node, leaf uint32) {
		sorted[t.left[node]] = leaf
		t.left[node]++
	})
	for v := range t.left {
		t.left[v] -= t.count[v]
	}
	t.next.build(sorted, room(t.order, len(sorted)))
}

// successors are the numbers from 0 up, each once and in any order, that tell the least
// one not below another in any part of them: a wavelet matrix of their higher bits, two
// looks per bit. Those alike in these bits are so few that they are looked through.
type successors struct {
	levels  int
	words   int     // per level
	marks   []marks // of the higher bits, the highest first; between levels the numbers are parted by that bit
	zeros   [32]int // numbers with a 0 in each level
	numbers []uint32
}

// marks are a bit of 64 numbers, and how many numbers before them have it, together with
// those of the level that have not.
type marks struct {
	bits   uint64
	before int
}

// lookedThrough is the number of bits that are not in levels.
const lookedThrough = 6

// build takes the numbers, which it keeps and changes, and room for as many.
func (s *successors) build(numbers, spare []uint32) {
	s.levels = max(0, bits.Len(uint(len(numbers)))-lookedThrough)
	s.words = len(numbers)/64 + 1
	s.marks = room(s.marks, s.levels*s.words)
	s.numbers = numbers
	for level := range s.levels {
		row := s.marks[level*s.words:][:s.words]
		ones := 0
		for w := range row {
			from := min(64*w, len(numbers))
			part := numbers[from:min(from+64, len(numbers))]
			row[w].before = ones
			row[w].bits = divide(part, numbers[from-ones:], spare[ones:], s.shift(level))
			ones += bits.OnesCount64(row[w].bits)
		}
		zeros := len(numbers) - ones
		copy(numbers[zeros:], spare[:ones])
		for w := range row {
			row[w].before += zeros
		}
		s.zeros[level] = zeros
	}
}

// divide returns a bit of up to 64 numbers and puts those that have it into ones, the
// others into zeros, where what it has read may be. Inlined it has too few registers.
//
//go:noinline
func divide(numbers, zeros, ones []uint32, shift int) (word uint64) {
	set := uint32(0)
	zeros, ones = zeros[:len(numbers)], ones[:len(numbers)]
	for i, v := range numbers {
		// No branch, because no bit can be foreseen.
		bit := v >> (shift & 31) & 1
		word |= uint64(bit) << (i & 63)
		zeros[uint32(i)-set], ones[set] = v, v
		set += bit
	}
	return word
}

// shift returns the place of the bit of a level.
func (s *successors) shift(level int) int { return s.levels - 1 - level + lookedThrough }

// ones returns the place, in the next level, of the first number with a 1 at or after place i.
func (s *successors) ones(level, i int) int {
	m := &s.marks[level*s.words+i>>6]
	return m.before + bits.OnesCount64(m.bits&(1<<(i&63)-1))
}

// find returns the least number not below least at the places l to r. There must
// be one.
func (s *successors) find(l, r int, least uint32) int {
	// Down along the bits of least; where that has a 0, numbers with a 1 are
	// greater: the deepest such branch holds the answer if the way ends.
	branch, branchL, branchR := 0, 0, 0
	for level := 0; level < s.levels && l < r; level++ {
		l1, r1 := s.ones(level, l), s.ones(level, r)
		if least>>(s.shift(level)&31)&1 != 0 {
			l, r = l1, r1
			continue
		}
		if l1 < r1 {
			branch, branchL, branchR = level+1, l1, r1
		}
		l, r = l-l1+s.zeros[level], r-r1+s.zeros[level]
	}
	if v := s.leastOf(l, r, least); v != noNode {
		return int(v)
	}
	l, r = branchL, branchR
	for level := branch; level < s.levels; level++ {
		l1, r1 := s.ones(level, l), s.ones(level, r)
		if r-l > r1-l1 {
			l, r = l-l1+s.zeros[level], r-r1+s.zeros[level]
		} else {
			l, r = l1, r1
		}
	}
	return int(s.leastOf(l, r, 0))
}

// leastOf looks through the numbers at the places l to r behind the last level; without one
// that is not below least it returns noNode.
func (s *successors) leastOf(l, r int, least uint32) uint32 {
	found := uint32(noNode)
	for _, v := range s.numbers[l:r] {
		if v >= least {
			found = min(found, v)
		}
	}
	return found
}
