package robots

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
)

// Allowed answers one question about one body: may the crawler with these
// product tokens fetch p under dialect d? It is Parse(body).Rules(d,
// tokens...).Allowed(p) in one pass over the bytes, without keeping anything:
// nothing is allocated, except for a rule of over a thousand bytes with
// escapes, for a path whose normal form is another and longer than 512 bytes, for
// tokens that have to be taken apart (ProductTokens) and for a hostile body, which
// is parsed. To ask a file more than once, Parse it: that pays from the second
// question on.
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
	q.prepare()
	if !d.MatchRobotsTxt && q.path == "/robots.txt" {
		return true // D-38
	}
	allowed, _ := q.read(body)
	return allowed
}

// AppendJSON appends what Parse(body).Rules(d, tokens...).AppendJSON(dst, p) appends,
// where that can be found in one pass, as it can be for nearly all files, without
// keeping anything. To ask a file more than once, Parse it.
func AppendJSON(dst, body []byte, d Dialect, p Path, tokens ...string) []byte {
	t := allDetails.Get().(*details)
	defer t.free()
	if p.raw != "" && uint64(len(body)) <= maxIndexed && (d.MaxFileBytes <= 0 || len(body) <= d.MaxFileBytes) && !d.StarConflictUndefined {
		var buf [512]byte
		q := oneShot{d: &d, tokens: d.tokensOf(tokens), details: t}
		q.path, q.plain = d.taken(p, buf[:0])
		q.prepare()
		if !d.MergeTokens || len(q.tokens) == 1 {
			if allowed, careful := q.read(body); t.complete() && (d.MatchRobotsTxt || q.path != "/robots.txt") {
				t.file.body, t.file.loneCR = body, careful
				return t.appendJSON(dst, &q, allowed)
			}
		}
	}
	return Parse(body).Rules(d, tokens...).AppendJSON(dst, p)
}

// oneShot is what Allowed and AppendJSON are asked.
type oneShot struct {
	d       *Dialect
	tokens  []string
	path    string // in normal form
	plain   int    // bytes at its start that mean just themselves in any form
	head    uint64 // load8(path)
	plain8  int    // plain, at most 8
	lenient bool
	star    bool // the group of '*' may hold
	// blanksEnd says that a blank line ends a run of user-agent lines.
	blanksEnd bool
	// wanted has a bit for each letter, from bit 1 for a, with which a line begins that
	// matters outside the caller's groups.
	wanted  uint32
	closed  closing
	details *details // what else is to be found, nil for nothing
}

// closing is what has ended the run of user-agent lines, the greatest if several have.
type closing uint8

const (
	notClosed   closing = iota
	closed              // a blank line or a record, where they do; the beginning of the file
	closedEmpty         // a rule that is empty
	closedRule
)

// taken returns a path in normal form, with the help of buf if that is another, and how
// many of its first bytes are plain.
func (d *Dialect) taken(p Path, buf []byte) (path string, plain int) {
	if plain = plainLen(p.raw); plain == len(p.raw) && (d.Escapes != EscapesGoogle || !hasDots(p.raw)) {
		return p.raw, plain
	}
	path = d.normal(p, buf)
	return path, plainLen(path)
}

// prepare finds what is the same for all lines.
func (q *oneShot) prepare() {
	d := q.d
	q.star = !d.ignoresStar(q.tokens)
	if d.AssumeSlash {
		q.plain = -1 // "a" means "/a", so no byte means just itself
	}
	q.blanksEnd = d.RunEnd == RunEndRuleOrBlank
	q.head, q.plain8 = load8(q.path), min(q.plain, 8)
	q.wanted = 1 << ('u' & 31)
	if q.details != nil {
		q.wanted |= 1 << ('s' & 31)
		if d.CrawlDelay == HonourInherited {
			q.wanted |= 1 << ('c' & 31)
		}
	}
}

// read reads a body, and reports whether a CR alone ends a line of it.
func (q *oneShot) read(body []byte) (allowed, loneCR bool) {
	s := newScanner(body)
	if q.lenient = q.d.lenient(); !q.lenient {
		s.nul = len(body) // only a lenient dialect minds NULs
	}
	allowed = q.answer(&s)
	if !s.sound() {
		s = newCarefulScanner(body)
		return q.answer(&s), true
	}
	return allowed, false
}

// answer reads the lines of s until the end.
//
// Only the best rank of the caller's tokens that has a group so far counts,
// '*' after all tokens. When a better one appears, what was found is forgotten.
func (q *oneShot) answer(s *scanner) bool {
	var (
		d       = q.d
		t       = q.details
		body    = s.b
		best    = len(q.tokens) + 1 // the rank that counts, none yet
		active  = false             // it is named in the group at hand
		weight  = int32(-1)         // of the heaviest rule that matches
		allowed = true              // what that rule says
	)
	q.closed = closed
	if t != nil {
		t.reset()
	}
	for {
		field, val, end := q.fastPath(s, active)
		if field == FieldNone {
			if !s.next() {
				if t != nil {
					t.end(q, best, active)
				}
				return allowed
			}
			field, val, end = s.field, s.val, s.valEnd
			if q.blanksEnd && len(trimBlanks(body[s.start:s.end])) == 0 {
				q.closed = max(q.closed, closed)
			}
			if s.ambiguous && q.lenient {
				field, val, end = readLine(d, body, s.start, s.end)
			}
		}
		switch field {
		case FieldAllow, FieldDisallow:
			v := body[val:end]
			w, allows := int32(len(v)), field == FieldAllow
			if w == 0 {
				if !(field == FieldDisallow && d.EmptyDisallowAllows) {
					q.closed = max(q.closed, closedEmpty)
					continue
				}
				w, allows = 1, true // D-41
			}
			q.closed = closedRule
			if !active {
				continue
			}
			if n := sameLen(v, q.path, q.head); len(v) > 0 && (n > q.plain || n < len(v)) {
				if n <= q.plain && classes[v[n]]&isPlain != 0 && (n < len(q.path) || !d.IndexHTML) {
					continue // it differs where both mean just themselves
				}
				w = weigh(d, v, q.path, field)
			}
			if w > weight || w == weight && allows && !allowed {
				weight, allowed = w, allows
				if t != nil {
					t.field, t.rule = field, Span{val, end}
				}
			}
		case FieldUserAgent:
			begins := q.closed != notClosed
			if t != nil {
				t.any = t.any || active && q.closed == closedRule
			}
			if begins {
				active, q.closed = false, notClosed
			}
			rank := q.rank(view(body[val:end]), best)
			if rank < best {
				best, weight, allowed = rank, -1, true
				if t != nil {
					t.forget()
				}
			}
			named := rank == best && rank <= len(q.tokens)
			active = active || named
			if t != nil {
				t.userAgent(val, begins, named)
			}
		case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
			if t != nil {
				t.record(q, field, view(body[val:end]), active)
			}
			if d.RunEnd == RunEndMember {
				q.closed = max(q.closed, closed)
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
}

// details is what an answer in JSON says beside the boolean, found in the same pass. It
// follows Rules.walk and Rules.Records (FuzzLaws). What it cannot find is hard, and then
// the body is parsed.
type details struct {
	common
	field Field    // of the rule that decides, FieldNone without one
	rule  Span     // its value
	lines []uint32 // the user-agent lines that name the caller
	rank  int      // of the caller's token that was found
	file  File     // the body, to count lines

	any      bool // a group of the caller has a rule
	block    bool // the caller is named in the last block of user-agent lines
	recorded bool // a record has come after that block
	hard     bool
	ended    bool
}

var allDetails = sync.Pool{New: func() any { return new(details) }}

// free gives the memory back, unless an unusual file has left much.
func (t *details) free() {
	t.file.body = nil
	t.file.numbers.Store(nil)
	if cap(t.rates)+cap(t.maps)+4*cap(t.lines) <= 64<<10 {
		allDetails.Put(t)
	}
}

func (t *details) reset() {
	t.forget()
	t.maps = t.maps[:0]
	t.any, t.recorded, t.hard, t.ended = false, false, false, false
}

// forget forgets what belongs to a group that is not the caller's after all.
func (t *details) forget() {
	t.delay, t.delays, t.rates = 0, false, t.rates[:0]
	t.field, t.lines, t.block = FieldNone, t.lines[:0], false
}

// userAgent takes a user-agent line with the offset of its value.
func (t *details) userAgent(val int, begins, named bool) {
	t.block = t.block && !begins && !t.recorded || named
	t.recorded = false
	if named {
		t.lines = append(t.lines, uint32(val))
	}
}

// record takes a line that may belong to the agents directly above it (D-08).
func (t *details) record(q *oneShot, field Field, value string, active bool) {
	t.recorded = true
	switch {
	case field == FieldVisitTime:
	case field == FieldCrawlDelay && q.d.CrawlDelay == HonourInherited:
		t.hard = true
	case active && (t.block || q.closed >= closedEmpty):
		t.add(field, value)
	}
}

// add adds a record that applies to the caller.
func (t *details) add(field Field, value string) {
	rec := readRecord(field, value)
	t.take(&rec)
}

// end takes the end of the body.
func (t *details) end(q *oneShot, best int, active bool) {
	t.any = t.any || active && q.closed == closedRule
	t.rank, t.ended = best, true
	// Without a rule of the caller the rest of the file says why nothing matches.
	t.hard = t.hard || best > len(q.tokens) || !t.any
}

// complete reports whether everything has been found.
func (t *details) complete() bool { return t.ended && !t.hard }

// appendJSON appends the answer of q, which has read the body of t.file.
func (t *details) appendJSON(dst []byte, q *oneShot, allowed bool) []byte {
	f := &t.file
	v := Verdict{Allowed: allowed, Reason: ReasonNoRule}
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
	if t.rank < len(q.tokens) {
		token = q.tokens[t.rank]
	}
	return t.common.appendJSON(dst, Group{token: token, file: f, lines: t.lines}, nil, q.d.Name)
}

// fastPath is the lane of the usual lines: it skips blank lines, comments, what is too
// short, rules that plainly do not match and, outside the caller's groups (not active),
// all that begins with a letter other than u. It returns the next user-agent line or
// rule that may match, if it is written as nearly everybody writes it. FieldNone means that
// the line at s.pos, or the end, is for next.
//
// A rule plainly does not match if, among its first eight bytes and before any
// that may mean something else than itself, one is not that of the path.
func (q *oneShot) fastPath(s *scanner, active bool) (field Field, val, end int) {
	b := s.b
	pos, other, dropped := s.pos, s.other, s.dropped
lines:
	for pos < len(b) {
		next, cr := pos+1, 0
		c := b[pos]
		switch {
		case c == '\n': // a blank line needs no search for its end
			end = pos
		case s.careful:
			end, next = s.eitherEnd(pos)
		default:
			end = len(b)
			if i := bytes.IndexByte(b[pos:], '\n'); i >= 0 {
				end = pos + i
			}
			next = end + 1
			if s.crs > 0 && b[end-1] == '\r' {
				end--
				cr = 1
			}
		}
		if end-pos < shortestLine || c == '#' {
			if q.blanksEnd && len(trimBlanks(b[pos:end])) == 0 {
				q.closed = max(q.closed, closed)
			}
			pos = next
			dropped += cr
			continue
		}
		if !active && 'a' <= c|0x20 && c|0x20 <= 'z' && q.wanted>>(c&31)&1 == 0 {
			pos = next
			dropped += cr
			continue
		}
		if other < end {
			if other < pos {
				s.findOther(pos)
				other = s.other
			}
			if other < end {
				break
			}
		}
		if pos+10 > len(b) || end-pos > ambiguousLength {
			break
		}
		w := binary.LittleEndian.Uint64(b[pos:]) | word_letters
		switch {
		case w == word_disallow && active:
			if b[pos+8] != ':' {
				break lines
			}
			field, val = FieldDisallow, pos+9
		case w == word_user_age:
			if pos+10 >= end || b[pos+8]|0x20 != 'n' || b[pos+9]|0x20 != 't' || b[pos+10] != ':' {
				break lines
			}
			field, val = FieldUserAgent, pos+11
		case w&(1<<40-1) == word_allow && b[pos+5] == ':' && active:
			field, val = FieldAllow, pos+6
		default:
			break lines
		}
		if val < end && b[val] == ' ' {
			val++
		}
		if val >= end || b[val] <= ' ' || b[end-1] <= ' ' {
			break
		}
		pos = next
		dropped += cr
		if val+8 <= len(b) && field != FieldUserAgent {
			n := bits.TrailingZeros64(binary.LittleEndian.Uint64(b[val:])^q.head) / 8
			if n < q.plain8 && n < end-val && classes[b[val+n]]&isPlain != 0 {
				q.closed = closedRule
				continue
			}
		}
		s.pos, s.dropped = pos, dropped
		return field, val, end
	}
	s.pos, s.dropped = pos, dropped
	return FieldNone, 0, 0
}

// shortestLine is how many bytes a line has that matters to a crawler in any dialect, at
// least: "allow:".
const shortestLine = 6

// rank returns the place of the first token that a user-agent value names,
// len(tokens) for '*', more than that for nobody. Ranks after best are not
// looked for.
func (q *oneShot) rank(value string, best int) int {
	d := q.d
	for i, t := range q.tokens {
		if t != "" && !d.HeaderValues && (value == "" || (value[0]^t[0])&^0x20 != 0) {
			continue // most lines name somebody else by their first letter
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
	if q.star && d.namesAll(value) {
		return len(q.tokens)
	}
	return len(q.tokens) + 1
}

// weigh returns the weight of a rule that matches path, -1 if it does not.
func weigh(d *Dialect, v []byte, path string, field Field) int32 {
	if !d.AssumeSlash && d.normalLen(view(v)) == len(v) {
		if p := (Pattern{text: view(v), weight: int32(len(v))}); p.match(path) {
			return d.weigh(p)
		}
		if !d.IndexHTML || field != FieldAllow {
			return -1
		}
	}
	return weighChanged(d, v, path, field)
}

// weighChanged is weigh for a rule that changes when it is compiled.
func weighChanged(d *Dialect, v []byte, path string, field Field) int32 {
	var buf [1024]byte
	p, rest := d.compile(view(v), buf[:0])
	if p.match(path) {
		return p.weight
	}
	if d.IndexHTML && field == FieldAllow {
		if p, _, ok := p.indexOpen(rest); ok && p.match(path) {
			return p.weight
		}
	}
	return -1
}

// load8 returns the first eight bytes of s, zeros after its end.
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

// sameLen returns the number of bytes that v and path have in common at their
// start. head is load8(path).
func sameLen(v []byte, path string, head uint64) int {
	if len(v) >= 8 {
		if x := binary.LittleEndian.Uint64(v) ^ head; x != 0 {
			return min(bits.TrailingZeros64(x)/8, len(path))
		}
	}
	n := min(len(v), len(path))
	for i := range n {
		if v[i] != path[i] {
			return i
		}
	}
	return n
}
