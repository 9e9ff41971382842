package robots

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// An outline is the groups of a file for a dialect, and for all that read its lines alike, and
// the lists of rules that callers have of them. It is memory for an inquiry alone.
type outline struct {
	file     *File
	dialect  *Dialect
	limit    int
	counts   bool
	anyRule  bool // with a path, in a group
	anyEmpty bool // Disallow, in a group
	oddities      // of lines
	agents   []agentLine
	groups   []uint32 // of each its first line in File.lines, and where the last ends

	places map[string]int // of lists, by groups, four bytes for each
	lists  []list
	pools  []pool
	left   int // lines that may still be made rules
}

// An agentLine is a user-agent line.
type agentLine struct {
	start, end uint32 // of its value
	group      uint32
}

// read finds the outline of a file, or walks the file for one.
func (q *inquiry) read(f *File, least int) {
	d := q.speakers.dialect
	limit, counts := f.limit(d)
	for i := range q.outlines {
		q.outline = &q.outlines[i]
		if q.file == f && q.limit == limit && q.counts == counts && q.alike(q.outline.dialect, d) {
			return
		}
	}
	n := len(q.outlines)
	q.outlines = slices.Grow(q.outlines, 1)[:n+1] // one of an inquiry before, if there was any
	q.outline = &q.outlines[n]
	q.outline.file, q.outline.dialect, q.limit, q.counts = f, d, limit, counts
	q.walk(least)
}

// walk goes over the lines of the file once.
func (o *outline) walk(least int) {
	f, d := o.file, o.dialect
	if o.places == nil {
		o.places = map[string]int{}
	}
	var run agentRun
	n := 0
	for ; n < len(f.lines) && int(f.lines[n].val) <= o.limit; n++ {
		l := f.lines[n]
		o.ambiguous = o.ambiguous || l.ambiguous
		field, start, end := f.read(l, d)
		if field == FieldUserAgent && run.open {
			o.blank = o.blank || f.blankBetween(run.last, start)
		}
		if run.begins(f, d, field, start) {
			o.groups = append(o.groups, uint32(n))
		}
		switch field {
		case FieldUserAgent:
			o.agents = append(o.agents, agentLine{uint32(start), uint32(end), uint32(len(o.groups) - 1)})
		case FieldAllow, FieldDisallow:
			o.anyRule = o.anyRule || len(o.groups) > 0 && start < end
			o.anyEmpty = o.anyEmpty || len(o.groups) > 0 && start == end && field == FieldDisallow
		case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
			o.member = true
		}
	}
	o.groups = append(o.groups, uint32(n))
	o.left = least + 8*n
}

// clear leaves nothing but memory, and returns about how many things there is place for.
func (o *outline) clear() (size int) {
	clear(o.places)
	clear(o.lists)
	size = cap(o.agents) + cap(o.groups) + 16*cap(o.lists)
	*o = outline{agents: o.agents[:0], groups: o.groups[:0], places: o.places, lists: o.lists[:0]}
	return size
}

// oddities are what dialects read in different ways.
type oddities struct {
	ambiguous bool // a line
	blank     bool // a line in a run of user-agent lines
	member    bool // a record that may end a run

	empty   bool // a rule without a path
	bare    bool // a path without a slash
	special bool // a star or a dollar sign
	escape  bool // a path that may not be in its normal form
	index   bool // an Allow of an index page
}

// note takes the value of a rule, and whether that is a usual one.
func (x *oddities) note(field Field, value string, usual bool) {
	x.index = x.index || field == FieldAllow && (strings.Contains(value, indexPage) || strings.HasPrefix(value, indexPage[1:])) // AssumeSlash
	switch {
	case usual:
	case value == "":
		x.empty = true
	case !clean(strings.TrimSuffix(value, "$"), carePattern|careCPP):
		x.escape, x.special, x.index, x.bare = true, true, true, true // its normal form may have them all
	default:
		x.special = true
		x.bare = x.bare || value[0] != '/'
	}
}

// alike reports whether two dialects read alike what has no other oddities.
func (x *oddities) alike(a, b *Dialect) bool {
	return (!x.ambiguous || a.Misspellings == b.Misspellings && a.MissingColon == b.MissingColon && a.CStrings == b.CStrings && a.MaxLineBytes == b.MaxLineBytes) &&
		(!x.blank || (a.RunEnd == RunEndRuleOrBlank) == (b.RunEnd == RunEndRuleOrBlank)) &&
		(!x.member || (a.RunEnd == RunEndMember) == (b.RunEnd == RunEndMember)) &&
		(!x.empty || a.EmptyDisallowAllows == b.EmptyDisallowAllows) &&
		(!x.bare || a.AssumeSlash == b.AssumeSlash) &&
		(!x.special || a.LiteralWeight == b.LiteralWeight) &&
		(!x.escape || a.Escapes == b.Escapes) &&
		(!x.index || a.IndexHTML == b.IndexHTML)
}

// A list is the rules of some groups, compiled for a dialect.
type list struct {
	ruleList
	dialect  *Dialect
	oddities     // of its rules
	next     int // of the same groups where dialects differ, -1 for none
}

// A pool is the list of all groups, of which callers have parts.
type pool struct {
	list
	groups []int // of each rule
}

// list returns the rules of some groups: a list that there is, a new one, or if the file has
// taken too many lines for these, a part of the pool.
func (o *outline) list(d *Dialect, groups []byte) ruleList {
	first, ok := o.places[string(groups)]
	if !ok {
		first = -1
	}
	for at := first; at >= 0; at = o.lists[at].next {
		if l := &o.lists[at]; l.alike(l.dialect, d) {
			return l.ruleList
		}
	}
	lines := 0
	for g := range groupsOf(groups) {
		lines += int(o.groups[g+1] - o.groups[g])
	}
	o.places[string(groups)] = len(o.lists)
	o.lists = append(o.lists, list{dialect: d, next: first})
	made := &o.lists[len(o.lists)-1]
	if lines <= o.left {
		o.left -= lines
		o.compile(made, groups)
	} else {
		o.part(made, groups)
	}
	return made.ruleList
}

// groupsOf yields the groups of a key of outline.places.
func groupsOf(key []byte) iter.Seq[int] {
	return func(yield func(g int) bool) {
		for ; len(key) > 0; key = key[4:] {
			if !yield(int(binary.LittleEndian.Uint32(key))) {
				return
			}
		}
	}
}

// compile makes the rules of some groups.
func (o *outline) compile(made *list, groups []byte) {
	f, d := o.file, made.dialect
	s := scratches.Get().(*scratch)
	s.rules, s.lines, s.buf = s.rules[:0], s.lines[:0], s.buf[:0]
	for g := range groupsOf(groups) {
		for _, l := range f.lines[o.groups[g]:o.groups[g+1]] {
			if l.field != FieldAllow && l.field != FieldDisallow && !l.ambiguous {
				continue
			}
			field, start, end := f.read(l, d)
			if field != FieldAllow && field != FieldDisallow {
				continue
			}
			value := view(f.body[start:end])
			if usual := s.rule(d, field, start, value); !usual || field == FieldAllow {
				made.note(field, value, usual)
			}
		}
	}
	r := Rules{file: f}
	if len(s.buf) > 0 {
		r.buf = slices.Clone(s.buf)
	}
	s.rank(&r)
	s.free()
	made.ruleList = r.ruleList
}

// part takes the rules of some groups from the pool. They have no index, which would leave out
// what a group repeats of another, and are scanned.
func (o *outline) part(made *list, groups []byte) {
	i := slices.IndexFunc(o.pools, func(p pool) bool { return p.alike(p.dialect, made.dialect) })
	if i < 0 {
		i = len(o.pools)
		o.pools = append(o.pools, o.newPool(made.dialect))
	}
	p := &o.pools[i]
	in := make([]bool, len(o.groups))
	for g := range groupsOf(groups) {
		in[g] = true
	}
	own := make(ownRules, (len(p.rules)+63)/64)
	for i, g := range p.groups {
		if in[g] {
			own[i/64] |= 1 << (i % 64)
		}
	}
	made.ruleList, made.oddities = p.ruleList, p.oddities
	made.own = &own
}

func (o *outline) newPool(d *Dialect) pool {
	p := pool{list: list{dialect: d}}
	var all []byte
	for g := range len(o.groups) - 1 {
		all = binary.LittleEndian.AppendUint32(all, uint32(g))
	}
	o.compile(&p.list, all)
	p.lazy = nil
	p.groups = make([]int, len(p.rules))
	for i := range p.rules {
		// The rule is of the last group that begins before it.
		p.groups[i], _ = slices.BinarySearchFunc(o.groups[1:len(o.groups)-1], uint32(p.place(&p.rules[i]).Start), func(line, start uint32) int {
			return cmp.Compare(o.file.lines[line].val, start)
		})
	}
	return p
}

// ownRules says which of a list are the caller's, a bit for each rule.
type ownRules []uint64

// has reports whether a rule of the list is one of the caller's.
func (l *ruleList) has(i int) bool { return l.own == nil || (*l.own)[i/64]>>(i%64)&1 != 0 }

// count returns how many of the list are the caller's.
func (l *ruleList) count() int {
	if l.own == nil {
		return len(l.rules)
	}
	n := 0
	for _, w := range *l.own {
		n += bits.OnesCount64(w)
	}
	return n
}
