// Package warc reads WARC files (ISO 28500, versions 1.0 and 1.1): plain, or compressed with
// gzip or zstd, by record or as a whole. It skips damaged records, reports each with its kind,
// and continues with the next record.
package warc

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // a digest of WARC files
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxHeaderBytes limits the header of a record, and that of an HTTP response in it.
const maxHeaderBytes = 64 << 10

// A Kind classifies damage. The values are a contract.
type Kind string

// The kinds.
const (
	BadGzip   Kind = "gzip"    // a gzip member cannot be decompressed, or its checksum is wrong
	BadZstd   Kind = "zstd"    // a zstd frame cannot be decompressed
	BadHeader Kind = "header"  // a record header is invalid
	BadLength Kind = "length"  // the length of a record differs from its Content-Length
	BadDigest Kind = "digest"  // the block of a record differs from its WARC-Block-Digest
	BadHTTP   Kind = "http"    // a record does not contain a valid HTTP response
	Garbage   Kind = "garbage" // bytes between records
)

// Damage is a part of a file that could not be read.
type Damage struct {
	Kind   Kind
	Offset int64 // in the file, approximate
	Detail string
	// Lost is how many records Next had returned from a compressed member before its data or
	// its checksum was found to be wrong. Nothing in them is reliable. It is 0 if the end of the
	// member is missing.
	Lost int
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", d.Kind, d.Offset, d.Detail)
}

// A Record is one WARC record. Its Block is valid until the next call of Next.
type Record struct {
	Type string // lower case, such as "response"
	ID   string // WARC-Record-ID
	URI  string // WARC-Target-URI, without the angle brackets that some writers put around it
	Date time.Time
	// Truncated is the reason why the block is truncated: "length", "time", "disconnect" or
	// "unspecified"; "" if it is complete.
	Truncated string
	RefersTo  Reference // of a revisit record: the record with the content
	Offset    int64     // in the file, of the compressed member or, in a plain file, of the record
	Length    int64     // Content-Length of the block

	Block io.Reader // ends with io.EOF if the record is complete, otherwise with a *Damage

	reader *Reader
}

// A Reference identifies another record. Fields that are missing are "".
type Reference struct{ ID, URI, Date string }

// A Reader reads the records of a file, in order.
type Reader struct {
	raw     source
	members members
	text    source // the decompressed member
	open    bool   // a member is open
	at      int64  // offset of that member
	records int    // that Next returned from it
	block   block
	damage  func(Damage)

	response source // of Response, for the current record
	body     source // its chunked body
}

// NewReader returns a reader of a file. It calls damage, which can be nil, for each part
// that it cannot read.
func NewReader(in io.Reader, damage func(Damage)) *Reader {
	if damage == nil {
		damage = func(Damage) {}
	}
	r := &Reader{damage: damage}
	r.raw.reset(in)
	r.members = members{raw: &r.raw, report: damage}
	r.members.detect()
	return r
}

// Close releases the decoders. It does not close the file.
func (r *Reader) Close() { r.members.close() }

// report passes damage to the caller.
func (r *Reader) report(k Kind, at int64, detail string) *Damage {
	d := Damage{Kind: k, Offset: at, Detail: detail}
	r.damage(d)
	return &d
}

// where returns the current offset in the file.
func (r *Reader) where() int64 {
	if r.members.packing == nil {
		return r.text.offset()
	}
	return r.at
}

// Next returns the next valid record. The error is io.EOF at the end of the file, otherwise
// an error of reading the file.
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
			r.open, r.records = true, 0
		}
		if record := r.record(); record != nil {
			r.records++
			return record, nil
		}
	}
}

// record reads the header of the next record in the open member. It returns nil if there is
// no valid one.
func (r *Reader) record() *Record {
	t := &r.text
	for b := t.peek(1); len(b) == 1 && (b[0] == '\r' || b[0] == '\n'); b = t.peek(1) {
		t.skip(1)
	}
	if len(t.peek(1)) == 0 {
		r.endMember()
		return nil
	}
	if !bytes.Equal(t.peek(len(warcMagic)), warcMagic) {
		if r.brokenMember() {
			return nil
		}
		r.report(Garbage, r.where(), "bytes between records")
		r.nextRecord()
		return nil
	}
	record := &Record{Offset: r.where(), reader: r}
	t.setMark()
	start := t.offset()
	_, _ = t.line(maxHeaderBytes)
	header, ok := readHeader(t, start)
	if !ok {
		if !r.brokenMember() {
			r.report(BadHeader, record.Offset, "record header is unterminated or longer than 64 KiB")
			r.resume()
		}
		return nil
	}
	if err := record.read(header); err != "" {
		r.report(BadHeader, record.Offset, err)
		r.resume()
		return nil
	}
	t.setMark() // where the block begins
	r.block = block{r: r, left: record.Length}
	if record.Type == "response" || record.Type == "resource" || record.Type == "revisit" {
		r.block.sum, r.block.digest = digestOf(header.Get("WARC-Block-Digest"))
	}
	record.Block = &r.block
	return record
}

// readHeader reads fields up to an empty line. It returns false for an unterminated header.
func readHeader(t *source, start int64) (h http.Header, ok bool) {
	h = http.Header{}
	for name := ""; ; {
		line, ok := t.line(maxHeaderBytes)
		ok = ok && t.offset()-start <= maxHeaderBytes
		if !ok || len(line) == 0 {
			return h, ok
		}
		before, value, named := bytes.Cut(line, []byte(":"))
		values := h[name]
		switch folded := line[0] == ' ' || line[0] == '\t'; { // obsolete line folding
		case folded && len(values) > 0:
			last := &values[len(values)-1]
			*last = strings.TrimSpace(*last + " " + string(bytes.TrimSpace(line)))
		case folded:
		case named:
			name = http.CanonicalHeaderKey(string(bytes.TrimSpace(before)))
			h[name] = append(h[name], string(bytes.TrimSpace(value)))
		default:
			name = ""
		}
	}
}

// read takes the fields, and returns the problem with them, "" if they are valid.
func (r *Record) read(h http.Header) string {
	r.Type, r.Truncated = strings.ToLower(h.Get("WARC-Type")), strings.ToLower(h.Get("WARC-Truncated"))
	r.ID, r.URI = h.Get("WARC-Record-ID"), h.Get("WARC-Target-URI")
	r.RefersTo = Reference{h.Get("WARC-Refers-To"), h.Get("WARC-Refers-To-Target-URI"), h.Get("WARC-Refers-To-Date")}
	if r.Type == "" {
		return "WARC-Type is missing"
	}
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return fmt.Sprintf("invalid Content-Length %.40q", h.Get("Content-Length"))
	}
	r.Length = n
	if bare, ok := strings.CutPrefix(r.URI, "<"); ok {
		r.URI = strings.TrimSuffix(bare, ">")
	}
	if r.Date, err = ParseDate(h.Get("WARC-Date")); err != nil {
		return fmt.Sprintf("invalid WARC-Date %.40q", h.Get("WARC-Date"))
	}
	return ""
}

// digests are the algorithms of digests.
var digests = map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// digestOf reads a digest such as sha1:3I42H3S6..., in base 32 or hexadecimal, and returns what
// computes it, nil for other algorithms.
func digestOf(text string) (hash.Hash, []byte) {
	name, value, _ := strings.Cut(text, ":")
	algorithm := digests[strings.ReplaceAll(strings.ToLower(name), "-", "")]
	if algorithm == nil {
		return nil, nil
	}
	sum := algorithm()
	value = strings.TrimRight(value, "=")
	digest, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(value))
	if err != nil || len(digest) != sum.Size() {
		if digest, err = hex.DecodeString(value); err != nil || len(digest) != sum.Size() {
			return nil, nil
		}
	}
	return sum, digest
}

// ParseDate parses the date of a record: RFC 3339, in UTC without a zone, or the 14 digits
// that old programs write. A leap second is the second after it.
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
	return time.Time{}, errors.New("invalid date")
}

// resume continues after the first line of the record at the mark.
func (r *Reader) resume() {
	r.text.rewind()
	r.nextRecord()
}

// nextRecord skips to the next line that begins a record.
func (r *Reader) nextRecord() {
	t := &r.text
	t.mark = -1
	if t.find([]byte("\nWARC/1.")) {
		t.skip(1)
	} else {
		r.endMember()
	}
}

// endMember closes the member at its end.
func (r *Reader) endMember() {
	if !r.brokenMember() {
		r.open = false
	}
}

// brokenMember reports whether the open member ended with an error. If so, it reports the
// damage and closes the member.
func (r *Reader) brokenMember() bool {
	err := r.text.failed()
	if err == nil {
		return false
	}
	r.closeBroken(err)
	return true
}

// closeBroken closes a member that ended with an error.
func (r *Reader) closeBroken(err error) {
	r.open = false
	if r.raw.failed() != nil { // a read error, which Next returns
		r.raw.next = len(r.raw.buf)
		return
	}
	r.members.recover(err, r.records)
}

// block is the content of the current record.
type block struct {
	r    *Reader
	left int64
	err  error

	sum    hash.Hash // of the bytes read, nil without a digest
	digest []byte
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
	if b.sum != nil {
		b.sum.Write(p[:n])
	}
	if err != nil {
		b.short(err)
		if n == 0 {
			return 0, b.err
		}
	}
	return n, nil
}

// short ends a truncated block.
func (b *block) short(err error) {
	r := b.r
	if !errors.Is(err, io.EOF) {
		b.err = err
		if r.raw.failed() == nil {
			b.err = &Damage{Kind: r.members.packing.kind, Offset: r.where(), Detail: err.Error()}
		}
		r.closeBroken(err)
		return
	}
	b.err = r.report(BadLength, r.where(), fmt.Sprintf("%d bytes of the record are missing", b.left))
	r.resume()
}

// close checks what follows a block: a line end, or the end of the member with its checksum.
func (b *block) close() {
	t := &b.r.text
	tail := t.peek(5)
	if err := t.failed(); err != nil && len(tail) < 5 {
		b.short(err)
		return
	}
	if len(tail) > 0 && tail[0] != '\r' && tail[0] != '\n' {
		b.err = b.r.report(BadLength, b.r.where(), "data after the end of the record")
		b.r.resume()
		return
	}
	if b.err = io.EOF; b.sum != nil && !bytes.Equal(b.sum.Sum(nil), b.digest) {
		b.err = b.r.report(BadDigest, b.r.where(), "the block differs from its WARC-Block-Digest")
	}
}

// end skips the rest of a block.
func (b *block) end() {
	if b.r == nil || b.err != nil {
		return
	}
	if b.left > maxRewind {
		b.r.text.mark = -1 // too far to rewind
	}
	_, _ = io.Copy(io.Discard, b)
}
