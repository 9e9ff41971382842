// Package dnstest runs a name server for tests on a loopback address.
package dnstest

import (
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// A Server answers from a zone over UDP.
type Server struct {
	conn net.PacketConn
	zone map[string][]record

	mu      sync.Mutex
	queries map[string]int
	last    map[string]time.Time
}

// A record is an answer for a name: of one type, or for all types a failure, without a body.
type record struct {
	kind string
	body dnsmessage.ResourceBody
}

// Start runs a server until the test ends. Each line of the zone is a name or an address, the
// type PTR, A or AAAA and a value. Instead of type and value a line can have SERVFAIL, REFUSED,
// or SILENT, which is no answer. Other names do not exist.
func Start(t testing.TB, zone string) *Server {
	t.Helper()
	s := &Server{zone: map[string][]record{}, queries: map[string]int{}, last: map[string]time.Time{}}
	for line := range strings.Lines(zone) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		r := record{kind: f[1]}
		switch f[1] {
		case "PTR":
			name, err := dnsmessage.NewName(f[2] + ".")
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			r.body = &dnsmessage.PTRResource{PTR: name}
		case "A":
			r.body = &dnsmessage.AResource{A: netip.MustParseAddr(f[2]).As4()}
		case "AAAA":
			r.body = &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(f[2]).As16()}
		}
		s.zone[nameOf(f[0])] = append(s.zone[nameOf(f[0])], r)
	}
	var err error
	if s.conn, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(s.serve)
	t.Cleanup(func() {
		s.conn.Close()
		serving.Wait()
	})
	return s
}

// Addr returns the address and the port of the server.
func (s *Server) Addr() string { return s.conn.LocalAddr().String() }

// Queries returns the number of queries for a type of a name or of an address, such as
// "PTR 192.0.2.1" or "A www.example.com", or with "" of all queries. A query 5 seconds after the same one
// or later is not counted.
func (s *Server) Queries(what string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind, name, ok := strings.Cut(what, " "); ok {
		return s.queries[kind+" "+nameOf(name)]
	}
	for _, k := range s.queries {
		n += k
	}
	return n
}

// count counts a query. On a busy machine, Go's resolver can miss the answer and repeat the query, 5
// seconds later or more, which is not another query of the program.
func (s *Server) count(what string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.last[what]; !ok || now.Sub(last) < 5*time.Second {
		s.queries[what]++
	}
	s.last[what] = now
}

// nameOf returns a name, or that of an address, with a dot at its end.
func nameOf(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return strings.ToLower(s) + "."
	}
	labels := strings.Split(s, ".")
	zone := "in-addr.arpa."
	if a.Is6() {
		labels = strings.Split(hex.EncodeToString(a.AsSlice()), "")
		zone = "ip6.arpa."
	}
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "." + zone
}

func (s *Server) serve() {
	buf := make([]byte, 4096)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := s.answer(buf[:n]); reply != nil {
			_, _ = s.conn.WriteTo(reply, from)
		}
	}
}

// answer returns the reply to a query, nil for none.
func (s *Server) answer(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.ToLower(q.Name.String())
	kind := strings.TrimPrefix(q.Type.String(), "Type")
	s.count(kind+" "+name, time.Now())
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
		case "REFUSED":
			m.RCode = dnsmessage.RCodeRefused
		case kind:
			m.Answers = append(
				m.Answers,
				dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}, Body: r.body},
			)
		}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}
