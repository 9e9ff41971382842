// Package lines reads the lines of lists, logs and JSON Lines.
package lines

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
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
	text   strings.Builder
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

// Next returns the next line without its LF, valid until the next call. The last line needs no LF; a
// line that another error truncates is discarded.
func (l *Reader) Next() ([]byte, error) {
	var line []byte
	length := 0
	for more := true; more; {
		part, err := l.ReadSlice('\n')
		l.end += int64(len(part))
		more = err != nil && errors.Is(err, bufio.ErrBufferFull)
		if !more && err != nil && (!errors.Is(err, io.EOF) || length+len(part) == 0) {
			return nil, err
		}
		part = bytes.TrimSuffix(part, []byte("\n"))
		length += len(part)
		switch {
		case length > l.most:
			line = nil // releases its memory
		case length == len(part) && !more: // as nearly all
			line = part
		default:
			line = append(line, part...)
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

// Text returns a line as a string. Strings share their memory with those before and after, as an allocation for each takes longer
// than the rest.
func (l *Reader) Text(line []byte) string {
	if l.text.Cap()-l.text.Len() < len(line) {
		l.text.Reset()
		l.text.Grow(max(4<<10, len(line)))
	}
	start := l.text.Len()
	l.text.Write(line)
	return l.text.String()[start:]
}

// Ready reports whether there is a line that is not blank without waiting.
func (l *Reader) Ready() bool {
	ahead, _ := l.Peek(l.Buffered())
	if len(ahead) > 0 && ahead[0] <= ' ' { // few lines begin with a space
		ahead = bytes.TrimLeft(ahead, " \t\r\n")
	}
	return bytes.IndexByte(ahead, '\n') >= 0
}
