package fetch

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// A relay is an HTTP or SOCKS5 proxy, with its faults. It resolves localhost and all names below
// test to loopback.
type relay struct {
	login   string // user:password that it wants
	refuses int    // status of CONNECT, or reply of SOCKS5
	says    string // instead of the answer to a request that is forwarded
}

// serve handles a connection of either kind: SOCKS5 begins with a byte of 5.
func (r relay) serve(s *site, c net.Conn) {
	in := bufio.NewReader(c)
	if first, err := in.Peek(1); err == nil && first[0] == 0x16 {
		secured := negotiate(s, &peeked{c, in})
		if secured == nil {
			return
		}
		defer secured.Close()
		c, in = secured, bufio.NewReader(secured)
	}
	if first, err := in.Peek(1); err != nil || first[0] == 5 {
		r.socks(c, in)
		return
	}
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	login := req.Header.Get("Proxy-Authorization")
	req.Header.Del("Proxy-Authorization")
	switch {
	case r.login != "" && login != "Basic "+base64.StdEncoding.EncodeToString([]byte(r.login)):
		io.WriteString(c, whole("407 Proxy Authentication Required", "", `Proxy-Authenticate: Basic realm="x"`))
	case req.Method == http.MethodConnect && r.refuses != 0:
		io.WriteString(c, whole(fmt.Sprint(r.refuses, " No"), "no"))
	case req.Method == http.MethodConnect:
		far, err := r.dial(req.Host)
		if err != nil {
			io.WriteString(c, whole("502 Bad Gateway", ""))
			return
		}
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		both(c, in, far)
	case r.says != "":
		io.WriteString(c, r.says)
	default:
		far, err := r.dial(req.URL.Host)
		if err != nil {
			io.WriteString(c, whole("502 Bad Gateway", ""))
			return
		}
		req.Write(far) // in origin form
		both(c, in, far)
	}
}

func (r relay) socks(c net.Conn, in *bufio.Reader) {
	next := func(n int) []byte {
		b := make([]byte, n)
		io.ReadFull(in, b)
		return b
	}
	methods := next(int(next(2)[1]))
	if r.login != "" {
		if !slices.Contains(methods, 2) {
			c.Write([]byte{5, 0xFF})
			return
		}
		c.Write([]byte{5, 2})
		user := string(next(int(next(2)[1])))
		if user+":"+string(next(int(next(1)[0]))) != r.login {
			c.Write([]byte{1, 1})
			return
		}
		c.Write([]byte{1, 0})
	} else {
		c.Write([]byte{5, 0})
	}
	host := ""
	switch next(4)[3] {
	case 1:
		host = net.IP(next(4)).String()
	case 4:
		host = net.IP(next(16)).String()
	case 3:
		host = string(next(int(next(1)[0])))
	}
	port := binary.BigEndian.Uint16(next(2))
	far, err := r.dial(net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil || r.refuses != 0 {
		c.Write([]byte{5, byte(max(r.refuses, 1)), 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	both(c, in, far)
}

func (r relay) dial(target string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(target)
	if strings.HasSuffix(host, ".test") || host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, errors.New("not from here")
	}
	return net.Dial("tcp", net.JoinHostPort(host, port))
}

// both copies in both directions until both have ended.
func both(c net.Conn, in io.Reader, far net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(far, in)
		far.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, far)
	c.Close()
	far.Close()
	<-done
}

func proxyFaults() []fault {
	const login = "user:hidden word"
	rules := answer(whole("200 OK", someRules))
	of := func(name, does, proxy string, r relay, url string, cause Cause) fault {
		f := fault{area: "proxy", name: name, does: does, proxy: r.serve, proxyURL: proxy, url: url, serve: rules, cause: cause}
		if cause == OK {
			f.file = someRules
		}
		return f
	}
	served := func(f fault, serve func(p *peer)) fault { f.serve = serve; return f }
	raw := func(f fault, raw func(*site, net.Conn)) fault { f.serve, f.raw = nil, raw; return f }
	within := func(f fault, s span) fault { f.within = s; return f }
	much := func(f fault, s size) fault { f.byteCount = s; return f }
	const plain, secure = "http://site.test:PORT/", "https://site.test:PORT/"
	bad := func(name, does, proxy string, handle func(c net.Conn)) fault {
		f := of(name, does, proxy, relay{}, secure, ProxyFailed)
		f.proxy = func(_ *site, c net.Conn) { handle(c) }
		return f
	}
	read := func(c net.Conn) { http.ReadRequest(bufio.NewReader(c)) }
	says := func(text string) func(net.Conn) {
		return func(c net.Conn) { read(c); io.WriteString(c, text) }
	}
	hangs := func(c net.Conn) { io.Copy(io.Discard, c) }
	list := []fault{
		within(bad("silent", "it accepts and sends nothing", "http://PROXY", hangs), untilConnect),
		within(bad("SOCKS silent", "it accepts and sends nothing", "socks5://PROXY", hangs), untilConnect),
		within(bad("TLS silent", "it accepts and never begins the handshake", "https://PROXY", hangs), untilConnect),
		within(bad("dripping", "its answer, byte by byte", "http://PROXY", func(c net.Conn) { pour(c, 20*time.Millisecond, "HTTP/1.1 200 OK\r\nX: ", "x") }), untilConnect),
		bad("closed", "it closes without an answer", "http://PROXY", func(net.Conn) {}),
		bad("SOCKS closed", "it closes without an answer", "socks5h://PROXY", func(net.Conn) {}),
		bad("reset", "it resets", "http://PROXY", func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }),
		bad("rubbish", "it does not speak HTTP", "http://PROXY", says("220 mail.example ESMTP\r\n")),
		bad("SOCKS rubbish", "it does not speak SOCKS5", "socks5://PROXY", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); hangs(c) }),
		bad("header flood", "endless headers", "http://PROXY", func(c net.Conn) { pour(c, 0, "HTTP/1.1 200 OK\r\n", "X: "+strings.Repeat("x", 1000)+"\r\n") }),
		bad("endless 103", "endless interim responses", "http://PROXY", func(c net.Conn) { pour(c, 0, "", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 99)) }),
		bad("101", "it switches protocols", "http://PROXY", says("HTTP/1.1 101 Switching Protocols\r\n\r\n")),
		bad("frames", "it begins to speak HTTP/2", "http://PROXY", func(c net.Conn) { c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}); hangs(c) }),
		bad("a scheme nobody knows", "its URL is of another scheme", "ftp://PROXY", hangs),
		bad("no host", "its URL has no host", "http://:1", hangs),
		bad("name not found", "its name does not exist", "http://proxy.invalid:3128", hangs),
		bad("refused", "no listener", "http://127.0.0.1:4", hangs),
		of("unknown issuer", "the issuer of its certificate is unknown", "https://unknown-issuer.test:PROXYPORT", relay{}, secure, ProxyFailed),
		of("tunnel", "to https through CONNECT", "http://PROXY", relay{}, secure, OK),
		of("tunnel for http", "CONNECT for http too, so that answers of the proxy do not count as the site's", "http://PROXY", relay{}, plain, OK),
		of("over TLS", "the proxy itself speaks TLS", "https://site.test:PROXYPORT", relay{}, secure, OK),
		of("SOCKS5", "the name is resolved here", "socks5://PROXY", relay{}, secure, OK),
		of("SOCKS5 with names", "the proxy resolves the name", "socks5h://PROXY", relay{}, plain, OK),
		of("login", "a user and a password", "http://user:hidden%20word@PROXY", relay{login: login}, secure, OK),
		of("login over TLS", "a user and a password", "https://user:hidden%20word@site.test:PROXYPORT", relay{login: login}, plain, OK),
		of("SOCKS5 login", "a user and a password (RFC 1929)", "socks5://user:hidden%20word@PROXY", relay{login: login}, secure, OK),
		of("forwarded", "CONNECT is refused for http, and the request forwarded", "http://user:hidden%20word@PROXY", relay{login: login, refuses: 403}, plain, OK),
		of("no login", "407 to CONNECT", "http://PROXY", relay{login: login}, secure, ProxyFailed),
		of("no login, http", "407 to CONNECT: nothing is forwarded", "http://PROXY", relay{login: login}, plain, ProxyFailed),
		of("wrong login", "407 to a wrong password", "http://user:hidden@PROXY", relay{login: login}, secure, ProxyFailed),
		of("SOCKS no login", "no method is acceptable", "socks5://PROXY", relay{login: login}, secure, ProxyFailed),
		of("SOCKS wrong login", "a wrong password", "socks5h://user:hidden@PROXY", relay{login: login}, plain, ProxyFailed),
		of("forwarded 404 like CONNECT", "404 to CONNECT and to the request", "http://PROXY", relay{refuses: 404, says: whole("404 Not Found", "")}, plain, ProxyFailed),
		of("forwarded 403 like CONNECT", "403 to CONNECT and to the request", "http://PROXY", relay{refuses: 403, says: whole("403 Filtered", "no")}, plain, ProxyFailed),
		of("forwarded 404 after 501", "CONNECT is not implemented", "http://PROXY", relay{refuses: 501, says: whole("404 Not Found", "")}, plain, ClientError),
		of("forwarded rubbish", "the answer is not HTTP", "http://PROXY", relay{refuses: 403, says: "rubbish\r\n"}, plain, ProxyFailed),
		of("forwarded, cut in the headers", "the answer ends in its headers", "http://PROXY", relay{refuses: 403, says: "HTTP/1.1 404 Not Found\r\nServer: x\r\n"}, plain, ProxyFailed),
		of("forwarded, cut in the file", "the answer ends in its body", "http://PROXY", relay{refuses: 403, says: "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + someRules}, plain, Incomplete),
	}
	for _, f := range []struct {
		status int
		cause  Cause
	}{
		{200, OK}, {203, OK}, {204, Empty}, {206, Partial}, {404, ClientError}, {410, ClientError},
		// Answers that a filter or a login page might have sent are not the site's (D-60).
		{101, ProxyFailed}, {300, ProxyFailed}, {301, ProxyFailed}, {302, ProxyFailed}, {304, ProxyFailed}, {307, ProxyFailed},
		{400, ProxyFailed}, {401, ProxyFailed}, {402, ProxyFailed}, {403, ProxyFailed}, {405, ProxyFailed}, {407, ProxyFailed},
		{408, ProxyFailed}, {409, ProxyFailed}, {418, ProxyFailed}, {421, ProxyFailed}, {429, ProxyFailed}, {451, ProxyFailed}, {499, ProxyFailed},
		{500, ProxyFailed}, {502, ProxyFailed}, {503, ProxyFailed}, {504, ProxyFailed}, {511, ProxyFailed}, {599, ProxyFailed}, {600, ProxyFailed}, {999, ProxyFailed},
	} {
		says := whole(fmt.Sprint(f.status, " It says"), someRules, "Location: /else", "Retry-After: 9")
		if f.status == 204 {
			says = "HTTP/1.1 204 No Content\r\n\r\n"
		}
		list = append(list, of(fmt.Sprint("forwarded, ", f.status), "CONNECT is refused with 405, and the request is answered with this status", "http://PROXY", relay{refuses: 405, says: says}, plain, f.cause))
	}
	for _, status := range []int{302, 400, 403, 404, 405, 429, 500, 501, 502, 503, 504} {
		list = append(list, of(fmt.Sprint("CONNECT ", status), "no tunnel to the site", "http://PROXY", relay{refuses: status}, secure, ProxyFailed))
	}
	for reply, text := range []string{"failure", "rules", "network unreachable", "host unreachable", "refused", "TTL expired", "no CONNECT", "no such type"} {
		list = append(list, of("SOCKS "+text, "no tunnel to the site", "socks5h://PROXY", relay{refuses: reply + 1}, secure, ProxyFailed))
	}
	for _, proxy := range []string{"http://PROXY", "socks5://PROXY"} {
		in := func(f fault) fault {
			f.name += " in " + strings.TrimSuffix(proxy, "://PROXY")
			f.proxyURL = proxy
			return f
		}
		list = append(list,
			in(raw(of("HTTP/2", "a site that speaks only HTTP/2", "", relay{}, secure, OK), frames(func(f *framer) { f.file() }))),
			in(served(of("404", "the site's own answer", "", relay{}, plain, ClientError), answer(whole("404 Not Found", "")))),
			in(served(of("407 of a site", "the site's own answer, in the tunnel", "", relay{}, secure, ClientError), answer(whole("407 Login", "")))),
			in(of("expired", "the site's certificate", "", relay{}, "https://expired.test:PORT/", TLSExpired)),
			in(raw(of("closed site", "the site closes in the handshake", "", relay{}, secure, TLSFailure), func(_ *site, c net.Conn) { c.Read(make([]byte, 9)) })),
			in(within(raw(of("silent site", "the site never answers", "", relay{}, plain, HeaderTimeout), func(_ *site, c net.Conn) { hangs(c) }), untilHeader)),
			in(within(served(of("dripping site", "the file, byte by byte", "", relay{}, secure, TooSlow), func(p *peer) { drip(p, "HTTP/1.1 200 OK\r\n\r\n", "#") }), untilGrace)),
			in(much(served(of("header flood of a site", "the head is checked in the tunnel", "", relay{}, secure, HeaderLimit), func(p *peer) { pour(p.Conn, 0, "", "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 100<<10)) }), upToHeaders)),
			in(served(of("chunked in HTTP/1.0 of a site", "the head is checked in the tunnel", "", relay{}, plain, BadResponse), answer("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))),
			in(of("private address", "the guard checks IP addresses", "", relay{}, "http://10.0.0.1/", AddressRefused)),
			in(of("mail port", "the guard checks ports", "", relay{}, "http://site.test:25/", PortRefused)),
			in(served(of("redirect to a private address", "the guard checks every hop", "", relay{}, secure, AddressRefused), once("302 Found", "http://169.254.169.254/"))),
			in(served(of("redirect", "every hop goes through the proxy", "", relay{}, secure, OK), once("302 Found", "http://other.test:PORT/there"))),
		)
	}
	name := of("private name", "a name of a private address, resolved here", "socks5://PROXY", relay{}, "http://inside.test:PORT/", AddressRefused)
	name.setup = func(s *stage) { s.dns.name("inside.test", addresses("10.0.0.1")) }
	local := of("localhost", "a name of the machine that resolves it", "http://PROXY", relay{}, "http://localhost:PORT/", AddressRefused)
	local.options = func(o *Options) { o.Guard = Guard{} }
	ftp := of("ftp", "both connections of FTP", "socks5://PROXY", relay{}, "ftp://site.test:PORT/", OK)
	chosen := of("none chosen", "the proxy function fails: the text of its error is not recorded", "", relay{}, secure, ProxyFailed)
	chosen.options = func(o *Options) {
		o.Proxy = func(*http.Request) (*url.URL, error) {
			return nil, errors.New("parse http://user:hidden word@proxy: no")
		}
	}
	return append(list, name, local, chosen, raw(ftp, ftpServer{}.serve))
}

// secrets are the parts of the logins above that only the proxy may receive.
var secrets = []string{"hidden", base64.StdEncoding.EncodeToString([]byte("user:hidden word")), base64.StdEncoding.EncodeToString([]byte("user:hiddenword"))}

// TestFaultsInTunnels: a behavior of a site has the same outcome through a proxy.
func TestFaultsInTunnels(t *testing.T) {
	ways := []string{"http://PROXY", "socks5://PROXY", "socks5h://PROXY", "https://site.test:PROXYPORT"}
	step := campaign.Size(9, 5, 1)
	for i, f := range slices.Concat(statusFaults(), framingFaults(), redirectFaults(), encodingFaults(), http2Faults(), ftpFaults()) {
		if i%step != 0 || f.within != atOnce || f.cause == DNSNotFound || strings.Contains(f.name, "reset") {
			continue // names, time and ends without order are another matter behind a relay
		}
		if f.cause == ConnectRefused {
			f.cause = ProxyFailed // the proxy answers, not the port
		}
		f.proxy, f.proxyURL = relay{}.serve, ways[i/step%len(ways)]
		if strings.HasPrefix(f.url, "ftp") {
			f.proxyURL = ways[1]
		}
		t.Run(f.id(), func(t *testing.T) {
			t.Parallel()
			f.run(t)
		})
	}
}
