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

var (
	gzipMagic = []byte{0x1F, 0x8B, 0x08}
	zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}
	warcMagic = []byte("WARC/")
)

// A packing is how a file is compressed.
type packing struct {
	magic []byte // of a member
	name  string // of a member
	kind  Kind   // of damage
	open  func(m *members, in *source) (io.Reader, error)
}

var (
	gzipPacking = &packing{gzipMagic, "gzip member", BadGzip, (*members).inflate}
	zstdPacking = &packing{zstdMagic, "zstd frame", BadZstd, (*members).decode}
)

// dictionaryFrame is the magic number of a zstd file whose frames share a dictionary
// (http://iipc.github.io/warc-specifications/specifications/warc-zstd/).
const dictionaryFrame = 0x184D2A5D

const (
	maxDictionary = 8 << 20
	maxWindow     = 64 << 20 // memory for one zstd frame
)

// members reads the compressed parts of a file: gzip members, zstd frames, or all of a
// plain file. Usually each contains one record.
type members struct {
	raw     *source
	packing *packing // nil for a plain file
	done    bool     // of a plain file
	gzip    *gzip.Reader
	zstd    *zstd.Decoder // with the dictionary of the file
	report  func(Damage)
}

// damage reports damage, unless reading the file failed.
func (m *members) damage(k Kind, offset int64, detail string) {
	if m.raw.failed() == nil {
		m.report(Damage{Kind: k, Offset: offset, Detail: detail})
	}
}

func (m *members) close() {
	if m.zstd != nil {
		m.zstd.Close()
	}
}

// detect sets the packing of the file from its first bytes, and reads its dictionary.
func (m *members) detect() {
	head := m.raw.peek(4)
	switch {
	case bytes.HasPrefix(head, gzipMagic[:2]):
		m.packing = gzipPacking
	case bytes.Equal(head, zstdMagic), skippable(head):
		m.packing = zstdPacking
	}
	if len(head) == 4 && binary.LittleEndian.Uint32(head) == dictionaryFrame {
		if err := m.dictionary(); err != nil {
			m.damage(BadZstd, 0, "dictionary: "+err.Error())
		}
	}
}

// skippable reports whether head begins a frame without data.
func skippable(head []byte) bool {
	return len(head) == 4 && binary.LittleEndian.Uint32(head)&^0xF == 0x184D2A50
}

// dictionary reads the frame with the dictionary, which can be compressed itself.
func (m *members) dictionary() error {
	head := m.raw.peek(8)
	if len(head) < 8 {
		return io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if n > maxDictionary {
		return fmt.Errorf("%d bytes, more than %d", n, maxDictionary)
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
	p := m.packing
	if p == nil {
		if m.done || len(m.raw.peek(1)) == 0 {
			return nil
		}
		m.done = true
		return m.raw
	}
	for {
		head := m.raw.peek(4)
		switch {
		case len(head) == 0 || len(head) < len(p.magic) && m.raw.failed() != nil:
			return nil
		case p == zstdPacking && skippable(head):
			if err := m.skipFrame(); err != nil {
				m.damage(BadZstd, m.raw.offset(), err.Error())
				return nil
			}
			continue
		case !bytes.HasPrefix(head, p.magic):
			m.damage(Garbage, m.raw.offset(), "not a "+p.name)
			m.resync()
			continue
		}
		m.raw.setMark()
		in, err := p.open(m, m.raw)
		switch {
		case err == nil:
			return in
		case m.raw.failed() != nil:
			return nil
		}
		m.recover(err, 0)
	}
}

// inflate opens one member of gzip.
func (m *members) inflate(in *source) (io.Reader, error) {
	if m.gzip == nil {
		m.gzip = new(gzip.Reader)
	}
	err := m.gzip.Reset(in) // an io.ByteReader, so that nothing after the member is read
	m.gzip.Multistream(false)
	return m.gzip, err
}

// decode opens one frame of zstd.
func (m *members) decode(in *source) (io.Reader, error) {
	if m.zstd == nil {
		d, err := zstd.NewReader(nil, decoding...)
		if err != nil {
			return nil, err
		}
		m.zstd = d
	}
	return m.zstd, m.zstd.Reset(&frame{raw: in})
}

// skipFrame skips a frame without data.
func (m *members) skipFrame() error {
	head := m.raw.peek(8)
	if len(head) < 8 {
		m.raw.skip(len(head))
		return io.ErrUnexpectedEOF
	}
	n := int64(binary.LittleEndian.Uint32(head[4:]))
	m.raw.skip(8)
	if m.raw.mark = -1; n > 0 {
		if got, err := io.CopyN(io.Discard, m.raw, n); err != nil {
			return fmt.Errorf("frame of %d bytes truncated after %d", n, got)
		}
	}
	return nil
}

// recover reports that the member at the mark, from which some records were returned, cannot be
// read. It continues at the next member that begins with a record.
func (m *members) recover(why error, records int) {
	if m.packing == nil {
		return
	}
	if errors.Is(why, io.ErrUnexpectedEOF) || errors.Is(why, errShort) {
		records = 0
	}
	kept := m.raw.rewind()
	if m.raw.failed() == nil {
		m.report(Damage{Kind: m.packing.kind, Offset: m.raw.offset(), Detail: why.Error(), Lost: records})
	}
	if kept {
		m.raw.skip(1)
	}
	m.resync()
}

// resync skips to the next member that begins with a record.
func (m *members) resync() {
	m.raw.mark = -1
	for m.raw.find(m.packing.magic) {
		in, err := m.packing.open(m, &source{in: bytes.NewReader(m.raw.peek(8 << 10)), mark: -1})
		if err == nil {
			head := make([]byte, len(warcMagic))
			_, _ = io.ReadFull(in, head) // an error comes with less
			if bytes.Equal(head, warcMagic) {
				return
			}
		}
		m.raw.skip(1)
	}
}

// A frame reads one zstd frame and ends there, where a decoder would continue with the
// next (RFC 8878 section 3.1.1).
type frame struct {
	raw   *source
	left  int  // bytes to the next block header
	last  bool // this is the last block
	sum   bool // a checksum follows the last block
	begun bool
}

var (
	errFrame = errors.New("malformed zstd frame")
	errShort = errors.New("truncated zstd frame") // the decoder takes io.ErrUnexpectedEOF for a valid end
)

func (f *frame) Read(p []byte) (int, error) {
	for f.left == 0 {
		switch {
		case !f.begun:
			var h zstd.Header
			if err := h.Decode(f.raw.peek(zstd.HeaderMaxSize)); errors.Is(err, io.ErrUnexpectedEOF) {
				return 0, f.truncated()
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
				return 0, f.truncated()
			}
			b := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
			f.last, f.left = b&1 != 0, b>>3
			switch b >> 1 & 3 {
			case 1:
				f.left = 1 // a repeated byte
			case 3:
				return 0, errFrame
			}
			f.left += 3
		}
	}
	n, err := f.raw.Read(p[:min(len(p), f.left)])
	f.left -= n
	if errors.Is(err, io.EOF) {
		err = errShort
	}
	return n, err
}

// truncated returns the error for a frame that ends early.
func (f *frame) truncated() error {
	if err := f.raw.failed(); err != nil {
		return err
	}
	return errShort
}
