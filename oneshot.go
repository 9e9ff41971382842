package robots

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"sync"
)

// Allowed reports whether the crawler with the given product tokens may fetch p. It is
// Parse(body).Rules(d, tokens...).Allowed(p) in one pass over the body. For more than one
// path, Parse is faster.
//
// It does not allocate, except for a rule or a path that is not in normal form, if that has over
// 1,024 or 512 bytes, and for tokens that contain several (ProductTokens).
func Allowed(body []byte, d Dialect, p Path, tokens ...string) bool {
	if p.raw == "" {
		return false // D-56
	}
	if uint64(len(body)) > maxIndexed {
		return Parse(body).Rules(d, tokens...).Allowed(p)
	}
	if d.MaxFileBytes > 0 && len(body) > d.MaxFileBytes {
		f := File{body: body}
		n, counts := f.limit(&d)
		if !counts {
			return true
		}
		body = body[:n]
	}
	var buf [512]byte
	q := oneShot{d: &d, tokens: d.tokensOf(tokens)}
	q.path, q.plain = d.taken(p, buf[:0])
	q.raw = d.onlyEscaped(p, q.path)
	q.prepare()
	if q.exempt() {
		return true
	}
	q.read(body)
	return q.allowed
}

// AppendJSON is Parse(body).Rules(d, tokens...).AppendJSON(dst, p), for nearly all files in one
// pass over the body. It also returns whether the crawler may fetch the path.
func AppendJSON(dst, body []byte, d Dialect, p Path, tokens ...string) (_ []byte, allowed bool) {
	t := allDetails.Get().(*details)
	defer t.free()
	if p.raw != "" && uint64(len(body)) <= maxIndexed && (d.MaxFileBytes <= 0 || len(body) <= d.MaxFileBytes) && !d.StarConflictUndefined {
		var buf [512]byte
		q := oneShot{d: &d, tokens: d.tokensOf(tokens), details: t}
		q.path, q.plain = d.taken(p, buf[:0])
		q.raw = d.onlyEscaped(p, q.path)
		q.prepare()
		if (!d.MergeTokens || len(q.tokens) == 1) && !q.exempt() {
			t.file.loneCR = q.read(body)
			if !t.hard {
				t.file.body = body
				return t.appendJSON(dst, &q), q.allowed
			}
		}
	}
	rules := Parse(body).Rules(d, tokens...)
	return rules.AppendJSON(dst, p), rules.Allowed(p)
}

// A oneShot is a call of Allowed or AppendJSON and its result so far.
//
// Only the best of the crawler's tokens that has a group so far counts, and '*' after all
// tokens. When a better one appears, the result is reset.
type oneShot struct {
	d       *Dialect
	tokens  []string
	path    string   // in normal form
	raw     string   // as given if the normal form only escapes more bytes, else ""
	plain   int      // bytes at its start that every normal form keeps
	head    uint64   // load8(path)
	plain8  int      // plain, at most 8
	star    bool     // the group of '*' can apply
	outside uint32   // first letters of the lines that matter outside the crawler's groups, see letters
	inside  uint32   // the same for lines in them
	details *details // what AppendJSON needs, else nil

	best    int     // the rank that counts
	active  bool    // it is named in the current group
	closed  closing // of the run of user-agent lines
	weight  int32   // of the heaviest rule that matches, -1 for none
	allowed bool    // by that rule
}

// closing is what ended the run of user-agent lines, the greatest value if several did.
type closing uint8

const (
	notClosed   closing = iota
	closed              // a blank line or a record, in some dialects; the start of the file
	closedEmpty         // an empty rule
	closedRule
)

// taken returns the normal form of a path, in buf if it differs, and the number of plain
// bytes at its start.
func (d *Dialect) taken(p Path, buf []byte) (path string, plain int) {
	if plain = plainLen(p.raw); plain == len(p.raw) && (d.Escapes != EscapesGoogle || !hasDots(p.raw)) {
		return p.raw, plain
	}
	path = d.normal(p, buf)
	return path, plainLen(path)
}

// onlyEscaped returns the path as given if its normal form only escapes some of its bytes, else "". A rule that has
// no escape itself, and does not match this shorter path, does not match the normal form either.
func (d *Dialect) onlyEscaped(p Path, normal string) string {
	if len(normal) <= len(p.raw) || strings.IndexByte(p.raw, '%') >= 0 || d.Escapes == EscapesGoogle && hasDots(p.raw) {
		return ""
	}
	return p.raw
}

// prepare computes what is the same for all lines.
func (q *oneShot) prepare() {
	d := q.d
	if d.AssumeSlash {
		q.plain = -1 // "a" means "/a"
	}
	q.head, q.plain8 = load8(q.path), min(q.plain, 8)
	q.star = !d.ignoresStar(q.tokens)
	q.outside, q.inside = letters("u"), letters("uad")
	if d.RecordsEndRun {
		q.inside |= letters("crv")
	}
	if q.details != nil {
		q.outside |= letters("s")
		q.inside |= letters("scrvl")
		if d.CrawlDelay == HonorInherited {
			q.outside |= letters("c")
		}
	}
}

// letters returns a set of letters: bit 1 for a and A, and so on.
func letters(list string) (set uint32) {
	for i := range len(list) {
		set |= 1 << (list[i] & 31)
	}
	return set
}

// exempt reports whether no rule applies to the path (D-38).
func (q *oneShot) exempt() bool { return !q.d.MatchRobotsTxt && q.path == "/robots.txt" }

// read reads a body and reports whether a CR alone ends a line.
func (q *oneShot) read(body []byte) (loneCR bool) {
	s := newScanner(body)
	if !q.d.lenient() {
		s.nul = len(body) // NULs matter only in lenient dialects
	}
	q.answer(&s)
	if s.sound() {
		return false
	}
	s = newCarefulScanner(body)
	q.answer(&s)
	return true
}

// answer reads all lines of s.
func (q *oneShot) answer(s *scanner) {
	d, t, body, lenient := q.d, q.details, s.b, q.d.lenient()
	q.best, q.active, q.closed, q.weight, q.allowed = len(q.tokens)+1, false, closed, -1, true
	if t != nil {
		t.reset()
	}
	for {
		q.skip(s)
		if !s.next() {
			break
		}
		field, val, end := s.field, s.val, s.valEnd
		if s.ambiguous && lenient {
			field, val, end = readLine(d, body, s.start, s.end)
		}
		switch field {
		case FieldNone:
			if d.BlanksEndRun && len(trimBlanks(body[s.start:s.end])) == 0 {
				q.close(closed)
			}
		case FieldAllow, FieldDisallow:
			q.rule(field, view(body[val:end]), val)
		case FieldUserAgent:
			q.userAgent(view(body[val:end]), val)
		case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
			if t != nil {
				t.record(q, field, view(body[val:end]))
			}
			if d.RecordsEndRun {
				q.close(closed)
			}
		case FieldSitemap:
			if t != nil {
				t.add(field, view(body[val:end]))
			}
		case FieldContentSignal, FieldContentUsage, FieldLicense:
			if t != nil {
				t.recorded = true
			}
		}
	}
	if t != nil {
		t.end(q)
	}
}

func (q *oneShot) close(how closing) { q.closed = max(q.closed, how) }

// skip skips lines that obviously do not matter: blank lines, comments, lines with another
// first letter, and rules of the crawler that differ from the path.
func (q *oneShot) skip(s *scanner) {
	b, pos, wanted := s.b, s.pos, q.outside
	if q.active {
		wanted = q.inside
	}
lines:
	for pos < len(b) {
		switch c := b[pos]; {
		case c == '\n':
			if q.d.BlanksEndRun {
				q.close(closed)
			}
			pos++
			continue
		case c == '#', 'a' <= c|0x20 && c|0x20 <= 'z' && wanted>>(c&31)&1 == 0:
		case q.active && q.differs(b[pos:]):
			q.closed = closedRule
		default:
			break lines
		}
		_, pos = s.lineEnd(pos)
	}
	s.pos = pos
}

// differs reports whether a line is a rule in the usual spelling that differs from the path in
// one of its first eight bytes, with only plain bytes up to there.
func (q *oneShot) differs(line []byte) bool {
	if len(line) < len("disallow: ")+8 {
		return false
	}
	w := binary.LittleEndian.Uint64(line) | word_letters
	switch {
	case w == word_disallow && line[8] == ':':
		line = line[9:]
	case w&(1<<40-1) == word_allow && line[5] == ':':
		line = line[6:]
	default:
		return false
	}
	if line[0] == ' ' {
		line = line[1:]
	}
	n := bits.TrailingZeros64(binary.LittleEndian.Uint64(line)^q.head) / 8
	return n < q.plain8 && classes[line[n]]&isPlain != 0
}

// rule reads an Allow or Disallow with its value and the offset of that.
func (q *oneShot) rule(field Field, value string, at int) {
	w, allows := int32(1), field == FieldAllow
	switch {
	case value != "":
		q.closed = closedRule
		if n := len(value); n <= q.plain && value == q.path[:n] {
			w = int32(n)
		} else if q.active {
			w = q.weigh(value, field)
		}
	case field == FieldDisallow && q.d.EmptyDisallowAllows:
		q.closed = closedRule
		allows = true // D-41
	default:
		q.close(closedEmpty)
		return
	}
	if q.active && (w > q.weight || w == q.weight && allows && !q.allowed) {
		q.weight, q.allowed = w, allows
		if t := q.details; t != nil {
			t.field, t.rule = field, Span{at, at + len(value)}
		}
	}
}

// userAgent reads the value of a user-agent line and its offset.
func (q *oneShot) userAgent(value string, at int) {
	t, begins := q.details, q.closed != notClosed
	if t != nil {
		t.any = t.any || q.active && q.closed == closedRule
	}
	if begins {
		q.active, q.closed = false, notClosed
	}
	rank := q.d.rank(value, q.tokens, q.best, q.star)
	if rank < q.best {
		q.best, q.weight, q.allowed = rank, -1, true
		if t != nil {
			t.forget()
		}
	}
	named := rank == q.best && rank <= len(q.tokens)
	q.active = q.active || named
	if t != nil {
		t.userAgent(at, begins, named)
	}
}

// rank returns the index of the first of a crawler's tokens that a user-agent value names,
// len(tokens) for '*' if its group can apply, and more for no crawler. It does not look for
// tokens after the best so far.
func (d *Dialect) rank(value string, tokens []string, best int, star bool) int {
	for i, t := range tokens {
		if t != "" && !d.HeaderValues && (value == "" || (value[0]^t[0])&^0x20 != 0) {
			continue // most lines differ in the first letter
		}
		if d.MergeTokens {
			if d.names(value, t) {
				return 0
			}
		} else if i > best {
			break
		} else if d.names(value, t) {
			return i
		}
	}
	if star && d.namesAll(value) {
		return len(tokens)
	}
	return len(tokens) + 1
}

// weigh returns the weight of a rule, -1 if it does not match or cannot decide.
func (q *oneShot) weigh(value string, field Field) int32 {
	d, opens := q.d, q.d.IndexHTML && field == FieldAllow
	if !d.AssumeSlash && !opens && d.normalLen(value) == len(value) {
		if int32(len(value)) < q.weight {
			return -1
		}
		if p := (Pattern{text: value, weight: int32(len(value))}); p.match(q.path) {
			return d.weigh(p)
		}
		return -1
	}
	if q.raw != "" && !d.AssumeSlash && !opens && strings.IndexByte(value, '%') < 0 && !(Pattern{text: value}).match(q.raw) {
		return -1
	}
	var buf [1024]byte
	p, rest := d.compile(value, buf[:0])
	if p.match(q.path) {
		return p.weight
	}
	if opens {
		if p, _, ok := p.indexOpen(rest); ok && p.match(q.path) {
			return p.weight
		}
	}
	return -1
}

// load8 returns the first eight bytes of s, with zeros after its end.
func load8(s string) uint64 {
	if len(s) >= 8 {
		return binary.LittleEndian.Uint64(bytesOf(s))
	}
	var w uint64
	for i := range len(s) {
		w |= uint64(s[i]) << (8 * i)
	}
	return w
}

// details is what AppendJSON needs besides the boolean, found in the same pass. It follows
// Rules.walk and Rules.Records (FuzzLaws). If that is not possible, hard is set and the body
// is parsed.
type details struct {
	common
	field Field    // of the rule that decides, FieldNone without one
	rule  Span     // its value
	lines []uint32 // the user-agent lines that name the crawler
	file  File     // the body, to count lines

	any      bool // a group of the crawler has a rule
	block    bool // the crawler is named in the last block of user-agent lines
	recorded bool // a record follows that block
	hard     bool
}

var allDetails = sync.Pool{New: func() any { return new(details) }}

// free returns the memory to the pool, unless an unusual file grew it.
func (t *details) free() {
	t.file.body = nil
	t.file.numbers.Store(nil)
	if cap(t.rates)+cap(t.maps)+4*cap(t.lines) <= 64<<10 {
		allDetails.Put(t)
	}
}

func (t *details) reset() {
	t.forget()
	t.limits = JSONLimits{}
	t.maps, t.mapCount = t.maps[:0], 0
	t.any, t.recorded, t.hard = false, false, false
}

// forget resets what belongs to a group that is not the crawler's after all.
func (t *details) forget() {
	t.delay, t.delays, t.rates, t.rateCount = 0, false, t.rates[:0], 0
	t.field, t.lines, t.block = FieldNone, t.lines[:0], false
}

// userAgent reads a user-agent line with the offset of its value.
func (t *details) userAgent(val int, begins, named bool) {
	t.block = t.block && !begins && !t.recorded || named
	t.recorded = false
	if named {
		t.lines = append(t.lines, uint32(val))
	}
}

// record reads a line that might belong to the agents directly above it (D-08).
func (t *details) record(q *oneShot, field Field, value string) {
	t.recorded = true
	switch {
	case field == FieldVisitTime:
	case field == FieldCrawlDelay && q.d.CrawlDelay == HonorInherited:
		t.hard = true
	case q.active && (t.block || q.closed >= closedEmpty):
		t.add(field, value)
	}
}

// add adds a record that applies to the crawler.
func (t *details) add(field Field, value string) {
	rec := readRecord(field, value)
	t.take(&rec)
}

// end takes the end of the body.
func (t *details) end(q *oneShot) {
	t.any = t.any || q.active && q.closed == closedRule
	// Without a rule of the crawler the reason depends on the rest of the file.
	t.hard = t.hard || q.best > len(q.tokens) || !t.any
}

// appendJSON appends the answer of q, which read the body of t.file.
func (t *details) appendJSON(dst []byte, q *oneShot) []byte {
	f := &t.file
	v := Verdict{Allowed: q.allowed, Reason: ReasonNoRule}
	if t.field != FieldNone {
		v.Reason = ReasonRule
	}
	dst = v.appendDecision(dst)
	if t.field == FieldNone {
		dst = append(dst, "null,"...)
	} else {
		dst = append(appendRule(dst, f.lineNumber(t.rule.Start), t.field, f.Text(t.rule)), ',')
	}
	token := "*"
	if q.best < len(q.tokens) {
		token = q.tokens[q.best]
	}
	return t.common.appendJSON(dst, Group{token: token, file: f, lines: t.lines}, nil, q.d.Name)
}
