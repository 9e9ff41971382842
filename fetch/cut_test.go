package fetch

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/robotskit/robots/internal/campaign"
)

// A cutter closes the connections of a server after a number of bytes written over all of them.
type cutter struct {
	mu     sync.Mutex
	left   int // bytes that may still be written
	wrote  int
	resets bool // RST instead of FIN
	open   []*net.TCPConn
}

// wrap returns a connection that is closed with all others. TLS above it then ends without a
// close_notify.
func (k *cutter) wrap(c net.Conn, below *net.TCPConn) net.Conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open = append(k.open, below)
	return &cutConn{c, k}
}

type cutConn struct {
	net.Conn
	by *cutter
}

func (c *cutConn) Write(p []byte) (int, error) {
	k := c.by
	k.mu.Lock()
	defer k.mu.Unlock()
	n, err := c.Conn.Write(p[:min(len(p), k.left)])
	k.left -= n
	k.wrote += n
	if n == len(p) || err != nil {
		return n, err
	}
	for _, below := range k.open {
		if k.resets {
			below.SetLinger(0)
			below.Close()
		} else {
			below.CloseWrite() // Close would reset, if a request is unread
		}
	}
	return n, io.ErrShortWrite
}

// TestCut: an answer that is cut after any of its bytes, by FIN or RST, is a success or a
// missing file only from the byte on that completes it.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		name string
		ftp  ftpServer
		want Cause
	}{
		{"file", ftpServer{}, OK},
		{"file after PASV", ftpServer{epsv: "500-what\r\n229 is\r\n500 that"}, OK},
		{"empty file", ftpServer{data: func(net.Conn) {}}, Empty},
		{"553", ftpServer{retr: "553 no"}, FTPAbsent},
		{"532", ftpServer{user: "532 account please"}, FTPDenied},
		{"550", ftpServer{retr: "550-there is\r\n226 no such\r\n550 file"}, FTPAbsent},
		{"530", ftpServer{user: "530 not here"}, FTPDenied},
		{"332", ftpServer{pass: "332 account please"}, FTPDenied},
	} {
		complete := -1
		if c.ftp.epsv != "" {
			complete = -endOfPASV
		}
		cutEverywhere(t, "ftp "+c.name, fault{url: "ftp://site.test:PORT/"}, c.want, complete, func(k *cutter, s *site, conn net.Conn) {
			server := c.ftp
			server.wrap = func(c net.Conn) net.Conn { return k.wrap(c, c.(*net.TCPConn)) }
			server.serve(s, conn)
		})
	}
	const chunks = "Transfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		name, head, body string
		want             Cause
		plain, sealed    bool // whether the head is all, without TLS and with TLS that is cut behind it
	}{
		{"200", "HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\n", someRules, OK, false, false},
		{"200 in chunks", "HTTP/1.1 200 OK\r\n" + chunks, "21\r\n" + someRules + "\r\n0\r\nExpires: now\r\n\r\n", OK, false, false},
		{"200 empty in chunks", "HTTP/1.1 200 OK\r\n" + chunks, "0\r\n\r\n", Empty, false, false},
		{"200 in gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzipped(someRules), OK, false, false},
		{"203 after 103", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 203 OK\r\nContent-Length: 33\r\n\r\n", someRules, OK, false, false},
		{"204", "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n", "", Empty, true, false},
		{"205", "HTTP/1.1 205 Reset Content\r\nServer: x\r\n\r\n", "", Empty, true, false},
		{"205, length", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", "", Empty, true, true},
		{"205 in chunks", "HTTP/1.1 205 Reset Content\r\n" + chunks, "0\r\n\r\n", Empty, false, false},
		{"404", "HTTP/1.1 404 Not Found\r\nContent-Length: 33\r\n\r\n", someRules, ClientError, true, true},
		{"410", "HTTP/1.1 410 Gone\r\nServer: x\r\n\r\n", "", ClientError, true, true},
	} {
		for scheme, all := range map[string]bool{"http": c.plain, "https": c.sealed} {
			complete := len(c.head)
			if !all {
				complete = -1
			}
			cutEverywhere(t, scheme+" "+c.name, fault{url: scheme + "://site.test:PORT/"}, c.want, complete, func(k *cutter, s *site, conn net.Conn) {
				speak(func(p *peer) { k.wrap(p.Conn, p.tcp).Write([]byte(c.head + c.body)) })(s, conn)
			})
		}
	}
	ok, missing := whole("200 OK", someRules), "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
	for _, c := range []struct {
		name, proxyURL, url, answer string
		relay                       relay
		want                        Cause
	}{
		{"tunnel", "http://PROXY", "http://site.test:PORT/", ok, relay{}, OK},
		{"tunnel, TLS", "http://PROXY", "https://site.test:PORT/", ok, relay{}, OK},
		{"tunnel, login", "http://me:secret@PROXY", "http://site.test:PORT/", ok, relay{login: "me:secret"}, OK},
		{"tunnel, 404", "http://PROXY", "http://site.test:PORT/", missing, relay{}, ClientError},
		{"TLS to the proxy", "https://site.test:PROXYPORT", "http://site.test:PORT/", ok, relay{}, OK},
		{"forwarded", "http://PROXY", "http://site.test:PORT/", ok, relay{refuses: 403}, OK},
		{"forwarded, 404", "http://PROXY", "http://site.test:PORT/", missing, relay{refuses: 403}, ClientError},
		{"SOCKS5", "socks5://PROXY", "http://site.test:PORT/", ok, relay{}, OK},
		{"SOCKS5, login", "socks5://me:secret@PROXY", "http://site.test:PORT/", ok, relay{login: "me:secret"}, OK},
		{"SOCKS5, host name", "socks5h://PROXY", "https://site.test:PORT/", ok, relay{}, OK},
		{"SOCKS5, 404", "socks5://PROXY", "http://site.test:PORT/", missing, relay{}, ClientError},
	} {
		f := fault{url: c.url, proxyURL: c.proxyURL, serve: answer(c.answer)}
		complete := -1
		if strings.Contains(c.url+c.proxyURL, "https:") {
			complete = -endOfTLS
		}
		cutEverywhere(t, "proxy "+c.name, f, c.want, complete, func(k *cutter, s *site, conn net.Conn) {
			c.relay.serve(s, k.wrap(conn, conn.(*net.TCPConn)))
		})
	}
	for _, c := range []struct {
		name   string
		want   Cause
		script func(f *framer)
	}{
		{"200", OK, func(f *framer) { f.file() }},
		{"200, length", OK, func(f *framer) {
			f.head(false, ":status", "200", "content-length", "33")
			f.WriteData(1, false, []byte(someRules))
			f.WriteData(1, true, nil)
		}},
		{"200, trailers", OK, func(f *framer) {
			f.head(false, ":status", "200")
			f.WriteData(1, false, []byte(someRules))
			f.head(true, "expires", "now")
		}},
		{"200 empty", Empty, func(f *framer) { f.head(true, ":status", "200", "server", "somebody") }},
		{"204", Empty, func(f *framer) { f.head(true, ":status", "204", "server", "somebody") }},
		{"204, empty frame", Empty, func(f *framer) { f.head(false, ":status", "204"); f.WriteData(1, true, nil) }},
		{"205, trailers", Empty, func(f *framer) { f.head(false, ":status", "205"); f.head(true, "expires", "now") }},
		{"404", ClientError, func(f *framer) { f.head(true, ":status", "404", "server", "somebody") }},
		{"404 in two frames", ClientError, func(f *framer) {
			b := block(":status", "404", "server", "somebody")
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:3], EndStream: true})
			f.WriteContinuation(1, true, b[3:])
		}},
	} {
		var text bytes.Buffer
		c.script(&framer{Framer: http2.NewFramer(&text, nil)})
		cutEverywhere(t, "HTTP/2 "+c.name, fault{url: "https://site.test:PORT/"}, c.want, -1, func(k *cutter, s *site, conn net.Conn) {
			frames(func(f *framer) {
				k.wrap(f.conn, f.tcp).Write(text.Bytes())
				f.hang()
			})(s, conn)
		})
	}
}

// endOfTLS is more than the bytes after the last one of a file with a length: a close_notify, and
// as much as the handshakes of one server differ in size.
const endOfTLS = 32

// endOfPASV is more than the bytes by which replies to PASV differ: a port has its second half in one
// to three digits.
const endOfPASV = 4

// cutEverywhere runs a fault whole, and cut after each byte. A good outcome is expected of the
// whole, and of a part only from the given byte on, if any. Below -1 it is that number before the
// end, and there the outcome is not checked.
func cutEverywhere(t *testing.T, name string, f fault, want Cause, complete int, serve func(k *cutter, s *site, c net.Conn)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		var now atomic.Pointer[cutter] // of the fetch under way: a server may be late to see its end
		cutting := func(s *site, c net.Conn) { serve(now.Load(), s, c) }
		if f.proxyURL != "" {
			f.proxy = cutting
		} else {
			f.raw = cutting
		}
		play := f.open(t)
		whole := &cutter{left: 1 << 20}
		now.Store(whole)
		if r := play(patient); r.Cause != want {
			t.Fatalf("whole: %v (%s), want %v", r.Cause, r.Detail, want)
		}
		whole.mu.Lock()
		all := whole.wrote
		whole.mu.Unlock()
		if all < 10 {
			t.Fatalf("only %d bytes were written", all)
		}
		step := campaign.Size(5, 4, 1)
		if f.proxyURL != "" {
			step = campaign.Size(11, 9, 1)
		}
		for n := 0; n < all; n += step {
			for _, resets := range []bool{false, true} {
				now.Store(&cutter{left: n, resets: resets})
				r := play(patient)
				if complete < -1 && n > all+complete {
					continue
				}
				if done := complete >= 0 && n >= complete; r.Outcome.Good() && !done || !r.Outcome.Good() && done && !resets {
					t.Errorf("after %d of %d bytes, reset: %v: %v, %v (%s)", n, all, resets, r.Outcome, r.Cause, r.Detail)
				}
				checkVerdicts(t, r)
			}
		}
	})
}
