package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// Leased is a pace.Limiter for a fleet whose frontier gives each site to one worker at a
// time. The worker keeps the pace of its sites by itself, under a lease of each from the
// server, and hands over what it knows of the site when it gives the lease back.
type Leased struct {
	shared *Limiter      // the list of workers, the fetches of robots.txt, and whether Redis is down
	own    *pace.Local   // the pace of the sites that this worker has
	term   time.Duration // of a lease

	observed bool // by Options.Observe

	head   []byte        // of the argument of calls
	number atomic.Uint32 // of the last lease that was asked for

	// recent has leases by a hash of their hosts, one each: what most questions are about is
	// found without a lock.
	recent [1 << 13]atomic.Pointer[lease]
	seed   maphash.Seed

	mu     sync.RWMutex
	most   int // leases
	leases map[robots.Origin]*lease
	taking map[robots.Origin]*taking
	queue  []*lease // in the order in which they are to be renewed

	closed  atomic.Bool
	ending  context.Context // of calls that wait, with mu: it ends when the worker takes no more grants
	end     context.CancelFunc
	closing context.Context
	close   context.CancelFunc
	ended   chan struct{} // closed when loop has ended
}

var _ pace.Chooser = (*Leased)(nil)

// leaseTime is for how long a worker has a site. It is renewed when half of it is over.
const leaseTime = time.Minute

// usable is for how long a worker uses a lease, from before it asked for it: 3 s less than
// the server keeps it, so that there is time to send the request, and clocks may differ in
// their speed.
func (l *Leased) usable() time.Duration { return l.term - l.term/20 }

// askAgain is when who was refused a site asks again at the latest: a worker may give the
// site back at any time. It is jittered by up to a quarter.
const askAgain = 3500 * time.Millisecond

// A lease is the right of this worker to ask a site.
type lease struct {
	origin robots.Origin
	before uint64          // grants up to this id are of an earlier lease
	until  [2]atomic.Int64 // its end by both clocks of this machine, see between: since base, and Unix time
	gone   atomic.Bool     // it is another's, or is being given back
	used   atomic.Bool     // since it was given or renewed
	number uint32
	sent   time.Time // when it was last asked for, for loop alone
}

// base is where the monotonic clock begins.
var base = time.Now()

// extend makes a lease end at a time after it was asked for.
func (le *lease) extend(sent time.Time, usable time.Duration) {
	le.sent = sent
	le.until[0].Store(int64(sent.Sub(base) + usable))
	le.until[1].Store(sent.UnixNano() + int64(usable))
}

// valid reports whether a request to the site may start at a time.
func (le *lease) valid(at time.Time) bool {
	return !le.gone.Load() && int64(at.Sub(base)) < le.until[0].Load() && at.UnixNano() < le.until[1].Load()
}

// NewLeased returns a limiter for a partitioned frontier on a server or cluster. It starts
// two goroutines, which Close ends. The rest is as New says; while Redis is down the
// worker goes on with the sites that it has until their leases end, whatever WhenDown
// says. Options.MaxBytes bounds the memory of the sites, 512 MiB if 0.
func NewLeased(client rueidis.Client, o Options) (*Leased, error) {
	return newLeased(client, o, leaseTime)
}

func newLeased(client rueidis.Client, o Options, term time.Duration) (*Leased, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	memory := cmp.Or(o.MaxBytes, 512<<20)
	o.MaxBytes = memory / 2
	own, err := pace.NewLocal(o.own())
	if err != nil {
		return nil, err
	}
	o.MaxBytes = memory / 16 // for what is not about sites
	shared, err := New(client, o)
	if err != nil {
		return nil, err
	}
	l := &Leased{
		shared: shared, own: own, term: term, seed: maphash.MakeSeed(), observed: o.Observe != nil, most: max(memory*7/16/bytesPerLease, 1),
		leases: map[robots.Origin]*lease{}, taking: map[robots.Origin]*taking{}, ended: make(chan struct{}),
	}
	name := o.name()
	l.head = appendDoubles(binary.BigEndian.AppendUint64(nil, shared.worker), microsOf(term), microsUp(shared.options.Forget))
	l.head = append(append(l.head, byte(len(name))), name...)
	l.number.Store(rand.Uint32())
	l.closing, l.close = context.WithCancel(context.Background())
	l.begin()
	l.joinAll()
	go l.loop()
	return l, nil
}

// joinAll joins all tags. One that is used for the first time later than this worker began
// would rest for the time of a lease, as others may have lost it.
func (l *Leased) joinAll() {
	ctx, cancel := context.WithTimeout(l.closing, callLimit)
	defer cancel()
	var all sync.WaitGroup
	for i := range l.shared.tags {
		all.Go(func() { _, _ = l.shared.tags[i].current(ctx) }) // what fails is tried again when it is used
	}
	all.Wait()
}

// held returns the lease of an origin, nil without one. It may have ended.
func (l *Leased) held(o robots.Origin) *lease {
	recent := &l.recent[maphash.String(l.seed, o.Host())%uint64(len(l.recent))]
	if le := recent.Load(); le != nil && le.origin == o && !le.gone.Load() {
		return le
	}
	l.mu.RLock()
	le := l.leases[o]
	l.mu.RUnlock()
	if le == nil || le.gone.Load() {
		return nil
	}
	recent.Store(le)
	return le
}

// lease is held for a caller who is about to use the site.
func (l *Leased) lease(o robots.Origin) *lease {
	le := l.held(o)
	if le == nil {
		return nil
	}
	if !le.used.Load() {
		le.used.Store(true)
	}
	return le
}

// over reports whether the worker takes no more grants: it was closed, or is drained.
func (l *Leased) over() bool { return l.closed.Load() || l.shared.drained.Load() }

// Drained reports whether an operator has told this worker to take no grants any more. It
// gives its sites back then.
func (l *Leased) Drained() bool { return l.shared.Drained() }

// find returns the lease of an origin, nil without one that is valid.
func (l *Leased) find(o robots.Origin) *lease {
	if le := l.lease(o); le != nil && le.valid(clock()) {
		return le
	}
	return nil
}

// covers reports whether what this worker's own pace says of a site still counts: the
// lease was there before it was asked, and has not ended since. What it granted in vain is
// given back.
func (l *Leased) covers(ctx context.Context, le *lease, g *pace.Grant) bool {
	switch at := g.Start; {
	case g.OK() && g.ID > le.before && le.valid(at): // mostly the start is now, and no clock need be read
		return true
	case le.valid(clock()) && (!g.OK() || g.ID > le.before):
		return true
	}
	_ = l.own.Done(ctx, *g, pace.Result{Unused: true}) // which never fails
	return false
}

// Reserve grants the next start if it is at most within from now. At a site that another
// worker has it refuses with CauseLeased.
func (l *Leased) Reserve(ctx context.Context, key pace.Key, s *pace.Schedule, within time.Duration) (pace.Grant, error) {
	var asked time.Time
	if l.observed {
		asked = l.shared.options.Asked()
	}
	le := l.lease(key.Origin)
	for {
		if le == nil || l.over() {
			var g pace.Grant
			var err error
			if le, g, err = l.take(ctx, key, s); le == nil {
				l.shared.options.TellDecided(key.Origin, asked, g, err)
				return g, err
			}
		}
		if g, err := l.own.Reserve(ctx, key, s, within); err != nil || l.covers(ctx, le, &g) {
			if l.observed {
				l.shared.options.TellDecided(key.Origin, asked, g, err)
			}
			return g, err
		}
		le = nil
	}
}

// wait is Wait of this worker's own pace, under a lease.
func (l *Leased) wait(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Grant, error) {
	for {
		le := l.find(key.Origin)
		if le == nil || l.over() {
			var g pace.Grant
			var err error
			if le, g, err = l.take(ctx, key, s); le == nil {
				return g, err
			}
		}
		if g, err := l.own.Wait(ctx, key, s); err != nil || l.covers(ctx, le, &g) {
			return g, err
		}
	}
}

// NotBefore returns when a request might start and why. It takes no lease.
func (l *Leased) NotBefore(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Turn, error) {
	if err := l.refuses(ctx, key.String()); err != nil {
		return pace.Turn{}, err
	}
	turn, err := l.siteTurn(ctx, key.Origin, s)
	if ready := l.shared.ready(ctx, key.Addr); err == nil && ready.After(turn.Start) {
		turn.Start = ready
		turn.Reasons = slices.Insert(slices.Clone(turn.Reasons), 0, pace.Reason{Cause: pace.CauseAddress, Until: ready})
	}
	return turn, err
}

// siteTurn returns when a site might be asked.
func (l *Leased) siteTurn(ctx context.Context, origin robots.Origin, s *pace.Schedule) (pace.Turn, error) {
	if l.find(origin) != nil {
		return l.own.NotBefore(ctx, pace.Key{Origin: origin}, s)
	}
	c := l.call(siteLook, origin, s.Slowest(), 0)
	if err := l.ask(ctx, c); err != nil {
		return pace.Turn{}, err
	}
	if c.code != siteGranted {
		return c.refusal().turn(s), nil
	}
	h := c.history()
	return s.TurnIn(clock(), pace.State{Last: h.Last, NotBefore: h.NotBefore, BackOff: h.BackOff}), nil
}

// Valid reports whether a request may still start on a grant: not when the lease under
// which it was given has ended, even if this worker has another one since.
func (l *Leased) Valid(g pace.Grant) bool {
	le, now := l.held(g.Key.Origin), clock()
	return le != nil && g.ID > le.before && le.valid(now) && now.Before(g.Until) && !l.shared.drained.Load()
}

// Wait returns when the request may start. Where another worker has the site it waits
// until that one gives it back or its lease ends. If the other one renews its lease twice,
// it has used the site meanwhile, and the error is a *pace.TakenError.
func (l *Leased) Wait(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Grant, error) {
	asked := l.shared.options.Asked()
	if le := l.lease(key.Origin); le != nil && !l.over() {
		if g, err := l.own.Reserve(ctx, key, s, 0); g.OK() && l.covers(ctx, le, &g) {
			l.shared.options.TellDecided(key.Origin, asked, g, err)
			return g, nil
		}
	}
	g, err := l.waitLong(ctx, key, s) // it is not there, so the rest need not be fast
	l.shared.options.TellDecided(key.Origin, asked, g, err)
	return g, err
}

func (l *Leased) waitLong(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Grant, error) {
	deadline, limited := ctx.Deadline()
	open, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l.mu.RLock()
	ending := l.ending
	l.mu.RUnlock()
	defer context.AfterFunc(ending, func() { stop(ErrDrained) })()
	var until time.Time // of the lease of another worker as it was at first
	for {
		g, err := l.wait(open, key, s)
		taken, down := takenIn(g.Turn), errors.Is(err, ErrDown)
		if taken != nil && until.IsZero() {
			until = taken.Until
		}
		switch {
		case g.OK():
			return g, nil
		case l.over():
			return pace.Grant{}, l.refuses(ctx, key.String())
		case ctx.Err() != nil && down:
			return pace.Grant{}, gaveUp(ctx, key, err)
		case ctx.Err() != nil:
			return pace.Grant{}, gaveUp(ctx, key, nil)
		case open.Err() != nil: // it was drained, and that is over since
			return pace.Grant{}, ErrDrained
		case err != nil && !down:
			return g, err
		case taken != nil && taken.Worker != "" && taken.Until.After(until.Add(l.term*5/8)):
			return pace.Grant{}, &pace.TakenError{Key: key, Worker: taken.Worker, Until: taken.Until}
		case taken != nil && limited && g.Start.After(deadline):
			return pace.Grant{}, &pace.LateError{Key: key, Turn: g.Turn}
		case taken != nil:
			_ = l.shared.sleep(open, time.Until(g.Start), nil) // what ends it is seen above
		case down:
			_ = l.shared.sleep(open, jittered(longestAlone)*3/4, nil)
		}
	}
}

// takenIn returns the reason for which this worker does not have a site: another one has it,
// an operator holds it, or there is no room for it. It is nil without one.
func takenIn(t pace.Turn) *pace.Reason {
	why := func(r pace.Reason) bool {
		return r.Cause == pace.CauseLeased || r.Cause == pace.CauseHeld || r.Cause == pace.CauseFull
	}
	if i := slices.IndexFunc(t.Reasons, why); i >= 0 {
		return &t.Reasons[i]
	}
	return nil
}

// Done gives a grant back. The server hears of it with the lease.
func (l *Leased) Done(ctx context.Context, g pace.Grant, r pace.Result) error {
	_ = l.own.Done(ctx, g, r) // which never fails
	if l.observed {
		l.shared.options.TellDone(g, r, nil)
	}
	if !l.over() || !g.OK() {
		return nil
	}
	l.handBack(context.WithoutCancel(ctx), g.Key.Origin)
	return nil
}

// Next grants starts to the first k of the asked sites that are ready. It takes leases of
// all of them: a frontier asks for its own sites.
func (l *Leased) Next(ctx context.Context, asked []pace.Question, k int) ([]pace.Grant, error) {
	began := l.shared.options.Asked()
	for i := range asked {
		_ = l.Done(ctx, asked[i].Ended, asked[i].Result) // which never fails
	}
	what := fmt.Sprint(len(asked), " sites")
	if err := l.refuses(ctx, what); err != nil {
		return nil, err
	}
	refused := make([]*refusal, len(asked))
	var open []int // without a lease
	var calls []*siteCall
	now := clock()
	l.mu.RLock()
	room := l.most - len(l.leases)
	l.mu.RUnlock()
	for i := range asked {
		if le := l.lease(asked[i].Key.Origin); le == nil || !le.valid(now) {
			if len(calls) >= room {
				refused[i] = &refusal{full: true, until: now.Add(l.term / 60)}
				continue
			}
			open = append(open, i)
			calls = append(calls, l.call(siteTake, asked[i].Key.Origin, asked[i].Schedule.Slowest(), l.number.Add(1)))
		}
	}
	err := l.ask(ctx, calls...)
	for n, i := range open {
		if calls[n].code == 0 {
			refused[i] = &refusal{away: true, until: clock().Add(longestAlone)}
		} else {
			_, refused[i] = l.took(calls[n])
		}
	}
	if err != nil && !errors.Is(err, ErrDown) {
		return nil, err
	}
	answers := make([]pace.Grant, len(asked))
	ctx = context.WithoutCancel(ctx) // from here nothing takes long
	for i, q := range asked {
		switch answers[i].Key = q.Key; {
		case refused[i] != nil:
			answers[i].Turn = refused[i].turn(q.Schedule)
		case k > 0:
			answers[i], _ = l.own.Reserve(ctx, q.Key, q.Schedule, 0)
		default:
			answers[i].Turn, _ = l.own.NotBefore(ctx, q.Key, q.Schedule)
		}
		if !answers[i].OK() {
			continue
		}
		if !l.Valid(answers[i]) { // the lease ended just now
			_ = l.own.Done(ctx, answers[i], pace.Result{Unused: true})
			answers[i].ID = 0
			continue
		}
		k--
		l.shared.options.TellDecided(q.Key.Origin, began, answers[i], nil)
	}
	return answers, nil
}

// refuses returns why the limiter cannot be asked: the context ended, or it is closed.
func (l *Leased) refuses(ctx context.Context, what string) error {
	switch {
	case ctx.Err() != nil:
		return waiting(ctx, "for "+what)
	case l.closed.Load():
		return errClosed
	case l.shared.Drained():
		return ErrDrained
	}
	return nil
}

// Visit books a start at the address of a request and waits for it: addresses belong to no
// worker, so that is a call of the server where the address has a pace.
func (l *Leased) Visit(ctx context.Context, g pace.Grant, addr netip.Addr, s *pace.Schedule) (pace.Turn, error) {
	return visit(ctx, l, l.closing, g, addr, s)
}

// Book is the step of Visit.
func (l *Leased) Book(ctx context.Context, addr netip.Addr, notBefore time.Time, within time.Duration) (pace.Slot, error) {
	return l.shared.Book(ctx, addr, notBefore, within)
}

// Start returns when the fleet's next fetch of robots.txt from an address may start, as
// Limiter.Start does: addresses belong to no worker.
func (l *Leased) Start(ctx context.Context, addr netip.Addr) error { return l.shared.Start(ctx, addr) }

// DownSince returns since when Redis is down, the zero time while it answers.
func (l *Leased) DownSince() time.Time { return l.shared.DownSince() }

// Close gives the leases of all sites back at which no request is under way, and ends the
// goroutines. Done gives back those of the others, as long as the client is open. Later
// calls of Wait, Reserve, NotBefore and Next fail, as do those that wait. Close does not
// close the client.
func (l *Leased) Close() error {
	l.closed.Store(true)
	l.close()
	<-l.ended
	return l.shared.Close()
}
