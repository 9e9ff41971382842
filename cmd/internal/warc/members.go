package warc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A form is how a file is compressed.
type form uint8

const (
	plain form = iota
	gzipped
	zstandard
)

var (
	gzipMagic = []byte{0x1F, 0x8B, 0x08}
	zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}
	begin     = []byte("WARC/")
)

// dictionaryFrame begins a file of zstd whose frames share a dictionary
// (http://iipc.github.io/warc-specifications/specifications/warc-zstd/).
const dictionaryFrame = 0x184D2A5D

const (
	maxDictionary = 8 << 20
	maxWindow     = 64 << 20 // what a frame of zstd may make us remember
)

// members are the pieces in which a file is compressed: a member of gzip, a frame
// of zstd, the whole of a plain file. Usually each holds one record.
type members struct {
	raw  *source
	form form
	done bool // of a plain file
	gzip *gzip.Reader
	zstd *zstd.Decoder // with the dictionary of the file
	tell func(k Kind, offset int64, why string)
}

// lost tells of damage, unless it is the disk or the network that failed.
func (m *members) lost(k Kind, offset int64, why string) {
	if m.raw.failed() == nil {
		m.tell(k, offset, why)
	}
}

func (m *members) close() {
	if m.zstd != nil {
		m.zstd.Close()
	}
}

// begin looks at the first bytes.
func (m *members) begin() {
	head := m.raw.peek(4)
	switch {
	case bytes.HasPrefix(head, gzipMagic[:2]):
		m.form = gzipped
	case bytes.Equal(head, zstdMagic), skippable(head):
		m.form = zstandard
	}
	if m.form == zstandard && len(head) == 4 && binary.LittleEndian.Uint32(head) == dictionaryFrame {
		if err := m.dictionary(); err != nil {
			m.lost(BadZstd, 0, "the dictionary: "+err.Error())
		}
	}
}

// skippable reports whether a frame begins that holds no data.
func skippable(head []byte) bool {
	return len(head) == 4 && binary.LittleEndian.Uint32(head)&^0xF == 0x184D2A50
}

// dictionary reads the frame with the dictionary, which may be compressed itself.
func (m *members) dictionary() error {
	head := m.raw.peek(8)
	if len(head) < 8 {
		return io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if n > maxDictionary {
		return fmt.Errorf("%d bytes are too many", n)
	}
	m.raw.skip(8)
	dict := bytes.Clone(m.raw.peek(int(n)))
	if len(dict) < int(n) {
		return io.ErrUnexpectedEOF
	}
	m.raw.skip(len(dict))
	if bytes.HasPrefix(dict, zstdMagic) {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDictionary))
		if err != nil {
			return err
		}
		defer d.Close()
		if dict, err = d.DecodeAll(dict, nil); err != nil {
			return err
		}
	}
	d, err := zstd.NewReader(nil, append(decoding, zstd.WithDecoderDicts(dict))...)
	if err != nil {
		return err
	}
	m.zstd = d
	return nil
}

var decoding = []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)}

// next opens the next member, nil at the end of the file.
func (m *members) next() io.Reader {
	for {
		switch m.form {
		case plain:
			if m.done || len(m.raw.peek(1)) == 0 {
				return nil
			}
			m.done = true
			return m.raw
		case gzipped:
			if head := m.raw.peek(3); len(head) == 0 || len(head) < 3 && m.raw.failed() != nil {
				return nil
			} else if !bytes.Equal(head, gzipMagic) {
				m.lost(Garbage, m.raw.offset(), "bytes that are no gzip")
				m.resync()
				continue
			}
			m.raw.setMark()
			in, err := m.inflate(m.raw)
			if err == nil {
				return in
			}
			if m.raw.failed() != nil {
				return nil
			}
			m.damaged(BadGzip, "a member of gzip begins badly")
		case zstandard:
			head := m.raw.peek(4)
			switch {
			case len(head) == 0 || len(head) < 4 && m.raw.failed() != nil:
				return nil
			case skippable(head):
				if err := m.pass(); err != nil {
					m.lost(BadZstd, m.raw.offset(), err.Error())
					return nil
				}
				continue
			case !bytes.Equal(head, zstdMagic):
				m.lost(Garbage, m.raw.offset(), "bytes that are no zstd")
				m.resync()
				continue
			}
			m.raw.setMark()
			in, err := m.decode(&frame{raw: m.raw})
			if err == nil {
				return in
			}
			m.damaged(BadZstd, err.Error())
		}
	}
}

// inflate opens one member of gzip.
func (m *members) inflate(in *source) (io.Reader, error) {
	if m.gzip == nil {
		m.gzip = new(gzip.Reader)
	}
	err := m.gzip.Reset(in) // which reads it by the byte, so none behind the member
	m.gzip.Multistream(false)
	return m.gzip, err
}

// decode opens one frame of zstd.
func (m *members) decode(in io.Reader) (io.Reader, error) {
	if m.zstd == nil {
		d, err := zstd.NewReader(nil, decoding...)
		if err != nil {
			return nil, err
		}
		m.zstd = d
	}
	return m.zstd, m.zstd.Reset(in)
}

// pass goes over a frame without data.
func (m *members) pass() error {
	head := m.raw.peek(8)
	if len(head) < 8 {
		m.raw.skip(len(head))
		return io.ErrUnexpectedEOF
	}
	n := int64(binary.LittleEndian.Uint32(head[4:]))
	m.raw.skip(8)
	if m.raw.mark = -1; n > 0 {
		if got, err := io.CopyN(io.Discard, m.raw, n); err != nil {
			return fmt.Errorf("a frame of %d bytes ends after %d", n, got)
		}
	}
	return nil
}

// damaged says that the member at the mark cannot be read, and goes on to the next
// in which a record begins.
func (m *members) damaged(k Kind, why string) {
	if m.form == plain {
		return
	}
	if m.raw.rewind() {
		m.lost(k, m.raw.offset(), why)
		m.raw.skip(1)
	} else {
		m.lost(k, m.raw.offset(), why)
	}
	m.resync()
}

// resync goes on to the next place at which a member begins that begins a record.
func (m *members) resync() {
	m.raw.mark = -1
	magic := gzipMagic
	if m.form == zstandard {
		magic = zstdMagic
	}
	for m.raw.find(magic) {
		if m.recordBegins(m.raw.peek(8 << 10)) {
			return
		}
		m.raw.skip(1)
	}
}

// recordBegins reports whether the member at the beginning of data begins with a
// record.
func (m *members) recordBegins(data []byte) bool {
	var in io.Reader
	var err error
	if raw := (&source{in: bytes.NewReader(data), mark: -1}); m.form == gzipped {
		in, err = m.inflate(raw)
	} else {
		in, err = m.decode(&frame{raw: raw})
	}
	if err != nil {
		return false
	}
	head := make([]byte, len(begin))
	n, _ := io.ReadFull(in, head)
	return bytes.Equal(head[:n], begin)
}

// A frame hands out the bytes of one frame of zstd and stops at its end, where a
// decoder would go on to the next (RFC 8878 section 3.1.1).
type frame struct {
	raw   *source
	left  int  // bytes to the next header of a block
	last  bool // no block follows
	sum   bool // but a checksum does
	begun bool
}

var (
	errFrame = errors.New("a frame of zstd is malformed")
	errCut   = errors.New("a frame of zstd ends early") // io.ErrUnexpectedEOF would be a good end for the decoder
)

func (f *frame) Read(p []byte) (int, error) {
	for f.left == 0 {
		switch {
		case !f.begun:
			var h zstd.Header
			if err := h.Decode(f.raw.peek(zstd.HeaderMaxSize)); errors.Is(err, io.ErrUnexpectedEOF) {
				return 0, f.cut()
			} else if err != nil {
				return 0, errFrame
			}
			f.begun, f.left, f.sum = true, h.HeaderSize, h.HasCheckSum
		case f.last && f.sum:
			f.left, f.sum = 4, false
		case f.last:
			return 0, io.EOF
		default:
			head := f.raw.peek(3)
			if len(head) < 3 {
				return 0, f.cut()
			}
			b := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
			f.last, f.left = b&1 != 0, b>>3
			switch b >> 1 & 3 {
			case 1:
				f.left = 1 // one byte, many times
			case 3:
				return 0, errFrame
			}
			f.left += 3
		}
	}
	n, err := f.raw.Read(p[:min(len(p), f.left)])
	f.left -= n
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err
}

// cut returns why no more of a frame came.
func (f *frame) cut() error {
	if err := f.raw.failed(); err != nil {
		return err
	}
	return errCut
}
