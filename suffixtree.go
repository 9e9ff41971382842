package robots

import (
	"encoding/binary"
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
	work int // some eight instructions each; of a plain search a byte
	tree *suffixTree
}

// searchLimit is the work, in lengths of the path, after which the tree is built:
// building takes about as much. What takes less than searchLeast is nobody's harm.
const (
	searchLimit = 4
	searchLeast = 1 << 14
	// What the parts of a search by the tree take, counted with valgrind (2026-11-22).
	treeWork  = 45  // a byte of the path, to build the tree
	sortWork  = 5   // a byte of the path, to put the leaves in order
	walkWork  = 25  // a rule
	pieceWork = 20  // a piece of it
	stepWork  = 8   // an edge on the way to a piece that has not been met lately
	setWork   = 2   // a leaf of a set
	nextWork  = 120 // a piece whose next occurrence successors tell
	buildWork = 35  // a byte of the path, to build successors
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
		s.work += treeWork * len(path)
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
func (s *search) walk(pat string) (ok bool) {
	t := s.tree
	at := strings.IndexByte(pat, '*')
	last := at
	if strings.IndexByte(pat[at+1:], '*') >= 0 { // from the back it is slower
		last = strings.LastIndexByte(pat, '*')
	}
	s.work += walkWork + len(pat) - last
	end := s.lastPlace(pat[last+1:])
	rest, least := pat[at+1:], len(pat)-last
	pieces, near := 0, false // near: the last one was, so the next one may be
walk:
	for at <= end {
		if len(rest) < least {
			ok = true
			break
		}
		pieces++
		var word uint64
		if len(rest) >= 8 {
			word = binary.LittleEndian.Uint64(bytesOf(rest))
		} else {
			word = load8(rest)
		}
		var node uint32
		size := 8
		if stars := zeros(word ^ '*'*eachByte); stars != 0 {
			// Most pieces are short: they end at the first byte of eight that is a star.
			if size = bits.TrailingZeros64(stars) / 8; size == 0 { // "**" is "*"
				rest = rest[1:]
				continue
			}
			word &= stars&-stars>>7 - 1
			if size == 1 && near {
				if i := t.near(at, word); i >= 0 {
					at += i + 1
					rest = rest[2:]
					continue
				}
			}
			j := t.jump(word)
			if node = j.node; j.word != word || j.size != uint8(size) {
				node = t.locate(rest[:size], word)
			}
		} else {
			size += strings.IndexByte(rest[8:], '*')
			node = t.locate(rest[:size], word)
		}
		from := at
		switch {
		case node < leafBit:
			v := &t.nodes[node]
			if int(v.start) >= at {
				at = int(v.start)
			} else if int(v.last) < at {
				break walk
			} else if next, sure := t.after(v, at, rest[:size]); sure {
				at = next
			} else if size > 1 || t.path[at] != rest[0] {
				at += strings.Index(t.path[at:], rest[:size])
			}
		case node == noNode || int(node&^leafBit) < at:
			break walk
		default:
			at = int(node &^ leafBit)
		}
		near = at < from+8
		at += size
		rest = rest[size+1:]
	}
	s.work += pieceWork*pieces + t.work
	t.work = 0
	return ok
}

// near returns how far away a byte is, -1 if that is more than seven bytes.
func (t *suffixTree) near(place int, word uint64) int {
	if place+8 > len(t.path) {
		return -1
	}
	found := zeros(binary.LittleEndian.Uint64(bytesOf(t.path[place:])) ^ word*eachByte)
	if found == 0 {
		return -1
	}
	return bits.TrailingZeros64(found) / 8
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
	return s.tree.lastOf(s.tree.locate(piece, load8(piece)))
}

// suffixTree is the suffix tree of a path (Ukkonen, 1995) in arrays: 57 bytes per
// byte of the path, 63 with what after needs. Node 0 is the root. An edge leads
// from a node by a symbol, a byte or the end of the path, to a node or to a leaf,
// which stands for the suffix that begins at its number.
type suffixTree struct {
	path  string // a view of text
	text  []byte
	edges edgeTable
	nodes []treeNode
	order []uint32 // nodes by depth
	spare []uint32
	jumps [1 << jumpBits]jump

	// What after needs; see makeSet.
	leaves []uint32 // in an order in which those below a node follow one another
	sets   []uint32
	ends   []uint16
	block  []uint64   // by block of the path, a bit of each byte; 0 between sets
	few    uint32     // so many leaves are looked through
	next   successors // in place of sets and leaves, once the room for sets is full again
	work   int        // of the search beyond walkWork and pieceWork
}

// A treeNode is a node. What is asked of one together is together, so that it takes one miss
// of the cache.
type treeNode struct {
	start uint32 // where its text occurs first
	depth uint32 // bytes of its text
	link  uint32 // the node of that text without its first byte, then the parent, in the end its set
	last  uint32 // where its text occurs last
	count uint32 // the leaves below it
	left  uint32 // the first of them in the order of leaves, and their end once that order is made
}

// A jump is what locate found for a piece of up to eight bytes, or the last node on the way
// of the first eight of a longer one: in a text of two letters these are eight steps of some
// fifteen. With 4,096 of them a file of a thousand pieces of two letters finds nearly all here,
// which saves 60 instructions each.
type jump struct {
	word uint64
	node uint32
	size uint8 // of the piece, longPiece for longer ones; 0 for no jump
	done uint8 // bytes of the node's text, for longer ones
}

const (
	jumpBits   = 12
	longPiece  = 9 // bytes of a piece that has no word
	symbolBits = 9
	nodeBits   = 27
	endSymbol  = 256
	leafBit    = 1 << nodeBits
	noNode     = ^uint32(0)
	// blockSize is what a bit of a set stands for, blocks are bits in a word of it.
	blockSize = 64
	blocks    = 32
	// fewAtFirst and fewAtLast are how many leaves are looked through, five instructions each,
	// until the room for sets is full once and then.
	fewAtFirst = 32
	fewAtLast  = 160
	// noSet and above, link stands for no set; noNode less link is how far leap has come, in
	// steps of leapStep bytes, of which leapLimit per leaf take about as long as making a set.
	noSet     = 1 << 31
	leapStep  = 16
	leapLimit = 2
	// maxTreePath is the number of bytes whose nodes have numbers of 27 bits, 128
	// MiB. Longer paths are searched without a tree.
	maxTreePath = 1<<nodeBits - 2
)

var treePool = sync.Pool{New: func() any { return new(suffixTree) }}

func (t *suffixTree) free() {
	if len(t.path) <= 1<<16 {
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
	t.nodes = room(t.nodes, n+2)
	t.leaves, t.sets, t.few, t.work, t.next = t.leaves[:0], nil, fewAtFirst, 0, successors{}
	clear(t.jumps[:])
	t.build()
	t.finish()
}

// An edgeTable holds the edges, hashed by node and symbol: the node plus one, the symbol and
// where it leads, in 64 bits; 0 for none.
type edgeTable []uint64

// edge returns where the edge of a node by a symbol is or would be.
func (t edgeTable) edge(node, symbol uint32) *uint64 {
	key := uint64(node+1)<<symbolBits | uint64(symbol)
	// The edges of a node are near each other, which saves misses of the cache.
	h := uint64(node+1)*0x9E3779B97F4A7C15>>32*uint64(len(t)-endSymbol)>>32 + uint64(symbol)
	for {
		e := &t[h]
		if *e == 0 || *e>>(nodeBits+1) == key {
			return e
		}
		if h++; h == uint64(len(t)) {
			h = 0
		}
	}
}

// to returns where an edge leads.
func to(edge uint64) uint32 { return uint32(edge) & (leafBit<<1 - 1) }

// fill returns an edge of a node by a symbol.
func fill(node, symbol, target uint32) uint64 {
	return (uint64(node+1)<<symbolBits|uint64(symbol))<<(nodeBits+1) | uint64(target)
}

// build reads the path byte by byte. What is still to be added, the suffixes from
// next on, begins at the active point: length bytes, like those at from, below node.
func (t *suffixTree) build() {
	text, edges := t.path, t.edges
	nodes := t.nodes // it and what it holds stay in registers
	nodes[0] = treeNode{}
	count := uint32(1)
	node, from, length, next := uint32(0), 0, 0, 0
	for i := 0; i <= len(text); i++ {
		c := uint32(endSymbol)
		if i < len(text) {
			c = uint32(text[i])
		}
		made := uint32(0) // the last node made for this byte: its link is the next one, else the root
		for next <= i {
			symbol := c
			if length > 0 {
				symbol = uint32(text[from])
			} else {
				from = i
			}
			leaf := leafBit | uint32(next)
			e := edges.edge(node, symbol)
			if *e == 0 {
				*e = fill(node, symbol, leaf)
				nodes[made].link, made = node, 0
			} else {
				child := to(*e)
				first := child &^ leafBit
				above := nodes[node].depth
				if child&leafBit == 0 {
					below := &nodes[child]
					if span := int(below.depth - above); length >= span {
						node, from, length = child, from+span, length-span
						continue
					}
					first = below.start
				}
				below := uint32(text[int(first+above)+length])
				if below == c {
					length++
					nodes[made].link = node
					break
				}
				split := count
				count++
				nodes[split] = treeNode{start: first, depth: above + uint32(length)}
				*e = *e&^(leafBit<<1-1) | uint64(split)
				*edges.edge(split, below) = fill(split, below, child)
				*edges.edge(split, c) = fill(split, c, leaf)
				nodes[made].link, made = split, split
			}
			next++
			if node > 0 {
				node = nodes[node].link
			} else if length > 0 {
				length--
				from = next
			}
		}
	}
	t.nodes = nodes[:count]
}

// finish finds for each node its last occurrence and the leaves below it.
func (t *suffixTree) finish() {
	nodes := t.nodes
	for _, e := range t.edges {
		if e == 0 {
			continue
		}
		above := uint32(e>>(nodeBits+1)>>symbolBits) - 1
		if c := to(e); c&leafBit == 0 {
			nodes[c].link = above
		} else {
			v := &nodes[above]
			v.last = max(v.last, c&^leafBit)
			v.count++
		}
	}
	order, next := room(t.order, len(t.path)+1)[:len(nodes)], room(t.spare, len(t.path)+2)
	clear(next)
	for i := range nodes {
		next[nodes[i].depth+1]++
	}
	sum := uint32(0)
	for d := range next {
		sum += next[d]
		next[d] = sum
	}
	for i := range nodes {
		at := &next[nodes[i].depth]
		order[*at] = uint32(i)
		*at++
	}
	t.order, t.spare = order, next
	for _, i := range slices.Backward(order[1:]) { // the first is the root
		v := &nodes[i]
		above := &nodes[v.link]
		above.last = max(above.last, v.last)
		above.count += v.count
	}
	for _, i := range order[1:] {
		v := &nodes[i]
		above := &nodes[v.link]
		v.left = above.left
		above.left += v.count
		v.link = noNode
	}
	nodes[0].link = noNode
}

// jump returns the jump for a piece by its first eight bytes.
func (t *suffixTree) jump(word uint64) *jump {
	return &t.jumps[word*0x9E3779B97F4A7C15>>(64-jumpBits)]
}

// locate returns the node or leaf below which piece occurs, noNode if it does not
// occur. Word are its first eight bytes.
func (t *suffixTree) locate(piece string, word uint64) uint32 {
	j := t.jump(word)
	node, done, size := uint32(0), 0, uint8(min(len(piece), longPiece))
	if j.word == word && j.size == size {
		if size <= 8 {
			return j.node
		}
		node, done = j.node, int(j.done)
	}
	found := noNode
	for {
		// The first byte of an edge is right, and most have no more.
		t.work += stepWork
		if size == longPiece && done > 0 && done <= 8 {
			*j = jump{word, node, longPiece, uint8(done)}
		}
		if done == len(piece) {
			found = node
			break
		}
		e := *t.edges.edge(node, uint32(piece[done]))
		if e == 0 {
			break
		}
		child := to(e)
		if child&leafBit != 0 {
			if len(piece) == done+1 || strings.HasPrefix(t.path[int(child&^leafBit)+done:], piece[done:]) {
				found = child
			}
			break
		}
		v := &t.nodes[child]
		start, end := int(v.start), min(int(v.depth), len(piece))
		if end > done+1 && t.path[start+done:start+end] != piece[done:end] {
			break
		}
		if done = end; end < int(v.depth) {
			found = child
			break
		}
		node = child
	}
	if size <= 8 {
		*j = jump{word, found, size, 0}
	}
	return found
}

// lastOf returns where what is found there occurs last, -1 for noNode.
func (t *suffixTree) lastOf(node uint32) int {
	switch {
	case node < leafBit:
		return int(t.nodes[node].last)
	case node == noNode:
		return -1
	}
	return int(node &^ leafBit)
}

// after returns the first occurrence, at or after a place, of a piece that occurs below a
// node; there must be one. If that is not sure the piece occurs within the next blockSize
// bytes and is to be looked for there.
func (t *suffixTree) after(v *treeNode, place int, piece string) (next int, sure bool) {
	if v.link >= noSet && v.count > t.few && t.next.numbers == nil {
		if next = t.leap(v, place, piece); next >= 0 {
			return next, true
		}
		t.makeSet(v)
	}
	set := v.link
	switch {
	case set < noSet:
	case t.next.numbers != nil:
		// In a text of few letters short pieces come soon.
		if i := strings.Index(t.path[place:min(place+blockSize, len(t.path))], piece); i >= 0 {
			t.work += nextWork / 4 // some 240 instructions
			return place + i, true
		}
		t.work += nextWork
		return t.next.find(int(v.left-v.count), int(v.left), uint32(place)), true
	default:
		return t.leastOf(v, place), true
	}
	sets := t.sets
	block, in := uint32(place)/blockSize, uint32(place)%blockSize
	at := set + block/blocks*2
	word, bit := sets[at], uint32(1)<<(block%blocks)
	i := sets[at+1] + uint32(bits.OnesCount32(word&(bit-1)))
	if word&bit != 0 {
		ends := uint32(t.ends[i])
		if first := blockSize - ends&0xFF; first >= in {
			return place + int(first-in), true
		}
		if ends>>8 >= in {
			return 0, false
		}
		i++
	}
	for word &= -bit << 1; word == 0; {
		at += 2
		word = sets[at]
	}
	return int((at-set)/2*blocks+uint32(bits.TrailingZeros32(word))+1)*blockSize - int(t.ends[i]&0xFF), true
}

// leap is after by a plain search, -1 if it finds nothing soon or has been tried too often. Long
// pieces are few in a file, but those that begin alike, as a…a in a text of runs, have many
// leaves in common, and each node would need a set: for pieces of up to 40 bytes that took 140
// million instructions. So a node has a set once the searches for it took as long as making it.
func (t *suffixTree) leap(v *treeNode, place int, piece string) int {
	left := leapLimit*int(v.count) - int(noNode-v.link)
	if len(piece) < longPiece || left <= 0 {
		return -1
	}
	i := strings.Index(t.path[place:min(place+leapStep*left, len(t.path))], piece)
	if i < 0 {
		return -1
	}
	v.link -= uint32(i/leapStep + 1)
	t.work += i/leapStep + 1
	return place + i
}

// leastOf is after by looking through the leaves of a node.
func (t *suffixTree) leastOf(v *treeNode, place int) int {
	least, found := uint32(place), noNode
	leaves := t.leavesOf(v)
	t.work += len(leaves) / 2
	for ; len(leaves) >= 4; leaves = leaves[4:] {
		found = min(found, leaves[0]-least, leaves[1]-least, leaves[2]-least, leaves[3]-least)
	}
	for _, leaf := range leaves {
		found = min(found, leaf-least) // those before it wrap
	}
	return place + int(found)
}

const eachByte = 0x01_01_01_01_01_01_01_01

// zeros returns a number whose lowest bit that is set is the highest of the lowest byte of
// word that is 0; without such a byte it is 0.
func zeros(word uint64) uint64 { return (word - eachByte) &^ word & (0x80 * eachByte) }

// makeSet makes the set of the suffixes below a node, if they are not few. It has a bit for each
// blockSize bytes of the path, 32 to a word, and for each bit that is set where in the block a
// suffix begins first and last: behind each word there is how many of these come before. So
// after needs no look at the path, some 70 instructions wherever the next one is; a wavelet matrix
// took 800. A set is made for who asks; there is room for a thousand of a path of 64 KiB. When
// it is full, it is emptied for nodes of more leaves: then pieces of two of 40 letters need none.
// When it is full again, successors take the place of all: in a text of two letters at random
// pieces of up to eight bytes ask 510 nodes, and sets made anew again and again took 600 million
// instructions, successors take 130.
func (t *suffixTree) makeSet(v *treeNode) {
	leaves := t.leavesOf(v)
	size := len(t.path)/(blockSize*blocks)*2 + 2
	if len(t.sets)+size > cap(t.sets) || len(t.ends)+min(len(leaves), len(t.path)/blockSize+1) > cap(t.ends) {
		for i := range t.nodes {
			t.nodes[i].link = noNode
		}
		if t.few == fewAtLast {
			t.work += buildWork * len(t.path)
			t.sets, t.ends = nil, nil
			t.next.build(t.leaves, t.order[:len(t.leaves)])
			return
		}
		t.few, t.sets, t.ends = fewAtLast, t.sets[:0], t.ends[:0]
		if v.count <= t.few {
			return
		}
	}
	t.work += setWork*len(leaves) + size
	at := len(t.sets)
	v.link = uint32(at)
	t.sets = t.sets[:at+size]
	set := t.sets[at:]
	clear(set)
	block := t.block
	for _, leaf := range leaves {
		block[leaf/blockSize] |= 1 << (leaf % blockSize)
		set[leaf/(blockSize*blocks)*2] |= 1 << (leaf / blockSize % blocks)
	}
	for i := 0; i < len(set); i += 2 {
		set[i+1] = uint32(len(t.ends))
		for word := set[i]; word != 0; word &= word - 1 {
			e := &block[i/2*blocks+bits.TrailingZeros32(word)]
			first, last := bits.TrailingZeros64(*e), bits.Len64(*e)-1
			t.ends = append(t.ends, uint16(blockSize-first|last<<8))
			*e = 0
		}
	}
}

// sortLeaves puts the leaves in an order in which those below a node follow one
// another.
func (t *suffixTree) sortLeaves() {
	t.work += sortWork * len(t.path)
	t.leaves = room(t.spare, len(t.path)+1)
	for _, e := range t.edges {
		if c := to(e); e != 0 && c&leafBit != 0 {
			v := &t.nodes[uint32(e>>(nodeBits+1)>>symbolBits)-1]
			t.leaves[v.left] = c &^ leafBit
			v.left++
		}
	}
	// What is not needed any more is room for sets.
	t.block = room(t.block, len(t.path)/blockSize+1)
	clear(t.block)
	t.sets, t.ends = t.order[:0], room(t.ends, 3*len(t.path))[:0]
}

// leavesOf returns the suffixes below a node.
func (t *suffixTree) leavesOf(v *treeNode) []uint32 {
	if len(t.leaves) == 0 {
		t.sortLeaves()
	}
	return t.leaves[v.left-v.count : v.left]
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
