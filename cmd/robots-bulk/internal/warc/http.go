package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"

	"github.com/robotskit/robots/internal/http1"
)

// A Response is the HTTP response in a record.
type Response struct {
	Protocol string // such as "HTTP/1.1"
	Status   int
	Header   http.Header
	Body     io.Reader // without chunks; encoded if Header has a Content-Encoding
}

// Response reads the HTTP response in the block of a record. Some archives store a decoded
// body with the original headers, so chunked encoding and Content-Encoding apply only if the
// bytes agree; if there are none, the headers decide. A body shorter than its Content-Length ends
// with io.ErrUnexpectedEOF, unless the record is marked as truncated, and chunks that are malformed
// or end early with a *Damage (RFC 9112 section 8). Like Block it is valid until the next call of
// Next. The error is a *Damage.
func (r *Record) Response() (*Response, error) {
	t := &r.reader.response
	t.reset(r.Block)
	line, _ := t.line(maxHeaderBytes)
	a := &Response{}
	protocol, rest, _ := strings.Cut(string(line), " ")
	status, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	code, err := strconv.Atoi(status)
	if !strings.HasPrefix(protocol, "HTTP/") || len(status) != 3 || err != nil {
		return nil, r.bad(t, "response without a status line")
	}
	a.Protocol, a.Status = protocol, code
	var ok bool
	if a.Header, ok = readHeader(t, 0); !ok {
		return nil, r.bad(t, "response headers are unterminated or longer than 64 KiB")
	}
	a.Body = t
	chunked, encoding := a.Header.Get("Transfer-Encoding"), a.Header.Get("Content-Encoding")
	delete(a.Header, "Transfer-Encoding")
	start := t.peek(maxChunkHeader)
	isEmpty := len(start) == 0
	if strings.Contains(strings.ToLower(chunked), "chunked") && (isEmpty || isChunk(start)) {
		in := bufio.NewReader(t)
		a.Body = &chunkedBody{record: r, raw: t, in: in, chunks: httputil.NewChunkedReader(in)}
		inner := &r.reader.body
		inner.reset(a.Body)
		a.Body, t = inner, inner
	} else if n, err := strconv.ParseInt(a.Header.Get("Content-Length"), 10, 64); err == nil && n > 0 &&
		chunked == "" && (isEmpty || encoding == "") && r.Truncated == "" {
		a.Body = &sized{t, n}
	}
	if encoding != "" && !isEncoded(encoding, t.peek(512)) {
		delete(a.Header, "Content-Encoding")
	}
	return a, nil
}

// bad returns the read error, or damage if reading succeeded.
func (r *Record) bad(t *source, detail string) error {
	if err := t.failed(); err != nil {
		return err
	}
	return &Damage{Kind: BadHTTP, Offset: r.Offset, Detail: detail}
}

// A chunkedBody is a body in chunks, which ends after a valid trailer section.
type chunkedBody struct {
	record *Record
	raw    *source
	in     *bufio.Reader // over raw
	chunks io.Reader
	err    error // at the end
}

func (b *chunkedBody) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	if n, b.err = b.chunks.Read(p); b.err == nil {
		return n, nil
	}
	if errors.Is(b.err, io.EOF) {
		if b.err = http1.ReadTrailers(bufio.NewReader(io.LimitReader(b.in, maxHeaderBytes))); b.err == nil {
			b.err = io.EOF
			return n, b.err
		}
	}
	isCut := errors.Is(b.err, io.EOF) || errors.Is(b.err, io.ErrUnexpectedEOF)
	switch {
	case b.raw.failed() != nil:
		b.err = b.raw.failed()
	case isCut && b.record.Truncated != "":
		b.err = io.ErrUnexpectedEOF
	case isCut:
		b.err = b.record.bad(b.raw, "the body ends before its last chunk and trailers")
	default:
		b.err = b.record.bad(b.raw, fmt.Sprintf("malformed chunks: %.200s", b.err))
	}
	return n, b.err
}

// maxChunkHeader is the maximum size of a chunk header in bytes, that of httputil.
const maxChunkHeader = 4096

// isChunk reports whether data begins with a chunk header, or ends in it: the size in hexadecimal, an
// optional extension, a line end.
func isChunk(data []byte) bool {
	line, _, ok := bytes.Cut(data, []byte("\n"))
	if !ok && len(data) == maxChunkHeader {
		return false
	}
	size, _, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(";"))
	size = bytes.TrimSpace(size)
	_, err := strconv.ParseUint(string(size), 16, 64)
	return err == nil && len(size) <= 16
}

// isEncoded reports whether data can have an encoding. Text does not, and gzip and zstd have
// magic numbers.
func isEncoded(encoding string, data []byte) bool {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "gzip", "x-gzip":
		return bytes.HasPrefix(data, gzipMagic[:2])
	case "zstd":
		return bytes.HasPrefix(data, zstdMagic)
	}
	for _, c := range data {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' || c == 0x7F {
			return true
		}
	}
	return false
}

// sized is a body with a Content-Length.
type sized struct {
	in   io.Reader
	left int64
}

func (s *sized) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.left -= int64(n)
	if err == io.EOF && s.left > 0 { // not wrapped
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
