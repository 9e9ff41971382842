package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// heartbeatEvery is how often a worker tells the server that it lives. The first
// heartbeats are faster, as the workers of a fleet are often started together. It is a
// variable for the tests.
var heartbeatEvery = 5 * time.Second

// workerTimeout is after how long without a heartbeat a worker is taken for gone.
func workerTimeout() time.Duration { return 3 * heartbeatEvery }

// usableFor is for how long after a heartbeat a worker may use its grants: a fifth of a
// heartbeat less than workerTimeout, so that there is time to send the request.
func usableFor() time.Duration { return workerTimeout() - heartbeatEvery/5 }

// While Redis is down a worker looks again after shortestProbe, then after ever longer
// times up to longestProbe.
const (
	firstHeartbeat = 250 * time.Millisecond
	shortestProbe  = 50 * time.Millisecond
	longestProbe   = time.Second
)

// jittered returns between 3/4 and 5/4 of a duration, so that workers which were
// started together, or lost Redis together, do not ask together.
func jittered(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// loop keeps the worker on the list and waits for a Redis that is down.
func (l *Limiter) loop() {
	defer close(l.ended)
	probe, every := shortestProbe, firstHeartbeat
	t := time.NewTimer(jittered(every))
	defer t.Stop()
	var known *outage
	for {
		select {
		case <-t.C:
		case <-l.wake:
			switch o := l.outage.Load(); {
			case o == nil:
				_ = l.sendPending(l.closing)
			case o != known:
				known = o
				t.Reset(jittered(probe))
			}
			continue
		case <-l.closing.Done():
			l.sendLast()
			return
		}
		switch o := l.outage.Load(); {
		case o != nil:
			l.endOutage(o)
		default:
			every = min(2*every, heartbeatEvery)
			err := l.heartbeat(l.closing)
			if err == nil {
				err = l.sendPending(l.closing)
				probe = shortestProbe // not sooner: a server may take heartbeats and no grants
			}
			if err != nil && l.closing.Err() == nil {
				l.goDown(err)
			}
		}
		pause := jittered(every)
		if known = l.outage.Load(); known != nil {
			pause, probe = jittered(probe), min(2*probe, longestProbe)
		}
		t.Reset(pause)
	}
}

// sendLast sends what is pending when the limiter is closed.
func (l *Limiter) sendLast() {
	if l.outage.Load() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	_ = l.sendPending(ctx) // what cannot be sent now ends with the worker's heartbeats
}

// heartbeat says that the worker lives. It learns how many workers there are and which
// server this is.
func (l *Limiter) heartbeat(ctx context.Context) error {
	e := l.epoch.Load()
	made, before := l.grants.Load(), l.lastHeartbeat.Load()
	sent := clock()
	args := []string{l.workerName(), fmt.Sprint(workerTimeout().Microseconds()), fmt.Sprint(l.options.GrantTimeout.Microseconds()), l.about(before, sent)}
	keys := []string{l.workersKey, l.epochKey, l.aboutKey, l.drainKey}
	reply, err := l.call(ctx, script.Script.Run, heartbeatScript, keys, args)
	if err != nil {
		return err
	}
	var now, workers, rank, drained micros
	identity, ok := readDoubles(reply, &now, &workers, &rank, &drained)
	if !ok {
		return script.ErrReply
	}
	l.count(int(workers))
	l.rank.Store(int64(rank))
	plausible := l.clock.observe(nil, now, sent, clock())
	known := l.identity.Load()
	if e != nil && (!plausible || known != nil && *known != identity) {
		if err := l.joinEpoch(ctx, e, true); err != nil {
			return err
		}
	}
	l.identity.Store(&identity)
	if before != nil && between(*before, sent) > usableFor() {
		l.endedGrants.Store(made)
		l.options.Tell(pace.Event{Kind: pace.Replaced})
	}
	l.lastHeartbeat.Store(&sent)
	if drained != 0 {
		l.drain()
	}
	return nil
}

// about is what this worker says of itself: its name, and how many grants a second it got
// since the heartbeat before.
func (l *Limiter) about(before *time.Time, now time.Time) string {
	given, rate := l.given.Load(), 0.0
	if before != nil {
		rate = float64(given-l.told.Load()) / max(between(*before, now), time.Millisecond).Seconds()
	}
	l.told.Store(given)
	return aboutText(l.options.name(), rate)
}

// ErrDrained is wrapped by the errors of a limiter that an operator has told to take no
// grants any more (Operator.Drain): the worker is to end.
var ErrDrained = errors.New("an operator drains this worker: it takes no more grants")

// drain wakes all who wait for grants: there are no more. Those that were not used yet are
// not valid any more.
func (l *Limiter) drain() {
	if l.drained.Swap(true) {
		return
	}
	l.mu.Lock()
	for _, q := range l.queues {
		for _, wake := range q {
			notify(wake)
		}
	}
	l.mu.Unlock()
	l.options.Tell(pace.Event{Kind: pace.Drained})
}

// Drained reports whether an operator has told this worker to take no grants any more.
func (l *Limiter) Drained() bool { return l.drained.Load() }

// mayBeGone reports whether the others may take this worker for gone, and its grants for
// ended: the process was stopped, or its heartbeats had no answer.
func (l *Limiter) mayBeGone() bool {
	last := l.lastHeartbeat.Load()
	return last == nil || between(*last, clock()) > usableFor()
}

// ensureAlive sends a heartbeat if the others may take this worker for gone.
func (l *Limiter) ensureAlive(ctx context.Context) error {
	if !l.mayBeGone() {
		return nil
	}
	// The limit holds from here, as in joinEpoch.
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	l.heartbeatMu.Lock()
	defer l.heartbeatMu.Unlock()
	if !l.mayBeGone() {
		return nil
	}
	return l.heartbeat(ctx)
}
