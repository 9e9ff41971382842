package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots"
)

// transport sends a request with the caller's RoundTripper and applies the limits that can be
// applied from outside: one timeout up to the headers, and sizes of what it returns. The
// RoundTripper runs in a goroutine, which is left behind if it ignores its context.
func (s *session) transport(at robots.Origin, target string) (*reply, *failure) {
	if f := s.ensureResolved(at); f != nil {
		return nil, f
	}
	if f := s.acquireSlot(s.addresses[0].Addr()); f != nil {
		return nil, f
	}
	began := time.Now()
	defer func() { s.hop().Header += time.Since(began) }()
	l := &s.client.limits
	until, late := s.phaseDeadline(l.DNS+l.Connect+l.TLS+l.Header, HeaderTimeout)
	waiting, enough := context.WithDeadline(s.ctx, until)
	defer enough()
	ctx, cancel := context.WithCancel(s.ctx)
	req := s.client.requestFor(ctx, at, target)
	if credentials := s.client.credentials(at); credentials != "" {
		req.Header.Set("Authorization", credentials)
	}
	asked := req.URL.String()
	resp, err := awaitCallback(waiting, func() (*http.Response, error) { return s.client.options.Transport.RoundTrip(req) }, closeResponse)
	if err != nil {
		cancel()
		if waiting.Err() != nil {
			return nil, &failure{late, ""}
		}
		s.noteRefused(err)
		return nil, classifyTransportError(err)
	}
	r := &reply{Response: resp}
	resp.Proto = printableDetail(resp.Proto)
	if resp.Uncompressed {
		r.ContentLength = -1
	} else if r.ContentLength == 0 { // responses made by hand often leave it unset
		if r.ContentLength, err = strconv.ParseInt(r.Header.Get("Content-Length"), 10, 64); err != nil {
			r.ContentLength = -1
		}
	}
	r.conn = s.connFromBody(resp, r.ContentLength)
	r.conn.setQuota(l.MaxRawBytes, RawLimit)
	r.body = r.conn
	stop := s.closeOnCancel(r.conn)
	r.stop = func() bool { cancel(); return stop() }
	for name, values := range r.Header {
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
	s.hop().Status = r.StatusCode
	s.hop().Protocol = r.Proto
	return r, nil
}

// requestFor returns a request for a RoundTripper or the choice of a proxy.
func (c *Client) requestFor(ctx context.Context, at robots.Origin, target string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String()+target, nil)
	if err != nil { // net/url rejects the target, which is sent as it is
		req, _ = http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		req.URL.Opaque = "//" + req.Host + target
	}
	req.Header = http.Header{"User-Agent": {c.options.UserAgent}, "Accept": {accept}, "Accept-Encoding": {acceptEncoding}}
	return req
}

// closeResponse closes a response that is no longer needed.
func closeResponse(resp *http.Response) {
	defer func() { _ = recover() }() // the caller's body can panic
	if resp.Body != nil {
		resp.Body.Close()
	}
}

// connFromBody turns a response body into a limitedConn. A goroutine reads the body until it ends or
// the connection is closed.
func (s *session) connFromBody(resp *http.Response, length int64) *limitedConn {
	ours, theirs := net.Pipe()
	var failed error // written before theirs is closed
	go func() {
		defer theirs.Close()
		defer func() {
			if p := recover(); p != nil {
				failed = fmt.Errorf("panic: %v", p)
			}
		}()
		if resp.Body == nil {
			resp.Body = http.NoBody // like net/http
		}
		n, err := io.Copy(theirs, resp.Body)
		if err == nil && length >= 0 && n != length {
			err = io.ErrUnexpectedEOF
		}
		if f := invalidFields(resp.Trailer, resp.ProtoMajor); err == nil && f != nil {
			err = f
		}
		failed = err
		resp.Body.Close()
	}()
	return &limitedConn{Conn: &checkedConn{ours, func() error { return failed }}}
}

// classifyTransportError returns the failure for an error of the caller's RoundTripper. Errors that are
// not known to be the site's or the network's are its own.
func classifyTransportError(err error) *failure {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks")) {
		return &failure{ProxyFailed, withoutCredentials(err)}
	}
	if f := classifyNetError(err, ConnectTimeout); f != nil {
		return f
	}
	switch {
	case errors.Is(err, io.EOF):
		return &failure{Closed, ""}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{Incomplete, ""}
	}
	return &failure{ProxyFailed, "Transport: " + withoutCredentials(err)}
}

type dialsKey struct{}

// dials limits the connections of one request.
type dials struct {
	remaining atomic.Int32
	start     func(context.Context, netip.Addr) error
}

// WithDials returns a context for one request, for which a transport of Client.Transport opens
// at most so many connections; without a limit net/http dials forever if an HTTP/2 server
// accepts no request (GOAWAY with stream 0). If start is not nil, it is called before each
// connection to a site, and its error ends the attempt.
func WithDials(ctx context.Context, most int, start func(ctx context.Context, addr netip.Addr) error) context.Context {
	d := &dials{start: start}
	d.remaining.Store(int32(most))
	return context.WithValue(ctx, dialsKey{}, d)
}

// Transport returns an http.Transport for pages that connects like the client: with the same
// Resolver, Guard, Proxy, Dial and TLS, and has Go's usual limits. WithDials limits the
// connections of a request. Proxies, socks5 too, get the host names of pages, so the Guard checks
// only literal addresses and ports there. Transport returns nil if the client has
// Options.Transport: use that.
func (c *Client) Transport() *http.Transport {
	if c.options.Transport != nil {
		return nil
	}
	base := &http.Transport{
		TLSClientConfig: c.tls(""), ForceAttemptHTTP2: true, MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
	}
	var proxies sync.Map // addresses, which the guard does not check
	if c.options.Proxy != nil {
		base.Proxy = func(r *http.Request) (*url.URL, error) {
			u, err := c.chooseProxy(r)
			if err != nil {
				return nil, err
			}
			to := r.URL.Hostname()
			port, _ := strconv.ParseUint(cmp.Or(r.URL.Port(), defaultPorts[r.URL.Scheme]), 10, 16)
			if u == nil {
				if _, known := proxies.Load(net.JoinHostPort(to, strconv.FormatUint(port, 10))); known {
					return nil, fmt.Errorf("%s is the address of a proxy: it is no site", r.URL.Host)
				}
				return nil, nil
			}
			if err := c.options.Guard.checkName(to, uint16(port)); err != nil {
				return nil, err
			}
			proxies.Store(proxyAddress(u), true)
			return u, nil
		}
	}
	base.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		var start func(context.Context, netip.Addr) error
		if d, ok := ctx.Value(dialsKey{}).(*dials); ok {
			start = d.start
			if d.remaining.Add(-1) < 0 {
				return nil, fmt.Errorf("no response from %s on any connection of this request: no more are opened", address)
			}
		}
		if _, isProxy := proxies.Load(address); isProxy {
			return c.dial(ctx, address, pageConnect, false)
		}
		return c.dialSite(ctx, address, start)
	}
	return base
}

const pageConnect = 30 * time.Second // as in http.DefaultTransport

// dialSite connects to an address of a site that the Guard permits, each when start returns.
func (c *Client) dialSite(ctx context.Context, address string, start func(context.Context, netip.Addr) error) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	addresses, err := c.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	at, err := c.permittedAddresses(host, addresses, uint16(port))
	if err != nil {
		return nil, err
	}
	return dialAny(at, pageConnect, func(at netip.AddrPort, most time.Duration) (net.Conn, bool, error) {
		if start != nil {
			if err := start(ctx, at.Addr()); err != nil {
				return nil, true, err
			}
		}
		conn, err := c.dial(ctx, at.String(), most, true)
		return conn, ctx.Err() != nil, err
	})
}
