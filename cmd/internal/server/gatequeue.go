package server

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// A queue that was not empty for overloadAfter is one of an overload and not of a
	// burst, and so it is until nobody was refused for as long. Then no more wait than
	// there are places, so that those who are answered are so within three times what the
	// answer takes, and the others know at once that they are not. With two for each place
	// it was 3.2 times on two cores.
	overloadAfter = 100 * time.Millisecond
	// Where a place is held for less than overloadWork, nobody is refused so: a refusal costs
	// some 25 µs, which pays if an answer costs ten times as much.
	overloadWork = 250 * time.Microsecond
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
	refused time.Time // when somebody was refused in an overload for the last time
	counted time.Time // since when those who left are counted, for half of overloadAfter
	left    int
	quick   bool // so many left in the time before that each took less than overloadWork
}

// A waiter waits for a place. It gets true with one, false if there is none.
type waiter chan bool

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
	if q.crowded(now) {
		q.mu.Unlock()
		return errBusy
	}
	if q.waiting.Len() == 0 {
		q.emptied = now
	}
	w := make(waiter, 1)
	at := q.waiting.PushBack(w)
	q.mu.Unlock()

	late := time.NewTimer(q.time)
	defer late.Stop()
	err := errBusy
	select {
	case ok := <-w:
		return errUnless(ok)
	case <-late.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case ok := <-w: // in the same moment
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

// crowded reports whether whoever comes now is refused. It refuses those who have waited
// longest where more wait than in an overload may.
func (q *queue) crowded(now time.Time) bool {
	if q.quick || !(q.waiting.Len() > 0 && now.Sub(q.emptied) > overloadAfter) && now.Sub(q.refused) > overloadAfter {
		return q.waiting.Len() >= q.most
	}
	most := min(q.places, q.most)
	for q.waiting.Len() > most {
		q.waiting.Remove(q.waiting.Front()).(waiter) <- false
		q.refused = now
	}
	if q.waiting.Len() < most {
		return false
	}
	q.refused = now
	return true
}

// refuses reports whether enter would refuse now: then the body of a request need not be
// read.
func (q *queue) refuses() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free <= 0 && q.crowded(time.Now())
}

// leave gives a place back.
func (q *queue) leave() {
	now := time.Now()
	q.mu.Lock()
	q.left++
	if since := now.Sub(q.counted); since > overloadAfter/2 {
		q.quick = time.Duration(q.left)*overloadWork > since*time.Duration(q.places)
		q.counted, q.left = now, 0
	}
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
	q.crowded(now)
	for q.free > 0 && q.waiting.Len() > 0 {
		q.free--
		q.waiting.Remove(q.waiting.Front()).(waiter) <- true
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
