package pace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Local is the Limiter of one process. It starts no goroutine: whoever waits
// first at a site keeps the watch for the others.
type Local struct {
	options Options
	memory

	mu     sync.Mutex
	active map[id]*active // origins with a grant under way or somebody waiting
	grants uint64
}

var _ Limiter = (*Local)(nil)

// NewLocal returns a limiter for one process. The error is about the options, in
// one sentence.
func NewLocal(o Options) (*Local, error) {
	o, err := o.Filled()
	if err != nil {
		return nil, err
	}
	return &Local{options: o, memory: newMemory(o), active: map[id]*active{}}, nil
}

// DivideAddresses makes every interval of an address that many times as long, for
// the worker of a fleet that shares its addresses with others unseen.
func (l *Local) DivideAddresses(workers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers = int64(max(workers, 1))
}

// Start returns when the next fetch of robots.txt from an address may start. These
// have a pace of their own (Options.FetchInterval, D-57), in the order of the calls:
// it neither waits for requests to pages nor delays them. An address that is not
// known has none. The error wraps context.Cause(ctx), if that ends first.
//
// It is what fetch.Options.Starts asks for. No Done follows: a start that is not
// used costs the others one interval.
func (l *Local) Start(ctx context.Context, addr netip.Addr) error {
	if ctx.Err() != nil {
		return waitingAt(ctx, addr)
	}
	_, gap := l.options.At(addr)
	if gap == 0 {
		return nil
	}
	wait := l.book(addr.Unmap().WithZone(""), gap)
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait) //nolint:forbidigo // to sleep is what Start is for
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return waitingAt(ctx, addr)
	}
}

// book takes the next start of a fetch and returns how far off it is.
func (l *Local) book(addr netip.Addr, gap time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.moment(l.options.Now())
	if len(l.addrs) >= l.sweepAddrs {
		l.sweepAddresses(now)
	}
	id, start := l.fetches(addr), now
	if a, ok := l.addrs[id]; ok {
		start = max(now, after(a.last, l.shared(gap)))
	}
	l.visit(id, start, gap)
	return time.Duration(start - now)
}

func waitingAt(ctx context.Context, addr netip.Addr) error {
	return fmt.Errorf("waiting to fetch robots.txt at %s: %w", addr, context.Cause(ctx))
}

// active is an origin at work.
type active struct {
	grants  []grant
	queue   []*waiter     // in the order of arrival
	slowest time.Duration // of the last schedule, for how long the state matters
}

type grant struct {
	id        uint64
	start     moment
	last      moment // of the origin before, which comes back if the grant is not used
	addr      id
	addressed bool
}

// waiter is one call of Wait. Only the first of a queue watches the clock.
type waiter struct {
	wake chan struct{} // holds at most one
	slot moment        // reserved on the address; never if none
	addr id
}

// NotBefore returns when a request might start and why.
func (l *Local) NotBefore(ctx context.Context, key Key, s *Schedule) (Turn, error) {
	if err := ended(ctx, key); err != nil {
		return Turn{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.look(key, s, nil)
	return v.turn(), nil
}

// Reserve grants the next start if it is at most within from now.
func (l *Local) Reserve(ctx context.Context, key Key, s *Schedule, within time.Duration) (Grant, error) {
	if err := ended(ctx, key); err != nil {
		return Grant{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.look(key, s, nil)
	if v.state.Busy || v.full || v.start.Sub(v.now) > max(within, 0) || v.active != nil && len(v.active.queue) > 0 {
		// Who waits comes first, so the queue is as good as busy.
		return Grant{Key: key, Turn: v.turn()}, nil
	}
	return l.grant(&v), nil
}

// Valid reports whether a request may still start on a grant.
func (l *Local) Valid(g Grant) bool {
	return g.OK() && l.options.Now().Sub(g.Start) < l.options.Hold
}

// Wait returns when the request may start.
func (l *Local) Wait(ctx context.Context, key Key, s *Schedule) (Grant, error) {
	if err := ended(ctx, key); err != nil {
		return Grant{}, err
	}
	w := &waiter{wake: make(chan struct{}, 1), slot: never}
	deadline, hurried := ctx.Deadline()

	l.mu.Lock()
	defer l.mu.Unlock()
	origin := l.origin(key)
	a := l.activate(origin)
	a.queue = append(a.queue, w)
	defer l.leave(origin, a, w)
	for first := true; ; first = false {
		watch := a.queue[0] == w
		var sleep time.Duration
		if watch || first {
			v := l.look(key, s, w)
			if watch && !v.state.Busy && !v.full && !v.start.After(v.now) {
				return l.grant(&v), nil
			}
			if hurried && v.start.After(deadline) {
				return Grant{}, &LateError{Key: key, Turn: v.turn()}
			}
			if watch {
				l.place(&v, w)
				sleep = l.sleep(&v)
			}
		}
		l.mu.Unlock()
		err := w.sleep(ctx, sleep)
		l.mu.Lock()
		if err != nil {
			return Grant{}, waiting(ctx, key)
		}
	}
}

// sleep returns at a signal, after a time (0 for none), or with an error at the
// end of the context.
func (w *waiter) sleep(ctx context.Context, d time.Duration) error {
	var alarm <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d) //nolint:forbidigo // to sleep is what Wait is for
		defer t.Stop()
		alarm = t.C
	}
	select {
	case <-w.wake:
	case <-alarm:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// longestSleep bounds how long a waiter trusts the clock, whose windows move if
// it is set.
const longestSleep = time.Minute

// sleep returns for how long the first of a queue may sleep: until the start, or
// until a grant is taken to have ended.
func (l *Local) sleep(v *view) time.Duration {
	d := v.start.Sub(v.now)
	if v.state.Busy {
		for _, g := range v.active.grants {
			d = min(d, time.Duration(g.start-v.at)+l.options.Hold)
		}
	}
	return min(max(d, time.Nanosecond), longestSleep)
}

// place takes a place on the address for a waiter whom only the address holds up.
// So the waiters of an address wake one after another, each once, and not all at
// every start.
func (l *Local) place(v *view, w *waiter) {
	if w.slot == never && !v.state.Busy && !v.full && v.start.Equal(v.state.Address) && v.state.Address.After(v.now) {
		w.slot, w.addr = v.moment(v.start), v.addr
		a := l.addrs[v.addr]
		a.tail = w.slot
		l.addrs[v.addr] = a
	}
}

// leave ends a call of Wait: the place in the queue and one on the address that
// was not used are free, and the next in the queue takes over the watch.
func (l *Local) leave(origin id, a *active, w *waiter) {
	if w.slot != never {
		if at := l.addrs[w.addr]; at.tail == w.slot {
			at.tail = before(w.slot, l.shared(at.gap))
			l.addrs[w.addr] = at
		}
	}
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

// retire drops an origin at which nothing goes on; its state stays.
func (l *Local) retire(origin id, a *active) bool {
	idle := len(a.grants) == 0 && len(a.queue) == 0
	if idle {
		delete(l.active, origin)
	}
	return idle
}

// view is what there is to know for one decision, made under the lock.
type view struct {
	key    Key
	s      *Schedule
	origin id
	addr   id
	gap    time.Duration // of the address, 0 without a pace
	active *active       // nil if nothing goes on
	state  State
	now    time.Time
	at     moment // now
	start  time.Time
	full   bool
	until  time.Time // when a place may be free, if full
}

func (v *view) time(m moment) time.Time {
	if m == never {
		return time.Time{}
	}
	return v.now.Add(time.Duration(m - v.at))
}

func (v *view) moment(t time.Time) moment { return v.at + moment(t.Sub(v.now)) }

func (v *view) turn() Turn {
	turn := v.s.TurnIn(v.now, v.state)
	if v.full {
		turn.Start = v.start
		turn.Reasons = slices.Insert(turn.Reasons, 0, Reason{Cause: CauseFull, Until: v.until})
	}
	return turn
}

// look finds when a request may start.
func (l *Local) look(key Key, s *Schedule, w *waiter) view {
	key.Addr = key.Addr.Unmap().WithZone("")
	v := view{key: key, s: s.orDefault(), origin: l.origin(key)}
	v.now = l.options.Now()
	v.at = l.moment(v.now)
	v.active = l.active[v.origin]
	if v.active != nil {
		if l.expire(v.origin, v.active, v.at); l.retire(v.origin, v.active) {
			v.active = nil
		}
	}
	if v.active != nil {
		v.state.Busy = len(v.active.grants) >= l.options.Concurrency
	}
	st, held := l.sites[v.origin]
	if !held {
		st = fresh
		if v.full = l.crowded(v.at, l.busy); v.full {
			v.until = v.time(l.soonest)
		}
	}
	v.state.Last, v.state.NotBefore = v.time(st.last), v.time(st.retry)
	if v.at-st.overload < moment(l.options.Forget) {
		v.state.BackOff = st.back
	}
	if v.gap, _ = l.options.At(key.Addr); v.gap > 0 {
		v.addr = l.address(key.Addr)
		if a, ok := l.addrs[v.addr]; ok {
			ready := after(a.last, l.shared(v.gap))
			if w != nil && w.slot != never && w.addr == v.addr {
				ready = max(ready, w.slot)
			} else {
				ready = max(ready, after(a.tail, l.shared(v.gap)))
			}
			v.state.Address = v.time(ready)
		}
	}
	v.start = v.s.NextIn(v.now, v.state)
	if v.full {
		v.start = latest(v.start, v.until)
	}
	if w != nil && w.slot != never && w.slot <= v.at && v.start.After(v.now) && !v.start.Equal(v.state.Address) {
		w.slot = never // its time has come and the origin is not ready
	}
	return v
}

// busy reports whether an origin is at work, so that its state must stay. One
// whose grants nobody gave back is so for the last time.
func (l *Local) busy(origin id, at moment) bool {
	a := l.active[origin]
	if a == nil {
		return false
	}
	l.expire(origin, a, at)
	l.retire(origin, a)
	return true
}

// expire ends the grants that nobody gave back.
func (l *Local) expire(origin id, a *active, at moment) {
	a.grants = slices.DeleteFunc(a.grants, func(g grant) bool {
		end := after(g.start, l.options.Hold)
		if end > at {
			return false
		}
		l.touch(origin, end, a.slowest)
		return true
	})
}

// grant hands out the start of a view.
func (l *Local) grant(v *view) Grant {
	turn := v.turn()
	a := l.activate(v.origin)
	start := v.moment(turn.Start)
	g := grant{start: start, last: never}
	if st, ok := l.sites[v.origin]; ok {
		g.last = st.last
	}
	a.slowest = v.s.most
	l.touch(v.origin, start, a.slowest)
	if v.gap > 0 {
		g.addr, g.addressed = v.addr, true
		l.visit(v.addr, start, v.gap)
	}
	l.grants++
	g.id = l.grants
	a.grants = append(a.grants, g)
	return Grant{ID: g.id, Key: v.key, Turn: turn}
}

// Done gives a grant back.
func (l *Local) Done(_ context.Context, g Grant, r Result) error {
	if !g.OK() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v := view{key: g.Key, origin: l.origin(g.Key), now: l.options.Now()}
	v.at = l.moment(v.now)
	v.active = l.active[v.origin]
	slowest := DefaultMaxCrawlDelay // of a grant that is long forgotten
	if a := v.active; a != nil {
		slowest = a.slowest
		i := slices.IndexFunc(a.grants, func(h grant) bool { return h.id == g.ID })
		if i >= 0 {
			h := a.grants[i]
			a.grants = slices.Delete(a.grants, i, i+1)
			if r.Unused {
				l.untouch(v.origin, h)
			}
		}
		a.signal()
		l.retire(v.origin, a)
	}
	if r.Unused {
		return nil
	}
	if _, held := l.sites[v.origin]; !held && l.crowded(v.at, l.busy) {
		return nil // about a site of a forgotten grant, for which there is no room
	}
	l.touch(v.origin, v.at, slowest)
	l.settle(v.origin, v.at, r)
	return nil
}

func ended(ctx context.Context, key Key) error {
	if ctx.Err() != nil {
		return waiting(ctx, key)
	}
	return nil
}

func waiting(ctx context.Context, key Key) error {
	return fmt.Errorf("waiting for %s: %w", key, context.Cause(ctx))
}
