package polite

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync"

	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// starts starts every request that one RoundTrip of the Base writes: the request, and
// repetitions by net/http after the site closed a kept connection. Each has its own start.
type starts struct {
	request *request
	ctx     context.Context //nolint:containedctx // of the request: that of a connection might outlive it
	cancel  context.CancelCauseFunc
	proxied bool // the address is that of a proxy, which is not limited (D-57)

	mu       sync.Mutex // held while a start waits, so other connections of the request wait
	started  bool       // at addr, and nothing was written since
	addr     netip.Addr
	assigned bool  // the request has a connection; further ones are for later requests
	written  bool  // a request was written
	err      error // if set, nothing is sent
}

// errAssigned is the error for a connection that the request no longer needs.
var errAssigned = errors.New("the request has another connection")

// trace returns a context in which connections and requests wait for their starts.
func (s *starts) trace() context.Context {
	ctx := fetch.WithDials(s.ctx, maxDials, s.dial)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: s.getConn, GotConn: s.gotConn, WroteHeaders: s.wroteHeaders})
}

// dial starts a request at an address, before its connection is opened. An invalid address
// is unknown.
func (s *starts) dial(_ context.Context, addr netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.assigned {
		return errAssigned
	}
	return s.start(addr)
}

func (s *starts) start(addr netip.Addr) error {
	if s.proxied {
		addr = netip.Addr{}
	}
	if s.err != nil || s.started && s.addr == addr {
		return s.err
	}
	if s.err = s.startNew(addr); s.err != nil {
		s.cancel(s.err)
	}
	return s.err
}

func (s *starts) startNew(addr netip.Addr) error {
	r := s.request
	if s.started { // at another address, which did not respond
		r.release(pace.Result{Unused: true})
		if err := r.acquire(s.ctx); err != nil {
			return err
		}
	}
	for {
		if err := r.start(s.ctx, addr); err != nil {
			return err
		}
		// The site's robots.txt might have been fetched during the wait.
		canStart, err := r.judgeAgain(s.ctx)
		if err != nil {
			return err
		}
		if canStart {
			s.started, s.addr = true, addr
			return nil
		}
		r.release(pace.Result{Unused: true})
		if err := r.acquire(s.ctx); err != nil {
			return err
		}
	}
}

// getConn is called when net/http looks for a connection.
func (s *starts) getConn(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assigned = false
}

// gotConn starts a request at the address of its connection before it is written.
func (s *starts) gotConn(info httptrace.GotConnInfo) {
	var addr netip.Addr
	if tcp, is := info.Conn.RemoteAddr().(*net.TCPAddr); is {
		addr = tcp.AddrPort().Addr().Unmap()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.assigned = true; s.start(addr) == nil {
		return
	}
	// With HTTP/2 a request whose context has ended is not sent, and the connection has other
	// requests. With HTTP/1 net/http would send it.
	secured, is := info.Conn.(interface{ ConnectionState() tls.ConnectionState })
	if !is || secured.ConnectionState().NegotiatedProtocol != "h2" {
		info.Conn.Close()
	}
}

// wroteHeaders ends a start: the next write needs another.
func (s *starts) wroteHeaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.written = false, true
}

// end ends all starts. It returns whether a request was written, and the error that prevented
// one.
func (s *starts) end() (written bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.err
	s.err = cmp.Or(err, errAssigned)
	return s.written, err
}

// proxied reports whether a request uses a proxy, at whose address all sites would share a
// limit.
func (t *Transport) proxied(req *http.Request) bool {
	base, ok := t.options.Base.(*http.Transport)
	if !ok || base.Proxy == nil {
		return false
	}
	by, err := base.Proxy(req)
	return err == nil && by != nil
}
