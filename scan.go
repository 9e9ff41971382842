package robots

import (
	"bytes"
	"encoding/binary"
)

// Two readers parse a line into a field and a value.
//
// readLine is the simple one: it applies all rules of a dialect to one line.
//
// scanner is the fast one: it reads the lines of a body as a dialect without leniencies
// does, and marks a line as ambiguous that a lenient dialect might read differently. For those
// dialects it passes such lines to readLine. TestReference compares the two.

// ambiguousLength is the length above which a line is ambiguous: the lowest line limit of a
// dialect (yandex).
const ambiguousLength = 1024

// A scanner reads lines. It remembers the positions of the next '#' and NUL, so that a file
// without them is searched once and not once per line.
type scanner struct {
	b                 []byte
	pos               int // where the next line begins
	nextHash, nextNUL int // first '#' and NUL at or after the line, len(b) if there is none
	nextSpecial       int // the first of the two
	loneCR            bool
	lenient           *Dialect // rereads ambiguous lines; nil for a dialect without leniencies
	nextCR, nextLF    int      // first CR and LF at or after the line, if loneCR is set
	crCount           int      // number of CRs in b
	crsDropped        int      // number of CRs that ended a line so far, if loneCR is not set

	start, end           int // the line without its end
	valueStart, valueEnd int // the value without surrounding blanks and comment
	field                Field
	ambiguous            bool
}

// newScanner starts at the first line of b, after a byte order mark (FORM-04, C-07). If no line ends
// with a CR alone, loneCR can be false, which is faster.
func newScanner(b []byte, loneCR bool, d *Dialect) scanner {
	s := scanner{b: b, loneCR: loneCR, nextHash: -1, nextNUL: -1, nextSpecial: -1, nextCR: -1, nextLF: -1}
	if len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF {
		s.pos = 3
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		s.crCount = bytes.Count(b[i:], []byte{'\r'})
	}
	if d.lenient() {
		s.lenient = d
	} else {
		s.nextNUL = len(b) // NULs matter only in lenient dialects
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

// lineEnd returns where the line at pos ends, and where the next one begins.
func (s *scanner) lineEnd(pos int) (end, next int) {
	if s.loneCR {
		return s.anyLineEnd(pos)
	}
	i := bytes.IndexByte(s.b[pos:], '\n')
	if i < 0 {
		i = len(s.b) - pos
	}
	end = pos + i
	next = min(end+1, len(s.b))
	if s.crCount > 0 && i > 0 && s.b[end-1] == '\r' {
		end--
		s.crsDropped++
	}
	return end, next
}

// anyLineEnd is lineEnd if CR, LF and CRLF end lines.
func (s *scanner) anyLineEnd(pos int) (end, next int) {
	b := s.b
	if b[pos] == '\r' { // a blank line needs no search for its end
		next = pos + 1
		if next < len(b) && b[next] == '\n' {
			next++
		}
		return pos, next
	}
	if s.nextLF < pos {
		s.nextLF = indexFrom(b, pos, '\n')
	}
	if s.nextCR < pos {
		s.nextCR = indexFrom(b, pos, '\r')
	}
	end = min(s.nextCR, s.nextLF)
	if end == len(b) {
		return end, end
	}
	next = end + 1
	if next == s.nextLF {
		next++ // CRLF
	}
	return end, next
}

// next reads the next line as the dialect does, and reports whether there was one.
func (s *scanner) next() bool {
	if s.pos >= len(s.b) {
		return false
	}
	s.readStrict()
	if s.ambiguous && s.lenient != nil {
		s.field, s.valueStart, s.valueEnd = readLine(s.lenient, s.b, s.start, s.end)
	}
	return true
}

// readStrict reads the next line as a dialect without leniencies does.
func (s *scanner) readStrict() {
	pos := s.pos
	end, next := s.lineEnd(pos)
	s.start = pos
	s.end = end
	s.pos = next
	s.ambiguous = end-pos > ambiguousLength

	// '#' begins a comment anywhere (FORM-06).
	stop := end
	if s.nextSpecial < end {
		if s.nextSpecial < pos {
			s.findSpecial(pos)
		}
		stop = min(end, s.nextHash)
		s.ambiguous = s.ambiguous || s.nextNUL < end
	}
	line := s.b[pos:stop]
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	if len(line) >= 8 {
		field := FieldNone
		n := 0
		switch w := binary.LittleEndian.Uint64(line) | wordLetters; {
		case w == wordDisallow:
			field = FieldDisallow
			n = 8
		case w&(1<<40-1) == wordAllow:
			field = FieldAllow
			n = 5
		case w == wordUserAge && len(line) > 10 && line[8]|0x20 == 'n' && line[9]|0x20 == 't':
			field = FieldUserAgent
			n = 10
		case w&(1<<56-1) == wordSitemap:
			field = FieldSitemap
			n = 7
		}
		rest := line[n:]
		for len(rest) > 0 && isBlank(rest[0]) {
			rest = rest[1:]
		}
		if n > 0 && len(rest) > 0 && rest[0] == ':' {
			s.field = field
			s.setValue(rest[1:], stop)
			return
		}
	}
	s.readRareField(line, stop)
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

// setValue sets the value to v, which ends at stop, without surrounding spaces and tabs. Vertical
// tab and form feed are white space only for the public C++ library (C-18).
func (s *scanner) setValue(v []byte, stop int) {
	if len(v) > 0 && v[0] == ' ' {
		v = v[1:]
	}
	if len(v) == 0 || v[0] <= ' ' || v[len(v)-1] <= ' ' { // hardly any
		for len(v) > 0 && isBlank(v[0]) {
			v = v[1:]
		}
		s.valueStart = stop - len(v)
		v = trimBlanks(v)
		if len(v) > 0 && (isVertical(v[0]) || isVertical(v[len(v)-1])) {
			s.ambiguous = true
		}
		s.valueEnd = s.valueStart + len(v)
		return
	}
	s.valueStart = stop - len(v)
	s.valueEnd = stop
}

// readRareField reads a line, without blanks at its start, other than the four most frequent
// fields. It ends at stop.
func (s *scanner) readRareField(line []byte, stop int) {
	s.field = FieldNone
	s.valueStart = stop
	s.valueEnd = stop
	if len(line) == 0 {
		return
	}
	if s.start == 0 && line[0] == 0xEF && len(line) == stop {
		s.ambiguous = true // part of a byte order mark (C-07)
	}
	sep := bytes.IndexByte(line, ':')
	if sep < 0 {
		word := trimAllSpace(line)
		for j, c := range word {
			if isBlank(c) {
				word = trimAllSpace(word[:j])
				break
			}
		}
		s.ambiguous = s.ambiguous || lenientField(word) != FieldUnknown
		return
	}
	key := trimBlanks(line[:sep])
	s.field = exactField(key)
	if len(key) == 0 {
		s.field = FieldNone // a line that starts with its colon has no field
	} else if s.field == FieldUnknown {
		s.ambiguous = s.ambiguous || lenientField(trimAllSpace(key)) != FieldUnknown
	}
	s.setValue(line[sep+1:], stop)
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
	start, end = d.trim(b, start, end)

	line := b[start:end]
	sep := bytes.IndexByte(line, ':')
	if sep < 0 && d.MissingColon {
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
