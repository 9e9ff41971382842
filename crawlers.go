package robots

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Crawlers finds the rules of many crawlers in one file. Add crawlers to the zero value once;
// then it is safe for concurrent use with many files.
type Crawlers struct {
	n        int
	dialects []dialectCrawlers
}

// dialectCrawlers are the crawlers of one dialect.
type dialectCrawlers struct {
	dialect  *Dialect
	crawlers []crawler
	places   map[string]int // of their tokens, as the dialect compares them, and of "*"
}

type crawler struct {
	at            int // in the order of Add
	tokens, given []string
	places        []int // of the tokens
	ignoresStar   bool  // the group of '*' does not apply (D-53)
}

// Add adds a crawler with its dialect and its product tokens, as File.Rules takes them.
func (c *Crawlers) Add(d Dialect, tokens ...string) {
	i := slices.IndexFunc(c.dialects, func(s dialectCrawlers) bool { return *s.dialect == d })
	if i < 0 {
		i = len(c.dialects)
		c.dialects = append(c.dialects, dialectCrawlers{dialect: shared(&d), places: map[string]int{"*": 0}})
	}
	s := &c.dialects[i]
	given := slices.Clone(tokens)
	k := crawler{at: c.n, tokens: s.dialect.tokensOf(given), given: given}
	k.ignoresStar = s.dialect.ignoresStar(k.tokens)
	c.n++
	for _, t := range k.tokens {
		if !s.dialect.ExactCase {
			t = lowerString(t)
		}
		if t == "*" || t == "" && !s.dialect.RawTokens {
			t = "\n" // no line contains it: these tokens have no group of their own (D-47)
		}
		if _, ok := s.places[t]; !ok {
			s.places[t] = len(s.places)
		}
		k.places = append(k.places, s.places[t])
	}
	s.crawlers = append(s.crawlers, k)
}

// Rules returns the rules of each crawler in f, in the order of Add, with the verdicts of
// f.Rules for its dialect and tokens. The file is read once per dialect. Crawlers
// with the same groups share their rules, and those that the file does not name share rules
// without Tokens, so memory is bounded by the file and not by the number of crawlers.
func (c *Crawlers) Rules(f *File) []*Rules {
	return c.rules(func(Dialect) *Rules { return &Rules{file: f} }, minCopied)
}

// RulesBy is Rules for the result of a fetch. It calls of once per dialect, which returns
// the rules of an unnamed crawler, such as those of fetch.Record.Rules without tokens. The
// crawlers get the same file and State; if there is no file they all get these rules.
func (c *Crawlers) RulesBy(of func(d Dialect) *Rules) []*Rules { return c.rules(of, minCopied) }

// minCopied is the number of rules that can be copied however small the file is.
const minCopied = 1024

func (c *Crawlers) rules(of func(d Dialect) *Rules, least int) []*Rules {
	all := make([]*Rules, c.n)
	for i := range c.dialects {
		s := &c.dialects[i]
		others := of(*s.dialect).made()
		if !others.noFile {
			q := selection{dialectCrawlers: s, base: Rules{file: others.file, state: others.state, user: others.user, dialect: s.dialect}}
			q.read()
			q.left = least + 8*len(others.file.lines)
			others = q.choose(all)
		}
		for _, k := range s.crawlers {
			if all[k.at] == nil {
				all[k.at] = others
			}
		}
	}
	return all
}

// A selection chooses the rules of the crawlers of one dialect in a file.
type selection struct {
	*dialectCrawlers
	base     Rules       // without a crawler and rules
	pool     Rules       // of all groups
	groups   []int       // of its rules
	starts   []int       // of groups
	mentions [][]mention // of each place of a token, in file order
	lists    map[string]ruleList
	left     int // rules that can still be copied
}

// A mention is a user-agent line that names a token.
type mention struct{ group, line uint32 } // line is the offset of its value

// read finds the groups, all rules and the mentions.
func (q *selection) read() {
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

// choose sets the rules of the crawlers that the file names, or to which the group of '*'
// does not apply, and returns the rules of all others.
func (q *selection) choose(all []*Rules) (others *Rules) {
	for i := range q.crawlers {
		k := &q.crawlers[i]
		if k.ignoresStar {
			all[k.at] = q.rulesOf(k, agent{}, nil)
		}
		rank := slices.IndexFunc(k.places, func(place int) bool { return len(q.mentions[place]) > 0 })
		if rank < 0 {
			continue
		}
		a, mentions := agent{token: k.tokens[rank], found: true}, q.mentions[k.places[rank]]
		if q.dialect.MergeTokens && len(k.tokens) > 1 { // C-11
			mentions = nil
			for _, place := range k.places {
				mentions = append(mentions, q.mentions[place]...)
			}
			slices.SortFunc(mentions, func(a, b mention) int { return cmp.Compare(a.line, b.line) })
			mentions = slices.Compact(mentions)
		}
		all[k.at] = q.rulesOf(k, a, mentions)
	}
	return q.rulesOf(&crawler{}, agent{token: "*", star: true, found: true}, q.mentions[0])
}

// rulesOf returns the rules of a crawler with these mentions.
func (q *selection) rulesOf(k *crawler, a agent, mentions []mention) *Rules {
	own := q.base
	own.given = k.given
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

// list returns the rules of the groups of some mentions: a copy or, if too many rules have
// been copied, all rules with a bit for each of these. Such a list has no index, which would
// leave out a rule that another group repeats.
func (q *selection) list(mentions []mention) ruleList {
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
