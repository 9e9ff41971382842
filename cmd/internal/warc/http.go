package warc

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
)

// A Response is the answer of a server in a record.
type Response struct {
	Protocol string // such as "HTTP/1.1"
	Status   int
	Header   http.Header
	Body     io.Reader // without chunks; encoded if Header still has a Content-Encoding

	room []string // of fields that are alone
}

// Response reads the answer in the block of a record. An archive may hold a body
// decoded under the headers with which it was sent: chunks are undone, and
// Content-Encoding is believed, only if the bytes say so too. A body that is shorter
// than its Content-Length was cut on its way: it ends in io.ErrUnexpectedEOF, unless
// the record says that the archive cut it. Like Block it is good until the next call of
// Next. The error is a *Damage.
func (r *Record) Response() (*Response, error) {
	t := &r.reader.answer
	t.reset(r.Block)
	line, _ := t.line(maxHeaderBytes)
	a := &Response{Header: http.Header{}}
	protocol, rest, _ := strings.Cut(string(line), " ")
	status, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	code, err := strconv.Atoi(status)
	if !strings.HasPrefix(protocol, "HTTP/") || len(status) != 3 || err != nil {
		return nil, r.bad(t, "the answer does not begin with a status")
	}
	a.Protocol, a.Status = protocol, code
	if !r.reader.fields.read(t, 0, a.field) && len(t.peek(1)) > 0 {
		return nil, r.bad(t, "the headers of the answer have no end, or are longer than 64 KiB")
	}
	if err := t.failed(); err != nil && len(t.peek(1)) == 0 {
		return nil, err
	}
	a.Body = t
	chunked, encoding := a.first("Transfer-Encoding"), a.first("Content-Encoding")
	delete(a.Header, "Transfer-Encoding")
	if strings.Contains(strings.ToLower(chunked), "chunked") && isChunk(t.peek(32)) {
		a.Body = httputil.NewChunkedReader(t)
		inner := &r.reader.body
		inner.reset(a.Body)
		a.Body, t = inner, inner
	} else if n, err := strconv.ParseInt(a.first("Content-Length"), 10, 64); err == nil && n > 0 &&
		chunked == "" && encoding == "" && r.Truncated == "" {
		a.Body = &sized{t, n}
	}
	if encoding != "" && !isEncoded(encoding, t.peek(512)) {
		delete(a.Header, "Content-Encoding")
	}
	return a, nil
}

// field takes a field of the header.
func (a *Response) field(name string, value []byte) {
	values := a.Header[name]
	if values == nil {
		if len(a.room) == 0 {
			a.room = make([]string, 12)
		}
		values, a.room = a.room[:0:1], a.room[1:]
	}
	a.Header[name] = append(values, string(value))
}

// first returns the first field of a canonical name.
func (a *Response) first(name string) string {
	if values := a.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// bad returns that the answer cannot be read, or why its bytes could not be had.
func (r *Record) bad(t *source, why string) error {
	if err := t.failed(); err != nil {
		return err
	}
	return &Damage{BadHTTP, r.Offset, why}
}

// isChunk reports whether data begins as a chunk does: its size in hex, perhaps an
// extension, the end of the line.
func isChunk(data []byte) bool {
	line, _, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return false
	}
	size, _, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(";"))
	size = bytes.TrimSpace(size)
	_, err := strconv.ParseUint(string(size), 16, 64)
	return err == nil && len(size) <= 16
}

// isEncoded reports whether data may be what the encoding makes. Bytes of text are
// not, and gzip and zstd have a beginning of their own.
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

// sized is a body that says how long it is.
type sized struct {
	in   io.Reader
	left int64
}

func (s *sized) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.left -= int64(n)
	if err == io.EOF && s.left > 0 { // the end itself
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
