package bulk

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// An inputFormat is the format of an input of pack. The content of a file determines it, as .zip
// is also a top-level domain; JSON Lines in a folder are known by name, as sites serve JSON too.
type inputFormat string

const (
	formatWARC      inputFormat = "warc"  // plain, gzip or zstd
	formatTar       inputFormat = "tar"   // of files, also compressed
	formatZip       inputFormat = "zip"   // of files
	formatLines     inputFormat = "lines" // JSON Lines of docs/batch.md, also compressed
	formatRobotsTxt inputFormat = "file"  // one robots.txt
)

const sniffBytes = 4 << 10 // bytes that determine the form

// detectFormat returns the form of a file from its first bytes.
func detectFormat(start []byte) inputFormat {
	content := start
	switch {
	case bytes.HasPrefix(start, []byte("PK\x03\x04")), bytes.HasPrefix(start, []byte("PK\x05\x06")):
		return formatZip
	case len(start) >= 4 && start[0]&0xF0 == 0x50 && bytes.Equal(start[1:4], []byte{0x2A, 0x4D, 0x18}):
		return formatWARC // with a zstd dictionary
	case isCompressed(start):
		in, _, err := decompress(bytes.NewReader(start))
		if err != nil {
			return formatRobotsTxt
		}
		content = make([]byte, sniffBytes)
		n, _ := io.ReadFull(in, content) // fewer bytes are not an error
		content = content[:n]
	}
	switch {
	case bytes.HasPrefix(content, []byte("WARC/")):
		return formatWARC
	case len(content) > 262 && string(content[257:262]) == "ustar":
		return formatTar
	case bytes.HasPrefix(bytes.TrimLeft(content, " \t\r\n"), []byte("{")):
		return formatLines
	}
	return formatRobotsTxt
}

// isDamaged reports whether a compressed file cannot be decompressed from its beginning on, which does not say
// what it contains.
func isDamaged(start []byte) bool {
	if !isCompressed(start) {
		return false
	}
	in, done, err := decompress(bytes.NewReader(start))
	if err == nil {
		defer done()
		_, err = io.Copy(io.Discard, io.LimitReader(in, sniffBytes))
	}
	return err != nil && !errors.Is(err, io.ErrUnexpectedEOF)
}

func isCompressed(start []byte) bool {
	return bytes.HasPrefix(start, []byte{0x1F, 0x8B, 0x08}) || bytes.HasPrefix(start, []byte{0x28, 0xB5, 0x2F, 0xFD})
}

// decompress decompresses gzip or zstd.
func decompress(in io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	magic, _ := buffered.Peek(4) // the error is returned by the next read
	switch {
	case bytes.HasPrefix(magic, []byte{0x1F, 0x8B}):
		z, err := gzip.NewReader(buffered)
		return z, func() {}, err
	case bytes.HasPrefix(magic, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return buffered, func() {}, nil
}

// isNamedLines reports whether a file is named as JSON Lines.
func isNamedLines(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
}
