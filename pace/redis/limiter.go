package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	client  rueidis.Client
	options Options

	epochKey, workersKey string
	originHead, addrHead string
	fetchHead            string
	decisions, ends      *batcher

	clock    serverClock
	joining  sync.Mutex
	epoch    atomic.Pointer[epoch]
	identity atomic.Pointer[string] // of the server, since the epoch was taken up

	inner  *pace.Local // this worker's own, for when Redis is down
	outage atomic.Pointer[outage]
	healed atomic.Pointer[outage] // the last one that is over
	floor  atomic.Int64           // until when, in Unix nanoseconds, inner has a say too
	// The workers on the list, as every answer says, and this one's place among
	// them, as the last beat says.
	workers, rank atomic.Int64
	counting      atomic.Int64 // until when, in Unix nanoseconds, the list may be short
	beating       sync.Mutex
	beaten        atomic.Pointer[time.Time] // when the last beat that was answered was sent
	worker        uint64                    // what the names of this worker's grants have in common
	grants        atomic.Uint64             // that were named
	over          atomic.Uint64             // so many of them are from before the worker was stopped
	late          undelivered

	mu     sync.Mutex
	queues map[robots.Origin]queue

	kick    chan struct{} // holds at most one
	closing context.Context
	close   context.CancelFunc
	ended   chan struct{}
}

var _ pace.Limiter = (*Limiter)(nil)

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
	inner, err := pace.NewLocal(local)
	if err != nil {
		return nil, err
	}
	l := &Limiter{
		client:     client,
		options:    o,
		epochKey:   head + "epoch",
		workersKey: head + "workers",
		originHead: head + "origin:",
		addrHead:   head + "address:",
		fetchHead:  head + "fetches:",
		inner:      inner,
		queues:     map[robots.Origin]queue{},
		kick:       make(chan struct{}, 1),
		ended:      make(chan struct{}),
	}
	l.worker = ours | rand.Uint64N(ours)>>namesBits<<namesBits
	l.grants.Store(uint64(rand.Uint32()))
	l.decisions = &batcher{
		call: l.call,
		run:  script.Script.ByName, // a name that is not known says something of the server
		keys: []string{l.epochKey, l.workersKey},
		head: string(put(nil, micros(o.Concurrency), whole(o.Hold), whole(o.Forget), whole(silence()))),
	}
	l.ends = &batcher{
		call: l.call,
		run:  script.Script.Run,
		head: string(put(nil, whole(o.Hold), whole(o.Forget), whole(pace.DefaultMaxCrawlDelay))),
	}
	l.closing, l.close = context.WithCancel(context.Background())
	if err = l.join(l.closing, nil, false); err == nil {
		err = l.beat(l.closing)
	}
	if err != nil {
		l.goDown(err)
	}
	if err := l.refused(); err != nil {
		l.close()
		return nil, err
	}
	go l.attend()
	return l, nil
}

// Close ends the limiter's goroutine, and with it the beats: after 15 s the worker is
// off the list, and grants that are not given back end. Later calls of Wait, Reserve and
// NotBefore fail, as do those that wait; Done then tells the server at once or
// returns an error. It does not close the client.
func (l *Limiter) Close() error {
	l.close()
	<-l.ended
	return nil
}

// callLimit is how long one call may take before the server counts as down.
const callLimit = time.Second

// runner is a way to run a script, such as script.Script.Run.
type runner func(s script.Script, ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult //nolint:revive // of method expressions

// call runs a script in a way.
func (l *Limiter) call(ctx context.Context, run runner, s script.Script, keys, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return run(s, ctx, l.client, keys, args).ToString()
}

// keys returns the keys of an origin, and of its address if that has a pace, with the
// interval of that.
func (l *Limiter) keys(k pace.Key) (keys []string, gap micros) {
	origin := l.originHead + k.Origin.String()
	if interval, _ := l.options.At(k.Addr); interval > 0 {
		return []string{origin, l.addrHead + k.Addr.Unmap().WithZone("").String()}, whole(interval)
	}
	return []string{origin}, 0
}

// ours marks the numbers of grants of the server: those of the worker's own
// limiter count from 1. Below it are 38 bits of the worker, by which the server knows
// whose a grant is, and namesBits that count its grants.
const (
	ours      = 1 << 62
	namesBits = 24
)

func (l *Limiter) newID() uint64 { return l.worker | l.grants.Add(1)&(1<<namesBits-1) }

// me is this worker on the list.
func (l *Limiter) me() string { return fmt.Sprintf("%010x", l.worker>>namesBits) }

// NotBefore returns when a request might start and why.
func (l *Limiter) NotBefore(ctx context.Context, key pace.Key, s *pace.Schedule) (pace.Turn, error) {
	g, err := l.decide(ctx, key, s, 0, true)
	return g.Turn, err
}

// Reserve grants the next start if it is at most within from now. Where a site has
// windows, within counts up to 48 hours.
func (l *Limiter) Reserve(ctx context.Context, key pace.Key, s *pace.Schedule, within time.Duration) (pace.Grant, error) {
	// Who waits comes first.
	return l.decide(ctx, key, s, within, l.waited(key.Origin))
}

// Valid reports whether a request may still start on a grant: not one on which the
// worker had no answer to a beat for 14 s, then or since, as the others may have taken
// it for gone; nor one older than Hold.
func (l *Limiter) Valid(g pace.Grant) bool {
	if g.ID < ours {
		return l.inner.Valid(g)
	}
	if l.stopped() || passed(g.Start) >= l.options.Hold {
		return false
	}
	n := l.grants.Load()
	n -= (n - g.ID) & (1<<namesBits - 1) // which grant it is
	return n > l.over.Load()
}

// decide asks the server, or, while that is down, does what the policy says.
func (l *Limiter) decide(ctx context.Context, key pace.Key, s *pace.Schedule, within time.Duration, looks bool) (pace.Grant, error) {
	switch {
	case ctx.Err() != nil:
		return pace.Grant{}, waiting(ctx, "for "+key.String())
	case l.closing.Err() != nil:
		return pace.Grant{}, errClosed
	case s == nil:
		s = undeclared
	}
	if o := l.outage.Load(); o != nil {
		return l.alone(ctx, o, key, s, within, looks)
	}
	g, err := l.ask(ctx, key, s, within, looks)
	switch {
	case err == nil:
		return g, nil
	case ended(ctx):
		return pace.Grant{}, waiting(ctx, "for "+key.String())
	}
	return l.alone(ctx, l.goDown(err), key, s, within, looks)
}

// ended reports whether a context has ended. At its deadline a connection may say
// so first.
func ended(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !clock().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

var undeclared, _ = pace.NewSchedule(nil, pace.Policy{}) // the zero policy is possible

// looksOnly is the name of the grant of who only asks.
const looksOnly = 0

// askAttempts bounds how often a decision begins again because the server's
// memory became another one or its clock moved.
const askAttempts = 6

// A decision is one of the server that is being made.
type decision struct {
	key      pace.Key
	schedule *pace.Schedule
	within   time.Duration
	floor    time.Duration // no start before so long from now
	now      time.Time     // of the server, as far as it is known
	id       uint64        // of the grant, looksOnly if none is wanted
	keys     []string
	gap      micros // the interval of the address
	// own is what the worker's own limiter says, if it has a say.
	own  pace.Turn
	held bool
}

// ask makes a decision on the server. After an error no grant is held, or it is
// among the undelivered.
func (l *Limiter) ask(ctx context.Context, key pace.Key, s *pace.Schedule, within time.Duration, looks bool) (pace.Grant, error) {
	d := decision{key: key, schedule: s, within: within, id: looksOnly}
	if !looks {
		if err := l.alive(ctx); err != nil {
			return pace.Grant{}, err
		}
		d.id = l.newID()
	}
	if _, ok := s.Steady(); !ok {
		d.within = min(within, farthest)
	}
	if d.own, d.held = l.own(ctx, key, s); d.held {
		d.floor = d.own.Start.Sub(clock())
		if d.floor > max(within, 0) || slices.ContainsFunc(d.own.Reasons, busy) {
			return pace.Grant{Key: key, Turn: d.own}, nil
		}
	}
	d.keys, d.gap = l.keys(key)
	for range askAttempts {
		e := l.epoch.Load()
		if e == nil {
			if err := l.join(ctx, nil, false); err != nil {
				return pace.Grant{}, err
			}
			continue
		}
		r, again := l.submit(ctx, e, &d)
		if again {
			continue
		}
		if r.err != nil {
			if !looks && !r.sent.IsZero() && script.KindOf(r.err) == script.Lost {
				// Its reply is lost, and the grant may be there.
				l.keep(delivery{key: key, id: d.id, result: pace.Result{Unused: true}, ended: clock()})
			}
			return pace.Grant{}, r.err
		}
		a, ok := parseAnswer(r.reply, r.at)
		if !ok {
			return pace.Grant{}, script.ErrReply
		}
		r.now = a.now
		if g, final, err := l.take(ctx, e, &d, a, r.reading); final || err != nil {
			return g, err
		}
	}
	return pace.Grant{}, errors.New("the server's memory or its clock changes all the time")
}

// submit sends a decision in an epoch. It is to be made again if the server turns out
// to be in another.
func (l *Limiter) submit(ctx context.Context, e *epoch, d *decision) (r response, again bool) {
	d.now = l.clock.estimate()
	c := call{script: e.reserve, keys: d.keys, arg: d.arg()}
	if r = l.decisions.do(ctx, c); !script.Says(r.err, "NOSCRIPT") {
		return r, false
	}
	known, err := l.began(ctx, e)
	switch {
	case err != nil:
		r.err = err
	case known:
		r = l.decisions.teach(ctx, c)
	default:
		// The server never saw this epoch begin: it was restarted, or it is another one.
		r.err = l.join(ctx, e, true)
		again = r.err == nil
	}
	return r, again
}

// take makes a grant or a refusal of an answer. It is not final if the answer cannot
// be used.
func (l *Limiter) take(ctx context.Context, e *epoch, d *decision, a answer, r reading) (g pace.Grant, final bool, err error) {
	by := e
	if a.code == codeEpoch {
		by = nil
	}
	sound, granted := l.clock.hear(by, a.now, r.sent, r.received), a.code == codeGranted
	switch {
	case granted && passed(r.sent) > callLimit:
		// This process was stopped over it, and it is another's turn by now.
		l.cancel(ctx, d.key, d.id)
		err = l.alive(ctx)
		d.id = l.newID()
		return g, false, err
	case !sound || l.epoch.Load() != e:
		// A start that a clock set forward gave is none.
		if granted {
			l.cancel(ctx, d.key, d.id)
			d.id = l.newID() // the old name may be cancelled again
		}
		if !sound {
			err = l.join(ctx, e, true)
		}
		return g, false, err
	case a.code == codeEpoch:
		return g, false, l.join(ctx, e, false)
	case a.code == codeOutside: // the clock was set back, and now it is known
		return g, false, nil
	}
	l.count(a.workers)
	g = grant(d.key, d.schedule, d.id, a, r)
	if d.held && !g.OK() && d.own.Start.After(g.Start) {
		g.Turn = d.own
	}
	if g.OK() && l.options.WhenDown == Divide {
		// A share counts from this start too, should Redis be down before its end.
		_ = l.inner.Done(ctx, pace.Grant{ID: d.id, Key: d.key}, pace.Result{}) // it knows no such grant, and has no errors
	}
	return g, true, nil
}

// grant makes a grant, or the turn of a refusal, out of an answer. What is said
// to people is found in the server's time, where the windows are.
func grant(key pace.Key, s *pace.Schedule, id uint64, a answer, r reading) pace.Grant {
	g := pace.Grant{Key: key, Turn: s.TurnIn(instant(a.now), a.state)}
	for i := range g.Reasons {
		g.Reasons[i].Until = r.local(g.Reasons[i].Until)
	}
	if a.code == codeRefused {
		g.Start = r.local(g.Start)
		return g
	}
	g.ID = id
	if a.start > a.now {
		g.Start = r.ahead(a.start)
	} else {
		g.Start = r.local(instant(a.start))
	}
	return g
}

// waiting is the error of a caller whose context ended.
func waiting(ctx context.Context, what string) error {
	return fmt.Errorf("waiting %s: %w", what, context.Cause(ctx))
}
