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

// call makes a question about a site, of which this worker knows h.
func call(op byte, origin robots.Origin, number uint32, h pace.History, slowest time.Duration) *siteCall {
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

// turn says when to ask for the site again: soon, as its lease may be given back. Without a
// refusal the lease has ended just now.
func (r *refusal) turn(s *pace.Schedule) pace.Turn {
	now := clock()
	if r == nil {
		r = &refusal{until: now}
	}
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
	eachBatch(byTag, func(t *tag, calls []*siteCall) {
		if err := l.askTag(ctx, t, calls); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = err
		}
	})
	return failed
}

// askTag asks about sites of one tag, at most maxBatch.
func (l *Leased) askTag(ctx context.Context, t *tag, calls []*siteCall) error {
	o := t.outage.Load()
	if o == nil {
		err := l.askServer(ctx, t, calls)
		switch {
		case err == nil:
			return nil
		case ended(ctx):
			return waiting(ctx, "for "+calls[0].origin.String())
		}
		o = t.goDown(err)
	}
	return fmt.Errorf("%w: %w", ErrDown, o.cause)
}

// askServer asks about a few sites of one tag. A clock that was set forward has ended the
// leases of others too early: what is given then is not used, and gives nobody the right to
// the site, as the next epoch does not trust what was written before it.
func (l *Leased) askServer(ctx context.Context, t *tag, calls []*siteCall) error {
	var keys []string
	arg := slices.Clone(l.head)
	for _, c := range calls {
		name := c.origin.String()
		keys = append(keys, l.shared.key("site", name), l.shared.key("origin", name))
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
	refusal *refusal
	err     error
}

// take asks for the lease of a site. Who comes while somebody asks gets the same answer. If
// it is not taken there is a refusal, or an error.
func (l *Leased) take(ctx context.Context, key pace.Key, s *pace.Schedule) (g pace.Grant, taken bool, err error) {
	if err := l.refuses(ctx, key); err != nil {
		return g, false, err
	}
	t := l.taken(ctx, key.Origin, s)
	select {
	case <-t.done:
	case <-ctx.Done():
		return g, false, waiting(ctx, "for "+key.String())
	}
	if t.refusal != nil && t.err == nil {
		g = pace.Grant{Key: key, Turn: t.refusal.turn(s)}
	}
	return g, t.refusal == nil, t.err
}

// taken returns what becomes of a lease that this caller asks for, or another one already.
func (l *Leased) taken(ctx context.Context, origin robots.Origin, s *pace.Schedule) *taking {
	l.mu.Lock()
	if t := l.taking[origin]; t != nil {
		l.mu.Unlock()
		return t
	}
	t := &taking{done: make(chan struct{})}
	l.taking[origin] = t
	l.mu.Unlock()
	var refused map[robots.Origin]*refusal
	refused, t.err = l.takeAll(context.WithoutCancel(ctx), []pace.Question{{Key: pace.Key{Origin: origin}, Schedule: s}})
	t.refusal = refused[origin]
	l.mu.Lock()
	delete(l.taking, origin)
	l.mu.Unlock()
	close(t.done)
	return t
}

// bytesPerLease is what a lease takes of a worker's memory with the state of its site.
const bytesPerLease = 320

// takeAll asks for the leases of the sites that are not held, and returns what refuses them.
// The error is that of the context.
func (l *Leased) takeAll(ctx context.Context, asked []pace.Question) (map[robots.Origin]*refusal, error) {
	refused := map[robots.Origin]*refusal{}
	var calls []*siteCall
	held, _ := l.own.Held()
	for i := range asked {
		origin := asked[i].Key.Origin
		if _, known := refused[origin]; known || l.own.Holds(origin) {
			continue
		}
		refused[origin] = &refusal{full: true, until: clock().Add(l.term / 60)}
		if held+len(calls) < l.most {
			h, _ := l.own.History(origin)
			calls = append(calls, call(siteTake, origin, l.number.Add(2)|1, h, asked[i].Schedule.Slowest()))
		}
	}
	err := l.ask(ctx, calls...)
	for _, c := range calls {
		switch c.code {
		case 0:
			refused[c.origin] = &refusal{away: true, until: clock().Add(longestAlone)}
		case siteGranted:
			delete(refused, c.origin)
			l.own.TakeOver(c.origin, c.history())
			l.own.Hold(c.origin, c.number, c.sent, l.usable())
			l.mu.Lock()
			l.queue = append(l.queue, lease{c.origin, c.number, c.sent})
			l.mu.Unlock()
		default:
			refused[c.origin] = c.refusal()
		}
	}
	return refused, err
}

// handOver forgets what the site of a call wished, if the server knows it now, or an operator
// had it forgotten: else this worker would say it again when it next takes the site. Who
// takes it meanwhile has it from the server.
func (l *Leased) handOver(c *siteCall) {
	given := c.op == siteBack && c.code == siteGranted
	if !given && c.code != siteHeld && c.worker != forgotten {
		return
	}
	l.own.Forget(c.origin)
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
			_, grants := l.own.Held()
			l.shared.given.Store(grants)
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
func (l *Leased) due() (list []lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.queue) && passed(l.queue[n].sent) >= l.term/2 {
		n++
	}
	list = slices.Clone(l.queue[:n])
	l.queue = slices.Delete(l.queue, 0, n)
	return list
}

// renew renews the leases that are due, or gives them back.
func (l *Leased) renew(ctx context.Context) {
	var kept []lease
	var keep, back []*siteCall
	for _, le := range l.due() {
		switch number, h, left := l.own.Leave(le.origin, false); {
		case left:
			back = append(back, call(siteBack, le.origin, number, h, 0))
		case number == le.number: // else it has ended, or another one has begun since
			h, _ := l.own.History(le.origin)
			kept, keep = append(kept, le), append(keep, call(siteKeep, le.origin, number, h, 0))
		}
	}
	_ = l.ask(ctx, slices.Concat(keep, back)...) // what has no answer is asked again while the lease lasts
	var renewed, again []lease
	for i, le := range kept {
		switch c := keep[i]; c.code {
		case siteGranted:
			l.own.Extend(le.origin, le.number, c.sent, l.usable())
			renewed = append(renewed, lease{le.origin, le.number, c.sent})
		case 0:
			again = append(again, le)
		default:
			l.own.End(le.origin, le.number)
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

// leave gives all leases back at which nothing is under way.
func (l *Leased) leave(ctx context.Context) {
	l.mu.Lock()
	list := slices.Clone(l.queue)
	l.mu.Unlock()
	var calls []*siteCall
	for _, le := range list {
		if number, h, left := l.own.Leave(le.origin, true); left {
			calls = append(calls, call(siteBack, le.origin, number, h, 0))
		}
	}
	_ = l.ask(ctx, calls...) // what the server does not hear of ends by itself
	for _, c := range calls {
		l.handOver(c)
	}
}

// handBack gives the lease of one site back after the limiter was closed.
func (l *Leased) handBack(ctx context.Context, origin robots.Origin) {
	if number, h, left := l.own.Leave(origin, true); left {
		c := call(siteBack, origin, number, h, 0)
		_ = l.ask(ctx, c) // as above
		l.handOver(c)
	}
}
