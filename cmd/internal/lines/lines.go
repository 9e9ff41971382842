// Package lines reads the lines of lists, logs and JSON Lines.
package lines

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// ErrLong is the error of a line that is too long. The next line can be read.
var ErrLong = errors.New("the line is too long")

// A Reader reads the lines of a text.
type Reader struct {
	*bufio.Reader
	Number int   // of the last line, from 1
	Offset int64 // of the last line, in bytes
	end    int64 // of the last line
	most   int   // bytes of a line
}

// NewReader returns a reader of lines of at most so many bytes.
func NewReader(r io.Reader, most int) *Reader {
	return &Reader{Reader: bufio.NewReaderSize(r, 256<<10), most: most}
}

// Unzip decompresses the text if it is gzip, of one or several members.
func (l *Reader) Unzip() error {
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

// Next returns the next line without its LF, in the memory of buf where it fits. The last line
// needs no LF; a line that another error truncates is discarded.
func (l *Reader) Next(buf []byte) ([]byte, error) {
	line := buf[:0]
	length := 0
	l.Offset = l.end
	for more := true; more; {
		part, err := l.ReadSlice('\n')
		l.end += int64(len(part))
		more = errors.Is(err, bufio.ErrBufferFull)
		if !more && err != nil && (!errors.Is(err, io.EOF) || length+len(part) == 0) {
			return line[:0], err
		}
		part = bytes.TrimSuffix(part, []byte("\n"))
		length += len(part)
		if length <= l.most {
			line = append(line, part...)
		} else {
			line = nil // releases its memory
		}
	}
	l.Number++
	if l.Number == 1 { // some shells write a byte order mark before a stream
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	if length > l.most {
		return nil, ErrLong
	}
	return line, nil
}

// Ready reports whether there is a line that is not blank without waiting.
func (l *Reader) Ready() bool {
	ahead, _ := l.Peek(l.Buffered())
	if len(ahead) > 0 && ahead[0] <= ' ' { // few lines begin with a space
		ahead = bytes.TrimLeft(ahead, " \t\r\n")
	}
	return bytes.IndexByte(ahead, '\n') >= 0
}
