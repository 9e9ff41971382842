package server

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// errBusy means that there is no place for a request.
var errBusy = errors.New("too many requests wait")

// places limits how many requests work concurrently, and how many wait for that. A request
// that waits for a site, or whose response is being written, holds no place: a slow site or
// client costs memory, never a worker.
type places struct {
	taken   chan struct{} // a value for each taken place
	most    int64         // waiting requests
	timeout time.Duration // of each of them

	waiting, away atomic.Int64
	released      atomic.Int64 // last release of a place, Unix nanoseconds
}

func newPlaces(n, most int, timeout time.Duration) *places {
	return &places{taken: make(chan struct{}, n), most: int64(most), timeout: timeout}
}

// enter takes a place, or returns errBusy or the cause of ctx.
func (p *places) enter(ctx context.Context) error {
	select {
	case p.taken <- struct{}{}:
		return nil
	default:
	}
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > p.most {
		return errBusy
	}
	select {
	case p.taken <- struct{}{}:
		return nil
	case <-time.After(p.timeout):
		return errBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave releases a place.
func (p *places) leave() {
	<-p.taken
	p.released.Store(time.Now().UnixNano())
}

// outside releases the place while f waits, and then takes one again, for which it waits
// without a limit.
func (p *places) outside(f func()) {
	p.leave()
	p.away.Add(1)
	defer func() {
		p.taken <- struct{}{}
		p.away.Add(-1)
	}()
	f()
}

// full reports whether a new request would be refused.
func (p *places) full() bool { return len(p.taken) == cap(p.taken) && p.waiting.Load() >= p.most }

// stuck reports whether requests wait although no place was released for this long.
func (p *places) stuck(d time.Duration) bool {
	return len(p.taken) == cap(p.taken) && p.waiting.Load() > 0 && time.Since(time.Unix(0, p.released.Load())) > d
}

// working returns the number of requests with a place or within outside.
func (p *places) working() int { return len(p.taken) + int(p.away.Load()) }
