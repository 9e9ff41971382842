package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// ErrDown is wrapped by the errors of a limiter whose server does not answer, or
// cannot take a grant, where the policy is to stop.
var ErrDown = errors.New("the fleet's shared pace is out of reach")

var errClosed = errors.New("the limiter is closed")

// Limiter is a pace.Limiter that all processes with one Redis share.
type Limiter struct {
	client     rueidis.Client
	options    Options
	kind       string // of the pace of this worker, "" if it takes no grants
	began      time.Time
	tags       []tag
	workersKey string
	head       []byte // of the argument of decisions

	aboutKey, drainKey, resumeKey string // what this worker says of itself, whether it is drained, whether that is over

	local *pace.Local // this worker's own, for when a tag is down

	list          atomic.Pointer[list]
	listClock     serverClock
	listShort     atomic.Int64              // until when, in Unix nanoseconds, the list may lack some
	lastHeartbeat atomic.Pointer[time.Time] // when the last one that was answered was sent

	worker      uint64          // what the ids of this worker's grants have in common
	grants      atomic.Uint64   // ids that were made
	endedGrants atomic.Uint64   // so many of them are from before the worker was stopped
	pending     pendingReleases // what could not be told to the server
	given, told atomic.Uint64   // grants so far, and those of which the last heartbeat said
	drained     atomic.Bool     // by an operator
	mixed       atomic.Bool     // the other workers are of another kind
	telling     telling

	mu      sync.Mutex // of the two below
	queues  map[robots.Origin]queue
	running sync.WaitGroup

	wake    chan struct{} // wakes loop; holds at most one
	closing context.Context
	close   context.CancelFunc
}

var _ pace.Lender = (*Limiter)(nil)

// New returns a limiter on a server or cluster, and starts its one goroutine,
// which Close ends. The client stays the caller's; its SelectDB must be the same
// for all workers. The error is about the options, or what the server says to
// this user, in one sentence. That the server is down is no error: the limiter
// begins in that state.
func New(client rueidis.Client, o Options) (*Limiter, error) {
	return newLimiter(client, o, kindShared)
}

func newLimiter(client rueidis.Client, o Options, kind string) (*Limiter, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	local := o.own() // this limiter tells what the other decides for it
	for _, d := range []*time.Duration{&local.AddressInterval, &local.FetchInterval} {
		if *d == 0 {
			*d = -1 // none, and not the default
		}
	}
	own, err := pace.NewLocal(local)
	if err != nil {
		return nil, err
	}
	l := &Limiter{
		client:     client,
		options:    o,
		kind:       kind,
		began:      clock(),
		workersKey: workersKey(o.Prefix),
		head:       appendDoubles([]byte{'O'}, micros(o.Concurrency), microsUp(o.GrantTimeout), microsUp(o.Forget), microsUp(workerTimeout())),
		local:      own,
		pending:    pendingReleases{list: map[*tag][]release{}, told: map[*tag][]release{}, dropped: map[*tag]bool{}},
		queues:     map[robots.Origin]queue{},
		wake:       make(chan struct{}, 1),
	}
	if o.RecordsOnly {
		l.kind = ""
	}
	l.tags = l.newTags()
	l.worker = serverGrant | rand.Uint64N(serverGrant)>>counterBits<<counterBits
	l.grants.Store(uint64(rand.Uint32()))
	l.closing, l.close = context.WithCancel(context.Background())
	l.aboutKey, l.drainKey, l.resumeKey = workerKeys(o.Prefix, l.workerName())
	if err := l.join(); err != nil {
		l.close()
		l.running.Wait()
		return nil, err
	}
	l.start(l.loop)
	return l, nil
}

// version is that of the values of keys, behind the tag.
const version = "pace:2:"

// join looks whether the server will do, and joins the fleet if it answers. Of the tags one
// is asked at once, and the others when they are used.
func (l *Limiter) join() error {
	if err := checkLayout(l.closing, l.client, l.options.Prefix); errors.Is(err, ErrEarlier) || refused(err) != nil {
		return cmp.Or(refused(err), err)
	}
	if err := l.heartbeat(l.closing); errors.Is(err, ErrMixed) || refused(err) != nil {
		return cmp.Or(refused(err), err)
	}
	t := &l.tags[0]
	err := t.join(l.closing, nil, false)
	if err != nil {
		t.goDown(err)
	}
	return refused(err)
}

// ErrEarlier is in the error about the layout of an older release.
var ErrEarlier = errors.New("the server holds the pace of an older release")

// checkLayout returns an error if the server has the state of an older release, whose
// workers keep a pace of their own.
func checkLayout(ctx context.Context, client rueidis.Client, prefix string) error {
	old := "{" + prefix + "}:pace:1:epoch"
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err := client.Do(ctx, client.B().Get().Key(old).Build().Pin()).Error()
	switch {
	case err == nil, script.Says(err, "WRONGTYPE"):
		return fmt.Errorf("%w: stop its workers and delete the key %s, after which each site rests for a moment; or take another prefix", ErrEarlier, old)
	case rueidis.IsRedisNil(err):
		return nil
	}
	return err
}

// start runs a goroutine that ends with the limiter.
func (l *Limiter) start(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Err() == nil {
		l.running.Go(f)
	}
}

// Close ends what the limiter runs, and with it the heartbeats: after 15 s the worker
// is off the list, and its grants end. Later calls of Wait, Reserve, Visit and NotBefore
// fail, as do those that wait; Done then tells the server at once or returns an error. Close
// does not close the client.
func (l *Limiter) Close() error {
	l.mu.Lock()
	l.close()
	l.mu.Unlock()
	l.running.Wait()
	return nil
}

// serverGrant marks the ids of grants of the server: those of the worker's own limiter
// count from 1. Below it are 38 bits of the worker, by which the server knows whose a
// grant is, and counterBits that count its grants.
const (
	serverGrant = 1 << 62
	counterBits = 24
)

func (l *Limiter) newGrantID() uint64 { return l.worker | l.grants.Add(1)&(1<<counterBits-1) }

// lentGrant marks the ids of grants that are lent, whose first 5 bytes name no worker: behind
// the mark are 7 bits, in the next 2 bytes the seconds after which the grant ends, and
// then 5 bytes more, all but the seconds at random.
const lentGrant = 1 << 63

func newLentID(seconds int) uint64 {
	return lentGrant | rand.Uint64N(lentGrant)&^(0xffff<<40) | uint64(seconds)<<40
}

// newID returns the id of a grant for a decision.
func (l *Limiter) newID(d *decision) uint64 {
	if d.hold > 0 {
		return newLentID(d.hold)
	}
	return l.newGrantID()
}

// workerName is this worker on the list: the first bytes of the ids of its grants.
func (l *Limiter) workerName() string {
	return string(binary.BigEndian.AppendUint64(nil, l.worker)[:len(noWorker)])
}

// NotBefore returns when a request might start and why.
func (l *Limiter) NotBefore(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Turn, error) {
	d := &decision{key: key, schedule: s, peek: true, address: l.ready(ctx, key.Addr)}
	g, err := l.decide(ctx, d)
	return g.Turn, err
}

// ready returns when an address is ready, the zero time if it is or nobody knows.
func (l *Limiter) ready(ctx context.Context, addr netip.Addr) (at time.Time) {
	if gap, _ := l.options.At(addr); gap > 0 {
		b := l.booking(addr)
		b.within = -1
		if slot, o, err := l.tagOf(b.addr.String()).book(ctx, b); o == nil && err == nil && slot.Delayed {
			at = slot.Start
		}
	}
	return at
}

// Reserve grants the next start if it is at most within from now. Where a site has
// windows, within counts up to 48 hours.
func (l *Limiter) Reserve(ctx context.Context, key pace.Key, s *pace.Schedule, within time.Duration) (pace.Grant, error) {
	asked := l.options.Asked()
	// Who waits comes first.
	g, err := l.decide(ctx, &decision{key: key, schedule: s, within: within, peek: l.waited(key.Origin)})
	l.options.TellDecided(key.Origin, asked, g, err)
	return g, err
}

// Lend is Reserve and a booking for somebody outside the process. What is lent while Redis
// is down, at this worker's share, only this worker takes back.
func (l *Limiter) Lend(ctx context.Context, key pace.Key, s *pace.Schedule, within, hold time.Duration) (pace.Grant, error) {
	asked := l.options.Asked()
	g, err := l.lend(ctx, key, s, within, hold)
	l.options.TellDecided(key.Origin, asked, g, err)
	return g, err
}

func (l *Limiter) lend(ctx context.Context, key pace.Key, s *pace.Schedule, within, hold time.Duration) (pace.Grant, error) {
	g, err := l.decide(ctx, &decision{key: key, schedule: s, within: within, hold: pace.HoldSeconds(hold), peek: l.waited(key.Origin)})
	if err != nil || !g.OK() {
		return g, err
	}
	_, fetchGap := l.options.At(key.Addr)
	return pace.LendBy(ctx, l, clock, g, max(within, fetchGap))
}

// Valid reports whether a request may still start on a grant. It may not after its end; nor,
// where the worker was without an answer to its heartbeats for 14 s, if the grant is older
// than that: the others may have taken the worker for gone. Nor may it if the worker has
// noticed since that the server has lost its memory, or that its clock was set forward.
func (l *Limiter) Valid(g pace.Grant) bool {
	switch {
	case g.ID < serverGrant:
		return l.local.Valid(g)
	case passed(g.Until) >= 0:
		return false
	case g.ID >= lentGrant:
		return true
	case l.Drained():
		return false
	case l.mayBeGone():
		return passed(g.Start) < usableFor()
	}
	n := l.grants.Load()
	n -= (n - g.ID) & (1<<counterBits - 1) // which grant it is
	return n > max(l.endedGrants.Load(), l.tagOf(g.Key.Origin.String()).ended.Load())
}

// A decision is what is asked of the server, or of this worker's own limiter.
type decision struct {
	key      pace.Key
	schedule *pace.Schedule
	within   time.Duration
	hold     int       // the seconds for which the grant is lent, 0 if it is not
	peek     bool      // no grant is wanted
	address  time.Time // when the address is ready, zero if it is or nobody asks

	id          uint64        // of the grant, 0 to peek
	now         time.Time     // of the server, as far as it is known
	earliest    time.Duration // no start before so long from now
	local       pace.Turn     // what the worker's own limiter says
	localCounts bool
	gone        string // a worker that is known to be gone and whose grant is in the way
	goneFor     time.Duration

	grant   pace.Grant // what came of it
	decided bool
}

// decide asks the server, or, while that is down, does what the policy says.
func (l *Limiter) decide(ctx context.Context, d *decision) (pace.Grant, error) {
	switch {
	case ctx.Err() != nil:
		return pace.Grant{}, waiting(ctx, "for "+d.key.String())
	case l.closing.Err() != nil:
		return pace.Grant{}, errClosed
	}
	if err := l.stopped(); err != nil && !d.peek {
		return pace.Grant{}, err
	}
	t := l.tagOf(d.key.Origin.String())
	o := t.outage.Load()
	if o == nil {
		err := t.decide(ctx, d)
		switch {
		case err == nil:
			return d.grant, nil
		case ended(ctx):
			return pace.Grant{}, waiting(ctx, "for "+d.key.String())
		}
		o = t.goDown(err)
	}
	return t.decideAlone(ctx, o, d)
}

// ended reports whether a context has ended. At its deadline a connection may say
// so before the context does.
func ended(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !clock().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// askAttempts bounds how often a decision begins again because the server's
// memory became another one or its clock moved.
const askAttempts = 6

// decide makes decisions about different origins of the tag on the server, at most maxBatch.
// After an error there are no grants for what is not decided, or they are among the
// pending releases.
func (t *tag) decide(ctx context.Context, open ...*decision) error {
	l := t.l
	open = slices.Clone(open)
	undecided := func() []*decision {
		return slices.DeleteFunc(open, func(d *decision) bool { return d.decided })
	}
	for _, d := range open {
		if d.local, d.localCounts = t.localTurn(ctx, d.key, d.schedule); d.localCounts {
			d.earliest = d.local.Start.Sub(clock())
			if d.earliest > max(d.within, 0) || because(d.local, pace.CauseBusy) {
				d.grant, d.decided = pace.Grant{Key: d.key, Turn: d.local}, true
			}
		}
	}
	for range askAttempts {
		if open = undecided(); len(open) == 0 {
			return nil
		}
		e, err := t.current(ctx)
		if err != nil {
			return err
		}
		keys, arg := make([]string, len(open)), slices.Clone(l.head)
		for i, d := range open {
			if !d.peek {
				d.id = l.newID(d) // of each attempt, as an old one may be cancelled again
			}
			d.now = t.clock.estimate()
			keys[i], arg = l.key("origin", d.key.Origin.String()), d.appendTo(arg, d.gone, d.goneFor)
		}
		r, usable, err := t.step(ctx, e, e.step, keys, arg)
		if err != nil {
			for _, d := range open {
				if !d.peek && script.KindOf(err) == script.Lost {
					// Its reply is lost, and the grant may be there.
					l.keepRelease(release{key: d.key, id: d.id, result: pace.Result{Unused: true}, ended: clock()})
				}
			}
			return err
		}
		answers, ok := parseAnswers(r.answers, len(open))
		if !ok && r.answers != "" {
			return script.ErrReply
		}
		for i, a := range answers {
			switch d := open[i]; {
			case !usable:
				if a.code == codeGranted {
					t.cancel(ctx, d.key, d.id)
				}
			case a.code == codeOutside: // the clock was set back, and now it is known
			case a.code == codeRefused && d.asksAbout(a.doubt, l.others()):
			default:
				d.grant, d.decided = t.accept(ctx, d, a, r.reading), true
			}
		}
	}
	if open = undecided(); len(open) == 0 {
		return nil
	}
	return errUnstable
}

// asksAbout reports whether the decision is to be made again, since the worker whose grant is
// in the way is known to be gone.
func (d *decision) asksAbout(worker string, others list) bool {
	since, is := others.gone[worker]
	if !is || d.gone == worker {
		return false
	}
	d.gone, d.goneFor = worker, passed(since)
	return true
}

// accept makes a grant or a refusal of an answer.
func (t *tag) accept(ctx context.Context, d *decision, a answer, r reading) pace.Grant {
	g := d.result(a, r, t.l.options.GrantTimeout)
	if d.localCounts && !g.OK() && d.local.Start.After(g.Start) {
		g.Turn = d.local
	}
	if g.OK() {
		t.l.given.Add(1)
	}
	if g.OK() && t.l.options.WhenDown == Divide {
		// Should Redis be down before its end, the share counts from this start.
		_ = t.l.local.Done(ctx, pace.Grant{ID: d.id, Key: d.key}, pace.Result{}) // it knows no such grant, and has no errors
	}
	return g
}

// result makes a grant, or a refusal with its turn, of an answer. The reasons are found
// in the server's time, by which the windows open.
func (d *decision) result(a answer, r reading, hold time.Duration) pace.Grant {
	if !d.address.IsZero() { // by another server, so that only the time from now counts
		a.state.Address = timeAt(r.now + microsUp(d.address.Sub(r.received)))
	}
	g := pace.Grant{Key: d.key, Turn: d.schedule.TurnIn(timeAt(r.now), a.state)}
	for i := range g.Reasons {
		if a.held && g.Reasons[i].Cause == pace.CauseRetryAfter {
			g.Reasons[i].Cause = pace.CauseHeld
		}
		g.Reasons[i].Until = r.local(g.Reasons[i].Until)
	}
	if a.code == codeRefused {
		g.Start = r.local(g.Start)
		return g
	}
	g.ID = d.id
	if a.start > r.now {
		g.Start = r.ahead(a.start)
	} else {
		g.Start = r.local(timeAt(a.start))
	}
	if d.hold > 0 {
		hold = time.Duration(d.hold) * time.Second
	}
	g.Until = g.Start.Add(hold)
	return g
}

// waiting is the error of a caller whose context ended.
func waiting(ctx context.Context, what string) error {
	return fmt.Errorf("waiting %s: %w", what, context.Cause(ctx))
}
