package server

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// errBusy means that there is no slot for a request.
var errBusy = errors.New("too many requests wait")

// slots limits how many requests work concurrently, and how many wait for that. A request
// that waits for a site, or whose response is being written, holds no slot: a slow site or
// client costs memory, never a worker.
type slots struct {
	inUse   chan struct{} // a value for each taken slot
	most    int64         // waiting requests
	timeout time.Duration // of each of them

	waiting  atomic.Int64 // requests in the queue
	away     atomic.Int64 // requests within withoutSlot
	released atomic.Int64 // last release of a slot, Unix nanoseconds
}

func newSlots(n, most int, timeout time.Duration) *slots {
	return &slots{inUse: make(chan struct{}, n), most: int64(most), timeout: timeout}
}

// enter takes a slot, or returns errBusy or the cause of ctx.
func (s *slots) enter(ctx context.Context) error {
	select {
	case s.inUse <- struct{}{}:
		return nil
	default:
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > s.most {
		return errBusy
	}
	select {
	case s.inUse <- struct{}{}:
		return nil
	case <-time.After(s.timeout):
		return errBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave releases a slot.
func (s *slots) leave() {
	<-s.inUse
	s.released.Store(time.Now().UnixNano())
}

// withoutSlot releases the slot while f waits, and then takes one again, for which it waits
// without a limit.
func (s *slots) withoutSlot(f func()) {
	s.leave()
	s.away.Add(1)
	defer func() {
		s.inUse <- struct{}{}
		s.away.Add(-1)
	}()
	f()
}

// full reports whether a new request would be refused.
func (s *slots) full() bool { return len(s.inUse) == cap(s.inUse) && s.waiting.Load() >= s.most }

// stuck reports whether requests wait although no slot was released for this long.
func (s *slots) stuck(d time.Duration) bool {
	return len(s.inUse) == cap(s.inUse) && s.waiting.Load() > 0 && time.Since(time.Unix(0, s.released.Load())) > d
}

// working returns the number of requests with a slot or within outside.
func (s *slots) working() int64 { return int64(len(s.inUse)) + s.away.Load() }
