package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
)

// A chunkedBody is a response body in chunks. It ends after a valid trailer section (RFC 9112
// section 7.1.2): the reader of net/http accepts names with spaces and lines without a name,
// and in a body that is misread any line can be a trailer.
type chunkedBody struct {
	conn   *limitedConn
	in     *bufio.Reader // over conn
	chunks io.Reader
	left   int64 // bytes of trailers that can still be received
	err    error // at the end
}

func newChunkedBody(conn *limitedConn, in *bufio.Reader, left int64) *chunkedBody {
	return &chunkedBody{conn: conn, in: in, chunks: httputil.NewChunkedReader(in), left: left}
}

func (b *chunkedBody) Read(p []byte) (n int, err error) {
	if b.err == nil {
		n, b.err = b.chunks.Read(p)
		if errors.Is(b.err, io.EOF) {
			b.err = b.readTrailers()
		}
	}
	return n, b.err
}

// readTrailers reads the trailer section, of which nothing matters for robots.txt. It returns
// io.EOF if the section is complete and valid.
func (b *chunkedBody) readTrailers() error {
	if b.left < b.conn.left {
		b.conn.quota(b.left, HeaderLimit)
	}
	var section []byte
	for {
		isFirst := len(section) == 0
		line, err := readLine(b.in, &section)
		switch {
		case err != nil:
		case len(line) == 0:
			return io.EOF
		case isFirst && (line[0] == ' ' || line[0] == '\t'):
			err = fmt.Errorf("blanks before the field %q", line)
		default:
			err = checkField(line)
		}
		if err != nil {
			return b.conn.classify(err, BadResponse)
		}
	}
}
