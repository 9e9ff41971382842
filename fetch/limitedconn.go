package fetch

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// A limitedConn applies the limits of a fetch to a connection: each read has a deadline and
// counts. A fetch waits and reads only through it, so that no limit can be forgotten.
type limitedConn struct {
	net.Conn // TLS for https

	until time.Time
	late  Cause // if a read or write passes until

	left     int64 // bytes that can still be read
	over     Cause // if more are read
	received int64

	// If rate is above 0, the bytes since began must keep up with it after grace.
	rate  int64
	grace time.Duration
	began time.Time
	base  int64

	failed Cause // the limit that was reached
	err    error // of a read, after which no read succeeds
}

// phase sets the time limit of the next phase.
func (c *limitedConn) phase(until time.Time, late Cause) { c.until, c.late = until, late }

// quota sets how many more bytes can be read.
func (c *limitedConn) quota(left int64, over Cause) { c.left, c.over = left, over }

// atLeast sets the minimum rate from now on.
func (c *limitedConn) atLeast(rate int64, grace time.Duration) {
	c.rate, c.grace, c.began, c.base = rate, grace, time.Now(), c.received
}

// deadline returns when a read must have ended, and the cause if it has not.
func (c *limitedConn) deadline() (time.Time, Cause) {
	if c.rate > 0 {
		// When the bytes so far stop satisfying the minimum rate.
		d := c.began.Add(max(c.grace, time.Duration(float64(c.received-c.base)/float64(c.rate)*float64(time.Second))))
		if d.Before(c.until) {
			return d, TooSlow
		}
	}
	return c.until, c.late
}

var errLimit = errors.New("over the limit")

func (c *limitedConn) Read(p []byte) (n int, err error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.left <= 0 {
		c.failed, c.err = c.over, errLimit
		return 0, c.err
	}
	until, late := c.deadline()
	// A pipe with a closed end accepts no deadline, but a read ends at once.
	if err = c.Conn.SetReadDeadline(until); err == nil || errors.Is(err, io.ErrClosedPipe) {
		n, err = c.Conn.Read(p[:min(int64(len(p)), c.left)])
	}
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

// classify returns the failure for an error of a read or write; otherwise is the cause of an
// error that is not the network's.
func (c *limitedConn) classify(err error, otherwise Cause) *failure {
	if c.err != nil && !errors.Is(c.err, io.EOF) {
		err = c.err // more precise than the error of a reader above
	}
	if f, known := errors.AsType[*failure](err); known {
		return f
	}
	switch {
	case c.failed != CauseNone:
		return &failure{c.failed, ""}
	case c.received == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return &failure{Closed, ""}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{Incomplete, ""}
	}
	f := unreached(err, c.late)
	switch {
	case f == nil:
		return &failure{otherwise, err.Error()}
	case f.cause == ConnectFailed: // of another kind, such as EPIPE
		return &failure{Reset, f.detail}
	}
	return f
}
