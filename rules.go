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
	file    *File
	dialect *Dialect
	whole   outcome // of AllowAll and DisallowAll
	noFile  bool    // whole is the answer
	user    bool    // UserInitiated
	counts  bool    // false: the file is over the size limit and does not count
	anyRule bool    // the file has a rule in some group

	limit int       // bytes of the file that count
	given []string  // tokens as the crawler gave them
	token [1]string // where it is if there is one
	agent agent
	lines []uint32
	state *State // nil if no fetch is behind the rules
}

// A ruleList is the rules of a crawler, ranked.
type ruleList struct {
	heads heads // of the rules
	lazy  *lazyIndex
	rules []rule   // highest precedence first
	own   []uint64 // which of them are the crawler's, a bit for each rule; nil if all are (Callers)
	buf   []byte   // normal forms that are not in the body
}

// has reports whether a rule of the list is one of the crawler's.
func (l *ruleList) has(i int) bool { return l.own == nil || l.own[i/64]>>(i%64)&1 != 0 }

// A rule is an Allow or Disallow line as the dialect reads it, in 20 bytes without a
// pointer for the garbage collector to follow.
type rule struct {
	at, size uint32 // its normal form: if changed in Rules.buf, else the value in the body
	literal  uint32 // bytes of that before the first star or the end
	weight   int32
	field    Field
	kind     kind
	changed  bool // then what place says stands in Rules.buf before at
	empty    bool // a Disallow without a value
}

// allows reports whether the rule allows, as an empty Disallow does that counts (D-41).
func (v *rule) allows() bool { return v.field == FieldAllow || v.empty }

// kind is what is left to compare in a rule whose head matches.
type kind uint8

const (
	kindHead    kind = iota // nothing: the head is all of it
	kindLiteral             // the path must begin with it
	kindTail                // one star, and what follows must occur after the literal part
	kindSuffix              // the same, at the end of the path
	kindPattern             // any other with a star or an end
)

// text returns the normal form of a rule.
func (r *Rules) text(v *rule) string {
	b := r.file.body
	if v.changed {
		b = r.buf
	}
	return view(b[v.at : v.at+v.size])
}

// place returns where the value of a rule is in the body.
func (l *ruleList) place(v *rule) Span {
	at, n := v.at, v.size
	if v.changed {
		b := l.buf[v.at-placeBytes:]
		at, n = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	}
	return Span{int(at), int(at + n)}
}

// placeBytes is what place takes of Rules.buf.
const placeBytes = 8

func (r *Rules) pattern(v *rule) Pattern { return Pattern{text: r.text(v), weight: v.weight} }

// agent is the result of the choice of groups.
type agent struct {
	token string // the token that was found, "*" for the group of all others
	star  bool
	found bool
}

// Rules returns the rules for the crawler with these product tokens, most specific first:
// those of the first token that has a group (AGENT-04, D-04), in GoogleCPP of all tokens
// (C-11), or else of '*'. Without a group everything is allowed (AGENT-09). Except in
// GoogleCPP, a token with a version, spaces or commas stands for the product tokens in it
// (ProductTokens).
func (f *File) Rules(d Dialect, tokens ...string) *Rules {
	r := newRules(f, &d, tokens)
	r.limit, r.counts = f.limit(r.dialect)
	s := scratches.Get().(*scratch)
	s.collect(r, d.tokensOf(tokens))
	s.rank(r)
	s.free()
	return r
}

// scratch is reused memory of Parse and Rules, which append to it and copy the result
// once at its exact size. Together they allocate at most eight times (TestAllocations).
type scratch struct {
	refs   []lineRef
	rules  []rule
	lines  []uint32
	buf    []byte
	places [2 * countedWeights]uint32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// free returns the memory to the pool, unless an unusually large file grew it.
func (s *scratch) free() {
	const most = 1 << 20
	if 8*cap(s.refs)+20*cap(s.rules)+4*cap(s.lines)+cap(s.buf) <= 4*most {
		scratches.Put(s)
	}
}

// collect finds the group of the crawler with these tokens, as the dialect reads them
// (AGENT-01, AGENT-09), its rules in file order, and whether the file has any rule in a group.
//
// Only the best of the tokens that has a group so far counts, and '*' after all tokens. When a
// better one appears, what was found is dropped.
func (s *scratch) collect(r *Rules, tokens []string) {
	d, f := r.dialect, r.file
	s.rules, s.lines, s.buf = s.rules[:0], s.lines[:0], s.buf[:0]
	best, star := len(tokens)+1, !d.ignoresStar(tokens)
	first := best // of the tokens that count together (C-11)
	active, inGroup := false, false
	var run agentRun
	for _, l := range f.lines {
		if int(l.val) > r.limit {
			break
		}
		field, start, end := f.read(l, d)
		begins := run.begins(f, d, field, start)
		switch field {
		case FieldUserAgent:
			value := view(f.body[start:end])
			rank := d.rank(value, tokens, best, star)
			if inGroup = true; rank < best {
				best, s.rules, s.lines, s.buf = rank, s.rules[:0], s.lines[:0], s.buf[:0]
			}
			named := rank == best && rank <= len(tokens)
			if active = named || active && !begins; named {
				s.lines = append(s.lines, uint32(start))
				if d.MergeTokens && rank < len(tokens) {
					rank = slices.IndexFunc(tokens, func(token string) bool { return d.names(value, token) })
				}
				first = min(first, rank)
			}
		case FieldAllow, FieldDisallow:
			r.anyRule = r.anyRule || inGroup && (start < end || field == FieldDisallow && d.EmptyDisallowAllows)
			if active {
				s.rule(d, field, start, view(f.body[start:end]))
			}
		}
	}
	switch {
	case best < len(tokens):
		r.agent = agent{token: tokens[first], found: true}
	case best == len(tokens):
		r.agent = agent{token: "*", star: true, found: true}
	}
	if len(s.buf) > 0 {
		r.buf = slices.Clone(s.buf)
	}
}

// rule adds an Allow or Disallow with its value and the offset of that.
func (s *scratch) rule(d *Dialect, field Field, at int, value string) {
	start, n := uint32(at), uint32(len(value))
	if n > 0 && value[0] == '/' && !(d.IndexHTML && field == FieldAllow && strings.Contains(value, indexPage)) && clean(value, careRFC) {
		// Most rules have no wildcard, and their value is its own normal form.
		s.rules = append(s.rules, rule{})
		v := &s.rules[len(s.rules)-1] // filled in place, which is faster than a copy
		v.at, v.size, v.literal, v.weight, v.field, v.kind = start, n, n, int32(n), field, kindLiteral
		if n <= 8 {
			v.kind = kindHead
		}
		return
	}
	v := rule{at: start, field: field, empty: n == 0}
	from := s.place(start, n)
	if n == 0 {
		if field == FieldDisallow && d.EmptyDisallowAllows {
			s.buf = append(s.buf, '/')
			s.add(v, Pattern{text: "/", weight: 1}, from)
		} else {
			s.buf = s.buf[:from-placeBytes]
		}
		return
	}
	var p Pattern
	p, s.buf = d.compile(value, s.buf)
	s.add(v, p, from)
	if d.IndexHTML && field == FieldAllow {
		from = s.place(start, n)
		if open, buf, ok := p.indexOpen(s.buf); ok {
			s.buf = buf
			s.add(v, open, from)
		} else {
			s.buf = s.buf[:from-placeBytes]
		}
	}
}

// place appends the position of a value to buf, in case its normal form follows.
func (s *scratch) place(start, n uint32) (from int) {
	s.buf = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(s.buf, start), n)
	return len(s.buf)
}

// add adds a rule with the normal form p: the end of buf from an offset or, if that is
// empty, the value.
func (s *scratch) add(v rule, p Pattern, from int) {
	v.size, v.weight = uint32(len(p.text)), p.weight
	if v.changed = len(s.buf) > from; v.changed {
		v.at = uint32(from)
	} else {
		s.buf = s.buf[:from-placeBytes]
	}
	kind, n := kindOf(p.text)
	v.kind, v.literal = kind, uint32(n)
	s.rules = append(s.rules, v)
}

// newRules returns an empty list of rules for a crawler.
func newRules(f *File, d *Dialect, given []string) *Rules {
	r := &Rules{file: f, dialect: shared(d)}
	// The caller's list is copied, so that it may stay on the caller's stack.
	if len(given) == 1 {
		r.token[0] = given[0]
		r.given = r.token[:]
	} else {
		r.given = slices.Clone(given)
	}
	return r
}

// rank orders the rules by precedence: by weight (PREC-01), then the allow first
// (PREC-02), then by line.
func (s *scratch) rank(r *Rules) {
	found := s.rules
	r.allocate(len(found), len(s.lines))
	copy(r.lines, s.lines)
	if len(found) <= fewRules || !s.count(r.rules) {
		order := r.heads.words // until the heads are known
		for i := range found {
			order[i] = uint64(^found[i].precedence())<<32 | uint64(i)
		}
		slices.Sort(order)
		for at, key := range order {
			r.rules[at] = found[uint32(key)]
		}
	}
	for i := range r.rules {
		r.heads.words[i], r.heads.sizes[i] = r.head(&r.rules[i])
	}
	if len(found) > scanMost {
		r.lazy = new(lazyIndex)
	}
}

const (
	fewRules       = 12   // which are sorted faster than counted
	countedWeights = 1024 // hardly any real rule weighs more
)

// count is a counting sort of the rules if all weights are below countedWeights.
func (s *scratch) count(ranked []rule) bool {
	// places holds the number of rules of each precedence, and then where the next of
	// them goes. Between two calls all are 0.
	end, least := uint32(0), uint32(len(s.places))
	for i := range s.rules {
		p := s.rules[i].precedence()
		if p >= uint32(len(s.places)) {
			clear(s.places[:])
			return false
		}
		s.places[p]++
		end, least = max(end, p+1), min(least, p)
	}
	next := uint32(0)
	for p := end; p > least; {
		p--
		s.places[p], next = next, next+s.places[p]
	}
	for i := range s.rules {
		next := &s.places[s.rules[i].precedence()]
		ranked[*next] = s.rules[i]
		*next++
	}
	clear(s.places[least:end])
	return true
}

// allocate makes room for n rules with their heads and for user-agent lines, in one
// block: one allocation, and what a match reads is together.
func (r *Rules) allocate(n, lines int) {
	if n == 0 {
		r.lines = make([]uint32, lines)
		return
	}
	const size = int(unsafe.Sizeof(rule{}))
	block := make([]uint64, 1+n+(n*size+4*lines+n)/8)
	r.heads.words = block[:n]
	rest := unsafe.Pointer(&block[n])
	r.rules = unsafe.Slice((*rule)(rest), n)
	rest = unsafe.Add(rest, n*size)
	r.lines = unsafe.Slice((*uint32)(rest), lines)
	r.heads.sizes = unsafe.Slice((*uint8)(unsafe.Add(rest, 4*lines)), n)
}

// head returns the first bytes of a rule and how many they are.
func (r *Rules) head(v *rule) (word uint64, size uint8) {
	b := r.file.body
	if v.changed {
		b = r.buf
	}
	n := min(v.literal, 8)
	if b = b[v.at:]; len(b) >= 8 {
		return binary.LittleEndian.Uint64(b) & headMasks[n], uint8(n)
	}
	return load8(view(b[:n])), uint8(n)
}

// precedence is higher for the rule that decides, except for the order of lines.
func (v *rule) precedence() uint32 {
	p := 2 * uint32(v.weight)
	if v.allows() {
		p++
	}
	return p
}

// walk yields the lines of the crawler's groups in file order: the user-agent
// lines that name the crawler, the rules, and the other records that attach to
// the crawler. Lines of all groups of one name are one group (GROUP-08).
//
// Rules belong to all agents of a run of user-agent lines. Another record in an
// open run belongs to the agents directly above it: to the last block of
// user-agent lines that no such record interrupts (D-08).
func (r *Rules) walk() iter.Seq2[Field, Span] {
	return func(yield func(Field, Span) bool) {
		r := r.made()
		d, f := r.dialect, r.file
		names := r.lines // the next user-agent lines that name the crawler
		active := false  // the crawler is named in the group at hand
		block := false   // and in the last block of its user-agent lines
		record := false  // another record has come after that block
		ruled := false   // the run of user-agent lines has ended by a rule
		var run agentRun
		for _, l := range f.lines {
			if int(l.val) > r.limit {
				break
			}
			if !active && !l.ambiguous && (len(names) == 0 || l.val < names[0]) {
				continue // most lines are in other groups
			}
			field, start, end := f.read(l, d)
			begins := run.begins(f, d, field, start)
			switch field {
			case FieldNone, FieldUnknown, FieldSitemap:
				continue
			case FieldUserAgent:
				// A line that names no crawler is still a user-agent line (D-48).
				if begins {
					active, block = false, false
				}
				block = block && !record
				ruled, record = false, false
				if len(names) == 0 || names[0] != uint32(start) {
					continue
				}
				names, active, block = names[1:], true, true
			case FieldAllow, FieldDisallow:
				ruled = true
			case FieldCleanParam, FieldHost:
				// They apply to the whole file, as a Sitemap does.
			default:
				record = true
				if !block && !ruled {
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
	u := r.made().copy()
	u.user = true
	return u
}

// copy returns a copy that does not keep r alive.
func (r *Rules) copy() *Rules {
	c := *r
	if len(r.given) == 1 && &r.given[0] == &r.token[0] {
		c.given = c.token[:]
	}
	return &c
}

// File returns the file, an empty one for AllowAll and DisallowAll.
func (r *Rules) File() *File { return r.made().file }

// Dialect returns the dialect.
func (r *Rules) Dialect() Dialect { return *r.made().dialect }

// Tokens returns the crawler's product tokens as the dialect reads them, most specific
// first (D-03).
func (r *Rules) Tokens() []string {
	r = r.made()
	return slices.Clone(r.dialect.tokensOf(r.given))
}

// Group returns the crawler's group, or the zero value if it has none.
func (r *Rules) Group() Group {
	r = r.made()
	if !r.agent.found {
		return Group{}
	}
	return Group{token: r.agent.token, file: r.file, lines: r.lines}
}

// Len returns the number of the crawler's rules.
func (r *Rules) Len() int {
	r, n := r.made(), 0
	if r.own == nil {
		return len(r.rules)
	}
	for i := range r.rules {
		if r.has(i) {
			n++
		}
	}
	return n
}

// All returns the crawler's rules, highest precedence first: the first that matches a
// path decides. An Allow of an index page can occur twice (C-06).
func (r *Rules) All() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		r := r.made()
		for i := range r.rules {
			if r.has(i) && !yield(Rule{rules: r, rule: r.rules[i]}) {
				return
			}
		}
	}
}

// outcome is a verdict without its circumstances.
type outcome struct {
	allowed   bool
	undefined bool
	reason    Reason
}

// decide makes every decision, with the rule behind it if there is one, and the work of find: Allowed,
// Match and Explain return it in more or less detail.
func (r *Rules) decide(p Path) (o outcome, by *rule, work int) {
	if r == nil || r.file == nil || p.raw == "" || r.noFile && r.whole.reason == ReasonInvalid {
		return outcome{}, nil, 0 // D-56
	}
	if r.user {
		return outcome{allowed: true, reason: ReasonUserInitiated}, nil, 0
	}
	if d := r.dialect; d.Escapes == EscapesRaw || clean(p.raw, careRFC) && (d.Escapes == EscapesRFC || !hasDots(p.raw)) {
		return r.decideNormal(p.raw)
	}
	var buf [512]byte
	return r.decideNormal(r.dialect.normal(p, buf[:0]))
}

// decideNormal takes a path in normal form.
func (r *Rules) decideNormal(path string) (o outcome, best *rule, work int) {
	switch {
	case !r.dialect.MatchRobotsTxt && path == "/robots.txt": // D-38, D-50
		return outcome{allowed: true, reason: ReasonRobotsTxt}, nil, 0
	case r.noFile:
		return r.whole, nil, 0
	}
	best, work = r.find(path, FieldNone)
	if best == nil {
		return outcome{allowed: true, reason: r.reasonWithoutRule()}, nil, work // PREC-05
	}
	o = outcome{allowed: best.allows(), reason: ReasonRule}
	if r.dialect.StarConflictUndefined {
		other := FieldAllow
		if o.allowed {
			other = FieldDisallow
		}
		against, more := r.find(path, other)
		work += more
		o.undefined = against != nil && (r.pattern(best).innerStar() || r.pattern(against).innerStar())
	}
	return o, best, work
}

func (r *Rules) reasonWithoutRule() Reason {
	switch {
	case !r.counts || !r.anyRule:
		return ReasonEmptyFile
	case !r.agent.found:
		return ReasonNoGroup
	default:
		return ReasonNoRule
	}
}

// Allowed reports whether the crawler may fetch p. Where the dialect does not define the
// verdict it follows the longer rule (D-01).
//
// It does not allocate, except for a path whose normal form is another and over 512 bytes, and
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

// MatchWork is Match with its work, for programs that limit what others can make them do: the bytes
// of p, the rules that were compared, and the bytes of both that were read. It is the same on every
// machine. Rules that have answered many questions have an index and need less.
func (r *Rules) MatchWork(p Path) (v Verdict, work int) {
	o, by, work := r.decide(p)
	r = r.made()
	v.Allowed, v.Undefined, v.Reason = o.allowed, o.undefined, o.reason
	v.Group, v.Dialect, v.State = r.Group(), r.dialect.Name, r.state
	if by != nil {
		v.Rule = Rule{rules: r, rule: *by}
	}
	return v, work + len(p.raw)
}

// MemoryBytes returns about how many bytes of memory the rules take besides the body of their
// file. It grows once, when repeated matches build an index.
func (r *Rules) MemoryBytes() int {
	r = r.made()
	n := int(unsafe.Sizeof(*r)+unsafe.Sizeof(*r.file)) +
		int(unsafe.Sizeof(lineRef{}))*cap(r.file.lines) + 4*(len(r.file.body)/numberedBlock) + 4*cap(r.lines) + cap(r.buf) +
		(int(unsafe.Sizeof(rule{}))+8+1)*len(r.rules)
	if r.lazy != nil {
		n += int(unsafe.Sizeof(*r.lazy)) + r.lazy.built.Load().memoryBytes()
	}
	n += 8 * cap(r.own)
	if s := r.state; s != nil {
		n += int(unsafe.Sizeof(*s)) + len(s.Fact) + len(s.Note)
	}
	return n
}
