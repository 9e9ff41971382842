package server

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// errBusy means that there is no slot for a request.
var errBusy = errors.New("too many requests wait")

// slots limits how many requests work concurrently, and how many wait for that. A request
// that waits for a site, or whose response is being written, holds no slot: a slow site or
// client costs memory, never a worker.
type slots struct {
	most        int           // requests that work
	mostWaiting int64         // requests in the queue
	timeout     time.Duration // of each of them

	mu    sync.Mutex
	inUse int
	queue []*queued // in order of arrival; only if all slots are in use

	waiting  atomic.Int64 // requests in the queue that have not worked
	away     atomic.Int64 // requests within withoutSlot
	released atomic.Int64 // last release of a slot, Unix nanoseconds
}

// queued is a request that waits for a slot.
type queued struct {
	allowance func() float64 // questions that its client may still send, negative for a debt
	ready     chan struct{}  // closed when it has a slot
}

func newSlots(n, most int, timeout time.Duration) *slots {
	return &slots{most: n, mostWaiting: int64(most), timeout: timeout}
}

// enter takes a slot, or returns errBusy or the cause of ctx. The client with the largest allowance is the
// first in the queue, so that one whose requests cost much does not keep others waiting.
func (s *slots) enter(ctx context.Context, allowance func() float64) error {
	defer s.waiting.Add(-1)
	waiting := s.waiting.Add(1)
	s.mu.Lock()
	if s.take() {
		s.mu.Unlock()
		return nil
	}
	if waiting > s.mostWaiting {
		s.mu.Unlock()
		return errBusy
	}
	q := s.enqueue(allowance)
	s.mu.Unlock()
	err := errBusy
	select {
	case <-q.ready:
		return nil
	case <-time.After(s.timeout):
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !s.remove(q) {
		s.leave() // it has just got a slot
	}
	return err
}

// take takes a slot if one is free.
func (s *slots) take() bool {
	if s.inUse == s.most {
		return false
	}
	s.inUse++
	return true
}

// enqueue adds a request to the queue.
func (s *slots) enqueue(allowance func() float64) *queued {
	q := &queued{allowance, make(chan struct{})}
	s.queue = append(s.queue, q)
	return q
}

// remove removes a request from the queue, and reports whether it was there.
func (s *slots) remove(q *queued) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, q)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	return true
}

// leave releases a slot, which passes to the first request in the queue.
func (s *slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released.Store(time.Now().UnixNano())
	if len(s.queue) == 0 {
		s.inUse--
		return
	}
	first := 0
	most := math.Inf(-1)
	for i, q := range s.queue {
		if n := q.allowance(); n > most {
			most = n
			first = i
		}
	}
	close(s.queue[first].ready)
	s.queue = slices.Delete(s.queue, first, first+1)
}

// withoutSlot releases the slot while f waits, and then takes one again, for which it waits
// without a limit.
func (s *slots) withoutSlot(f func()) {
	s.leave()
	s.away.Add(1)
	defer func() {
		s.mu.Lock()
		if s.take() {
			s.mu.Unlock()
		} else {
			q := s.enqueue(func() float64 { return math.Inf(1) })
			s.mu.Unlock()
			<-q.ready
		}
		s.away.Add(-1)
	}()
	f()
}

// allInUse reports whether no slot is free.
func (s *slots) allInUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse == s.most
}

// full reports whether a new request would be refused.
func (s *slots) full() bool { return s.allInUse() && s.waiting.Load() >= s.mostWaiting }

// stuck reports whether requests wait although no slot was released for this long.
func (s *slots) stuck(d time.Duration) bool {
	return s.allInUse() && s.waiting.Load() > 0 && time.Since(time.Unix(0, s.released.Load())) > d
}

// working returns the number of requests with a slot or within withoutSlot.
func (s *slots) working() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.inUse) + s.away.Load()
}
