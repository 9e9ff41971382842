package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// readBody reads the body of a 2xx. It is a Success only if it is complete or reached the size
// limit: in part of a file (FAIL-02) the Disallow that matters could be missing.
func (s *session) readBody(r *reply) {
	began := time.Now()
	defer func() { s.hop().Body = time.Since(began) }()
	s.limitBody(r)
	raw := &source{Reader: r.body}
	in := bufio.NewReader(raw)
	buffer := bytes.NewBuffer(r.buffer[:0])
	keep := s.client.limits.MaxBodyBytes + bodySlack
	decoded, err := decoder(in, r)
	begun := err == nil
	if begun {
		_, err = buffer.ReadFrom(io.LimitReader(decoded, keep+1))
	}
	body := buffer.Bytes()
	if err == nil && int64(len(body)) <= keep && !r.truncated {
		// A decoder stops where its data ends, which must be the end of the body too.
		if _, end := in.ReadByte(); end == nil {
			err = &failure{Undecodable, "bytes follow the compressed body"}
		}
	}
	switch {
	case int64(len(body)) > keep:
		s.record.Body = r.clip(body[:keep])
		s.record.Truncated = true
		s.end(OK, "")
	case r.truncated && begun && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)):
		s.record.Body = r.clip(body[:bytes.LastIndexAny(body, "\r\n")+1])
		s.record.Truncated = true
		s.end(OK, "")
	case raw.err != nil: // before err: a decoder wraps what it was given
		s.fail(r.conn.classify(raw.err, Incomplete))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.end(Incomplete, "the compressed body ends early")
	case err != nil:
		s.fail(r.conn.classify(err, Undecodable))
	default:
		s.endComplete(r.clip(body))
	}
}

// clip returns a body without the room to grow that reading left behind it, up to twice its size, as a
// record is kept for long. A body in the buffer of a caller stays there.
func (r *reply) clip(body []byte) []byte {
	if cap(body)-len(body) > len(body)/8 && r.buffer == nil {
		return bytes.Clone(body)
	}
	return slices.Clip(body)
}

// limitBody sets the limits for reading a body.
func (s *session) limitBody(r *reply) {
	l := &s.client.limits
	r.conn.setPhase(s.totalDeadline, Timeout)
	r.conn.setQuota(l.MaxRawBytes, RawLimit)
	r.conn.setMinRate(l.LeastRate, l.Grace)
}

// readNoContent judges a 204 or 205: an empty file if the message is complete and has no content
// (D-58). Bytes that follow on a connection that was to be closed are content that the headers
// hide. A 204 is complete at the end of its headers (RFC 9112 section 6.3), so a connection
// that stays open is complete; one that is reset, or cut off below TLS, might not be.
func (s *session) readNoContent(r *reply) {
	began := time.Now()
	defer func() { s.hop().Body = time.Since(began) }()
	s.limitBody(r)
	length := r.Header.Get("Content-Length")
	if strings.Trim(length, "0") != "" || r.ContentLength > 0 || r.coded() && r.StatusCode == http.StatusNoContent {
		s.end(BadResponse, "a 204 or 205 response that announces content")
		return
	}
	var one [1]byte
	_, err := io.ReadFull(r.body, one[:])
	if errors.Is(err, io.EOF) && r.rest != nil {
		if _, err = io.ReadFull(r.rest, one[:]); err != nil && (length != "" || r.ends()) {
			err = io.EOF // the body states its end
		}
	}
	switch {
	case err == nil:
		s.end(BadResponse, "a 204 or 205 response with content")
		return
	case errors.Is(err, io.EOF):
	default:
		if f := r.conn.classify(err, Incomplete); f.cause != TooSlow || r.StatusCode != http.StatusNoContent || r.rest == nil {
			s.fail(f)
			return
		}
	}
	s.endComplete(nil)
}

// endComplete ends a fetch with a complete file.
func (s *session) endComplete(body []byte) {
	s.record.Body = body
	switch {
	case len(body) == 0:
		s.record.Body = []byte{}
		s.end(Empty, "")
	case isZipped(body):
		s.end(OK, zippedNote)
	default:
		s.end(OK, "")
	}
}

// isZipped reports whether a body begins like a gzip file. Without a Content-Encoding it is
// still read as text, as RFC 9309 section 2.3 requires and Google's parser does, and contains
// no rules (FORM-02).
func isZipped(body []byte) bool { return bytes.HasPrefix(body, []byte("\x1F\x8B")) }

const zippedNote = "the body looks like gzip, but there is no Content-Encoding, so it is read unchanged"

// source is a body as transferred, which keeps an error other than its end.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// decoder undoes a Content-Encoding that was requested. Undecoded bytes would parse as a file
// without rules, which allows everything.
func decoder(in *bufio.Reader, r *reply) (io.Reader, error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
	switch encoding {
	case "", "identity":
		return in, nil
	case "gzip", "x-gzip", "deflate":
	default:
		return nil, &failure{BadEncoding, encoding}
	}
	if r.ContentLength == 0 {
		return bytes.NewReader(nil), nil // declared as empty, whatever the encoding
	}
	head, err := in.Peek(2)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF) && (r.ends() || r.ProtoMajor == 1 && r.ProtoMinor == 0):
		// The last chunk or frame marks an empty body, which needs no decoding. An HTTP/1.0
		// server can only close the connection; an HTTP/1.1 server that announced compressed
		// bytes and closes has failed.
		return in, nil
	case err != nil:
		return nil, err
	case encoding != "deflate":
		d, err := gzip.NewReader(in)
		return d, err
	case head[0]&0x0F == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil // some servers omit the zlib header
}
