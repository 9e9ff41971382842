package robots

import (
	"cmp"
	"math/bits"
	"slices"
)

// textRef is a literal rule of an index to be, with eight bytes of its text, big endian.
type textRef struct {
	word uint64
	rule uint32
	size uint32 // of its entry
}

// textOrder sorts literal rules by their texts, those with the same text as they are: some as
// many parts as there are rules are made by the first bits in which texts differ, and of each
// part again. That is a third of the work of comparing them.
type textOrder struct {
	rules *Rules
	spare []textRef // as many
	ends  [1 << partBits]uint32
}

// partBits is the greatest number of bits by which a list is parted at once, fewTexts the
// length up to which comparing is less work.
const (
	partBits = 11
	fewTexts = 16
)

// sort sorts a list. Texts share the first bytes, words are what follows, and differ has the
// bits in which these are not all the same.
func (o *textOrder) sort(list []textRef, shared int, differ uint64) {
	if len(list) <= fewTexts {
		o.insert(list)
		return
	}
	for differ == 0 {
		var more bool
		shared += 8
		if differ, more = o.next(list, shared); !more {
			// They differ in NULs at their end, if at all.
			slices.SortStableFunc(list, func(a, b textRef) int { return cmp.Compare(a.size/2, b.size/2) })
			return
		}
	}
	o.part(list, shared, differ)
}

// insert sorts a list by comparing.
func (o *textOrder) insert(list []textRef) {
	for i, t := range list {
		at := i
		for at > 0 {
			before := list[at-1]
			if before.word < t.word || before.word == t.word && o.rules.literal(before.rule) <= o.rules.literal(t.rule) {
				break
			}
			list[at] = before
			at--
		}
		list[at] = t
	}
}

// next makes words of what follows in texts that share the first bytes, and reports whether
// anything does.
func (o *textOrder) next(list []textRef, shared int) (differ uint64, more bool) {
	for i := range list {
		t := &list[i]
		text := o.rules.literal(t.rule)
		more = more || len(text) > shared
		t.word = keyOf(text[min(shared, len(text)):]).high
		differ |= t.word ^ list[0].word
	}
	return differ, more
}

// part sorts a list whose words differ.
func (o *textOrder) part(list []textRef, shared int, differ uint64) {
	width := min(partBits, bits.Len(uint(len(list))))
	shift := max(0, bits.Len64(differ)-width) & 63
	// What is above these bits is the same in all.
	mask := uint64(1)<<(width&63) - 1
	const last = 1<<partBits - 1
	ends := o.ends[:mask+1]
	clear(ends)
	for i := range list {
		o.ends[list[i].word>>shift&mask&last]++
	}
	sum := uint32(0)
	for i, n := range ends {
		ends[i], sum = sum, sum+n
	}
	spare := o.spare[:len(list)]
	for i := range list {
		end := &o.ends[list[i].word>>shift&mask&last]
		spare[*end] = list[i]
		*end++
	}
	copy(list, spare)
	for from, to := 0, 0; from < len(list); from = to {
		first := list[from].word
		differ = 0
		for to = from + 1; to < len(list); to++ {
			d := list[to].word ^ first
			if d>>shift != 0 {
				break
			}
			differ |= d
		}
		if to > from+1 {
			o.sort(list[from:to], shared, differ)
		}
	}
}
