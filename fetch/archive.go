package fetch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/robotskit/robots"
)

// An Answer is an archived response to a GET.
type Answer struct {
	URL      string    // absolute URL of the request
	At       time.Time // time of the response
	Protocol string    // such as "HTTP/1.1"
	Status   int
	Header   http.Header
	// Body is the content without its transfer coding. If Header has a Content-Encoding, Body
	// is still encoded; remove that header for a decoded body. Body is read if the status is
	// 2xx.
	Body io.Reader
	// Buffer is where Body is read to, as far as it has room; nil for a new one. The record's
	// body is then in it, and valid until Buffer is used again.
	Buffer []byte
	// Cut says that the archive kept only the beginning of the body. Its complete lines are
	// read (D-17). A body whose transfer was cut off ends in io.ErrUnexpectedEOF instead.
	Cut bool
}

// Judge returns the outcome of an archived response to the request for the robots.txt of
// origin: a record of one hop, as if it had been fetched at that time. A redirect has no
// outcome; next is then its target in the form of Hop.URL, and Limits.Redirected decides
// whether to follow it. Nothing is sent, so the phases took no time and there is no address.
// The error says that the URL is invalid.
func (l Limits) Judge(origin robots.Origin, a *Answer) (r *Record, next string, err error) {
	at, path, err := robots.ParseURL(a.URL)
	if err != nil {
		return nil, "", fmt.Errorf("answer of an archive: %w", err)
	}
	target := sendable(path.String())
	url := at.String() + target
	s := &session{
		client: &Client{limits: l.filled()},
		record: &Record{
			Origin: origin, URL: url, Started: a.At, Fetched: a.At,
			Hops: []Hop{{URL: url, Status: a.Status, Protocol: printableDetail(a.Protocol)}},
		},
	}
	body := &archived{in: a.Body}
	if a.Body == nil {
		body.in = http.NoBody
	}
	reply := &reply{
		// The archive marks the end of the body, as HTTP/2 does.
		Response:  &http.Response{Proto: a.Protocol, ProtoMajor: 2, StatusCode: a.Status, Header: a.Header, ContentLength: -1},
		truncated: a.Cut, buffer: a.Buffer, conn: &limitedConn{Conn: body},
	}
	reply.body = reply.conn
	done, to, location := s.judgeResponse(at, target, reply, a.At)
	s.hop().Received = reply.conn.received
	if !done {
		return s.record, to.String() + location, nil
	}
	return s.record.finished(a.At), "", nil
}

// archived is an archived body as a connection.
type archived struct {
	net.Conn // nil: only Read is called
	in       io.Reader
}

func (c *archived) Read(p []byte) (int, error)      { return c.in.Read(p) }
func (c *archived) SetReadDeadline(time.Time) error { return nil }
