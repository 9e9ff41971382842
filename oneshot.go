package robots

import (
	"bytes"
	"encoding/binary"
	"math/bits"
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
	tokens = d.tokensOf(tokens)
	q := oneShot{d: &d, path: p.raw, tokens: tokens, plain: plainLen(p.raw), star: !d.ignoresStar(tokens)}
	if q.plain < len(q.path) || d.Escapes == EscapesGoogle && hasDots(q.path) {
		q.path = d.normal(p, buf[:0])
		q.plain = plainLen(q.path)
	}
	if !d.MatchRobotsTxt && q.path == "/robots.txt" {
		return true // D-38
	}
	if d.AssumeSlash {
		q.plain = -1 // "a" means "/a", so no byte means just itself
	}
	q.blanksEnd = d.RunEnd == RunEndRuleOrBlank
	q.head, q.plain8 = load8(q.path), min(q.plain, 8)
	s := newScanner(body)
	if q.lenient = d.lenient(); !q.lenient {
		s.nul = len(body) // only a lenient dialect minds NULs
	}
	allowed := q.answer(&s)
	if q.work <= oneShotWorkLimit && !s.sound() {
		s = newCarefulScanner(body)
		allowed = q.answer(&s)
	}
	if q.work > oneShotWorkLimit {
		return Parse(body).Rules(d, tokens...).Allowed(p)
	}
	return allowed
}

// oneShotWorkLimit is the number of bytes that the rules of one body may have
// looked at in the path, some half a millisecond's worth. A body that takes
// more is hostile, and then an index is the shorter way.
const oneShotWorkLimit = 1 << 20

// question is what Allowed is asked.
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
	closed    bool // the run of user-agent lines has ended
	work      int  // bytes of the path that rules with more than plain bytes may have looked at
}

// answer reads the lines of s until the end.
//
// Only the best rank of the caller's tokens that has a group so far counts,
// '*' after all tokens. When a better one appears, what was found is forgotten.
func (q *oneShot) answer(s *scanner) bool {
	var (
		d       = q.d
		body    = s.b
		best    = len(q.tokens) + 1 // the rank that counts, none yet
		active  = false             // it is named in the group at hand
		weight  = int32(-1)         // of the heaviest rule that matches
		allowed = true              // what that rule says
	)
	q.closed = true
	for {
		field, val, end := q.fastPath(s, active)
		if field == FieldNone {
			if !s.next() {
				return allowed
			}
			field, val, end = s.field, s.val, s.valEnd
			if q.blanksEnd && len(trimBlanks(body[s.start:s.end])) == 0 {
				q.closed = true
			}
			if s.ambiguous && q.lenient {
				field, val, end = readLine(d, body, s.start, s.end)
			}
		}
		switch field {
		case FieldAllow, FieldDisallow:
			q.closed = true
			if !active {
				continue
			}
			v := body[val:end]
			w := int32(len(v))
			if w == 0 {
				if field == FieldDisallow && d.EmptyDisallowAllows && weight <= 1 {
					weight, allowed = 1, true // D-41
				}
				continue
			}
			if n := sameLen(v, q.path, q.head); n > q.plain || n < len(v) {
				if n <= q.plain && classes[v[n]]&isPlain != 0 && (n < len(q.path) || !d.IndexHTML) {
					continue // it differs where both mean just themselves
				}
				if q.work += len(q.path); q.work > oneShotWorkLimit {
					return false
				}
				w = weigh(d, v, q.path, field)
			}
			if w > weight || w == weight && field == FieldAllow {
				weight, allowed = w, field == FieldAllow
			}
		case FieldUserAgent:
			if q.closed {
				active, q.closed = false, false
			}
			rank := q.rank(view(body[val:end]), best)
			if rank < best {
				best, weight, allowed = rank, -1, true
			}
			active = active || rank == best && rank <= len(q.tokens)
		case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
			q.closed = q.closed || d.RunEnd == RunEndMember
		}
	}
}

// usual is the lane of the usual lines: it skips blank lines, comments, rules
// that plainly do not match and, outside the caller's groups (not active), all
// that begins with a letter other than u. It returns the next user-agent line or
// rule that may match, if it is written as nearly everybody writes it. FieldNone means that
// the line at s.pos, or the end, is for next.
//
// A rule plainly does not match if, among its first eight bytes and before any
// that may mean something else than itself, one is not that of the path.
func (q *oneShot) fastPath(s *scanner, active bool) (field Field, val, end int) {
	if s.careful {
		return FieldNone, 0, 0
	}
	b := s.b
	pos, other, dropped := s.pos, s.other, s.dropped
lines:
	for pos < len(b) {
		end = len(b)
		if i := bytes.IndexByte(b[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		next, cr := end+1, 0
		if s.crs > 0 && end > pos && b[end-1] == '\r' {
			end--
			cr = 1
		}
		if end == pos || b[pos] == '#' {
			if end == pos && q.blanksEnd {
				q.closed = true
			}
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
		case !active:
			if c := byte(w); c == 'u' || c < 'a' || 'z' < c {
				break lines
			}
			pos = next
			dropped += cr
			continue
		case w&(1<<40-1) == word_allow && b[pos+5] == ':':
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
				q.closed = true
				continue
			}
		}
		s.pos, s.dropped = pos, dropped
		return field, val, end
	}
	s.pos, s.dropped = pos, dropped
	return FieldNone, 0, 0
}

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
	if !d.changes(view(v)) && !d.AssumeSlash {
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
