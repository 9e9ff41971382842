package warc

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A frameReader reads one zstd frame and ends there, where a decoder would continue with the
// next (RFC 8878 section 3.1.1).
type frameReader struct {
	in          *rewindReader
	started     bool // the frame header was read
	remaining   int  // bytes to the next block header
	isLastBlock bool
	hasChecksum bool // one follows the last block
}

var (
	errFrame = errors.New("malformed zstd frame")
	errShort = errors.New("truncated zstd frame") // the decoder takes io.ErrUnexpectedEOF for a valid end
)

// Sizes in bytes, and the block types whose size is not that of their content.
const (
	blockHeaderBytes = 3
	checksumBytes    = 4

	repeatedByteBlock = 1
	reservedBlock     = 3
)

func (f *frameReader) Read(p []byte) (int, error) {
	for f.remaining == 0 {
		if err := f.nextSection(); err != nil {
			return 0, err
		}
	}
	n, err := f.in.Read(p[:min(len(p), f.remaining)])
	f.remaining -= n
	if errors.Is(err, io.EOF) {
		err = errShort
	}
	return n, err
}

// nextSection sets the size of what follows: the frame header, a block, or the checksum. The
// error is io.EOF after the last of them.
func (f *frameReader) nextSection() error {
	switch {
	case !f.started:
		return f.startFrame()
	case f.isLastBlock && f.hasChecksum:
		f.hasChecksum = false
		f.remaining = checksumBytes
		return nil
	case f.isLastBlock:
		return io.EOF
	}
	return f.startBlock()
}

func (f *frameReader) startFrame() error {
	var header zstd.Header
	err := header.Decode(f.in.peek(zstd.HeaderMaxSize))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return f.endsEarly()
	case err != nil:
		return errFrame
	}
	f.started = true
	f.remaining = header.HeaderSize
	f.hasChecksum = header.HasCheckSum
	return nil
}

func (f *frameReader) startBlock() error {
	header := f.in.peek(blockHeaderBytes)
	if len(header) < blockHeaderBytes {
		return f.endsEarly()
	}
	fields := int(header[0]) | int(header[1])<<8 | int(header[2])<<16
	f.isLastBlock = fields&1 != 0
	size := fields >> 3
	switch fields >> 1 & 3 {
	case repeatedByteBlock:
		size = 1
	case reservedBlock:
		return errFrame
	}
	f.remaining = blockHeaderBytes + size
	return nil
}

// endsEarly returns the error of a frame that is truncated.
func (f *frameReader) endsEarly() error {
	if err := f.in.readError(); err != nil {
		return err
	}
	return errShort
}
