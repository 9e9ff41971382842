package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// A nameConn is a stream to a name server that answers each query at once.
type nameConn struct {
	net.Conn
	answer func(q dnsmessage.Question, m *dnsmessage.Message) error
	reply  bytes.Buffer
	err    error
}

func (c *nameConn) Write(query []byte) (int, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query[2:]); err != nil { // after the length
		return 0, err
	}
	m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	if c.err = c.answer(m.Questions[0], &m); c.err != nil {
		return len(query), nil
	}
	reply, err := m.Pack()
	c.reply.Write(binary.BigEndian.AppendUint16(nil, uint16(len(reply))))
	c.reply.Write(reply)
	return len(query), err
}

func (c *nameConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	return c.reply.Read(p)
}

func (c *nameConn) SetDeadline(time.Time) error { return nil }
func (c *nameConn) Close() error                { return nil }

// TestAddressFamilies: a host does not exist only if neither family has an address. While one
// of them fails, the host might have an address there.
func TestAddressFamilies(t *testing.T) {
	answers := map[string]func(q dnsmessage.Question, m *dnsmessage.Message) error{
		"address": func(q dnsmessage.Question, m *dnsmessage.Message) error {
			addresses("127.0.0.1", "::1")(q, m)
			return nil
		},
		"no data": func(dnsmessage.Question, *dnsmessage.Message) error { return nil },
		"NXDOMAIN": func(_ dnsmessage.Question, m *dnsmessage.Message) error {
			m.RCode = dnsmessage.RCodeNameError
			return nil
		},
		"SERVFAIL": func(_ dnsmessage.Question, m *dnsmessage.Message) error {
			m.RCode = dnsmessage.RCodeServerFailure
			return nil
		},
		"REFUSED": func(_ dnsmessage.Question, m *dnsmessage.Message) error {
			m.RCode = dnsmessage.RCodeRefused
			return nil
		},
		"silence": func(dnsmessage.Question, *dnsmessage.Message) error { return os.ErrDeadlineExceeded },
		"no route": func(dnsmessage.Question, *dnsmessage.Message) error {
			return &net.OpError{Op: "read", Net: "udp", Err: os.NewSyscallError("read", syscall.ENETUNREACH)}
		},
	}
	causes := map[string]Cause{
		"no data": DNSNotFound, "NXDOMAIN": DNSNotFound,
		"SERVFAIL": DNSServer, "REFUSED": DNSFailure, "silence": DNSTimeout, "no route": DNSFailure,
	}
	s := newStage(t)
	for v4, answer4 := range answers {
		for v6, answer6 := range answers {
			for _, firstType := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA} {
				isAnswered := make(chan struct{})
				var once sync.Once
				o := s.options()
				o.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
					return &nameConn{answer: func(q dnsmessage.Question, m *dnsmessage.Message) error {
						if q.Type == firstType {
							once.Do(func() { close(isAnswered) })
						} else {
							<-isAnswered
						}
						if q.Type == dnsmessage.TypeA {
							return answer4(q, m)
						}
						return answer6(q, m)
					}}, nil
				}}
				list, err := s.client(t, o).lookup(t.Context(), "site.test")
				got := CauseNone
				if err != nil {
					got = classifyNetError(err, DNSTimeout).cause
				}
				switch {
				case v4 == "address" || v6 == "address":
					if got != CauseNone || len(list) == 0 {
						t.Errorf("IPv4 %s, IPv6 %s, %v first: %v, %v", v4, v6, firstType, list, err)
					}
				case causes[v4] == DNSNotFound && causes[v6] == DNSNotFound:
					if got != DNSNotFound {
						t.Errorf("IPv4 %s, IPv6 %s, %v first: %v, want %v", v4, v6, firstType, got, DNSNotFound)
					}
				default:
					if got == DNSNotFound || got != causes[v4] && got != causes[v6] {
						t.Errorf("IPv4 %s, IPv6 %s, %v first: %v", v4, v6, firstType, got)
					}
				}
			}
		}
	}
}

// A silentConn is a stream to a name server that answers only queries of some types, after a time.
type silentConn struct {
	nameConn
	after    map[dnsmessage.Type]time.Duration // silence for others
	deadline time.Time
	wait     time.Duration
	silent   bool
}

func (c *silentConn) Write(query []byte) (int, error) {
	c.answer = func(q dnsmessage.Question, m *dnsmessage.Message) error {
		wait, answers := c.after[q.Type]
		c.wait, c.silent = wait, !answers
		addresses("192.0.2.1", "192.0.2.2", "2001:db8::1")(q, m)
		return nil
	}
	return c.nameConn.Write(query)
}

func (c *silentConn) Read(p []byte) (int, error) {
	if left := time.Until(c.deadline); c.silent || c.wait > left {
		time.Sleep(left)
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(c.wait)
	c.wait = 0
	return c.nameConn.Read(p)
}

func (c *silentConn) SetDeadline(t time.Time) error { c.deadline = t; return nil }

// TestSilentFamily: the addresses of one family are used if no name server answers for the other
// one, or only much later. Of answers at about the same time both are used.
func TestSilentFamily(t *testing.T) {
	const second = time.Second
	v4, v6 := dnsmessage.TypeA, dnsmessage.TypeAAAA
	// Package net reads its configuration with the first query, into a channel that belongs to the bubble which it is in.
	_, _ = (&net.Resolver{PreferGo: true}).LookupHost(t.Context(), "localhost")
	for _, c := range []struct {
		name  string
		after map[dnsmessage.Type]time.Duration
		want  int // addresses
		took  time.Duration
	}{
		{"both at once", map[dnsmessage.Type]time.Duration{v4: 0, v6: 0}, 3, 0},
		{"both slow", map[dnsmessage.Type]time.Duration{v4: 900 * time.Millisecond, v6: 300 * time.Millisecond}, 3, 900 * time.Millisecond},
		{"both very slow", map[dnsmessage.Type]time.Duration{v4: 3 * second, v6: 3500 * time.Millisecond}, 3, 3500 * time.Millisecond},
		{"both within the limit", map[dnsmessage.Type]time.Duration{v4: 4500 * time.Millisecond, v6: 4400 * time.Millisecond}, 3, 4500 * time.Millisecond},
		{"no IPv6", map[dnsmessage.Type]time.Duration{v4: 0}, 2, 2 * second},
		{"no IPv4", map[dnsmessage.Type]time.Duration{v6: 0}, 1, 2 * second},
		{"IPv4 slow, no IPv6", map[dnsmessage.Type]time.Duration{v4: 2 * second}, 2, 4 * second},
		{"IPv6 too slow", map[dnsmessage.Type]time.Duration{v4: 0, v6: 4 * second}, 2, 2 * second},
		{"IPv4 near the limit", map[dnsmessage.Type]time.Duration{v4: 3900 * time.Millisecond}, 2, 5 * second},
		{"silence", nil, 0, 5 * second},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := Options{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				return &silentConn{after: c.after}, nil
			}}}
			client, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), client.limits.DNS)
			defer cancel()
			began := time.Now()
			list, err := client.lookup(ctx, "site.test")
			took := time.Since(began)
			time.Sleep(time.Minute) // until all queries have ended
			if len(list) != c.want || (err == nil) != (c.want > 0) || took != c.took {
				t.Errorf("%s: %v, %v after %s; want %d addresses after %s", c.name, list, err, took, c.want, c.took)
			}
		})
	}
}
