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
	tokenIDs map[string]int // of each token, as the dialect compares it, from 1; 0 for "*"
}

// A crawler is one call of Add.
type crawler struct {
	index        int      // in the order of Add
	callerTokens []string // as passed to Add
	tokens       []string // as the dialect reads them
	tokenIDs     []int    // of tokens
	ignoresStar  bool     // the group of '*' does not apply (D-53)
}

// Add adds a crawler with its dialect and its product tokens, as File.Rules takes them.
func (c *Crawlers) Add(d Dialect, tokens ...string) {
	i := slices.IndexFunc(c.dialects, func(s dialectCrawlers) bool { return *s.dialect == d })
	if i < 0 {
		i = len(c.dialects)
		c.dialects = append(c.dialects, dialectCrawlers{dialect: sharedDialect(&d), tokenIDs: map[string]int{"*": 0}})
	}
	s := &c.dialects[i]
	callerTokens := slices.Clone(tokens)
	k := crawler{index: c.n, tokens: s.dialect.tokensOf(callerTokens), callerTokens: callerTokens}
	k.ignoresStar = s.dialect.ignoresStar(k.tokens)
	c.n++
	for _, t := range k.tokens {
		if !s.dialect.ExactCase {
			t = lowerString(t)
		}
		if t == "*" || t == "" && !s.dialect.RawTokens {
			t = "\n" // no line contains it: these tokens have no group of their own (D-47)
		}
		if _, ok := s.tokenIDs[t]; !ok {
			s.tokenIDs[t] = len(s.tokenIDs)
		}
		k.tokenIDs = append(k.tokenIDs, s.tokenIDs[t])
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

// RulesBy is Rules for the result of a fetch. It calls unnamed once per dialect for the rules
// of a crawler that no group names, such as those of fetch.Record.Rules without tokens. The
// crawlers get the same file and State; if there is no file they all get these rules.
func (c *Crawlers) RulesBy(unnamed func(d Dialect) *Rules) []*Rules {
	return c.rules(unnamed, minCopied)
}

// minCopied is the number of rules that can be copied however small the file is.
const minCopied = 1024

// rules returns the rules of each crawler. It copies at most minCopies rules per dialect, and
// eight for each line of the file.
func (c *Crawlers) rules(unnamed func(d Dialect) *Rules, minCopies int) []*Rules {
	list := make([]*Rules, c.n)
	for i := range c.dialects {
		s := &c.dialects[i]
		others := unnamed(*s.dialect).orInvalid()
		if !others.isFallback {
			base := Rules{file: others.file, state: others.state, userInitiated: others.userInitiated, dialect: s.dialect}
			q := selection{dialectCrawlers: s, base: base}
			q.read()
			q.copiesLeft = minCopies + 8*q.lines
			others = q.choose(list)
		}
		for _, k := range s.crawlers {
			if list[k.index] == nil {
				list[k.index] = others
			}
		}
	}
	return list
}

// A selection chooses the rules of the crawlers of one dialect in a file.
type selection struct {
	*dialectCrawlers
	base        Rules               // what the rules of all crawlers have in common
	allRules    Rules               // the rules of all groups
	ruleGroups  []int               // the group of each of allRules, from 0
	groupStarts []int               // offset of the first line of each group
	groupRules  [][]uint32          // indexes in allRules of the rules of each group, made on demand
	mentions    [][]mention         // by token id, each in file order
	lists       map[string]ruleList // by the numbers of their groups, four bytes each
	chosen      map[*mention]*Rules // by the first of the mentions, of one of the crawlers that have them
	lines       int                 // number of lines with a field
	copiesLeft  int                 // number of rules that can still be copied
}

// A mention is a user-agent line that names a token.
type mention struct {
	group uint32 // number of the group, from 0
	line  uint32 // offset of the line's value
}

// read reads the groups of the file, all rules and the mentions.
func (q *selection) read() {
	d := q.dialect
	f := q.base.file
	q.base.limit, q.base.fileApplies = f.limit(d)
	q.mentions = make([][]mention, len(q.tokenIDs))
	s := scratches.Get().(*scratch)
	s.reset()
	var run agentRun
	var names []string
	lines := f.scan(q.base.limit, d)
	for lines.next() {
		field := lines.field
		start := lines.valueStart
		end := lines.valueEnd
		if field == FieldNone {
			continue
		}
		q.lines++
		q.base.anyRecord = q.base.anyRecord || field > FieldSitemap
		if run.startsGroup(f, d, field, start) {
			q.groupStarts = append(q.groupStarts, start)
		}
		switch value := stringView(f.body[start:end]); {
		case field == FieldUserAgent:
			names = d.namesIn(value, names[:0])
			for _, name := range names {
				if id, ok := q.tokenIDs[name]; ok {
					m := mention{group: uint32(len(q.groupStarts) - 1), line: uint32(start)}
					q.mentions[id] = append(q.mentions[id], m)
				}
			}
		case (field == FieldAllow || field == FieldDisallow) && len(q.groupStarts) > 0:
			s.addRule(d, field, start, value)
		}
	}
	q.allRules.file = f
	q.allRules.normalForms = slices.Clone(s.normalForms)
	s.sortRules(&q.allRules)
	s.free()
	q.base.anyRule = len(q.allRules.rules) > 0
	q.ruleGroups = make([]int, len(q.allRules.rules))
	for i := range q.ruleGroups {
		// A rule belongs to the last group that begins before it.
		next, _ := slices.BinarySearch(q.groupStarts, q.allRules.sourceSpan(&q.allRules.rules[i]).Start)
		q.ruleGroups[i] = next - 1
	}
}

// choose sets the rules of the crawlers that the file names, or to which the group of '*'
// does not apply, and returns the rules of all others.
func (q *selection) choose(list []*Rules) (others *Rules) {
	for i := range q.crawlers {
		k := &q.crawlers[i]
		if k.ignoresStar {
			list[k.index] = q.rulesOf(k, groupChoice{}, nil)
		}
		rank := slices.IndexFunc(k.tokenIDs, func(id int) bool { return len(q.mentions[id]) > 0 })
		if rank < 0 {
			continue
		}
		choice := groupChoice{token: k.tokens[rank], found: true}
		mentions := q.mentions[k.tokenIDs[rank]]
		if q.dialect.MergeTokens && len(k.tokens) > 1 { // C-11
			mentions = nil
			for _, id := range k.tokenIDs {
				mentions = append(mentions, q.mentions[id]...)
			}
			slices.SortFunc(mentions, func(a, b mention) int { return cmp.Compare(a.line, b.line) })
			mentions = slices.Compact(mentions)
		}
		list[k.index] = q.rulesOf(k, choice, mentions)
	}
	return q.rulesOf(&crawler{}, groupChoice{token: "*", star: true, found: true}, q.mentions[0])
}

// rulesOf returns the rules of a crawler with these mentions. Crawlers that have the same slice of
// mentions share all that they select.
func (q *selection) rulesOf(k *crawler, choice groupChoice, mentions []mention) *Rules {
	rules := q.base
	rules.callerTokens = k.callerTokens
	if len(mentions) == 0 {
		return &rules
	}
	rules.choice = choice
	if same := q.chosen[&mentions[0]]; same != nil {
		rules.agentLines = same.agentLines
		rules.ruleList = same.ruleList
		return &rules
	}
	rules.agentLines = make([]uint32, len(mentions))
	var buf [64]byte
	key := buf[:0]
	for i, m := range mentions {
		rules.agentLines[i] = m.line
		if i == 0 || mentions[i-1].group != m.group {
			key = binary.LittleEndian.AppendUint32(key, m.group)
		}
	}
	if len(key) == 4*len(q.groupStarts) {
		rules.ruleList = q.allRules.ruleList // of all groups, as in most files
	} else {
		list, ok := q.lists[string(key)]
		if !ok {
			list = q.rulesOfGroups(mentions)
			if q.lists == nil {
				q.lists = map[string]ruleList{}
			}
			q.lists[string(key)] = list
		}
		rules.ruleList = list
	}
	if q.chosen == nil {
		q.chosen = map[*mention]*Rules{}
	}
	q.chosen[&mentions[0]] = &rules
	return &rules
}

// indexesOfRules returns the indexes in allRules of the rules of the groups of some mentions, which are in
// file order, in ascending order.
func (q *selection) indexesOfRules(mentions []mention) []uint32 {
	if q.groupRules == nil {
		sizes := make([]int, len(q.groupStarts))
		for _, group := range q.ruleGroups {
			sizes[group]++
		}
		rest := make([]uint32, len(q.ruleGroups))
		q.groupRules = make([][]uint32, len(q.groupStarts))
		for group, size := range sizes {
			q.groupRules[group] = rest[:0:size]
			rest = rest[size:]
		}
		for i, group := range q.ruleGroups {
			q.groupRules[group] = append(q.groupRules[group], uint32(i))
		}
	}
	if mentions[0].group == mentions[len(mentions)-1].group {
		return q.groupRules[mentions[0].group]
	}
	var indexes []uint32
	for i, m := range mentions {
		if i == 0 || mentions[i-1].group != m.group {
			indexes = append(indexes, q.groupRules[m.group]...)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// rulesOfGroups returns the rules of the groups of some mentions: a copy or, if too many rules
// have been copied, all rules with a bit for each that is in these groups. Such a list has no
// index, which would leave out a rule that another group repeats.
func (q *selection) rulesOfGroups(mentions []mention) ruleList {
	s := scratches.Get().(*scratch)
	defer s.free()
	s.reset()
	selected := q.indexesOfRules(mentions)
	if len(selected) == len(q.ruleGroups) {
		return q.allRules.ruleList
	}
	q.copiesLeft -= len(selected)
	if q.copiesLeft < 0 {
		shared := q.allRules.ruleList
		shared.index = nil
		shared.memberBits = make([]uint64, (len(q.ruleGroups)+63)/64)
		for _, i := range selected {
			shared.memberBits[i/64] |= 1 << (i % 64)
		}
		return shared
	}
	for _, i := range selected {
		s.rules = append(s.rules, q.allRules.rules[i])
	}
	copied := Rules{file: q.allRules.file, ruleList: ruleList{normalForms: q.allRules.normalForms}}
	s.sortRules(&copied)
	return copied.ruleList
}
