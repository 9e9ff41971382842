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

// A wire is a connection that keeps the limits of a fetch: each read has a
// deadline and counts. All waiting and all reading of a fetch goes through it,
// so that no path can forget a limit.
type wire struct {
	conn  net.Conn // TLS where there is
	until time.Time
	late  Cause // of a read or write past until

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
func (w *wire) phase(until time.Time, late Cause, left int64, over Cause) {
	w.until, w.late, w.left, w.over = until, late, left, over
}

// atLeast sets the least rate of what follows.
func (w *wire) atLeast(rate int64, grace time.Duration) {
	w.rate, w.grace, w.began, w.base = rate, grace, time.Now(), w.received
}

var errLimit = errors.New("over the limit")

func (w *wire) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.left <= 0 {
		w.failed, w.err = w.over, errLimit
		return 0, errLimit
	}
	until, late := w.until, w.late
	if w.rate > 0 {
		// When the bytes so far stop being enough: a read that is not over by
		// then is too slow, however long it would still wait.
		d := w.began.Add(max(w.grace, time.Duration(float64(w.received-w.base)/float64(w.rate)*float64(time.Second))))
		if d.Before(until) {
			until, late = d, TooSlow
		}
	}
	if err := w.conn.SetReadDeadline(until); err != nil {
		return 0, err
	}
	if int64(len(p)) > w.left {
		p = p[:w.left]
	}
	n, err := w.conn.Read(p)
	w.left -= int64(n)
	w.received += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.failed = late
	}
	w.err = err
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	if err := w.conn.SetWriteDeadline(w.until); err != nil {
		return 0, err
	}
	n, err := w.conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.failed = w.late
	}
	return n, err
}

// classify says what an error of a read or a write means; otherwise is the
// cause of one that is none of the network's.
func (w *wire) classify(err error, otherwise Cause) *failure {
	if w.err != nil && !errors.Is(w.err, io.EOF) {
		err = w.err // what a reader above made of it says less
	}
	switch {
	case w.failed != CauseNone:
		return &failure{w.failed, ""}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return &failure{Reset, ""}
	case w.received == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
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
