package pace

import (
	"context"
	"crypto/rand"
	"hash/maphash"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// Local is the Limiter of one process. It never loses its memory, so a site that it does
// not know is ready. It starts no goroutine: the first caller that waits for a site watches
// the clock.
type Local struct {
	options Options
	base    time.Time // from which moments count
	seeds   [2]maphash.Seed

	mu     sync.Mutex
	active map[id]*active // origins with a permit or a waiting caller
	since  moment         // when unknown sites count as requested, see Resume

	// The state of idle sites, see memory.go.
	sites      map[id]site
	addrs      map[id]address
	names      map[id]robots.Origin // of sites that rest
	sweepSites int                  // sweep at as many
	sweepAddrs int                  // the same
	room       moment               // when full: the first moment at which a state might be useless
}

var _ Limiter = (*Local)(nil)

// NewLocal returns a limiter for one process. The error is about the options.
func NewLocal(o Options) (*Local, error) {
	o, err := o.Filled()
	if err != nil {
		return nil, err
	}
	return &Local{
		options:    o,
		base:       o.Now(),
		seeds:      [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
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

// active is an origin with permits or waiting callers.
type active struct {
	permits []permit
	queue   []*waiter     // in order of arrival
	slowest time.Duration // of the last schedule, for how long the state matters
	started moment        // the last start reserved by Start
}

type permit struct {
	id    string
	start moment
	end   moment // if it is not released
	last  moment // of the origin before, restored if the permit is not used
	// Of a permit with a lifetime of its own, for Snapshot and its expiry.
	own    bool
	origin robots.Origin
	addr   netip.Addr
}

// waiter is one call of Acquire. Only the first of a queue watches the clock.
type waiter struct {
	wake chan struct{} // holds at most one
}

// Acquire waits until a request may start and returns its permit.
func (l *Local) Acquire(ctx context.Context, r Request) (Permit, error) {
	called := l.options.Now()
	p, err := l.acquire(ctx, r)
	p.Origin = r.Origin
	l.options.decided(p, called, err)
	if err != nil {
		return Permit{}, err
	}
	return p, nil
}

func (l *Local) acquire(ctx context.Context, r Request) (Permit, error) {
	if err := ended(ctx, r.Origin); err != nil {
		return Permit{}, err
	}
	w := &waiter{wake: make(chan struct{}, 1)}
	deadline, limited := ctx.Deadline()

	l.mu.Lock()
	defer l.mu.Unlock()
	origin := idOf(l, r.Origin)
	a := l.activate(origin)
	a.queue = append(a.queue, w)
	defer l.leave(origin, a, w)
	for first := true; ; first = false {
		watches := a.queue[0] == w
		var pause time.Duration
		if watches || first {
			d := l.decide(r)
			switch {
			case watches && d.startsWithin(0):
				return l.permit(d, r), nil
			case limited && d.start.After(deadline):
				return Permit{}, &LateError{Permit: d.refusal()}
			case watches:
				pause = d.pause()
			}
		}
		l.mu.Unlock()
		err := sleep(ctx, pause, w.wake)
		l.mu.Lock()
		if err != nil {
			return Permit{}, ended(ctx, r.Origin)
		}
	}
}

// Try releases what is done and acquires the first k of the sites that are ready.
func (l *Local) Try(ctx context.Context, rs []Request, k int) ([]Permit, error) {
	for i := range rs {
		l.release(rs[i].Done, rs[i].Result)
	}
	permits, called := make([]Permit, len(rs)), l.options.Now()
	if len(rs) == 0 {
		return permits, nil
	}
	if err := ended(ctx, rs[0].Origin); err != nil {
		return nil, err
	}
	looks := k <= 0
	for i := range rs { // each locks separately, so that no other caller waits for all
		if permits[i] = l.try(rs[i], k > 0); permits[i].OK() {
			k--
		}
		if !looks {
			l.options.decided(permits[i], called, nil)
		}
	}
	return permits, nil
}

func (l *Local) try(r Request, acquire bool) Permit {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.decide(r)
	waited := d.active != nil && len(d.active.queue) > 0 // callers of Acquire come first
	if !acquire || waited || !d.startsWithin(max(r.Within, 0)) {
		return d.refusal()
	}
	return l.permit(d, r)
}

// sleep returns at a signal of wake, after a time (0 for none), or with an error at
// the end of the context.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	var alarm <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d) //nolint:forbidigo // Acquire and Start sleep
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

// leave ends a call of Acquire: the next in the queue watches the clock.
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
		a = &active{started: never}
		l.active[origin] = a
	}
	return a
}

// retire drops an origin without permits and waiting callers; its state stays.
func (l *Local) retire(origin id, a *active) (dropped bool) {
	if dropped = len(a.permits) == 0 && len(a.queue) == 0; dropped {
		delete(l.active, origin)
	}
	return dropped
}

// decision is all that is known of a site at one moment, made under the lock.
type decision struct {
	request  Request
	schedule *Schedule
	origin   id
	active   *active // nil if there are no permits and no waiting callers
	state    State
	now      time.Time
	at       moment // now
	start    time.Time
	atOrigin time.Time // start without the address
	fetchGap time.Duration
	full     bool
	room     time.Time // if full: when there might be room for a state
}

func (d *decision) time(m moment) time.Time {
	if m == never {
		return time.Time{}
	}
	return d.now.Add(time.Duration(m - d.at))
}

func (d *decision) moment(t time.Time) moment { return d.at + moment(t.Sub(d.now)) }

// startsWithin reports whether a permit is available that starts at most that far ahead.
func (d *decision) startsWithin(within time.Duration) bool {
	return !d.state.Busy && !d.full &&
		!d.atOrigin.After(d.now.Add(within)) && !d.start.After(d.now.Add(max(within, d.fetchGap)))
}

// permit returns the permit of that id, nil if it was released or has expired.
func (d *decision) permit(id string) *permit {
	if d.active == nil {
		return nil
	}
	i := slices.IndexFunc(d.active.permits, func(p permit) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	return &d.active.permits[i]
}

// reasons returns the start and the reasons.
func (d *decision) reasons() (time.Time, []Reason) {
	start, reasons := d.schedule.Explain(d.now, d.state)
	if d.full {
		start = d.start
		reasons = slices.Insert(reasons, 0, Reason{Cause: CauseFull, Until: d.room})
	}
	return start, reasons
}

func (d *decision) refusal() Permit {
	p := Permit{Origin: d.request.Origin, Schedule: d.request.Schedule}
	p.NotBefore, p.Reasons = d.reasons()
	return p
}

// pause returns for how long the first of a queue may sleep: until the start, or
// until a permit expires.
func (d *decision) pause() time.Duration {
	pause := d.start.Sub(d.now)
	if d.state.Busy {
		for _, p := range d.active.permits {
			pause = min(pause, time.Duration(p.end-d.at))
		}
	}
	return min(max(pause, time.Nanosecond), longestSleep)
}

// decide finds when a request may start.
func (l *Local) decide(r Request) *decision {
	d := &decision{request: r, schedule: r.Schedule.orDefault(), origin: idOf(l, r.Origin), now: l.options.Now()}
	d.at = l.moment(d.now)
	if a := l.active[d.origin]; a != nil {
		if l.expire(d.origin, a, d.at); !l.retire(d.origin, a) {
			d.active, d.state.Busy = a, len(a.permits) >= l.options.Concurrency
		}
	}
	s, known := l.sites[d.origin]
	if !known {
		s = fresh
		s.last = l.since
		if d.full = l.full(d.at); d.full {
			d.room = d.time(l.room)
		}
	}
	d.state.Last, d.state.NotBefore = d.time(s.last), d.time(s.retry)
	if l.backsOff(s, d.at) {
		d.state.BackOff = s.back.Factor
	}
	d.start = d.schedule.Next(d.now, d.state)
	if d.full {
		d.start = latest(d.start, d.room)
	}
	d.atOrigin = d.start
	if r.Addr.IsValid() {
		_, d.fetchGap = l.options.At(r.Addr)
		if at := d.time(l.nextPage(r.Addr, d.at, d.moment(d.start))); at.After(d.start) {
			d.state.Address = at
			d.start = latest(d.schedule.Next(d.now, d.state), d.start)
		}
	}
	return d
}

// expire ends the permits that were not released in time.
func (l *Local) expire(origin id, a *active, at moment) {
	a.permits = slices.DeleteFunc(a.permits, func(p permit) bool {
		if p.end > at {
			return false
		}
		l.touch(origin, p.end, a.slowest)
		if p.own {
			l.responded(p.origin, origin, p.end, Result{Timeout: true})
		}
		return true
	})
}

// permit acquires the start of a decision.
func (l *Local) permit(d *decision, r Request) Permit {
	lifetime := l.options.LifetimeOf(r)
	at, reasons := d.reasons()
	p := Permit{
		ID: rand.Text(), Origin: r.Origin, Schedule: r.Schedule,
		Start: at, StartBy: at.Add(lifetime / 2), Expires: at.Add(lifetime), Reasons: reasons,
	}
	a := d.active
	if a == nil {
		a = l.activate(d.origin)
	}
	start := d.moment(at)
	held := permit{id: p.ID, start: start, end: after(start, lifetime), last: l.since}
	if r.Lifetime > 0 {
		held.own, held.origin, held.addr = true, r.Origin, r.Addr
	}
	if s, known := l.sites[d.origin]; known {
		held.last = s.last
	}
	if r.Addr.IsValid() {
		l.reservePage(r.Addr, d.at, start)
	}
	a.slowest = d.schedule.most
	l.touch(d.origin, start, a.slowest)
	a.permits = append(a.permits, held)
	return p
}

// Release ends a permit.
func (l *Local) Release(_ context.Context, p Permit, r Result) error {
	l.release(p, r)
	return nil
}

func (l *Local) release(p Permit, r Result) {
	if !p.OK() {
		return
	}
	l.options.Observe(Event{Kind: EventReleased, Origin: p.Origin, Result: r})
	l.mu.Lock()
	defer l.mu.Unlock()
	origin, now := idOf(l, p.Origin), l.moment(l.options.Now())
	slowest := p.Schedule.Slowest()
	a, ended := l.active[origin], true
	if a != nil {
		slowest = max(slowest, a.slowest)
		l.expire(origin, a, now)
		if i := slices.IndexFunc(a.permits, func(held permit) bool { return held.id == p.ID }); i >= 0 {
			if r.Unused {
				l.untouch(origin, a, a.permits[i])
			}
			a.permits = slices.Delete(a.permits, i, i+1)
			ended = false
		}
		a.signal()
		l.retire(origin, a)
	}
	if _, known := l.sites[origin]; r.Unused || !known && l.full(now) {
		return
	}
	if ended { // released before, or expired
		r = Result{RetryAfter: r.RetryAfter}
	}
	l.touch(origin, now, slowest)
	l.responded(p.Origin, origin, now, r)
}

// waitError is the end of a context while a caller waited.
type waitError struct {
	what  string
	cause error
}

func (e *waitError) Error() string { return "waiting " + e.what + ": " + e.cause.Error() }
func (e *waitError) Unwrap() error { return e.cause }

// ended returns an error if the context has ended.
func ended(ctx context.Context, o robots.Origin) error {
	if ctx.Err() == nil {
		return nil
	}
	return &waitError{"for " + o.String(), context.Cause(ctx)}
}
