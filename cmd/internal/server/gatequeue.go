package server

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// A queue that was not empty for overloadAfter is one of an overload and not of
	// a burst. Then whoever came last is next and nobody waits for longer than
	// overloadWait: those who are answered are answered soon, and the others know
	// soon that they are not (as CoDel with adaptive LIFO does).
	overloadAfter = 100 * time.Millisecond
	overloadWait  = 5 * time.Millisecond
	// lendAfter is how long a request waits for something else before another may
	// work in its place: longer than an answer out of memory takes.
	lendAfter = 2 * time.Millisecond
)

// errBusy says that there is no place for a request.
var errBusy = errors.New("too many requests wait")

// A queue bounds how many requests work at a time and how many wait for that.
type queue struct {
	places   int // requests that work at a time
	mostAway int
	most     int           // requests that wait
	time     time.Duration // for which each waits

	mu      sync.Mutex
	free    int // below 0 while requests that are back from waiting finish
	away    int // requests whose places were lent while they wait for something
	waiting list.List
	emptied time.Time // when nobody waited for the last time
}

// A waiter waits for a place. It gets true with one, false if there is none.
type waiter struct {
	since time.Time
	ready chan bool
}

func newQueue(places, mostAway, most int, patience time.Duration) *queue {
	return &queue{places: places, free: places, mostAway: mostAway, most: most, time: patience}
}

// enter takes a place, or returns errBusy or the error of ctx. Whoever has entered
// leaves.
func (q *queue) enter(ctx context.Context) error {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return nil
	}
	now := time.Now()
	if q.waiting.Len() == 0 {
		q.emptied = now
	}
	if q.waiting.Len() >= q.most {
		q.mu.Unlock()
		return errBusy
	}
	w := &waiter{now, make(chan bool, 1)}
	at := q.waiting.PushBack(w)
	patience := q.time
	if q.overload(now) {
		patience = min(patience, overloadWait)
	}
	q.mu.Unlock()

	late := time.NewTimer(patience)
	defer late.Stop()
	err := errBusy
	select {
	case ok := <-w.ready:
		return errUnless(ok)
	case <-late.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case ok := <-w.ready: // in the same moment
		if ok && ctx.Err() != nil {
			q.free++
			q.admit()
			return err
		}
		return errUnless(ok)
	default:
		q.waiting.Remove(at)
		return err
	}
}

func errUnless(ok bool) error {
	if ok {
		return nil
	}
	return errBusy
}

// overload reports whether those who wait are more than a burst.
func (q *queue) overload(now time.Time) bool { return now.Sub(q.emptied) > overloadAfter }

// leave gives a place back.
func (q *queue) leave() {
	q.mu.Lock()
	q.free++
	q.admit()
	q.mu.Unlock()
}

// admit lets those in for whom there are places.
func (q *queue) admit() {
	if q.waiting.Len() == 0 {
		return
	}
	now := time.Now()
	overload := q.overload(now)
	for q.free > 0 && q.waiting.Len() > 0 {
		next := q.waiting.Front()
		if overload {
			next = q.waiting.Back()
		}
		q.free--
		q.waiting.Remove(next).(*waiter).ready <- true
	}
	for overload && q.waiting.Len() > 0 && now.Sub(q.waiting.Front().Value.(*waiter).since) > overloadWait {
		q.waiting.Remove(q.waiting.Front()).(*waiter).ready <- false
	}
	if q.waiting.Len() == 0 {
		q.emptied = now
	}
}

// outside calls f for a request that has a place, and lends the place while f
// takes long, as long as not too many are lent.
func (q *queue) outside(f func()) {
	back, lent := false, false
	timer := time.AfterFunc(lendAfter, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if !back && q.away < q.mostAway {
			lent = true
			q.away++
			q.free++
			q.admit()
		}
	})
	defer func() {
		if timer.Stop() {
			return
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if back = true; lent {
			q.away--
			q.free-- // what is left is to write the answer
		}
	}()
	f()
}

// length is how many work, how many of those wait for something else, and how many
// wait for a place.
func (q *queue) length() (working, away, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.places - q.free + q.away, q.away, q.waiting.Len()
}
