package redistest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A Proxy is an address whose server can change, like that of a managed Redis: connections end,
// and new ones reach another server, or none.
type Proxy struct {
	Addr string

	listener net.Listener
	mu       sync.Mutex
	target   string // "" for none
	conns    map[net.Conn]struct{}
}

// NewProxy returns a proxy to a server's address. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, target: target, conns: map[net.Conn]struct{}{}}
	go p.serve()
	t.Cleanup(func() {
		l.Close()
		p.Switch("")
	})
	return p
}

// Switch ends all connections and forwards new ones to another address. Without an address they
// end at once.
func (p *Proxy) Switch(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(c)
	}
}

func (p *Proxy) forward(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	if target == "" {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.target != target { // switched meanwhile
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, client)
		delete(p.conns, server)
		p.mu.Unlock()
	}()
	ended := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		io.Copy(to, from)
		ended <- struct{}{}
	}
	go pipe(server, client)
	go pipe(client, server)
	<-ended
}
