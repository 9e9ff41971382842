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

// encodingBytes of a body show whether it is encoded.
const encodingBytes = 512

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
// Reader.Next. The error is a *Damage, or that of the block.
func (r *Record) Response() (*Response, error) {
	in := &r.reader.response
	in.reset(r.Block)
	response, err := r.readStatusLine(in)
	if err != nil {
		return nil, err
	}
	header, ok := readHeader(in, 0)
	if !ok {
		return nil, r.badHTTP(in, "response headers are unterminated or longer than 64 KiB")
	}
	response.Header = header
	transferEncoding := header.Get("Transfer-Encoding")
	delete(header, "Transfer-Encoding")
	contentEncoding := header.Get("Content-Encoding")

	body := in
	response.Body = body
	start := in.peek(maxChunkHeader)
	isEmpty := len(start) == 0
	isChunked := strings.Contains(strings.ToLower(transferEncoding), "chunked") && (isEmpty || startsWithChunk(start))
	switch {
	case isChunked:
		body = &r.reader.body
		body.reset(newChunkedBody(r, in))
		response.Body = body
	case transferEncoding == "" && (isEmpty || contentEncoding == "") && r.Truncated == "":
		length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
		if err == nil && length > 0 {
			response.Body = &sizedBody{in: in, missing: length}
		}
	}
	if contentEncoding != "" && !canBeEncoded(contentEncoding, body.peek(encodingBytes)) {
		delete(header, "Content-Encoding")
	}
	return response, nil
}

// readStatusLine returns a response with its protocol and status.
func (r *Record) readStatusLine(in *rewindReader) (*Response, error) {
	line, _ := in.readLine(maxHeaderBytes)
	protocol, rest, _ := strings.Cut(string(line), " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(protocol, "HTTP/") || len(code) != 3 || err != nil {
		return nil, r.badHTTP(in, "response without a status line")
	}
	return &Response{Protocol: protocol, Status: status}, nil
}

// badHTTP returns the error of reading in, or damage if reading succeeded.
func (r *Record) badHTTP(in *rewindReader, detail string) error {
	if err := in.readError(); err != nil {
		return err
	}
	return &Damage{Kind: BadHTTP, Offset: r.Offset, Detail: detail}
}

// A chunkedBody is a body in chunks, which ends after a valid trailer section.
type chunkedBody struct {
	record   *Record
	in       *rewindReader
	buffered *bufio.Reader // over in
	chunks   io.Reader     // over buffered
	err      error         // sticky
}

func newChunkedBody(record *Record, in *rewindReader) *chunkedBody {
	buffered := bufio.NewReader(in)
	return &chunkedBody{record: record, in: in, buffered: buffered, chunks: httputil.NewChunkedReader(buffered)}
}

func (b *chunkedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.chunks.Read(p)
	if errors.Is(err, io.EOF) {
		err = http1.ReadTrailers(bufio.NewReader(io.LimitReader(b.buffered, maxHeaderBytes)))
		if err == nil {
			b.err = io.EOF
			return n, b.err
		}
	}
	if err != nil {
		b.err = b.damage(err)
	}
	return n, b.err
}

// damage returns the error of a body whose chunks or trailers could not be read because of err.
func (b *chunkedBody) damage(err error) error {
	endsEarly := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case b.in.readError() != nil:
		return b.in.readError()
	case endsEarly && b.record.Truncated != "":
		return io.ErrUnexpectedEOF
	case endsEarly:
		return b.record.badHTTP(b.in, "the body ends before its last chunk and trailers")
	}
	return b.record.badHTTP(b.in, fmt.Sprintf("malformed chunks: %.200s", err))
}

// maxChunkHeader is the maximum size of a chunk header in bytes, that of httputil.
const maxChunkHeader = 4096

// startsWithChunk reports whether body begins with a chunk header, or ends in it: the size in
// hexadecimal, an optional extension, a line end.
func startsWithChunk(body []byte) bool {
	line, _, ok := bytes.Cut(body, []byte("\n"))
	if !ok && len(body) == maxChunkHeader {
		return false
	}
	size, _, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(";"))
	size = bytes.TrimSpace(size)
	_, err := strconv.ParseUint(string(size), 16, 64)
	return err == nil && len(size) <= 16
}

// canBeEncoded reports whether body can have an encoding. Text does not, and gzip and zstd have
// magic numbers.
func canBeEncoded(encoding string, body []byte) bool {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "gzip", "x-gzip":
		return bytes.HasPrefix(body, gzipMagic[:2])
	case "zstd":
		return bytes.HasPrefix(body, zstdMagic)
	}
	for _, c := range body {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' || c == 0x7F {
			return true
		}
	}
	return false
}

// A sizedBody is a body with a Content-Length.
type sizedBody struct {
	in      io.Reader
	missing int64 // bytes; negative if the body is longer
}

func (b *sizedBody) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.missing -= int64(n)
	if err == io.EOF && b.missing > 0 { // not wrapped
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
