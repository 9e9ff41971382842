package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// outage is a stretch in which Redis does not answer, or takes no grants.
type outage struct {
	since  time.Time
	cause  error
	full   bool // for want of memory: what frees some still goes through
	worked atomic.Bool
	back   time.Time // the end, of one that is over
	// Redis may come and go. Since began[k] it was never there for longer than
	// recovery<<k.
	began [16]time.Time
}

// recovery is for how long after an outage a worker keeps to its share on the server too:
// the others may not be back yet, and so the server not know of their starts.
const recovery = 10 * time.Second

// begin puts down when the trouble began of which an outage is a part, given the last
// outage before, nil for none.
func (o *outage) begin(before *outage) {
	for k := range o.began {
		o.began[k] = o.since
		if before != nil && o.since.Sub(before.back) <= recovery<<k {
			o.began[k] = before.began[k]
		}
	}
}

// trouble returns when the trouble began for a site with an interval: the last time
// before it that Redis was there for so long.
func (o *outage) trouble(interval time.Duration) time.Time {
	k := 0
	for k < len(o.began)-1 && recovery<<k < interval {
		k++
	}
	return o.began[k]
}

// DownSince returns since when Redis is down, the zero time while it answers.
func (l *Limiter) DownSince() (since time.Time) {
	if o := l.outage.Load(); o != nil {
		return o.since
	}
	return time.Time{}
}

// goDown notes that Redis is down and returns the outage, which may have
// begun before.
func (l *Limiter) goDown(cause error) *outage {
	o := &outage{since: clock(), cause: cause, full: script.KindOf(cause) == script.Full}
	o.begin(l.healed.Load())
	for !l.outage.CompareAndSwap(nil, o) {
		if current := l.outage.Load(); current != nil {
			return current
		}
	}
	workers, _ := l.share()
	l.inner.DivideAddresses(workers)
	l.nudge()
	return o
}

// nudge lets the goroutine look what there is to do.
func (l *Limiter) nudge() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// refused returns the error of a server that answers and will not do it for this
// user, or is of another kind: waiting does not heal that.
func (l *Limiter) refused() error {
	o := l.outage.Load()
	if o == nil {
		return nil
	}
	if errors.Is(o.cause, script.ErrReply) || script.KindOf(o.cause) == script.Refused {
		return fmt.Errorf("the server cannot keep the fleet's pace: %w", o.cause)
	}
	return nil
}

// alone decides while Redis is down.
func (l *Limiter) alone(ctx context.Context, o *outage, key pace.Key, s *pace.Schedule, within time.Duration,
	looks bool) (pace.Grant, error) {
	workers, rank := l.share()
	if l.options.WhenDown == Stop || workers == 0 {
		return pace.Grant{}, fmt.Errorf("%w: %w", ErrDown, o.cause)
	}
	slow := s.Slowed(workers)
	turn, err := l.inner.NotBefore(ctx, key, slow)
	if err != nil {
		return pace.Grant{}, err
	}
	// The workers notice at about the same time. They begin one after another,
	// the first an interval later, since the last start may have been anybody's. If
	// Redis was there for a moment only, they go on as they had begun.
	first := o.trouble(turn.Interval).Add(turn.Interval/time.Duration(workers)*time.Duration(min(rank, workers-1)+1) + 1)
	if first.After(turn.Start) {
		turn.Start = first
		turn.Reasons = slices.Insert(turn.Reasons, 0, pace.Reason{Cause: pace.CauseDegraded, Interval: turn.Interval, Until: first})
	}
	if o.full {
		turn.Reasons = append(turn.Reasons, pace.Reason{Cause: pace.CauseFull})
	}
	if looks || turn.Start.Sub(clock()) > max(within, 0) {
		return pace.Grant{Key: key, Turn: turn}, nil
	}
	g, err := l.inner.Reserve(ctx, key, slow, within)
	if g.OK() {
		o.worked.Store(true)
		if first.After(g.Start) {
			g.Start = first
		}
	}
	return g, err
}

// own returns what this worker's own limiter says of a key after an outage, and
// whether it has a say: while it must be on its share yet, and until the starts that it
// gave must have ended.
func (l *Limiter) own(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Turn, bool) {
	until := l.floor.Load()
	if until == 0 || clock().UnixNano() > until {
		return pace.Turn{}, false
	}
	if o := l.healed.Load(); o != nil && passed(o.back) < recovery {
		workers, _ := l.share()
		s = s.Slowed(max(workers, 1))
	}
	turn, err := l.inner.NotBefore(ctx, key, s)
	// Of a site for which it has no room it knows nothing.
	unknown := slices.ContainsFunc(turn.Reasons, func(r pace.Reason) bool { return r.Cause == pace.CauseFull })
	return turn, err == nil && !unknown
}

// share returns by how many to divide, 0 if that is not known, and this worker's
// place among them.
func (l *Limiter) share() (workers, rank int) {
	return max(int(l.workers.Load()), l.options.Workers), int(l.rank.Load())
}

// count notes how many workers there are. Where the server's memory began again
// it is fewer at first than there are.
func (l *Limiter) count(workers int) {
	if int64(workers) > l.workers.Load() || clock().UnixNano() > l.counting.Load() {
		l.workers.Store(int64(workers))
	}
}

// A worker says every beat that it is there, and is gone after silence; the first
// beats are faster, as the workers of a fleet are often started together. A variable
// for the tests.
var beatEvery = 5 * time.Second

func silence() time.Duration { return 3 * beatEvery }

// While Redis is down a worker looks again after a moment, ever longer up to
// longestProbe.
const (
	firstBeat     = 250 * time.Millisecond
	shortestProbe = 50 * time.Millisecond
	longestProbe  = time.Second
)

// jittered returns between 3/4 and 5/4 of a duration, so that workers which were
// started or left alone together do not come together.
func jittered(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// attend keeps the worker on the list and waits for a Redis that is down.
func (l *Limiter) attend() {
	defer close(l.ended)
	probe, beat := shortestProbe, firstBeat
	t := time.NewTimer(jittered(beat))
	defer t.Stop()
	var known *outage
	for {
		select {
		case <-t.C:
		case <-l.kick:
			switch o := l.outage.Load(); {
			case o == nil:
				_ = l.flush(l.closing)
			case o != known:
				known = o
				t.Reset(jittered(probe))
			}
			continue
		case <-l.closing.Done():
			l.resign()
			return
		}
		switch o := l.outage.Load(); {
		case o != nil:
			l.heal(o)
		default:
			beat = min(2*beat, beatEvery)
			err := l.beat(l.closing)
			if err == nil {
				err = l.flush(l.closing)
				probe = shortestProbe // not sooner: a server may take beats and no grants
			}
			if err != nil && l.closing.Err() == nil {
				l.goDown(err)
			}
		}
		pause := jittered(beat)
		if known = l.outage.Load(); known != nil {
			pause, probe = jittered(probe), min(2*probe, longestProbe)
		}
		t.Reset(pause)
	}
}

// resign tells what is left to be told. That the worker is gone silence says.
func (l *Limiter) resign() {
	if l.outage.Load() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	_ = l.flush(ctx) // what cannot be told now silence frees
}

// beat says that the worker is there and learns the fleet and which server it is.
func (l *Limiter) beat(ctx context.Context) error {
	e := l.epoch.Load()
	named, before := l.grants.Load(), l.beaten.Load()
	sent := clock()
	args := []string{l.me(), fmt.Sprint(silence().Microseconds()), fmt.Sprint(l.options.Hold.Microseconds())}
	reply, err := l.call(ctx, script.Script.Run, beatScript, []string{l.workersKey, l.epochKey}, args)
	if err != nil {
		return err
	}
	var now, workers, rank micros
	identity, ok := take(reply, &now, &workers, &rank)
	if !ok {
		return script.ErrReply
	}
	l.count(int(workers))
	l.rank.Store(int64(rank))
	sound := l.clock.hear(nil, now, sent, clock())
	known := l.identity.Load()
	if e != nil && (!sound || known != nil && *known != identity) {
		if err := l.join(ctx, e, true); err != nil {
			return err
		}
	}
	l.identity.Store(&identity)
	if before != nil && between(*before, sent) > patience() {
		l.over.Store(named)
	}
	l.beaten.Store(&sent)
	return nil
}

// patience is for how long after a beat a worker may use what it was granted: a fifth
// of a beat less than silence, so that who asks in time has time to send.
func patience() time.Duration { return silence() - beatEvery/5 }

// stopped reports whether the others may take this worker for gone and its grants for
// ended: it was stopped itself, or its beats have no answer.
func (l *Limiter) stopped() bool {
	beat := l.beaten.Load()
	return beat == nil || between(*beat, clock()) > patience()
}

// alive sends a beat if the others may take this worker for gone.
func (l *Limiter) alive(ctx context.Context) error {
	if !l.stopped() {
		return nil
	}
	// The limit holds from here, as in join.
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	l.beating.Lock()
	defer l.beating.Unlock()
	if !l.stopped() {
		return nil
	}
	return l.beat(ctx)
}

// heal ends an outage if Redis is back.
func (l *Limiter) heal(o *outage) {
	e := l.epoch.Load()
	if l.beat(l.closing) != nil {
		return
	}
	if l.epoch.Load() == e {
		// What was started meanwhile the server does not know, but for what is told
		// below. If that is not all, none of its states can be trusted.
		if err := l.join(l.closing, e, o.worked.Load() && l.late.dropped.Load()); err != nil {
			return
		}
		l.late.dropped.Store(false)
	}
	if l.flush(l.closing) != nil {
		return
	}
	o.back = clock()
	if l.options.WhenDown == Divide {
		until := o.back.Add(recovery)
		if o.worked.Load() {
			until = o.back.Add(max(l.options.Hold, recovery))
		}
		l.floor.Store(max(l.floor.Load(), until.UnixNano()))
	}
	l.inner.DivideAddresses(1)
	l.healed.Store(o)
	l.outage.CompareAndSwap(o, nil)
	l.nudge() // for what came meanwhile
}
