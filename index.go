package robots

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Up to scanMost rules, and for the first matches, rules are scanned in order of precedence
// and the first that matches decides. After that an index makes the time nearly independent
// of the number of rules. Both find the same rule (TestReference, TestIndex).
const (
	// scanMost is the number of rules at which scanning and the index take the same time.
	// Most real files have fewer.
	scanMost = 64
	// indexAfter is the work of scans per rule after which the index is built: about as
	// much as building it takes. One unit is a rule compared by its first bytes.
	indexAfter = 50
)

// firstBytes has the first eight bytes of each rule as a number, little endian, and how many of
// them are compared: those before the end or the first star. They exclude most rules without
// reading their text, which is elsewhere in memory.
type firstBytes struct {
	words []uint64
	sizes []uint8
}

// mayMatch reports whether a path begins with the first bytes of rule i. word is the first eight bytes
// of the path.
func (h *firstBytes) mayMatch(i int, word uint64) bool {
	return (word^h.words[i])&sizeMasks[h.sizes[i]&15] == 0
}

// sizeMasks has a mask of the compared bits for each number of bytes.
var sizeMasks = [16]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// kindOf returns the kind of a normal form, and the number of bytes before its first star or
// its end.
func kindOf(text string) (k kind, literal int) {
	n := strings.IndexByte(text, '*')
	switch {
	case n < 0 && text[len(text)-1] == '$':
		n = len(text) - 1
		k = kindPattern
	case n < 0:
		n = len(text)
		k = kindLiteral
	default:
		tail := strings.TrimLeft(text[n:], "*")
		switch {
		case tail == "":
			k = kindLiteral // stars at the end match anything (MATCH-04)
		case strings.IndexByte(tail, '*') >= 0 || len(tail) < len(text)-n-1:
			k = kindPattern
		case tail[len(tail)-1] == '$':
			k = kindSuffix
		default:
			k = kindTail
		}
	}
	// A NUL would match the padding of a short path.
	if k == kindLiteral && n <= 8 && strings.IndexByte(text, 0) < 0 {
		k = kindShort
	}
	return k, n
}

// find returns the rule of the highest precedence that matches a path, nil if there is none, and its
// work: the rules that it compared, and the bytes of rules and path that it read. With FieldAllow or
// FieldDisallow it considers only rules that allow or disallow.
func (r *Rules) find(t target, only Field) (best *rule, work int) {
	l := r.index
	if l == nil {
		id, work := r.scan(t, only)
		return r.ruleAt(id), work + len(r.rules)
	}
	x := l.built.Load()
	if x == nil && l.work.Load() > int64(indexAfter*len(r.rules)) {
		l.once.Do(func() { l.built.Store(newIndex(r)) })
		x = l.built.Load()
	}
	if x != nil {
		id, work := x.find(r, t, only)
		return r.ruleAt(id), work
	}
	id, work := r.scan(t, only)
	// Four bytes of a substring search take as long as comparing first bytes. The work of a
	// single path is limited, because it says little about later ones.
	l.work.Add(int64(min(len(r.rules)+work/4, 1+indexAfter*len(r.rules)/4)))
	return r.ruleAt(id), work + len(r.rules)
}

// ruleAt returns the rule with an index, nil for none.
func (r *Rules) ruleAt(id uint32) *rule {
	if id == noRule {
		return nil
	}
	return &r.rules[id]
}

// scan is find without an index. It returns noRule if no rule matches; work is the number of bytes
// of rules and path that it read.
func (r *Rules) scan(t target, only Field) (id uint32, work int) {
	word := load8(t.path)
	words := r.firstBytes.words
	sizes := r.firstBytes.sizes[:len(words)]
	for i, w := range words {
		if (word^w)&sizeMasks[sizes[i]&15] == 0 && r.contains(i) && r.matches(&r.rules[i], t, &work, only) {
			return uint32(i), work
		}
	}
	return noRule, work
}

// hasField reports whether a rule allows or disallows as only does; FieldNone accepts both.
func (v *rule) hasField(only Field) bool {
	return only == FieldNone || v.allows() == (only == FieldAllow)
}

// matches reports whether a rule has the field only and matches a path whose first bytes match. It
// adds to work the bytes of both that it might have read.
func (r *Rules) matches(v *rule, t target, work *int, only Field) bool {
	if !v.hasField(only) {
		return false
	}
	if v.kind == kindShort {
		return true
	}
	path := t.path
	text := r.text(v)
	n := int(v.literalLen)
	if v.kind == kindLiteral {
		*work += n / 8
		return strings.HasPrefix(path, text[:n])
	}
	if n > 8 && !strings.HasPrefix(path, text[:n]) || len(path) < n {
		*work += n / 8
		return false
	}
	if t.raw != "" && v.rewritten && !(v.allows() && r.dialect.IndexHTML) {
		value := r.file.Text(r.sourceSpan(v))
		*work += len(t.raw) + len(value)
		if t.excludes(value) {
			return false
		}
	}
	*work += len(path) + len(text)
	switch v.kind {
	case kindTail:
		return indexOf(path[n:], text[n+1:]) >= 0
	case kindSuffix:
		return strings.HasSuffix(path[n:], text[n+1:len(text)-1])
	}
	return Pattern{text: text}.match(path)
}

// A lazyIndex is an index that is built once it pays off.
type lazyIndex struct {
	built atomic.Pointer[index]
	work  atomic.Int64
	once  sync.Once
}

// An index finds a rule among many.
//
// Literal rules, including those with a final '$', are sorted by their text. All that match
// a path are prefixes of it, and so of each other: starting at the last entry not above the
// path, parent links each entry to its longest prefix. The first that matches is the
// heaviest. This is not so for literal rules that weigh more than their bytes, because an
// escaped '*' or '$' weighs three (D-13): these are filed as rules with a star.
//
// Every piece of a rule with a star must occur in the path. Each such rule is filed under one
// n-gram of four bytes of its pieces, the one with the fewest rules, and only the rules of
// n-grams that occur in the path are tried, at most once each. The few rules without a piece
// of four bytes are always tried, by their first bytes.
type index struct {
	prefix  string  // the common prefix of all literal rules
	keys    []key   // the bytes of each entry after the prefix, ascending
	entries []entry // the literal rules

	ngrams       ngrams   // the rules with a star, and the heavy literal ones
	withoutNgram []uint32 // those that are always tried
}

// A key is sixteen bytes of a text, big endian, with zeros after its end.
type key struct{ high, low uint64 }

// keyOf returns the key of the first bytes of s.
func keyOf(s string) key {
	k := key{high: bits.ReverseBytes64(load8(s))}
	if len(s) > 8 {
		k.low = bits.ReverseBytes64(load8(s[8:]))
	}
	return k
}

// compare orders keys as their bytes.
func (k key) compare(other key) int {
	if k.high != other.high {
		return cmp.Compare(k.high, other.high)
	}
	return cmp.Compare(k.low, other.low)
}

// An entry is a literal rule of an index.
type entry struct {
	rule   uint32 // index in Rules.rules
	parent uint32 // index of the entry that is its longest prefix, plus one; 0 for none
	size   uint32 // twice its length, plus one if it must be the whole path
}

// ngrams maps hashes of n-grams to rules, in order of precedence. About one bit in 64 of
// present is set, so few n-grams of a path have a rule by chance. Rules are filed under the
// first bits of the hash, so that the set of those tried fits on the stack.
type ngrams struct {
	shift      int      // right shift from the product in hash to a hash
	fold       int      // right shift from a hash to an index of firstRules
	present    []uint64 // one bit per hash that some rule has
	firstRules []uint32 // where the rules of each first bits of a hash begin in rules
	rules      []uint32
}

// maxNgramBits limits the bits of a hash, maxSlotBits those of an index of firstRules.
const (
	maxNgramBits = 16
	maxSlotBits  = 12
)

// memoryBytes returns the bytes of an index, 0 for nil.
func (x *index) memoryBytes() int {
	if x == nil {
		return 0
	}
	return int(unsafe.Sizeof(*x)) + int(unsafe.Sizeof(key{}))*cap(x.keys) + int(unsafe.Sizeof(entry{}))*cap(x.entries) +
		8*cap(x.ngrams.present) + 4*(cap(x.ngrams.firstRules)+cap(x.ngrams.rules)+cap(x.withoutNgram))
}

func newIndex(r *Rules) *index {
	x := new(index)
	var others []uint32
	literals := make([]literalRule, 0, len(r.rules))
	for i := range r.rules {
		v := &r.rules[i]
		if v.literalLen < v.size && r.text(v)[v.literalLen] == '*' || v.weight > int32(v.size) {
			others = append(others, uint32(i))
			continue
		}
		e := entry{rule: uint32(i), size: 2 * v.literalLen}
		if v.kind == kindPattern {
			e.size++
		}
		literals = append(literals, literalRule{entry: e})
	}
	x.indexLiterals(r, literals)
	x.indexNgrams(r, others)
	return x
}

// A literalRule is an entry with its key, for sorting.
type literalRule struct {
	key key
	entry
}

// indexLiterals files the rules without a star.
func (x *index) indexLiterals(r *Rules, list []literalRule) {
	if len(list) == 0 {
		return
	}
	x.prefix = r.literalPrefix(list[0].rule)
	for _, l := range list {
		x.prefix = x.prefix[:commonLen(x.prefix, r.literalPrefix(l.rule))]
	}
	for i := range list {
		list[i].key = keyOf(r.literalPrefix(list[i].rule)[len(x.prefix):])
	}
	slices.SortFunc(list, func(a, b literalRule) int {
		if c := a.key.compare(b.key); c != 0 {
			return c
		}
		// Of equal texts the heaviest comes last.
		return cmp.Or(strings.Compare(r.literalPrefix(a.rule), r.literalPrefix(b.rule)), cmp.Compare(b.rule, a.rule))
	})
	x.keys = make([]key, 0, len(list))
	x.entries = make([]entry, 0, len(list))
	top := uint32(0) // index of the longest entry that can be a prefix, plus one
	for i, l := range list {
		if i > 0 {
			previous := list[i-1].rule
			if r.repeats(previous, l.rule) {
				x.entries[len(x.entries)-1].rule = l.rule // a repeated rule never decides
				continue
			}
			// All of these are prefixes of the entry before.
			common := commonLen(r.literalPrefix(previous), r.literalPrefix(l.rule))
			for top > 0 && int(x.entries[top-1].size/2) > common {
				top = x.entries[top-1].parent
			}
		}
		l.parent = top
		x.keys = append(x.keys, l.key)
		x.entries = append(x.entries, l.entry)
		top = uint32(len(x.entries))
	}
}

// literalPrefix returns the text of a rule before its first star or its end.
func (r *Rules) literalPrefix(rule uint32) string {
	v := &r.rules[rule]
	return r.text(v)[:v.literalLen]
}

// repeats reports whether rules a and b are the same.
func (r *Rules) repeats(a, b uint32) bool {
	v := &r.rules[a]
	w := &r.rules[b]
	return v.allows() == w.allows() && r.text(v) == r.text(w)
}

func (w *ngrams) hash(byteCount uint32) uint32 { return byteCount * 0x9E3779B1 >> (w.shift & 31) }

// appendHashes appends the hashes of all n-grams of a pattern.
func (w *ngrams) appendHashes(dst []uint16, pattern string) []uint16 {
	run := 0
	four := uint32(0)
	for _, c := range bytesOf(strings.TrimSuffix(pattern, "$")) {
		four = four>>8 | uint32(c)<<24
		run++
		if c == '*' {
			run = 0
		} else if run >= 4 {
			dst = append(dst, uint16(w.hash(four)))
		}
	}
	return dst
}

// rarest returns the first of some hashes, at least one, with the lowest count.
func rarest(hashes []uint16, counts []uint32) uint16 {
	h := hashes[0]
	least := counts[h]
	for _, other := range hashes[1:] {
		if n := counts[other]; n < least {
			least = n
			h = other
		}
	}
	return h
}

// indexNgrams files the rules that are not in entries.
func (x *index) indexNgrams(r *Rules, list []uint32) {
	if len(list) == 0 {
		return
	}
	slotBits := min(maxSlotBits, max(6, bits.Len(uint(2*len(list)))))
	n := min(maxNgramBits, slotBits+5)
	w := &x.ngrams
	w.shift = 32 - n
	w.fold = n - slotBits
	counts := make([]uint32, 1<<n)
	size := 0
	for _, id := range list {
		size += int(r.rules[id].size)
	}
	hashes := make([]uint16, 0, size) // of the n-grams of all
	ends := make([]uint32, len(list)) // where those of each rule end
	for i, id := range list {
		from := len(hashes)
		hashes = w.appendHashes(hashes, r.text(&r.rules[id]))
		for _, h := range hashes[from:] {
			counts[h]++
		}
		ends[i] = uint32(len(hashes))
	}
	slots := make([]uint32, len(list)) // index in starts of each rule, plus one; 0 for those without an n-gram
	w.present = make([]uint64, 1<<n/64)
	w.firstRules = make([]uint32, 1<<slotBits+1)
	from := uint32(0)
	for i, id := range list {
		found := hashes[from:ends[i]]
		from = ends[i]
		if len(found) == 0 {
			x.withoutNgram = append(x.withoutNgram, id)
			continue
		}
		h := uint32(rarest(found, counts))
		w.present[h/64] |= 1 << (h % 64)
		slots[i] = h>>w.fold + 1
		w.firstRules[slots[i]]++
	}
	for at := range 1 << slotBits {
		w.firstRules[at+1] += w.firstRules[at]
	}
	w.rules = make([]uint32, w.firstRules[1<<slotBits])
	next := slices.Clone(w.firstRules)
	for i, id := range list {
		if slots[i] > 0 {
			at := slots[i] - 1
			w.rules[next[at]] = id
			next[at]++
		}
	}
}

// find is Rules.find. It returns the index of the rule, noRule if none matches, and the number of
// bytes of rules and path that it read.
func (x *index) find(r *Rules, t target, only Field) (best uint32, work int) {
	path := t.path
	best = x.findLiteral(r, path, only)
	work = len(path)
	word := load8(path)
	try := func(list []uint32) {
		for _, id := range list {
			if id >= best {
				return
			}
			work++
			if r.firstBytes.mayMatch(int(id), word) && r.matches(&r.rules[id], t, &work, only) {
				best = id
				return
			}
		}
	}
	try(x.withoutNgram)
	w := &x.ngrams
	if len(w.rules) == 0 {
		return best, work
	}
	var tried [1 << maxSlotBits / 64]uint64
	present := w.present
	for rest := path; len(rest) >= 4; rest = rest[1:] {
		h := w.hash(binary.LittleEndian.Uint32(bytesOf(rest)))
		if present[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		h >>= w.fold
		if tried[h/64]&(1<<(h%64)) == 0 {
			tried[h/64] |= 1 << (h % 64)
			try(w.rules[w.firstRules[h]:w.firstRules[h+1]])
		}
	}
	return best, work
}

// noRule is an index after all rules.
const noRule = ^uint32(0)

// findLiteral returns the heaviest literal rule that matches path.
func (x *index) findLiteral(r *Rules, path string, only Field) uint32 {
	if len(x.keys) == 0 || !strings.HasPrefix(path, x.prefix) {
		return noRule
	}
	// The last entry whose key is not above that of the path.
	k := keyOf(path[len(x.prefix):])
	at := lastNotAbove(x.keys, k)
	text := r.literalPrefix(x.entries[at].rule)
	if x.keys[at] == k && text > path {
		// Of the entries with this key, the last that is not above the path.
		from, _ := slices.BinarySearchFunc(x.keys[:at], k, key.compare)
		for to := at; from < to; {
			if mid := (from + to) / 2; r.literalPrefix(x.entries[mid].rule) <= path {
				from = mid + 1
			} else {
				to = mid
			}
		}
		at = from - 1
	} else if x.keys[at].compare(k) > 0 {
		at--
	}
	if at < 0 {
		return noRule
	}
	common := uint32(commonLen(r.literalPrefix(x.entries[at].rule), path))
	for top := uint32(at + 1); top > 0; {
		e := &x.entries[top-1]
		if n := e.size / 2; n <= common && (e.size&1 == 0 || int(n) == len(path)) &&
			(only == FieldNone || r.rules[e.rule].hasField(only)) {
			return e.rule
		}
		top = e.parent
	}
	return noRule
}

// lastNotAbove returns the index of the last of the ascending keys that is not above k, 0 if
// all are. It has no branch to mispredict, and compares three keys in parallel.
func lastNotAbove(keys []key, k key) int {
	e := 0
	n := len(keys)
	for n >= 4 {
		part := n / 4
		e += 3*part - part&keys[e+part].above(k) - part&keys[e+2*part].above(k) - part&keys[e+3*part].above(k)
		n -= 3 * part
	}
	for ; n > 1; n-- {
		e += 1 + keys[e+1].above(k)
	}
	return e
}

// above returns -1, all bits set, if k is above other, else 0.
func (k key) above(other key) int {
	_, above := bits.Sub64(other.low, k.low, 0)
	_, above = bits.Sub64(other.high, k.high, above)
	return -int(above)
}

// commonLen returns the length of the common prefix of a and b.
func commonLen(a, b string) int {
	n := min(len(a), len(b))
	if n < 8 {
		x := load8(a[:n]) ^ load8(b[:n]) // zeros after the end are equal
		return min(n, bits.TrailingZeros64(x)/8)
	}
	for i := 0; ; i += 8 {
		i = min(i, n-8) // the last eight may overlap those before
		x := binary.LittleEndian.Uint64(bytesOf(a[i:])) ^ binary.LittleEndian.Uint64(bytesOf(b[i:]))
		if x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
		if i == n-8 {
			return n
		}
	}
}
