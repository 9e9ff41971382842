package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/robotskit/robots"
)

// transport makes a request with the caller's RoundTripper. It keeps the limits that
// can be kept from outside: the time to the headers is that of all phases together,
// sizes are those of what it hands out. It runs in a goroutine that is left behind
// if it does not see that its context has ended.
func (s *session) transport(at robots.Origin, target string) (*reply, *failure) {
	if s.at == nil && s.lost == nil {
		s.seek(at)
	}
	s.hop().Via = s.via()
	if s.lost != nil {
		return nil, s.lost
	}
	if f := s.enter(s.at[0].Addr()); f != nil {
		return nil, f
	}
	began := time.Now()
	defer func() { s.hop().Header += time.Since(began) }()
	l := &s.client.limits
	until, late := s.sooner(l.DNS+l.Connect+l.TLS+l.Header, HeaderTimeout)
	waiting, enough := context.WithDeadline(s.ctx, until)
	defer enough()
	ctx, cancel := context.WithCancel(s.ctx)
	req := requestFor(ctx, at, target, s.client.options.UserAgent)
	asked := req.URL.String()
	resp, err := await(waiting, func() (*http.Response, error) { return s.client.options.Transport.RoundTrip(req) }, drop)
	if err != nil {
		cancel()
		if waiting.Err() != nil {
			return nil, &failure{late, ""}
		}
		return nil, untransported(err)
	}
	r := &reply{
		protocol: clean(resp.Proto), status: resp.StatusCode, header: resp.Header, length: resp.ContentLength,
		old: resp.ProtoMajor == 1 && resp.ProtoMinor == 0, ends: len(resp.TransferEncoding) > 0 || resp.ProtoMajor > 1,
	}
	if resp.Uncompressed {
		r.length = -1
	}
	r.conn = s.pump(resp.Body, r.length)
	r.conn.quota(l.MaxRawBytes, RawLimit)
	r.body = r.conn
	stop := s.closing(r.conn)
	r.stop = func() bool { cancel(); return stop() }
	for name, values := range r.header {
		for _, v := range values {
			r.conn.received += int64(len(name) + len(v) + len(": \r\n"))
		}
	}
	f := misframed(resp)
	switch {
	case resp.Request != nil && resp.Request.URL != nil && resp.Request.URL.String() != asked:
		f = &failure{ProxyFailed, "the Transport answers for another URL: it must not follow redirects"}
	case r.conn.received > l.MaxHeaderBytes:
		f = &failure{HeaderLimit, ""}
	}
	if f != nil {
		s.close(r)
		return nil, f
	}
	s.hop().Status, s.hop().Protocol = r.status, r.protocol
	return r, nil
}

// requestFor returns the request that is sent elsewhere as bytes.
func requestFor(ctx context.Context, at robots.Origin, target, userAgent string) *http.Request {
	_, host, _ := strings.Cut(at.String(), "://")
	u, err := url.Parse(at.String() + target) //nolint:forbidigo // at and target are canonical; what net/url rejects goes as it is
	if err != nil {
		u = &url.URL{Scheme: at.Scheme(), Host: host, Opaque: "//" + host + target}
	}
	return (&http.Request{
		Method: http.MethodGet, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, URL: u, Host: host,
		Header: http.Header{
			"User-Agent": {userAgent}, "Accept": {"text/plain, */*;q=0.8"}, "Accept-Encoding": {"gzip, deflate"},
		},
	}).WithContext(ctx)
}

// drop ends an answer that nobody waits for any more.
func drop(resp *http.Response) {
	defer func() { _ = recover() }() // of the caller's body
	if resp.Body != nil {
		resp.Body.Close()
	}
}

// pump makes a connection of a body, so that its limits are kept where all others
// are. The body is read in a goroutine until it ends, or the connection does.
func (s *session) pump(body io.ReadCloser, length int64) *limitedConn {
	ours, theirs := net.Pipe()
	from := &pumped{Conn: ours}
	go func() {
		defer theirs.Close()
		defer func() {
			if p := recover(); p != nil {
				from.err = fmt.Errorf("panic: %v", p)
			}
		}()
		if body == nil {
			return
		}
		n, err := io.Copy(theirs, body)
		if err == nil && length >= 0 && n != length {
			err = io.ErrUnexpectedEOF
		}
		from.err = err
		body.Close()
	}()
	return &limitedConn{Conn: from}
}

// pumped is an end of a pipe that knows why the other end was closed.
type pumped struct {
	net.Conn
	err error // written before the other end is closed
}

func (c *pumped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) && c.err != nil {
		err = c.err
	}
	return n, err
}

// untransported says what an error of a caller's RoundTripper means. What is known
// to be the site's or the network's is; all else is the caller's own.
func untransported(err error) *failure {
	op, isOp := errors.AsType[*net.OpError](err)
	if isOp && (op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks")) {
		return &failure{ProxyFailed, harmless(err)}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return unresolved(dns, false)
	}
	_, isRecord := errors.AsType[tls.RecordHeaderError](err)
	_, isVerify := errors.AsType[*tls.CertificateVerificationError](err)
	if isRecord || isVerify || isOp && op.Op == "remote error" {
		return unsecured(err, TLSTimeout, false)
	}
	if f := unreached(err); f != nil {
		return f
	}
	switch {
	case errors.Is(err, io.EOF):
		return &failure{Closed, ""}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{Incomplete, ""}
	}
	return &failure{ProxyFailed, "Transport: " + harmless(err)}
}
