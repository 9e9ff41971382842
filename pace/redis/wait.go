package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// A queue holds the callers of Wait at one origin in this process, in the order of
// their arrival, each with a channel that wakes it and holds at most one. Only the
// first asks the server.
type queue []chan struct{}

// signal wakes the first.
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

// waited reports whether somebody waits at an origin in this process.
func (l *Limiter) waited(o robots.Origin) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queues[o]) > 0
}

// signal wakes the first who waits at an origin.
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

// leave takes a caller out of the queue. If it was the first, the next is woken.
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

// claimAhead is how long before a start the first of a queue asks for it. Of many
// processes that wait for one site the one that asks first gets the start. The others
// learn so at different moments, so they do not all ask at the start itself.
const claimAhead = 25 * time.Millisecond

// longestSleep bounds how long a caller trusts an answer: clocks are set, and grants
// come back unused. longestAlone is that while Redis is down.
const (
	longestSleep = time.Minute
	longestAlone = 500 * time.Millisecond
)

// shortestPause is the shortest time between two decisions for one caller. It doubles
// up to claimAhead while a site with a short interval is busy.
const shortestPause = 250 * time.Microsecond

// because reports whether a cause is among the reasons of a turn.
func because(t pace.Turn, c pace.Cause) bool {
	return slices.ContainsFunc(t.Reasons, func(r pace.Reason) bool { return r.Cause == c })
}

// Wait returns when the request may start.
func (l *Limiter) Wait(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Grant, error) {
	asked := l.options.Asked()
	g, err := l.wait(ctx, key, s)
	l.options.TellDecided(key.Origin, asked, g, err)
	return g, err
}

func (l *Limiter) wait(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Grant, error) {
	if ctx.Err() != nil {
		return pace.Grant{}, waiting(ctx, "for "+key.String())
	}
	deadline, limited := ctx.Deadline()
	wake, first := l.enter(key.Origin)
	defer l.leave(key.Origin, wake)
	if !first {
		if limited {
			turn, err := l.NotBefore(ctx, key, s)
			if err == nil && turn.Start.After(deadline) {
				return pace.Grant{}, &pace.LateError{Key: key, Turn: turn}
			}
		}
		if l.sleep(ctx, 0, wake) != nil {
			return pace.Grant{}, waiting(ctx, "for "+key.String())
		}
	}
	var down error
	interval, least := s.Fastest(), shortestPause
	for {
		g, err := l.decide(ctx, &decision{key: key, schedule: s, within: min(interval/4, claimAhead)})
		pause := longestAlone
		switch {
		case ctx.Err() != nil:
			l.unused(ctx, g)
			return pace.Grant{}, gaveUp(ctx, key, down)
		case errors.Is(err, ErrDown):
			down, pause = err, jittered(pause)*3/4
		case err != nil:
			return pace.Grant{}, err
		case limited && g.Start.After(deadline):
			l.unused(ctx, g)
			return pace.Grant{}, &pace.LateError{Key: key, Turn: g.Turn}
		case g.OK():
			usable, err := l.sleepTo(ctx, wake, g)
			if usable {
				return g, nil
			}
			l.unused(ctx, g)
			if ctx.Err() != nil {
				return pace.Grant{}, gaveUp(ctx, key, down)
			}
			if err != nil {
				return pace.Grant{}, err
			}
			continue
		default:
			down, interval = nil, g.Interval
			pause, least = l.pause(g, least)
		}
		if l.sleep(ctx, max(pause, shortestPause), wake) != nil {
			return pace.Grant{}, gaveUp(ctx, key, down)
		}
	}
}

// pause returns how long to wait after a refusal before the next decision, and the
// shortest pause after the one after that.
func (l *Limiter) pause(g pace.Grant, least time.Duration) (pause, next time.Duration) {
	pause = longestAlone
	if l.tagOf(g.Key.Origin.String()).outage.Load() == nil {
		pause = jittered(longestSleep) * 4 / 5
	}
	// A busy site is free at the earliest an interval from now, so to ask then loses
	// no time.
	ahead := min(g.Interval/4, claimAhead)
	pause = min(pause, time.Until(g.Start)-rand.N(ahead+1))
	if because(g.Turn, pace.CauseBusy) {
		return max(pause, least), min(2*least, claimAhead)
	}
	return pause, shortestPause
}

// sleepTo sleeps to the start of a grant and reports whether it may be used then: not
// if this process was stopped meanwhile. The error is that of ctx or of a limiter that
// was closed.
func (l *Limiter) sleepTo(ctx context.Context, wake <-chan struct{}, g pace.Grant) (usable bool, err error) {
	for d := time.Until(g.Start); d > 0; d = time.Until(g.Start) {
		if err := l.sleep(ctx, d, wake); err != nil {
			return false, err
		}
		if l.closing.Err() != nil {
			return false, errClosed
		}
		if err := l.stopped(); err != nil {
			return false, err
		}
	}
	return passed(g.Start) <= callLimit && l.Valid(g), nil
}

// unused gives back the grant of a caller who gave up.
func (l *Limiter) unused(ctx context.Context, g pace.Grant) {
	_ = l.done(context.WithoutCancel(ctx), g, pace.Result{Unused: true}) // what cannot be told is kept
}

// gaveUp is the error of a caller whose context ended. It names Redis if the caller
// waited for that.
func gaveUp(ctx context.Context, key pace.Key, down error) error {
	return errors.Join(waiting(ctx, "for "+key.String()), down)
}

// sleep returns at a signal of wake, after a time (0 for none), when the limiter is
// closed, or with an error at the end of the context.
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
	case <-l.closing.Done(): // what is asked next says so
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
