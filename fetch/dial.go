package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/robotskit/robots"
)

// maxAddresses is how many addresses of a host are tried.
const maxAddresses = 6

// open connects to an origin, with TLS and one offered protocol for https, and records how and
// how long each phase took in the hop.
func (s *session) open(o robots.Origin, offer string) (*limitedConn, *failure) {
	if s.client.options.Transport != nil {
		return nil, &failure{NoNetwork, "a Transport does not support " + o.Scheme()}
	}
	if f := s.ensureResolved(o); f != nil {
		return nil, f
	}
	conn, err := dialAny(s.addresses, s.client.limits.Connect, s.attempt)
	if err != nil {
		return nil, s.classifyConnectError(err)
	}
	if at := s.addresses[0]; at.IsValid() {
		s.hop().Address = at.String()
	}
	if o.Scheme() != "https" {
		return &limitedConn{Conn: conn}, nil
	}
	began := time.Now()
	secured, f := s.secure(conn, o.Host(), offer)
	s.hop().TLS += time.Since(began)
	if f != nil {
		conn.Close()
		return nil, f
	}
	return &limitedConn{Conn: secured}, nil
}

// ensureResolved resolves an origin if that has not happened, and returns why it cannot be dialed.
func (s *session) ensureResolved(o robots.Origin) *failure {
	if s.addresses == nil && s.unresolved == nil {
		s.resolve(o)
	}
	s.hop().Via = s.proxyDescription()
	return s.unresolved
}

// resolve sets the proxy of an origin and either the addresses to dial, in s.at, or the
// reason why there are none, in s.failed.
func (s *session) resolve(o robots.Origin) {
	s.host = o.Host()
	s.refused = 0
	s.proxy, s.unresolved = s.client.proxy(s.caller, o)
	if s.unresolved != nil {
		return
	}
	ip, err := netip.ParseAddr(s.host)
	addresses := []netip.Addr{ip} // invalid for a name
	if err != nil && s.client.options.Transport == nil && (s.proxy == nil || s.proxy.Scheme == "socks5") {
		addresses, s.unresolved = s.lookup(s.host)
	}
	if s.unresolved == nil {
		if s.addresses, err = s.client.permittedAddresses(s.host, addresses, uint16(o.Port())); err != nil {
			s.noteRefused(err)
			s.unresolved = classifyNetError(err, CauseNone)
		}
	}
	if s.proxy != nil && len(s.addresses) > 1 {
		// Each attempt is a connection to the proxy, and many proxies have no IPv6.
		i := slices.IndexFunc(s.addresses, func(at netip.AddrPort) bool { return at.Addr().Is4() })
		s.addresses = s.addresses[max(i, 0):][:1]
	}
}

// lookup returns the addresses of a host in the order to try them.
func (s *session) lookup(host string) ([]netip.Addr, *failure) {
	lookups := &s.client.pool.lookups
	if f := s.waitUncounted(func() error { return lookups.acquire(s.caller, netip.Addr{}) }); f != nil {
		return nil, f
	}
	defer lookups.release(netip.Addr{})
	began := time.Now()
	defer func() { s.hop().DNS = time.Since(began) }()
	ctx, cancel := context.WithTimeout(s.ctx, s.client.limits.DNS)
	defer cancel()
	addresses, err := s.client.lookup(ctx, host)
	if err == nil {
		return addresses, nil
	}
	f := classifyNetError(err, DNSTimeout)
	switch {
	case s.totalExceeded():
		f = &failure{Timeout, "while resolving the host"}
	case ctx.Err() != nil:
		f = &failure{DNSTimeout, ""}
	case f == nil:
		f = &failure{DNSFailure, err.Error()}
	}
	return nil, f
}

// lookup returns the addresses of a host, at least one if there is no error.
func (c *Client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if c.hosts != nil {
		if addresses, err := c.hosts.LookupNetIP(ctx, "ip", host); err == nil && len(addresses) > 0 {
			return addresses, nil
		}
	}
	name := strings.TrimSuffix(host, ".") + "." // search domains are not tried
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	delay := c.limits.DNS / resolutionDelays
	both := c.startLookups(ctx, name, "ip") // ordered by preference
	select {
	case r := <-both:
		if !isNotFound(r.err) {
			return r.addresses, r.err
		}
	case <-time.After(delay):
	}
	// If one family has no address, package net waits for the other, and if none has one, it
	// returns the error of either. The host does not exist only if no lookup failed: otherwise
	// the other family might have an address.
	failed := error(&net.DNSError{Err: "no address", Name: host, IsNotFound: true})
	families := c.startLookups(ctx, name, "ip4", "ip6")
	var usable []netip.Addr
	var enough <-chan time.Time
	for left := cap(families); left > 0; {
		select {
		case r := <-both:
			if r.err == nil {
				return r.addresses, nil
			}
		case r := <-families:
			left--
			if r.err == nil {
				usable = append(usable, r.addresses...)
				enough = time.After(delay)
			} else if !isNotFound(r.err) {
				failed = r.err
			}
		case <-enough:
			left = 0
		}
	}
	if len(usable) > 0 {
		return usable, nil
	}
	return nil, failed
}

// resolutionDelays is the part of Limits.DNS that the lookup of both address families has before
// one family is enough, and the part that the other one has then (RFC 8305 section 3: 50 ms, for
// users who wait).
const resolutionDelays = 5

// A lookupResult has at least one address if there is no error.
type lookupResult struct {
	addresses []netip.Addr
	err       error
}

// startLookups starts a lookup for each network, ip, ip4 or ip6. Each ends with the context.
func (c *Client) startLookups(ctx context.Context, name string, networks ...string) <-chan lookupResult {
	results := make(chan lookupResult, len(networks))
	for _, network := range networks {
		go func() {
			addresses, err := c.options.Resolver.LookupNetIP(ctx, network, name)
			if err == nil && len(addresses) == 0 {
				err = &net.DNSError{Err: "no address", Name: name, IsNotFound: true}
			}
			results <- lookupResult{addresses, err}
		}()
	}
	return results
}

func isNotFound(err error) bool {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	return isDNS && dns.IsNotFound
}

// isSocket reports whether the text of a DNSError is that of a net.OpError: this machine could
// not reach a name server. Package net keeps only the text.
func isSocket(text string) bool {
	op, _, _ := strings.Cut(text, " ")
	return op == "dial" || op == "read" || op == "write"
}

// permittedAddresses returns the addresses of a host to dial: those that the guard does not refuse. If
// it refuses all, that is the failure.
func (c *Client) permittedAddresses(host string, addresses []netip.Addr, port uint16) ([]netip.AddrPort, error) {
	var allowed []netip.AddrPort
	var refused error
	for _, ip := range addresses {
		at := netip.AddrPortFrom(ip.Unmap(), port)
		err := c.options.Guard.checkName(host, port)
		if ip.IsValid() {
			err = c.options.Guard.Check(at)
		}
		if err != nil {
			refused = err
		} else if len(allowed) < maxAddresses {
			allowed = append(allowed, at)
		}
	}
	if len(allowed) == 0 {
		return nil, refused
	}
	return allowed, nil
}

// firstTry is how long a connection to one of several addresses can take before the next
// address is tried. TCP repeats its first packet after a second (RFC 6298 section 2): so a
// dead address costs a second, and a distant one is rarely skipped.
const firstTry = time.Second

// dialAny connects to the first address that answers, within most. Those that did not answer
// within firstTry share the remaining time after all others. It stops if try returns stop.
//
// Happy Eyeballs (RFC 8305) would start a second connection after 250 ms. Here connections
// start one at a time, because each one counts at its address, where other sites wait.
func dialAny(
	at []netip.AddrPort, most time.Duration, try func(at netip.AddrPort, most time.Duration) (conn net.Conn, stop bool, err error),
) (net.Conn, error) {
	var worst error
	for first := len(at) > 1; len(at) > 0; first = false {
		var silent []netip.AddrPort
		for i, a := range at {
			within := most / time.Duration(len(at)-i)
			if first {
				within = min(within, firstTry)
			}
			most -= within
			conn, stop, err := try(a, within)
			if err == nil || stop {
				return conn, err
			}
			f := classifyNetError(err, ConnectTimeout)
			if first && f != nil && f.cause == ConnectTimeout {
				silent = append(silent, a)
			}
			// A failure of the site says more than a missing route, such as to IPv6.
			if worst == nil || f == nil || !f.cause.OwnSide() {
				worst = err
			}
		}
		at = silent
	}
	return nil, worst
}

// attempt tries an address of s.at and holds a slot of the pool while it does.
func (s *session) attempt(at netip.AddrPort, most time.Duration) (conn net.Conn, stop bool, err error) {
	if f := s.acquireSlot(at.Addr()); f != nil {
		return nil, true, f
	}
	began := time.Now()
	conn, err = s.connect(at, most)
	s.hop().Connect += time.Since(began)
	if err != nil {
		s.releaseSlot()
		return nil, s.totalExceeded(), err
	}
	s.addresses = []netip.AddrPort{at} // for a second connection
	return conn, false, nil
}

// connect opens one connection to the site.
func (s *session) connect(at netip.AddrPort, most time.Duration) (net.Conn, error) {
	if s.proxy != nil {
		return s.tunnel(at, most)
	}
	return s.client.dial(s.ctx, at.String(), most, true)
}

// dial opens a connection to a site, which is guarded, or to a proxy.
func (c *Client) dial(ctx context.Context, address string, most time.Duration, guarded bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, max(most, time.Millisecond))
	defer cancel()
	d := &net.Dialer{Resolver: c.options.Resolver}
	if guarded {
		d.Control = c.options.Guard.Control
	}
	conn, err := c.connect(ctx, d, address)
	if err != nil || !guarded {
		return conn, err
	}
	if at, isTCP := conn.RemoteAddr().(*net.TCPAddr); isTCP && at.AddrPort().IsValid() && !at.IP.IsUnspecified() {
		if err := c.options.Guard.Check(at.AddrPort()); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// awaitCallback calls a function of the caller, which might ignore that the context has ended: then it
// runs on alone and its result is dropped. If it panics, or returns no result and no error,
// that is an error.
func awaitCallback[T comparable](ctx context.Context, do func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	done := make(chan result)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: fmt.Errorf("panic: %v", p)}
			} else if r.err == nil && r.value == none {
				r.err = errors.New("neither a result nor an error")
			}
			select {
			case done <- r:
			case <-ctx.Done():
				if r.err == nil {
					drop(r.value)
				}
			}
		}()
		r.value, r.err = do()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// noteRefused records the address that the Guard refused, if the error is a refusal.
func (s *session) noteRefused(err error) {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		s.record.Refused = refused.Address
	}
}

func (s *session) classifyConnectError(err error) *failure {
	s.noteRefused(err)
	f, known := errors.AsType[*failure](err)
	if !known {
		f = classifyNetError(err, ConnectTimeout)
	}
	switch {
	case s.totalExceeded() && (f == nil || f.cause.Outcome() != Refused):
		return &failure{Timeout, "while connecting"}
	case f != nil:
		return f
	}
	if s.client.options.Dial != nil {
		return &failure{ProxyFailed, "Dial: " + withoutCredentials(err)}
	}
	return &failure{ConnectFailed, err.Error()}
}

// classifyNetError returns why there is no address, connection or TLS, nil if the error does not say.
// Late is the cause of a timeout. crypto/tls has no error types for version mismatches, so they
// are recognized by their text.
func classifyNetError(err error, late Cause) *failure {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return &failure{refused.cause(), strings.TrimPrefix(refused.Error(), "refused: ")}
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	if !isDNS {
		dns = &net.DNSError{}
	}
	timeout, isNet := errors.AsType[net.Error](err)
	call, isCall := errors.AsType[syscall.Errno](err)
	op, isOp := errors.AsType[*net.OpError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, isName := errors.AsType[x509.HostnameError](err)
	_, isIssuer := errors.AsType[x509.UnknownAuthorityError](err)
	roots, isRoots := errors.AsType[x509.SystemRootsError](err)
	_, isVerify := errors.AsType[*tls.CertificateVerificationError](err)
	header, isHeader := errors.AsType[tls.RecordHeaderError](err)
	text := err.Error()
	_, ofVerify, _ := strings.Cut(text, "tls: failed to verify certificate: ")
	isAlert := isOp && op.Op == "remote error"
	_, ofAlert, _ := strings.Cut(text, "remote error: tls: ")
	for _, row := range []struct {
		is     bool
		cause  Cause
		detail string
	}{
		{dns.IsNotFound, DNSNotFound, ""},
		{dns.IsTimeout, DNSTimeout, ""},
		{dns.IsTemporary && isSocket(dns.Err), DNSFailure, "no name server is reachable: " + dns.Err},
		{dns.IsTemporary, DNSServer, dns.Err},
		{isDNS, DNSFailure, dns.Err},
		{call == syscall.ECONNREFUSED, ConnectRefused, ""},
		{call == syscall.ECONNRESET, Reset, ""},
		{isNet && timeout.Timeout(), late, ""},
		{slices.Contains(noNetwork, call), NoNetwork, call.Error()},
		{isCall, ConnectFailed, call.Error()},
		{isInvalid && invalid.Reason == x509.Expired, TLSExpired, invalid.Detail},
		{isName, TLSName, ""},
		{isIssuer, TLSIssuer, ""},
		{isRoots, TLSRoots, roots.Error()},
		{isVerify, TLSFailure, ofVerify},
		{strings.Contains(text, "unsupported protocol version"), TLSVersion, ""},
		{strings.Contains(text, "protocol version not supported"), TLSVersion, ""},
		{isAlert && ofAlert == "no application protocol", TLSProtocol, ""},
		{isAlert, TLSAlert, ofAlert},
		{isHeader, TLSFailure, fmt.Sprintf("the answer is not TLS, it begins with %q", header.RecordHeader[:])},
	} {
		if row.is {
			return &failure{row.cause, row.detail}
		}
	}
	return nil
}

// noNetwork lists the errors of a machine that cannot connect (D-55): without an interface, a
// route, an address, a socket or memory, or behind its own firewall. A distant router can
// cause ENETUNREACH too, which is rare. EHOSTUNREACH is not in the list, as it is usually sent
// by the last router before the site. A dead gateway causes it too, but then name servers are
// also unreachable, which is noticed first.
var noNetwork = []syscall.Errno{
	syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, syscall.EACCES, syscall.EPERM,
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
}

// acquireSlot acquires a slot of the pool at an address, unless the session holds it already.
func (s *session) acquireSlot(addr netip.Addr) *failure {
	if s.holdsSlot && s.slotAddress == addr {
		return nil
	}
	f := s.waitUncounted(func() error { return s.client.pool.acquire(s.caller, s.record.Origin, addr) })
	if f == nil {
		s.holdsSlot = true
		s.slotAddress = addr
	}
	return f
}

// waitUncounted calls a function that waits for others. That time does not count against
// Limits.Total: otherwise many origins at one address would look like many failures.
func (s *session) waitUncounted(f func() error) *failure {
	began := time.Now()
	s.err = f()
	if s.err != nil {
		return &failure{Timeout, "while waiting for a connection"}
	}
	s.totalDeadline = s.totalDeadline.Add(time.Since(began))
	s.startTotal()
	return nil
}

// startTotal makes s.ctx end with the time of the fetch.
func (s *session) startTotal() {
	if s.cancel != nil {
		s.cancel()
	}
	s.ctx, s.cancel = context.WithDeadlineCause(s.caller, s.totalDeadline, errTotal)
}

// releaseSlot releases the slot of the pool. It precedes every wait.
func (s *session) releaseSlot() {
	if s.holdsSlot {
		s.client.pool.release(s.slotAddress)
		s.holdsSlot = false
	}
}

// endHop ends a hop.
func (s *session) endHop() {
	if s.cancel != nil {
		s.cancel()
	}
	s.releaseSlot()
	s.addresses = nil
	s.unresolved = nil
	s.proxy = nil
}

// totalExceeded reports whether Limits.Total has passed.
func (s *session) totalExceeded() bool {
	return s.ctx.Err() != nil && errors.Is(context.Cause(s.ctx), errTotal) || !time.Now().Before(s.totalDeadline)
}

// closeOnCancel closes a connection if the caller's context ends, until the returned function is
// called. Limits.Total needs no such function, as each read and write has a deadline.
func (s *session) closeOnCancel(conn net.Conn) func() bool {
	return context.AfterFunc(s.caller, func() { conn.Close() })
}

// phaseDeadline returns the end of a phase of at most this duration, limited by the end of the fetch,
// and the cause if it passes.
func (s *session) phaseDeadline(most time.Duration, late Cause) (time.Time, Cause) {
	if t := time.Now().Add(most); t.Before(s.totalDeadline) {
		return t, late
	}
	return s.totalDeadline, Timeout
}

// A checkedConn is a connection whose end is checked: end returns an error instead of io.EOF, nil
// if that is right.
type checkedConn struct {
	net.Conn
	end func() error
}

func (c *checkedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		err = cmp.Or(c.end(), err)
	}
	return n, err
}

// An eofRecorder is a connection that returns first what was received before. Below TLS it notes whether TCP
// has ended: after a close_notify TLS
// reads no further.
type eofRecorder struct {
	net.Conn
	pending []byte // received before, and not yet read
	ended   bool
}

func (c *eofRecorder) Read(p []byte) (int, error) {
	if len(c.pending) > 0 {
		n := copy(p, c.pending)
		c.pending = c.pending[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	c.ended = c.ended || errors.Is(err, io.EOF)
	return n, err
}

// secure performs the TLS handshake.
func (s *session) secure(conn net.Conn, host, offer string) (net.Conn, *failure) {
	until, late := s.phaseDeadline(s.client.limits.TLS, TLSTimeout)
	if err := conn.SetDeadline(until); err != nil {
		return nil, &failure{TLSFailure, err.Error()}
	}
	below := &eofRecorder{Conn: conn}
	config := s.client.tls(host, offer)
	c := tls.Client(below, config)
	defer s.closeOnCancel(conn)()
	err := c.HandshakeContext(s.ctx)
	if err == nil {
		// TLS ends only if TLS says so. crypto/tls also returns io.EOF where TCP ends between two
		// records, which anybody on the path can cause: half of a file without a length would
		// pass for all of it (RFC 8446 section 6.1, RFC 9112 section 9.8).
		return &checkedConn{c, func() error {
			if below.ended {
				return io.ErrUnexpectedEOF
			}
			return nil
		}}, nil
	}
	f := classifyNetError(err, late)
	switch {
	case f == nil:
		f = &failure{TLSFailure, strings.TrimPrefix(err.Error(), "tls: ")}
	case f.cause == Reset || f.cause == ConnectFailed:
		f = &failure{TLSFailure, "connection reset"}
	case f.cause == late && s.totalExceeded():
		f.cause = Timeout
	case f.cause == TLSIssuer && noRoots(config.RootCAs):
		f.cause = TLSRoots
	}
	return nil, f
}

// tls returns the configuration of a handshake that offers these protocols.
func (c *Client) tls(host string, offer ...string) *tls.Config {
	config := c.options.TLS.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.ServerName = host
	config.NextProtos = offer
	return config
}

// noRoots reports whether there are no root certificates, in the pool or, if it is nil, in the
// system: then every issuer is unknown.
func noRoots(pool *x509.CertPool) bool {
	if pool == nil {
		var err error
		if pool, err = x509.SystemCertPool(); err != nil {
			return true
		}
	}
	return pool.Equal(x509.NewCertPool())
}
