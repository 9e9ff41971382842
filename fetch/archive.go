package fetch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/robotskit/robots"
)

// An Answer is what a server answered to a GET, as an archive has kept it.
type Answer struct {
	URL      string    // that was asked, absolute
	At       time.Time // of the answer
	Protocol string    // such as "HTTP/1.1"
	Status   int
	Header   http.Header
	// Body is the content: without the chunks of a transfer, and still encoded if
	// Header has a Content-Encoding. Who has it decoded takes that header away. It is
	// read if the status is one of success.
	Body io.Reader
	// Buffer, if it is not nil, is where Body is read to: that of the record is in it as
	// far as it has room, and holds as long as nothing else is done with it.
	Buffer []byte
	// Cut says that the archive kept the beginning of the body alone. Its whole
	// lines are read (D-17). A body that the transfer itself cut is another thing:
	// its Body ends in io.ErrUnexpectedEOF.
	Cut bool
}

// Judge returns what a fetch makes of the answer to a request for the robots.txt
// of origin: a record of one hop, as if it had been fetched then. A redirect that is
// followed has no outcome yet: next is where it leads, a URL in the one form that
// Hop.URL has, and Limits.Redirected says whether the chain may go on.
//
// Nothing is asked of anybody, so the phases took no time and there is no address.
// The error says that the URL is none.
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
			Hops: []Hop{{URL: url, Status: a.Status, Protocol: clean(a.Protocol)}},
		},
	}
	body := &archived{in: a.Body}
	if a.Body == nil {
		body.in = eof{}
	}
	reply := &reply{
		protocol: a.Protocol, status: a.Status, header: a.Header, length: -1, ends: true, cut: a.Cut, buffer: a.Buffer,
		conn: &limitedConn{Conn: body},
	}
	reply.body = reply.conn
	done, to, location := s.judge(at, target, reply, a.At)
	s.hop().Received = reply.conn.got()
	switch {
	case !done:
		return s.record, to.String() + location, nil
	case s.record.Outcome.Good():
		s.record.Expires = a.At.Add(s.record.Lifetime(LifeFloor, LifeCeiling))
		return s.record, "", nil
	}
	return s.record.After(nil), "", nil
}

// archived is a kept body where a connection is expected: it waits for nobody.
type archived struct {
	net.Conn // nil: whoever asks for more than a body has is wrong
	in       io.Reader
}

func (c *archived) Read(p []byte) (int, error)      { return c.in.Read(p) }
func (c *archived) SetReadDeadline(time.Time) error { return nil }
func (c *archived) Close() error                    { return nil }

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
