package redis

import (
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

// reserve reserves the next start at an address, from notBefore on and at most within from
// now, below 0 to look.
func (l *Limiter) reserve(ctx context.Context, addr netip.Addr, fetch bool, notBefore time.Time, within time.Duration) (reservation, error) {
	gap, fetchGap := l.settings().At(addr)
	name := addr.Unmap().WithZone("").String()
	for range attempts {
		ahead := max(time.Until(notBefore), 0)
		kind := byte(0)
		if fetch {
			kind = 1
		}
		more := appendDoubles([]byte{kind}, microsUp(gap), microsUp(fetchGap), microsUp(ahead), microsOf(within))
		r := l.run(ctx, addressScript, []call{l.nodes.call(name, more)})[0]
		var in, since micros
		rest, ok := readDoubles(r.text, &in, &since)
		switch {
		case r.err != nil:
			return reservation{}, r.err
		case !ok || len(rest) != 17:
			return reservation{}, script.ErrReply
		case r.stepped:
			continue
		}
		start := notBefore
		if in > microsUp(ahead) { // reserved starts are as far apart at the workers as on the server
			start = r.sleepable(timeAt(r.now + in))
		}
		return reservation{start: start, reserved: rest[0] == 1, since: r.node.id + string(appendDoubles(nil, since)), sent: r.sent}, nil
	}
	return reservation{}, errUnstable
}

// reserveAll reserves starts for the permits of requests with an address. One without a start
// there is released, and refused.
func (l *Limiter) reserveAll(ctx context.Context, ds []*decision) {
	var all sync.WaitGroup
	for _, d := range ds {
		gap, fetchGap := l.settings().At(d.request.Addr)
		if d.err != nil || gap == 0 {
			continue
		}
		within := max(d.within, fetchGap)
		if !d.permit.OK() {
			within = -1
		}
		all.Go(func() {
			at, err := l.reserve(ctx, d.request.Addr, false, latest(d.permit.Start, d.permit.NotBefore), within)
			switch {
			case err != nil:
				l.unused(d.permit)
				d.err = err
				return
			case d.permit.OK() && at.reserved:
				moved := max(at.start.Sub(d.permit.Start), 0)
				d.permit.Start, d.permit.StartBy = d.permit.Start.Add(moved), d.permit.StartBy.Add(moved/2)
			case d.permit.OK():
				l.unused(d.permit)
				d.permit.ID, d.permit.Start, d.permit.StartBy, d.permit.Expires = "", time.Time{}, time.Time{}, time.Time{}
				d.permit.NotBefore = at.start
			case at.start.After(d.permit.NotBefore):
				d.permit.NotBefore = at.start
			default:
				return
			}
			if at.start.After(clock()) {
				d.permit.Reasons = slices.Insert(slices.Clone(d.permit.Reasons), 0, pace.Reason{Cause: pace.CauseAddress, Until: at.start})
			}
		})
	}
	all.Wait()
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
	r := pace.Request{Origin: p.Origin, Schedule: p.Schedule}
	gap, _ := l.settings().At(addr)
	start, startBy := p.Start, p.StartBy
	var at reservation
	for range attempts {
		if err := l.stopped(ctx); err != nil {
			return l.missed(ctx, r, clock(), err)
		}
		if !at.reserved && gap > 0 {
			within := time.Until(startBy)
			deadline, limited := ctx.Deadline()
			late := limited && time.Until(deadline) < within
			if late {
				within = time.Until(deadline)
			}
			if at, err = l.reserve(ctx, addr, false, start, max(within, 0)); err != nil {
				return l.missed(ctx, r, clock().Add(jittered(retryEvery)), err)
			}
			refused := refuse(r, pace.CauseAddress, at.start)
			switch {
			case !at.reserved && late:
				return &pace.LateError{Permit: refused}
			case !at.reserved:
				refused.NotBefore = latest(clock(), at.start.Add(-within))
				return &pace.MissedError{Permit: refused}
			}
		}
		if due := latest(start, at.start); due.After(clock()) {
			if deadline, limited := ctx.Deadline(); limited && due.After(deadline) {
				return &pace.LateError{Permit: refuse(r, pace.CauseAddress, due)}
			}
			if err := sleepUntil(ctx, due); err != nil {
				return waiting(p.Origin, err)
			}
		}
		if at.reserved && passed(at.sent) > startable { // the server might have lost the reservation
			look, err := l.reserve(ctx, addr, false, clock(), -1)
			if err != nil {
				return l.missed(ctx, r, clock().Add(jittered(retryEvery)), err)
			}
			if look.since != at.since {
				at.reserved = false
				continue
			}
			at.sent = look.sent
		}
		now := clock()
		_, open := p.Schedule.At(now)
		repeat := !h.started.IsZero()
		fresh := !repeat && passed(h.confirmed) <= startable && (l.settings().Concurrency == 1 || now.Sub(start) <= clocksAgree)
		if fresh && open && l.config.Load().heldUntil(p.Origin, now).IsZero() {
			h.started = now
			return nil
		}
		d := &decision{request: r, mode: modeConfirm, id: id, within: max(time.Until(startBy), 0), lifetime: p.Expires.Sub(p.Start)}
		if repeat {
			d.mode = modeRepeat
		}
		if l.decide(ctx, d); d.err != nil {
			return l.missed(ctx, r, clock().Add(jittered(retryEvery)), d.err)
		}
		if !d.permit.OK() {
			return &pace.MissedError{Permit: d.permit}
		}
		start, h.confirmed = d.permit.Start, d.sent
		if repeat {
			start = latest(start, p.Schedule.Next(now, pace.State{Last: h.started}))
			h.started = time.Time{}
		}
		if !start.After(clock()) && passed(at.sent) <= startable {
			h.started = clock()
			return nil
		}
		at.reserved = at.reserved && !start.After(clock())
	}
	return l.missed(ctx, r, clock().Add(jittered(retryEvery)), errUnstable)
}

// missed returns the error of a permit that cannot start a request.
func (l *Limiter) missed(ctx context.Context, r pace.Request, again time.Time, err error) error {
	if ctx.Err() != nil {
		return waiting(r.Origin, context.Cause(ctx))
	}
	if unanswered(err) {
		l.goDown(err)
	}
	return &pace.MissedError{Permit: refuse(r, pace.CauseDegraded, again), Err: err}
}

func sleepUntil(ctx context.Context, t time.Time) error {
	for d := time.Until(t); d > 0; d = time.Until(t) {
		if err := queue.Sleep(ctx, min(d, longestSleep), nil); err != nil {
			return err
		}
	}
	return nil
}

// StartFetch reserves a start for a fetch of robots.txt, waits for it, and records the origin
// as requested then. While a server is unreachable it waits.
func (l *Limiter) StartFetch(ctx context.Context, o robots.Origin, addr netip.Addr) error {
	_, gap := l.settings().At(addr)
	var at reservation
	ctx, cancel := l.open(ctx)
	defer cancel()
	for {
		var err error
		if gap > 0 && !at.reserved {
			at, err = l.reserve(ctx, addr, true, clock(), Forever)
		}
		if err == nil && at.reserved {
			err = sleepUntil(ctx, at.start)
			if err == nil && passed(at.sent) > startable {
				var look reservation
				if look, err = l.reserve(ctx, addr, true, clock(), -1); err == nil && look.since != at.since {
					at.reserved = false
					continue
				}
			}
		}
		if err == nil {
			if err = l.recordFetch(ctx, o); err == nil {
				return nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return waiting(o, context.Cause(ctx))
		case script.KindOf(err) == script.Refused:
			return err
		}
		l.goDown(err)
		_ = queue.Sleep(ctx, jittered(retryEvery), nil) // an end of the context is seen in the next round
	}
}

// recordFetch records an origin as requested now.
func (l *Limiter) recordFetch(ctx context.Context, o robots.Origin) error {
	more := release{origin: o, ended: clock()}.appendTo(nil, l, nil)
	return l.run(ctx, releaseScript, []call{l.nodes.call(o.String(), more, "1")})[0].err
}

// refuseHeld refuses the decisions about sites whose host an operator holds.
func (l *Limiter) refuseHeld(all []*decision) {
	c, now := l.config.Load(), clock()
	for _, d := range all {
		if until := c.heldUntil(d.request.Origin, now); !until.IsZero() {
			d.permit, d.decided = refuse(d.request, pace.CauseHeld, until), true
		}
	}
}
