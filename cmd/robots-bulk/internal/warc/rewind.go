package warc

import (
	"bytes"
	"errors"
	"io"
)

const (
	readSize  = 64 << 10
	maxRewind = 4 << 20 // bytes after a mark that are kept
	noMark    = -1
	maxReads  = 100 // reads in succession that return nothing
)

// A rewindReader is a buffered reader that can go back to a mark, for at most maxRewind bytes.
type rewindReader struct {
	in     io.Reader
	buffer []byte
	next   int   // index in buffer of the next byte
	mark   int   // index in buffer, or noMark
	base   int64 // offset of buffer[0] in the input
	err    error // of in
}

// reset makes r read from in, whose first byte has the offset 0.
func (r *rewindReader) reset(in io.Reader) {
	*r = rewindReader{in: in, buffer: r.buffer[:0], mark: noMark}
}

// offset returns the offset of the next byte.
func (r *rewindReader) offset() int64 { return r.base + int64(r.next) }

// markOffset returns the offset of the mark, that of the next byte without a mark.
func (r *rewindReader) markOffset() int64 {
	if r.mark == noMark {
		return r.offset()
	}
	return r.base + int64(r.mark)
}

// setMark sets the mark at the next byte.
func (r *rewindReader) setMark() { r.mark = r.next }

// clearMark removes the mark, so that nothing before the next byte is kept.
func (r *rewindReader) clearMark() { r.mark = noMark }

// rewind goes back to the mark. It returns false if there is none within maxRewind bytes.
func (r *rewindReader) rewind() bool {
	if !r.canRewind() {
		return false
	}
	r.next = r.mark
	return true
}

func (r *rewindReader) canRewind() bool {
	return r.mark != noMark && r.next-r.mark <= maxRewind
}

// fill reads more bytes into the buffer and reports whether there were any.
func (r *rewindReader) fill() bool {
	if r.err != nil {
		return false
	}
	if !r.canRewind() {
		r.clearMark()
	}
	if len(r.buffer)+readSize > cap(r.buffer) {
		r.makeRoom()
	}
	for range maxReads {
		end := len(r.buffer)
		n, err := r.in.Read(r.buffer[end : end+readSize])
		r.buffer = r.buffer[:end+n]
		r.err = err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	r.err = io.ErrNoProgress
	return false
}

// makeRoom discards what is before the mark and the next byte, and makes room for readSize bytes.
func (r *rewindReader) makeRoom() {
	start := r.next
	if r.mark != noMark {
		start = r.mark
	}
	size := len(r.buffer) - start
	if size+readSize <= cap(r.buffer) && start >= size {
		r.buffer = r.buffer[:copy(r.buffer, r.buffer[start:])]
	} else {
		r.buffer = append(make([]byte, 0, 2*(size+readSize)), r.buffer[start:]...)
	}
	r.base += int64(start)
	r.next -= start
	r.mark = max(r.mark-start, noMark)
}

// peek returns the next n bytes, fewer at the end of the input.
func (r *rewindReader) peek(n int) []byte {
	for len(r.buffer)-r.next < n && r.fill() {
	}
	return r.buffer[r.next:min(r.next+n, len(r.buffer))]
}

// skip discards n bytes that peek returned.
func (r *rewindReader) skip(n int) { r.next += n }

// skipBuffer discards all bytes that were read.
func (r *rewindReader) skipBuffer() { r.next = len(r.buffer) }

// readError returns the error of the input, nil for io.EOF.
func (r *rewindReader) readError() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

func (r *rewindReader) Read(p []byte) (int, error) {
	if r.next == len(r.buffer) && !r.fill() {
		return 0, r.err
	}
	n := copy(p, r.buffer[r.next:])
	r.next += n
	return n, nil
}

func (r *rewindReader) ReadByte() (byte, error) {
	if r.next == len(r.buffer) && !r.fill() {
		return 0, r.err
	}
	r.next++
	return r.buffer[r.next-1], nil
}

// readLine returns the next line without its CRLF or LF, truncated after limit bytes, and
// whether there is one.
func (r *rewindReader) readLine(limit int) (line []byte, ok bool) {
	searched := 0
	for {
		unread := r.buffer[r.next:]
		i := bytes.IndexByte(unread[searched:], '\n')
		if i >= 0 && searched+i <= limit {
			end := searched + i
			r.skip(end + 1)
			return bytes.TrimSuffix(unread[:end], []byte("\r")), true
		}
		searched = len(unread)
		if searched > limit {
			r.skip(limit)
			return unread[:limit], true
		}
		if !r.fill() {
			r.skipBuffer()
			return r.buffer[len(r.buffer)-searched:], searched > 0
		}
	}
}

// skipTo skips to the next occurrence of pattern, and reports whether there is one.
func (r *rewindReader) skipTo(pattern []byte) bool {
	for {
		i := bytes.Index(r.buffer[r.next:], pattern)
		if i >= 0 {
			r.skip(i)
			return true
		}
		r.next = max(r.next, len(r.buffer)-len(pattern)+1)
		if !r.fill() {
			r.skipBuffer()
			return false
		}
	}
}
