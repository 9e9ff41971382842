// Package queue lets the callers that wait for one site wait in the order of their arrival.
package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// Queues are the waiting callers of each origin, each with a channel that wakes it. Only the
// first of an origin watches the clock. The zero value has none.
type Queues struct {
	mu       sync.Mutex
	byOrigin map[robots.Origin][]chan struct{}
}

// Enter adds a caller, and reports whether it is the first. Another one becomes the first when
// it is woken. Every caller must call leave.
func (q *Queues) Enter(o robots.Origin) (wake <-chan struct{}, first bool, leave func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byOrigin == nil {
		q.byOrigin = map[robots.Origin][]chan struct{}{}
	}
	c := make(chan struct{}, 1)
	q.byOrigin[o] = append(q.byOrigin[o], c)
	return c, len(q.byOrigin[o]) == 1, func() { q.leave(o, c) }
}

func (q *Queues) leave(o robots.Origin, c chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.byOrigin[o], c)
	q.byOrigin[o] = slices.Delete(q.byOrigin[o], i, i+1)
	if len(q.byOrigin[o]) == 0 {
		delete(q.byOrigin, o)
	} else if i == 0 {
		Notify(q.byOrigin[o][0])
	}
}

// Wake wakes the first caller of an origin.
func (q *Queues) Wake(o robots.Origin) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if list := q.byOrigin[o]; len(list) > 0 {
		Notify(list[0])
	}
}

// WakeAll wakes the first caller of each of some origins.
func (q *Queues) WakeAll(which func(robots.Origin) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for o, list := range q.byOrigin {
		if which(o) {
			Notify(list[0])
		}
	}
}

// Notify puts a signal into a channel that holds at most one.
func Notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Sleep returns at a signal of wake, after a time (0 for none), or with the cause of the end of
// the context.
func Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	var alarm <-chan time.Time
	if d > 0 {
		alarm = time.After(d)
	}
	select {
	case <-wake:
	case <-alarm:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
