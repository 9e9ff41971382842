package fetch

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestPhaseUnderWay: a new phase applies to a read in progress, whether it ends earlier or
// later, and sets its cause.
func TestPhaseUnderWay(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *limitedConn)
		want   time.Duration
		cause  Cause
	}{
		{"as it was", func(*limitedConn) {}, 10 * time.Second, HeaderTimeout},
		{"later", func(c *limitedConn) { c.phase(time.Now().Add(20*time.Second), Timeout) }, 21 * time.Second, Timeout},
		{"sooner", func(c *limitedConn) { c.phase(time.Now().Add(time.Second), Timeout) }, 2 * time.Second, Timeout},
		{"least rate", func(c *limitedConn) {
			c.phase(time.Now().Add(time.Hour), Timeout)
			c.atLeast(1, 3*time.Second)
		}, 4 * time.Second, TooSlow},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				conn := &limitedConn{Conn: ours}
				defer conn.Close()
				conn.phase(time.Now().Add(10*time.Second), HeaderTimeout)
				conn.quota(1, RawLimit)
				began := time.Now()
				time.AfterFunc(time.Second, func() { c.change(conn) })
				if _, err := conn.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a read of nothing ends with %v", err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				if f := conn.classify(conn.err, BadResponse); f.cause != c.cause {
					t.Errorf("cause %v, want %v", f.cause, c.cause)
				}
			})
		})
	}
}

// TestMostSent: a connection sends no more than its limit, and is then closed.
func TestMostSent(t *testing.T) {
	ours, theirs := net.Pipe()
	conn := &limitedConn{Conn: ours}
	conn.phase(time.Now().Add(time.Hour), Timeout)
	conn.quota(9, RawLimit)
	conn.atMost(5)
	go theirs.Read(make([]byte, 9))
	if _, err := conn.Write([]byte("12345")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("6")); !errors.Is(err, errLimit) {
		t.Errorf("one byte more: %v", err)
	}
	if _, err := conn.Read(make([]byte, 9)); err == nil || conn.classify(err, BadResponse).cause != RawLimit {
		t.Errorf("a read after that ends with %v", err)
	}
	if _, err := theirs.Read(make([]byte, 9)); err == nil {
		t.Error("the other end still reads")
	}
}
