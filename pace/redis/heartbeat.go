package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// heartbeatEvery is how often a worker tells the list of workers that it lives. The first
// heartbeats are faster, as the workers of a fleet are often started together and divide by
// their number should Redis be down. It is a variable for the tests.
var heartbeatEvery = 5 * time.Second

// workerTimeout is after how long without a heartbeat a worker is taken for gone.
func workerTimeout() time.Duration { return 3 * heartbeatEvery }

// usableFor is for how long after a heartbeat a worker may use its grants: a fifth of a
// heartbeat less than workerTimeout, so that there is time to send the request.
func usableFor() time.Duration { return workerTimeout() - heartbeatEvery/5 }

// knownFor is for how long after its last heartbeat something is known of a worker: then its
// grants have ended, and it is on no list.
func knownFor(o Options) time.Duration { return workerTimeout() + o.GrantTimeout }

// earlyHeartbeat is how often it does so in its first ten seconds, and while that fails.
const earlyHeartbeat = 500 * time.Millisecond

// jittered returns between 3/4 and 5/4 of a duration, so that workers which were
// started together, or lost Redis together, do not ask together.
func jittered(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// loop keeps the worker on the list and sends what is pending.
func (l *Limiter) loop() {
	t := time.NewTimer(jittered(earlyHeartbeat))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			every, err := heartbeatEvery, l.heartbeat(l.closing)
			switch {
			case errors.Is(err, ErrMixed): // so the server answers
				l.tellList(nil)
				if l.stop(&l.mixed) {
					l.options.Tell(pace.Event{Kind: pace.EventDrained, Err: err})
				}
			case l.closing.Err() == nil:
				l.tellList(err)
			}
			if err != nil || passed(l.began) < forgetful { // a list that is away is no reason to stop
				every = min(every, earlyHeartbeat)
			}
			l.lookAgain(l.closing)
			t.Reset(jittered(every))
		case <-l.wake:
		case <-l.closing.Done():
			ctx, cancel := context.WithTimeout(context.Background(), callLimit)
			defer cancel()
			l.sendAllPending(ctx) // what cannot be sent now ends with the worker's heartbeats
			l.sayLeft(ctx)
			return
		}
		l.sendAllPending(l.closing)
	}
}

// A list is what a heartbeat says of the other workers.
type list struct {
	workers, rank int                  // how many there are, and stand before this one
	gone          map[string]time.Time // since when, by the first bytes of the ids of their grants
}

// heartbeat says that the worker lives, and learns who else does.
func (l *Limiter) heartbeat(ctx context.Context) error {
	made, before := l.grants.Load(), l.lastHeartbeat.Load()
	sent := clock()
	args := []string{l.workerName(), fmt.Sprint(workerTimeout().Microseconds()), fmt.Sprint(l.options.GrantTimeout.Microseconds()), l.about(before, sent), l.kind}
	kindKey, mixedKey := kindKeys(l.options.Prefix)
	reply, err := l.call(ctx, (*script.Script).Run, heartbeatScript, []string{l.workersKey, l.aboutKey, l.drainKey, kindKey, mixedKey}, args)
	if script.Says(err, "MIXED") {
		err = l.mixedError(err)
	}
	if err != nil {
		return err
	}
	if l.mixed.Swap(false) {
		l.options.Tell(pace.Event{Kind: pace.EventResumed})
	}
	received := clock()
	var now, workers, rank, known, drained micros
	gone, ok := readDoubles(reply, &now, &workers, &rank, &known, &drained)
	if !ok {
		return script.ErrReply
	}
	next := &list{workers: int(workers), rank: int(rank)}
	if plausible := l.listClock.observe(nil, now, sent, received); !plausible || before != nil && known == 0 {
		// The list was lost, or its clock was set: it lacks workers at first, or they seem gone.
		l.listClock.forget()
		l.listShort.Store(received.Add(workerTimeout()).UnixNano())
		l.tellRenewed()
	}
	if short := received.UnixNano() < l.listShort.Load(); short {
		next.workers = max(next.workers, l.others().workers)
	} else {
		next.gone = map[string]time.Time{}
		for n := len(noWorker); len(gone) >= n+8; {
			var late micros
			name := gone[:n]
			gone, _ = readDoubles(gone[n:], &late)
			next.gone[name] = received.Add(-time.Duration(late * 1e3))
		}
	}
	l.list.Store(next)
	if before != nil && between(*before, sent) > usableFor() {
		l.endedGrants.Store(made)
		l.options.Tell(pace.Event{Kind: pace.EventReplaced})
	}
	l.lastHeartbeat.Store(&sent)
	switch {
	case drained != 0:
		if l.stop(&l.drained) {
			l.options.Tell(pace.Event{Kind: pace.EventDrained})
		}
	case l.drained.Load():
		return l.resume(ctx)
	}
	return nil
}

// others returns what is known of the other workers.
func (l *Limiter) others() list {
	if known := l.list.Load(); known != nil {
		return *known
	}
	return list{}
}

// about is what this worker says of itself: its name, and how many grants a second it got
// since the heartbeat before.
func (l *Limiter) about(before *time.Time, now time.Time) string {
	given, rate := l.given.Load(), 0.0
	if before != nil {
		rate = float64(given-l.told.Load()) / max(between(*before, now), time.Millisecond).Seconds()
	}
	l.told.Store(given)
	return aboutText(l.options.name(), rate, l.away()*tags/len(l.tags))
}

// left is in place of how many tags are away, of a worker that was closed.
const left = -1

// sayLeft says that this worker was closed, so that nobody takes it for dead.
func (l *Limiter) sayLeft(ctx context.Context) {
	text := aboutText(l.options.name(), 0, left)
	_ = l.client.Do(ctx, l.client.B().Psetex().Key(l.aboutKey).Milliseconds(knownFor(l.options).Milliseconds()).Value(text).Build()).Error() // else it counts as away
}

// ErrDrained is wrapped by the errors of a limiter that an operator has told to take no
// grants any more (Operator.Drain): the worker is to end, unless the operator has it go on
// (Operator.Resume).
var ErrDrained = errors.New("an operator drains this worker: it takes no more grants")

// stop wakes all who wait for grants: for this reason there are no more. Those that were not
// used yet are not valid any more. It reports whether that is new.
func (l *Limiter) stop(reason *atomic.Bool) bool {
	if reason.Swap(true) {
		return false
	}
	l.mu.Lock()
	for _, q := range l.queues {
		for _, wake := range q {
			notify(wake)
		}
	}
	l.mu.Unlock()
	return true
}

// resume ends a drain if an operator said so. A server that knows of no drain and of no end
// of it either has lost its memory, and is told again: no failure ends a drain.
func (l *Limiter) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err := l.client.Do(ctx, l.client.B().Get().Key(l.resumeKey).Build()).Error()
	switch {
	case rueidis.IsRedisNil(err):
		return l.client.Do(ctx, l.client.B().Psetex().Key(l.drainKey).Milliseconds(knownFor(l.options).Milliseconds()).Value("1").Build()).Error()
	case err != nil:
		return err
	}
	l.drained.Store(false)
	l.options.Tell(pace.Event{Kind: pace.EventResumed})
	return nil
}

// Drained reports whether this worker takes no grants any more, because an operator has told
// it so (ErrDrained), or because the others keep another kind of pace (ErrMixed).
func (l *Limiter) Drained() bool { return l.drained.Load() || l.mixed.Load() }

// stopped returns why this worker takes no grants, nil if it does.
func (l *Limiter) stopped() error {
	switch {
	case l.kind == "":
		return errRecordsOnly
	case l.mixed.Load():
		return ErrMixed
	case l.drained.Load():
		return ErrDrained
	}
	return nil
}

// mayBeGone reports whether the others may take this worker for gone, and its grants for
// ended once they are older than workerTimeout: the process was stopped, or its heartbeats
// had no answer.
func (l *Limiter) mayBeGone() bool {
	last := l.lastHeartbeat.Load()
	return last == nil || between(*last, clock()) > usableFor()
}
