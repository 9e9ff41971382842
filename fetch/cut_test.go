package fetch

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// A cutter ends the connections of a server after so many bytes of what it writes,
// over all of them.
type cutter struct {
	mu     sync.Mutex
	left   int // bytes that may still be written
	wrote  int
	resets bool // RST instead of FIN
	open   []*net.TCPConn
}

// wrap returns a connection that ends with all others. Under it may be TLS, which then
// ends without a close_notify.
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

// TestCut: an answer that is cut after any of its bytes, by FIN or RST, is a success
// or a missing file only from the byte on that completes it.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		name string
		ftp  ftpServer
		want Cause
	}{
		{"file", ftpServer{}, OK},
		{"550", ftpServer{retr: "550-there is\r\n226 no such\r\n550 file"}, FTPAbsent},
		{"530", ftpServer{user: "530 not here"}, FTPDenied},
		{"332", ftpServer{pass: "332 account please"}, FTPDenied},
	} {
		cutEverywhere(t, "ftp "+c.name, fault{url: "ftp://site.test:PORT/"}, c.want, -1, func(k *cutter, s *site, conn net.Conn) {
			server := c.ftp
			server.wrap = func(c net.Conn) net.Conn { return k.wrap(c, c.(*net.TCPConn)) }
			server.serve(s, conn)
		})
	}
}

// cutEverywhere plays a fault whole, and cut after each byte. A good outcome is expected of
// the whole, and of a part from the byte on that is named, if any.
func cutEverywhere(t *testing.T, name string, f fault, want Cause, complete int, serve func(k *cutter, s *site, c net.Conn)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		var now atomic.Pointer[cutter] // of the fetch under way: a server may be late to see its end
		f.raw = func(s *site, c net.Conn) { serve(now.Load(), s, c) }
		play := f.open(t)
		whole := &cutter{left: 1 << 20}
		now.Store(whole)
		if r := play(patient); r.Cause != want {
			t.Fatalf("whole: %v (%s), want %v", r.Cause, r.Detail, want)
		}
		whole.mu.Lock()
		all := whole.wrote
		whole.mu.Unlock()
		if all < 20 {
			t.Fatalf("only %d bytes were written", all)
		}
		for n := 0; n < all; n += campaign.Size(3, 1, 1) {
			for _, resets := range []bool{false, true} {
				now.Store(&cutter{left: n, resets: resets})
				r := play(patient)
				if done := complete >= 0 && n >= complete; r.Outcome.Good() && !done || !r.Outcome.Good() && done && !resets {
					t.Errorf("after %d of %d bytes, reset: %v: %v, %v (%s)", n, all, resets, r.Outcome, r.Cause, r.Detail)
				}
				checkVerdicts(t, r)
			}
		}
	})
}
