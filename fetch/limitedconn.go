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

	phaseEnd     time.Time
	timeoutCause Cause // the failure if a read or write takes longer

	bytesLeft  int64 // bytes that can still be read
	quotaCause Cause // the failure if more are read
	received   int64

	// If rate is above 0, it is the minimum number of bytes per second from rateStart on,
	// checked after grace. rateBase is the number of bytes received before rateStart.
	rate      int64
	grace     time.Duration
	rateStart time.Time
	rateBase  int64

	limitReached Cause // the limit that was reached
	err          error // of a read, after which no read succeeds
}

// setPhase sets the time limit of the next phase.
func (c *limitedConn) setPhase(end time.Time, cause Cause) {
	c.phaseEnd = end
	c.timeoutCause = cause
}

// setQuota sets how many more bytes can be read.
func (c *limitedConn) setQuota(bytes int64, cause Cause) {
	c.bytesLeft = bytes
	c.quotaCause = cause
}

// setMinRate sets the minimum rate from now on.
func (c *limitedConn) setMinRate(rate int64, grace time.Duration) {
	c.rate = rate
	c.grace = grace
	c.rateStart = time.Now()
	c.rateBase = c.received
}

// deadline returns when a read must have ended, and the cause if it has not.
func (c *limitedConn) deadline() (time.Time, Cause) {
	if c.rate > 0 {
		// When the bytes so far stop satisfying the minimum rate.
		d := c.rateStart.Add(max(c.grace, time.Duration(float64(c.received-c.rateBase)/float64(c.rate)*float64(time.Second))))
		if d.Before(c.phaseEnd) {
			return d, TooSlow
		}
	}
	return c.phaseEnd, c.timeoutCause
}

var errLimit = errors.New("over the limit")

func (c *limitedConn) Read(p []byte) (n int, err error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.bytesLeft <= 0 {
		c.limitReached = c.quotaCause
		c.err = errLimit
		return 0, c.err
	}
	until, late := c.deadline()
	// A pipe with a closed end accepts no deadline, but a read ends at once.
	if err = c.Conn.SetReadDeadline(until); err == nil || errors.Is(err, io.ErrClosedPipe) {
		n, err = c.Conn.Read(p[:min(int64(len(p)), c.bytesLeft)])
	}
	c.bytesLeft -= int64(n)
	c.received += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.limitReached = late
	}
	c.err = err
	return n, err
}

func (c *limitedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(c.phaseEnd); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.limitReached = c.timeoutCause
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
	case c.limitReached != CauseNone:
		return &failure{c.limitReached, ""}
	case c.received == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return &failure{Closed, ""}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{Incomplete, ""}
	}
	f := classifyNetError(err, c.timeoutCause)
	switch {
	case f == nil:
		return &failure{otherwise, err.Error()}
	case f.cause == ConnectFailed: // of another kind, such as EPIPE
		return &failure{Reset, f.detail}
	}
	return f
}
