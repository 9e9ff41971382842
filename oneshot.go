package robots

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Allowed reports whether the crawler with the given product tokens may fetch p. It is
// Parse(body).Rules(d, tokens...).Allowed(p) in one pass over the body. For more than one
// path, Parse is faster.
//
// It allocates only for a rule of over 1,024 bytes or a path of over 512 bytes that is not in
// normal form, and for tokens that contain several (ProductTokens).
func Allowed(body []byte, d Dialect, p Path, tokens ...string) bool {
	if p.raw == "" {
		return false // D-56
	}
	if uint64(len(body)) > maxReadBytes {
		return Parse(body).Rules(d, tokens...).Allowed(p)
	}
	if d.MaxFileBytes > 0 && len(body) > d.MaxFileBytes {
		f := File{body: body}
		n, applies := f.limit(&d)
		if !applies {
			return true
		}
		body = body[:n]
	}
	q := oneShot{d: &d, tokens: d.tokensOf(tokens), target: target{path: p.raw}, plainPrefix: plainLen(p.raw)}
	if q.plainPrefix < len(p.raw) || d.Escapes == EscapesGoogle && mayHaveDotSegments(p.raw) {
		var buf [512]byte
		q.target = d.target(p, buf[:0])
		q.plainPrefix = plainLen(q.path)
	}
	q.prepare()
	if q.isExempt() {
		return true
	}
	q.read(body)
	return q.allowed
}

// A oneShot is a call of Allowed and its result so far.
//
// The result is that of the most specific token named so far, with '*' after all tokens. When a
// line names a more specific one, the result is reset.
type oneShot struct {
	d      *Dialect
	tokens []string
	target
	plainPrefix   int    // bytes at the start of path that every normal form keeps
	firstWord     uint64 // load8(path)
	plainBits     int    // eight for each byte of plainPrefix that differs may compare, at most 64
	starApplies   bool   // the group of '*' can apply
	wantedInGroup uint32 // first letters of the lines in our groups that can matter

	bestRank int   // rank of the most specific token named so far
	inGroup  bool  // the current group names it
	runEnded bool  // the run of user-agent lines has ended
	weight   int32 // of the heaviest rule that matches, -1 for none
	allowed  bool  // the verdict of that rule
}

// prepare computes what is the same for all lines.
func (q *oneShot) prepare() {
	d := q.d
	if d.AssumeSlash {
		q.plainPrefix = -1 // "a" means "/a"
	}
	q.firstWord = load8(q.path)
	q.plainBits = 8 * min(q.plainPrefix, 8)
	if d.MaxLineBytes > 0 && d.MaxLineBytes < differsLen {
		q.plainBits = 0 // differs would read bytes that the dialect does not
	}
	q.starApplies = !d.ignoresStar(q.tokens)
	q.wantedInGroup = agentLetter | ruleLetters
	if d.RecordsEndRun {
		q.wantedInGroup |= recordLetters
	}
}

// Sets of letters: bit 1 for a and A, and so on.
const (
	agentLetter   = 1 << ('u' & 31)
	ruleLetters   = 1<<('a'&31) | 1<<('d'&31)
	recordLetters = 1<<('c'&31) | 1<<('r'&31) | 1<<('v'&31)
)

// isExempt reports whether no rule applies to the path (D-38).
func (q *oneShot) isExempt() bool { return !q.d.MatchRobotsTxt && q.path == "/robots.txt" }

// read reads the lines of a body, twice if a CR alone ends some of them (FORM-01): to find out in
// advance would take longer.
func (q *oneShot) read(body []byte) {
	if q.readLines(body, false) < bytes.Count(body, []byte{'\r'}) {
		q.readLines(body, true)
	}
}

// readLines applies all lines of a body to the result. It returns the number of CRs that ended a line.
func (q *oneShot) readLines(body []byte, loneCR bool) (crsDropped int) {
	d := q.d
	s := newScanner(body, loneCR, d)
	q.bestRank = len(q.tokens) + 1
	q.inGroup = false
	q.runEnded = true
	q.weight = -1
	q.allowed = true
	for {
		q.skipIrrelevant(&s)
		if !s.next() {
			return s.crsDropped
		}
		value := stringView(body[s.valueStart:s.valueEnd])
		switch s.field {
		case FieldNone:
			if d.BlanksEndRun && len(trimBlanks(body[s.start:s.end])) == 0 {
				q.runEnded = true
			}
		case FieldAllow, FieldDisallow:
			q.applyRule(s.field, value)
		case FieldUserAgent:
			q.applyUserAgent(value)
		case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
			if d.RecordsEndRun {
				q.runEnded = true
			}
		}
	}
}

// skipIrrelevant skips lines that obviously do not matter: blank lines, comments, lines with another
// first letter, and rules of the crawler that differ from the path.
func (q *oneShot) skipIrrelevant(s *scanner) {
	wanted := uint32(agentLetter)
	if q.inGroup {
		wanted = q.wantedInGroup
	}
	for s.pos < len(s.b) {
		rest := s.b[s.pos:]
		switch c := rest[0]; {
		case c == '\n':
			if q.d.BlanksEndRun {
				q.runEnded = true
			}
			s.pos++
			continue
		case c == '#', 'a' <= c|0x20 && c|0x20 <= 'z' && wanted>>(c&31)&1 == 0:
		case q.inGroup && q.differs(rest):
			q.runEnded = true
		default:
			return
		}
		_, withEnd := s.lineLen(rest)
		s.pos += withEnd
	}
}

// differsLen is the number of bytes of a line that differs reads.
const differsLen = len("disallow: ") + 8

// differs reports whether a line is a rule in the usual spelling that differs from the path in
// one of its first eight bytes, with only plain bytes up to there. It looks for two of the names of
// usualField itself, as a call for each line takes longer.
func (q *oneShot) differs(line []byte) bool {
	if len(line) < differsLen {
		return false
	}
	first := binary.LittleEndian.Uint64(line)
	switch w := first | wordLetters; {
	case w == wordDisallow && line[8] == ':':
		line = line[9:]
	case w&(1<<40-1) == wordAllow && byte(first>>40) == ':':
		line = line[6:]
	default:
		return false
	}
	if line[0] == ' ' {
		line = line[1:]
	}
	value := binary.LittleEndian.Uint64(line)
	bit := bits.TrailingZeros64(value^q.firstWord) &^ 7
	return bit < q.plainBits && classes[byte(value>>bit)]&isPlain != 0
}

// applyRule applies an Allow or Disallow to the result.
func (q *oneShot) applyRule(field Field, value string) {
	w := int32(1)
	allows := field == FieldAllow
	switch {
	case value != "":
		q.runEnded = true
		if n := len(value); n <= q.plainPrefix && value == q.path[:n] {
			w = int32(n)
		} else if q.inGroup {
			w = q.matchWeight(value, field)
		}
	case field == FieldDisallow && q.d.EmptyDisallowAllows:
		q.runEnded = true
		allows = true // D-41
	default:
		q.runEnded = true
		return
	}
	if q.inGroup && (w > q.weight || w == q.weight && allows && !q.allowed) {
		q.weight = w
		q.allowed = allows
	}
}

// applyUserAgent applies the value of a user-agent line to the result.
func (q *oneShot) applyUserAgent(value string) {
	if q.runEnded {
		q.inGroup = false
		q.runEnded = false
	}
	rank := q.d.tokenRank(value, q.tokens, q.bestRank, q.starApplies)
	if rank < q.bestRank {
		q.bestRank = rank
		q.weight = -1
		q.allowed = true
	}
	q.inGroup = q.inGroup || rank == q.bestRank && rank <= len(q.tokens)
}

// tokenRank returns the index of the first of a crawler's tokens that a user-agent value names,
// len(tokens) for '*' if its group can apply, and len(tokens)+1 otherwise. It ignores tokens
// after bestRank.
func (d *Dialect) tokenRank(value string, tokens []string, bestRank int, starApplies bool) int {
	for i, t := range tokens {
		if t != "" && !d.HeaderValues && (value == "" || (value[0]^t[0])&^0x20 != 0) {
			continue // most lines differ in the first letter
		}
		if d.MergeTokens {
			if d.namesToken(value, t) {
				return 0
			}
		} else if i > bestRank {
			break
		} else if d.namesToken(value, t) {
			return i
		}
	}
	if starApplies && d.namesStar(value) {
		return len(tokens)
	}
	return len(tokens) + 1
}

// matchWeight returns the weight of a rule that matches the path, and -1 if the rule does not
// match or is too short to decide.
func (q *oneShot) matchWeight(value string, field Field) int32 {
	d := q.d
	addsDirectory := d.IndexHTML && field == FieldAllow
	if !d.AssumeSlash && !addsDirectory && d.normalLen(value) == len(value) {
		if int32(len(value)) < q.weight {
			return -1
		}
		if p := (Pattern{text: value, weight: int32(len(value))}); p.match(q.path) {
			return d.patternWeight(p)
		}
		return -1
	}
	if !addsDirectory && q.excludes(value) {
		return -1
	}
	var buf [1024]byte
	p, rest := d.compile(value, buf[:0])
	if p.match(q.path) {
		return p.weight
	}
	if addsDirectory {
		if p, _, ok := p.directoryPattern(rest); ok && p.match(q.path) {
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
