package fetch

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/robotskit/robots"
)

// A stage has what the tests fetch from: name servers, certificates and sites, all real sockets
// on loopback.
type stage struct {
	dns    *nameServer
	pki    *pki
	leaked atomic.Int64 // requests that hold what is between the client and a proxy
}

func newStage(t testing.TB) *stage {
	return &stage{dns: newNameServer(t), pki: theirPKI()}
}

// shortLimits make behaviors that last until a limit short. A busy machine exceeds them, which
// must not fail a test.
var shortLimits = Limits{
	Total: 1500 * time.Millisecond, DNS: 400 * time.Millisecond, Connect: 400 * time.Millisecond,
	TLS: 400 * time.Millisecond, Header: 500 * time.Millisecond, Grace: 500 * time.Millisecond,
}

func (s *stage) options() Options {
	return Options{Guard: Guard{AllowLoopback: true}, Resolver: s.dns.resolver(), TLS: &tls.Config{RootCAs: s.pki.pool}}
}

func (s *stage) client(t testing.TB, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustOrigin(t testing.TB, url string) robots.Origin {
	t.Helper()
	o, _, err := robots.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A site is a listener whose connections are handled by a function, plain and TLS on one port.
type site struct {
	stage *stage
	net.Listener
	accepted atomic.Int64
	wait     sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool
}

// listen starts a site that passes each connection to raw.
func (s *stage) listen(t testing.TB, address string, raw func(s *site, c net.Conn)) *site {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	at := &site{stage: s, Listener: l, open: map[net.Conn]bool{}}
	at.wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			at.accepted.Add(1)
			at.mu.Lock()
			at.open[c] = true
			at.mu.Unlock()
			at.wait.Go(func() {
				defer func() {
					c.Close()
					at.mu.Lock()
					delete(at.open, c)
					at.mu.Unlock()
				}()
				raw(at, c)
			})
		}
	})
	t.Cleanup(at.shut)
	return at
}

// shut closes the listener and every connection.
func (s *site) shut() {
	s.Close()
	s.mu.Lock()
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *site) port() string {
	_, port, _ := net.SplitHostPort(s.Addr().String())
	return port
}

// A peer is the server's end of one request.
type peer struct {
	net.Conn
	site   *site
	method string
	path   string // as sent
	host   string
	head   string // the whole request
	tcp    *net.TCPConn
}

// speak returns a handler that reads one request, over TLS if the client begins it, and lets
// serve answer.
func speak(serve func(p *peer)) func(*site, net.Conn) {
	return func(s *site, c net.Conn) { speakOn(s, c, bufio.NewReader(c), serve) }
}

func speakOn(s *site, c net.Conn, in *bufio.Reader, serve func(p *peer)) {
	p := &peer{Conn: c, site: s, tcp: c.(*net.TCPConn)}
	first, err := in.Peek(1)
	if err != nil {
		return
	}
	if first[0] == 0x16 {
		secured := tls.Server(&peeked{c, in}, s.stage.pki.config())
		if secured.Handshake() != nil {
			return
		}
		p.Conn, in = secured, bufio.NewReader(secured)
	}
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		head.WriteString(line)
		if line == "\r\n" {
			break
		}
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && name == "Host" {
			p.host = value
		}
	}
	p.head = head.String()
	if strings.Contains(strings.ToLower(p.head), "proxy-") {
		s.stage.leaked.Add(1)
	}
	fields := strings.Fields(p.head)
	p.method, p.path = fields[0], fields[1]
	serve(p)
	if c, ok := p.Conn.(*tls.Conn); ok {
		c.Close()
	}
}

type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

func (p *peer) say(s string) bool {
	_, err := io.WriteString(p.Conn, s)
	return err == nil
}

// hang waits until the client has disconnected or the test has ended.
func (p *peer) hang() { io.Copy(io.Discard, p.Conn) }

// reset makes the close of the connection send a reset.
func (p *peer) reset() { p.tcp.SetLinger(0) }

// answer returns a handler that sends a text and closes.
func answer(text string) func(p *peer) { return func(p *peer) { p.say(text) } }

// kept is answer, but the connection stays open.
func kept(text string) func(p *peer) { return func(p *peer) { p.say(text); p.hang() } }

// severed is answer, but TCP ends before TLS can say so.
func severed(text string) func(p *peer) { return func(p *peer) { p.say(text); p.tcp.CloseWrite() } }

// resetting is answer, but the connection is reset when the client has read the text.
func resetting(text string) func(p *peer) {
	return func(p *peer) { p.say(text); p.drained(); p.reset() }
}

// whole returns an HTTP answer with its length.
func whole(status, body string, headers ...string) string {
	s := "HTTP/1.1 " + status + "\r\n"
	for _, h := range headers {
		s += h + "\r\n"
	}
	return s + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

const someRules = "User-agent: *\nDisallow: /private\n"

// pki makes certificates for any name, and invalid ones for some names.
type pki struct {
	pool    *x509.CertPool
	ca      *x509.Certificate
	key     *ecdsa.PrivateKey
	other   *x509.Certificate
	otherTo *ecdsa.PrivateKey
	mu      sync.Mutex
	made    map[string]*tls.Certificate
}

var theirPKI = sync.OnceValue(func() *pki {
	p := &pki{pool: x509.NewCertPool(), made: map[string]*tls.Certificate{}}
	p.ca, p.key = newCA("the known")
	p.other, p.otherTo = newCA("the unknown")
	p.pool.AddCert(p.ca)
	return p
})

func newCA(name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	ca, _ := x509.ParseCertificate(der)
	return ca, key
}

func (p *pki) config() *tls.Config {
	return &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return p.certificate(h.ServerName), nil
	}}
}

func (p *pki) certificate(name string) *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.made[name]; c != nil {
		return c
	}
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	t := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(p.made) + 2)), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if name == "" { // an IP address names no server
		t.DNSNames, t.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	by, with := p.ca, p.key
	switch name {
	case "expired.test":
		t.NotAfter = time.Now().Add(-time.Minute)
	case "early.test":
		t.NotBefore = time.Now().Add(30 * time.Minute)
	case "wrong-name.test":
		t.DNSNames = []string{"another.test"}
	case "unknown-issuer.test":
		by, with = p.other, p.otherTo
	case "client-only.test":
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	case "self-signed.test":
		by, with = t, key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, by, &key.PublicKey, with)
	if err != nil {
		panic(err)
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	p.made[name] = c
	return c
}

// A nameServer answers over UDP. Names below test resolve to 127.0.0.1, except those with their
// own answer.
type nameServer struct {
	net.PacketConn
	mu    sync.Mutex
	names map[string]func(q dnsmessage.Question, m *dnsmessage.Message) bool
	asked atomic.Int64
}

func newNameServer(t testing.TB) *nameServer {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{PacketConn: c, names: map[string]func(dnsmessage.Question, *dnsmessage.Message) bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1<<12)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if b := s.answer(buf[:n]); b != nil {
				c.WriteTo(b, from)
			}
		}
	}()
	t.Cleanup(func() { c.Close(); <-done })
	return s
}

// name sets the answer for a name; the function returns false for no answer.
func (s *nameServer) name(name string, answer func(q dnsmessage.Question, m *dnsmessage.Message) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name+"."] = answer
}

func (s *nameServer) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	s.asked.Add(1)
	q, id := m.Questions[0], m.ID
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	name := strings.ToLower(q.Name.String())
	s.mu.Lock()
	f := s.names[name]
	s.mu.Unlock()
	switch {
	case f != nil:
		if !f(q, &m) {
			return nil
		}
	case strings.HasSuffix(name, ".test."):
		addresses("127.0.0.1")(q, &m)
	default:
		m.RCode = dnsmessage.RCodeNameError
	}
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	if m.ID == 0 && id != 0 { // asked for by a function that wants rubbish
		return []byte("not a message of DNS at all")
	}
	return b
}

// addresses answers with the addresses of the requested family.
func addresses(list ...string) func(q dnsmessage.Question, m *dnsmessage.Message) bool {
	return func(q dnsmessage.Question, m *dnsmessage.Message) bool {
		for _, text := range list {
			a := netip.MustParseAddr(text)
			h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}
			switch {
			case q.Type == dnsmessage.TypeA && a.Is4():
				h.Type = q.Type
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
			case q.Type == dnsmessage.TypeAAAA && a.Is6():
				h.Type = q.Type
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
			}
		}
		return true
	}
}

// code answers with an error code.
func code(c dnsmessage.RCode) func(q dnsmessage.Question, m *dnsmessage.Message) bool {
	return func(q dnsmessage.Question, m *dnsmessage.Message) bool { m.RCode = c; return true }
}

// alias answers with a CNAME and the addresses of its target.
func alias(target string, list ...string) func(q dnsmessage.Question, m *dnsmessage.Message) bool {
	return func(q dnsmessage.Question, m *dnsmessage.Message) bool {
		to := dnsmessage.MustNewName(target + ".")
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: dnsmessage.TypeCNAME},
			Body:   &dnsmessage.CNAMEResource{CNAME: to},
		})
		q.Name = to
		return addresses(list...)(q, m)
	}
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialName(ctx, network, s.LocalAddr().String())
	}}
}
