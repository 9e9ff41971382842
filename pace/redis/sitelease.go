package redis

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

//go:embed site.lua
var siteText string

var siteLean = "#!lua\n" + lean(headText+tagText+siteText)

// What site.lua is asked to do.
const (
	siteTake = 't'
	siteKeep = 'k'
	siteBack = 'r'
	siteLook = 'p'
)

// What it answers.
const (
	siteGranted = 'G'
	siteRefused = 'R' // another worker has it, or may have it: the server lost its memory
	siteLost    = 'L' // the worker has it no more
	siteHeld    = 'H' // an operator holds it, and nobody has it
)

// A siteCall is a question about one site, and its answer.
type siteCall struct {
	origin robots.Origin
	number uint32 // of the lease
	op     byte
	arg    []byte

	code                  byte // 0 for no answer
	sent, received        time.Time
	lasts                 micros
	slow, ago, over, wait micros
	back                  pace.BackOff
	worker                string
}

// call makes a question about a site.
func (l *Leased) call(op byte, origin robots.Origin, slowest time.Duration, number uint32) *siteCall {
	h, _ := l.own.History(origin)
	now := clock()
	ago := func(t time.Time) micros {
		if t.IsZero() {
			return -1
		}
		return math.Floor(microsOf(max(now.Sub(t), 0))) // later rather than earlier
	}
	b := binary.LittleEndian.AppendUint32(append(make([]byte, 0, 48), op), number)
	b = appendDoubles(b, microsUp(max(slowest, h.Slowest)), ago(h.Last), ago(h.Overload), microsUp(max(h.NotBefore.Sub(now), 0)))
	b = binary.LittleEndian.AppendUint16(b, h.BackOff.Factor)
	b = binary.LittleEndian.AppendUint16(b, h.BackOff.Step)
	return &siteCall{origin: origin, number: number, op: op, arg: b}
}

// siteAnswer is the length of an answer, without the name of a worker.
const siteAnswer = 1 + 5*8 + 2 + 2 + 1

// read reads an answer off a reply and reports whether there is one.
func (c *siteCall) read(reply string, r reading) (rest string, ok bool) {
	if len(reply) < siteAnswer || len(reply) < siteAnswer+int(reply[siteAnswer-1]) {
		return reply, false
	}
	tail, _ := readDoubles(reply[1:siteAnswer], &c.lasts, &c.slow, &c.ago, &c.over, &c.wait)
	c.back = pace.BackOff{Factor: binary.LittleEndian.Uint16([]byte(tail)), Step: binary.LittleEndian.Uint16([]byte(tail[2:]))}
	c.code, c.sent, c.received = reply[0], r.sent, r.received
	c.worker, rest = reply[siteAnswer:siteAnswer+int(tail[4])], reply[siteAnswer+int(tail[4]):]
	return rest, true
}

// history returns what the server knows of the site, by this machine's clock.
func (c *siteCall) history() pace.History {
	before := func(ago micros) time.Time {
		if ago < 0 {
			return time.Time{}
		}
		return c.received.Add(-time.Duration(ago * 1e3))
	}
	h := pace.History{Last: before(c.ago), Overload: before(c.over), BackOff: c.back, Slowest: time.Duration(c.slow * 1e3)}
	if c.wait > 0 {
		h.NotBefore = c.received.Add(time.Duration(c.wait * 1e3))
	}
	return h
}

// A refusal says why a worker does not have a site.
type refusal struct {
	worker string // that has it, "" if nobody knows
	until  time.Time
	away   bool // the server does not answer
	held   bool // by an operator
	full   bool // this worker may have no more sites
}

func (c *siteCall) refusal() *refusal {
	return &refusal{worker: c.worker, held: c.code == siteHeld, until: c.received.Add(time.Duration(c.lasts * 1e3))}
}

// turn says when to ask for the site again: soon, as its lease may be given back.
func (r *refusal) turn(s *pace.Schedule) pace.Turn {
	now := clock()
	t := s.TurnIn(now, pace.State{})
	reason := pace.Reason{Cause: pace.CauseLeased, Until: r.until, Worker: r.worker}
	switch {
	case r.away:
		reason = pace.Reason{Cause: pace.CauseDegraded, Until: r.until}
	case r.held:
		reason = pace.Reason{Cause: pace.CauseHeld, Until: r.until}
	case r.full:
		reason = pace.Reason{Cause: pace.CauseFull, Until: r.until}
	}
	soon := now.Add(jittered(askAgain))
	if r.until.Before(soon) {
		soon = r.until
	}
	if soon.After(t.Start) {
		t.Start = soon
	}
	t.Reasons = slices.Insert(t.Reasons, 0, reason)
	return t
}

// ask asks the servers about sites, all tags at once. What is not answered has no code, and
// then there is an error.
func (l *Leased) ask(ctx context.Context, calls ...*siteCall) error {
	byTag := map[*tag][]*siteCall{}
	for _, c := range calls {
		t := l.shared.tagOf(c.origin.String())
		byTag[t] = append(byTag[t], c)
	}
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	for t, calls := range byTag {
		work := func() {
			if err := l.askTag(ctx, t, calls); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		}
		if len(byTag) == 1 {
			work()
			break
		}
		all.Go(work)
	}
	all.Wait()
	return failed
}

// askTag asks about sites of one tag, at most maxBatch of them at a time.
func (l *Leased) askTag(ctx context.Context, t *tag, calls []*siteCall) error {
	for part := range slices.Chunk(calls, maxBatch) {
		o := t.outage.Load()
		if o == nil {
			err := l.askServer(ctx, t, part)
			switch {
			case err == nil:
				continue
			case ended(ctx):
				return waiting(ctx, "for "+part[0].origin.String())
			}
			o = t.goDown(err)
		}
		return fmt.Errorf("%w: %w", ErrDown, o.cause)
	}
	return nil
}

// askServer asks about a few sites of one tag. A clock that was set forward has ended the
// leases of others too early: what is given then is not used, and gives nobody the right to
// the site, as the next epoch does not trust what was written before it.
func (l *Leased) askServer(ctx context.Context, t *tag, calls []*siteCall) error {
	var keys []string
	arg := slices.Clone(l.head)
	for _, c := range calls {
		keys = append(keys, t.head+"site:"+c.origin.String(), t.originKey(pace.Key{Origin: c.origin}))
		arg = append(arg, c.arg...)
	}
	for range askAttempts {
		e, err := t.current(ctx)
		if err != nil {
			return err
		}
		r, usable, err := t.step(ctx, e, e.site, keys, arg)
		if err != nil {
			return err
		}
		if !usable {
			continue
		}
		rest := r.answers
		for _, c := range calls {
			var ok bool
			if rest, ok = c.read(rest, r.reading); !ok {
				return script.ErrReply
			}
		}
		return nil
	}
	return errUnstable
}

// taking is a lease that is being asked for, for all who want it.
type taking struct {
	done    chan struct{}
	lease   *lease
	refusal *refusal
	err     error
}

// take asks for the lease of a site. Who comes while somebody asks gets the same answer.
// Without a lease there is a refusal, or an error.
func (l *Leased) take(ctx context.Context, key pace.Key, s *pace.Schedule) (*lease, pace.Grant, error) {
	if err := l.refuses(ctx, key.String()); err != nil {
		return nil, pace.Grant{}, err
	}
	t := l.taken(ctx, key.Origin, s)
	select {
	case <-t.done:
	case <-ctx.Done():
		return nil, pace.Grant{}, waiting(ctx, "for "+key.String())
	}
	g := pace.Grant{Key: key}
	if t.refusal != nil {
		g.Turn = t.refusal.turn(s)
	}
	return t.lease, g, t.err
}

// taken returns what becomes of a lease that this caller asks for, or another one already.
func (l *Leased) taken(ctx context.Context, origin robots.Origin, s *pace.Schedule) *taking {
	l.mu.Lock()
	if t := l.taking[origin]; t != nil {
		l.mu.Unlock()
		return t
	}
	t := &taking{done: make(chan struct{})}
	if t.refusal = l.refusal(); t.refusal != nil {
		l.mu.Unlock()
		close(t.done)
		return t
	}
	l.taking[origin] = t
	l.mu.Unlock()
	c := l.call(siteTake, origin, s.Slowest(), l.number.Add(1))
	if t.err = l.ask(context.WithoutCancel(ctx), c); t.err == nil {
		t.lease, t.refusal = l.took(c)
	}
	l.mu.Lock()
	delete(l.taking, origin)
	l.mu.Unlock()
	close(t.done)
	return t
}

// bytesPerLease is what a lease takes of a worker's memory beside the state of its site.
const bytesPerLease = 256

// refusal returns why this worker may have no more sites, nil if it may. l.mu is locked.
func (l *Leased) refusal() *refusal {
	if len(l.leases) < l.most {
		return nil
	}
	return &refusal{full: true, until: clock().Add(l.term / 60)}
}

// took notes the answer to a siteTake.
func (l *Leased) took(c *siteCall) (*lease, *refusal) {
	if c.code != siteGranted {
		return nil, c.refusal()
	}
	le := &lease{origin: c.origin, number: c.number}
	le.extend(c.sent, l.usable())
	l.mu.Lock()
	defer l.mu.Unlock()
	le.before = l.own.TakeOver(c.origin, c.history())
	if old := l.leases[c.origin]; old != nil {
		old.gone.Store(true)
	}
	l.leases[c.origin] = le
	l.queue = append(l.queue, le)
	return le, nil
}

// drop removes a lease.
func (l *Leased) drop(le *lease) {
	le.gone.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leases[le.origin] == le {
		delete(l.leases, le.origin)
	}
}

// handOver forgets what the site of a call wished, if the server knows it now, or an operator
// had it forgotten: else this worker would say it again when it next takes the site. Who
// takes it meanwhile has it from the server.
func (l *Leased) handOver(c *siteCall) {
	given := c.op == siteBack && c.code == siteGranted
	if !given && c.code != siteHeld && c.worker != forgotten {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leases[c.origin] == nil {
		l.own.Forget(c.origin)
	}
}

// begin lets calls wait for grants.
func (l *Leased) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending, l.end = context.WithCancel(l.closing)
}

// loop renews the leases of the sites that are used, and gives the others back.
func (l *Leased) loop() {
	defer close(l.ended)
	t := time.NewTicker(l.term / 60)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			switch drained := l.shared.Drained(); {
			case drained:
				l.end()
				l.leave(l.closing)
			case l.ending.Err() != nil: // an operator has ended the drain
				l.begin()
			}
			l.shared.given.Store(l.own.TakeOver(robots.Origin{}, pace.History{})) // which takes over nothing
			l.renew(l.closing)
		case <-l.closing.Done():
			ctx, cancel := context.WithTimeout(context.Background(), 4*callLimit)
			defer cancel()
			l.leave(ctx)
			return
		}
	}
}

// due takes the leases off the queue of which half is over.
func (l *Leased) due() (list []*lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.queue) && (l.queue[n].gone.Load() || passed(l.queue[n].sent) >= l.term/2) {
		if !l.queue[n].gone.Load() {
			list = append(list, l.queue[n])
		}
		n++
	}
	l.queue = slices.Delete(l.queue, 0, n)
	return list
}

// renew renews the leases that are due, or gives them back.
func (l *Leased) renew(ctx context.Context) {
	var kept []*lease
	var keep, back []*siteCall
	for _, le := range l.due() {
		_, idle := l.own.History(le.origin)
		switch used := le.used.Swap(false) || !idle; {
		case !le.valid(clock()):
			l.drop(le)
		case used || !l.abandon(le):
			kept, keep = append(kept, le), append(keep, l.call(siteKeep, le.origin, 0, le.number))
		default:
			back = append(back, l.call(siteBack, le.origin, 0, le.number))
		}
	}
	_ = l.ask(ctx, slices.Concat(keep, back)...) // what has no answer is asked again while the lease lasts
	var renewed, again []*lease
	for i, le := range kept {
		switch c := keep[i]; c.code {
		case siteGranted:
			le.extend(c.sent, l.usable())
			renewed = append(renewed, le)
		case 0:
			again = append(again, le)
		default:
			l.drop(le)
			l.handOver(c)
		}
	}
	for _, c := range back {
		l.handOver(c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.Concat(again, l.queue, renewed)
}

// abandon takes a lease out of use, unless somebody uses it: a caller first says that he
// does, then asks for a grant, and then looks whether the lease is still there.
func (l *Leased) abandon(le *lease) bool {
	le.gone.Store(true)
	if _, idle := l.own.History(le.origin); !idle || le.used.Load() {
		le.gone.Store(false)
		return false
	}
	l.drop(le)
	return true
}

// leave gives all leases back at which nothing is under way.
func (l *Leased) leave(ctx context.Context) {
	l.mu.RLock()
	list := make([]*lease, 0, len(l.leases))
	for _, le := range l.leases {
		list = append(list, le)
	}
	l.mu.RUnlock()
	var calls []*siteCall
	for _, le := range list {
		le.used.Store(false)
		if le.valid(clock()) && l.abandon(le) {
			calls = append(calls, l.call(siteBack, le.origin, 0, le.number))
		}
	}
	_ = l.ask(ctx, calls...) // what the server does not hear of ends by itself
	for _, c := range calls {
		l.handOver(c)
	}
}

// handBack gives the lease of one site back after the limiter was closed.
func (l *Leased) handBack(ctx context.Context, origin robots.Origin) {
	l.mu.RLock()
	le := l.leases[origin]
	l.mu.RUnlock()
	if le == nil {
		return
	}
	le.used.Store(false)
	if le.valid(clock()) && l.abandon(le) {
		c := l.call(siteBack, origin, 0, le.number)
		_ = l.ask(ctx, c) // as above
		l.handOver(c)
	}
}
