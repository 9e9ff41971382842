package robots

import (
	"encoding/binary"
	"math/bits"
	"strings"
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

// A oneShot is a call of Allowed and its result so far.
//
// Only the best of the crawler's tokens that has a group so far counts, and '*' after all
// tokens. When a better one appears, the result is reset.
type oneShot struct {
	d       *Dialect
	tokens  []string
	path    string // in normal form
	raw     string // as given if the normal form only escapes more bytes, else ""
	plain   int    // bytes at its start that every normal form keeps
	head    uint64 // load8(path)
	plain8  int    // plain, at most 8
	star    bool   // the group of '*' can apply
	outside uint32 // first letters of the lines that matter outside the crawler's groups, see letters
	inside  uint32 // the same for lines in them

	best    int   // the rank that counts
	active  bool  // it is named in the current group
	closed  bool  // the run of user-agent lines has ended
	weight  int32 // of the heaviest rule that matches, -1 for none
	allowed bool  // by that rule
}

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

// read reads a body.
func (q *oneShot) read(body []byte) {
	s := newScanner(body)
	if !q.d.lenient() {
		s.nul = len(body) // NULs matter only in lenient dialects
	}
	q.answer(&s)
	if !s.sound() { // a CR alone ends a line
		s = newCarefulScanner(body)
		q.answer(&s)
	}
}

// answer reads all lines of s.
func (q *oneShot) answer(s *scanner) {
	d, body, lenient := q.d, s.b, q.d.lenient()
	q.best = len(q.tokens) + 1
	q.active = false
	q.closed = true
	q.weight = -1
	q.allowed = true
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
				q.closed = true
			}
		case FieldAllow, FieldDisallow:
			q.rule(field, view(body[val:end]))
		case FieldUserAgent:
			q.userAgent(view(body[val:end]))
		case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
			if d.RecordsEndRun {
				q.closed = true
			}
		}
	}
}

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
				q.closed = true
			}
			pos++
			continue
		case c == '#', 'a' <= c|0x20 && c|0x20 <= 'z' && wanted>>(c&31)&1 == 0:
		case q.active && q.differs(b[pos:]):
			q.closed = true
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

// rule reads an Allow or Disallow with its value.
func (q *oneShot) rule(field Field, value string) {
	w, allows := int32(1), field == FieldAllow
	switch {
	case value != "":
		q.closed = true
		if n := len(value); n <= q.plain && value == q.path[:n] {
			w = int32(n)
		} else if q.active {
			w = q.weigh(value, field)
		}
	case field == FieldDisallow && q.d.EmptyDisallowAllows:
		q.closed = true
		allows = true // D-41
	default:
		q.closed = true
		return
	}
	if q.active && (w > q.weight || w == q.weight && allows && !q.allowed) {
		q.weight, q.allowed = w, allows
	}
}

// userAgent reads the value of a user-agent line.
func (q *oneShot) userAgent(value string) {
	if q.closed {
		q.active = false
		q.closed = false
	}
	rank := q.d.rank(value, q.tokens, q.best, q.star)
	if rank < q.best {
		q.best = rank
		q.weight = -1
		q.allowed = true
	}
	q.active = q.active || rank == q.best && rank <= len(q.tokens)
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
