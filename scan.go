package robots

import (
	"bytes"
	"encoding/binary"
)

// A scanner reads lines as a dialect does: itself those in the usual spelling, which all dialects read
// alike, and by readLine, which applies all rules of the dialect to one line, the others. TestReference
// compares both with a slow reader.
//
// It remembers the positions of the next '#' and NUL, so that a file without them is searched once and not
// once per line.
type scanner struct {
	b                 []byte
	d                 *Dialect
	pos               int // where the next line begins
	longest           int // the line limit of the dialect
	nextHash, nextNUL int // first '#' and NUL at or after the line, len(b) if there is none
	nextSpecial       int // the first of the two
	loneCR            bool
	nextCR, nextLF    int // first CR and LF at or after the line, if loneCR is set
	crsDropped        int // number of CRs that ended a line so far, if loneCR is not set

	start, end           int // the line without its end
	valueStart, valueEnd int // the value without surrounding blanks and comment
	field                Field
}

// newScanner starts at the first line of b, after a byte order mark (FORM-04, C-07). If no line ends
// with a CR alone, loneCR can be false, which is faster.
func newScanner(b []byte, loneCR bool, d *Dialect) scanner {
	s := scanner{b: b, d: d, loneCR: loneCR, longest: d.MaxLineBytes, nextHash: -1, nextNUL: -1, nextSpecial: -1, nextCR: -1, nextLF: -1}
	if len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF {
		s.pos = 3
	}
	if s.longest == 0 {
		s.longest = len(b)
	}
	if !d.CStrings {
		s.nextNUL = len(b)
	}
	return s
}

// hasLoneCR reports whether a CR without an LF ends a line other than the last one (FORM-01), as
// in hardly any file.
func hasLoneCR(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '\r')
		if i < 0 || i == len(b)-1 {
			return false
		}
		if b[i+1] != '\n' {
			return true
		}
		b = b[i+2:]
	}
}

// indexFrom returns the first c at or after i, len(b) if there is none.
func indexFrom(b []byte, i int, c byte) int {
	if j := bytes.IndexByte(b[i:], c); j >= 0 {
		return i + j
	}
	return len(b)
}

// Names as eight bytes, little endian, lower case.
const (
	wordDisallow = 'd' | 'i'<<8 | 's'<<16 | 'a'<<24 | 'l'<<32 | 'l'<<40 | 'o'<<48 | 'w'<<56
	wordUserAge  = 'u' | 's'<<8 | 'e'<<16 | 'r'<<24 | '-'<<32 | 'a'<<40 | 'g'<<48 | 'e'<<56
	wordSitemap  = 's' | 'i'<<8 | 't'<<16 | 'e'<<24 | 'm'<<32 | 'a'<<40 | 'p'<<48
	wordAllow    = 'a' | 'l'<<8 | 'l'<<16 | 'o'<<24 | 'w'<<32
	wordLetters  = 0x2020202020202020 // makes ASCII letters lower case
)

// lineLen returns the number of bytes of the first line of rest, the end of b, without and with the line end.
func (s *scanner) lineLen(rest []byte) (n, withEnd int) {
	if s.loneCR {
		return s.anyLineLen(rest)
	}
	n = bytes.IndexByte(rest, '\n')
	if n < 0 {
		n = len(rest)
	}
	withEnd = n + 1
	if n > 0 && rest[n-1] == '\r' {
		n--
		s.crsDropped++
	}
	return n, withEnd
}

// anyLineLen is lineLen if CR, LF and CRLF end lines.
func (s *scanner) anyLineLen(rest []byte) (n, withEnd int) {
	pos := len(s.b) - len(rest)
	if s.nextLF < pos {
		s.nextLF = indexFrom(s.b, pos, '\n')
	}
	if s.nextCR < pos {
		s.nextCR = indexFrom(s.b, pos, '\r')
	}
	n = min(s.nextCR, s.nextLF) - pos
	if bytes.HasPrefix(rest[n:], []byte("\r\n")) {
		return n, n + 2
	}
	return n, n + 1
}

// next reads the next line, and reports whether there was one. The usual spelling is a frequent field at the
// start of the line, its colon, spaces, and a value without a comment, a NUL or white space around it.
func (s *scanner) next() bool {
	start := s.pos
	if start >= len(s.b) {
		return false
	}
	rest := s.b[start:]
	size, withEnd := s.lineLen(rest)
	end := start + size
	s.pos = start + withEnd
	s.start = start
	s.end = end
	line := rest[:size]
	if field, n := usualField(line); n > 0 {
		for n < len(line) && line[n] == ' ' {
			n++
		}
		if s.nextSpecial < start {
			s.findSpecial(start)
		}
		if len(line) <= s.longest && s.nextSpecial >= end && (n == len(line) || line[n] > ' ' && line[len(line)-1] > ' ') {
			s.field = field
			s.valueStart = start + n
			s.valueEnd = end
			return true
		}
	} else if len(line) == 0 || line[0] == '#' {
		s.field = FieldNone
		s.valueStart = end
		s.valueEnd = end
		return true
	}
	s.field, s.valueStart, s.valueEnd = readLine(s.d, s.b, start, end)
	return true
}

// usualField returns the field of a line that begins with the name of a frequent field and a colon, and
// the length of both. For other lines it returns 0.
func usualField(line []byte) (field Field, n int) {
	if len(line) < 8 {
		return FieldNone, 0
	}
	first := binary.LittleEndian.Uint64(line)
	switch w := first | wordLetters; {
	case w == wordDisallow && len(line) > 8 && line[8] == ':':
		return FieldDisallow, 9
	case w&(1<<40-1) == wordAllow && byte(first>>40) == ':':
		return FieldAllow, 6
	case w == wordUserAge && len(line) > 10 && line[8]|0x20 == 'n' && line[9]|0x20 == 't' && line[10] == ':':
		return FieldUserAgent, 11
	case w&(1<<56-1) == wordSitemap && byte(first>>56) == ':':
		return FieldSitemap, 8
	}
	return FieldNone, 0
}

// findSpecial finds the next '#' and NUL at or after pos.
func (s *scanner) findSpecial(pos int) {
	if s.nextHash < pos {
		s.nextHash = indexFrom(s.b, pos, '#')
	}
	if s.nextNUL < pos {
		s.nextNUL = indexFrom(s.b, pos, 0)
	}
	s.nextSpecial = min(s.nextHash, s.nextNUL)
}

// isBlank reports whether c is white space in the grammar (GRAM, WS).
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isVertical(c byte) bool { return c == '\v' || c == '\f' }

// trimBlanks removes blanks at both ends. It is a loop because bytes.Trim builds a table for
// each call.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// trimAllSpace removes all ASCII white space at both ends, as the public C++ library does
// (C-18).
func trimAllSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// readLine reads the line b[start:end] as dialect d does. The value is b[val:valEnd].
func readLine(d *Dialect, b []byte, start, end int) (field Field, val, valEnd int) {
	if d.CStrings && start == 0 {
		start = partialMarkLen(b)
	}
	if d.MaxLineBytes > 0 && end-start > d.MaxLineBytes {
		end = start + d.MaxLineBytes // the rest is lost, what is left still counts (C-05)
	}
	if d.CStrings {
		end = start + lenBefore(b[start:end], 0) // (C-18)
	}
	end = start + lenBefore(b[start:end], '#')
	start, lineEnd := d.trim(b, start, end)

	line := b[start:lineEnd]
	sep := bytes.IndexByte(line, ':')
	hasColon := sep >= 0
	if !hasColon && d.MissingColon {
		// Exactly two words, blanks between them (C-03).
		sep = bytes.IndexAny(line, " \t")
		if sep >= 0 && bytes.ContainsAny(trimBlanks(line[sep:]), " \t") {
			sep = -1
		}
	}
	if sep < 0 {
		return FieldNone, end, end
	}
	_, keyEnd := d.trim(b, start, start+sep)
	if keyEnd == start {
		return FieldNone, end, end
	}
	if d.Misspellings {
		field = lenientField(b[start:keyEnd])
	} else {
		field = exactField(b[start:keyEnd])
	}
	if !hasColon && field == FieldUnknown {
		return FieldNone, end, end // two words of other text
	}
	val, valEnd = d.trim(b, start+sep+1, end)
	return field, val, valEnd
}

// trim removes the white space at both ends of b[i:j].
func (d *Dialect) trim(b []byte, i, j int) (int, int) {
	for i < j && (isBlank(b[i]) || d.CStrings && isVertical(b[i])) {
		i++
	}
	for j > i && (isBlank(b[j-1]) || d.CStrings && isVertical(b[j-1])) {
		j--
	}
	return i, j
}

// lenBefore returns the length of b up to the first c.
func lenBefore(b []byte, c byte) int {
	if i := bytes.IndexByte(b, c); i >= 0 {
		return i
	}
	return len(b)
}

// partialMarkLen returns how many bytes of a byte order mark b begins with. The C++ library
// ignores even one or two of the three (C-07).
func partialMarkLen(b []byte) int {
	n := 0
	for n < len(b) && n < len(byteOrderMark) && b[n] == byteOrderMark[n] {
		n++
	}
	return n
}

const byteOrderMark = "\xEF\xBB\xBF"
