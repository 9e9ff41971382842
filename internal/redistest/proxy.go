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
	target   string     // "" for none
	conns    []net.Conn // to and from it
}

// NewProxy returns a proxy to a server's address. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, target: target}
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
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
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
	server, err := net.Dial("tcp", p.target) // on this machine, so at once
	if err != nil {
		p.mu.Unlock()
		return
	}
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	defer server.Close()
	go func() {
		defer client.Close()
		io.Copy(client, server)
	}()
	io.Copy(server, client)
}
