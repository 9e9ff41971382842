package fetch

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// overHTTP2 are the behaviors of the catalogue that HTTP/2 has too: the HTTP/1 answer of the
// site is translated into frames, by a server that accepts only HTTP/2.
func overHTTP2() []fault {
	other := []string{ // what only HTTP/1 can say, or what comes to another end here
		"42 Short", "000 Zero", "099 Low", "101 Switching Protocols", // catalogue has frames with such a status
		"to http", "to https", // which are about two schemes
		"place broken escape", "just fast enough", "slow redirects", // refused by the server at hand; the total time knows no protocol
		"gzip announced, HTTP/1.0", "gzip announced, closed", "gzip announced, length too long", "gzip in short body", // the end of a connection
		"chunks of one byte", "header flood", "one long header", "long status line", "dripping headers", // bytes of HTTP/1
	}
	var list []fault
	for _, f := range slices.Concat(statusFaults(), redirectFaults(), encodingFaults(), sizeFaults()) {
		if f.serve == nil || f.url != "" || slices.Contains(other, f.name) {
			continue
		}
		f.name, f.area = f.area+", "+f.name, "http2"
		f.url = "https://site.test:PORT/"
		f.raw, f.serve = speakHTTP2(f.serve), nil
		list = append(list, f)
	}
	return list
}

// negotiate does the TLS handshake with a client that offers one of the protocols, or any.
func negotiate(s *site, c net.Conn, protocols ...string) *tls.Conn {
	config := s.stage.pki.config()
	config.NextProtos = protocols
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		if len(protocols) == 0 || slices.ContainsFunc(h.SupportedProtos, func(p string) bool { return slices.Contains(protocols, p) }) {
			return nil, nil
		}
		c.Write([]byte{21, 3, 3, 0, 2, 2, 120}) // no_application_protocol, where crypto/tls lets HTTP/1.1 in
		return nil, errors.New("no common protocol")
	}
	secured := tls.Server(c, config)
	if secured.Handshake() != nil {
		return nil
	}
	return secured
}

// speakHTTP2 is speak for a server of HTTP/2 only; without TLS it speaks HTTP/1.
func speakHTTP2(serve func(p *peer)) func(*site, net.Conn) {
	secure := frames(func(f *framer) {
		read, write := io.Pipe()
		defer read.Close()
		go func() {
			defer write.Close()
			serve(&peer{Conn: &said{f.conn, write, f.ended}, site: f.site, tcp: f.tcp, method: http.MethodGet, path: f.path, host: f.host})
		}()
		f.translate(bufio.NewReader(read))
		<-f.ended // a close would reset what the client has not read
	})
	return func(s *site, c net.Conn) {
		in := bufio.NewReader(c)
		if first, err := in.Peek(1); err == nil && first[0] != 0x16 {
			speakOn(s, c, in, serve)
			return
		}
		secure(s, &peeked{c, in})
	}
}

// said is an HTTP/1 answer that is being translated into frames. Reading waits until the client
// has disconnected.
type said struct {
	net.Conn
	to    *io.PipeWriter
	ended <-chan struct{}
}

func (c *said) Write(p []byte) (int, error) { return c.to.Write(p) }
func (c *said) Read([]byte) (int, error)    { <-c.ended; return 0, io.EOF }

// translate writes an HTTP/1 answer in frames; a truncated answer resets the stream.
func (f *framer) translate(in *bufio.Reader) {
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			f.WriteRSTStream(1, http2.ErrCodeCancel)
			return
		}
		fields := []string{":status", fmt.Sprint(resp.StatusCode)}
		for name, values := range resp.Header {
			for _, value := range values {
				fields = append(fields, strings.ToLower(name), value)
			}
		}
		if err := f.head(false, fields...); err != nil {
			return
		}
		if resp.StatusCode < 200 {
			continue
		}
		buf := make([]byte, 16<<10)
		for {
			n, err := resp.Body.Read(buf)
			if f.WriteData(1, err == io.EOF, buf[:n]) != nil || err == io.EOF {
				return
			}
			if err != nil {
				f.WriteRSTStream(1, http2.ErrCodeCancel)
				return
			}
		}
	}
}

// A framer is the server's end of an HTTP/2 connection whose frames are written by hand.
type framer struct {
	*http2.Framer
	conn       net.Conn
	tcp        *net.TCPConn
	site       *site
	path, host string        // of the request
	ended      chan struct{} // closed when the client has disconnected
}

func newFramer(s *site, c net.Conn, secured *tls.Conn) *framer {
	if p, ok := c.(*peeked); ok {
		c = p.Conn
	}
	f := &framer{Framer: http2.NewFramer(secured, secured), conn: secured, tcp: c.(*net.TCPConn), site: s, ended: make(chan struct{})}
	f.ReadMetaHeaders, f.AllowIllegalWrites = hpack.NewDecoder(4096, nil), true
	return f
}

// frames returns a handler that reads the first request and lets script answer. Later requests
// are not answered.
func frames(script func(f *framer)) func(*site, net.Conn) {
	return inFrames(func(f *framer) {
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if head, ok := frame.(*http2.MetaHeadersFrame); ok {
				f.path, f.host = head.PseudoValue("path"), head.PseudoValue("authority")
				break
			}
		}
		go func() {
			defer close(f.ended)
			io.Copy(io.Discard, f.conn)
		}()
		script(f)
		f.conn.Close()
		<-f.ended
	})
}

// inFrames returns a handler that lets script speak HTTP/2 after the first SETTINGS.
func inFrames(script func(f *framer)) func(*site, net.Conn) {
	return func(s *site, c net.Conn) {
		secured := negotiate(s, c, "h2")
		if secured == nil {
			return
		}
		defer secured.Close()
		if _, err := io.ReadFull(secured, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := newFramer(s, c, secured)
		f.WriteSettings()
		script(f)
	}
}

// block encodes headers, given as name, value, name, value.
func block(fields ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

// head writes the headers of an answer.
func (f *framer) head(end bool, fields ...string) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(fields...), EndHeaders: true, EndStream: end})
}

// file writes a whole answer.
func (f *framer) file() {
	f.head(false, ":status", "200")
	f.WriteData(1, true, []byte(someRules))
}

// hang waits until the client has disconnected.
func (f *framer) hang() { trickle(func(f *framer) error { return f.WriteWindowUpdate(0, 1) })(f) }

// flood writes copies of a frame, many at a time, until the client has disconnected.
func flood(write func(f *framer) error) func(*framer) {
	return func(f *framer) {
		var b bytes.Buffer
		many := &framer{Framer: http2.NewFramer(&b, nil)}
		many.AllowIllegalWrites = true
		for b.Len() < 32<<10 {
			write(many)
		}
		for {
			if _, err := f.conn.Write(b.Bytes()); err != nil {
				return
			}
		}
	}
}

// trickle writes a frame every 20 ms until the client has disconnected.
func trickle(write func(f *framer) error) func(*framer) {
	return func(f *framer) {
		for write(f) == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// http2Faults are behaviors of HTTP/2 frames.
func http2Faults() []fault {
	of := func(name, does string, cause Cause, raw func(*site, net.Conn)) fault {
		f := fault{area: "http2", name: name, does: does, url: "https://site.test:PORT/", raw: raw, cause: cause}
		if cause == OK {
			f.file = someRules
		}
		return f
	}
	type step = func(f *framer)
	answer := func(name, does string, cause Cause, steps ...step) fault {
		return of(name, does, cause, frames(func(f *framer) {
			for _, s := range steps {
				s(f)
			}
		}))
	}
	head := func(end bool, fields ...string) step { return func(f *framer) { f.head(end, fields...) } }
	data := func(end bool, text string) step { return func(f *framer) { f.WriteData(1, end, []byte(text)) } }
	rst := func(code http2.ErrCode) step { return func(f *framer) { f.WriteRSTStream(1, code) } }
	goAway := func(last uint32, code http2.ErrCode) step { return func(f *framer) { f.WriteGoAway(last, code, nil) } }
	ok, rules, lastRules := head(false, ":status", "200"), data(false, someRules), data(true, someRules)
	begin := func(f *framer) { // headers that do not end
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(":status", "200")})
	}
	unended := func(f *framer) { // trailers that do not end
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block("x-first", "1"), EndStream: true})
	}
	hang, file := (*framer).hang, (*framer).file
	headed := func(name, does string, cause Cause, fields ...string) fault {
		return answer(name, does, cause, head(false, fields...), lastRules, hang)
	}
	late := func(f fault, within span) fault { f.within = within; return f }
	much := func(f fault, of size) fault { f.byteCount = of; return f }
	n := fmt.Sprint(len(someRules))
	unasked := func(script func(c net.Conn)) func(*site, net.Conn) {
		return func(s *site, c net.Conn) {
			if secured := negotiate(s, c); secured != nil {
				defer secured.Close()
				script(secured)
			}
		}
	}
	var list []fault
	for _, status := range []string{"204", "205"} {
		// begun answers with headers that do not end the stream, then calls a function.
		begun := func(name, does string, cause Cause, then ...step) fault {
			return answer(status+", "+name, does, cause, append([]step{head(false, ":status", status)}, then...)...)
		}
		list = append(list,
			answer(status, "the headers end the stream", Empty, head(true, ":status", status), hang),
			answer(status+", length 0", "a length that fits", Empty, head(true, ":status", status, "content-length", "0"), hang),
			answer(status+", length", "a length, and no content comes", BadResponse, head(true, ":status", status, "content-length", "5"), hang),
			begun("empty frame", "an empty frame ends the stream", Empty, func(f *framer) { f.WriteData(1, true, nil); f.hang() }),
			begun("trailers", "headers end the stream", Empty, head(true, "expires", "now"), hang),
			begun("content", "bytes of content", BadResponse, lastRules, hang),
			begun("closed", "the connection ends before the stream", Incomplete, func(*framer) {}),
			begun("reset", "the connection is reset", Reset, func(f *framer) { f.tcp.SetLinger(0); f.tcp.Close() }).either(Incomplete),
			begun("RST_STREAM", "the stream is reset", Incomplete, rst(http2.ErrCodeCancel), hang),
			begun("RST_STREAM without error", "the stream is reset with NO_ERROR", Incomplete, rst(http2.ErrCodeNo), hang),
			begun("GOAWAY", "the connection ends with an error", Incomplete, goAway(0, http2.ErrCodeInternal), hang),
			begun("GOAWAY, closed", "the last stream is this one, and it does not end", Incomplete, goAway(1, http2.ErrCodeNo)),
			begun("GOAWAY, end", "the last stream is this one, and it ends", Empty, func(f *framer) { f.WriteGoAway(1, http2.ErrCodeNo, nil); f.WriteData(1, true, nil); f.hang() }),
			late(begun("silent", "the stream does not end", TooSlow, hang), untilGrace),
		)
	}
	// Fields that are invalid in a trailer section (RFC 9113 sections 8.1 and 8.2), or valid there.
	for _, field := range []struct {
		name, field, value string
		cause              Cause
	}{
		{":status 200", ":status", "200", BadResponse},
		{":status 404", ":status", "404", BadResponse},
		{":status 103", ":status", "103", BadResponse},
		{":status empty", ":status", "", BadResponse},
		{":path", ":path", "/", BadResponse},
		{":method", ":method", "GET", BadResponse},
		{":unknown", ":unknown", "x", BadResponse},
		{"empty pseudo header", ":", "x", BadResponse},
		{"upper case", "Expires", "now", BadResponse},
		{"space in a name", "some trailer", "x", BadResponse},
		{"space after a name", "expires ", "now", BadResponse},
		{"colon in a name", "expires:x", "now", BadResponse},
		{"non-ASCII name", "expir\u00e9s", "now", BadResponse},
		{"NUL in a name", "x\x00", "x", BadResponse},
		{"no name", "", "x", BadResponse},
		{"NUL", "x", "a\x00", BadResponse},
		{"line end", "x", "a\r\nb", BadResponse},
		{"control character", "x", "a\x01", BadResponse},
		{"space before a value", "expires", " now", BadResponse},
		{"tab after a value", "expires", "now\t", BadResponse},
		{"connection", "connection", "close", BadResponse},
		{"keep-alive", "keep-alive", "timeout=5", BadResponse},
		{"proxy-connection", "proxy-connection", "close", BadResponse},
		{"transfer-encoding", "transfer-encoding", "chunked", BadResponse},
		{"upgrade", "upgrade", "h2c", BadResponse},
		{"te", "te", "trailers", BadResponse},
		{"empty value", "expires", "", OK},
		{"length", "content-length", "5", OK}, // it belongs before the body
		{"encoding", "content-encoding", "gzip", OK},
	} {
		const does = "a trailer section with this field"
		last := head(true, "x-first", "1", field.field, field.value)
		if strings.HasPrefix(field.field, ":") {
			last = head(true, field.field, field.value)
		}
		list = append(list, answer("trailers, "+field.name, does, field.cause, ok, rules, last, hang))
		if field.cause != OK {
			list = append(list,
				answer("trailers, "+field.name+", no body", does, BadResponse, ok, last, hang),
				answer("trailers, "+field.name+", 205", does, BadResponse, head(false, ":status", "205"), last, hang),
			)
		}
	}
	list = append(list,
		answer("trailers, :status after a field", "a pseudo header after a field", BadResponse, ok, rules, head(true, "expires", "now", ":status", "200"), hang),
		answer("trailers, no END_STREAM", "headers that do not end the stream", BadResponse, ok, rules, head(false, "expires", "now"), lastRules, hang),
		answer("trailers, no END_STREAM, then trailers", "two trailer sections", BadResponse, ok, rules, head(false, "expires", "now"), head(true, "expires", "now"), hang),
		answer("trailers, interim response", "an interim response within the body", BadResponse, ok, rules, head(false, ":status", "103"), lastRules, hang),
		answer("trailers, CONTINUATION missing, closed", "a section that does not end", Incomplete, ok, rules, unended, func(f *framer) {}),
		answer("trailers, DATA instead of CONTINUATION", "a section that does not end", BadResponse, ok, rules, unended, lastRules, hang),
		answer("trailers, HEADERS instead of CONTINUATION", "a section that does not end", BadResponse, ok, rules, unended, head(true, "expires", "now"), hang),
		answer("trailers, CONTINUATION of another stream", "a section that does not end", BadResponse, ok, rules, unended, func(f *framer) { f.WriteContinuation(3, true, nil) }, hang),
		answer("trailers of another stream", "a trailer section of an unrequested response", BadResponse, ok, rules, func(f *framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: block("expires", "now"), EndHeaders: true, EndStream: true})
		}, hang),
		answer("trailers in two frames", "a trailer section with a CONTINUATION", OK, ok, rules, unended, func(f *framer) { f.WriteContinuation(1, true, block("expires", "now")) }, hang),
		answer("trailers, rubbish", "bytes that do not decode (RFC 7541)", BadResponse, ok, rules, func(f *framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, EndHeaders: true, EndStream: true})
		}, hang),
		answer("trailers, truncated field", "a section that ends within a field (RFC 7541)", BadResponse, ok, rules, func(f *framer) {
			b := block("x-first", "value")
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:len(b)-2], EndHeaders: true, EndStream: true})
		}, hang),
		late(answer("trailers, CONTINUATION missing, open", "a section that does not end", TooSlow, ok, rules, unended, func(f *framer) { <-f.ended }), untilGrace),
		much(answer("trailers, long", "trailers exceed the limit", HeaderLimit, ok, rules, func(f *framer) {
			b := block("x-long", strings.Repeat("x", 3<<10))
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: append(b, bytes.Repeat([]byte{0x80 | 62}, 9<<10)...), EndHeaders: true, EndStream: true})
		}, hang), upToHeaders),
		much(answer("trailers, CONTINUATION flood", "endless trailers", BadResponse, ok, rules, unended, flood(func(f *framer) error { return f.WriteContinuation(1, false, block("x", strings.Repeat("#", 1<<10))) })), upToRaw).either(RawLimit),
		headed("space before a value", "a value that begins with a space (RFC 9113 section 8.2.1)", BadResponse, ":status", "200", "server", " x"),
		headed("tab after a value", "a value that ends with a tab (RFC 9113 section 8.2.1)", BadResponse, ":status", "200", "server", "x\t"),
	)
	for _, field := range []string{"connection: close", "connection: keep-alive", "keep-alive: timeout=5", "proxy-connection: close", "upgrade: h2c", "te: gzip", "te: trailers", "te: trailers, gzip", "te: "} {
		name, value, _ := strings.Cut(field, ": ")
		list = append(list, headed(strings.TrimSpace(field), "a connection-specific header, invalid in HTTP/2 (RFC 9113 section 8.2.2)", BadResponse, ":status", "200", name, value))
	}
	list = append(list,
		answer("404 with connection", "a connection-specific header", BadResponse, head(true, ":status", "404", "connection", "close"), hang),
		answer("103 with connection", "a connection-specific header in an interim response", BadResponse, head(false, ":status", "103", "connection", "close"), file),
		answer("trailers with connection", "a connection-specific trailer", BadResponse, ok, rules, head(true, "connection", "close")),
		answer("DATA of another stream", "a body of an unrequested response", Incomplete, func(f *framer) {
			f.head(false, ":status", "200")
			f.WriteData(7, true, []byte(someRules))
			f.hang()
		}).either(BadResponse),
		answer("DATA after headers of another stream", "a body before its headers", BadResponse, func(f *framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 7, BlockFragment: block(":status", "200"), EndHeaders: true})
			f.WriteData(1, true, []byte(someRules))
			f.hang()
		}),
		answer("404 without an end", "the headers are all of it", ClientError, head(false, ":status", "404"), hang),
		answer("404 cut in its headers", "closes before the end of the headers", Incomplete, func(f *framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(":status", "404"), EndStream: true})
		}).either(BadResponse),
	)
	return append(list, []fault{
		answer("a file", "the server speaks only HTTP/2", OK, file),
		of("settings unasked", "the server speaks HTTP/2 although it was not negotiated", OK, func(s *site, c net.Conn) {
			secured := negotiate(s, c)
			if secured == nil {
				return
			}
			defer secured.Close()
			f := newFramer(s, c, secured)
			f.WriteSettings()
			start := make([]byte, len(http2.ClientPreface))
			if io.ReadFull(secured, start); string(start) != http2.ClientPreface {
				f.hang() // the client's first connection: it need not wait
				return
			}
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					return
				}
				if _, ok := frame.(*http2.MetaHeadersFrame); ok {
					f.file()
				}
			}
		}),
		of("zeros unasked", "zero bytes instead of an answer", BadResponse, unasked(func(c net.Conn) {
			c.Write(make([]byte, 9)) // an empty frame of DATA, which is none to begin with
			io.Copy(io.Discard, c)
		})),
		{area: "http2", name: "frames without TLS", does: "HTTP/2 on a port of http, not negotiated", cause: BadResponse, raw: func(_ *site, c net.Conn) {
			http2.NewFramer(c, c).WriteSettings()
			io.Copy(io.Discard, c)
		}},
		of("neither", "the server takes neither HTTP/1.1 nor HTTP/2", TLSProtocol, func(s *site, c net.Conn) { negotiate(s, c, "other") }),
		of("HTTP/1 in its place", "HTTP/2 was negotiated, HTTP/1.1 is sent", BadResponse, func(s *site, c net.Conn) {
			if secured := negotiate(s, c, "h2"); secured != nil {
				defer secured.Close()
				io.WriteString(secured, whole("200 OK", someRules))
				io.Copy(io.Discard, secured)
			}
		}),
		late(of("silent", "no SETTINGS and no answer", HeaderTimeout, func(s *site, c net.Conn) {
			if secured := negotiate(s, c, "h2"); secured != nil {
				defer secured.Close()
				io.Copy(io.Discard, secured)
			}
		}), untilHeader),
		late(answer("silent after SETTINGS", "the request is not answered", HeaderTimeout, func(f *framer) { io.Copy(io.Discard, f.tcp); f.hang() }), untilHeader),
		late(of("no streams", "SETTINGS allow no request", HeaderTimeout, inFrames(func(f *framer) {
			f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
			io.Copy(io.Discard, f.conn)
		})), untilHeader).either(OK),
		of("closed", "closes before SETTINGS", Closed, func(s *site, c net.Conn) { negotiate(s, c, "h2") }).either(Reset),
		answer("closed after the request", "closes instead of an answer", Incomplete, func(*framer) {}).either(BadResponse),
		answer("reset after the request", "resets instead of an answer", Reset, func(f *framer) { f.tcp.SetLinger(0); f.tcp.Close() }).either(Incomplete),
		answer("RST_STREAM", "the stream is reset instead of an answer", BadResponse, rst(http2.ErrCodeRefusedStream), hang),
		answer("RST_STREAM in the body", "the stream is reset after some bytes", Incomplete, ok, rules, rst(http2.ErrCodeNo), hang),
		answer("HTTP/1.1 required", "the stream is reset with HTTP_1_1_REQUIRED, after TLS refused that", BadResponse, rst(http2.ErrCodeHTTP11Required), hang),
		answer("GOAWAY", "no request is accepted", BadResponse, goAway(0, http2.ErrCodeNo), hang),
		answer("GOAWAY, then a file", "the last request is still answered", OK, goAway(1, http2.ErrCodeNo), file),
		answer("GOAWAY in the body", "the connection ends with an error after some bytes", Incomplete, ok, rules, goAway(0, http2.ErrCodeInternal)),
		answer("cut in the body", "closes before the end of the stream", Incomplete, ok, rules),
		answer("cut in a frame", "closes inside a frame of the body", Incomplete, func(f *framer) {
			f.head(false, ":status", "200")
			f.conn.Write([]byte("\x00\x10\x00\x00\x01\x00\x00\x00\x01" + someRules))
		}),
		answer("end in the headers", "no body at all", Empty, head(true, ":status", "200"), hang),
		answer("trailers", "headers after the body", OK, ok, rules, head(true, "expires", "now")),
		headed("length right", "a length that fits", OK, ":status", "200", "content-length", n),
		headed("length too long", "a length above the body", Incomplete, ":status", "200", "content-length", "1000"),
		headed("length too short", "more bytes than the stated length", Incomplete, ":status", "200", "content-length", "5"),
		headed("length no number", "a length of words", BadResponse, ":status", "200", "content-length", "many"),
		headed("length with a sign", "a length of +5", BadResponse, ":status", "200", "content-length", "+5"),
		headed("length of nothing", "a length without a number", BadResponse, ":status", "200", "content-length", ""),
		headed("two lengths", "two lengths, equal or not", BadResponse, ":status", "200", "content-length", n, "content-length", n),
		headed("chunked", "a transfer coding, invalid in HTTP/2 (RFC 9113 section 8.2.2)", BadResponse, ":status", "200", "transfer-encoding", "chunked"),
		headed("no status", "headers without a status", BadResponse, "server", "x"),
		headed("status of two digits", "42", BadResponse, ":status", "42"),
		headed("status of four digits", "0200", BadResponse, ":status", "0200"),
		headed("status with a sign", "+20", BadResponse, ":status", "+20"),
		headed("status of words", "OK", BadResponse, ":status", "OK"),
		headed("status 099", "not an HTTP status", BadStatus, ":status", "099"),
		headed("two statuses", "200 and 404", BadResponse, ":status", "200", ":status", "404"),
		headed("status after a header", "a pseudo header after a header", BadResponse, "server", "x", ":status", "200"),
		headed("upper case", "a name in upper case (RFC 9113 section 8.2.1)", BadResponse, ":status", "200", "Server", "x"),
		headed("line end in a header", "CR and LF in a value", BadResponse, ":status", "200", "server", "x\r\ncontent-encoding: gzip"),
		headed("NUL in a header", "a byte of 0 in a value", BadResponse, ":status", "200", "server", "\x00"),
		headed("blank in a name", "a name with a space", BadResponse, ":status", "200", "some header", "x"),
		headed("101", "switching protocols, invalid in HTTP/2", Switching, ":status", "101"),
		answer("body after an interim answer", "103, then bytes that belong to no answer", BadResponse, head(false, ":status", "103"), lastRules, hang),
		answer("body after its end", "bytes after the end of the stream", OK, file, lastRules, hang),
		of("no SETTINGS", "another frame first", BadResponse, func(s *site, c net.Conn) {
			if secured := negotiate(s, c, "h2"); secured != nil {
				defer secured.Close()
				http2.NewFramer(secured, nil).WritePing(false, [8]byte{})
				io.Copy(io.Discard, secured)
			}
		}),
		answer("interim answer ends the stream", "103 with the end of the stream", BadResponse, head(true, ":status", "103"), hang),
		answer("rubbish in the headers", "bytes that do not decode (RFC 7541)", BadResponse, func(f *framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, EndHeaders: true})
			f.hang()
		}),
		much(answer("HPACK bomb", "one long header, repeated by an index of one byte", HeaderLimit, func(f *framer) {
			b := append(block(":status", "200"), block("x-bomb", strings.Repeat("x", 3<<10))...)
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: append(b, bytes.Repeat([]byte{0x80 | 62}, 9<<10)...), EndHeaders: true, EndStream: true})
			f.hang()
		}), upToHeaders),
		much(answer("long headers", "headers exceed the limit", HeaderLimit, func(f *framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(":status", "200")})
			for i := range 9 {
				var b bytes.Buffer
				hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: "x-long", Value: strings.Repeat("#", 10<<10), Sensitive: true})
				f.WriteContinuation(1, i == 8, b.Bytes())
			}
			f.hang()
		}), upToRaw).either(BadResponse),
		much(answer("CONTINUATION flood", "endless headers", BadResponse, begin, flood(func(f *framer) error { return f.WriteContinuation(1, false, block("x", strings.Repeat("#", 1<<10))) })), upToRaw).either(RawLimit),
		much(answer("empty CONTINUATION flood", "endless empty header frames", RawLimit, begin, flood(func(f *framer) error { return f.WriteContinuation(1, false, nil) })), upToRaw).either(BadResponse),
		late(answer("dripping headers", "the headers, byte by byte", HeaderTimeout, begin, trickle(func(f *framer) error { return f.WriteContinuation(1, false, nil) })), untilHeader),
		late(answer("dripping PING", "slow PING frames, and no answer", HeaderTimeout, trickle(func(f *framer) error { return f.WritePing(false, [8]byte{}) })), untilHeader),
		much(answer("PING flood", "endless PING frames, each of which requires an answer", RawLimit, flood(func(f *framer) error { return f.WritePing(false, [8]byte{}) })), upToRaw),
		much(answer("SETTINGS flood", "endless PING frames, each of which requires an answer", RawLimit, flood(func(f *framer) error { return f.WriteSettings() })), upToRaw),
		much(answer("WINDOW_UPDATE flood", "endless window updates", RawLimit, flood(func(f *framer) error { return f.WriteWindowUpdate(0, 1) })), upToRaw).either(BadResponse),
		much(answer("PRIORITY flood", "endless frames without effect", RawLimit, flood(func(f *framer) error { return f.WritePriority(3, http2.PriorityParam{Weight: 1}) })), upToRaw),
		much(answer("unknown frames", "endless frames of an unknown type", RawLimit, flood(func(f *framer) error { return f.WriteRawFrame(0xEE, 0, 0, make([]byte, 1<<10)) })), upToRaw),
		much(answer("empty DATA flood", "empty body frames", RawLimit, ok, flood(func(f *framer) error { return f.WriteData(1, false, nil) })), upToRaw).either(Incomplete),
		much(answer("padding flood", "frames of padding only", RawLimit, ok, flood(func(f *framer) error { return f.WriteDataPadded(1, false, nil, make([]byte, 255)) })), upToRaw).either(Incomplete),
		much(answer("103 flood", "endless interim responses", HeaderLimit, flood(func(f *framer) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(":status", "103", "link", "</x>"), EndHeaders: true})
		})), upToRaw),
		answer("window too large", "a window above 2^31 (RFC 9113 section 6.9.1)", BadResponse, func(f *framer) {
			for range 3 {
				f.WriteWindowUpdate(0, 1<<31-1)
			}
			f.hang()
		}),
		answer("push", "a pushed response, refused in SETTINGS", BadResponse, func(f *framer) {
			f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: block(":method", "GET"), EndHeaders: true})
			f.hang()
		}),
		answer("frame too large", "a frame above the size in SETTINGS", BadResponse, func(f *framer) {
			f.conn.Write([]byte{0xFF, 0xFF, 0xFF, 1, 4, 0, 0, 0, 1})
			f.hang()
		}),
		answer("DATA first", "a body before the headers", BadResponse, lastRules, hang),
		late(answer("stream never opened", "an answer to a request that was not sent", HeaderTimeout, func(f *framer) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 7, BlockFragment: block(":status", "200"), EndHeaders: true, EndStream: true})
			f.hang()
		}), untilHeader).either(BadResponse),
		late(answer("dripping body", "the file, byte by byte", TooSlow, ok, trickle(func(f *framer) error { return f.WriteData(1, false, []byte("#")) })), untilGrace),
	}...)
}

// either adds a second possible cause.
func (f fault) either(c Cause) fault { f.or = c; return f }
