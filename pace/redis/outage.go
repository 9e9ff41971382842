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

// An outage is a time in which the server of a tag does not answer, or takes no grants.
type outage struct {
	since  time.Time
	cause  error
	full   bool          // the server has no memory left: what frees some still goes through
	probe  time.Duration // after how long to look again
	worked atomic.Bool   // something was granted meanwhile
	back   time.Time     // the end, of one that is over
	// Redis may come and go. Since unstableSince[k] it was never there for longer than
	// recovery<<k.
	unstableSince [16]time.Time
}

// recovery is for how long after an outage a worker keeps to its share on the server too:
// the others may not be back yet, and so the server does not know of their starts.
const recovery = 10 * time.Second

// While a tag is down a worker looks again after shortestProbe, then after ever longer
// times up to longestProbe.
const (
	shortestProbe = 50 * time.Millisecond
	longestProbe  = time.Second
)

// follow sets what the outage before this one says, nil for none.
func (o *outage) follow(before *outage) {
	o.probe = shortestProbe
	if before != nil && o.since.Sub(before.back) < heartbeatEvery {
		o.probe = before.probe // a server may answer and take no grants
	}
	for k := range o.unstableSince {
		o.unstableSince[k] = o.since
		if before != nil && o.since.Sub(before.back) <= recovery<<k {
			o.unstableSince[k] = before.unstableSince[k]
		}
	}
}

// first returns when a worker may start for the first time while Redis is down, given its
// interval then. The workers notice at about the same time. They begin one after another,
// the first an interval later, since the last start may have been anybody's. If Redis was
// there for a moment only, they go on as they had begun.
func (o *outage) first(interval time.Duration, workers, rank int) time.Time {
	k := 0
	for k < len(o.unstableSince)-1 && recovery<<k < interval {
		k++
	}
	return o.unstableSince[k].Add(interval/time.Duration(workers)*time.Duration(min(rank, workers-1)+1) + 1)
}

// DownSince returns since when a part of the state is down, the zero time while all that
// was asked for answers.
func (l *Limiter) DownSince() (since time.Time) {
	for i := range l.tags {
		if o := l.tags[i].outage.Load(); o != nil && (since.IsZero() || o.since.Before(since)) {
			since = o.since
		}
	}
	return since
}

// goDown notes that the tag is down and returns the outage, which may have begun before.
func (t *tag) goDown(cause error) *outage {
	o := &outage{since: clock(), cause: cause, full: script.KindOf(cause) == script.Full}
	o.follow(t.lastOutage.Load())
	for !t.outage.CompareAndSwap(nil, o) {
		if current := t.outage.Load(); current != nil {
			return current
		}
	}
	workers, _ := t.l.share()
	t.l.local.DivideAddresses(workers)
	t.l.start(func() { t.probe(o) })
	t.l.tellDown(cause)
	return o
}

// probe waits until a tag is back.
func (t *tag) probe(o *outage) {
	for t.l.sleep(t.l.closing, jittered(o.probe), nil) == nil && !t.isBack(t.l.closing, o) {
		o.probe = min(2*o.probe, longestProbe)
	}
}

// isBack ends an outage if the tag is back.
func (t *tag) isBack(ctx context.Context, o *outage) bool {
	e := t.epoch.Load()
	known, err := e != nil, error(nil)
	if known {
		known, err = t.knows(ctx, e)
	}
	if err != nil {
		return false
	}
	// The server learns below what was started meanwhile. If some of it was dropped, none
	// of the tag's states can be trusted.
	doubt := e != nil && (!known || t.l.pending.lost(t) && o.worked.Load())
	if t.join(ctx, e, doubt) != nil || t.sendPending(ctx) != nil {
		return false
	}
	o.back = clock()
	if t.l.options.WhenDown == Divide {
		until := o.back.Add(recovery)
		if o.worked.Load() {
			until = o.back.Add(max(t.l.options.GrantTimeout, recovery))
		}
		t.localUntil.Store(max(t.localUntil.Load(), until.UnixNano()))
	}
	t.lastOutage.Store(o)
	t.outage.CompareAndSwap(o, nil)
	notify(t.l.wake) // for what came meanwhile
	t.l.tellUp()
	return true
}

// decideAlone decides while the tag is down.
func (t *tag) decideAlone(ctx context.Context, o *outage, d *decision) (pace.Grant, error) {
	l := t.l
	workers, rank := l.share()
	if l.options.WhenDown == Stop || workers == 0 {
		return pace.Grant{}, fmt.Errorf("%w: %w", ErrDown, o.cause)
	}
	key, slow := pace.Key{Origin: d.key.Origin}, d.schedule.Slowed(workers)
	turn, err := l.local.NotBefore(ctx, key, slow)
	if err != nil {
		return pace.Grant{}, err
	}
	first := o.first(turn.Interval, workers, rank)
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
		g, err = l.local.Lend(ctx, key, slow, d.within, time.Duration(d.hold)*time.Second)
	} else {
		g, err = l.local.Reserve(ctx, key, slow, d.within)
	}
	g.Key = d.key
	if g.OK() {
		o.worked.Store(true)
		if first.After(g.Start) {
			g.Start = first
		}
	}
	return g, err
}

// bookAlone books at an address while the tag is down.
func (t *tag) bookAlone(ctx context.Context, o *outage, b *booking) (pace.Slot, error) {
	l := t.l
	workers, rank := l.share()
	if l.options.WhenDown == Stop || workers == 0 {
		again := clock().Add(jittered(longestAlone))
		return pace.Slot{}, &pace.MissedError{Key: pace.Key{Addr: b.addr}, Turn: pace.Turn{Start: again}, Cause: fmt.Errorf("%w: %w", ErrDown, o.cause)}
	}
	first := o.first(b.gap*time.Duration(workers), workers, rank)
	slot, err := l.local.Book(ctx, b.addr, latest(b.notBefore, first), b.within)
	slot.Delayed = slot.Delayed || slot.Start.Equal(first)
	return slot, err
}

// localTurn returns what this worker's own limiter says of an origin after an outage, and
// whether that counts: while the worker keeps to its share, and until the requests that
// its own limiter started must have ended.
func (t *tag) localTurn(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Turn, bool) {
	until := t.localUntil.Load()
	if until == 0 || clock().UnixNano() > until {
		return pace.Turn{}, false
	}
	if o := t.lastOutage.Load(); o != nil && passed(o.back) < recovery {
		workers, _ := t.l.share()
		s = s.Slowed(max(workers, 1))
	}
	turn, err := t.l.local.NotBefore(ctx, pace.Key{Origin: key.Origin}, s)
	return turn, err == nil && !because(turn, pace.CauseFull) // it knows nothing of a site for which it has no room
}

// share returns by how many to divide, 0 if that is not known, and how many of them
// stand before this worker.
func (l *Limiter) share() (workers, rank int) {
	known := l.others()
	return max(known.workers, l.options.Workers), known.rank
}

// refused returns the error of a server that answers and does not let this user in, or is
// no Redis that will do: no waiting changes that.
func refused(err error) error {
	if err != nil && (errors.Is(err, script.ErrReply) || script.KindOf(err) == script.Refused) {
		return fmt.Errorf("the server cannot keep the fleet's pace: %w", err)
	}
	return nil
}
