package redis

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/internal/queue"
)

// A reservation is a start at an address.
type reservation struct {
	start    time.Time
	reserved bool      // else the start is only known
	since    string    // server and time since which it knows the address
	sent     time.Time // before the call
}

// reserve reserves the next start at an address, from notBefore on and at most maxWait from
// now, below 0 to look.
func (l *Limiter) reserve(
	ctx context.Context, addr netip.Addr, fetch bool, notBefore time.Time, maxWait time.Duration,
) (reservation, error) {
	gap, fetchGap := shared.IntervalsAt(l.settings(), addr)
	name := addr.Unmap().WithZone("").String()
	for range attempts {
		ahead := max(time.Until(notBefore), 0)
		kind := byte(0)
		if fetch {
			kind = 1
		}
		more := appendDoubles([]byte{kind}, microsCeil(gap), microsCeil(fetchGap), microsCeil(ahead), microsOf(maxWait))
		r := l.run(ctx, addressScript, []call{l.nodes.call(name, more)})[0]
		var in, since micros
		rest, ok := readDoubles(r.text, &in, &since)
		switch {
		case r.err != nil:
			return reservation{}, r.err
		case !ok || len(rest) != 17:
			return reservation{}, script.ErrReply
		case rest[0] == 2:
			continue
		}
		start := notBefore
		if in > microsCeil(ahead) { // reserved starts are as far apart at the workers as on the server
			start = r.local(timeAt(r.now + in))
		}
		return reservation{start: start, reserved: rest[0] == 1, since: r.node.id + string(appendDoubles(nil, since)), sent: r.sent}, nil
	}
	return reservation{}, errUnstable
}

// reserveAll reserves starts for the permits of requests with an address. One without a start
// there is released, and refused.
func (l *Limiter) reserveAll(ctx context.Context, ds []*decision) {
	var group sync.WaitGroup
	for _, d := range ds {
		if gap, _ := shared.IntervalsAt(l.settings(), d.request.Addr); d.err != nil || gap == 0 {
			continue
		}
		maxWait := d.maxShift
		if !d.permit.OK() {
			maxWait = -1
		}
		group.Go(func() {
			p := &d.permit
			site := latest(p.Start, p.NotBefore)
			at, err := l.reserve(ctx, d.request.Addr, false, site, maxWait)
			switch {
			case err != nil:
				l.releaseUnused(*p)
				d.err = err
				return
			case p.OK() && at.reserved:
				moved := max(at.start.Sub(p.Start), 0)
				p.Start = p.Start.Add(moved)
				p.StartBy = p.StartBy.Add(moved)
				p.Expires = p.Expires.Add(moved)
			default:
				l.releaseUnused(*p)
				*p = pace.Permit{Origin: p.Origin, Schedule: p.Schedule, NotBefore: latest(p.NotBefore, at.start), Reasons: p.Reasons}
			}
			if at.start.After(site) {
				p.Reasons = slices.Insert(slices.Clone(p.Reasons), 0, pace.Reason{Cause: pace.CauseAddress, Until: at.start})
			}
		})
	}
	group.Wait()
}

// await reserves a start at an address, if that has a rate limit, and waits for it. A start that is more
// than maxWait away is not reserved. One that the server might have lost meanwhile is reserved again.
func (l *Limiter) await(
	ctx context.Context, addr netip.Addr, fetch bool, notBefore time.Time, maxWait time.Duration,
) (at reservation, err error) {
	gap, fetchGap := shared.IntervalsAt(l.settings(), addr)
	if fetch {
		gap = fetchGap
	}
	for range attempts {
		if gap > 0 {
			at, err = l.reserve(ctx, addr, fetch, notBefore, maxWait)
		} else {
			at = reservation{start: notBefore, reserved: time.Until(notBefore) <= maxWait}
		}
		if err == nil && at.reserved {
			err = sleepUntil(ctx, at.start)
		}
		if gap == 0 {
			at.sent = clock()
		}
		if err != nil || !at.reserved || passed(at.sent) <= l.nodes.startableFor() {
			return at, err
		}
		look, err := l.reserve(ctx, addr, fetch, clock(), -1)
		if err != nil {
			return at, err
		}
		at.sent = look.sent
		if look.since == at.since {
			return at, nil
		}
	}
	return at, errUnstable
}

// Start reserves a start at an address, waits for it, and checks the permit again: on the
// server of the origin, if more than startable has passed since that confirmed the permit.
func (l *Limiter) Start(ctx context.Context, p pace.Permit, addr netip.Addr) error {
	id, err := parseID(p.ID)
	if err != nil {
		return err
	}
	ctx, cancel := l.open(ctx)
	defer cancel()
	h := l.heldPermit(p.ID)
	start := p.Start
	fastest := time.Duration(0)
	r := pace.Request{Origin: p.Origin, Schedule: p.Schedule}
	for range attempts {
		if err := l.stopped(ctx); err != nil {
			return missed(ctx, r, clock(), err)
		}
		maxWait := max(time.Until(p.StartBy), 0)
		deadline, limited := ctx.Deadline()
		late := limited && time.Until(deadline) < maxWait
		if late {
			maxWait = max(time.Until(deadline), 0)
		}
		at, err := l.await(ctx, addr, false, start, maxWait)
		if err != nil {
			return l.missed(ctx, r, clock().Add(jittered(retryEvery)), err)
		}
		switch refused := refusal(r, pace.CauseAddress, at.start); {
		case !at.reserved && late:
			return &pace.LateError{Permit: refused}
		case !at.reserved:
			refused.NotBefore = latest(clock(), at.start.Add(-maxWait))
			return &pace.MissedError{Permit: refused}
		}
		now := clock()
		_, open := p.Schedule.At(now)
		repeat := !h.started.IsZero()
		fresh := !repeat && passed(h.confirmed) <= l.nodes.startableFor() && (l.settings().Concurrency == 1 || now.Sub(start) <= clocksAgree)
		if fresh && open && l.config.Load().heldUntil(p.Origin, now).IsZero() {
			h.started = now
			return nil
		}
		d := &decision{request: r, mode: modeConfirm, id: id, maxWait: max(time.Until(p.StartBy), 0), lifetime: p.Expires.Sub(p.Start)}
		if repeat {
			d.mode = modeRepeat
		}
		l.decide(ctx, d)
		if d.err != nil {
			return l.missed(ctx, r, clock().Add(jittered(retryEvery)), d.err)
		}
		if !d.permit.OK() {
			return &pace.MissedError{Permit: d.permit}
		}
		start = d.permit.Start
		h.confirmed = d.sent
		if repeat {
			start = latest(start, p.Schedule.Next(now, pace.State{Last: h.started}))
			h.started = time.Time{}
		}
		if !start.After(clock()) {
			took := passed(at.sent)
			if took <= l.nodes.startableFor() {
				h.started = clock()
				return nil
			}
			fastest = min(cmp.Or(fastest, took), took)
		}
	}
	l.raiseStartable(ctx, fastest)
	return l.missed(ctx, r, clock().Add(jittered(retryEvery)), errUnstable)
}

// raiseStartable notes that the calls which confirm a start took longer than a permit is startable, 0 if
// there were none.
func (l *Limiter) raiseStartable(ctx context.Context, took time.Duration) {
	o := Operator{client: l.client, nodes: l.nodes}
	_ = o.change(ctx, func(c *Config) bool { // else the next caller tries
		before := c.Startable
		c.Startable = max(before, min(2*took, callLimit))
		return c.Startable > before
	})
}

// missed records that a server does not work, and returns the error of a permit that cannot start a
// request.
func (l *Limiter) missed(ctx context.Context, r pace.Request, again time.Time, err error) error {
	if ctx.Err() == nil {
		l.setDown(err)
	}
	return missed(ctx, r, again, err)
}

func missed(ctx context.Context, r pace.Request, again time.Time, err error) error {
	if ctx.Err() != nil {
		return waitError(r.Origin, context.Cause(ctx), nil)
	}
	return &pace.MissedError{Permit: refusal(r, pace.CauseDegraded, again), Err: err}
}

func sleepUntil(ctx context.Context, t time.Time) error {
	if d := time.Until(t); d > 0 {
		return queue.Sleep(ctx, d, nil)
	}
	return nil
}

// StartFetch reserves a start for a fetch of robots.txt, waits for it, and records the origin
// as requested then. While a server is unreachable it waits.
func (l *Limiter) StartFetch(ctx context.Context, o robots.Origin, addr netip.Addr) error {
	ctx, cancel := l.open(ctx)
	defer cancel()
	var down error
	for reserved := false; ; {
		var err error
		if !reserved {
			_, err = l.await(ctx, addr, true, clock(), Forever)
			reserved = err == nil
		}
		if err == nil {
			err = l.recordRequest(ctx, release{origin: o, ended: clock()})
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return waitError(o, context.Cause(ctx), down)
		case script.KindOf(err) == script.Refused:
			return err
		}
		down = err
		l.setDown(err)
		_ = queue.Sleep(ctx, jittered(retryEvery), nil) // an end of the context is seen in the next round
	}
}
