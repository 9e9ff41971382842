package warc

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
)

// A blockReader reads the block of the current record of a Reader.
type blockReader struct {
	reader    *Reader // nil before the first record
	remaining int64   // unread bytes
	err       error   // sticky; io.EOF after a complete block

	sum    hash.Hash // of the bytes read, nil without a digest
	digest []byte    // WARC-Block-Digest
}

func (b *blockReader) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.remaining == 0 {
		b.checkEnd()
		return 0, b.err
	}
	n, err := b.reader.content.Read(p[:min(int64(len(p)), b.remaining)])
	b.remaining -= int64(n)
	if b.sum != nil {
		b.sum.Write(p[:n])
	}
	if err != nil {
		b.endEarly(err)
		if n == 0 {
			return 0, b.err
		}
	}
	return n, nil
}

// endEarly ends a block that is incomplete because reading it returned err.
func (b *blockReader) endEarly(err error) {
	r := b.reader
	if errors.Is(err, io.EOF) {
		b.err = r.damaged(BadLength, r.offset(), fmt.Sprintf("%d bytes of the record are missing", b.remaining))
		r.skipToRecordAfterMark()
		return
	}
	b.err = err
	if r.file.readError() == nil {
		b.err = &Damage{Kind: r.members.compression.damage, Offset: r.offset(), Detail: err.Error()}
	}
	r.abandonMember(err)
}

// checkEnd checks what follows a block: a line end, or the end of the member with its checksum.
func (b *blockReader) checkEnd() {
	r := b.reader
	following := r.content.peek(5)
	if err := r.content.readError(); err != nil && len(following) < 5 {
		b.endEarly(err)
		return
	}
	if len(following) > 0 && following[0] != '\r' && following[0] != '\n' {
		b.err = r.damaged(BadLength, r.offset(), "data after the end of the record")
		r.skipToRecordAfterMark()
		return
	}
	b.err = io.EOF
	if b.sum != nil && !bytes.Equal(b.sum.Sum(nil), b.digest) {
		b.err = r.damaged(BadDigest, r.offset(), "the block differs from its WARC-Block-Digest")
	}
}

// skipRest reads the rest of a block, so that its damage is reported.
func (b *blockReader) skipRest() {
	if b.reader == nil || b.err != nil {
		return
	}
	if b.remaining > maxRewind {
		b.reader.content.clearMark() // it could not be kept
	}
	_, _ = io.Copy(io.Discard, b)
}
