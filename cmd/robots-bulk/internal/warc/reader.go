// Package warc reads WARC files (ISO 28500, versions 1.0 and 1.1): plain, or compressed with
// gzip or zstd, by record or as a whole. It skips damaged records, reports each with its kind,
// and continues with the next record.
package warc

import (
	"bytes"
	"fmt"
	"io"
)

// A DamageKind classifies damage. The values are a contract.
type DamageKind string

// The kinds of damage.
const (
	BadGzip   DamageKind = "gzip"    // a gzip member cannot be decompressed, or its checksum is wrong
	BadZstd   DamageKind = "zstd"    // a zstd frame cannot be decompressed
	BadHeader DamageKind = "header"  // a record header is invalid
	BadLength DamageKind = "length"  // the length of a record differs from its Content-Length
	BadDigest DamageKind = "digest"  // the block of a record differs from its WARC-Block-Digest
	BadHTTP   DamageKind = "http"    // a record does not contain a valid HTTP response
	Garbage   DamageKind = "garbage" // bytes between records
)

// Damage is a part of a file that could not be read.
type Damage struct {
	Kind   DamageKind
	Offset int64 // in the file, approximate
	Detail string
	// LostRecords is how many records Next had returned from a compressed member before its
	// data or its checksum was found to be wrong. Nothing in them is reliable. It is 0 if the
	// end of the member is missing.
	LostRecords int
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", d.Kind, d.Offset, d.Detail)
}

// A Reader reads the records of a file, in order. It is not safe for concurrent use.
type Reader struct {
	file    rewindReader
	members memberReader
	report  func(Damage)

	content       rewindReader // of the open member, decompressed
	memberOpen    bool
	memberOffset  int64
	memberRecords int // records that Next returned from the open member

	block    blockReader  // of the current record
	response rewindReader // of Record.Response, for the current record
	body     rewindReader // its chunked body
}

// NewReader returns a reader of a file. It calls report, which can be nil, for each part
// that it cannot read.
func NewReader(in io.Reader, report func(Damage)) *Reader {
	if report == nil {
		report = func(Damage) {}
	}
	r := &Reader{report: report}
	r.file.reset(in)
	r.members = memberReader{file: &r.file, report: report}
	r.members.detectCompression()
	return r
}

// Close releases the decoders. It does not close the file.
func (r *Reader) Close() { r.members.close() }

// damaged reports damage and returns it.
func (r *Reader) damaged(kind DamageKind, offset int64, detail string) *Damage {
	damage := Damage{Kind: kind, Offset: offset, Detail: detail}
	r.report(damage)
	return &damage
}

// offset returns the offset in the file of the next byte, that of its member in a compressed file.
func (r *Reader) offset() int64 {
	if r.members.compression == nil {
		return r.content.offset()
	}
	return r.memberOffset
}

// Next returns the next valid record. The error is io.EOF at the end of the file, otherwise
// an error of reading the file.
func (r *Reader) Next() (*Record, error) {
	for {
		if r.memberOpen {
			r.block.skipRest()
		}
		if !r.memberOpen {
			if err := r.openMember(); err != nil {
				return nil, err
			}
		}
		if record := r.readRecord(); record != nil {
			r.memberRecords++
			return record, nil
		}
	}
}

// openMember opens the next member. The error is that of Next.
func (r *Reader) openMember() error {
	r.file.clearMark()
	content := r.members.next()
	if content == nil {
		if err := r.file.readError(); err != nil {
			return err
		}
		return io.EOF
	}
	r.memberOffset = r.file.markOffset()
	r.content.reset(content)
	r.memberOpen = true
	r.memberRecords = 0
	return nil
}

// readRecord reads the header of the next record in the open member. It returns nil if there is
// no valid one.
func (r *Reader) readRecord() *Record {
	r.skipLineEnds()
	if len(r.content.peek(1)) == 0 {
		r.endMember()
		return nil
	}
	if !bytes.Equal(r.content.peek(len(warcMagic)), warcMagic) {
		if !r.abandonFailedMember() {
			r.damaged(Garbage, r.offset(), "bytes between records")
			r.skipToRecord()
		}
		return nil
	}
	record := &Record{Offset: r.offset(), reader: r}
	r.content.setMark()
	start := r.content.offset()
	_, _ = r.content.readLine(maxHeaderBytes) // the version
	header, ok := readHeader(&r.content, start)
	if !ok {
		if !r.abandonFailedMember() {
			r.damaged(BadHeader, record.Offset, "record header is unterminated or longer than 64 KiB")
			r.skipToRecordAfterMark()
		}
		return nil
	}
	if problem := record.parseHeader(header); problem != "" {
		r.damaged(BadHeader, record.Offset, problem)
		r.skipToRecordAfterMark()
		return nil
	}
	r.content.setMark() // where the block begins
	r.block = blockReader{reader: r, remaining: record.Length}
	switch record.Type {
	case "response", "resource", "revisit":
		r.block.sum, r.block.digest = parseDigest(header.Get("WARC-Block-Digest"))
	}
	record.Block = &r.block
	return record
}

// skipLineEnds skips the empty lines after a record.
func (r *Reader) skipLineEnds() {
	for {
		next := r.content.peek(1)
		if len(next) == 0 || next[0] != '\r' && next[0] != '\n' {
			return
		}
		r.content.skip(1)
	}
}

// skipToRecordAfterMark skips to the next record after the first line of the record at the mark.
func (r *Reader) skipToRecordAfterMark() {
	r.content.rewind()
	r.skipToRecord()
}

// skipToRecord skips to the next line that begins a record.
func (r *Reader) skipToRecord() {
	r.content.clearMark()
	if r.content.skipTo([]byte("\nWARC/1.")) {
		r.content.skip(1)
	} else {
		r.endMember()
	}
}

// endMember closes the member at its end.
func (r *Reader) endMember() {
	if !r.abandonFailedMember() {
		r.memberOpen = false
	}
}

// abandonFailedMember abandons the member and returns true if reading it failed.
func (r *Reader) abandonFailedMember() bool {
	err := r.content.readError()
	if err == nil {
		return false
	}
	r.abandonMember(err)
	return true
}

// abandonMember closes a member that cannot be read further, and skips to the next one.
func (r *Reader) abandonMember(err error) {
	r.memberOpen = false
	if r.file.readError() != nil { // Next returns it
		r.file.skipBuffer()
		return
	}
	r.members.recover(err, r.memberRecords)
}
