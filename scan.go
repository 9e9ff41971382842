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
	val       uint32 // offset of the value in the body
	n         uint16 // bytes of the value; longValue if more
	field     Field
	ambiguous bool // another dialect may read this line differently
}

const longValue = 1<<16 - 1

// ambiguousLength is the length above which a line is ambiguous: the lowest line limit of a
// dialect (yandex).
const ambiguousLength = 1024

// A scanner reads lines. It remembers the positions of the next '#' and NUL, so that a file
// without them is searched once and not once per line.
//
// A line can end with a CR alone (FORM-01), but hardly any file has such a line. The scanner
// therefore searches for LF only and counts the CRs before them. If it missed some in the
// end, the lines were wrong, and the caller starts again with a careful scanner.
type scanner struct {
	b         []byte
	pos       int // where the next line begins
	hash, nul int // first such byte at or after the line, len(b) if none
	other     int // the first of the two
	crs       int // CRs in b
	dropped   int // CRs that ended lines so far
	cr, lf    int // careful: the first CR and LF at or after the line
	careful   bool

	start, end  int // the line without its end
	val, valEnd int // its value, blanks and comment removed
	field       Field
	ambiguous   bool
}

// newScanner starts at the first line of b, after a byte order mark (FORM-04, C-07).
func newScanner(b []byte) scanner {
	s := scanner{b: b, hash: -1, nul: -1, other: -1, cr: -1}
	if len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF {
		s.pos = 3
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		s.crs = bytes.Count(b[i:], []byte{'\r'})
	}
	return s
}

// newCarefulScanner is newScanner for a file in which a CR alone ends a line.
func newCarefulScanner(b []byte) scanner {
	s := newScanner(b)
	s.careful, s.lf = true, -1
	return s
}

// sound reports, after the last line, whether the line ends were right.
func (s *scanner) sound() bool { return s.careful || s.dropped == s.crs }

// indexFrom returns the first c at or after i, len(b) if there is none.
func indexFrom(b []byte, i int, c byte) int {
	if j := bytes.IndexByte(b[i:], c); j >= 0 {
		return i + j
	}
	return len(b)
}

// Names as eight bytes, little endian, lower case.
const (
	word_disallow = 'd' | 'i'<<8 | 's'<<16 | 'a'<<24 | 'l'<<32 | 'l'<<40 | 'o'<<48 | 'w'<<56
	word_user_age = 'u' | 's'<<8 | 'e'<<16 | 'r'<<24 | '-'<<32 | 'a'<<40 | 'g'<<48 | 'e'<<56
	word_sitemap  = 's' | 'i'<<8 | 't'<<16 | 'e'<<24 | 'm'<<32 | 'a'<<40 | 'p'<<48
	word_allow    = 'a' | 'l'<<8 | 'l'<<16 | 'o'<<24 | 'w'<<32
	word_letters  = 0x2020202020202020 // makes ASCII letters lower case
)

// eitherEnd returns where the line at pos ends if CR, LF and CRLF end lines, and where the
// next one begins.
func (s *scanner) eitherEnd(pos int) (end, next int) {
	b := s.b
	if b[pos] == '\r' { // a blank line needs no search for its end
		if next = pos + 1; next < len(b) && b[next] == '\n' {
			next++
		}
		return pos, next
	}
	if s.lf < pos {
		s.lf = indexFrom(b, pos, '\n')
	}
	if s.cr < pos {
		s.cr = indexFrom(b, pos, '\r')
	}
	if end = min(s.cr, s.lf); end == len(b) {
		return end, end
	}
	if next = end + 1; next == s.lf {
		next++ // CRLF
	}
	return end, next
}

// lineEnd returns where the line at pos ends, and where the next one begins.
func (s *scanner) lineEnd(pos int) (end, next int) {
	if s.careful {
		return s.eitherEnd(pos)
	}
	i := bytes.IndexByte(s.b[pos:], '\n')
	if i < 0 {
		i = len(s.b) - pos
	}
	end, next = pos+i, min(pos+i+1, len(s.b))
	if s.crs > 0 && end > pos && s.b[end-1] == '\r' {
		end--
		s.dropped++
	}
	return end, next
}

// next reads the next line and reports whether there was one.
func (s *scanner) next() bool {
	b, pos := s.b, s.pos
	if pos >= len(b) {
		return false
	}
	end, next := s.lineEnd(pos)
	s.start, s.end, s.pos = pos, end, next
	if end-pos <= 1 { // no field and no value
		s.field, s.val, s.valEnd, s.ambiguous = FieldNone, end, end, false
		return true
	}

	// '#' begins a comment anywhere (FORM-06).
	stop := end
	s.ambiguous = end-pos > ambiguousLength
	if s.other < end {
		if s.other < pos {
			s.findOther(pos)
		}
		stop = min(end, s.hash)
		s.ambiguous = s.ambiguous || s.nul < end
	}

	i := pos
	for i < stop && isBlank(b[i]) {
		i++
	}
	s.field, s.val, s.valEnd = FieldNone, stop, stop
	if i == stop {
		return true
	}
	if i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:]) | word_letters
		field, j := FieldNone, 0
		switch {
		case w == word_disallow:
			field, j = FieldDisallow, i+8
		case w&(1<<40-1) == word_allow:
			field, j = FieldAllow, i+5
		case w == word_user_age && i+10 <= len(b) && b[i+8]|0x20 == 'n' && b[i+9]|0x20 == 't':
			field, j = FieldUserAgent, i+10
		case w&(1<<56-1) == word_sitemap:
			field, j = FieldSitemap, i+7
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
	s.readOther(i, stop)
	return true
}

// findOther finds the next '#' and NUL at or after pos.
func (s *scanner) findOther(pos int) {
	if s.hash < pos {
		s.hash = indexFrom(s.b, pos, '#')
	}
	if s.nul < pos {
		s.nul = indexFrom(s.b, pos, 0)
	}
	s.other = min(s.hash, s.nul)
}

// trim sets the value to b[i:stop] without surrounding spaces and tabs. Vertical tab and form
// feed are white space only for the public C++ library (C-18).
func (s *scanner) trim(i, stop int) {
	b := s.b
	if i < stop && b[i] == ' ' {
		i++
	}
	if i < stop && b[i] > ' ' && b[stop-1] > ' ' { // nearly all
		s.val, s.valEnd = i, stop
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
	s.val, s.valEnd = i, stop
}

// readOther reads a line other than the four most frequent fields.
func (s *scanner) readOther(i, stop int) {
	b := s.b
	if i == 0 && b[0] == 0xEF {
		s.ambiguous = true // part of a byte order mark (C-07)
	}
	sep := bytes.IndexByte(b[i:stop], ':')
	if sep < 0 {
		word := trimVertical(b[i:stop])
		for j, c := range word {
			if isBlank(c) {
				word = trimVertical(word[:j])
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
		s.ambiguous = s.ambiguous || lenientField(trimVertical(key)) != FieldUnknown
	}
	s.trim(i+sep+1, stop)
}

// isBlank reports whether c is white space in the grammar (GRAM, WS).
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isVertical(c byte) bool { return c == '\v' || c == '\f' }

// trimBlanks and trimVertical are loops because bytes.Trim builds a table for each call.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// trimVertical removes all ASCII white space at both ends, as the public C++ library does
// (C-18).
func trimVertical(b []byte) []byte {
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
		start = partialMark(b)
	}
	if d.MaxLineBytes > 0 && end-start > d.MaxLineBytes {
		end = start + d.MaxLineBytes // the rest is lost, what is left still counts (C-05)
	}
	if d.CStrings {
		end = start + cut(b[start:end], 0) // (C-18)
	}
	end = start + cut(b[start:end], '#')
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

// cut returns the length of b up to the first c.
func cut(b []byte, c byte) int {
	if i := bytes.IndexByte(b, c); i >= 0 {
		return i
	}
	return len(b)
}

// partialMark returns how many bytes of a byte order mark b starts with: the C++ library
// ignores even one or two of the three (C-07).
func partialMark(b []byte) int {
	n := 0
	for n < len(b) && n < len(mark) && b[n] == mark[n] {
		n++
	}
	return n
}

const mark = "\xEF\xBB\xBF"
