package fetch

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/proxy"

	"github.com/robotskit/robots"
)

// proxy returns the proxy for an origin, nil for none.
func (c *Client) proxy(ctx context.Context, o robots.Origin) (*url.URL, *failure) {
	if c.options.Proxy == nil {
		return nil, nil
	}
	u, err := c.chooseProxy(c.requestFor(ctx, o, "/robots.txt"))
	if err != nil {
		return nil, &failure{ProxyFailed, err.Error()}
	}
	return u, nil
}

// chooseProxy returns what Options.Proxy does, if it is a proxy.
func (c *Client) chooseProxy(r *http.Request) (*url.URL, error) {
	u, err := c.options.Proxy(r)
	switch {
	case err != nil:
		return nil, errors.New("cannot choose a proxy: " + withoutCredentials(err))
	case u == nil:
		return nil, nil
	case defaultPorts[u.Scheme] == "":
		return nil, fmt.Errorf("unknown scheme %q (known: http, https, socks5, socks5h)", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("its URL has no host")
	}
	return u, nil
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// withoutCredentials returns the text of an error, unless it might contain the credentials of a URL.
func withoutCredentials(err error) string {
	if text := err.Error(); !strings.Contains(text, "@") {
		return text
	}
	return fmt.Sprintf("an error of type %T, whose text might contain a password", err)
}

// proxyAddress returns the host and port of a proxy.
func proxyAddress(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultPorts[u.Scheme]))
}

// authorization returns the header line for an HTTP proxy.
func authorization(u *url.URL) string {
	if u.User == nil {
		return ""
	}
	return "Proxy-Authorization: " + basic(u.User) + "\r\n"
}

// basic returns the value of a header with a user and password (RFC 7617 section 2).
func basic(user *url.Userinfo) string {
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

// credentials returns the value of the Authorization header for an origin, "" for none.
func (c *Client) credentials(at robots.Origin) string {
	if c.options.Credentials == nil {
		return ""
	}
	user := c.options.Credentials(at)
	if user == nil {
		return ""
	}
	return basic(user)
}

// proxyDescription returns how the current hop connects, for the record.
func (s *session) proxyDescription() string {
	switch {
	case s.client.options.Transport != nil:
		return "transport"
	case s.proxy != nil:
		return s.proxy.Scheme + "://" + proxyAddress(s.proxy)
	case s.client.options.Dial != nil:
		return "dial"
	}
	return ""
}

// tunnel connects to a site through the proxy. Any failure before the tunnel is open is the
// proxy's, even if it blames the site, as that cannot be verified.
func (s *session) tunnel(at netip.AddrPort, most time.Duration) (net.Conn, error) {
	target := at.String()
	if !at.IsValid() {
		target = net.JoinHostPort(s.host, strconv.Itoa(int(at.Port())))
	}
	ctx, cancel := context.WithTimeout(s.ctx, max(most, time.Millisecond))
	defer cancel()
	conn, err := s.dialProxy(ctx)
	if err != nil {
		return nil, proxyFailed(err)
	}
	tunnel := conn
	if strings.HasPrefix(s.proxy.Scheme, "socks5") {
		err = s.socks(ctx, conn, target)
	} else {
		tunnel, err = s.throughHTTP(ctx, conn, target)
	}
	if err != nil {
		conn.Close()
		return nil, proxyFailed(err)
	}
	return tunnel, nil
}

func proxyFailed(err error) *failure {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return &failure{ProxyFailed, "no answer in time"}
	}
	return &failure{ProxyFailed, withoutCredentials(err)}
}

// dialProxy connects to the proxy, whose address is not checked, over TLS if its URL says so.
func (s *session) dialProxy(ctx context.Context) (net.Conn, error) {
	conn, err := s.client.dial(ctx, proxyAddress(s.proxy), s.client.limits.Connect, false)
	if err != nil || s.proxy.Scheme != "https" {
		return conn, err
	}
	secured := tls.Client(conn, s.client.tls(s.proxy.Hostname(), "http/1.1"))
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// socks opens a tunnel through a SOCKS5 proxy (RFC 1928, RFC 1929).
func (s *session) socks(ctx context.Context, conn net.Conn, target string) error {
	var login *proxy.Auth
	if u := s.proxy.User; u != nil {
		login = &proxy.Auth{User: u.Username()}
		login.Password, _ = u.Password()
	}
	d, err := proxy.SOCKS5("tcp", "", login, nil)
	if err != nil {
		return err
	}
	_, err = d.(interface {
		DialWithConn(ctx context.Context, c net.Conn, network, address string) (net.Addr, error)
	}).DialWithConn(ctx, conn, "tcp", target)
	return err
}

// throughHTTP opens a tunnel through an HTTP proxy (RFC 9110 section 9.3.6).
func (s *session) throughHTTP(ctx context.Context, conn net.Conn, target string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	limited := &limitedConn{Conn: conn}
	until, _ := ctx.Deadline()
	limited.setPhase(until, ProxyFailed)
	limited.setQuota(s.client.limits.MaxHeaderBytes, ProxyFailed)
	in := bufio.NewReader(limited)
	status := 0
	_, err := io.WriteString(limited, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+
		"\r\nUser-Agent: "+s.client.options.UserAgent+"\r\n"+authorization(s.proxy)+"\r\n")
	if err == nil {
		_, status, err = finalHead(in)
	}
	switch {
	case !stop(): // conn is closed, or will be
		return nil, context.DeadlineExceeded
	case err != nil:
		return nil, err
	case status == http.StatusProxyAuthRequired:
		return nil, errors.New("407: it requires other credentials")
	case status < 200 || status > 299:
		if status < 500 || status == http.StatusNotImplemented {
			s.refused = status
		}
		return nil, fmt.Errorf("CONNECT failed with status %d", status)
	}
	early, _ := in.Peek(in.Buffered()) // the site might send first
	return &eofRecorder{Conn: conn, pending: early}, nil
}

// forward sends an http request to a proxy that refused a tunnel. A response of the proxy
// itself looks like one of the site, so only 2xx, 404 and 410 count as the site's (D-60), and
// not if the tunnel was refused with the same status. Filters send 403 and login pages
// redirects. A page that a proxy returns instead of a file cannot be recognized.
func (s *session) forward(at robots.Origin, target string) (*reply, *failure) {
	if f := s.acquireSlot(s.addresses[0].Addr()); f != nil {
		return nil, f
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.ctx, s.client.limits.Connect)
	defer cancel()
	conn, err := s.dialProxy(ctx)
	s.hop().Connect += time.Since(began)
	if err != nil {
		return nil, proxyFailed(err)
	}
	r, f := s.requestOver(&limitedConn{Conn: conn}, func(r *reply) *failure {
		return r.roundTrip(s.client, at, at.String()+target, authorization(s.proxy))
	})
	if f != nil {
		return nil, &failure{ProxyFailed, f.Error()}
	}
	if status := r.StatusCode; status == s.refused || status/100 != 2 && status != http.StatusNotFound && status != http.StatusGone {
		s.close(r)
		return nil, &failure{ProxyFailed, fmt.Sprintf("status %d, perhaps its own: it refused a tunnel with %d", status, s.refused)}
	}
	return r, nil
}
