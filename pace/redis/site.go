package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
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
	own    pace.Tenant   // the pace of the sites that this worker has
	term   time.Duration // of a lease

	observed bool // by Options.Observe

	head   []byte        // of the argument of calls
	number atomic.Uint32 // of the last lease that was asked for

	most int // leases

	mu     sync.Mutex
	taking map[robots.Origin]*taking
	queue  []lease // in the order in which they are to be renewed

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

// A lease is the right of this worker to ask a site. Until when is for its own pace to know.
type lease struct {
	origin robots.Origin
	number uint32
	sent   time.Time // when it was last asked for
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
	o.MaxBytes = memory / 4 // for what is known of sites that it has left
	own, err := pace.NewTenant(o.own())
	if err != nil {
		return nil, err
	}
	o.MaxBytes = memory / 16 // for what is not about sites
	shared, err := newLimiter(client, o, kindLeased)
	if err != nil {
		return nil, err
	}
	l := &Leased{
		shared: shared, own: own, term: term, observed: o.Observe != nil, most: max(memory*11/16/bytesPerLease, 1),
		taking: map[robots.Origin]*taking{}, ended: make(chan struct{}),
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

// over reports whether the worker takes no more grants: it was closed, or is drained.
func (l *Leased) over() bool { return l.closed.Load() || l.shared.stopped() != nil }

// Drained reports whether an operator has told this worker to take no grants any more. It
// gives its sites back then.
func (l *Leased) Drained() bool { return l.shared.Drained() }

// Reserve grants the next start if it is at most within from now. At a site that another
// worker has it refuses with CauseLeased.
func (l *Leased) Reserve(ctx context.Context, key pace.Key, s *pace.Schedule, within time.Duration) (pace.Grant, error) {
	var asked time.Time
	if l.observed {
		asked = l.shared.options.Asked()
	}
	g, err := l.under(ctx, key, s, func() (pace.Grant, error) { return l.own.Reserve(ctx, key, s, within) })
	if l.observed {
		l.shared.options.TellDecided(key.Origin, asked, g, err)
	}
	return g, err
}

// under asks this worker's own pace, under a lease.
func (l *Leased) under(ctx context.Context, key pace.Key, s *pace.Schedule, ask func() (pace.Grant, error)) (pace.Grant, error) {
	for {
		if !l.over() {
			if g, err := ask(); err != pace.ErrNotHeld { //nolint:errorlint // it is that of the call itself
				return g, err
			}
		}
		if g, taken, err := l.take(ctx, key, s); !taken {
			return g, err
		}
	}
}

// NotBefore returns when a request might start and why. It takes no lease.
func (l *Leased) NotBefore(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Turn, error) {
	if err := l.refuses(ctx, key); err != nil {
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
	if turn, err := l.own.NotBefore(ctx, pace.Key{Origin: origin}, s); err != pace.ErrNotHeld { //nolint:errorlint // as in under
		return turn, err
	}
	known, _ := l.own.History(origin)
	c := call(siteLook, origin, 0, known, s.Slowest())
	if err := l.ask(ctx, c); err != nil {
		return pace.Turn{}, err
	}
	if c.code != siteGranted {
		return c.refusal().turn(s), nil
	}
	h := c.history()
	return s.TurnIn(clock(), pace.State{Last: h.Last, NotBefore: h.NotBefore, BackOff: h.BackOff}), nil
}

// Valid reports whether a request may still start on a grant: not when the lease under which
// it was given has ended, even if this worker has another one since.
func (l *Leased) Valid(g pace.Grant) bool { return l.shared.stopped() == nil && l.own.Valid(g) }

// Wait returns when the request may start. Where another worker has the site it waits
// until that one gives it back or its lease ends. If the other one renews its lease twice,
// it has used the site meanwhile, and the error is a *pace.TakenError.
func (l *Leased) Wait(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Grant, error) {
	asked := l.shared.options.Asked()
	if !l.over() {
		if g, err := l.own.Reserve(ctx, key, s, 0); g.OK() {
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
	l.mu.Lock()
	ending := l.ending
	l.mu.Unlock()
	defer context.AfterFunc(ending, func() { stop(ErrDrained) })()
	var until time.Time // of the lease of another worker as it was at first
	for {
		g, err := l.under(open, key, s, func() (pace.Grant, error) { return l.own.Wait(open, key, s) })
		taken, down := takenIn(g.Turn), errors.Is(err, ErrDown)
		if taken != nil && until.IsZero() {
			until = taken.Until
		}
		switch {
		case g.OK():
			return g, nil
		case l.over():
			return pace.Grant{}, cmp.Or(l.refuses(ctx, key), ErrDrained)
		case ctx.Err() != nil && down:
			return pace.Grant{}, gaveUp(ctx, key, err)
		case ctx.Err() != nil:
			return pace.Grant{}, gaveUp(ctx, key, nil)
		case open.Err() != nil: // it was drained, and that is over since
			return pace.Grant{}, cmp.Or(l.shared.stopped(), ErrDrained)
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
		if asked[i].Ended.OK() {
			_ = l.Done(ctx, asked[i].Ended, asked[i].Result) // which never fails
		}
	}
	answers := make([]pace.Grant, len(asked))
	if len(asked) == 0 {
		return answers, nil
	}
	if err := l.refuses(ctx, asked[0].Key); err != nil {
		return nil, err
	}
	var refused map[robots.Origin]*refusal // of those that are not held, nil until one is met
	within := time.Duration(0)
	for i := range asked {
		q := &asked[i]
		if k <= 0 {
			within = -1
		}
		g, err := l.own.Take(q.Key, q.Schedule, within)
		if err != nil && refused == nil {
			if refused, err = l.takeAll(ctx, asked[i:]); err != nil && !errors.Is(err, ErrDown) {
				for _, g := range answers {
					_ = l.own.Done(ctx, g, pace.Result{Unused: true})
				}
				return nil, err
			}
			g, err = l.own.Take(q.Key, q.Schedule, within)
		}
		if err != nil {
			g = pace.Grant{Key: q.Key, Turn: refused[q.Key.Origin].turn(q.Schedule)}
		}
		if answers[i] = g; g.OK() {
			k--
			l.shared.options.TellDecided(q.Key.Origin, began, g, nil)
		}
	}
	return answers, nil
}

// refuses returns why the limiter cannot be asked: the context ended, or it is closed.
func (l *Leased) refuses(ctx context.Context, key pace.Key) error {
	switch {
	case ctx.Err() != nil:
		return waiting(ctx, "for "+key.String())
	case l.closed.Load():
		return errClosed
	}
	return l.shared.stopped()
}

// Visit books a start at the address of a request and waits for it: addresses belong to no
// worker, so that is a call of the server where the address has a pace.
func (l *Leased) Visit(ctx context.Context, g pace.Grant, addr netip.Addr, s *pace.Schedule) (pace.Turn, error) {
	return visit(ctx, l.closing, l, g, addr, s)
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
