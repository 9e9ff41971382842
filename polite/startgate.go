package polite

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// startGate makes every request that one RoundTrip of the Base writes wait for its start: the request,
// and repetitions by net/http after the site closed a kept connection.
type startGate struct {
	ctx     context.Context //nolint:containedctx // of the request: that of a connection might outlive it
	cancel  context.CancelCauseFunc
	proxied bool // the address is that of a proxy, which is not limited (D-57)
	// begin waits until a request can be written to an address. unused is set if the previous start
	// was not used, because its address did not respond.
	begin func(ctx context.Context, addr netip.Addr, unused bool) error

	mu       sync.Mutex // held while a start waits, so other connections of the request wait
	started  bool       // a request can be written to addr, and none was written yet
	addr     netip.Addr
	assigned bool  // the request has a connection; further ones are for later requests
	written  bool  // a request was written
	err      error // if set, nothing is sent
}

// newStartGate returns the gate of a request. Its cancel function is called when the response has
// ended.
func newStartGate(
	base http.RoundTripper, req *http.Request, begin func(ctx context.Context, addr netip.Addr, unused bool) error,
) *startGate {
	ctx, cancel := context.WithCancelCause(req.Context())
	return &startGate{ctx: ctx, cancel: cancel, proxied: proxied(base, req), begin: begin}
}

// send sends the request by its Base. An opaque Base connects to the known address. The error is
// an *unstarted if a start failed.
func (s *startGate) send(base http.RoundTripper, req *http.Request, known netip.Addr) (*http.Response, error) {
	if _, traced := base.(*http.Transport); !traced { // it might not report its connections
		if err := s.dial(s.ctx, known); err != nil {
			return nil, closeBody(req, &notStartedError{err: err})
		}
	}
	resp, err := base.RoundTrip(req.WithContext(s.trace()))
	if written, failed := s.end(); failed != nil {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		return nil, &notStartedError{err: failed, written: written}
	}
	if err == nil && resp == nil {
		err = fmt.Errorf("the Base, a %T, returned neither a response nor an error for %s", base, robots.Printable(req.URL.Redacted()))
	}
	return resp, err
}

// notStartedError is the error of a request that was not written, or was written and not repeated.
type notStartedError struct {
	err     error
	written bool
}

func (e *notStartedError) Error() string { return e.err.Error() }
func (e *notStartedError) Unwrap() error { return e.err }

// Timeout reports whether the context's deadline has passed, for url.Error.
func (e *notStartedError) Timeout() bool {
	timeout, is := e.err.(interface{ Timeout() bool })
	return is && timeout.Timeout()
}

// errAssigned is the error for a connection that the request no longer needs.
var errAssigned = errors.New("the request has another connection")

// trace returns a context in which connections and requests wait for their starts.
func (s *startGate) trace() context.Context {
	ctx := fetch.WithDials(s.ctx, maxDials, s.dial)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: s.getConn, GotConn: s.gotConn, WroteHeaders: s.wroteHeaders})
}

// dial starts a request at an address, before its connection is opened. An invalid address
// is unknown.
func (s *startGate) dial(_ context.Context, addr netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.assigned {
		return errAssigned
	}
	return s.start(addr)
}

// start waits for a start at an address, unless the request has one there. s.mu is held.
func (s *startGate) start(addr netip.Addr) error {
	if s.proxied {
		addr = netip.Addr{}
	}
	if s.err != nil || s.started && s.addr == addr {
		return s.err
	}
	s.err = s.begin(s.ctx, addr, s.started)
	if s.err != nil {
		s.cancel(s.err)
		return s.err
	}
	s.started = true
	s.addr = addr
	return nil
}

// getConn is called when net/http looks for a connection.
func (s *startGate) getConn(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assigned = false
}

// gotConn starts a request at the address of its connection before it is written.
func (s *startGate) gotConn(info httptrace.GotConnInfo) {
	var addr netip.Addr
	if tcp, is := info.Conn.RemoteAddr().(*net.TCPAddr); is {
		addr = tcp.AddrPort().Addr().Unmap()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assigned = true
	if s.start(addr) == nil {
		return
	}
	// With HTTP/2 a request whose context has ended is not sent, and the connection has other
	// requests. With HTTP/1 net/http would send it.
	secured, is := info.Conn.(interface{ ConnectionState() tls.ConnectionState })
	if !is || secured.ConnectionState().NegotiatedProtocol != "h2" {
		info.Conn.Close()
	}
}

// wroteHeaders ends a start: the next request needs another one.
func (s *startGate) wroteHeaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = false
	s.written = true
}

// end closes the gate. It returns whether a request was written, and the error that prevented one.
func (s *startGate) end() (written bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.err
	s.err = cmp.Or(err, errAssigned)
	return s.written, err
}

// proxied reports whether a request uses a proxy, at whose address all sites would share a
// limit.
func proxied(base http.RoundTripper, req *http.Request) bool {
	t, ok := base.(*http.Transport)
	if !ok || t.Proxy == nil {
		return false
	}
	by, err := t.Proxy(req)
	return err == nil && by != nil
}
