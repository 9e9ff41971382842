package fetch

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A limitedConn applies the limits of a fetch to a connection: each read has a deadline and
// counts. A fetch waits and reads only through it, so that no limit can be forgotten. One
// goroutine can read while another writes and sets limits.
type limitedConn struct {
	net.Conn // TLS for https

	mu    sync.Mutex // guards the following; not held during a read or write
	until time.Time
	late  Cause // if a read or write passes until

	left     int64 // bytes that can still be read
	over     Cause // if more are read
	received int64
	unsent   int64 // bytes that can still be sent, if bounded
	bounded  bool

	// If rate is above 0, the bytes since began must keep up with it after grace.
	rate  int64
	grace time.Duration
	began time.Time
	base  int64

	reading bool  // a read is in progress
	rearmed bool  // its deadline was moved
	failed  Cause // the limit that was reached
	err     error // of a read, after which no read succeeds
}

// phase sets the time limit of the next phase, for a read in progress too.
func (c *limitedConn) phase(until time.Time, late Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until, c.late = until, late
	c.rearm()
}

// quota sets how many more bytes can be read.
func (c *limitedConn) quota(left int64, over Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.over = left, over
}

// atLeast sets the minimum rate from now on.
func (c *limitedConn) atLeast(rate int64, grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate, c.grace, c.began, c.base = rate, grace, time.Now(), c.received
	c.rearm()
}

// atMost sets how many more bytes can be sent.
func (c *limitedConn) atMost(unsent int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent, c.bounded = unsent, true
}

// got returns how many bytes were read.
func (c *limitedConn) got() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received
}

// fail sets the cause of the failure and returns an error.
func (c *limitedConn) fail(why Cause) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = why
	return errLimit
}

// rearm moves the deadline of a read in progress. If that fails, it closes the connection,
// which ends the read.
func (c *limitedConn) rearm() {
	if c.reading {
		until, _ := c.deadline()
		c.rearmed = true
		_ = c.Conn.SetReadDeadline(until)
	}
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

func (c *limitedConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if c.left <= 0 {
		c.failed, c.err = c.over, errLimit
		return 0, errLimit
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.read(p)
	for c.rearmed && n == 0 && errors.Is(err, os.ErrDeadlineExceeded) { // the earlier deadline
		n, err = c.read(p)
	}
	c.left -= int64(n)
	c.received += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_, c.failed = c.deadline()
	}
	c.err = err
	return n, err
}

// read reads once with the current deadline.
func (c *limitedConn) read(p []byte) (int, error) {
	until, _ := c.deadline()
	// A pipe with a closed end accepts no deadline, but a read ends at once.
	if err := c.Conn.SetReadDeadline(until); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return 0, err
	}
	c.reading, c.rearmed = true, false
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.reading = false
	return n, err
}

func (c *limitedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bounded {
		if int64(len(p)) > c.unsent {
			c.failed = RawLimit
			c.Conn.Close() // it gets no more responses, and a read ends
			return 0, errLimit
		}
		c.unsent -= int64(len(p))
	}
	if err := c.Conn.SetWriteDeadline(c.until); err != nil {
		return 0, err
	}
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.failed = c.late
	}
	return n, err
}

// classify returns the failure for an error of a read or write; otherwise is the cause of an
// error that is not the network's.
func (c *limitedConn) classify(err error, otherwise Cause) *failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil && !errors.Is(c.err, io.EOF) && !errors.Is(c.err, net.ErrClosed) {
		err = c.err // more precise than the error of a reader above, unless that closed the connection
	}
	if f, known := errors.AsType[*failure](err); known {
		return f
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
