package robots

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"sync/atomic"
)

// File is one robots.txt: its bytes and where its lines are. It is lossless,
// knows no dialect and never fails to exist. A File is immutable and safe for
// concurrent use; the zero value is an empty file.
type File struct {
	body  []byte
	lines []lineRef
	// loneCR says that a CR alone ends some line, so that counting line ends
	// takes more than counting LF.
	loneCR bool
	// numbers holds the line ends before each block, once they are asked for.
	numbers atomic.Pointer[[]uint32]
}

// maxIndexed is the number of bytes whose lines are read: offsets have 32 bits.
const maxIndexed = math.MaxUint32

// Parse reads any bytes as a robots.txt. It has no error: a line that cannot
// be read is a line without effect (FORM-02). The file keeps body, which must
// not change afterwards. Lines beyond 4 GiB are kept but not read.
func Parse(body []byte) *File {
	f := &File{body: body}
	b := body
	if n := uint64(maxIndexed); uint64(len(b)) > n {
		b = b[:n]
	}
	s := newScanner(b)
	f.lines = s.refs()
	if !s.sound() {
		f.loneCR = true
		s = newCarefulScanner(b)
		f.lines = s.refs()
	}
	return f
}

// refs reads all lines and keeps those that may matter. They are found in memory kept for
// that, and copied once.
func (s *scanner) refs() []lineRef {
	found := scratches.Get().(*scratch)
	defer found.free()
	found.refs = found.refs[:0]
	for s.next() {
		if s.field == FieldNone && !s.ambiguous {
			continue
		}
		found.refs = append(found.refs, lineRef{
			val:       uint32(s.val),
			n:         uint16(min(s.valEnd-s.val, longValue)),
			field:     s.field,
			ambiguous: s.ambiguous,
		})
	}
	return slices.Clone(found.refs)
}

// Bytes returns the bytes given to Parse; they must not be changed.
func (f *File) Bytes() []byte { return f.body }

// A Span is a part of a file, from offset Start up to End, in bytes.
type Span struct{ Start, End int }

// numberedBlock is the number of bytes between two places of a file whose line
// numbers are kept once somebody asks for one: so no number costs more than
// counting a block, however large the file and however many are asked for.
const numberedBlock = 1 << 10

// lineNumber returns the number of the line of an offset, from 1.
func (f *File) lineNumber(offset int) int {
	if offset <= numberedBlock {
		return 1 + f.lineEnds(0, offset)
	}
	before := f.numbers.Load()
	if before == nil {
		list := make([]uint32, 0, 1+len(f.body)/numberedBlock)
		n := 0
		for at := 0; at < len(f.body); at += numberedBlock {
			list = append(list, uint32(n))
			n += f.lineEnds(at, min(at+numberedBlock, len(f.body)))
		}
		before = &list
		f.numbers.Store(before)
	}
	block := (offset - 1) / numberedBlock
	return 1 + int((*before)[block]) + f.lineEnds(block*numberedBlock, offset)
}

// lineEnds counts the line ends from one offset to another: every LF, and every CR
// without an LF behind it, which may lie behind the second offset.
func (f *File) lineEnds(from, to int) int {
	b := f.body[from:to]
	n := bytes.Count(b, []byte{'\n'})
	if f.loneCR {
		n += bytes.Count(b, []byte{'\r'}) - bytes.Count(f.body[from:min(to+1, len(f.body))], []byte("\r\n"))
	}
	return n
}

// lineStart returns where the line of an offset begins, after a byte order mark.
func (f *File) lineStart(offset int) int {
	i := offset
	if i > 0 && i < len(f.body) && f.body[i-1] == '\r' && f.body[i] == '\n' {
		i--
	}
	for b := f.body[:i]; len(b) > 0 && b[len(b)-1] != '\n' && b[len(b)-1] != '\r'; b = b[:len(b)-1] {
		i--
	}
	if i == 0 && bytes.HasPrefix(f.body, []byte(mark)) {
		i = 3
	}
	return i
}

// lineEnd returns where the line of an offset ends, without its CR or LF. It
// looks no further, so that reading all lines again reads the file once.
func (f *File) lineEnd(offset int) int {
	b := f.body[offset:]
	if !f.loneCR { // an LF follows each CR, or the end of the file
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[:i]
		}
		return offset + len(bytes.TrimSuffix(b, []byte{'\r'}))
	}
	for i, c := range b {
		if c == '\n' || c == '\r' {
			return offset + i
		}
	}
	return len(f.body)
}

// A Line is one physical line, read as RFC 9309 reads it.
type Line struct {
	Number  int   // from 1
	Field   Field // FieldNone for blank lines, comments and lines without a colon
	Span    Span  // the line without its end
	Name    Span  // the field as written, empty for FieldNone
	Value   Span  // the value without blanks and comment
	Comment Span  // from '#' to the end of the line, empty if there is none
}

// Lines returns all physical lines in order, blank ones and comments included.
// Their spans and the line ends between them are the whole file (after a byte
// order mark, if there is one).
func (f *File) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		number := 0
		for s := f.scan(); s.next(); {
			number++
			l := Line{
				Number: number,
				Field:  s.field,
				Span:   Span{s.start, s.end},
				Value:  Span{s.val, s.valEnd},
			}
			line := f.body[s.start:s.end]
			stop := cut(line, '#')
			l.Comment = Span{s.start + stop, s.end}
			if colon := cut(line[:stop], ':'); s.field != FieldNone {
				name := bytes.TrimLeft(line[:colon], " \t")
				start := s.start + colon - len(name)
				l.Name = Span{start, start + len(bytes.TrimRight(name, " \t"))}
			} else {
				l.Name, l.Value = Span{s.start, s.start}, Span{s.start + stop, s.start + stop}
			}
			if !yield(l) {
				return
			}
		}
	}
}

// scan starts a scanner that reads the file's lines right the first time.
func (f *File) scan() scanner {
	if f.loneCR {
		return newCarefulScanner(f.body)
	}
	return newScanner(f.body)
}

// Text returns the bytes of a span of this file, "" for the zero Span. It panics
// for a span that ends behind the file, as one of another file may.
func (f *File) Text(s Span) string { return view(f.body[s.Start:s.End]) }

// read returns a line as dialect d reads it.
func (f *File) read(l lineRef, d *Dialect) (field Field, start, end int) {
	start = int(l.val)
	switch {
	case l.ambiguous && d.lenient():
		return readLine(d, f.body, f.lineStart(start), f.lineEnd(start))
	case l.n == longValue:
		end = f.lineEnd(start)
		end = start + cut(f.body[start:end], '#')
		return l.field, start, start + len(bytes.TrimRight(f.body[start:end], " \t"))
	}
	return l.field, start, start + int(l.n)
}

// limit returns the number of bytes of the file that count in d: whole lines
// within the size limit (D-17), and false if the file does not count at all.
func (f *File) limit(d *Dialect) (n int, counts bool) {
	if d.MaxFileBytes <= 0 || len(f.body) <= d.MaxFileBytes {
		return len(f.body), true
	}
	if d.OverSizeOpens {
		return 0, false
	}
	return 1 + bytes.LastIndexAny(f.body[:d.MaxFileBytes], "\r\n"), true
}

// blankBetween reports whether a blank line lies between two offsets, each on
// a line of its own (GROUP-05). A comment is no blank line. It reads what is
// between them and nothing else.
func (f *File) blankBetween(from, to int) bool {
	b := f.body[:f.lineStart(to)]
	for i := f.lineEnd(from); i < len(b); {
		if i++; b[i-1] == '\r' && i < len(b) && b[i] == '\n' {
			i++
		}
		start := i
		for i < len(b) && b[i] != '\n' && b[i] != '\r' {
			i++
		}
		if i < len(b) && len(trimBlanks(b[start:i])) == 0 {
			return true
		}
	}
	return false
}
