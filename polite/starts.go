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

// starts starts what one RoundTrip of the Base writes: a request, and any that net/http
// sends again because the site closed a kept connection. Each has its own start.
type starts struct {
	request *request
	ctx     context.Context //nolint:containedctx // of the request: that of a connection might outlive it
	cancel  context.CancelCauseFunc
	proxied bool // the address is that of a proxy, which has no pace (D-57)

	mu       sync.Mutex // held during Start: other connections of the request wait
	started  bool       // at addr, and nothing was written since
	addr     netip.Addr
	assigned bool  // the request has a connection: others are for later requests
	written  bool  // a request
	err      error // after which nothing is sent
}

// errAssigned is the error of a connection that the request no longer needs.
var errAssigned = errors.New("the request has another connection")

// trace returns a context in which connections and requests have starts.
func (s *starts) trace() context.Context {
	dial := s.dial
	if s.proxied {
		dial = nil
	}
	ctx := fetch.WithDials(s.ctx, maxDials, dial)
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
	if err := r.options.Limiter.Start(s.ctx, r.permit, addr); err != nil {
		return err
	}
	s.started, s.addr = true, addr
	// While the request waited, the site might have changed its robots.txt.
	if _, later, err := r.Transport.rules(s.ctx, r.origin); err == nil && later != r.rules {
		return r.allowed(later)
	}
	return nil
}

// getConn begins to look for a connection, for the request or to send it again.
func (s *starts) getConn(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assigned = false
}

// gotConn starts a request at the address of its connection, new or kept, before it is
// written.
func (s *starts) gotConn(info httptrace.GotConnInfo) {
	var addr netip.Addr
	if tcp, is := info.Conn.RemoteAddr().(*net.TCPAddr); is && !s.proxied {
		addr = tcp.AddrPort().Addr().Unmap()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.assigned = true; s.start(addr) == nil {
		return
	}
	// Over HTTP/2 a request whose context has ended is not sent, and other requests are on
	// the connection. Over HTTP/1 net/http would send it all the same.
	secured, is := info.Conn.(interface{ ConnectionState() tls.ConnectionState })
	if !is || secured.ConnectionState().NegotiatedProtocol != "h2" {
		info.Conn.Close()
	}
}

// wroteHeaders ends a start: what is written after it needs another.
func (s *starts) wroteHeaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.written = false, true
}

// end ends all starts. It returns whether a request was written, and why no other was.
func (s *starts) end() (written bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.err
	s.err = cmp.Or(err, errAssigned)
	return s.written, err
}

// proxied reports whether a request goes through a proxy. All sites behind it would share
// the pace of its address.
func (t *Transport) proxied(req *http.Request) bool {
	base, ok := t.options.Base.(*http.Transport)
	if !ok || base.Proxy == nil {
		return false
	}
	by, err := base.Proxy(req)
	return err == nil && by != nil
}
