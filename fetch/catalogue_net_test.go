package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/net/dns/dnsmessage"
)

func dnsFaults() []fault {
	type dns = func(q dnsmessage.Question, m *dnsmessage.Message) bool
	named := func(name, does string, answer dns, cause Cause, within span) fault {
		return fault{
			area: "dns", name: name, does: does, cause: cause, within: within, byteCount: nothing,
			setup: func(s *stage) { s.dns.name("site.test", answer) },
			raw:   func(*site, net.Conn) {},
		}
	}
	served := func(f fault) fault {
		f.raw, f.serve, f.byteCount, f.file = nil, answer(whole("200 OK", someRules)), few, someRules
		return f
	}
	unreached := func(name, does string, dial func(ctx context.Context, network, _ string) (net.Conn, error)) fault {
		f := named(name, does, nil, DNSFailure, atOnce)
		f.options = func(o *Options) { o.Resolver = &net.Resolver{PreferGo: true, Dial: dial} }
		return f
	}
	return []fault{
		named("NXDOMAIN", "the name does not exist", code(dnsmessage.RCodeNameError), DNSNotFound, atOnce),
		named("no data", "the name has no address", code(dnsmessage.RCodeSuccess), DNSNotFound, atOnce),
		named("SERVFAIL", "name servers failed", code(dnsmessage.RCodeServerFailure), DNSServer, untilDNS),
		named("REFUSED", "the name servers refuse", code(dnsmessage.RCodeRefused), DNSFailure, untilDNS),
		named("FORMERR", "the name servers reject the query as malformed", code(dnsmessage.RCodeFormatError), DNSFailure, untilDNS),
		named("NOTIMP", "the name servers do not implement the query", code(dnsmessage.RCodeNotImplemented), DNSFailure, untilDNS),
		named("silence", "no name server answers", func(dnsmessage.Question, *dnsmessage.Message) bool { return false }, DNSTimeout, untilDNS),
		named("rubbish", "the answer is not a DNS message", func(_ dnsmessage.Question, m *dnsmessage.Message) bool { m.ID = 0; return true }, DNSTimeout, untilDNS),
		named("another id", "the answer has another id", func(_ dnsmessage.Question, m *dnsmessage.Message) bool { m.ID++; return true }, DNSTimeout, untilDNS),
		unreached("no network", "this machine has no route to a name server", func(_ context.Context, network, _ string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}
		}),
		unreached("no name server", "no name server listens", func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialName(ctx, network, "127.0.0.1:4")
		}),
		named("alias loop", "an alias of itself", alias("site.test"), DNSNotFound, untilDNS),
		served(named("alias", "an alias with an address", alias("other.test", "127.0.0.1"), OK, atOnce)),
		served(named("one family fails", "an address of IPv4, SERVFAIL for IPv6", func(q dnsmessage.Question, m *dnsmessage.Message) bool {
			if q.Type == dnsmessage.TypeA {
				return addresses("127.0.0.1")(q, m)
			}
			return code(dnsmessage.RCodeServerFailure)(q, m)
		}, OK, untilDNS)),
		served(named("one family silent", "an address of IPv4, no answer for IPv6", func(q dnsmessage.Question, m *dnsmessage.Message) bool {
			return q.Type == dnsmessage.TypeA && addresses("127.0.0.1")(q, m)
		}, OK, untilDNS)),
		served(named("first address dead", "two addresses, no listener at the first", addresses("127.0.0.99", "127.0.0.1"), OK, untilConnect)),
		served(named("mixed answer", "a private and a usable address: the private one is left out", addresses("10.0.0.1", "127.0.0.1"), OK, untilConnect)),
	}
}

func tcpFaults() []fault {
	failing := func(err error) func(context.Context, *net.Dialer, string) (net.Conn, error) {
		return func(context.Context, *net.Dialer, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
		}
	}
	quiet := func(*site, net.Conn) {}
	return []fault{
		{area: "tcp", name: "refused", does: "no listener", url: "http://site.test:4/", raw: quiet, cause: ConnectRefused, byteCount: nothing},
		{area: "tcp", name: "no answer", does: "the TCP handshake is not answered", raw: quiet, cause: ConnectTimeout, within: untilConnect, byteCount: nothing,
			connect: func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
				return silentDial(ctx, d)
			}},
		{area: "tcp", name: "no route to the host", does: "the network reports it", raw: quiet, connect: failing(syscall.EHOSTUNREACH), cause: ConnectFailed, byteCount: nothing},
		{area: "tcp", name: "no network", does: "this machine has no route to the site's network", raw: quiet, connect: failing(syscall.ENETUNREACH), cause: NoNetwork, byteCount: nothing},
		{area: "tcp", name: "network down", does: "the network of this machine is down", raw: quiet, connect: failing(syscall.ENETDOWN), cause: NoNetwork, byteCount: nothing},
		{area: "tcp", name: "no own address", does: "this machine has no free local address", raw: quiet, connect: failing(syscall.EADDRNOTAVAIL), cause: NoNetwork, byteCount: nothing},
		{area: "tcp", name: "no own descriptor", does: "this process cannot open more sockets", raw: quiet, connect: failing(syscall.EMFILE), cause: NoNetwork, byteCount: nothing},
		{area: "tcp", name: "own firewall", does: "this machine is not permitted to connect", raw: quiet, connect: failing(syscall.EPERM), cause: NoNetwork, byteCount: nothing},
		{area: "tcp", name: "no network for one family", does: "no listener at the IPv4 address, and no route to the IPv6 address", raw: quiet, cause: ConnectRefused, byteCount: nothing,
			setup: func(s *stage) { s.dns.name("site.test", addresses("127.0.0.1", "::1")) },
			connect: func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
				if strings.HasPrefix(address, "[") {
					return failing(syscall.ENETUNREACH)(ctx, d, address)
				}
				return failing(syscall.ECONNREFUSED)(ctx, d, address)
			}},
		{area: "tcp", name: "network goes down", does: "the network of this machine goes down before the answer", serve: answer(whole("200 OK", someRules)), cause: NoNetwork,
			connect: func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
				c, err := d.DialContext(ctx, "tcp", address)
				return &downConn{c}, err
			}},
		{area: "tcp", name: "closed at once", does: "accepts and closes", raw: quiet, cause: Closed, or: Reset},
		{area: "tcp", name: "reset at once", does: "accepts and resets", raw: func(_ *site, c net.Conn) { c.(*net.TCPConn).SetLinger(0) }, cause: Reset},
		{area: "tcp", name: "closed after the request", does: "reads the request and closes", serve: func(*peer) {}, cause: Closed},
		{area: "tcp", name: "reset after the request", does: "reads the request and resets", serve: func(p *peer) { p.reset() }, cause: Reset},
		{area: "tcp", name: "reset in the headers", does: "resets between two headers", serve: resetting("HTTP/1.1 200 OK\r\nServer: x\r\n"), cause: Reset},
		{area: "tcp", name: "reset in the body", does: "resets after some bytes of the file", serve: resetting("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + someRules), cause: Reset},
		{area: "tcp", name: "reset after the whole file", does: "resets when the stated length has been sent", serve: resetting(whole("200 OK", someRules)), cause: OK, file: someRules},
		{area: "tcp", name: "half closed", does: "closes its side before the answer", serve: func(p *peer) { p.tcp.CloseWrite(); p.hang() }, cause: Closed},
		{area: "tcp", name: "silent", does: "accepts and sends nothing", raw: func(_ *site, c net.Conn) { io.Copy(io.Discard, c) }, cause: HeaderTimeout, within: untilHeader},
	}
}

// downConn is a connection over a network that has gone down.
type downConn struct{ net.Conn }

func (c *downConn) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ENETDOWN)}
}

// drained waits until the client has read everything: a reset would discard the rest. There is
// no other sign of it than the queue of the socket.
func (p *peer) drained() {
	raw, err := p.tcp.SyscallConn()
	if err != nil {
		return
	}
	waitDrained(raw)
}

func tlsFaults() []fault {
	served := func(name, does, host string, cause Cause) fault {
		return fault{area: "tls", name: name, does: does, url: "https://" + host + ":PORT/", serve: answer(whole("200 OK", someRules)), cause: cause}
	}
	raw := func(name, does string, handle func(c net.Conn), cause Cause, within span) fault {
		return fault{area: "tls", name: name, does: does, url: "https://site.test:PORT/", cause: cause, within: within,
			raw: func(_ *site, c net.Conn) { handle(c) }}
	}
	ended := func(name, does, text, file string, cause Cause) fault {
		return fault{area: "tls", name: name, does: does, url: "https://site.test:PORT/", cause: cause, file: file, serve: severed(text)}
	}
	chunked := func(body string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body) }
	hello := func(c net.Conn) { io.ReadFull(c, make([]byte, 64)) }
	return []fault{
		func() fault { f := served("good", "a good certificate", "site.test", OK); f.file = someRules; return f }(),
		served("address", "a certificate for the IP address", "127.0.0.1", OK),
		served("expired", "the certificate has expired", "expired.test", TLSExpired),
		served("not yet valid", "the certificate is not valid yet", "early.test", TLSExpired),
		served("wrong name", "the certificate is for another name", "wrong-name.test", TLSName),
		served("unknown issuer", "the issuer of the certificate is unknown", "unknown-issuer.test", TLSIssuer),
		served("self-signed", "the certificate is its own issuer", "self-signed.test", TLSIssuer),
		func() fault {
			f := served("no roots", "this machine has no root certificates", "site.test", TLSRoots)
			f.options = func(o *Options) { o.TLS = &tls.Config{RootCAs: x509.NewCertPool()} }
			return f
		}(),
		served("wrong use", "the certificate is not for servers", "client-only.test", TLSFailure),
		{area: "tls", name: "old version", does: "the server speaks TLS 1.0 only", url: "https://site.test:PORT/", cause: TLSVersion,
			raw: func(s *site, c net.Conn) {
				o := s.stage.pki.config()
				o.MinVersion, o.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
				tls.Server(c, o).Handshake()
			}},
		raw("alert", "the server ends the handshake with an alert", func(c net.Conn) {
			hello(c)
			c.Write([]byte{21, 3, 3, 0, 2, 2, 112}) // unrecognized_name
		}, TLSAlert, atOnce),
		raw("protocol alert", "a TLS alert: HTTP/1.1 is not supported", func(c net.Conn) {
			hello(c)
			c.Write([]byte{21, 3, 3, 0, 2, 2, 120}) // no_application_protocol
		}, TLSProtocol, atOnce),
		raw("version alert", "a TLS alert: no common version", func(c net.Conn) {
			hello(c)
			c.Write([]byte{21, 3, 3, 0, 2, 2, 70})
		}, TLSVersion, atOnce),
		raw("plain HTTP", "the port speaks HTTP without TLS", func(c net.Conn) { hello(c); io.WriteString(c, whole("400 Bad Request", "")) }, TLSFailure, atOnce),
		raw("rubbish", "the answer is not TLS", func(c net.Conn) { hello(c); io.WriteString(c, "\x00\x01\x02\x03\x04\x05\x06\x07") }, TLSFailure, atOnce),
		raw("closed", "closes in the handshake", hello, TLSFailure, atOnce),
		raw("reset", "resets in the handshake", func(c net.Conn) { hello(c); c.(*net.TCPConn).SetLinger(0) }, TLSFailure, atOnce),
		raw("silent", "accepts and never begins the handshake", func(c net.Conn) { io.Copy(io.Discard, c) }, TLSTimeout, untilTLS),
		{area: "tls", name: "closed after the handshake", does: "closes before an answer", url: "https://site.test:PORT/", serve: func(*peer) {}, cause: Closed},
		{area: "tls", name: "cut in the body", does: "the connection below TLS ends inside the file", url: "https://site.test:PORT/",
			serve: severed("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + someRules), cause: Incomplete},
		ended("cut in a body without a length", "the connection below TLS ends where the end of the file would be", "HTTP/1.1 200 OK\r\n\r\n"+someRules, "", Incomplete),
		ended("cut in a compressed body without a length", "the compressed bytes end, TLS does not", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+gzipped(someRules), "", Incomplete),
		ended("cut in HTTP/1.0", "an old server closes TCP without the end of TLS", "HTTP/1.0 200 OK\r\n\r\n"+someRules, "", Incomplete),
		ended("cut before an empty body", "the connection below TLS ends after the headers", "HTTP/1.1 200 OK\r\n\r\n", "", Incomplete),
		ended("no end of TLS after a length", "the stated length was received, so nothing is missing", whole("200 OK", someRules), someRules, OK),
		ended("no end of TLS after the last chunk", "the last chunk was received, so nothing is missing", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+chunked(someRules), someRules, OK),
		{area: "tls", name: "no length", does: "the end of TLS ends the body", url: "https://site.test:PORT/",
			serve: answer("HTTP/1.1 200 OK\r\n\r\n" + someRules), cause: OK, file: someRules},
	}
}
