package redis

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// A queue holds the callers of Acquire at one origin in this process, in the order of
// arrival, each with a channel that wakes it. Only the first calls the server.
type queue []chan struct{}

func (q queue) signal() {
	if len(q) > 0 {
		notify(q[0])
	}
}

// notify puts a signal into a channel that holds at most one.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// waited reports whether a caller waits for an origin in this process.
func (l *Limiter) waited(o robots.Origin) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queues[o]) > 0
}

// signal wakes the first caller that waits for an origin.
func (l *Limiter) signal(o robots.Origin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queues[o].signal()
}

// enter puts a caller at the end of the queue of an origin.
func (l *Limiter) enter(o robots.Origin) (wake chan struct{}, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wake = make(chan struct{}, 1)
	l.queues[o] = append(l.queues[o], wake)
	return wake, len(l.queues[o]) == 1
}

// leave removes a caller from the queue. If it was the first, the next is woken.
func (l *Limiter) leave(o robots.Origin, wake chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queues[o], wake)
	q := slices.Delete(l.queues[o], i, i+1)
	l.queues[o] = q
	if len(q) == 0 {
		delete(l.queues, o)
	} else if i == 0 {
		q.signal()
	}
}

// claimAhead is how long before a start the first of a queue asks for it. Of many processes
// that wait for one site the first to ask gets the start. The others learn so at different
// moments, so they do not all ask at the start itself.
const claimAhead = 25 * time.Millisecond

// shortestPause is the shortest time between two decisions for one caller. It doubles
// up to claimAhead while permits of the site are acquired.
const shortestPause = 250 * time.Microsecond

// jittered returns between 3/4 and 5/4 of a duration, so that workers that were started, or
// lost Redis, at the same time do not ask at the same time.
func jittered(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// pauseFor returns how long to wait after a refusal before the next decision, and the
// shortest pause after the one after that.
func pauseFor(p pace.Permit, ahead, least time.Duration) (pause, next time.Duration) {
	pause = min(jittered(longestSleep)*4/5, time.Until(p.NotBefore)-rand.N(max(ahead, 0)+1))
	if slices.ContainsFunc(p.Reasons, func(r pace.Reason) bool { return r.Cause == pace.CauseBusy }) {
		// The site is free at the earliest an interval from now.
		return max(pause, least), min(2*least, claimAhead)
	}
	return max(pause, shortestPause), shortestPause
}

// sleepTo sleeps to the start of a permit and reports whether it is usable then: the process
// might have been stopped meanwhile.
func (l *Limiter) sleepTo(ctx context.Context, p pace.Permit, wake <-chan struct{}) bool {
	for d := time.Until(p.Start); d > 0; d = time.Until(p.Start) {
		if l.sleep(ctx, d, wake) != nil {
			return false
		}
		if l.stopped(ctx) != nil {
			return false
		}
	}
	return passed(p.Start) <= callLimit
}

// sleep returns at a signal of wake, after a time (0 for none), when the limiter is closed,
// or with an error at the end of the context.
func (l *Limiter) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	var alarm <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		alarm = t.C
	}
	select {
	case <-wake:
	case <-alarm:
	case <-l.closing.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
