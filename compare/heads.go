package compare

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/robotskit/robots"
)

// A headIndex finds the rules of a list by their heads, so that a rule is compared only with those that can match
// the same URLs.
type headIndex struct {
	order []int // indexes of the rules, by head
	// parents has for each place in order the last place before it whose head is a prefix of its head, -1 for none.
	parents []int
	met     []uint64 // memory of meeting: a bit for each rule
}

// index fills in heads when it is first used.
func (l *list) index() *headIndex {
	h := &l.heads
	if h.order != nil {
		return h
	}
	h.order = make([]int, len(l.rules))
	for i := range h.order {
		h.order[i] = i
	}
	slices.SortFunc(h.order, func(i, k int) int {
		if c := strings.Compare(l.rules[i].head, l.rules[k].head); c != 0 {
			return c
		}
		return cmp.Compare(i, k)
	})
	h.parents = make([]int, len(l.rules))
	for at, i := range h.order {
		h.parents[at] = h.prefix(l, at-1, l.rules[i].head)
	}
	h.met = make([]uint64, (len(l.rules)+63)/64)
	return h
}

// prefix returns the last place up to a given one whose head is a prefix of a text that is not before it, -1 for none.
func (h *headIndex) prefix(l *list, at int, text string) int {
	for at >= 0 && !strings.HasPrefix(text, l.rules[h.order[at]].head) {
		at = h.parents[at]
	}
	return at
}

// beginning yields the rules whose heads are prefixes of a path.
func (l *list) beginning(path string, yield func(i int)) {
	h := l.index()
	after := sort.Search(len(h.order), func(at int) bool { return l.rules[h.order[at]].head > path })
	for at := h.prefix(l, after-1, path); at >= 0; at = h.parents[at] {
		yield(h.order[at])
	}
}

// meeting appends the indexes of the rules with which a URL can begin that begins with a head, by precedence.
func (l *list) meeting(to []int, head string, m *meter) []int {
	h := l.index()
	from := sort.Search(len(h.order), func(at int) bool { return l.rules[h.order[at]].head >= head })
	meet := func(at int) {
		h.met[h.order[at]/64] |= 1 << (h.order[at] % 64)
	}
	for at := h.prefix(l, from-1, head); at >= 0; at = h.parents[at] {
		meet(at)
	}
	for at := from; at < len(h.order) && strings.HasPrefix(l.rules[h.order[at]].head, head); at++ {
		meet(at)
	}
	for i, word := range h.met {
		for ; word != 0; word &= word - 1 {
			to = append(to, 64*i+bits.TrailingZeros64(word))
		}
		h.met[i] = 0
	}
	m.spend(1 + len(to) + len(h.met)/rulesPerStep)
	return to
}

// literalHead returns a text that all paths that match a pattern begin with.
func literalHead(pattern string) string {
	head, _, _ := strings.Cut(pattern, "*")
	head, _, _ = strings.Cut(head, "$")
	return head
}

// beginsLike returns a function that reports whether a path can begin with a text and with the given one.
func beginsLike(a string) func(string) bool {
	return func(b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
}

// changedHeads returns texts with one of which all URLs begin that can have different verdicts in two
// sets of rules of a dialect: the literal heads of the rules that are in only one set. It returns nil if they are many.
func changedHeads(old, new *robots.Rules) []string {
	const most = 32
	before := slices.AppendSeq(make([]robots.Rule, 0, old.Len()), old.All())
	after := slices.AppendSeq(make([]robots.Rule, 0, new.Len()), new.All())
	for len(before) > 0 && len(after) > 0 && keyOf(before[0]) == keyOf(after[0]) {
		before = before[1:]
		after = after[1:]
	}
	for len(before) > 0 && len(after) > 0 && keyOf(before[len(before)-1]) == keyOf(after[len(after)-1]) {
		before = before[:len(before)-1]
		after = after[:len(after)-1]
	}
	in := make(map[ruleKey]int, len(before))
	for _, r := range before {
		in[keyOf(r)] = 1
	}
	for _, r := range after {
		in[keyOf(r)] |= 2
	}
	heads := []string{}
	for k, sides := range in {
		if sides < 3 {
			heads = append(heads, literalHead(k.text))
		}
	}
	if len(heads) > most {
		return nil
	}
	return heads
}

// A ruleKey is what decides of a rule.
type ruleKey struct {
	text   string
	allow  bool
	weight int
}

func keyOf(r robots.Rule) ruleKey { return ruleKey{r.Pattern().String(), r.Allows(), r.Weight()} }
