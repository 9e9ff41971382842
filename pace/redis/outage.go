package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// An outage is a time in which Redis does not answer, or takes no grants.
type outage struct {
	since  time.Time
	cause  error
	full   bool        // the server has no memory left: what frees some still goes through
	worked atomic.Bool // something was granted meanwhile
	back   time.Time   // the end, of one that is over
	// Redis may come and go. Since unstableSince[k] it was never there for longer than
	// recovery<<k.
	unstableSince [16]time.Time
}

// recovery is for how long after an outage a worker keeps to its share on the server too:
// the others may not be back yet, and so the server does not know of their starts.
const recovery = 10 * time.Second

// follow sets unstableSince, given the outage before this one, nil for none.
func (o *outage) follow(before *outage) {
	for k := range o.unstableSince {
		o.unstableSince[k] = o.since
		if before != nil && o.since.Sub(before.back) <= recovery<<k {
			o.unstableSince[k] = before.unstableSince[k]
		}
	}
}

// unstable returns since when Redis comes and goes, for a site with an interval: it was
// not there for so long since.
func (o *outage) unstable(interval time.Duration) time.Time {
	k := 0
	for k < len(o.unstableSince)-1 && recovery<<k < interval {
		k++
	}
	return o.unstableSince[k]
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
	o.follow(l.lastOutage.Load())
	for !l.outage.CompareAndSwap(nil, o) {
		if current := l.outage.Load(); current != nil {
			return current
		}
	}
	workers, _ := l.share()
	l.local.DivideAddresses(workers)
	notify(l.wake)
	l.options.Tell(pace.Event{Kind: pace.Down, Err: cause})
	return o
}

// refused returns the error of a server that answers and does not let this user in, or
// is no Redis that will do: no waiting changes that.
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

// decideAlone decides while Redis is down.
func (l *Limiter) decideAlone(ctx context.Context, o *outage, d *decision) (pace.Grant, error) {
	workers, rank := l.share()
	if l.options.WhenDown == Stop || workers == 0 {
		return pace.Grant{}, fmt.Errorf("%w: %w", ErrDown, o.cause)
	}
	slow := d.schedule.Slowed(workers)
	turn, err := l.local.NotBefore(ctx, d.key, slow)
	if err != nil {
		return pace.Grant{}, err
	}
	// The workers notice at about the same time. They begin one after another,
	// the first an interval later, since the last start may have been anybody's. If
	// Redis was there for a moment only, they go on as they had begun.
	first := o.unstable(turn.Interval).Add(turn.Interval/time.Duration(workers)*time.Duration(min(rank, workers-1)+1) + 1)
	if first.After(turn.Start) {
		turn.Start = first
		turn.Reasons = slices.Insert(turn.Reasons, 0, pace.Reason{Cause: pace.CauseDegraded, Interval: turn.Interval, Until: first})
	}
	if o.full {
		turn.Reasons = append(turn.Reasons, pace.Reason{Cause: pace.CauseFull})
	}
	if d.peek || turn.Start.Sub(clock()) > max(d.within, 0) {
		return pace.Grant{Key: d.key, Turn: turn}, nil
	}
	var g pace.Grant
	if d.hold > 0 {
		g, err = l.local.Lend(ctx, d.key, slow, d.within, time.Duration(d.hold)*time.Second)
	} else {
		g, err = l.local.Reserve(ctx, d.key, slow, d.within)
	}
	if g.OK() {
		o.worked.Store(true)
		if first.After(g.Start) {
			g.Start = first
		}
	}
	return g, err
}

// localTurn returns what this worker's own limiter says of a key after an outage, and
// whether that counts: while the worker keeps to its share, and until the requests that
// its own limiter started must have ended.
func (l *Limiter) localTurn(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Turn, bool) {
	until := l.localUntil.Load()
	if until == 0 || clock().UnixNano() > until {
		return pace.Turn{}, false
	}
	if o := l.lastOutage.Load(); o != nil && passed(o.back) < recovery {
		workers, _ := l.share()
		s = s.Slowed(max(workers, 1))
	}
	turn, err := l.local.NotBefore(ctx, key, s)
	return turn, err == nil && !because(turn, pace.CauseFull) // it knows nothing of a site for which it has no room
}

// share returns by how many to divide, 0 if that is not known, and how many of them
// stand before this worker.
func (l *Limiter) share() (workers, rank int) {
	return max(int(l.workers.Load()), l.options.Workers), int(l.rank.Load())
}

// count notes how many workers there are. After a new epoch the list lacks some at
// first.
func (l *Limiter) count(workers int) {
	if int64(workers) > l.workers.Load() || clock().UnixNano() > l.listShort.Load() {
		l.workers.Store(int64(workers))
	}
}

// endOutage ends an outage if Redis is back.
func (l *Limiter) endOutage(o *outage) {
	e := l.epoch.Load()
	if l.heartbeat(l.closing) != nil {
		return
	}
	if l.epoch.Load() == e {
		// The server learns below what was started meanwhile. If some of it was
		// dropped, none of the server's states can be trusted.
		if err := l.joinEpoch(l.closing, e, o.worked.Load() && l.pending.dropped.Load()); err != nil {
			return
		}
		l.pending.dropped.Store(false)
	}
	if l.sendPending(l.closing) != nil {
		return
	}
	o.back = clock()
	if l.options.WhenDown == Divide {
		until := o.back.Add(recovery)
		if o.worked.Load() {
			until = o.back.Add(max(l.options.GrantTimeout, recovery))
		}
		l.localUntil.Store(max(l.localUntil.Load(), until.UnixNano()))
	}
	l.local.DivideAddresses(1)
	l.lastOutage.Store(o)
	l.outage.CompareAndSwap(o, nil)
	notify(l.wake) // for what came meanwhile
	l.options.Tell(pace.Event{Kind: pace.Up, Took: between(o.since, o.back)})
}
