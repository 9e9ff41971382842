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

// maxSent bounds what is sent over HTTP/2 beside the target: the request, and
// answers to SETTINGS and PING, windows that open. A file at the limit of size
// takes some 600 bytes; whoever sends PING without end else gets as many bytes.
const maxSent = 32 << 10

// speaksHTTP2 is how a request of HTTP/1 ends at a server that began to speak
// HTTP/2 unasked.
var speaksHTTP2 = &failure{BadResponse, errFrames.Error()}

// askHTTP2 does what ask does over HTTP/2. Only the frames are net/http's: its
// transport for a single connection, which has no pool and tries nothing twice,
// over one that keeps the limits. What it forgives is checked after it (RFC 9113
// sections 8.1.1 and 8.2.2).
//
// No context ends the request: the limits of the connection do.
func (r *reply) askHTTP2(c *Client, at robots.Origin, target string) *failure {
	r.conn.quota(c.limits.MaxHeaderBytes+c.limits.MaxRawBytes, RawLimit)
	r.conn.atMost(maxSent + int64(len(target)))
	in := &framed{limitedConn: r.conn, headers: c.limits.MaxHeaderBytes}
	var frames http.Protocols
	frames.SetUnencryptedHTTP2(true) // TLS is below
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
		URL:    &url.URL{Scheme: at.Scheme(), Host: host, Opaque: "//" + host + target}, // with host: target may begin with //
		Host:   host,
		Header: http.Header{
			"User-Agent": {c.options.UserAgent}, "Accept": {"text/plain, */*;q=0.8"}, "Accept-Encoding": {"gzip, deflate"},
		},
	}).WithContext(ctx))
	if err != nil {
		otherwise := BadResponse
		if strings.Contains(err.Error(), "header list") { // net/http has no type for it
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

// misframed says what is wrong with an answer that net/http took: a status that is
// not three digits, or headers that HTTP/2 has not. In an answer of HTTP/1
// that came through net/http none of it is left.
func misframed(resp *http.Response) *failure {
	digits, _, _ := strings.Cut(resp.Status, " ")
	_, isNumber := strconv.Atoi(digits) // words alone are those of an answer made by hand
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

// misplaced returns what is wrong with headers or trailers that are about a connection
// of HTTP/1: an answer of HTTP/2 that has one is malformed (RFC 9113 section 8.2.2).
func misplaced(h http.Header) *failure {
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Te"} {
		if len(h.Values(name)) > 0 { // TE too, which may say "trailers" in requests alone
			return &failure{BadResponse, "a header about the connection, which HTTP/2 has not: " + name}
		}
	}
	return nil
}

// trailed is the body of an answer whose trailers are judged at its end.
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

// isDigits reports whether s is a number as a length is written.
func isDigits(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}

// framed is a connection of HTTP/2 that passes on what net/http reads without a
// word. It writes a line to the log of the process for every frame of a type that
// it does not know, and nothing turns that off: with frames of 9 bytes some 120,000 lines for one robots.txt
// within the limits. Such frames mean nothing (RFC 9113 sections 4.1 and 5.3.2) and
// end here; where it would write about a frame in the wrong place, reading ends.
//
// All of it happens in the goroutine that reads, interim too.
type framed struct {
	*limitedConn
	head    [9]byte // of the frame under way
	begun   bool    // SETTINGS have come
	unread  int     // bytes of head
	rest    int     // bytes of the frame after its head
	skip    bool    // the frame is one that ends here
	answer  bool    // the headers of the answer have come
	headers int64   // bytes that those of interim answers may still have
}

// Types and flags of frames (RFC 9113 section 6).
const (
	frameData     = 0
	frameHeaders  = 1
	framePriority = 2
	frameSettings = 4
	frameLast     = 9 // of the known types
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
	first := binary.BigEndian.Uint32(c.head[5:])&^(1<<31) == 1 // the stream of the one request
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

// interim judges a 1xx, whose headers count against the limit.
func (c *framed) interim(status int, h textproto.MIMEHeader) error {
	if status == http.StatusSwitchingProtocols {
		return c.fail(Switching)
	}
	if f := misplaced(http.Header(h)); f != nil {
		return f
	}
	c.answer = false
	c.headers -= 42 // a field as RFC 7541 section 4.1 counts it: of the status
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
