package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

var (
	errClosed   = errors.New("the limiter is closed")
	errChanging = errors.New("the server's memory or its clock changes all the time")
)

// Limiter is a pace.Limiter that all processes with one Redis share.
type Limiter struct {
	client  rueidis.Client
	options Options

	epochKey, workersKey              string
	originHead, addrHead, fetchesHead string
	siteHead                          string
	decisions, releases               *batcher

	clock    serverClock
	joining  sync.Mutex
	epoch    atomic.Pointer[epoch]
	identity atomic.Pointer[string] // of the server, since the epoch was taken up

	local      *pace.Local            // this worker's own, for when Redis is down
	localUntil atomic.Int64           // until when, in Unix nanoseconds, local counts too
	outage     atomic.Pointer[outage] // nil while Redis answers
	lastOutage atomic.Pointer[outage] // the last one that is over

	// The workers on the list, as every answer says, and how many of them stand
	// before this one, as the last heartbeat says.
	workers, rank atomic.Int64
	listShort     atomic.Int64 // until when, in Unix nanoseconds, the list may lack some

	heartbeatMu   sync.Mutex
	lastHeartbeat atomic.Pointer[time.Time] // when the last one that was answered was sent

	worker      uint64          // what the ids of this worker's grants have in common
	grants      atomic.Uint64   // ids that were made
	endedGrants atomic.Uint64   // so many of them are from before the worker was stopped
	pending     pendingReleases // what could not be told to the server

	mu     sync.Mutex
	queues map[robots.Origin]queue

	wake    chan struct{} // wakes loop; holds at most one
	closing context.Context
	close   context.CancelFunc
	ended   chan struct{} // closed when loop has ended
}

var _ pace.Lender = (*Limiter)(nil)

// New returns a limiter on a server or cluster, and starts its one goroutine,
// which Close ends. The client stays the caller's; its SelectDB must be the same
// for all workers. The error is about the options, or what the server says to
// this user, in one sentence. That the server is down is no error: the limiter
// begins in that state.
func New(client rueidis.Client, o Options) (*Limiter, error) {
	o, head, err := o.filled()
	if err != nil {
		return nil, err
	}
	local := o.Options
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
		client:      client,
		options:     o,
		epochKey:    head + "epoch",
		workersKey:  head + "workers",
		originHead:  head + "origin:",
		addrHead:    head + "address:",
		fetchesHead: head + "fetches:",
		siteHead:    head + "site:",
		local:       own,
		queues:      map[robots.Origin]queue{},
		wake:        make(chan struct{}, 1),
		ended:       make(chan struct{}),
	}
	l.worker = serverGrant | rand.Uint64N(serverGrant)>>counterBits<<counterBits
	l.grants.Store(uint64(rand.Uint32()))
	l.decisions = &batcher{
		call: l.call,
		run:  script.Script.ByName, // a name that is not known says something of the server
		keys: []string{l.epochKey, l.workersKey},
		head: string(appendDoubles(nil, micros(o.Concurrency), microsUp(o.GrantTimeout), microsUp(o.Forget), microsUp(workerTimeout()))),
	}
	l.releases = &batcher{
		call: l.call,
		run:  script.Script.Run,
		head: string(appendDoubles(nil, microsUp(o.GrantTimeout), microsUp(o.Forget), microsUp(pace.DefaultMaxCrawlDelay))),
	}
	l.closing, l.close = context.WithCancel(context.Background())
	if err = l.joinEpoch(l.closing, nil, false); err == nil {
		err = l.heartbeat(l.closing)
	}
	if err != nil {
		l.goDown(err)
	}
	if err := l.refused(); err != nil {
		l.close()
		return nil, err
	}
	go l.loop()
	return l, nil
}

// Close ends the limiter's goroutine, and with it the heartbeats: after 15 s the worker
// is off the list, and its grants end. Later calls of Wait, Reserve and NotBefore fail,
// as do those that wait; Done then tells the server at once or returns an error. Close
// does not close the client.
func (l *Limiter) Close() error {
	l.close()
	<-l.ended
	return nil
}

// callLimit is how long one call may take before the server counts as down.
const callLimit = time.Second

// runner is a way to run a script, such as script.Script.Run.
type runner func(s script.Script, ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult

// call runs a script in a way.
func (l *Limiter) call(ctx context.Context, run runner, s script.Script, keys, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return run(s, ctx, l.client, keys, args).ToString()
}

// keys returns the keys of an origin, and of its address if that has a pace, with the
// interval of the address.
func (l *Limiter) keys(k pace.Key) (keys []string, addrInterval micros) {
	origin := l.originHead + k.Origin.String()
	if interval, _ := l.options.At(k.Addr); interval > 0 {
		return []string{origin, l.addrHead + k.Addr.Unmap().WithZone("").String()}, microsUp(interval)
	}
	return []string{origin}, 0
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

// workerName is this worker on the list.
func (l *Limiter) workerName() string { return fmt.Sprintf("%010x", l.worker>>counterBits) }

// NotBefore returns when a request might start and why.
func (l *Limiter) NotBefore(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Turn, error) {
	g, err := l.decide(ctx, &decision{key: key, schedule: s, peek: true})
	return g.Turn, err
}

// Reserve grants the next start if it is at most within from now. Where a site has
// windows, within counts up to 48 hours.
func (l *Limiter) Reserve(ctx context.Context, key pace.Key, s *pace.Schedule, within time.Duration) (pace.Grant, error) {
	// Who waits comes first.
	return l.decide(ctx, &decision{key: key, schedule: s, within: within, peek: l.waited(key.Origin)})
}

// Lend is Reserve for somebody outside the process. What is lent while Redis is down, at
// this worker's share, only this worker takes back.
func (l *Limiter) Lend(ctx context.Context, key pace.Key, s *pace.Schedule, within, hold time.Duration) (pace.Grant, error) {
	return l.decide(ctx, &decision{key: key, schedule: s, within: within, hold: pace.HoldSeconds(hold), peek: l.waited(key.Origin)})
}

// Valid reports whether a request may still start on a grant. It may not if the grant is
// older than GrantTimeout, or if the worker was without an answer to its heartbeats for
// 14 s since: the others may have taken it for gone.
func (l *Limiter) Valid(g pace.Grant) bool {
	if g.ID < serverGrant {
		return l.local.Valid(g)
	}
	if g.ID >= lentGrant {
		return passed(g.Start) < time.Duration(g.ID>>40&0xffff)*time.Second
	}
	if l.mayBeGone() || passed(g.Start) >= l.options.GrantTimeout {
		return false
	}
	n := l.grants.Load()
	n -= (n - g.ID) & (1<<counterBits - 1) // which grant it is
	return n > l.endedGrants.Load()
}

// A decision is what is asked of the server, or of this worker's own limiter.
type decision struct {
	key      pace.Key
	schedule *pace.Schedule
	within   time.Duration
	hold     int  // the seconds for which the grant is lent, 0 if it is not
	peek     bool // no grant is wanted

	id           uint64        // of the grant, 0 to peek
	keys         []string      // of the state
	addrInterval micros        // the interval of the address
	now          time.Time     // of the server, as far as it is known
	earliest     time.Duration // no start before so long from now
	local        pace.Turn     // what the worker's own limiter says
	localCounts  bool
}

// decide asks the server, or, while that is down, does what the policy says.
func (l *Limiter) decide(ctx context.Context, d *decision) (pace.Grant, error) {
	switch {
	case ctx.Err() != nil:
		return pace.Grant{}, waiting(ctx, "for "+d.key.String())
	case l.closing.Err() != nil:
		return pace.Grant{}, errClosed
	}
	o := l.outage.Load()
	if o == nil {
		g, err := l.ask(ctx, d)
		switch {
		case err == nil:
			return g, nil
		case ended(ctx):
			return pace.Grant{}, waiting(ctx, "for "+d.key.String())
		}
		o = l.goDown(err)
	}
	return l.decideAlone(ctx, o, d)
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

// ask makes a decision on the server. After an error there is no grant, or it is
// among the pending releases.
func (l *Limiter) ask(ctx context.Context, d *decision) (pace.Grant, error) {
	if !d.peek {
		if err := l.ensureAlive(ctx); err != nil {
			return pace.Grant{}, err
		}
		d.id = l.newID(d)
	}
	if d.local, d.localCounts = l.localTurn(ctx, d.key, d.schedule); d.localCounts {
		d.earliest = d.local.Start.Sub(clock())
		if d.earliest > max(d.within, 0) || because(d.local, pace.CauseBusy) {
			return pace.Grant{Key: d.key, Turn: d.local}, nil
		}
	}
	d.keys, d.addrInterval = l.keys(d.key)
	for range askAttempts {
		e := l.epoch.Load()
		if e == nil {
			if err := l.joinEpoch(ctx, nil, false); err != nil {
				return pace.Grant{}, err
			}
			continue
		}
		r, again := l.submit(ctx, e, d)
		if again {
			continue
		}
		if r.err != nil {
			if !d.peek && !r.sent.IsZero() && script.KindOf(r.err) == script.Lost {
				// Its reply is lost, and the grant may be there.
				l.keepRelease(release{key: d.key, id: d.id, result: pace.Result{Unused: true}, ended: clock()})
			}
			return pace.Grant{}, r.err
		}
		a, ok := parseAnswer(r.reply, r.at)
		if !ok {
			return pace.Grant{}, script.ErrReply
		}
		r.now = a.now
		if g, final, err := l.accept(ctx, e, d, a, r.reading); final || err != nil {
			return g, err
		}
	}
	return pace.Grant{}, errChanging
}

// submit sends a decision in an epoch. It is to be made again if the server turns out
// to be in another.
func (l *Limiter) submit(ctx context.Context, e *epoch, d *decision) (r response, again bool) {
	d.now = l.clock.estimate()
	c := call{script: e.reserve, keys: d.keys, arg: d.arg()}
	if r = l.decisions.do(ctx, c); !script.Says(r.err, "NOSCRIPT") {
		return r, false
	}
	known, err := l.knowsEpoch(ctx, e)
	switch {
	case err != nil:
		r.err = err
	case known:
		r = l.decisions.send(ctx, script.Script.ByText, &c) // which the server knows from now on
	default:
		// The server never saw this epoch begin: it was restarted, or it is another one.
		r.err = l.joinEpoch(ctx, e, true)
		again = r.err == nil
	}
	return r, again
}

// accept makes a grant or a refusal of an answer. It is not final if the answer cannot
// be used.
func (l *Limiter) accept(ctx context.Context, e *epoch, d *decision, a answer, r reading) (g pace.Grant, final bool, err error) {
	by := e
	if a.code == codeEpoch {
		by = nil
	}
	plausible, granted := l.clock.observe(by, a.now, r.sent, r.received), a.code == codeGranted
	switch {
	case granted && passed(r.sent) > callLimit:
		// This process was stopped meanwhile, and the grant may have ended.
		l.cancel(ctx, d.key, d.id)
		err = l.ensureAlive(ctx)
		d.id = l.newID(d)
		return g, false, err
	case !plausible || l.epoch.Load() != e:
		// A clock that was set forward gave this start too early.
		if granted {
			l.cancel(ctx, d.key, d.id)
			d.id = l.newID(d) // the old id may be cancelled again
		}
		if !plausible {
			err = l.joinEpoch(ctx, e, true)
		}
		return g, false, err
	case a.code == codeEpoch:
		return g, false, l.joinEpoch(ctx, e, false)
	case a.code == codeOutside: // the clock was set back, and now it is known
		return g, false, nil
	}
	l.count(a.workers)
	g = d.grant(a, r)
	if d.localCounts && !g.OK() && d.local.Start.After(g.Start) {
		g.Turn = d.local
	}
	if g.OK() && l.options.WhenDown == Divide {
		// Should Redis be down before its end, the share counts from this start.
		_ = l.local.Done(ctx, pace.Grant{ID: d.id, Key: d.key}, pace.Result{}) // it knows no such grant, and has no errors
	}
	return g, true, nil
}

// grant makes a grant, or a refusal with its turn, of an answer. The reasons are found
// in the server's time, by which the windows open.
func (d *decision) grant(a answer, r reading) pace.Grant {
	g := pace.Grant{Key: d.key, Turn: d.schedule.TurnIn(timeAt(a.now), a.state)}
	for i := range g.Reasons {
		g.Reasons[i].Until = r.local(g.Reasons[i].Until)
	}
	if a.code == codeRefused {
		g.Start = r.local(g.Start)
		return g
	}
	g.ID = d.id
	if a.start > a.now {
		g.Start = r.ahead(a.start)
	} else {
		g.Start = r.local(timeAt(a.start))
	}
	return g
}

// waiting is the error of a caller whose context ended.
func waiting(ctx context.Context, what string) error {
	return fmt.Errorf("waiting %s: %w", what, context.Cause(ctx))
}
