package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// chunkBytes and chunkLines limit how many lines are passed on together: so many that passing
// them on costs little, so few that all workers are busy.
const (
	chunkBytes = 64 << 10
	chunkLines = 256
)

// errLongLine is the error of a line that is too long. The next line can be read.
var errLongLine = errors.New("the line is too long")

// A lineReader reads the lines of a text.
type lineReader struct {
	*bufio.Reader
	most   int // bytes of a line
	number int // of the last line
}

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{Reader: bufio.NewReaderSize(r, 256<<10), most: most}
}

// unzip decompresses the text if it is gzip, of one or several members.
func (l *lineReader) unzip() error {
	magic, _ := l.Peek(2)
	if string(magic) != "\x1f\x8b" {
		return nil // an error comes with the first line
	}
	z, err := gzip.NewReader(l.Reader)
	if err == nil {
		l.Reader = bufio.NewReaderSize(z, 256<<10)
	}
	return err
}

// next returns the next line without its LF, in the memory of buf where it fits. The last line
// needs no LF; a line that another error truncates is discarded.
func (l *lineReader) next(buf []byte) ([]byte, error) {
	line, length := buf[:0], 0
	for more := true; more; {
		part, err := l.ReadSlice('\n')
		if more = errors.Is(err, bufio.ErrBufferFull); !more && err != nil && (!errors.Is(err, io.EOF) || length+len(part) == 0) {
			return line[:0], err
		}
		part = bytes.TrimSuffix(part, []byte("\n"))
		if length += len(part); length <= l.most {
			line = append(line, part...)
		} else {
			line = nil // releases its memory
		}
	}
	if l.number++; l.number == 1 { // some shells write a byte order mark before a stream
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	if length > l.most {
		return nil, errLongLine
	}
	return line, nil
}

// ready reports whether there is a line that is not blank without waiting.
func (l *lineReader) ready() bool {
	ahead, _ := l.Peek(l.Buffered())
	return bytes.IndexByte(bytes.TrimLeft(ahead, " \t\r\n"), '\n') >= 0
}
