package fetch

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
)

// A reply is the response to one request. Its body, which has not been read, is read from body,
// not from Body; ContentLength is -1 if it is unknown.
type reply struct {
	*http.Response
	body      io.Reader
	rest      io.Reader // what follows the body on the connection, nil if unknown
	buffer    []byte    // for the body, nil for a new one
	truncated bool      // an archive kept only the beginning of the body
	conn      *limitedConn
	stop      func() bool // see closing
}

// coded reports whether the body has a transfer coding.
func (r *reply) coded() bool { return len(r.TransferEncoding) > 0 }

// ends reports whether the body marks its end, with chunks or HTTP/2 frames.
func (r *reply) ends() bool { return r.coded() || r.ProtoMajor > 1 }

// http fetches over http and https and follows redirects (REDIR-01, REDIR-02).
func (s *session) http() {
	at := s.record.Origin
	target := "/robots.txt"
	for {
		done, next, location := s.request(at, target)
		if done {
			// Only a 5xx of the origin itself says something about it (HTTP-07).
			if s.record.Cause == ServerError && at == s.record.Origin {
				s.probe()
			}
			return
		}
		url := next.String() + location
		switch s.client.limits.Redirected(s.record.Hops, url) {
		case RedirectLoop:
			s.end(RedirectLoop, "back to "+url)
			return
		case RedirectLimit:
			s.end(RedirectLimit, strconv.Itoa(s.record.Redirects())+" were followed")
			return
		}
		at = next
		target = location
		s.record.URL = at.String() + target
		s.record.Hops = append(s.record.Hops, Hop{URL: s.record.URL})
		// These three describe the last response.
		s.record.Status = 0
		s.record.Header = nil
		s.record.RetryAfter = 0
	}
}

// request sends one request and judges the response. It returns the target of a redirect, or done.
func (s *session) request(at robots.Origin, target string) (done bool, next robots.Origin, location string) {
	if at != s.record.Origin {
		defer s.client.options.Redirected(s.caller, at)
	}
	defer s.endHop()
	r, f := s.get(at, target)
	if f != nil {
		s.fail(f)
		return true, next, ""
	}
	defer s.close(r)
	return s.judgeResponse(at, target, r, time.Now())
}

// judgeResponse sets the outcome of a response. It returns the target of a redirect, or done.
func (s *session) judgeResponse(at robots.Origin, target string, r *reply, now time.Time) (done bool, next robots.Origin, location string) {
	s.recordHeaders(r, now)
	if cause, ok := finals[r.StatusCode]; ok {
		s.end(cause, "")
		return true, next, ""
	}
	switch {
	case r.StatusCode < 200 || r.StatusCode > 599:
		s.end(BadStatus, "")
	case r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusResetContent:
		s.readNoContent(r)
	case r.StatusCode < 300:
		s.readBody(r)
	case r.StatusCode < 400:
		s.hop().Location = printableDetail(r.Header.Get("Location"))
		var f *failure
		next, location, f = locate(at, target, r)
		if f == nil {
			return false, next, location
		}
		s.fail(f)
	case r.StatusCode < 500:
		s.end(ClientError, "")
	default:
		s.end(ServerError, "")
	}
	return true, next, ""
}

// finals are the statuses with a meaning other than that of their class.
var finals = map[int]Cause{
	http.StatusSwitchingProtocols: Switching,
	http.StatusPartialContent:     Partial,
	http.StatusNotModified:        NotModified, // D-23: not an empty file
	http.StatusTooManyRequests:    TooManyRequests,
}

// get sends a request and reads the response headers. The caller closes the reply.
//
// It offers HTTP/1.1, and HTTP/2 on a second connection if the server supports nothing else: a
// single GET gains nothing from HTTP/2, and sites whose HTTP/2 is broken stay reachable. For
// http it uses a tunnel through a proxy, or a second connection to forward the request if the
// proxy refuses the tunnel. There is no third connection.
func (s *session) get(at robots.Origin, target string) (*reply, *failure) {
	if s.client.options.Transport != nil {
		return s.transport(at, target)
	}
	r, f := s.requestAnew(at, target, "http/1.1")
	switch {
	case f == nil:
	case at.Scheme() == "https" && (f.cause == TLSProtocol || f == speaksHTTP2):
		s.releaseSlot()
		r, f = s.requestAnew(at, target, "h2")
	case at.Scheme() == "http" && s.refused != 0:
		s.releaseSlot()
		r, f = s.forward(at, target)
	}
	return r, f
}

// requestAnew sends one request over a new connection.
func (s *session) requestAnew(at robots.Origin, target, protocol string) (*reply, *failure) {
	conn, f := s.open(at, protocol)
	if f != nil {
		return nil, f
	}
	return s.requestOver(conn, func(r *reply) *failure {
		if protocol == "h2" {
			return r.roundTripHTTP2(s.client, at, target)
		}
		return r.roundTrip(s.client, at, target, "")
	})
}

// requestOver runs roundTrip on a connection, and closes it if that fails.
func (s *session) requestOver(conn *limitedConn, ask func(r *reply) *failure) (*reply, *failure) {
	r := &reply{conn: conn, stop: s.closeOnCancel(conn)}
	began := time.Now()
	conn.setPhase(s.phaseDeadline(s.client.limits.Header, HeaderTimeout))
	f := ask(r)
	s.hop().Header += time.Since(began)
	if f != nil {
		s.close(r)
		return nil, f
	}
	s.hop().Status = r.StatusCode
	s.hop().Protocol = r.Proto
	return r, nil
}

// close ends the connection of a reply.
func (s *session) close(r *reply) {
	r.stop()
	r.conn.Close()
	s.hop().Received += r.conn.received
}

const (
	accept         = "text/plain, */*;q=0.8"
	acceptEncoding = "gzip, deflate"
)

// roundTrip sends the request and reads the headers of the final response.
//
// The request is written by hand: an unconditional GET (FETCH-01) without cookies, Referer and
// the headers that a library adds, and with credentials only if the caller has some for the
// origin. Target and origin contain no spaces or control characters (locate). More contains
// headers for a proxy.
//
// The response is read by http.ReadResponse. http.Transport would read it in goroutines that can
// outlive the fetch, and on status 101 return a connection without a deadline. readHead checks
// the headers for errors that http.ReadResponse accepts.
func (r *reply) roundTrip(c *Client, at robots.Origin, target, more string) *failure {
	conn := r.conn
	conn.setQuota(c.limits.MaxHeaderBytes, HeaderLimit)
	_, host, _ := strings.Cut(at.String(), "://")
	if credentials := c.credentials(at); credentials != "" {
		more += "Authorization: " + credentials + "\r\n"
	}
	_, writing := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: "+host+
		"\r\nUser-Agent: "+c.options.UserAgent+
		"\r\nAccept: "+accept+"\r\nAccept-Encoding: "+acceptEncoding+"\r\nConnection: close\r\n"+more+"\r\n")
	in := bufio.NewReader(conn)
	return r.readHeaders(writing, func() error {
		head, _, err := finalHead(in)
		if err != nil {
			return err
		}
		checked := bufio.NewReader(io.MultiReader(bytes.NewReader(head), in))
		if r.Response, err = http.ReadResponse(checked, &http.Request{Method: http.MethodGet}); err != nil {
			return err
		}
		r.body = r.Body
		r.rest = checked
		if r.coded() && r.Body != http.NoBody {
			r.body = newChunkedBody(conn, checked, c.limits.MaxHeaderBytes-int64(len(head)))
		}
		return nil
	})
}

// readHeaders reads the headers of a response after the request was written, which might have
// failed.
func (r *reply) readHeaders(writing error, read func() error) *failure {
	if writing != nil && r.conn.limitReached != CauseNone {
		return r.conn.classify(writing, Reset)
	}
	// A server can answer and close before it has read the request, so a failed write does not
	// prevent reading.
	err := read()
	if err == nil {
		return nil
	}
	if writing != nil && r.conn.received == 0 {
		err = writing // the write consumed the reset and left the end for the read
	}
	return r.conn.classify(err, BadResponse)
}

// recordHeaders records what the headers say.
func (s *session) recordHeaders(r *reply, now time.Time) {
	rec := s.record
	rec.Status = r.StatusCode
	rec.Header = map[string]string{}
	for _, name := range storedHeaders {
		if v := r.Header.Values(name); len(v) > 0 {
			rec.Header[name] = printableDetail(strings.Join(v, ", "))
		}
	}
	if by, life := statedLife(r.Header, now); by != "" && (rec.StatedBy == "" || life < rec.StatedLife) {
		rec.StatedBy = by
		rec.StatedLife = life
	}
	rec.RetryAfter = RetryAfter(r.Header, now)
}
