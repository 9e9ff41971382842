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
					got = unreached(err, DNSTimeout).cause
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
