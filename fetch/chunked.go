package fetch

import (
	"bufio"
	"errors"
	"io"
	"net/http/httputil"

	"github.com/robotskit/robots/internal/http1"
)

// A chunkedBody is a response body in chunks. It ends after a valid trailer section.
type chunkedBody struct {
	conn      *limitedConn
	reader    *bufio.Reader // over conn
	chunks    io.Reader
	bytesLeft int64 // bytes of trailers that can still be received
	err       error // at the end
}

func newChunkedBody(conn *limitedConn, in *bufio.Reader, left int64) *chunkedBody {
	return &chunkedBody{conn: conn, reader: in, chunks: httputil.NewChunkedReader(in), bytesLeft: left}
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

// readTrailers reads the trailer section. It returns io.EOF if that is complete and valid.
func (b *chunkedBody) readTrailers() error {
	if b.bytesLeft < b.conn.bytesLeft {
		b.conn.setQuota(b.bytesLeft, HeaderLimit)
	}
	if err := http1.ReadTrailers(b.reader); err != nil {
		return b.conn.classify(err, BadResponse)
	}
	return io.EOF
}
