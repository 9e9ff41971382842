package warc

import (
	"bytes"
	"errors"
	"io"
)

const (
	readSize  = 64 << 10
	maxRewind = 4 << 20 // bytes after a mark that are kept
)

// A source is a buffered reader that can go back to a mark, for at most maxRewind bytes.
type source struct {
	in   io.Reader
	buf  []byte
	next int   // index in buf of the next byte
	mark int   // index in buf, -1 for none
	base int64 // offset of buf[0]
	err  error // of in
}

// reset makes s read from in, whose first byte has the offset 0.
func (s *source) reset(in io.Reader) {
	*s = source{in: in, buf: s.buf[:0], mark: -1}
}

// offset returns the offset of the next byte.
func (s *source) offset() int64 { return s.base + int64(s.next) }

// setMark sets the mark at the next byte.
func (s *source) setMark() { s.mark = s.next }

// rewind goes back to the mark. It returns false if that is no longer kept.
func (s *source) rewind() bool {
	if s.mark < 0 || s.next-s.mark > maxRewind {
		return false
	}
	s.next = s.mark
	return true
}

// fill reads more and reports whether there was any.
func (s *source) fill() bool {
	if s.err != nil {
		return false
	}
	keep := s.next
	if s.mark >= 0 && s.next-s.mark <= maxRewind {
		keep = min(keep, s.mark)
	} else {
		s.mark = -1
	}
	if len(s.buf)+readSize > cap(s.buf) {
		if room := len(s.buf) - keep + readSize; room <= cap(s.buf) && keep >= len(s.buf)-keep {
			s.buf = s.buf[:copy(s.buf, s.buf[keep:])]
		} else {
			s.buf = append(make([]byte, 0, 2*room), s.buf[keep:]...)
		}
		s.base, s.next, s.mark = s.base+int64(keep), s.next-keep, max(s.mark-keep, -1)
	}
	for range 100 {
		n, err := s.in.Read(s.buf[len(s.buf) : len(s.buf)+readSize])
		s.buf, s.err = s.buf[:len(s.buf)+n], err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// peek returns the next n bytes, fewer at the end.
func (s *source) peek(n int) []byte {
	for len(s.buf)-s.next < n && s.fill() {
	}
	return s.buf[s.next:min(s.next+n, len(s.buf))]
}

// skip discards peeked bytes.
func (s *source) skip(n int) { s.next += n }

// failed returns the read error, nil for io.EOF.
func (s *source) failed() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

func (s *source) Read(p []byte) (int, error) {
	if s.next == len(s.buf) && !s.fill() {
		return 0, s.err
	}
	n := copy(p, s.buf[s.next:])
	s.next += n
	return n, nil
}

func (s *source) ReadByte() (byte, error) {
	if s.next == len(s.buf) && !s.fill() {
		return 0, s.err
	}
	s.next++
	return s.buf[s.next-1], nil
}

// line returns the next line without its CRLF or LF, truncated at most bytes, and whether
// there is one.
func (s *source) line(most int) (line []byte, ok bool) {
	for looked := 0; ; {
		have := s.buf[s.next:]
		if i := bytes.IndexByte(have[looked:], '\n'); i >= 0 && looked+i <= most {
			s.next += looked + i + 1
			return bytes.TrimSuffix(have[:looked+i], []byte("\r")), true
		}
		if looked = len(have); looked > most {
			s.next += most
			return have[:most], true
		}
		if !s.fill() {
			s.next = len(s.buf)
			return s.buf[len(s.buf)-looked:], looked > 0
		}
	}
}

// find skips to the next occurrence of what, and reports whether there is one.
func (s *source) find(what []byte) bool {
	for {
		have := s.buf[s.next:]
		if i := bytes.Index(have, what); i >= 0 {
			s.next += i
			return true
		}
		s.next = max(s.next, len(s.buf)-len(what)+1)
		if !s.fill() {
			s.next = len(s.buf)
			return false
		}
	}
}
