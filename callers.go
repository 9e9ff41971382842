package robots

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
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
	tokens  map[string]int32 // of all of them, as the dialect compares them: places in claims
	longest int              // bytes of a token
	claims  [][]claim        // on each token; place 0 is that of "*"
	starved []int32          // for whom the group of '*' does not hold (D-53)
}

// everybody is the place of "*" among the tokens.
const everybody = 0

// A caller is one of speakers.
type caller struct {
	at     int      // in the list of Callers
	tokens []string // as the dialect reads them
	given  []string // nil if that is the same
}

// A claim is that of a caller on the groups of one of its tokens, of rank 0 on that which it
// wants most.
type claim struct{ caller, rank, token int32 }

// NewCallers returns the callers of a list.
func NewCallers(list ...Caller) *Callers {
	c := &Callers{n: len(list)}
	for at, k := range list {
		i := slices.IndexFunc(c.speakers, func(s speakers) bool { return *s.dialect == k.Dialect })
		if i < 0 {
			i = len(c.speakers)
			c.speakers = append(c.speakers, speakers{dialect: shared(&k.Dialect), tokens: map[string]int32{}, claims: make([][]claim, 1)})
		}
		c.speakers[i].add(at, k.Tokens)
	}
	return c
}

func (s *speakers) add(at int, given []string) {
	d, id := s.dialect, int32(len(s.callers))
	k := caller{at: at, tokens: slices.Clone(d.tokensOf(given))}
	if !slices.Equal(k.tokens, given) {
		k.given = slices.Clone(given)
	}
	s.callers = append(s.callers, k)
	if d.ignoresStar(k.tokens) {
		s.starved = append(s.starved, id)
	}
	for rank, t := range k.tokens {
		if t == "*" || t == "" && !d.RawTokens {
			continue // it names nobody (D-47)
		}
		if !d.ExactCase {
			t = lowerString(t)
		}
		place, ok := s.tokens[t]
		if !ok {
			place = int32(len(s.claims))
			s.tokens[t], s.claims, s.longest = place, append(s.claims, nil), max(s.longest, len(t))
		}
		s.claims[place] = append(s.claims[place], claim{id, int32(rank), place})
	}
}

// token returns the place of the token that a form of a user-agent value is.
func (s *speakers) token(form string) (place int32, ok bool) {
	if len(form) > s.longest {
		return 0, false
	}
	if s.dialect.ExactCase {
		place, ok = s.tokens[form]
		return place, ok
	}
	var few [64]byte
	low := append(few[:0], form...)
	for i := range low {
		low[i] = lower(low[i])
	}
	place, ok = s.tokens[string(low)]
	return place, ok
}

// Rules returns what each caller obeys of f, in the order of the list. Its verdicts are those
// of f.Rules(caller.Dialect, caller.Tokens...), and a hundred callers cost little more than one:
// dialects that read the file alike read it once, and callers in the same groups share rules.
// The callers of a dialect whom the file does not name share one value, which has no Tokens;
// so who asks a path of all may ask each value once.
//
// No file makes it much: of its lines, eight times as many as it has, and copiedLeast, are made
// rules; callers for whom that is too little share the rules of all groups, of which each keeps
// one bit for each rule.
func (c *Callers) Rules(f *File) []*Rules { return c.rules(f, nil, copiedLeast) }

// RulesBy is Rules where a fetch is behind the file, or no file gives the answer. It calls of
// once for each dialect; that returns the rules of a caller whom nothing names, such as
// fetch.Record.Rules without tokens. Its callers have the same file and State, or these rules
// themselves if they are of no file.
func (c *Callers) RulesBy(of func(d Dialect) *Rules) []*Rules { return c.rules(nil, of, copiedLeast) }

// copiedLeast is the number of lines that are made rules however small the file is.
const copiedLeast = 1024

func (c *Callers) rules(f *File, of func(d Dialect) *Rules, least int) []*Rules {
	all := make([]*Rules, c.n)
	q := inquiries.Get().(*inquiry)
	for i := range c.speakers {
		q.speakers = &c.speakers[i]
		var others *Rules
		q.base = Rules{file: f}
		if of != nil {
			others = of(*q.speakers.dialect).made()
			q.base = Rules{file: others.file, state: others.state, user: others.user}
		}
		if others == nil || !others.noFile {
			others = q.ask(all, least)
		}
		for _, k := range q.callers {
			if all[k.at] == nil {
				all[k.at] = others
			}
		}
	}
	q.free()
	return all
}

// An inquiry is what the speakers of one dialect after another ask of a file. Nothing of it is
// kept but rules, so its memory serves the next.
type inquiry struct {
	*speakers
	*outline
	outlines []outline // so far
	base     Rules     // of a caller of whom only the dialect is known
	mentions []mention // by token, those of one token in the order of the file
	lines    []uint32  // of mentions
	claims   []claim   // on what is mentioned, by caller, the most wanted first
}

// A mention says that a user-agent line names a token.
type mention struct {
	token int32
	group uint32
	line  uint32 // where its value is
}

var inquiries = sync.Pool{New: func() any { return new(inquiry) }}

// free gives the memory back, unless an unusual file has left much.
func (q *inquiry) free() {
	const most = 1 << 12
	size := cap(q.mentions) + cap(q.claims)
	for i := range q.outlines {
		size += q.outlines[i].clear()
	}
	if size > most {
		return
	}
	*q = inquiry{outlines: q.outlines[:0], mentions: q.mentions[:0], claims: q.claims[:0]}
	inquiries.Put(q)
}

// ask gives their rules to those whom the file names, or for whom the group of '*' does not
// hold, and returns the rules of all others.
func (q *inquiry) ask(all []*Rules, least int) (others *Rules) {
	d := q.speakers.dialect
	q.read(q.base.file, least)
	q.base.dialect, q.base.limit, q.base.counts = d, q.limit, q.counts
	q.base.anyRule = q.anyRule || q.anyEmpty && d.EmptyDisallowAllows
	q.find()
	others = q.rulesOf(&caller{}, agent{})
	if _, n := q.of(everybody); n > 0 {
		others.agent = agent{token: "*", star: true, found: true}
		q.give(others, q.mentions[:n], q.lines[:n:n])
	}
	for _, id := range q.starved {
		k := &q.callers[id]
		all[k.at] = q.rulesOf(k, agent{})
	}
	for claims := q.claims; len(claims) > 0; {
		first, n := claims[0], 1
		for n < len(claims) && claims[n].caller == first.caller {
			n++
		}
		k := &q.callers[first.caller]
		tokens := k.tokens[first.rank:][:1]
		own := q.rulesOf(k, agent{tokens: tokens, token: tokens[0], found: true})
		from, to := q.of(first.token)
		mentions, lines := q.mentions[from:to], q.lines[from:to:to]
		if d.MergeTokens && len(k.tokens) > 1 {
			own.agent.tokens = k.tokens
			mentions, lines = q.merge(claims[:n])
		}
		q.give(own, mentions, lines)
		all[k.at] = own
		claims = claims[n:]
	}
	return others
}

// find finds who is named.
func (q *inquiry) find() {
	q.mentions, q.claims = q.mentions[:0], q.claims[:0]
	d := q.speakers.dialect
	for _, a := range q.agents {
		value := view(q.file.body[a.start:a.end])
		if d.namesAll(value) {
			q.mentions = append(q.mentions, mention{everybody, a.group, a.start})
			continue
		}
		d.eachForm(value, func(form string) {
			if token, ok := q.token(form); ok {
				q.mentions = append(q.mentions, mention{token, a.group, a.start})
			}
		})
	}
	slices.SortStableFunc(q.mentions, func(a, b mention) int { return cmp.Compare(a.token, b.token) })
	q.mentions = slices.Compact(q.mentions) // a header may repeat a name
	q.lines = linesOf(q.mentions)
	for i, m := range q.mentions {
		if i == 0 || q.mentions[i-1].token != m.token {
			q.claims = append(q.claims, q.speakers.claims[m.token]...)
		}
	}
	slices.SortFunc(q.claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.caller, b.caller), cmp.Compare(a.rank, b.rank))
	})
}

func linesOf(mentions []mention) []uint32 {
	lines := make([]uint32, len(mentions))
	for i, m := range mentions {
		lines[i] = m.line
	}
	return lines
}

// of returns where the mentions of a token are.
func (q *inquiry) of(token int32) (from, to int) {
	byToken := func(m mention, token int32) int { return cmp.Compare(m.token, token) }
	from, _ = slices.BinarySearchFunc(q.mentions, token, byToken)
	to, _ = slices.BinarySearchFunc(q.mentions, token+1, byToken)
	return from, to
}

// merge returns the mentions of several tokens as those of one, and their lines (C-11).
func (q *inquiry) merge(claims []claim) ([]mention, []uint32) {
	var merged []mention
	for _, c := range claims {
		from, to := q.of(c.token)
		merged = append(merged, q.mentions[from:to]...)
	}
	slices.SortFunc(merged, func(a, b mention) int { return cmp.Compare(a.line, b.line) })
	merged = slices.CompactFunc(merged, func(a, b mention) bool { return a.line == b.line })
	return merged, linesOf(merged)
}

// rulesOf returns those of a caller, without any rule.
func (q *inquiry) rulesOf(k *caller, a agent) *Rules {
	own := q.base
	own.tokens, own.given, own.agent = k.tokens, k.given, a
	return &own
}

// give gives a caller the rules of the groups of some mentions, and their lines.
func (q *inquiry) give(own *Rules, mentions []mention, lines []uint32) {
	var few [64]byte
	groups := few[:0]
	for i, m := range mentions {
		if i == 0 || mentions[i-1].group != m.group {
			groups = binary.LittleEndian.AppendUint32(groups, m.group)
		}
	}
	own.ruleList, own.lines = q.list(own.dialect, groups), lines
}
