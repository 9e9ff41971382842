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
	treeWork  = 20 // a byte of the path, to build the tree
	nodeWork  = 32 // a node of it
	sortWork  = 6  // a byte of the path, to put the leaves in order and make regions of them
	walkWork  = 25 // a rule
	pieceWork = 21 // a piece of it
	soonWork  = 12 // a piece of one byte that is found nearby
	stepWork  = 7  // an edge on the way to a piece that has not been met lately
	setWork   = 2  // a leaf of a set
	seekWork  = 30 // a piece that is looked for nearby
	nextWork  = 60 // a piece whose next occurrence regions tell
	// nearby is how many bytes a plain search for one takes a third of what the tree takes.
	nearby = 256
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
	pieces, soon, near := 0, 0, false // near: the last one was, so the next one may be
walk:
	for at <= end {
		if len(rest) < least {
			ok = true
			break
		}
		var node uint32
		size := 1
		switch {
		case rest[0] == '*': // "**" is "*"
			rest = rest[1:]
			continue
		case rest[1] == '*':
			if near {
				if i := strings.IndexByte(t.path[at:min(at+nearby, len(t.path))], rest[0]); i >= 0 {
					soon++
					at += i + 1
					rest = rest[2:]
					continue
				}
			}
			node = uint32(t.letters[rest[0]])
		case rest[2] == '*':
			size = 2
			node = *t.pair(rest[0], rest[1])
		default:
			var word uint64
			if len(rest) >= 8 {
				word = binary.LittleEndian.Uint64(bytesOf(rest))
			} else {
				word = load8(rest)
			}
			if stars := zeros(word ^ '*'*eachByte); stars != 0 {
				// Most of these end at the first byte of eight that is a star.
				size = bits.TrailingZeros64(stars) / 8
				word &= stars&-stars>>7 - 1
			} else {
				size = 8 + strings.IndexByte(rest[8:], '*')
			}
			node = t.locate(rest[:size], word)
		}
		pieces++
		from := at
		switch {
		case node == 0:
			break walk
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
		case int(node&^leafBit) < at:
			break walk
		default:
			at = int(node &^ leafBit)
		}
		near = at < from+nearby
		at += size
		rest = rest[size+1:]
	}
	s.work += pieceWork*pieces + soonWork*soon + t.work
	t.work = 0
	return ok
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

// suffixTree is the suffix tree of a path (Ukkonen, 1995) in arrays: 54 bytes per
// byte of the path, 62 with what after needs, and beside that 64 KiB and four bytes for
// each pair of its letters, 36 KiB for all that a URL may hold. Node 0 is the root. An edge leads
// from a node by a symbol, a byte or the end of the path, to a node or to a leaf,
// which stands for the suffix that begins at its number.
//
// The nodes of one byte and of two are found in tables. So they exist even where a
// suffix tree has none, as all suffixes that begin so go on alike, and no edges lead to
// them. It is these that most suffixes hang at in a text of many letters, and to make
// edges for them took half of the time.
type suffixTree struct {
	path    string // a view of text
	text    []byte
	edges   edgeTable
	letters [256]uint16 // the node of a byte, from 1 on; 0 for none
	radix   uint32      // one more than there are letters
	pairs   []uint32    // the node of two bytes, 0 for none; see pair
	nodes   []treeNode
	above   []uint32 // of each leaf, its node
	order   []uint32 // nodes by depth
	spare   []uint32
	jumps   [1 << jumpBits]jump

	// What after needs; see makeSet.
	leaves  []uint32 // in an order in which those below a node follow one another
	sets    []uint32
	ends    []uint32
	block   []uint64 // a bit of each byte of the path; 0 between sets
	full    bool     // there is no room for more sets
	regions regions  // for nodes of more leaves that have no set
	work    int      // of the search beyond walkWork, pieceWork and soonWork
}

// A treeNode is a node. What is asked of one together is together, so that it takes one miss
// of the cache.
type treeNode struct {
	start uint32 // where its text occurs first
	depth uint32 // bytes of its text
	link  uint32 // the node of that text without its first byte, in the end its set
	last  uint32 // where its text occurs last
	count uint32 // the leaves below it
	left  uint32 // the node above, then the first of the leaves in their order, and their end once that is made
}

// A jump is what locate found for a piece of more than three bytes, one of eight in the place of longer
// ones: in a text of two letters that is eight steps of some fifteen. Of the pieces of up to 30 bytes out
// of runs of a letter 4,096 jumps hold nearly all, which saves 400 instructions each.
type jump struct {
	word uint64 // the piece, of a longer one what it is looked for by
	node uint32
	size uint16 // of the piece; 0 for no jump
}

const (
	jumpBits   = 12
	symbolBits = 9
	nodeBits   = 27
	endSymbol  = 256
	leafBit    = 1 << nodeBits
	// soon is how many bytes are searched plainly for the next occurrence before regions are asked.
	soon = 64
	// blockSize is what a bit of a set stands for, blocks are bits in a word of it.
	blockSize = 128
	blocks    = 32
	// fewLeaves are looked through, five instructions each. Of nodes of more of which none is
	// below another, there is room for the sets of all.
	fewLeaves = 36
	// noSet and above, link stands for no set: it is neverSought less the work of looking without.
	noSet       = 1 << 31
	neverSought = 1<<32 - 1
	// maxLetterNodes are the root and the nodes of one byte. Of all others there are fewer than
	// bytes of the path: of those with the same two bytes at most as many as suffixes.
	maxLetterNodes = 1 + 256
	// maxTreePath is the number of bytes whose nodes have numbers of 27 bits, 128
	// MiB. Longer paths are searched without a tree.
	maxTreePath = 1<<nodeBits - maxLetterNodes
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
	t.edges = room(t.edges, 21*n/8+8+2*endSymbol) // at most 2n are used
	clear(t.edges)
	t.nodes, t.above = room(t.nodes, n+maxLetterNodes), room(t.above, n+1)
	t.leaves, t.full = t.leaves[:0], false
	clear(t.jumps[:])
	t.readLetters()
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
	h := uint64(node+1)*0x9E3779B97F4A7C15>>32*uint64(len(t)-2*endSymbol)>>32 + 2*uint64(symbol)
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

// readLetters makes the nodes of one byte, and room for those of two.
func (t *suffixTree) readLetters() {
	t.letters = [256]uint16{}
	t.nodes[0] = treeNode{}
	count := uint16(0)
	for i, c := range bytesOf(t.path) {
		if t.letters[c] == 0 {
			count++
			t.letters[c] = count
			t.nodes[count] = treeNode{start: uint32(i), depth: 1}
		}
	}
	t.radix = uint32(count) + 1
	t.pairs = room(t.pairs, int(t.radix*t.radix))
	clear(t.pairs)
}

// pair returns where the node of two bytes stands or would. The first of the pairs stand for bytes
// that the path does not hold.
func (t *suffixTree) pair(a, b byte) *uint32 {
	return &t.pairs[uint32(t.letters[a])*t.radix+uint32(t.letters[b])]
}

// build reads the path byte by byte. What is still to be added, the suffixes from
// next on, begins at the active point: length bytes, like those at from, below node, or
// those at next if that is the root.
func (t *suffixTree) build() {
	text, edges, leafAbove := t.path, t.edges, t.above
	nodes := t.nodes // it and what it holds stay in registers
	count, steps := t.radix, 0
	node, from, length, next := uint32(0), 0, 0, 0
read:
	for i := 0; i <= len(text); i++ {
		c := uint32(endSymbol)
		if i < len(text) {
			c = uint32(text[i])
		}
		made := uint32(0) // the last node made for this byte: its link is the next one
		for next <= i {
			switch {
			case node > 0:
			case length > 1:
				node, from, length = *t.pair(text[next], text[next+1]), next+2, length-2
			case i == len(text): // the last byte, and the end
				leafAbove[next] = 0
				if length > 0 {
					leafAbove[next] = uint32(t.letters[text[next]])
				}
				length = 0
				next++
				continue
			case length == 0:
				length = 1
				continue read
			default:
				p := t.pair(text[next], byte(c))
				if *p == 0 {
					*p = count
					nodes[count] = treeNode{start: uint32(next), depth: 2, left: uint32(t.letters[text[next]])}
					count++
				}
				node, length = *p, 0
				continue read
			}
			symbol := c
			if length > 0 {
				symbol = uint32(text[from])
			} else {
				from = i
			}
			leaf := leafBit | uint32(next)
			e := edges.edge(node, symbol)
			above := nodes[node].depth
			if *e == 0 {
				*e = fill(node, symbol, leaf)
				leafAbove[next] = node
				nodes[made].link, made = node, 0
			} else {
				child := to(*e)
				first := child &^ leafBit
				if child&leafBit == 0 {
					below := &nodes[child]
					if span := int(below.depth - above); length >= span {
						node, from, length = child, from+span, length-span
						steps++
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
				nodes[split] = treeNode{start: first, depth: above + uint32(length), left: node}
				if leafAbove[next] = split; child&leafBit == 0 {
					nodes[child].left = split
				} else {
					leafAbove[first] = split
				}
				*e = *e&^(leafBit<<1-1) | uint64(split)
				*edges.edge(split, below) = fill(split, below, child)
				*edges.edge(split, c) = fill(split, c, leaf)
				nodes[made].link, made = split, split
			}
			next++
			if above > 2 {
				node = nodes[node].link
			} else {
				node = 0
				length++
			}
		}
	}
	t.nodes = nodes[:count]
	t.work = treeWork*len(text) + nodeWork*len(t.nodes) + stepWork*steps
}

// finish finds for each node its last occurrence and the leaves below it.
func (t *suffixTree) finish() {
	nodes := t.nodes
	for leaf, above := range t.above {
		v := &nodes[above]
		v.last = uint32(leaf)
		v.count++
	}
	order, next := room(t.order, max(len(nodes), len(t.path)+1))[:len(nodes)], room(t.spare, len(t.path)+2)
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
		above := &nodes[v.left]
		above.last = max(above.last, v.last)
		above.count += v.count
	}
	for _, i := range order[1:] {
		v := &nodes[i]
		above := &nodes[v.left]
		v.left = above.left
		above.left += v.count
		v.link = neverSought
	}
	nodes[0].link = neverSought
}

// jump returns where the jump of a word is or would be.
func (t *suffixTree) jump(word uint64) *jump {
	return &t.jumps[word*0x9E3779B97F4A7C15>>(64-jumpBits)]
}

// locate returns the node or leaf below which piece occurs, 0 if it does not
// occur. Word are its first eight bytes.
func (t *suffixTree) locate(piece string, word uint64) uint32 {
	switch len(piece) {
	case 1:
		return uint32(t.letters[piece[0]])
	case 2:
		return *t.pair(piece[0], piece[1])
	case 3: // where no node of two bytes is, no edge leads from the root
		return to(*t.edges.edge(*t.pair(piece[0], piece[1]), uint32(piece[2])))
	}
	key, from := word, uint32(0)
	if len(piece) > 8 {
		key = word*0x9E3779B97F4A7C15 + load8(piece[len(piece)-8:]) + uint64(len(piece))
	}
	j := t.jump(key)
	if j.word == key && int(j.size) == len(piece) && (len(piece) <= 8 || t.textOf(j.node, len(piece)) == piece) {
		return j.node
	}
	if len(piece) > 8 {
		if from = t.locate(piece[:8], word); from == 0 {
			return 0
		}
	}
	node := t.descend(piece, from)
	if len(piece) <= 8 || node != 0 && len(piece) < 1<<16 {
		*j = jump{key, node, uint16(len(piece))}
	}
	return node
}

// descend is locate from a node on, with the text of which the piece begins. Only the first byte of
// each edge is looked at: if the text there is not the piece, none is.
func (t *suffixTree) descend(piece string, node uint32) uint32 {
	edges, nodes, steps := t.edges, t.nodes, 0
	if node == 0 {
		node = *t.pair(piece[0], piece[1])
	}
	for node&leafBit == 0 && node != 0 {
		size := int(nodes[node].depth)
		if size >= len(piece) {
			break
		}
		steps++
		node = to(*edges.edge(node, uint32(piece[size])))
	}
	t.work += stepWork * steps
	if node == 0 || t.textOf(node, len(piece)) != piece {
		return 0
	}
	return node
}

// textOf returns so many bytes of the text of a node or leaf, fewer at the end of the path.
func (t *suffixTree) textOf(node uint32, size int) string {
	start := int(node &^ leafBit)
	if node < leafBit {
		start = int(t.nodes[node].start)
	}
	return t.path[start:min(start+size, len(t.path))]
}

// lastOf returns where what is found there occurs last, -1 for 0.
func (t *suffixTree) lastOf(node uint32) int {
	switch {
	case node == 0:
		return -1
	case node < leafBit:
		return int(t.nodes[node].last)
	}
	return int(node &^ leafBit)
}

// after returns the first occurrence, at or after a place, of a piece that occurs below a
// node; there must be one. If that is not sure the piece occurs within the next blockSize
// bytes and is to be looked for there.
func (t *suffixTree) after(v *treeNode, place int, piece string) (next int, sure bool) {
	if v.link >= noSet {
		if v.count <= fewLeaves {
			return t.leastOf(v, place), true
		}
		if t.full || neverSought-v.link < setWork*v.count || !t.makeSet(v) {
			return t.seek(v, place, piece), true
		}
	}
	sets := t.sets
	block, in := uint32(place)/blockSize, uint32(place)%blockSize
	at := v.link + block/blocks*2
	word, bit := sets[at], uint32(1)<<(block%blocks)
	i := sets[at+1] + uint32(bits.OnesCount32(word&(bit-1)))
	if word&bit != 0 {
		ends := t.ends[i]
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
	return int((at-v.link)/2*blocks+uint32(bits.TrailingZeros32(word))+1)*blockSize - int(t.ends[i]&0xFF), true
}

// seek is after without a set, which a node has once the work of looking without it is as much
// as making it takes: pieces of up to 30 bytes out of runs of 17 letters ask 500 nodes, each a few
// times, and a set for each took 30 million instructions. So both together take at most twice as
// long as the better of them.
func (t *suffixTree) seek(v *treeNode, place int, piece string) int {
	before := t.work
	t.work += seekWork
	at := strings.Index(t.path[place:min(place+soon, len(t.path))], piece)
	if at < 0 {
		at = t.next(v, place, piece) - place
	}
	if !t.full {
		v.link -= uint32(t.work - before)
	}
	return place + at
}

// next is after by regions, some 800 instructions: the blocks of the groups that are the node's as
// a whole, and of its leaves in the first group and in the last, if these may be sooner.
func (t *suffixTree) next(v *treeNode, place int, piece string) int {
	g, leaves := &t.regions, t.leavesOf(v)
	size, begin, end := 1<<g.shift, int(v.left-v.count), int(v.left)
	var room [32]int
	inner := g.rowsOf(room[:0], (begin-1)>>g.shift+1, end>>g.shift)
	first, last := (g.groups+begin>>g.shift)*g.words, (g.groups+end>>g.shift)*g.words
	others := ^uint64(0)   // the blocks of first and last count
	soonest := len(t.path) // of the leaves in first and last, once they do not
	mask := ^uint64(0) << (place >> g.shift % 64)
	t.work += nextWork
	for w := place >> g.shift / 64; w < g.words; w++ {
		t.work += 2 + len(inner)/2
		in := uint64(0)
		for _, row := range inner {
			in |= g.rows[row+w]
		}
		word := (in | (g.rows[first+w]|g.rows[last+w])&others) & mask
		for mask = ^uint64(0); word != 0; word &= word - 1 {
			bit, from := word&-word, (w*64+bits.TrailingZeros64(word))<<g.shift
			if from > soonest {
				return soonest
			}
			if in&bit == 0 {
				head := min(-begin&(size-1), len(leaves))
				tail := min(end&(size-1), len(leaves)-head)
				found := min(least(leaves[:head], uint32(place)), least(leaves[len(leaves)-tail:], uint32(place)))
				if found < uint32(len(t.path)) {
					soonest = place + int(found)
				}
				others, word = 0, word&in|bit
				continue
			}
			t.work += size / 4
			to := min(from+size+len(piece)-1, len(t.path))
			from = max(from, place)
			if i := strings.Index(t.path[from:to], piece); i >= 0 {
				return min(from+i, soonest)
			}
		}
	}
	return soonest
}

// leastOf is after by looking through the leaves of a node.
func (t *suffixTree) leastOf(v *treeNode, place int) int {
	leaves := t.leavesOf(v)
	t.work += 6 + len(leaves)*3/4
	return place + int(least(leaves, uint32(place)))
}

// least returns how far behind a place the next of some leaves is, more than there are bytes if there is none.
func least(leaves []uint32, place uint32) uint32 {
	found := ^uint32(0)
	for ; len(leaves) >= 8; leaves = leaves[8:] {
		found = min(found, leaves[0]-place, leaves[1]-place, leaves[2]-place, leaves[3]-place,
			leaves[4]-place, leaves[5]-place, leaves[6]-place, leaves[7]-place)
	}
	for _, leaf := range leaves {
		found = min(found, leaf-place) // those before it wrap
	}
	return found
}

const eachByte = 0x01_01_01_01_01_01_01_01

// zeros returns a number whose lowest bit that is set is the highest of the lowest byte of
// word that is 0; without such a byte it is 0.
func zeros(word uint64) uint64 { return (word - eachByte) &^ word & (0x80 * eachByte) }

// makeSet makes the set of the suffixes below a node and reports whether there was room. A set has
// a bit for each blockSize bytes of the path, 32 to a word, and for each bit that is set where in the
// block a suffix begins first and last: behind each word there is how many of these come before. So
// after needs no look at the path, some 70 instructions wherever the next one is. There is room for
// some 1,900 of a path of 64 KiB.
func (t *suffixTree) makeSet(v *treeNode) bool {
	leaves := t.leavesOf(v)
	size := len(t.path)/(blockSize*blocks)*2 + 2
	if len(t.sets)+size > cap(t.sets) || len(t.ends)+min(len(leaves), len(t.path)/blockSize+1) > cap(t.ends) {
		t.full = true
		return false
	}
	t.work += setWork*len(leaves) + size
	at := len(t.sets)
	v.link = uint32(at)
	t.sets = t.sets[:at+size]
	set := t.sets[at:]
	clear(set)
	block := t.block
	for _, leaf := range leaves {
		block[leaf/64] |= 1 << (leaf % 64)
	}
	if len(leaves) < len(block) {
		for _, leaf := range leaves {
			set[leaf/(blockSize*blocks)*2] |= 1 << (leaf / blockSize % blocks)
		}
	} else {
		for i := 0; i < len(block)-1; i += 2 {
			if block[i]|block[i+1] != 0 {
				set[i/(2*blocks)*2] |= 1 << (i / 2 % blocks)
			}
		}
	}
	for i := 0; i < len(set); i += 2 {
		set[i+1] = uint32(len(t.ends))
		for word := set[i]; word != 0; word &= word - 1 {
			b := block[i*blocks+2*bits.TrailingZeros32(word):][:2]
			first, last := bits.TrailingZeros64(b[0]), 63+bits.Len64(b[1])
			if b[0] == 0 {
				first = 64 + bits.TrailingZeros64(b[1])
			}
			if b[1] == 0 {
				last = bits.Len64(b[0]) - 1
			}
			t.ends = append(t.ends, uint32(blockSize-first|last<<8))
			b[0], b[1] = 0, 0
		}
	}
	return true
}

// sortLeaves puts the leaves in an order in which those below a node follow one
// another.
func (t *suffixTree) sortLeaves() {
	t.work += sortWork * len(t.path)
	t.leaves = room(t.spare, len(t.path)+1)
	for leaf, above := range t.above {
		v := &t.nodes[above]
		t.leaves[v.left] = uint32(leaf)
		v.left++
	}
	// What is not needed any more is room for sets.
	t.block = room(t.block, len(t.path)/64+2)
	clear(t.block)
	t.regions.build(t.leaves)
	t.sets, t.ends = t.order[:0], t.above[:0]
}

// leavesOf returns the suffixes below a node.
func (t *suffixTree) leavesOf(v *treeNode) []uint32 {
	if len(t.leaves) == 0 {
		t.sortLeaves()
	}
	return t.leaves[v.left-v.count : v.left]
}

// regions tells in which blocks of the path a range of leaves begins: a bit for each block,
// in a row for each group of leaves and for each two rows in a binary tree above these. A block
// has as many bytes as a group has leaves, so many that the rows take at most four bytes per
// byte of the path.
type regions struct {
	shift  int // of a block and of a group
	groups int
	words  int // of a row
	rows   []uint64
}

// build reads the leaves of a path of up to maxTreePath bytes.
func (g *regions) build(leaves []uint32) {
	g.shift = max(6, (bits.Len(uint(len(leaves)-2))-3)/2)
	g.groups = len(leaves)>>g.shift + 1
	g.words = g.groups/64 + 1
	g.rows = room(g.rows, 2*g.groups*g.words)
	clear(g.rows)
	for row := g.rows[g.groups*g.words:]; len(leaves) > 0; row = row[g.words:] {
		size := min(1<<g.shift, len(leaves))
		for _, leaf := range leaves[:size] {
			block := leaf >> (g.shift & 31)
			row[block/64] |= 1 << (block % 64)
		}
		leaves = leaves[size:]
	}
	for i := (g.groups - 1) * g.words; i >= g.words; i -= g.words {
		row, below := g.rows[i:i+g.words], g.rows[2*i:2*(i+g.words)]
		for w := range row {
			row[w] = below[w] | below[g.words+w]
		}
	}
}

// rowsOf appends where the rows begin that together are those of the groups from l to r.
func (g *regions) rowsOf(rows []int, l, r int) []int {
	for l, r = l+g.groups, r+g.groups; l < r; l, r = l/2, r/2 {
		if l&1 != 0 {
			rows = append(rows, l*g.words)
			l++
		}
		if r&1 != 0 {
			r--
			rows = append(rows, r*g.words)
		}
	}
	return rows
}
