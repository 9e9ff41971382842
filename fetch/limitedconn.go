package fetch

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// A limitedConn is a connection that keeps the limits of a fetch: each read has a
// deadline and counts. All waiting and all reading of a fetch goes through it,
// so that no path can forget a limit.
type limitedConn struct {
	net.Conn // TLS where there is
	until    time.Time
	late     Cause // of a read or write past until

	left     int64 // bytes that may still be read
	over     Cause // of one more
	received int64

	// While rate is above 0 the bytes since began must keep up with it once
	// grace is over.
	rate  int64
	grace time.Duration
	began time.Time
	base  int64

	failed Cause // the limit that was hit
	err    error // of a read, which ends all reading: readers above may ask again
}

// phase sets the limits of what follows.
func (c *limitedConn) phase(until time.Time, late Cause, left int64, over Cause) {
	c.until, c.late, c.left, c.over = until, late, left, over
}

// atLeast sets the least rate of what follows.
func (c *limitedConn) atLeast(rate int64, grace time.Duration) {
	c.rate, c.grace, c.began, c.base = rate, grace, time.Now(), c.received
}

var errLimit = errors.New("over the limit")

func (c *limitedConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.left <= 0 {
		c.failed, c.err = c.over, errLimit
		return 0, errLimit
	}
	until, late := c.until, c.late
	if c.rate > 0 {
		// When the bytes so far stop being enough: a read that is not over by
		// then is too slow, however long it would still wait.
		d := c.began.Add(max(c.grace, time.Duration(float64(c.received-c.base)/float64(c.rate)*float64(time.Second))))
		if d.Before(until) {
			until, late = d, TooSlow
		}
	}
	if err := c.Conn.SetReadDeadline(until); err != nil {
		return 0, err
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.Conn.Read(p)
	c.left -= int64(n)
	c.received += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.failed = late
	}
	c.err = err
	return n, err
}

func (c *limitedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(c.until); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.failed = c.late
	}
	return n, err
}

// classify says what an error of a read or a write means; otherwise is the
// cause of one that is none of the network's.
func (c *limitedConn) classify(err error, otherwise Cause) *failure {
	if c.err != nil && !errors.Is(c.err, io.EOF) {
		err = c.err // what a reader above made of it says less
	}
	switch {
	case c.failed != CauseNone:
		return &failure{c.failed, ""}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return &failure{Reset, ""}
	case c.received == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return &failure{Closed, ""}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{Incomplete, ""}
	}
	if call, ok := errors.AsType[syscall.Errno](err); ok && slices.Contains(noNetwork, call) {
		return &failure{NoNetwork, call.Error()}
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return &failure{Reset, op.Err.Error()}
	}
	return &failure{otherwise, err.Error()}
}
