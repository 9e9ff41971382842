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
// does, and marks a line as ambiguous that a lenient dialect might read differently. Those
// dialects pass such lines to readLine. TestReference compares the two.

// A lineRef is a line that might have an effect, kept by Parse. It has no
// line number: lineNumber counts line ends when one is needed.
type lineRef struct {
	valueStart uint32 // offset of the value in the body
	valueLen   uint16 // bytes of the value; longValue if more
	field      Field
	ambiguous  bool // another dialect may read this line differently
}

const longValue = 1<<16 - 1

// ambiguousLength is the length above which a line is ambiguous: the lowest line limit of a
// dialect (yandex).
const ambiguousLength = 1024

// A scanner reads lines. It remembers the positions of the next '#' and NUL, so that a file
// without them is searched once and not once per line.
//
// A line can end with a CR alone (FORM-01), but hardly any file has such a line. The scanner
// therefore searches for LF only and counts the CRs before them. If these are not all CRs of
// the file, the lines were wrong, and the caller starts again with a careful scanner.
type scanner struct {
	b                 []byte
	pos               int // where the next line begins
	nextHash, nextNUL int // first '#' and NUL at or after the line, len(b) if there is none
	nextSpecial       int // the first of the two
	crCount           int // number of CRs in b
	crsDropped        int // number of CRs that ended a line so far
	nextCR, nextLF    int // first CR and LF at or after the line, if careful
	careful           bool

	start, end           int // the line without its end
	valueStart, valueEnd int // the value without surrounding blanks and comment
	field                Field
	ambiguous            bool
}

// newScanner starts at the first line of b, after a byte order mark (FORM-04, C-07).
func newScanner(b []byte) scanner {
	s := scanner{b: b, nextHash: -1, nextNUL: -1, nextSpecial: -1, nextCR: -1}
	if len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF {
		s.pos = 3
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		s.crCount = bytes.Count(b[i:], []byte{'\r'})
	}
	return s
}

// newCarefulScanner is newScanner for a file in which a CR alone ends a line.
func newCarefulScanner(b []byte) scanner {
	s := newScanner(b)
	s.careful = true
	s.nextLF = -1
	return s
}

// lineEndsCorrect reports, after the last line, whether the line ends were right.
func (s *scanner) lineEndsCorrect() bool { return s.careful || s.crsDropped == s.crCount }

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

// carefulLineEnd returns where the line at pos ends if CR, LF and CRLF end lines, and where the
// next one begins.
func (s *scanner) carefulLineEnd(pos int) (end, next int) {
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

// lineEnd returns where the line at pos ends, and where the next one begins.
func (s *scanner) lineEnd(pos int) (end, next int) {
	if s.careful {
		return s.carefulLineEnd(pos)
	}
	i := bytes.IndexByte(s.b[pos:], '\n')
	if i < 0 {
		i = len(s.b) - pos
	}
	end = pos + i
	next = min(pos+i+1, len(s.b))
	if s.crCount > 0 && end > pos && s.b[end-1] == '\r' {
		end--
		s.crsDropped++
	}
	return end, next
}

// next reads the next line and reports whether there was one.
func (s *scanner) next() bool {
	b := s.b
	pos := s.pos
	if pos >= len(b) {
		return false
	}
	end, next := s.lineEnd(pos)
	s.start = pos
	s.end = end
	s.pos = next
	if end-pos <= 1 { // no field and no value
		s.field = FieldNone
		s.valueStart = end
		s.valueEnd = end
		s.ambiguous = false
		return true
	}

	// '#' begins a comment anywhere (FORM-06).
	stop := end
	s.ambiguous = end-pos > ambiguousLength
	if s.nextSpecial < end {
		if s.nextSpecial < pos {
			s.findSpecial(pos)
		}
		stop = min(end, s.nextHash)
		s.ambiguous = s.ambiguous || s.nextNUL < end
	}

	i := pos
	for i < stop && isBlank(b[i]) {
		i++
	}
	s.field = FieldNone
	s.valueStart = stop
	s.valueEnd = stop
	if i == stop {
		return true
	}
	if i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:]) | wordLetters
		field := FieldNone
		j := 0
		switch {
		case w == wordDisallow:
			field = FieldDisallow
			j = i + 8
		case w&(1<<40-1) == wordAllow:
			field = FieldAllow
			j = i + 5
		case w == wordUserAge && i+10 <= len(b) && b[i+8]|0x20 == 'n' && b[i+9]|0x20 == 't':
			field = FieldUserAgent
			j = i + 10
		case w&(1<<56-1) == wordSitemap:
			field = FieldSitemap
			j = i + 7
		}
		if field != FieldNone {
			for j < stop && isBlank(b[j]) {
				j++
			}
			if j < stop && b[j] == ':' {
				s.field = field
				s.trim(j+1, stop)
				return true
			}
		}
	}
	s.readRareField(i, stop)
	return true
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

// trim sets the value to b[i:stop] without surrounding spaces and tabs. Vertical tab and form
// feed are white space only for the public C++ library (C-18).
func (s *scanner) trim(i, stop int) {
	b := s.b
	if i < stop && b[i] == ' ' {
		i++
	}
	if i < stop && b[i] > ' ' && b[stop-1] > ' ' { // nearly all
		s.valueStart = i
		s.valueEnd = stop
		return
	}
	for i < stop && isBlank(b[i]) {
		i++
	}
	for stop > i && isBlank(b[stop-1]) {
		stop--
	}
	if i < stop && (isVertical(b[i]) || isVertical(b[stop-1])) {
		s.ambiguous = true
	}
	s.valueStart = i
	s.valueEnd = stop
}

// readRareField reads a line other than the four most frequent fields.
func (s *scanner) readRareField(i, stop int) {
	b := s.b
	if i == 0 && b[0] == 0xEF {
		s.ambiguous = true // part of a byte order mark (C-07)
	}
	sep := bytes.IndexByte(b[i:stop], ':')
	if sep < 0 {
		word := trimAllSpace(b[i:stop])
		for j, c := range word {
			if isBlank(c) {
				word = trimAllSpace(word[:j])
				break
			}
		}
		s.ambiguous = s.ambiguous || lenientField(word) != FieldUnknown
		return
	}
	key := trimBlanks(b[i : i+sep])
	s.field = exactField(key)
	if len(key) == 0 {
		s.field = FieldNone // a line that starts with its colon has no field
	} else if s.field == FieldUnknown {
		s.ambiguous = s.ambiguous || lenientField(trimAllSpace(key)) != FieldUnknown
	}
	s.trim(i+sep+1, stop)
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
