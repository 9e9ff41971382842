package robots

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Allowed answers one question about one body: may the crawler with these
// product tokens fetch p under dialect d? It is Parse(body).Rules(d,
// tokens...).Allowed(p) in one pass over the octets, without keeping anything:
// nothing is allocated, except for a rule of over a thousand octets with
// escapes. To ask a file more than once, Parse it: that pays from the second
// question on.
func Allowed(body []byte, d Dialect, p Path, tokens ...string) bool {
	if d.RunEnd == ByRuleOrBlank || d.EmptyDisallow == OpensSite || uint64(len(body)) > maxIndexed {
		// Yandex looks back over blank lines and forward to an empty Disallow.
		return Parse(body).Rules(d, tokens...).Allowed(p)
	}
	if d.SizeLimit > 0 && len(body) > d.SizeLimit {
		f := File{body: body}
		n, counts := f.limit(&d)
		if !counts {
			return true
		}
		body = body[:n]
	}
	var buf [512]byte
	q := question{d: &d, path: p.raw, tokens: tokens, plain: plainLen(p.raw)}
	if q.plain < len(q.path) || d.Escapes == EscapesGoogle && hasDots(q.path) {
		q.path = d.normal(p, buf[:0])
		q.plain = plainLen(q.path)
	}
	if d.RobotsTxt == AlwaysAllowed && q.path == "/robots.txt" {
		return true // D-38
	}
	if d.PathStart == AssumeSlash {
		q.plain = -1 // "a" means "/a", so no octet means just itself
	}
	q.head = load8(q.path)
	s := newScanner(body)
	if q.lenient = d.lenient(); !q.lenient {
		s.nul = len(body) // only a lenient dialect minds NULs
	}
	allowed := q.answer(&s)
	if q.work <= oneShotPatience && !s.sound() {
		s = newCarefulScanner(body)
		allowed = q.answer(&s)
	}
	if q.work > oneShotPatience {
		return Parse(body).Rules(d, tokens...).Allowed(p)
	}
	return allowed
}

// oneShotPatience is the number of octets that the rules of one body may have
// looked at in the path, some half a millisecond's worth. A body that takes
// more is hostile, and then an index is the shorter way.
const oneShotPatience = 1 << 20

// question is what Allowed is asked.
type question struct {
	d       *Dialect
	tokens  []string
	path    string // in normal form
	plain   int    // octets at its start that mean just themselves in any form
	head    uint64 // load8(path)
	lenient bool
	work    int // octets of the path that rules with more than plain octets may have looked at
}

// answer reads the lines of s until the end.
//
// Only the best rank of the caller's tokens that has a group so far counts,
// '*' after all tokens. When a better one appears, what was found is forgotten.
func (q *question) answer(s *scanner) bool {
	var (
		d       = q.d
		body    = s.b
		best    = len(q.tokens) + 1 // the rank that counts, none yet
		active  = false             // it is named in the group at hand
		closed  = true              // the run of user-agent lines has ended
		weight  = int32(0)          // of the heaviest rule that matches
		allowed = true              // what that rule says
	)
	for {
		field, val, end := s.usual(active)
		if field == FieldNone {
			if !s.next() {
				return allowed
			}
			field, val, end = s.field, s.val, s.valEnd
			if s.odd && q.lenient {
				field, val, end = readLine(d, body, s.start, s.end)
			}
		}
		switch field {
		case FieldAllow, FieldDisallow:
			closed = true
			if !active || val == end {
				continue
			}
			v := body[val:end]
			w := int32(len(v))
			if n := sameLen(v, q.path, q.head); n > q.plain || n < len(v) {
				if n <= q.plain && classes[v[n]]&isPlain != 0 && (n < len(q.path) || !d.IndexHTML) {
					continue // it differs where both mean just themselves
				}
				if q.work += len(q.path); q.work > oneShotPatience {
					return false
				}
				w = weigh(d, v, q.path, field)
			}
			if w > weight || w == weight && field == FieldAllow {
				weight, allowed = w, field == FieldAllow
			}
		case FieldUserAgent:
			if closed {
				active, closed = false, false
			}
			rank := rankOf(d, view(body[val:end]), q.tokens, best)
			if rank < best {
				best, weight, allowed = rank, 0, true
			}
			active = active || rank == best && rank <= len(q.tokens)
		case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
			closed = closed || d.RunEnd == ByMember
		}
	}
}

// usual is the lane of the usual lines: it skips what says nothing and returns
// the next rule written as nearly everybody writes it. FieldNone means that the
// line at s.pos, or the end, is for next.
//
// Outside the caller's groups (not active) a line that begins with a letter
// other than u says nothing.
func (s *scanner) usual(active bool) (field Field, val, end int) {
	b := s.b
	if s.careful {
		return FieldNone, 0, 0
	}
	for s.pos < len(b) {
		pos := s.pos
		stop := len(b)
		if i := bytes.IndexByte(b[pos:], '\n'); i >= 0 {
			stop = pos + i
		}
		next := stop + 1
		dropped := 0
		if s.crs > 0 && stop > pos && b[stop-1] == '\r' {
			stop--
			dropped = 1
		}
		if s.other < stop {
			if s.other < pos {
				s.findOther(pos)
			}
			if s.other < stop {
				return FieldNone, 0, 0
			}
		}
		if stop == pos {
			s.pos = next
			s.dropped += dropped
			continue
		}
		if stop-pos < 10 || stop-pos > oddLength {
			return FieldNone, 0, 0
		}
		if !active {
			if c := b[pos] | 0x20; c == 'u' || c < 'a' || 'z' < c {
				return FieldNone, 0, 0
			}
			s.pos = next
			s.dropped += dropped
			continue
		}
		// There are ten octets at least.
		w := binary.LittleEndian.Uint64(b[pos:]) | word_letters
		switch {
		case w == word_disallow && b[pos+8] == ':':
			field, val = FieldDisallow, pos+9
		case w&(1<<40-1) == word_allow && b[pos+5] == ':':
			field, val = FieldAllow, pos+6
		default:
			return FieldNone, 0, 0
		}
		if b[val] == ' ' {
			val++
		}
		if val >= stop || b[val] <= ' ' || b[stop-1] <= ' ' {
			return FieldNone, 0, 0
		}
		s.pos = next
		s.dropped += dropped
		return field, val, stop
	}
	return FieldNone, 0, 0
}

// rankOf returns the place of the first token that a user-agent value names,
// len(tokens) for '*', more than that for nobody. Ranks after best are not
// looked for.
func rankOf(d *Dialect, value string, tokens []string, best int) int {
	for i, t := range tokens {
		if d.Tokens == Merged {
			if d.names(value, t) {
				return 0
			}
		} else if i > best {
			break
		} else if d.names(value, t) {
			return i
		}
	}
	if d.namesAll(value) {
		return len(tokens)
	}
	return len(tokens) + 1
}

// weigh returns the weight of a rule that matches path, -1 if it does not.
func weigh(d *Dialect, v []byte, path string, field Field) int32 {
	care := uint8(careCPP)
	if d.Escapes == EscapesRFC {
		care = carePattern
	}
	if clean(view(v), care) && d.PathStart == LiteralStart {
		if (Pattern{text: view(v)}).match(path) {
			return int32(len(v))
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

// load8 returns the first eight octets of s, zeros after its end.
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

// sameLen returns the number of octets that v and path have in common at their
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
