package robots

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"sync/atomic"
)

// A File is a robots.txt, independent of a dialect. It is immutable and safe for concurrent
// use. The zero value is an empty file.
type File struct {
	body []byte
	// loneCR is set if a CR without an LF ends a line, so that lines cannot be
	// counted by their LFs.
	loneCR bool
	// lineEndsBefore holds the line ends before each block, once a line number is needed.
	lineEndsBefore atomic.Pointer[[]uint32]
}

// maxReadBytes is the number of bytes whose lines are read: offsets have 32 bits.
const maxReadBytes = math.MaxUint32

// Parse returns the File of a robots.txt. Any bytes are valid: a line that cannot be read is
// ignored (FORM-02), and so are lines beyond 4 GiB. The File keeps body, which must not be
// changed afterwards.
//
// It does not keep a list of lines: Rules and Lines read them in one pass, which takes less time
// and memory for the one crawler of most callers. Crawlers reads a file once for many.
func Parse(body []byte) *File { return &File{body: body, loneCR: hasLoneCR(body)} }

// Bytes returns the bytes passed to Parse. They must not be changed.
func (f *File) Bytes() []byte { return f.body }

// A Span is a part of a file, from byte offset Start up to End.
type Span struct{ Start, End int }

// numberedBlock is the distance in bytes of the offsets whose line numbers are kept, so
// that finding any number counts the lines of one block at most.
const numberedBlock = 1 << 10

// lineNumber returns the number of the line of an offset, from 1.
func (f *File) lineNumber(offset int) int {
	if offset <= numberedBlock {
		return 1 + f.lineEnds(0, offset)
	}
	before := f.lineEndsBefore.Load()
	if before == nil {
		list := make([]uint32, 0, 1+len(f.body)/numberedBlock)
		n := 0
		for at := 0; at < len(f.body); at += numberedBlock {
			list = append(list, uint32(n))
			n += f.lineEnds(at, min(at+numberedBlock, len(f.body)))
		}
		before = &list
		f.lineEndsBefore.Store(before)
	}
	block := (offset - 1) / numberedBlock
	return 1 + int((*before)[block]) + f.lineEnds(block*numberedBlock, offset)
}

// lineEnds counts the line ends between two offsets: every LF, and every CR not followed
// by an LF, which can be at the second offset.
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
	if i == 0 && bytes.HasPrefix(f.body, []byte(byteOrderMark)) {
		i = 3
	}
	return i
}

// lineEnd returns where the line of an offset ends, without its CR or LF.
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

// A Line is a physical line as a dialect reads it.
type Line struct {
	Number  int   // from 1
	Field   Field // FieldNone for blank lines, comments and text that is not a field
	Span    Span  // the line without its end
	Name    Span  // the field as written, empty for FieldNone
	Value   Span  // the value without surrounding spaces and comment
	Comment Span  // from '#' to the end of the line, empty if there is none
	// Group is the number of the group, from 0. It is -1 before the first group, for Sitemap,
	// Host and Clean-param, which belong to none, and for FieldNone and FieldUnknown.
	Group int
	// Names are the crawlers that a user-agent line names, or "*", in lower case unless
	// the dialect is case-sensitive. In most dialects a line can name several: "AI2Bot"
	// also names a crawler called AI (D-02). The intended name comes first.
	Names []string
}

// Lines returns the lines up to the dialect's size limit in order, including blank lines and
// comments. Their spans and the line ends between them cover the file after a byte order
// mark; the zero Dialect has no limit. Rules selects the lines that apply to a crawler and
// combines its groups (GROUP-08).
func (f *File) Lines(d Dialect) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		limit, _ := f.limit(&d)
		number := 0
		group := -1
		var run agentRun
		s := f.scan(limit, &d)
		for s.next() {
			number++
			field := s.field
			val := s.valueStart
			end := s.valueEnd
			if run.startsGroup(f, &d, field, val) {
				group++
			}
			stop := s.start + lenBefore(f.body[s.start:s.end], '#')
			l := Line{Number: number, Field: field, Span: Span{s.start, s.end}, Comment: Span{stop, s.end}, Group: -1}
			if field == FieldNone {
				l.Name = Span{s.start, s.start}
				l.Value = Span{stop, stop}
			} else {
				l.Name = d.name(f.body, s.start, val)
				l.Value = Span{val, end}
			}
			switch field {
			case FieldNone, FieldUnknown, FieldSitemap, FieldHost, FieldCleanParam:
			default:
				l.Group = group
			}
			if field == FieldUserAgent {
				l.Names = slices.DeleteFunc(d.namesIn(f.Text(l.Value), nil), func(name string) bool { return name == "" })
			}
			if !yield(l) {
				return
			}
		}
	}
}

// name returns the name of a field in b[start:val], the part of a line before its value.
func (d *Dialect) name(b []byte, start, val int) Span {
	start, end := d.trim(b, start, val)
	if end > start && b[end-1] == ':' {
		_, end = d.trim(b, start, end-1)
	}
	return Span{start, end}
}

// scan returns a scanner for the first n bytes of the file.
func (f *File) scan(n int, d *Dialect) scanner { return newScanner(f.body[:n], f.loneCR, d) }

// Text returns the text of a span. It panics if the span is not within the file.
func (f *File) Text(s Span) string { return stringView(f.body[s.Start:s.End]) }

// limit returns the number of bytes of the file that count in d: complete lines within
// the size limit (D-17), and false if the file is ignored.
func (f *File) limit(d *Dialect) (n int, applies bool) {
	n = len(f.body)
	if d.MaxFileBytes > 0 && n > d.MaxFileBytes {
		if d.OverSizeOpens {
			return 0, false
		}
		n = 1 + bytes.LastIndexAny(f.body[:d.MaxFileBytes], "\r\n")
	}
	return int(min(uint64(n), maxReadBytes)), true
}

// blankBetween reports whether there is a blank line between the lines of two offsets
// (GROUP-05). A comment is not a blank line.
func (f *File) blankBetween(from, to int) bool {
	b := f.body[:f.lineStart(to)]
	for i := f.lineEnd(from); i < len(b); {
		i++
		if b[i-1] == '\r' && i < len(b) && b[i] == '\n' {
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
