package redis

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/internal/queue"
)

// The modes of acquire.lua.
const (
	modeLook    = iota // write nothing
	modeNote           // write that an unknown origin counts as requested now
	modeAcquire        // acquire a permit
	modeConfirm        // move the start of a permit that has started no request
	modeRepeat         // move the start of a permit that has started a request
)

// A decision is one request to acquire.lua.
type decision struct {
	request  pace.Request
	mode     byte
	id       permitID
	maxWait  time.Duration
	lifetime time.Duration
	maxShift time.Duration // by how much the address might move the start, and with it the lifetime

	replyLost bool // a reply was lost, so the server might know the permit

	// The outcome.
	decided bool
	permit  pace.Permit
	sent    time.Time // before the call that acquired the permit
	err     error
}

// newDecision returns a decision about a request of a caller.
func (l *Limiter) newDecision(r pace.Request, mode byte, within time.Duration) *decision {
	d := &decision{request: r, mode: mode, maxWait: within, lifetime: shared.LifetimeOf(l.settings(), &r)}
	if gap, fetchGap := shared.IntervalsAt(l.settings(), r.Addr); gap > 0 {
		d.maxShift = min(max(within, fetchGap), Forever)
	}
	switch {
	case r.Lifetime > 0:
		d.id = sharedID()
		if r.Untrusted {
			d.id[0] = untrustedMark
		}
	case mode >= modeAcquire:
		d.id = l.newID()
	}
	return d
}

// maxBatch is how many origins a script takes at most on one server.
const maxBatch = 64

// attempts bounds how often a decision is made again, because the server or its clock is another
// one than was known.
const attempts = 5

// decide decides on requests, and refuses sites that an operator holds. On a cluster each decision is
// a call, on one server a call has many.
func (l *Limiter) decide(ctx context.Context, list ...*decision) {
	c := l.config.Load()
	now := clock()
	for _, d := range list {
		if until := c.heldUntil(d.request.Origin, now); !until.IsZero() {
			d.permit = refusal(d.request, pace.CauseHeld, until)
			d.decided = true
		} else if until, reasons := d.request.Schedule.Explain(now, d.request.AfterFetch(now)); until.After(now) && !d.request.Fetched.IsZero() {
			d.permit = pace.Permit{Origin: d.request.Origin, Schedule: d.request.Schedule, NotBefore: until, Reasons: reasons}
			d.decided = true
		}
	}
	for range attempts {
		open := slices.DeleteFunc(slices.Clone(list), func(d *decision) bool { return d.decided })
		if len(open) == 0 {
			break
		}
		l.callAcquireScript(ctx, open)
	}
	for _, d := range list {
		if !d.decided {
			d.err = errUnstable
		}
		if (d.err != nil || !d.permit.OK()) && d.replyLost && d.mode >= modeAcquire {
			l.pending.add(release{origin: d.request.Origin, id: d.id, result: pace.Result{Unused: true}, ended: clock()})
		}
	}
}

var errUnstable = errors.New("the clock or the memory of the server changes all the time")

func (d *decision) site() robots.Origin { return d.request.Origin }

// A scriptItem is what a script does with one origin.
type scriptItem interface {
	*decision | release
	site() robots.Origin
	appendTo(b []byte, l *Limiter, now time.Time) []byte // of the server
}

// batch returns calls for items: on a cluster one for each, on one server one for many. Each begins
// with the same bytes.
func batch[T scriptItem](l *Limiter, list []T, same ...byte) (calls []call, batches [][]T) {
	size := maxBatch
	if l.nodes.cluster() {
		size = 1
	}
	for batch := range slices.Chunk(list, size) {
		slot := l.nodes.slot(batch[0].site().String())
		head, now := l.nodes.stateArguments(l.nodes.node(slot))
		arg := slices.Concat(head, same)
		keys := make([]string, len(batch))
		for i, t := range batch {
			keys[i] = l.nodes.stateKey(t.site().String())
			arg = t.appendTo(arg, l, now)
		}
		calls = append(calls, call{slot, keys, []string{string(arg)}})
		batches = append(batches, batch)
	}
	return calls, batches
}

// callAcquireScript calls acquire.lua once for decisions that are not decided yet. Where the server or
// its time was another one than expected, they stay undecided.
func (l *Limiter) callAcquireScript(ctx context.Context, open []*decision) {
	calls, batches := batch(l, open, appendDoubles(nil, micros(l.settings().Concurrency), microsOf(l.options.workerTimeout()))...)
	for k := range calls {
		gone := l.parts[l.nodes.part(calls[k].slot)].gone.Load()
		calls[k].args = append(calls[k].args, string(appendDoubles(nil, microsCeil(passed(gone.at))))+gone.list)
	}
	for k, r := range l.run(ctx, acquireScript, calls) {
		if r.err == nil && len(r.text) != len(batches[k])*answerSize {
			r.err = script.ErrReply
		}
		for i, d := range batches[k] {
			if r.err != nil {
				d.err = r.err
				d.decided = true
				d.replyLost = d.replyLost || script.KindOf(r.err) == script.Lost && !r.unsent
				continue
			}
			answer := r.text[i*answerSize : (i+1)*answerSize]
			if answer[0] != codeAgain {
				d.permit = d.readAnswer(answer, r.reading)
				d.sent = r.sent
				d.decided = true
			}
		}
	}
}

// What acquire.lua answers for an origin.
const (
	codeGranted = 'G'
	codeAgain   = 'A' // the server or its time is another one than the call was made for

	answerSize = 28
)

// readAnswer returns a permit, or a refusal. The reasons are found in the server's time, by which
// the windows open.
func (d *decision) readAnswer(answer string, r reading) pace.Permit {
	var at, last, notBefore micros
	tail, _ := readDoubles(answer[1:], &at, &last, &notBefore)
	state := pace.State{
		Last: timeAt(last), NotBefore: timeAt(notBefore), BackOff: binary.LittleEndian.Uint16([]byte(tail)), Busy: tail[2] == 1,
	}
	p := pace.Permit{Origin: d.request.Origin, Schedule: d.request.Schedule}
	start, reasons := d.request.Schedule.Explain(timeAt(r.now), state)
	for i := range reasons {
		reasons[i].Until = r.local(reasons[i].Until)
	}
	p.Reasons = reasons
	if answer[0] != codeGranted {
		p.NotBefore = r.local(start)
		return p
	}
	p.ID = d.id.String()
	p.Start = r.local(timeAt(at))
	if at > r.now {
		p.Start = r.received.Add(time.Duration((at - r.now) * 1e3))
	}
	p.StartBy = p.Start.Add(d.lifetime / 2)
	p.Expires = p.Start.Add(d.lifetime)
	return p
}

// refusal returns the refusal of a site for a cause.
func refusal(r pace.Request, c pace.Cause, until time.Time) pace.Permit {
	return pace.Permit{Origin: r.Origin, Schedule: r.Schedule, NotBefore: until, Reasons: []pace.Reason{{Cause: c, Until: until}}}
}

// Spans are sent from a little before to a little after the time that counts, so that the
// server finds its own time among them.
const (
	spanBefore = time.Minute
	spanAfter  = 5 * time.Minute
	farthest   = 48 * time.Hour // windows are at most a minute each
)

// appendTo encodes the decision for acquire.lua.
func (d *decision) appendTo(b []byte, _ *Limiter, now time.Time) []byte {
	interval, steady := d.request.Schedule.Steady()
	within := max(d.maxWait, 0)
	if !steady {
		within = min(within, farthest)
	}
	b = appendDoubles(append(append(b, d.id[:]...), d.mode), math.Floor(microsOf(within)))
	b = binary.LittleEndian.AppendUint32(b, uint32(min((d.lifetime+d.maxShift).Milliseconds(), math.MaxUint32)))
	b = appendDoubles(b, microsCeil(d.request.Schedule.Slowest()))
	at := len(b)
	b = binary.LittleEndian.AppendUint16(b, 1)
	if steady {
		return appendDoubles(b, 0, math.Inf(1), microsOf(interval))
	}
	from := now.Add(-spanBefore)
	b = appendDoubles(b, microsAt(from))
	spans := uint16(0)
	for span := range d.request.Schedule.Spans(from, now.Add(within+spanAfter)) {
		interval := microsOf(span.Interval)
		if !span.Open {
			interval = -1
		}
		b = appendDoubles(b, microsAt(span.To), interval)
		spans++
	}
	binary.LittleEndian.PutUint16(b[at:], spans)
	return b
}

// A permitID names a permit on the server. The first 5 bytes are those of its worker, or the
// first is a mark if it belongs to no process.
type permitID [8]byte

const (
	untrustedMark = 254 // of an untrusted client: if it expires, it only ends
	sharedMark    = 255
)

// String returns the id in hexadecimal digits.
func (id permitID) String() string { return hex.EncodeToString(id[:]) }

func parseID(s string) (id permitID, err error) {
	if n, err := hex.Decode(id[:], []byte(s[:min(len(s), 2*len(id))])); err != nil || n != len(id) || len(s) != 2*len(id) {
		return id, fmt.Errorf("invalid permit %.40q", s)
	}
	return id, nil
}

// Try releases the permits that are done, then looks at all sites and acquires the first k that are
// ready.
func (l *Limiter) Try(ctx context.Context, rs []pace.Request, k int) ([]pace.Permit, error) {
	called := clock()
	var done []release
	for i := range rs {
		if r, err := l.newRelease(rs[i].Done, rs[i].Result); err == nil {
			done = append(done, r)
		}
	}
	_ = l.release(ctx, done...) // what cannot be sent is queued
	if err := l.stopped(ctx); err != nil {
		return nil, fmt.Errorf("acquiring %d sites: %w", len(rs), err)
	}
	permits := l.tryAll(ctx, rs, k)
	if err := l.stopped(ctx); err != nil {
		for _, p := range permits {
			l.releaseUnused(p)
		}
		return nil, fmt.Errorf("acquiring %d sites: %w", len(rs), err)
	}
	for i := range permits {
		p := &permits[i]
		if p.OK() {
			l.acquired.Add(1)
		}
		if k > 0 {
			shared.Decided(&l.options.Options, p.Origin, p, called, nil)
		}
	}
	return permits, nil
}

// tryAll returns a permit or a refusal for each request, at most k permits. For fewer permits than
// requests it looks at all sites first.
func (l *Limiter) tryAll(ctx context.Context, rs []pace.Request, k int) []pace.Permit {
	permits := make([]pace.Permit, len(rs))
	indexes := make([]int, len(rs))
	for i := range indexes {
		indexes[i] = i
	}
	switch {
	case k <= 0:
		l.try(ctx, rs, indexes, modeLook, permits)
		return permits
	case k >= len(rs):
		l.try(ctx, rs, indexes, modeAcquire, permits)
		return permits
	}
	l.try(ctx, rs, indexes, modeNote, permits)
	now := clock()
	ready := slices.DeleteFunc(indexes, func(i int) bool {
		return permits[i].NotBefore.After(now.Add(rs[i].Within))
	})
	for k > 0 && len(ready) > 0 {
		n := min(k, len(ready))
		l.try(ctx, rs, ready[:n], modeAcquire, permits)
		for _, i := range ready[:n] {
			if permits[i].OK() {
				k--
			}
		}
		ready = ready[n:]
	}
	return permits
}

// try decides on the requests with some indexes, and stores the outcomes in permits.
func (l *Limiter) try(ctx context.Context, rs []pace.Request, indexes []int, mode byte, permits []pace.Permit) {
	ds := make([]*decision, len(indexes))
	for k, i := range indexes {
		ds[k] = l.newDecision(rs[i], mode, rs[i].Within)
	}
	l.decide(ctx, ds...)
	l.reserveAll(ctx, ds)
	for k, i := range indexes {
		permits[i] = l.outcome(ds[k])
	}
}

// outcome returns the outcome of a decision for one of many sites.
func (l *Limiter) outcome(d *decision) pace.Permit {
	switch {
	case d.err == nil:
		if d.permit.OK() && d.request.Lifetime == 0 {
			l.permits.Store(d.permit.ID, &heldPermit{confirmed: d.sent})
		}
		return d.permit
	case script.KindOf(d.err) == script.Full:
		return refusal(d.request, pace.CauseFull, clock().Add(jittered(retryEvery)))
	}
	l.setDown(d.err)
	return refusal(d.request, pace.CauseDegraded, clock().Add(jittered(retryEvery)))
}

// Acquire waits until a request may start.
func (l *Limiter) Acquire(ctx context.Context, r pace.Request) (pace.Permit, error) {
	called := clock()
	p, err := l.acquire(ctx, r)
	shared.Decided(&l.options.Options, r.Origin, &p, called, err)
	return p, err
}

// retryEvery is how often callers try again while the server is unreachable, longestSleep how
// long they trust an answer: clocks are set, and permits are released unused.
const (
	retryEvery   = 500 * time.Millisecond
	longestSleep = time.Minute
)

func (l *Limiter) acquire(ctx context.Context, r pace.Request) (pace.Permit, error) {
	if err := l.stopped(ctx); err != nil {
		return pace.Permit{}, waitError(r.Origin, err, nil)
	}
	ctx, cancel := l.open(ctx)
	defer cancel()
	deadline, limited := ctx.Deadline()
	wake, first, leave := l.queues.Enter(r.Origin)
	defer leave()
	if !first {
		if err := l.awaitTurn(ctx, r, wake); err != nil {
			return pace.Permit{}, err
		}
	}
	var down error
	ahead := min(r.Schedule.Fastest()/4, claimAhead)
	least := shortestPause
	pause := time.Duration(0)
	for {
		d := l.newDecision(r, modeAcquire, max(ahead, 0))
		if limited && !r.Addr.IsValid() {
			d.maxWait = min(d.maxWait, max(time.Until(deadline), 0))
		}
		l.decide(ctx, d)
		l.reserveAll(ctx, []*decision{d})
		p := l.outcome(d)
		if err := l.stopped(ctx); err != nil {
			l.releaseUnused(p)
			return pace.Permit{}, waitError(r.Origin, err, down)
		}
		down = d.err
		switch {
		case d.err != nil && script.KindOf(d.err) == script.Refused:
			return pace.Permit{}, d.err
		case p.OK():
			// The process might be stopped meanwhile.
			if sleepUntil(ctx, p.Start) == nil && passed(p.Start) <= callLimit {
				l.acquired.Add(1)
				return p, nil
			}
			l.releaseUnused(p)
			continue
		case d.err == nil && limited && p.NotBefore.After(deadline):
			return pace.Permit{}, &pace.LateError{Permit: p}
		}
		pause, least = pauseFor(p, ahead, least)
		if err := queue.Sleep(ctx, pause, wake); err != nil {
			return pace.Permit{}, waitError(r.Origin, err, down)
		}
	}
}

// awaitTurn waits until the earlier requests of this process to the same origin are served. If the deadline of ctx is before the next
// start at the origin, it fails at once.
func (l *Limiter) awaitTurn(ctx context.Context, r pace.Request, wake <-chan struct{}) error {
	if deadline, limited := ctx.Deadline(); limited {
		d := l.newDecision(r, modeLook, 0)
		l.decide(ctx, d)
		if d.err == nil && d.permit.NotBefore.After(deadline) {
			return &pace.LateError{Permit: d.permit}
		}
	}
	if err := queue.Sleep(ctx, 0, wake); err != nil {
		return waitError(r.Origin, err, nil)
	}
	return nil
}

// waitError is the error of a caller that stops waiting for a site; down is that of the last call, nil
// if the server has answered it.
func waitError(o robots.Origin, err, down error) error {
	if down != nil {
		return fmt.Errorf("waiting for %s: %w (last error of Redis: %w)", o, err, down)
	}
	return fmt.Errorf("waiting for %s: %w", o, err)
}
