// Package warc reads WARC files (ISO 28500, versions 1.0 and 1.1) as they are
// found: plain, compressed by gzip or zstd, a record each or the whole file, and
// damaged. A bad record costs that record and is counted by its kind; it never
// costs the file.
package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxHeaderBytes bounds the header of a record, and that of an answer in it.
const maxHeaderBytes = 64 << 10

// A Kind is a way in which a file may be damaged. The words are a contract.
type Kind string

// The kinds.
const (
	BadGzip   Kind = "gzip"    // a member does not inflate, or its checksum is wrong
	BadZstd   Kind = "zstd"    // the same of a frame
	BadHeader Kind = "header"  // the header of a record cannot be read
	BadLength Kind = "length"  // a record is longer or shorter than it says
	BadHTTP   Kind = "http"    // the answer in a record is none
	Garbage   Kind = "garbage" // bytes between records
)

// Damage is something in a file that could not be read.
type Damage struct {
	Kind   Kind
	Offset int64 // in the file, near enough to find it
	Detail string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", d.Kind, d.Offset, d.Detail)
}

// A Record is one record. Its strings are copies, its Block is good until the next
// call of Next.
type Record struct {
	Version string // such as "1.1"
	Type    string // lower case, such as "response"
	ID      string // WARC-Record-ID
	URI     string // WARC-Target-URI, without the angle brackets that some writers put around it
	Date    time.Time
	// Truncated is the reason for which the block is not whole: "" if it is, else
	// "length", "time", "disconnect" or "unspecified".
	Truncated string
	RefersTo  Reference // of a revisit: the record that has what it leaves out
	Offset    int64     // in the file, of the member that holds the record, or of the record itself in a plain file
	Length    int64     // of the block, as it says

	Block io.Reader // ends in io.EOF if the record came whole, else in a *Damage

	date, length string
	reader       *Reader
}

// A Reference says which record is meant, as another one has it. What it leaves out is "".
type Reference struct{ ID, URI, Date string }

// A Reader reads the records of a file, in order.
type Reader struct {
	raw     source
	members members
	text    source // of the member that is open
	open    bool
	at      int64 // offset of that member
	block   block
	fields  fields
	damage  func(Damage)

	answer source // of Response, of the record that was read last
	body   source // of its chunks
}

// NewReader returns a reader of a file. It calls damage, which may be nil, for
// whatever it cannot read.
func NewReader(in io.Reader, damage func(Damage)) *Reader {
	if damage == nil {
		damage = func(Damage) {}
	}
	r := &Reader{damage: damage, fields: fields{names: map[string]string{}}}
	r.raw.reset(in)
	r.members = members{raw: &r.raw, tell: func(k Kind, at int64, why string) { r.lost(k, at, why) }}
	r.members.begin()
	return r
}

// Close gives back what decoders hold. It does not close the file.
func (r *Reader) Close() { r.members.close() }

// Offset returns how far the file was read.
func (r *Reader) Offset() int64 {
	return r.raw.offset()
}

func (r *Reader) lost(k Kind, at int64, why string) *Damage {
	d := Damage{k, at, why}
	r.damage(d)
	return &d
}

// where returns the offset in the file of what is read now.
func (r *Reader) where() int64 {
	if r.members.form == plain {
		return r.text.offset()
	}
	return r.at
}

// Next returns the next record that can be read. The error is io.EOF at the end of
// the file, else one of reading the file, such as of a disk.
func (r *Reader) Next() (*Record, error) {
	for {
		if r.open {
			r.block.end()
		}
		if !r.open {
			r.members.raw.mark = -1
			in := r.members.next()
			if in == nil {
				if err := r.raw.failed(); err != nil {
					return nil, err
				}
				return nil, io.EOF
			}
			r.at = r.raw.offset()
			if r.raw.mark >= 0 {
				r.at = r.raw.base + int64(r.raw.mark)
			}
			r.text.reset(in)
			r.open = true
		}
		if record := r.record(); record != nil {
			return record, nil
		}
	}
}

// record reads the header of the next record of the member that is open. It is nil
// if there is none, or none that can be read.
func (r *Reader) record() *Record {
	t := &r.text
	for b := t.peek(1); len(b) == 1 && (b[0] == '\r' || b[0] == '\n'); b = t.peek(1) {
		t.skip(1)
	}
	if len(t.peek(1)) == 0 {
		r.endMember()
		return nil
	}
	if !bytes.Equal(t.peek(len(begin)), begin) {
		if r.tornMember() {
			return nil
		}
		r.lost(Garbage, r.where(), "bytes between records")
		r.seek()
		return nil
	}
	record := &Record{Offset: r.where(), reader: r}
	t.setMark()
	start := t.offset()
	line, _ := t.line(maxHeaderBytes)
	record.Version = string(bytes.TrimSpace(line[len(begin):]))
	if !r.fields.read(t, start, record.field) {
		if !r.tornMember() {
			r.lost(BadHeader, record.Offset, "the header of a record has no end, or is longer than 64 KiB")
			r.again()
		}
		return nil
	}
	if err := record.read(); err != "" {
		r.lost(BadHeader, record.Offset, err)
		r.again()
		return nil
	}
	t.setMark() // where the block begins
	r.block = block{r: r, left: record.Length}
	record.Block = &r.block
	return record
}

// fields reads headers. It remembers the canonical names of fields by how they were written:
// nearly all files have the same few.
type fields struct {
	names map[string]string
	value []byte // of the field that is read
}

const mostNames = 200 // that are remembered

func (f *fields) name(written []byte) string {
	if name, ok := f.names[string(written)]; ok {
		return name
	}
	name := http.CanonicalHeaderKey(string(written))
	if len(f.names) < mostNames && len(written) < 100 {
		f.names[string(written)] = name
	}
	return name
}

// read reads lines up to an empty one, and calls put with each field. The value holds until
// put returns. Where the header has no end read returns false.
func (f *fields) read(t *source, start int64, put func(name string, value []byte)) bool {
	for name := ""; ; {
		line, ok := t.line(maxHeaderBytes)
		ok = ok && t.offset()-start <= maxHeaderBytes
		if ok && len(line) > 0 && (line[0] == ' ' || line[0] == '\t') { // a fold
			f.value = bytes.TrimSpace(append(append(f.value, ' '), bytes.TrimSpace(line)...))
			continue
		}
		if name != "" {
			put(name, f.value)
		}
		if !ok || len(line) == 0 {
			return ok
		}
		before, value, named := bytes.Cut(line, []byte(":"))
		if name = ""; named {
			name = f.name(bytes.TrimSpace(before))
			f.value = append(f.value[:0], bytes.TrimSpace(value)...)
		}
	}
}

// field takes a field of the header. Of several of a name it takes the first.
func (r *Record) field(name string, value []byte) {
	var to *string
	switch name {
	case "Warc-Type":
		to = &r.Type
	case "Warc-Record-Id":
		to = &r.ID
	case "Warc-Target-Uri":
		to = &r.URI
	case "Warc-Date":
		to = &r.date
	case "Warc-Truncated":
		to = &r.Truncated
	case "Warc-Refers-To":
		to = &r.RefersTo.ID
	case "Warc-Refers-To-Target-Uri":
		to = &r.RefersTo.URI
	case "Warc-Refers-To-Date":
		to = &r.RefersTo.Date
	case "Content-Length":
		to = &r.length
	}
	if to != nil && *to == "" {
		*to = string(value)
	}
}

// read reads what a record must say. It returns what is wrong.
func (r *Record) read() string {
	r.Type, r.Truncated = strings.ToLower(r.Type), strings.ToLower(r.Truncated)
	if r.Type == "" {
		return "a record without WARC-Type"
	}
	n, err := strconv.ParseInt(r.length, 10, 64)
	if err != nil || n < 0 {
		return fmt.Sprintf("Content-Length %.40q is no number of bytes", r.length)
	}
	r.Length = n
	if bare, ok := strings.CutPrefix(r.URI, "<"); ok {
		r.URI = strings.TrimSuffix(bare, ">")
	}
	if r.Date, err = ParseDate(r.date); err != nil {
		return fmt.Sprintf("WARC-Date %.40q is no time", r.date)
	}
	return ""
}

// ParseDate reads a date as records have them: RFC 3339 with or without fractions, which
// version 1.1 has, without a zone, which then is UTC, or the 14 digits of old
// writers. A leap second is the second after it.
func ParseDate(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "20060102150405", "2006-01-02 15:04:05", "2006-01-02"} {
		at, err := time.Parse(layout, s)
		if err == nil {
			return at.UTC(), nil
		}
		if i := strings.Index(s, ":60"); i > 0 && layout == time.RFC3339 {
			if at, err = time.Parse(layout, s[:i]+":59"+s[i+3:]); err == nil {
				return at.Add(time.Second).UTC(), nil
			}
		}
	}
	return time.Time{}, errors.New("no time")
}

// again goes on behind the first line of the record at the mark, to the next that
// begins a record.
func (r *Reader) again() {
	r.text.rewind()
	r.seek()
}

// seek goes on to the next line that begins a record.
func (r *Reader) seek() {
	t := &r.text
	t.mark = -1
	if t.find([]byte("\nWARC/1.")) {
		t.skip(1)
	} else {
		r.endMember()
	}
}

// endMember closes the member that was read to its end.
func (r *Reader) endMember() {
	if !r.tornMember() {
		r.open = false
	}
}

// tornMember reports whether the member that is open ended in an error, which it
// then tells of. The member is closed.
func (r *Reader) tornMember() bool {
	err := r.text.failed()
	if err == nil {
		return false
	}
	r.torn(err)
	return true
}

// torn closes a member that ended in an error.
func (r *Reader) torn(err error) {
	r.open = false
	if r.raw.failed() != nil { // of the disk or the network: Next returns it
		r.raw.next = len(r.raw.buf)
		return
	}
	switch r.members.form {
	case gzipped:
		r.members.damaged(BadGzip, err.Error())
	case zstandard:
		r.members.damaged(BadZstd, err.Error())
	}
}

// block is the content of the record that is read.
type block struct {
	r    *Reader
	left int64
	err  error
}

func (b *block) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.left == 0 {
		b.close()
		return 0, b.err
	}
	n, err := b.r.text.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil {
		b.short(err)
		if n == 0 {
			return 0, b.err
		}
	}
	return n, nil
}

// short ends a block that ends before it should.
func (b *block) short(err error) {
	r := b.r
	if !errors.Is(err, io.EOF) {
		b.err = err
		if r.raw.failed() == nil {
			b.err = &Damage{r.kind(), r.where(), err.Error()}
		}
		r.torn(err)
		return
	}
	b.err = r.lost(BadLength, r.where(), fmt.Sprintf("%d bytes of a record are missing", b.left))
	r.again()
}

// kind is that of damage to what is compressed.
func (r *Reader) kind() Kind {
	if r.members.form == zstandard {
		return BadZstd
	}
	return BadGzip
}

// close looks at what follows a block: the end of its line, or of the member with
// its checksum.
func (b *block) close() {
	t := &b.r.text
	tail := t.peek(5)
	if err := t.failed(); err != nil && len(tail) < 5 {
		b.short(err)
		return
	}
	if len(tail) > 0 && tail[0] != '\r' && tail[0] != '\n' {
		b.err = b.r.lost(BadLength, b.r.where(), "a record goes on behind its end")
		b.r.again()
		return
	}
	b.err = io.EOF
}

// end passes over what was not read of a block.
func (b *block) end() {
	if b.r == nil || b.err != nil {
		return
	}
	if b.left > keepMost {
		b.r.text.mark = -1 // nobody goes back that far
	}
	_, _ = io.Copy(io.Discard, b)
}
