// Package dnstest runs a name server for tests on a loopback address.
package dnstest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A Server answers over UDP and TCP from a zone.
type Server struct {
	udp net.PacketConn
	tcp net.Listener

	zone map[string][]record

	mu      sync.Mutex
	queries map[string]int
}

// A record is an answer for a name: of one type, or for all types a failure.
type record struct{ kind, value string }

// Start runs a server until the test ends. Each line of the zone is a name or an
// address, the type PTR, A or AAAA and a value. In place of a type may be SERVFAIL,
// REFUSED, or SILENT, which is no answer. Other names do not exist.
func Start(t testing.TB, zone string) *Server {
	t.Helper()
	s := &Server{zone: map[string][]record{}, queries: map[string]int{}}
	for line := range strings.Lines(zone) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if len(f) < 2 {
			t.Fatalf("no line of a zone: %q", line)
		}
		name := strings.ToLower(strings.TrimSuffix(f[0], ".")) + "."
		if a, err := netip.ParseAddr(f[0]); err == nil {
			name = Reverse(a)
		}
		s.zone[name] = append(s.zone[name], record{f[1], strings.Join(f[2:], " ")})
	}
	for try := 0; ; try++ {
		var err error
		if s.udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if s.tcp, err = net.Listen("tcp", s.udp.LocalAddr().String()); err == nil {
			break
		}
		s.udp.Close() // the port of TCP is somebody else's
		if try == 10 {
			t.Fatal(err)
		}
	}
	var serving sync.WaitGroup
	serving.Go(s.serveUDP)
	serving.Go(func() {
		for {
			c, err := s.tcp.Accept()
			if err != nil {
				return
			}
			go s.serveTCP(c)
		}
	})
	t.Cleanup(func() {
		s.udp.Close()
		s.tcp.Close()
		serving.Wait()
	})
	return s
}

// Addr returns the address and the port of the server.
func (s *Server) Addr() string { return s.udp.LocalAddr().String() }

// Queries returns the number of queries for a type of a name or of an address, such as
// "PTR 192.0.2.1" or "A www.example.com", or with "" of all queries.
func (s *Server) Queries(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind, name, ok := strings.Cut(what, " "); ok {
		if a, err := netip.ParseAddr(name); err == nil {
			name = strings.TrimSuffix(Reverse(a), ".")
		}
		return s.queries[kind+" "+name+"."]
	}
	n := 0
	for _, k := range s.queries {
		n += k
	}
	return n
}

// Reverse returns the name under which the names of an address are found.
func Reverse(a netip.Addr) string {
	name := ""
	if a.Is4() {
		for _, b := range a.As4() {
			name = strconv.Itoa(int(b)) + "." + name
		}
		return name + "in-addr.arpa."
	}
	for _, b := range a.As16() {
		const digits = "0123456789abcdef"
		name = digits[b&15:b&15+1] + "." + digits[b>>4:b>>4+1] + "." + name
	}
	return name + "ip6.arpa."
}

func (s *Server) serveUDP() {
	buf := make([]byte, 4096)
	for {
		n, from, err := s.udp.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := s.answer(buf[:n], 1232); reply != nil {
			_, _ = s.udp.WriteTo(reply, from)
		}
	}
}

func (s *Server) serveTCP(c net.Conn) {
	defer c.Close()
	for {
		var head [2]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(head[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		reply := s.answer(query, 1<<16-1)
		if reply == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// answer returns the reply to a query in at most so many bytes, nil for none.
func (s *Server) answer(query []byte, most int) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name, kind := strings.ToLower(q.Name.String()), strings.TrimPrefix(q.Type.String(), "Type")
	s.mu.Lock()
	s.queries[kind+" "+name]++
	s.mu.Unlock()
	m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	records, known := s.zone[name]
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, r := range records {
		switch r.kind {
		case "SILENT":
			return nil
		case "SERVFAIL":
			m.RCode = dnsmessage.RCodeServerFailure
			continue
		case "REFUSED":
			m.RCode = dnsmessage.RCodeRefused
			continue
		}
		if r.kind != kind {
			continue
		}
		body, err := body(r)
		if err != nil {
			m.RCode = dnsmessage.RCodeServerFailure // a mistake in the zone
			continue
		}
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}, Body: body,
		})
	}
	reply, err := m.Pack()
	if err == nil && len(reply) > most {
		m.Answers, m.Truncated = nil, true
		reply, err = m.Pack()
	}
	if err != nil {
		return nil
	}
	return reply
}

func body(r record) (dnsmessage.ResourceBody, error) {
	if r.kind == "PTR" {
		name, err := dnsmessage.NewName(strings.TrimSuffix(r.value, ".") + ".")
		return &dnsmessage.PTRResource{PTR: name}, err
	}
	a, err := netip.ParseAddr(r.value)
	switch {
	case err != nil:
		return nil, err
	case r.kind == "A" && a.Is4():
		return &dnsmessage.AResource{A: a.As4()}, nil
	case r.kind == "AAAA" && a.Is6():
		return &dnsmessage.AAAAResource{AAAA: a.As16()}, nil
	}
	return nil, errors.New("no address of this type")
}
