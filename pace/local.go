package pace

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// Local is the Limiter of one process. It starts no goroutine: of the callers who
// wait for a site the first watches the clock.
type Local struct {
	options Options
	base    time.Time // from which moments count
	seeds   [2]maphash.Seed

	mu      sync.Mutex
	workers time.Duration  // by which the pace of an address is divided, a number
	tenant  bool           // only sites that are held are granted, see Tenant
	held    int            // sites
	active  map[id]*active // origins with a grant under way or somebody waiting
	grants  uint64         // given so far
	since   moment         // when what is not known counts as asked, see Resume

	// What is kept, see memory.go.
	sites      map[id]site
	addrs      map[id]address
	names      map[id]robots.Origin // of sites that are to be left alone for longer
	sweepSites int                  // sweep at as many
	sweepAddrs int                  // the same
	room       moment               // when full: the first moment at which a state may be useless
}

var _ Lender = (*Local)(nil)

// NewLocal returns a limiter for one process. The error is about the options, in
// one sentence.
func NewLocal(o Options) (*Local, error) {
	o, err := o.Filled()
	if err != nil {
		return nil, err
	}
	return &Local{
		options:    o,
		base:       o.Now(),
		seeds:      [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		workers:    1,
		active:     map[id]*active{},
		sites:      map[id]site{},
		addrs:      map[id]address{},
		names:      map[id]robots.Origin{},
		sweepSites: leastSweep,
		sweepAddrs: leastSweep,
		room:       never,
		since:      never,
	}, nil
}

// DivideAddresses makes every interval of an address that many times as long, for
// the worker of a fleet that shares its addresses with others unseen.
func (l *Local) DivideAddresses(workers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers = time.Duration(max(workers, 1))
}

// active is an origin at work.
type active struct {
	grants  []grant
	queue   []*waiter     // in the order of arrival
	slowest time.Duration // of the last schedule, for how long the state matters
	tenure  tenure
}

// idle reports whether nothing goes on there.
func (a *active) idle() bool { return len(a.grants) == 0 && len(a.queue) == 0 }

type grant struct {
	id    uint64
	start moment
	end   moment // if nobody gives it back
	last  moment // of the origin before, which comes back if the grant is not used
	visit moment // at the address, of a grant that is lent
	key   *Key   // of a grant that is lent
}

// waiter is one call of Wait. Only the first of a queue watches the clock.
type waiter struct {
	wake chan struct{} // holds at most one
}

// NotBefore returns when a request might start and why.
func (l *Local) NotBefore(ctx context.Context, key Key, s *Schedule) (Turn, error) {
	if err := ended(ctx, key); err != nil {
		return Turn{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.decide(key, s)
	if d.notHeld {
		return Turn{}, ErrNotHeld
	}
	if gap, fetchGap := l.gaps(key.Addr); gap > 0 {
		d.state.Address = d.time(l.addressOf(key.Addr, d.at).page(d.at, d.at, gap, fetchGap))
	}
	return d.turn(), nil
}

// lentGrant marks the ids of grants that are lent: their first three bits are 001. The rest
// of one is random, so that a limiter of another process does not take it for one of its
// own. Other limiters give ids that begin with 01 and 1.
const lentGrant = 1 << 61

func isLent(id uint64) bool { return id>>61 == 1 }

// Reserve grants the next start if it is at most within from now.
func (l *Local) Reserve(ctx context.Context, key Key, s *Schedule, within time.Duration) (Grant, error) {
	asked := l.options.Asked()
	g, err := l.reserve(ctx, key, s, within, l.options.GrantTimeout, 0)
	l.options.TellDecided(key.Origin, asked, g, err)
	return g, err
}

// Lend is Reserve and a booking for somebody outside the process. A lent grant ends with
// the Local, unless another takes it over (Resume).
func (l *Local) Lend(ctx context.Context, key Key, s *Schedule, within, hold time.Duration) (Grant, error) {
	asked := l.options.Asked()
	g, err := l.lend(ctx, key, s, within, time.Duration(HoldSeconds(hold))*time.Second)
	l.options.TellDecided(key.Origin, asked, g, err)
	return g, err
}

func (l *Local) lend(ctx context.Context, key Key, s *Schedule, within, hold time.Duration) (Grant, error) {
	g, err := l.reserve(ctx, key, s, within, hold, lentGrant)
	if err != nil || !g.OK() {
		return g, err
	}
	_, fetchGap := l.options.At(key.Addr)
	if g, err = LendBy(ctx, l, l.options.Now, g, max(within, fetchGap)); err != nil || !g.OK() {
		return g, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.active[idOf(l, key.Origin)]; a != nil {
		if i := slices.IndexFunc(a.grants, func(h grant) bool { return h.id == g.ID }); i >= 0 {
			a.grants[i].visit = l.moment(g.Start)
		}
	}
	return g, nil
}

func (l *Local) reserve(ctx context.Context, key Key, s *Schedule, within, hold time.Duration, mark uint64) (Grant, error) {
	if err := ended(ctx, key); err != nil {
		return Grant{}, err
	}
	return l.take(key, s, max(within, 0), hold, mark)
}

// take grants the next start if it is at most within from now, which is below 0 for never.
// The error is nil or ErrNotHeld.
func (l *Local) take(key Key, s *Schedule, within, hold time.Duration, mark uint64) (Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.decide(key, s)
	if d.notHeld {
		return Grant{}, ErrNotHeld
	}
	waited := d.active != nil && len(d.active.queue) > 0 // who waits comes first
	if waited || !d.startsBy(d.now.Add(within)) {
		return Grant{Key: key, Turn: d.turn()}, nil
	}
	return l.grant(d, hold, mark), nil
}

// Valid reports whether a request may still start on a grant.
func (l *Local) Valid(g Grant) bool {
	if isLent(g.ID) {
		l.mu.Lock()
		defer l.mu.Unlock()
		a := l.active[idOf(l, g.Key.Origin)]
		return a != nil && slices.ContainsFunc(a.grants, func(h grant) bool { return h.id == g.ID && h.end > l.moment(l.options.Now()) })
	}
	return g.OK() && l.options.Now().Before(g.Until)
}

// Wait returns when the request may start.
func (l *Local) Wait(ctx context.Context, key Key, s *Schedule) (Grant, error) {
	asked := l.options.Asked()
	g, err := l.wait(ctx, key, s)
	l.options.TellDecided(key.Origin, asked, g, err)
	return g, err
}

func (l *Local) wait(ctx context.Context, key Key, s *Schedule) (Grant, error) {
	if err := ended(ctx, key); err != nil {
		return Grant{}, err
	}
	w := &waiter{wake: make(chan struct{}, 1)}
	deadline, limited := ctx.Deadline()

	l.mu.Lock()
	defer l.mu.Unlock()
	origin := idOf(l, key.Origin)
	a := l.activate(origin)
	a.queue = append(a.queue, w)
	defer l.leave(origin, a, w)
	for first := true; ; first = false {
		watches := a.queue[0] == w
		var pause time.Duration
		if watches || first {
			d := l.decide(key, s)
			switch {
			case d.notHeld:
				return Grant{}, ErrNotHeld
			case watches && d.startsBy(d.now):
				return l.grant(d, l.options.GrantTimeout, 0), nil
			case limited && d.start.After(deadline):
				return Grant{}, &LateError{Key: key, Turn: d.turn()}
			case watches:
				pause = l.pause(d)
			}
		}
		l.mu.Unlock()
		err := sleep(ctx, pause, w.wake)
		l.mu.Lock()
		if err != nil {
			return Grant{}, ended(ctx, key)
		}
	}
}

// sleep returns at a signal of wake, after a time (0 for none), or with an error at
// the end of the context.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	var alarm <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d) //nolint:forbidigo // to sleep is what Wait and Start are for
		defer t.Stop()
		alarm = t.C
	}
	select {
	case <-wake:
	case <-alarm:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// longestSleep bounds how long a waiter trusts the clock, whose windows move if
// it is set.
const longestSleep = time.Minute

// pause returns for how long the first of a queue may sleep: until the start, or
// until a grant is taken to have ended.
func (l *Local) pause(d *decision) time.Duration {
	pause := d.start.Sub(d.now)
	if d.state.Busy {
		for _, g := range d.active.grants {
			pause = min(pause, time.Duration(g.end-d.at))
		}
	}
	return min(max(pause, time.Nanosecond), longestSleep)
}

// leave ends a call of Wait: the next in the queue watches the clock.
func (l *Local) leave(origin id, a *active, w *waiter) {
	i := slices.Index(a.queue, w)
	a.queue = slices.Delete(a.queue, i, i+1)
	if i == 0 {
		a.signal()
	}
	l.retire(origin, a)
}

// signal wakes the first of the queue.
func (a *active) signal() {
	if len(a.queue) > 0 {
		select {
		case a.queue[0].wake <- struct{}{}:
		default:
		}
	}
}

func (l *Local) activate(origin id) *active {
	a := l.active[origin]
	if a == nil {
		a = &active{}
		l.active[origin] = a
	}
	return a
}

// retire drops an origin at which nothing goes on and that is not held; its state stays.
func (l *Local) retire(origin id, a *active) (dropped bool) {
	if dropped = a.idle() && a.tenure.number == 0; dropped {
		delete(l.active, origin)
	}
	return dropped
}

// decision is what there is to know of a key at one moment, made under the lock.
type decision struct {
	key      Key
	schedule *Schedule
	origin   id
	active   *active // nil if nothing goes on and it is not held
	notHeld  bool    // by a Tenant: nothing else is known then
	state    State
	now      time.Time
	at       moment // now
	start    time.Time
	full     bool
	room     time.Time // if full: when there may be room for a state
}

func (d *decision) time(m moment) time.Time {
	if m == never {
		return time.Time{}
	}
	return d.now.Add(time.Duration(m - d.at))
}

func (d *decision) moment(t time.Time) moment { return d.at + moment(t.Sub(d.now)) }

// startsBy reports whether a grant can be given that starts at t or before.
func (d *decision) startsBy(t time.Time) bool {
	return !d.state.Busy && !d.full && !d.start.After(t)
}

func (d *decision) turn() Turn {
	turn := d.schedule.TurnIn(d.now, d.state)
	if d.full {
		turn.Start = d.start
		turn.Reasons = slices.Insert(turn.Reasons, 0, Reason{Cause: CauseFull, Until: d.room})
	}
	return turn
}

// decide finds when a request to the origin may start.
func (l *Local) decide(key Key, s *Schedule) *decision {
	key.Addr = key.Addr.Unmap().WithZone("")
	d := &decision{key: key, schedule: s.orDefault(), origin: idOf(l, key.Origin), now: l.options.Now()}
	d.at = l.moment(d.now)
	if l.lookAtOrigin(d); l.tenant {
		if d.notHeld = d.active == nil || !d.active.tenure.lasts(l, d.now); d.notHeld {
			return d
		}
		d.active.tenure.used = true
	}
	d.start = d.schedule.NextIn(d.now, d.state)
	if d.full {
		d.start = latest(d.start, d.room)
	}
	return d
}

func (l *Local) lookAtOrigin(d *decision) {
	if a := l.active[d.origin]; a != nil {
		if l.endLost(d.origin, a, d.at); !l.retire(d.origin, a) {
			d.active, d.state.Busy = a, len(a.grants) >= l.options.Concurrency
		}
	}
	s, known := l.site(d.origin, d.active)
	if !known {
		s = fresh
		s.last = l.since
		if d.full = l.full(d.at); d.full {
			d.room = d.time(l.room)
		}
	}
	d.state.Last, d.state.NotBefore = d.time(s.last), d.time(s.retry)
	if d.at-s.overload < moment(l.options.Forget) {
		d.state.BackOff = s.back
	}
}

// endLost ends the grants that nobody gave back in time.
func (l *Local) endLost(origin id, a *active, at moment) {
	a.grants = slices.DeleteFunc(a.grants, func(g grant) bool {
		if g.end > at {
			return false
		}
		l.touch(origin, a, g.end, a.slowest)
		if isLent(g.id) {
			l.answered(g.key.Origin, origin, a, g.end, Result{Timeout: true})
		}
		return true
	})
}

// grant hands out the start of a decision, for hold after it. The mark is lentGrant or 0.
func (l *Local) grant(d *decision, hold time.Duration, mark uint64) Grant {
	turn := d.turn()
	a := d.active
	if a == nil {
		a = l.activate(d.origin)
	}
	start := d.moment(turn.Start)
	l.grants++
	g := grant{id: l.grants, start: start, end: after(start, hold), last: l.since, visit: never}
	if mark != 0 {
		key := d.key
		g.id, g.key = mark|rand.Uint64N(mark), &key
	}
	if s, known := l.site(d.origin, a); known {
		g.last = s.last
	}
	a.slowest = d.schedule.most
	l.touch(d.origin, a, start, a.slowest)
	a.grants = append(a.grants, g)
	return Grant{ID: g.id, Key: d.key, Turn: turn, Until: turn.Start.Add(hold)}
}

// Done gives a grant back.
func (l *Local) Done(_ context.Context, g Grant, r Result) error {
	if !g.OK() {
		return nil
	}
	l.options.TellDone(g, r, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	origin, now := idOf(l, g.Key.Origin), l.moment(l.options.Now())
	slowest := DefaultMaxCrawlDelay // of a grant that is long forgotten
	lent := isLent(g.ID)
	a := l.active[origin]
	if a != nil {
		slowest = a.slowest
		if lent {
			l.endLost(origin, a, now)
		}
		if i := slices.IndexFunc(a.grants, func(h grant) bool { return h.id == g.ID }); i >= 0 {
			if r.Unused {
				l.untouch(origin, a, a.grants[i])
			}
			a.grants = slices.Delete(a.grants, i, i+1)
			lent = false
		}
		a.signal()
		l.retire(origin, a)
	}
	if r.Unused || lent { // lent, and not under way any more
		return nil
	}
	if _, known := l.site(origin, a); !known && l.full(now) {
		return nil // about a site of a forgotten grant, for which there is no room
	}
	l.touch(origin, a, now, slowest)
	l.answered(g.Key.Origin, origin, a, now, r)
	return nil
}

// waitError is the end of a context while a caller waited.
type waitError struct {
	what  string
	cause error
}

func (e *waitError) Error() string { return "waiting " + e.what + ": " + e.cause.Error() }
func (e *waitError) Unwrap() error { return e.cause }

// ended returns an error if the context has ended.
func ended(ctx context.Context, key Key) error {
	if ctx.Err() == nil {
		return nil
	}
	return &waitError{"for " + key.String(), context.Cause(ctx)}
}
