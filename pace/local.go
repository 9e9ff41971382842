package pace

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace/internal/queue"
)

// Local is the Limiter of one process. It never loses its memory, so a site that it does
// not know is ready. It starts no goroutine: the first caller that waits for a site watches
// the clock.
type Local struct {
	options Options
	queues  queue.Queues

	mu        sync.Mutex // of the fields below, which are those of memory.go
	sites     map[robots.Origin]*site
	addrs     map[netip.Addr]address
	since     time.Time // when unknown sites count as requested, see Resume
	sweep     int       // at as many states
	fullUntil time.Time // when full: until then there is no room
}

var _ Limiter = (*Local)(nil)

// NewLocal returns a limiter for one process. The error is about the options.
func NewLocal(o Options) (*Local, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	return &Local{options: o, sites: map[robots.Origin]*site{}, addrs: map[netip.Addr]address{}, sweep: leastSweep}, nil
}

// Acquire waits until a request may start and returns its permit.
func (l *Local) Acquire(ctx context.Context, r Request) (Permit, error) {
	called := l.options.Now()
	p, err := l.acquire(ctx, r)
	l.options.decided(r.Origin, &p, called, err)
	return p, err
}

func (l *Local) acquire(ctx context.Context, r Request) (Permit, error) {
	if err := ended(ctx, r.Origin); err != nil {
		return Permit{}, err
	}
	wake, first, leave := l.queues.Enter(r.Origin)
	defer leave()
	deadline, limited := ctx.Deadline()
	r.Within = 0
	for {
		p, pause := l.attempt(r, first)
		switch {
		case p.OK():
			return p, nil
		case limited && p.NotBefore.After(deadline):
			return Permit{}, &LateError{Permit: p}
		case !first:
			pause = 0
		}
		if queue.Sleep(ctx, pause, wake) != nil {
			return Permit{}, ended(ctx, r.Origin)
		}
		first = true
	}
}

// attempt returns a permit that starts within r.Within, or a refusal and for how long the first of
// a queue may sleep: until the start, or until a permit expires.
func (l *Local) attempt(r Request, acquire bool) (p Permit, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.decide(r)
	if acquire && d.startsWithin(max(r.Within, 0)) {
		return l.permit(d), 0
	}
	pause = d.start.Sub(d.now)
	if d.state.Busy {
		for _, p := range d.site.Permits {
			pause = min(pause, p.End.Sub(d.now))
		}
	}
	return d.refusal(), min(max(pause, time.Nanosecond), longestSleep)
}

// longestSleep bounds how long a waiter trusts the clock, whose windows move if
// it is set.
const longestSleep = time.Minute

// Try releases what is done and acquires the first k of the sites that are ready.
func (l *Local) Try(ctx context.Context, rs []Request, k int) ([]Permit, error) {
	for i := range rs {
		_ = l.Release(ctx, rs[i].Done, rs[i].Result) // which never fails
	}
	permits := make([]Permit, len(rs))
	called := l.options.Now()
	if len(rs) == 0 {
		return permits, nil
	}
	if err := ended(ctx, rs[0].Origin); err != nil {
		return nil, err
	}
	looks := k <= 0
	for i := range rs { // each locks separately, so that no other caller waits for all
		permits[i], _ = l.attempt(rs[i], k > 0)
		if permits[i].OK() {
			k--
		}
		if !looks {
			l.options.decided(rs[i].Origin, &permits[i], called, nil)
		}
	}
	return permits, nil
}

// decision is all that is known of a site at one moment, made under the lock.
type decision struct {
	request  Request
	schedule *Schedule
	site     *site // a new one if it is not in memory
	state    State
	now      time.Time
	start    time.Time
	atOrigin time.Time // start without the address
	fetchGap time.Duration
	full     time.Time // if there is no room for a state: when there might be
}

// decide finds when a request may start.
func (l *Local) decide(r Request) *decision {
	d := &decision{request: r, schedule: r.Schedule.orDefault(), now: l.options.Now()}
	d.site = l.sites[r.Origin]
	if d.site == nil {
		d.site = &site{last: l.since}
		if l.full(d.now) {
			d.full = l.fullUntil
		}
	}
	l.expire(d.site, d.now)
	d.state = State{
		Last: latest(d.site.last, r.AfterFetch(d.now).Last), NotBefore: d.site.Retry,
		Busy: len(d.site.Permits) >= l.options.Concurrency,
	}
	if l.isBackingOff(d.site, d.now) {
		d.state.BackOff = d.site.BackOff.Factor
	}
	d.start = latest(d.schedule.Next(d.now, d.state), d.full)
	d.atOrigin = d.start
	if r.Addr.IsValid() {
		_, d.fetchGap = l.options.intervalsAt(r.Addr)
		if at := l.nextPage(r.Addr, d.now, d.start); at.After(d.start) {
			d.state.Address = at
			d.start = latest(d.schedule.Next(d.now, d.state), d.start)
		}
	}
	return d
}

// startsWithin reports whether a permit is available that starts at most that far ahead.
func (d *decision) startsWithin(within time.Duration) bool {
	return !d.state.Busy && d.full.IsZero() &&
		!d.atOrigin.After(d.now.Add(within)) && !d.start.After(d.now.Add(max(within, d.fetchGap)))
}

func (d *decision) refusal() Permit {
	p := Permit{Origin: d.request.Origin, Schedule: d.request.Schedule}
	p.NotBefore, p.Reasons = d.schedule.Explain(d.now, d.state)
	if !d.full.IsZero() {
		p.NotBefore = d.start
		p.Reasons = slices.Insert(p.Reasons, 0, Reason{Cause: CauseFull, Until: d.full})
	}
	return p
}

// permit acquires the start of a decision.
func (l *Local) permit(d *decision) Permit {
	r := d.request
	lifetime := l.options.lifetimeOf(&d.request)
	at, reasons := d.schedule.Explain(d.now, d.state)
	p := Permit{
		ID: rand.Text(), Origin: r.Origin, Schedule: r.Schedule,
		Start: at, StartBy: at.Add(lifetime / 2), Expires: at.Add(lifetime), Reasons: reasons,
	}
	if r.Addr.IsValid() {
		l.reservePage(r.Addr, d.now, at)
	}
	l.sites[r.Origin] = d.site
	d.site.Permits = append(
		d.site.Permits,
		permit{ID: p.ID, Start: at, End: p.Expires, Addr: r.Addr, last: d.site.last, hasLifetime: r.Lifetime > 0, Untrusted: r.Untrusted},
	)
	l.recordEvent(d.site, at, d.schedule.slowest)
	return p
}

// Release ends a permit.
func (l *Local) Release(_ context.Context, p Permit, r Result) error {
	if !p.OK() {
		return nil
	}
	l.options.Observe(Event{Kind: EventReleased, Origin: p.Origin, Result: r})
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.queues.Wake(p.Origin)
	now := l.options.Now()
	s := l.sites[p.Origin]
	if s == nil && !r.Unused {
		s = l.newSite(p.Origin, now)
	}
	if s == nil {
		return nil
	}
	l.expire(s, now)
	i := s.index(p.ID)
	switch {
	case i < 0: // released before, or expired
		r = Result{RetryAfter: r.RetryAfter, Unused: r.Unused}
	case r.Unused:
		s.undoStart(s.Permits[i])
	}
	if i >= 0 {
		s.Permits = slices.Delete(s.Permits, i, i+1)
	}
	if !r.Unused {
		l.recordEvent(s, now, p.Schedule.Slowest())
		l.responded(s, now, r)
	}
	return nil
}

// newSite adds a site to the memory, and returns nil if that is full.
func (l *Local) newSite(o robots.Origin, now time.Time) *site {
	if l.full(now) {
		return nil
	}
	s := &site{}
	l.sites[o] = s
	return s
}

// Requested records that a request without a permit has ended.
func (l *Local) Requested(_ context.Context, o robots.Origin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.options.Now()
	s := l.sites[o]
	if s == nil {
		s = l.newSite(o, now)
	}
	if s != nil {
		l.recordEvent(s, now, defaultMaxCrawlDelay) // the schedule is unknown
	}
}

// ended returns an error if the context has ended.
func ended(ctx context.Context, o robots.Origin) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("waiting for %s: %w", o, context.Cause(ctx))
}
