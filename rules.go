package robots

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Rules are the rules of a file for one crawler in one dialect. They are immutable and
// safe for concurrent use. The zero value and nil disallow everything with ReasonInvalid
// (D-56).
type Rules struct {
	// The fields that a match reads come first, to touch few cache lines.
	ruleList
	file          *File
	dialect       *Dialect
	isFallback    bool    // there is no file: fallback is the outcome for all paths
	fallback      outcome // of AllowAll and DisallowAll
	userInitiated bool    // everything is allowed, see UserInitiated
	fileApplies   bool    // false if the dialect ignores the file because of its size
	anyRule       bool    // the file has a rule in some group
	anyRecord     bool    // the file has a record other than rules and sitemaps

	limit        int         // bytes of the file that the dialect reads
	callerTokens []string    // the tokens as the caller passed them
	oneToken     [1]string   // memory of callerTokens if there is one
	choice       groupChoice // the group of the crawler
	agentLines   []uint32    // offsets of the values of the user-agent lines that name the crawler
	state        *State      // nil if there was no fetch
}

// A ruleList is the rules of a crawler, highest precedence first.
type ruleList struct {
	firstBytes  firstBytes // of each rule
	index       *lazyIndex // nil for few rules
	rules       []rule
	memberBits  []uint64 // a bit for each rule that is the crawler's; nil if all are (Crawlers)
	normalForms []byte   // normal forms of rewritten rules, each after its source span
}

// contains reports whether a rule of the list is one of the crawler's.
func (l *ruleList) contains(i int) bool {
	return l.memberBits == nil || l.memberBits[i/64]>>(i%64)&1 != 0
}

// A rule is an Allow or Disallow line as the dialect reads it, in 20 bytes without a
// pointer for the garbage collector to follow.
type rule struct {
	offset, size uint32 // its normal form: in normalForms if rewritten, else the value in the body
	literalLen   uint32 // bytes of the normal form before its first star or its end
	weight       int32
	field        Field
	kind         kind
	rewritten    bool // its source span is stored in normalForms before offset
	empty        bool // a Disallow without a value
}

// allows reports whether the rule allows, as an empty Disallow does that counts (D-41).
func (v *rule) allows() bool { return v.field == FieldAllow || v.empty }

// kind is what is left to compare of a rule whose first bytes match.
type kind uint8

const (
	kindShort   kind = iota // nothing: the rule has at most eight bytes and no star
	kindLiteral             // the path must begin with the rule
	kindTail                // one star; the text after it must occur after the literal part
	kindSuffix              // one star; the path must end with the text after it
	kindPattern             // all other rules with a star or a final '$'
)

// text returns the normal form of a rule.
func (r *Rules) text(v *rule) string {
	b := r.file.body
	if v.rewritten {
		b = r.normalForms
	}
	return stringView(b[v.offset : v.offset+v.size])
}

// sourceSpan returns the position of a rule's value in the body.
func (l *ruleList) sourceSpan(v *rule) Span {
	start := v.offset
	size := v.size
	if v.rewritten {
		b := l.normalForms[v.offset-spanBytes:]
		start = binary.LittleEndian.Uint32(b)
		size = binary.LittleEndian.Uint32(b[4:])
	}
	return Span{int(start), int(start + size)}
}

// spanBytes is the size of a source span in normalForms: four bytes for its start, four for
// its length.
const spanBytes = 8

func (r *Rules) pattern(v *rule) Pattern { return Pattern{text: r.text(v), weight: v.weight} }

// groupChoice is the group that applies to a crawler, if any.
type groupChoice struct {
	token string // the crawler's token that the file names, "*" for the group of '*'
	star  bool   // it is the group of '*'
	found bool
}

// Rules returns the rules for the crawler with these product tokens, most specific first:
// those of the first token that has a group (AGENT-04, D-04), in GoogleCPP of all tokens
// (C-11), or else of '*'. Without a group everything is allowed (AGENT-09). Except in
// GoogleCPP, a token with a version, spaces or commas stands for the product tokens in it
// (ProductTokens).
func (f *File) Rules(d Dialect, tokens ...string) *Rules {
	r := newRules(f, &d, tokens)
	r.limit, r.fileApplies = f.limit(r.dialect)
	s := scratches.Get().(*scratch)
	s.collect(r, d.tokensOf(tokens))
	s.sortRules(r)
	s.free()
	return r
}

// scratch is memory that Rules reuses. It appends to it and copies the result once, at its exact
// size (TestAllocations).
type scratch struct {
	rules       []rule
	agentLines  []uint32
	normalForms []byte
	positions   [2 * countedWeights]uint32 // of countingSort; all 0 between two calls
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// free returns the memory to the pool, unless an unusually large file grew it.
func (s *scratch) free() {
	const most = 1 << 20
	if 20*cap(s.rules)+4*cap(s.agentLines)+cap(s.normalForms) <= 4*most {
		scratches.Put(s)
	}
}

// reset removes the rules of an earlier call.
func (s *scratch) reset() {
	s.rules = s.rules[:0]
	s.agentLines = s.agentLines[:0]
	s.normalForms = s.normalForms[:0]
}

// collect finds the group of the crawler with these tokens, as the dialect reads them
// (AGENT-01, AGENT-09), its rules in file order, and whether the file has any rule in a group.
//
// It keeps the rules of the most specific token named so far, with '*' after all tokens. When a
// line names a more specific one, it drops them and starts again.
func (s *scratch) collect(r *Rules, tokens []string) {
	d := r.dialect
	f := r.file
	s.reset()
	bestRank := len(tokens) + 1
	starApplies := !d.ignoresStar(tokens)
	firstMerged := bestRank // rank of the first token named, where groups are merged (C-11)
	active := false         // the crawler is named in the current group
	inGroup := false        // a user-agent line has been read
	var run agentRun
	lines := f.scan(r.limit, d)
	for lines.next() {
		field := lines.field
		start := lines.valueStart
		end := lines.valueEnd
		startsGroup := run.startsGroup(f, d, field, start)
		switch field {
		case FieldUserAgent:
			value := stringView(f.body[start:end])
			rank := d.tokenRank(value, tokens, bestRank, starApplies)
			inGroup = true
			if rank < bestRank {
				bestRank = rank
				s.reset()
			}
			named := rank == bestRank && rank <= len(tokens)
			active = named || active && !startsGroup
			if named {
				s.agentLines = append(s.agentLines, uint32(start))
				if d.MergeTokens && rank < len(tokens) {
					rank = slices.IndexFunc(tokens, func(token string) bool { return d.namesToken(value, token) })
				}
				firstMerged = min(firstMerged, rank)
			}
		case FieldAllow, FieldDisallow:
			r.anyRule = r.anyRule || inGroup && (start < end || field == FieldDisallow && d.EmptyDisallowAllows)
			if active {
				s.addRule(d, field, start, stringView(f.body[start:end]))
			}
		case FieldNone, FieldUnknown, FieldSitemap:
		default:
			r.anyRecord = true
		}
	}
	switch {
	case bestRank < len(tokens):
		r.choice = groupChoice{token: tokens[firstMerged], found: true}
	case bestRank == len(tokens):
		r.choice = groupChoice{token: "*", star: true, found: true}
	}
	if len(s.normalForms) > 0 {
		r.normalForms = slices.Clone(s.normalForms)
	}
}

// addRule adds an Allow or Disallow whose value begins at start.
func (s *scratch) addRule(d *Dialect, field Field, start int, value string) {
	offset := uint32(start)
	n := uint32(len(value))
	addsDirectory := d.IndexHTML && field == FieldAllow
	if n > 0 && value[0] == '/' && !(addsDirectory && strings.Contains(value, indexPage)) && hasNone(value, changesPathRFC) {
		// Most rules have no wildcard, and their value is its own normal form.
		s.rules = append(s.rules, rule{})
		v := &s.rules[len(s.rules)-1] // filled in place, which is faster than a copy
		v.offset = offset
		v.size = n
		v.literalLen = n
		v.weight = int32(n)
		v.field = field
		v.kind = kindLiteral
		if n <= 8 {
			v.kind = kindShort
		}
		return
	}
	v := rule{offset: offset, field: field, empty: n == 0}
	from := s.appendSourceSpan(offset, n)
	if n == 0 {
		if field == FieldDisallow && d.EmptyDisallowAllows {
			s.normalForms = append(s.normalForms, '/')
			s.addPattern(v, Pattern{text: "/", weight: 1}, from)
		} else {
			s.normalForms = s.normalForms[:from-spanBytes]
		}
		return
	}
	var p Pattern
	p, s.normalForms = d.compile(value, s.normalForms)
	s.addPattern(v, p, from)
	if addsDirectory {
		from = s.appendSourceSpan(offset, n)
		if directory, buf, ok := p.directoryPattern(s.normalForms); ok {
			s.normalForms = buf
			s.addPattern(v, directory, from)
		} else {
			s.normalForms = s.normalForms[:from-spanBytes]
		}
	}
}

// appendSourceSpan appends the position of a value to normalForms, and returns where its normal
// form begins if one is appended next.
func (s *scratch) appendSourceSpan(start, n uint32) (from int) {
	s.normalForms = binary.LittleEndian.AppendUint32(s.normalForms, start)
	s.normalForms = binary.LittleEndian.AppendUint32(s.normalForms, n)
	return len(s.normalForms)
}

// addPattern adds a rule with the pattern p. If a normal form was appended after from, the rule
// refers to it; otherwise the value is its own normal form, and the source span is removed.
func (s *scratch) addPattern(v rule, p Pattern, from int) {
	v.size = uint32(len(p.text))
	v.weight = p.weight
	v.rewritten = len(s.normalForms) > from
	if v.rewritten {
		v.offset = uint32(from)
	} else {
		s.normalForms = s.normalForms[:from-spanBytes]
	}
	kind, n := kindOf(p.text)
	v.kind = kind
	v.literalLen = uint32(n)
	s.rules = append(s.rules, v)
}

// newRules returns an empty list of rules for a crawler.
func newRules(f *File, d *Dialect, tokens []string) *Rules {
	r := &Rules{file: f, dialect: sharedDialect(d)}
	// The caller's list is copied, so that it can stay on the caller's stack.
	if len(tokens) == 1 {
		r.oneToken[0] = tokens[0]
		r.callerTokens = r.oneToken[:]
	} else {
		r.callerTokens = slices.Clone(tokens)
	}
	return r
}

// sortRules orders the rules by precedence: by weight (PREC-01), then the allow first
// (PREC-02), then by line.
func (s *scratch) sortRules(r *Rules) {
	found := s.rules
	r.allocate(len(found), len(s.agentLines))
	copy(r.agentLines, s.agentLines)
	if len(found) <= fewRules || !s.countingSort(r.rules) {
		order := r.firstBytes.words // memory that is written later
		for i := range found {
			order[i] = uint64(^found[i].precedence())<<32 | uint64(i)
		}
		slices.Sort(order)
		for i, key := range order {
			r.rules[i] = found[uint32(key)]
		}
	}
	r.setFirstBytes()
	if len(found) > scanMost {
		r.index = new(lazyIndex)
	}
}

const (
	fewRules       = 12   // slices.Sort is faster up to this number of rules
	countedWeights = 1024 // hardly any real rule weighs more
)

// countingSort sorts the rules into sorted, and returns false if a weight is too large for it.
func (s *scratch) countingSort(sorted []rule) bool {
	// positions holds the number of rules of each precedence, and then the index of the next
	// one in sorted.
	end := uint32(0)
	least := uint32(len(s.positions))
	for i := range s.rules {
		p := s.rules[i].precedence()
		if p >= uint32(len(s.positions)) {
			clear(s.positions[:])
			return false
		}
		s.positions[p]++
		end = max(end, p+1)
		least = min(least, p)
	}
	next := uint32(0)
	for p := end; p > least; {
		p--
		count := s.positions[p]
		s.positions[p] = next
		next += count
	}
	for i := range s.rules {
		next := &s.positions[s.rules[i].precedence()]
		sorted[*next] = s.rules[i]
		*next++
	}
	clear(s.positions[least:end])
	return true
}

// allocate makes room for n rules, their first bytes and the user-agent lines. It is one
// allocation, so that a match reads adjacent memory.
func (r *Rules) allocate(n, lines int) {
	if n == 0 {
		r.agentLines = make([]uint32, lines)
		return
	}
	const size = int(unsafe.Sizeof(rule{}))
	block := make([]uint64, 1+n+(n*size+4*lines+n)/8)
	r.firstBytes.words = block[:n]
	rest := unsafe.Pointer(&block[n])
	r.rules = unsafe.Slice((*rule)(rest), n)
	rest = unsafe.Add(rest, n*size)
	r.agentLines = unsafe.Slice((*uint32)(rest), lines)
	r.firstBytes.sizes = unsafe.Slice((*uint8)(unsafe.Add(rest, 4*lines)), n)
}

// setFirstBytes sets up to eight bytes of each rule, those before its first star or its end.
func (r *Rules) setFirstBytes() {
	words := r.firstBytes.words[:len(r.rules)]
	sizes := r.firstBytes.sizes[:len(r.rules)]
	body := stringView(r.file.body)
	rewritten := stringView(r.normalForms)
	for i := range r.rules {
		v := &r.rules[i]
		text := body
		if v.rewritten {
			text = rewritten
		}
		n := min(v.literalLen, 8)
		words[i] = load8(text[v.offset:]) & sizeMasks[n]
		sizes[i] = uint8(n)
	}
}

// precedence returns a number that is higher for the rule that decides. Of rules with the same
// number the first line decides.
func (v *rule) precedence() uint32 {
	p := 2 * uint32(v.weight)
	if v.allows() {
		p++
	}
	return p
}

// groupLines yields the lines of the crawler's groups in file order: the user-agent
// lines that name the crawler, the rules, and the other records that attach to
// the crawler. Lines of all groups of one name are one group (GROUP-08).
//
// Rules belong to all agents of a run of user-agent lines. Another record in an
// open run belongs to the agents directly above it: to the last block of
// user-agent lines that no such record interrupts (D-08).
func (r *Rules) groupLines() iter.Seq2[Field, Span] {
	return func(yield func(Field, Span) bool) {
		r := r.orInvalid()
		d := r.dialect
		f := r.file
		naming := r.agentLines // user-agent lines ahead that name the crawler
		active := false        // the current group names the crawler
		inBlock := false       // and so does the last block of its user-agent lines
		recordRead := false    // a record other than a rule has followed that block
		ruleRead := false      // a rule has ended the run of user-agent lines
		var run agentRun
		s := f.scan(r.limit, d)
		if len(naming) > 0 {
			s.pos = f.lineStart(int(naming[0])) // the lines before are in other groups
		}
		for (active || len(naming) > 0) && s.next() {
			field := s.field
			start := s.valueStart
			end := s.valueEnd
			startsGroup := run.startsGroup(f, d, field, start)
			switch field {
			case FieldNone, FieldUnknown, FieldSitemap:
				continue
			case FieldUserAgent:
				// A line that names no crawler is still a user-agent line (D-48).
				if startsGroup {
					active = false
					inBlock = false
				}
				inBlock = inBlock && !recordRead
				ruleRead = false
				recordRead = false
				if len(naming) == 0 || naming[0] != uint32(start) {
					continue
				}
				naming = naming[1:]
				active = true
				inBlock = true
			case FieldAllow, FieldDisallow:
				ruleRead = true
			case FieldCleanParam, FieldHost:
				// They apply to the whole file, as a Sitemap does.
			default:
				recordRead = true
				if !inBlock && !ruleRead {
					continue
				}
			}
			if active && !yield(field, Span{start, end}) {
				return
			}
		}
	}
}

// UserInitiated returns the same rules for a fetch that a user requested, such as a
// translation or a subscribed feed. It need not follow robots.txt, so everything is allowed
// with ReasonUserInitiated (WHO-02).
func (r *Rules) UserInitiated() *Rules {
	u := r.orInvalid().clone()
	u.userInitiated = true
	return u
}

// clone returns a copy that does not keep r alive.
func (r *Rules) clone() *Rules {
	c := *r
	if len(r.callerTokens) == 1 && &r.callerTokens[0] == &r.oneToken[0] {
		c.callerTokens = c.oneToken[:]
	}
	return &c
}

// File returns the file, an empty one for AllowAll and DisallowAll.
func (r *Rules) File() *File { return r.orInvalid().file }

// Dialect returns the dialect.
func (r *Rules) Dialect() Dialect { return *r.orInvalid().dialect }

// Tokens returns the crawler's product tokens as the dialect reads them, most specific
// first (D-03).
func (r *Rules) Tokens() []string {
	r = r.orInvalid()
	return slices.Clone(r.dialect.tokensOf(r.callerTokens))
}

// Group returns the crawler's group, or the zero value if it has none.
func (r *Rules) Group() Group {
	r = r.orInvalid()
	if !r.choice.found {
		return Group{}
	}
	return Group{token: r.choice.token, file: r.file, lines: r.agentLines}
}

// Len returns the number of the crawler's rules.
func (r *Rules) Len() int {
	r = r.orInvalid()
	n := 0
	if r.memberBits == nil {
		return len(r.rules)
	}
	for i := range r.rules {
		if r.contains(i) {
			n++
		}
	}
	return n
}

// All returns the crawler's rules, highest precedence first: the first that matches a
// path decides. An Allow of an index page can occur twice (C-06).
func (r *Rules) All() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		r := r.orInvalid()
		for i := range r.rules {
			if r.contains(i) && !yield(Rule{rules: r, rule: r.rules[i]}) {
				return
			}
		}
	}
}

// outcome is a verdict without its rule, group and state.
type outcome struct {
	allowed   bool
	undefined bool
	reason    Reason
}

// decide returns the outcome for a path, the rule that decides if there is one, and the work of
// find. It makes every decision: Allowed, Match and Explain return it in more or less detail.
func (r *Rules) decide(p Path) (o outcome, decider *rule, work int) {
	if r == nil || r.file == nil || p.raw == "" || r.isFallback && r.fallback.reason == ReasonInvalid {
		return outcome{}, nil, 0 // D-56
	}
	if r.userInitiated {
		return outcome{allowed: true, reason: ReasonUserInitiated}, nil, 0
	}
	d := r.dialect
	if d.Escapes == EscapesRaw || hasNone(p.raw, changesPathRFC) && (d.Escapes == EscapesRFC || !mayHaveDotSegments(p.raw)) {
		return r.decideNormal(target{path: p.raw})
	}
	var buf [512]byte
	return r.decideNormal(d.target(p, buf[:0]))
}

// decideNormal is decide for a path in normal form.
func (r *Rules) decideNormal(t target) (o outcome, best *rule, work int) {
	switch {
	case !r.dialect.MatchRobotsTxt && t.path == "/robots.txt": // D-38, D-50
		return outcome{allowed: true, reason: ReasonRobotsTxt}, nil, 0
	case r.isFallback:
		return r.fallback, nil, 0
	}
	best, work = r.find(t, FieldNone)
	if best == nil {
		return outcome{allowed: true, reason: r.reasonWithoutRule()}, nil, work // PREC-05
	}
	o = outcome{allowed: best.allows(), reason: ReasonRule}
	if r.dialect.StarConflictUndefined {
		opposingField := FieldAllow
		if o.allowed {
			opposingField = FieldDisallow
		}
		opposing, opposingWork := r.find(t, opposingField)
		work += opposingWork
		o.undefined = opposing != nil && (r.pattern(best).innerStar() || r.pattern(opposing).innerStar())
	}
	return o, best, work
}

// reasonWithoutRule returns why a path is allowed that no rule matches.
func (r *Rules) reasonWithoutRule() Reason {
	switch {
	case !r.fileApplies || !r.anyRule:
		return ReasonEmptyFile
	case !r.choice.found:
		return ReasonNoGroup
	default:
		return ReasonNoRule
	}
}

// Allowed reports whether the crawler may fetch p. Where the dialect does not define the
// verdict it follows the longer rule (D-01).
//
// It does not allocate, except for a path whose normal form differs and has over 512 bytes, and
// once for the index of more than 64 rules.
func (r *Rules) Allowed(p Path) bool {
	o, _, _ := r.decide(p)
	return o.allowed
}

// Match returns the verdict for p with its reason. It allocates as little as Allowed.
func (r *Rules) Match(p Path) Verdict {
	v, _ := r.MatchWork(p)
	return v
}

// MatchWork returns the verdict of Match and its work, for programs that limit the work of each
// client: the bytes of p, the rules that were compared, and the bytes of both that were read. It is
// the same on every machine. Rules that have answered many questions have an index and need less.
func (r *Rules) MatchWork(p Path) (v Verdict, work int) {
	o, decider, work := r.decide(p)
	r = r.orInvalid()
	v.Allowed = o.allowed
	v.Undefined = o.undefined
	v.Reason = o.reason
	v.Group = r.Group()
	v.Dialect = r.dialect.Name
	v.State = r.state
	if decider != nil {
		v.Rule = Rule{rules: r, rule: *decider}
	}
	return v, work + len(p.raw)
}

// MemoryBytes returns about how many bytes of memory the rules take besides the body of their
// file. It grows once, when repeated matches build an index.
func (r *Rules) MemoryBytes() int {
	r = r.orInvalid()
	n := int(unsafe.Sizeof(*r)+unsafe.Sizeof(*r.file)) +
		4*(len(r.file.body)/numberedBlock) + 4*cap(r.agentLines) + cap(r.normalForms) +
		(int(unsafe.Sizeof(rule{}))+8+1)*len(r.rules)
	if r.index != nil {
		n += int(unsafe.Sizeof(*r.index)) + r.index.built.Load().memoryBytes()
	}
	n += 8 * cap(r.memberBits)
	if s := r.state; s != nil {
		n += int(unsafe.Sizeof(*s)) + len(s.Fact) + len(s.Note)
	}
	return n
}
