package robots

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A Caller is a crawler as File.Rules takes it: its dialect, and its product tokens, the most
// wanted first.
type Caller struct {
	Dialect Dialect
	Tokens  []string
}

// Callers are crawlers that are asked about one file together, each in its own dialect. They
// are made once for many files, immutable and safe for concurrent use. The zero value is
// nobody.
type Callers struct {
	n        int
	speakers []speakers
}

// speakers are the callers of one dialect.
type speakers struct {
	dialect *Dialect
	callers []caller
	places  map[string]int // of their tokens, as the dialect compares them, and of "*"
}

// A caller is one of speakers.
type caller struct {
	at            int // in the list of Callers
	tokens, given []string
	places        []int // of the tokens
	starved       bool  // the group of '*' does not hold (D-53)
}

// NewCallers returns the callers of a list.
func NewCallers(list ...Caller) *Callers {
	c := &Callers{n: len(list)}
	for at, k := range list {
		i := slices.IndexFunc(c.speakers, func(s speakers) bool { return *s.dialect == k.Dialect })
		if i < 0 {
			i = len(c.speakers)
			c.speakers = append(c.speakers, speakers{dialect: shared(&k.Dialect), places: map[string]int{"*": 0}})
		}
		c.speakers[i].add(at, k.Tokens)
	}
	return c
}

func (s *speakers) add(at int, given []string) {
	r := newRules(nil, s.dialect, given)
	k := caller{at: at, tokens: r.tokens, given: r.given, starved: s.dialect.ignoresStar(r.tokens)}
	for _, t := range k.tokens {
		if !s.dialect.ExactCase {
			t = lowerString(t)
		}
		if t == "*" || t == "" && !s.dialect.RawTokens {
			t = "\n" // it names nobody (D-47), and no line holds this
		}
		if _, ok := s.places[t]; !ok {
			s.places[t] = len(s.places)
		}
		k.places = append(k.places, s.places[t])
	}
	s.callers = append(s.callers, k)
}

// Rules returns what each caller obeys of f, in the order of the list. Its verdicts are those
// of f.Rules(caller.Dialect, caller.Tokens...), and a hundred callers cost little more than one:
// the file is read once for each dialect, and callers of a dialect in the same groups share rules.
// The callers of a dialect whom the file does not name share one value, which has no Tokens;
// so who asks a path of all may ask each value once.
//
// No file makes it much: for each dialect eight times as many rules are copied as it has lines,
// and copiedLeast; callers for whom that is too little share the rules of all groups, of which
// each keeps one bit for each rule.
func (c *Callers) Rules(f *File) []*Rules {
	return c.rules(func(Dialect) *Rules { return &Rules{file: f} }, copiedLeast)
}

// RulesBy is Rules where a fetch is behind the file, or no file gives the answer. It calls of
// once for each dialect; that returns the rules of a caller whom nothing names, such as
// fetch.Record.Rules without tokens. Its callers have the same file and State, or these rules
// themselves if they are of no file.
func (c *Callers) RulesBy(of func(d Dialect) *Rules) []*Rules { return c.rules(of, copiedLeast) }

// copiedLeast is the number of rules that are copied however small the file is.
const copiedLeast = 1024

func (c *Callers) rules(of func(d Dialect) *Rules, least int) []*Rules {
	all := make([]*Rules, c.n)
	for i := range c.speakers {
		s := &c.speakers[i]
		others := of(*s.dialect).made()
		if !others.noFile {
			q := inquiry{speakers: s, base: Rules{file: others.file, state: others.state, user: others.user, dialect: s.dialect}}
			q.read()
			q.left = least + 8*len(others.file.lines)
			others = q.answer(all)
		}
		for _, k := range s.callers {
			if all[k.at] == nil {
				all[k.at] = others
			}
		}
	}
	return all
}

// An inquiry is what the speakers of one dialect ask of a file.
type inquiry struct {
	*speakers
	base     Rules       // of a caller of whom only the dialect is known
	pool     Rules       // of all groups
	groups   []int       // of its rules
	starts   []int       // of groups
	mentions [][]mention // of each place of a token, in the order of the file
	lists    map[string]ruleList
	left     int // rules that may still be copied
}

// A mention says that a user-agent line names a token.
type mention struct{ group, line uint32 } // where its value is

// read finds the groups, the rules of all, and who is named.
func (q *inquiry) read() {
	d, f := q.dialect, q.base.file
	q.base.limit, q.base.counts = f.limit(d)
	q.mentions = make([][]mention, len(q.places))
	s := scratches.Get().(*scratch)
	s.rules, s.lines, s.buf = s.rules[:0], s.lines[:0], s.buf[:0]
	var run agentRun
	for _, l := range f.lines {
		if int(l.val) > q.base.limit {
			break
		}
		field, start, end := f.read(l, d)
		if run.begins(f, d, field, start) {
			q.starts = append(q.starts, start)
		}
		switch value := view(f.body[start:end]); {
		case field == FieldUserAgent:
			for _, name := range d.named(value) {
				if place, ok := q.places[name]; ok {
					q.mentions[place] = append(q.mentions[place], mention{uint32(len(q.starts) - 1), uint32(start)})
				}
			}
		case (field == FieldAllow || field == FieldDisallow) && len(q.starts) > 0:
			s.rule(d, field, start, value)
		}
	}
	q.pool.file, q.pool.buf = f, slices.Clone(s.buf)
	s.rank(&q.pool)
	s.free()
	q.base.anyRule = len(q.pool.rules) > 0
	q.groups = make([]int, len(q.pool.rules))
	for i := range q.groups { // the last that begins before a rule
		after, _ := slices.BinarySearch(q.starts, q.pool.place(&q.pool.rules[i]).Start)
		q.groups[i] = after - 1
	}
}

// answer gives their rules to those whom the file names, or for whom the group of '*' does not
// hold, and returns the rules of all others.
func (q *inquiry) answer(all []*Rules) (others *Rules) {
	for i := range q.callers {
		k := &q.callers[i]
		if k.starved {
			all[k.at] = q.rulesOf(k, agent{}, nil)
		}
		rank := slices.IndexFunc(k.places, func(place int) bool { return len(q.mentions[place]) > 0 })
		if rank < 0 {
			continue
		}
		a, mentions := agent{tokens: k.tokens[rank:][:1], token: k.tokens[rank], found: true}, q.mentions[k.places[rank]]
		if q.dialect.MergeTokens && len(k.tokens) > 1 { // C-11
			a.tokens, mentions = k.tokens, nil
			for _, place := range k.places {
				mentions = append(mentions, q.mentions[place]...)
			}
			slices.SortFunc(mentions, func(a, b mention) int { return cmp.Compare(a.line, b.line) })
			mentions = slices.Compact(mentions)
		}
		all[k.at] = q.rulesOf(k, a, mentions)
	}
	return q.rulesOf(&caller{}, agent{token: "*", star: true, found: true}, q.mentions[0])
}

// rulesOf returns those of a caller whom some lines mention.
func (q *inquiry) rulesOf(k *caller, a agent, mentions []mention) *Rules {
	own := q.base
	own.tokens, own.given = k.tokens, k.given
	if len(mentions) == 0 {
		return &own
	}
	own.agent, own.lines = a, make([]uint32, len(mentions))
	var few [64]byte
	key := few[:0] // of the groups
	for i, m := range mentions {
		own.lines[i] = m.line
		if i == 0 || mentions[i-1].group != m.group {
			key = binary.LittleEndian.AppendUint32(key, m.group)
		}
	}
	list, ok := q.lists[string(key)]
	if !ok {
		list = q.list(mentions)
		if q.lists == nil {
			q.lists = map[string]ruleList{}
		}
		q.lists[string(key)] = list
	}
	own.ruleList = list
	return &own
}

// list returns the rules of the groups of some mentions: a copy of them or, if too many have
// been copied, all rules and which of them these are. Those have no index, which would leave
// out what a group repeats of another.
func (q *inquiry) list(mentions []mention) ruleList {
	in := make([]bool, len(q.starts))
	for _, m := range mentions {
		in[m.group] = true
	}
	s := scratches.Get().(*scratch)
	defer s.free()
	s.rules, s.lines = s.rules[:0], s.lines[:0]
	marked := q.pool.ruleList
	marked.lazy, marked.own = nil, make([]uint64, (len(q.groups)+63)/64)
	for i, group := range q.groups {
		if in[group] {
			s.rules = append(s.rules, q.pool.rules[i])
			marked.own[i/64] |= 1 << (i % 64)
		}
	}
	if len(s.rules) == len(q.groups) {
		return q.pool.ruleList
	}
	if q.left -= len(s.rules); q.left < 0 {
		return marked
	}
	copied := Rules{file: q.pool.file, ruleList: ruleList{buf: q.pool.buf}}
	s.rank(&copied)
	return copied.ruleList
}
