package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// chunkBytes and chunkLines limit a chunk of lines: large enough that passing it on costs
// little, small enough to keep all workers busy.
const (
	chunkBytes = 64 << 10
	chunkLines = 256
)

// A chunk is consecutive lines.
type chunk struct {
	in    []byte
	lines []lineSpan
}

// lineSpan is the position of a line in its chunk, without its line end. A line that is too long
// is not kept.
type lineSpan struct {
	start, end int
	over       bool
}

// usual reports whether the memory of a chunk is worth keeping for the next: it held no
// unusually long line.
func (c *chunk) usual() bool { return cap(c.in) <= 4*chunkBytes }

func (c *chunk) text(l lineSpan) []byte { return c.in[l.start:l.end] }

// lineReader reads chunks of whole lines.
type lineReader struct {
	r    *bufio.Reader
	most int  // bytes of a line that is kept
	past bool // the first line has been read
}

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10), most: most}
}

// chunk replaces c with at least one line, and further lines that can be read without waiting.
// An error comes with the lines before it; a line truncated by an error other than the end of
// input is discarded.
func (r *lineReader) chunk(c *chunk) error {
	c.in, c.lines = c.in[:0], c.lines[:0]
	if !c.usual() {
		c.in = nil
	}
	if err := r.line(c); err != nil {
		return err
	}
	r.whole(c)
	return nil
}

// whole reads the whole lines that are buffered, as far as c has room.
func (r *lineReader) whole(c *chunk) {
	ahead, _ := r.r.Peek(r.r.Buffered())
	n := 0
	for len(c.in)+n < chunkBytes && len(c.lines) < chunkLines {
		end := bytes.IndexByte(ahead[n:], '\n')
		if end < 0 {
			break
		}
		at := len(c.in) + n
		c.lines = append(c.lines, lineSpan{start: at, end: at + end})
		n += end + 1
	}
	c.in = append(c.in, ahead[:n]...)
	_, _ = r.r.Discard(n) // of buffered bytes
}

// line reads a line into c. The last line needs no line end; the next call reports the end of
// input.
func (r *lineReader) line(c *chunk) error {
	start, length := len(c.in), 0
	for {
		part, err := r.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !(errors.Is(err, io.EOF) && length+len(part) > 0) {
			c.in = c.in[:start]
			return err
		}
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if length += len(part); length <= r.most {
			c.in = append(c.in, part...)
		} else if len(c.in) > start {
			c.in = append([]byte(nil), c.in[:start]...) // releases the memory of the line
		}
		if ended || err == io.EOF {
			break
		}
	}
	l := lineSpan{start: start, end: len(c.in), over: length > r.most}
	if !r.past {
		r.past = true
		// Some shells write a byte order mark before a stream.
		if bytes.HasPrefix(c.in, []byte("\uFEFF")) {
			l.start = len("\uFEFF")
		}
	}
	c.lines = append(c.lines, l)
	return nil
}
