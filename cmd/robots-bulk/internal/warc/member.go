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

// A compression is how a file is compressed.
type compression struct {
	magic  []byte // of a member
	member string // what a member is called
	damage DamageKind
	open   func(m *memberReader, in *rewindReader) (io.Reader, error)
}

var (
	gzipCompression = &compression{magic: gzipMagic, member: "gzip member", damage: BadGzip, open: (*memberReader).openGzip}
	zstdCompression = &compression{magic: zstdMagic, member: "zstd frame", damage: BadZstd, open: (*memberReader).openZstd}
)

// Magic numbers of zstd frames without data. The first one holds the dictionary that all frames
// of a file share (http://iipc.github.io/warc-specifications/specifications/warc-zstd/).
const (
	dictionaryFrame = 0x184D2A5D
	skippableFrame  = 0x184D2A50 // with any last four bits
)

const (
	frameHeaderBytes = 8 // of a frame without data

	maxDictionary = 8 << 20
	maxWindow     = 64 << 20 // memory for one zstd frame
	resyncBytes   = 8 << 10  // of a possible member that show whether it begins with a record
)

// A memberReader reads the compressed parts of a file: gzip members, zstd frames, or all of a
// plain file. Usually each contains one record.
type memberReader struct {
	file        *rewindReader
	compression *compression // nil for a plain file
	plainRead   bool         // the plain file was returned
	gzip        *gzip.Reader
	zstd        *zstd.Decoder // with the dictionary of the file
	report      func(Damage)
}

// damaged reports damage, unless reading the file failed.
func (m *memberReader) damaged(kind DamageKind, offset int64, detail string) {
	if m.file.readError() == nil {
		m.report(Damage{Kind: kind, Offset: offset, Detail: detail})
	}
}

func (m *memberReader) close() {
	if m.zstd != nil {
		m.zstd.Close()
	}
}

// detectCompression sets the compression of the file from its first bytes, and reads its
// dictionary.
func (m *memberReader) detectCompression() {
	magic := m.file.peek(4)
	switch {
	case bytes.HasPrefix(magic, gzipMagic[:2]):
		m.compression = gzipCompression
	case bytes.Equal(magic, zstdMagic), isSkippable(magic):
		m.compression = zstdCompression
	}
	if len(magic) == 4 && binary.LittleEndian.Uint32(magic) == dictionaryFrame {
		if err := m.readDictionary(); err != nil {
			m.damaged(BadZstd, 0, "dictionary: "+err.Error())
		}
	}
}

// isSkippable reports whether a zstd frame without data begins with magic.
func isSkippable(magic []byte) bool {
	return len(magic) == 4 && binary.LittleEndian.Uint32(magic)&^0xF == skippableFrame
}

// readDictionary reads the frame with the dictionary, which can be compressed itself.
func (m *memberReader) readDictionary() error {
	size, err := m.peekFrameSize()
	if err != nil {
		return err
	}
	if size > maxDictionary {
		return fmt.Errorf("%d bytes, more than %d", size, maxDictionary)
	}
	m.file.skip(frameHeaderBytes)
	dictionary := bytes.Clone(m.file.peek(int(size)))
	if len(dictionary) < int(size) {
		return io.ErrUnexpectedEOF
	}
	m.file.skip(len(dictionary))
	if bytes.HasPrefix(dictionary, zstdMagic) {
		dictionary, err = decompressDictionary(dictionary)
		if err != nil {
			return err
		}
	}
	m.zstd, err = newZstdDecoder(zstd.WithDecoderDicts(dictionary))
	return err
}

// peekFrameSize returns the size of the frame without data that comes next, in bytes.
func (m *memberReader) peekFrameSize() (uint32, error) {
	header := m.file.peek(frameHeaderBytes)
	if len(header) < frameHeaderBytes {
		return 0, io.ErrUnexpectedEOF
	}
	return binary.LittleEndian.Uint32(header[4:]), nil
}

func decompressDictionary(compressed []byte) ([]byte, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDictionary))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(compressed, nil)
}

func newZstdDecoder(more ...zstd.DOption) (*zstd.Decoder, error) {
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)}
	return zstd.NewReader(nil, append(options, more...)...)
}

// next opens the next member, nil at the end of the file.
func (m *memberReader) next() io.Reader {
	if m.compression == nil {
		return m.nextPlain()
	}
	for {
		magic := m.file.peek(4)
		switch {
		case len(magic) == 0 || len(magic) < len(m.compression.magic) && m.file.readError() != nil:
			return nil
		case m.compression == zstdCompression && isSkippable(magic):
			if err := m.skipFrame(); err != nil {
				m.damaged(BadZstd, m.file.offset(), err.Error())
				return nil
			}
			continue
		case !bytes.HasPrefix(magic, m.compression.magic):
			m.damaged(Garbage, m.file.offset(), "not a "+m.compression.member)
			m.skipToMember()
			continue
		}
		m.file.setMark()
		member, err := m.compression.open(m, m.file)
		switch {
		case err == nil:
			return member
		case m.file.readError() != nil:
			return nil
		}
		m.recover(err, 0)
	}
}

// nextPlain returns a plain file, once.
func (m *memberReader) nextPlain() io.Reader {
	if m.plainRead || len(m.file.peek(1)) == 0 {
		return nil
	}
	m.plainRead = true
	return m.file
}

// openGzip opens the gzip member that in begins with.
func (m *memberReader) openGzip(in *rewindReader) (io.Reader, error) {
	if m.gzip == nil {
		m.gzip = new(gzip.Reader)
	}
	err := m.gzip.Reset(in) // an io.ByteReader, so that nothing after the member is read
	m.gzip.Multistream(false)
	return m.gzip, err
}

// openZstd opens the zstd frame that in begins with.
func (m *memberReader) openZstd(in *rewindReader) (io.Reader, error) {
	if m.zstd == nil {
		decoder, err := newZstdDecoder()
		if err != nil {
			return nil, err
		}
		m.zstd = decoder
	}
	return m.zstd, m.zstd.Reset(&frameReader{in: in})
}

// skipFrame skips a frame without data.
func (m *memberReader) skipFrame() error {
	size, err := m.peekFrameSize()
	if err != nil {
		m.file.skipBuffer()
		return err
	}
	m.file.skip(frameHeaderBytes)
	m.file.clearMark()
	n, err := io.CopyN(io.Discard, m.file, int64(size))
	if err != nil {
		return fmt.Errorf("frame of %d bytes truncated after %d", size, n)
	}
	return nil
}

// recover reports that the member at the mark, from which some records were returned, cannot be
// read. It continues at the next member that begins with a record.
func (m *memberReader) recover(cause error, records int) {
	if m.compression == nil {
		return
	}
	if errors.Is(cause, io.ErrUnexpectedEOF) || errors.Is(cause, errShort) {
		records = 0
	}
	rewound := m.file.rewind()
	if m.file.readError() == nil {
		m.report(Damage{Kind: m.compression.damage, Offset: m.file.offset(), Detail: cause.Error(), LostRecords: records})
	}
	if rewound {
		m.file.skip(1)
	}
	m.skipToMember()
}

// skipToMember skips to the next member that begins with a record.
func (m *memberReader) skipToMember() {
	m.file.clearMark()
	for m.file.skipTo(m.compression.magic) {
		if m.startsWithRecord(m.file.peek(resyncBytes)) {
			return
		}
		m.file.skip(1)
	}
}

// startsWithRecord reports whether compressed is the beginning of a member that begins with a record.
func (m *memberReader) startsWithRecord(compressed []byte) bool {
	member, err := m.compression.open(m, &rewindReader{in: bytes.NewReader(compressed), mark: noMark})
	if err != nil {
		return false
	}
	version := make([]byte, len(warcMagic))
	_, _ = io.ReadFull(member, version) // after an error they differ
	return bytes.Equal(version, warcMagic)
}
