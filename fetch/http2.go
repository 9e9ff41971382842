package fetch

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// maxSent bounds what is sent over HTTP/2 besides the path: the request, answers to SETTINGS
// and PING, window updates. A file of the maximum size needs about 600 bytes; a server that
// sends PING forever would get as many in return.
const maxSent = 32 << 10

// speaksHTTP2 is the failure of an HTTP/1 request to a server that sends HTTP/2 frames.
var speaksHTTP2 = &failure{BadResponse, errFrames.Error()}

// askHTTP2 does what ask does over HTTP/2. It uses net/http's client for a single connection,
// which has no pool and retries nothing, over a limitedConn. What net/http accepts is checked
// afterwards (RFC 9113 sections 8.1.1 and 8.2.2).
//
// No context ends the request, since the connection has deadlines.
func (r *reply) askHTTP2(c *Client, at robots.Origin, target string) *failure {
	r.conn.quota(c.limits.MaxHeaderBytes+c.limits.MaxRawBytes, RawLimit)
	r.conn.atMost(maxSent + int64(len(target)))
	in := &framed{limitedConn: r.conn, headers: c.limits.MaxHeaderBytes}
	var frames http.Protocols
	frames.SetUnencryptedHTTP2(true) // TLS is in conn
	t := &http.Transport{
		Protocols:              &frames,
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return in, nil },
		MaxResponseHeaderBytes: c.limits.MaxHeaderBytes,
		DisableCompression:     true,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 64 << 10},
	}
	conn, err := t.NewClientConn(context.Background(), "http", net.JoinHostPort(at.Host(), strconv.Itoa(at.Port())))
	if err != nil {
		return r.conn.classify(err, BadResponse)
	}
	_, host, _ := strings.Cut(at.String(), "://")
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{Got1xxResponse: in.interim})
	resp, err := conn.RoundTrip((&http.Request{
		Method: http.MethodGet,
		URL:    &url.URL{Scheme: at.Scheme(), Host: host, Opaque: "//" + host + target}, // with the host, as target can begin with //
		Host:   host,
		Header: http.Header{
			"User-Agent": {c.options.UserAgent}, "Accept": {"text/plain, */*;q=0.8"}, "Accept-Encoding": {"gzip, deflate"},
		},
	}).WithContext(ctx))
	if err != nil {
		otherwise := BadResponse
		if strings.Contains(err.Error(), "header list") { // net/http has no error type for it
			otherwise = HeaderLimit
		}
		return r.conn.classify(err, otherwise)
	}
	if f := misframed(resp); f != nil {
		return f
	}
	r.status, r.header, r.length, r.body = resp.StatusCode, resp.Header, resp.ContentLength, &trailed{resp}
	r.protocol, r.ends, r.bounded = resp.Proto, true, true
	return nil
}

// misframed returns what is wrong with a response that net/http accepted: an invalid status,
// or headers that HTTP/2 does not permit. HTTP/1 responses from net/http no longer have such
// headers.
func misframed(resp *http.Response) *failure {
	digits, _, _ := strings.Cut(resp.Status, " ")
	_, isNumber := strconv.Atoi(digits) // a response made by hand can have a text alone
	lengths := resp.Header.Values("Content-Length")
	switch {
	case isNumber == nil && (len(digits) != 3 || !isDigits(digits)):
		return &failure{BadResponse, "malformed status " + strconv.Quote(digits)}
	case len(resp.Header.Values("Transfer-Encoding")) > 0:
		return &failure{BadResponse, "a transfer coding where there is none"}
	case len(lengths) > 1 || len(lengths) == 1 && !isDigits(lengths[0]):
		return &failure{BadResponse, "malformed Content-Length " + strconv.Quote(strings.Join(lengths, ", "))}
	case resp.ProtoMajor > 1:
		return misplaced(resp.Header)
	}
	return nil
}

// misplaced returns the failure of headers or trailers that are specific to HTTP/1
// connections: an HTTP/2 response that has one is malformed (RFC 9113 section 8.2.2).
func misplaced(h http.Header) *failure {
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Te"} {
		if len(h.Values(name)) > 0 { // TE: trailers is valid only in requests
			return &failure{BadResponse, "a header about the connection, which HTTP/2 has not: " + name}
		}
	}
	return nil
}

// trailed is the body of a response, which checks the trailers at its end.
type trailed struct{ *http.Response }

func (t *trailed) Close() error { return t.Body.Close() }

func (t *trailed) Read(p []byte) (int, error) {
	n, err := t.Body.Read(p)
	if errors.Is(err, io.EOF) && t.ProtoMajor > 1 {
		if f := misplaced(t.Trailer); f != nil {
			return n, f
		}
	}
	return n, err
}

// isDigits reports whether s is a valid Content-Length.
func isDigits(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}

// framed filters the frames of an HTTP/2 connection for net/http, which logs every frame of an
// unknown type to the standard logger, up to 120,000 lines for one response within the limits.
// Such frames have no meaning (RFC 9113 sections 4.1 and 5.3.2) and are discarded. Where
// net/http would log a misplaced frame, reading fails.
//
// Everything, interim too, runs in the goroutine that reads.
type framed struct {
	*limitedConn
	head    [9]byte // of the current frame
	begun   bool    // SETTINGS were received
	unread  int     // bytes of head not yet returned
	rest    int     // bytes of the frame after head
	skip    bool    // discard the frame
	answer  bool    // the response headers were received
	headers int64   // bytes left for headers of interim responses
}

// Types and flags of frames (RFC 9113 section 6).
const (
	frameData     = 0
	frameHeaders  = 1
	framePriority = 2
	frameSettings = 4
	frameLast     = 9 // highest known type
	flagEndStream = 1
)

func (c *framed) Read(p []byte) (int, error) {
	for len(p) > 0 {
		switch {
		case c.unread > 0:
			n := copy(p, c.head[len(c.head)-c.unread:])
			c.unread -= n
			return n, nil
		case c.rest > 0:
			n, err := c.limitedConn.Read(p[:min(len(p), c.rest)])
			c.rest -= n
			if !c.skip || err != nil {
				return n, err
			}
		default:
			if err := c.next(); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// next reads the head of a frame.
func (c *framed) next() error {
	if _, err := io.ReadFull(c.limitedConn, c.head[:]); err != nil {
		return err
	}
	c.rest = int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2])
	kind, flags := c.head[3], c.head[4]
	first := binary.BigEndian.Uint32(c.head[5:])&^(1<<31) == 1 // the stream of the only request
	switch {
	case !c.begun && kind != frameSettings:
		return &failure{BadResponse, "HTTP/2 begins with SETTINGS"}
	case kind == frameHeaders && first:
		c.answer = flags&flagEndStream == 0
	case kind == frameData && !(c.answer && first):
		return &failure{BadResponse, "a body of HTTP/2 outside an answer"}
	case kind == frameData:
		c.answer = flags&flagEndStream == 0
	}
	c.begun = true
	if c.skip = kind == framePriority || kind > frameLast; !c.skip {
		c.unread = len(c.head)
	}
	return nil
}

// interim checks a 1xx response, whose headers count against the limit.
func (c *framed) interim(status int, h textproto.MIMEHeader) error {
	if status == http.StatusSwitchingProtocols {
		return c.fail(Switching)
	}
	if f := misplaced(http.Header(h)); f != nil {
		return f
	}
	c.answer = false
	c.headers -= 42 // size of the status field (RFC 7541 section 4.1)
	for name, values := range h {
		for _, v := range values {
			c.headers -= int64(len(name) + len(v) + 32)
		}
	}
	if c.headers < 0 {
		return c.fail(HeaderLimit)
	}
	return nil
}
