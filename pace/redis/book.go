package redis

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// A booking is a start at an address that is asked for.
type booking struct {
	addr          netip.Addr
	fetch         bool // of robots.txt
	gap, fetchGap time.Duration
	notBefore     time.Time
	within        time.Duration // below 0 to ask only
}

func (l *Limiter) booking(addr netip.Addr) *booking {
	b := &booking{addr: addr.Unmap().WithZone("")}
	b.gap, b.fetchGap = l.options.At(addr)
	return b
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Visit books a start at the address of a request and waits for it. While the server of the
// address is down and the policy is to stop, the error is a *pace.MissedError that wraps
// ErrDown. After a wait of more than a second it looks whether the server still has the grant.
func (l *Limiter) Visit(ctx context.Context, g pace.Grant, addr netip.Addr, s *pace.Schedule) (pace.Turn, error) {
	began := clock()
	turn, err := visit(ctx, l.closing, l, g, addr, s)
	if err == nil && turn.Start.Sub(began) > longWait {
		_, _ = l.NotBefore(ctx, pace.Key{Origin: g.Key.Origin}, s) // which notices a clock that was set, and lost memory
		if !l.Valid(g) {
			turn.Start = clock()
			return pace.Turn{}, &pace.MissedError{Key: pace.Key{Origin: g.Key.Origin, Addr: addr}, Turn: turn}
		}
	}
	return turn, err
}

// longWait is how long a start at an address is waited for without a look at the site's
// server: most waits are shorter, and cost no call more.
const longWait = time.Second

// visit is Visit of a limiter until that is closing.
func visit(ctx, closing context.Context, b pace.Booker, g pace.Grant, addr netip.Addr, s *pace.Schedule) (pace.Turn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(closing, func() { cancel(errClosed) })()
	return pace.VisitBy(ctx, b, clock, g, addr, s)
}

// Book is the step of Visit.
func (l *Limiter) Book(ctx context.Context, addr netip.Addr, notBefore time.Time, within time.Duration) (pace.Slot, error) {
	b := l.booking(addr)
	if b.gap == 0 {
		return pace.Slot{Start: notBefore, Booked: true}, nil
	}
	b.notBefore, b.within = notBefore, max(within, 0)
	t := l.tagOf(b.addr.String())
	slot, o, err := t.book(ctx, b)
	if o != nil {
		return t.bookAlone(ctx, o, b)
	}
	return slot, err
}

// Start returns when the fleet's next fetch of robots.txt from an address may start,
// as pace.Local.Start does for one process. How many are under way each process
// bounds for itself (fetch.Options.PerAddress). While the server of the address is down
// every worker goes on at its share of the pace, whatever the policy: what is fetched then
// is the answer of a site, and delays the others by nothing. The error is that of ctx, or
// says that the limiter is closed.
func (l *Limiter) Start(ctx context.Context, addr netip.Addr) error {
	b := l.booking(addr)
	b.fetch, b.within = true, math.MaxInt64
	what := "to fetch robots.txt at " + addr.String()
	switch {
	case ctx.Err() != nil:
		return waiting(ctx, what)
	case b.fetchGap == 0:
		return nil
	}
	slot, o, err := l.tagOf(b.addr.String()).book(ctx, b)
	if o != nil {
		return l.local.Start(ctx, addr)
	}
	if wait := time.Until(slot.Start); err == nil && wait > 0 {
		err = l.sleep(ctx, wait, nil)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return waiting(ctx, what)
	case err == nil && l.closing.Err() != nil:
		return errClosed
	}
	return err
}

// book takes the next start at an address, or returns the outage of the tag.
func (t *tag) book(ctx context.Context, b *booking) (pace.Slot, *outage, error) {
	switch o := t.outage.Load(); {
	case ctx.Err() != nil:
		return pace.Slot{}, nil, waiting(ctx, "for "+b.addr.String())
	case t.l.closing.Err() != nil:
		return pace.Slot{}, nil, errClosed
	case o != nil:
		return pace.Slot{}, o, nil
	}
	slot, err := t.ask(ctx, b)
	switch {
	case err == nil:
		return slot, nil, nil
	case ended(ctx):
		return pace.Slot{}, nil, waiting(ctx, "for "+b.addr.String())
	}
	return pace.Slot{}, t.goDown(err), nil
}

// ask asks the server for a start at an address. After an error it may be booked.
func (t *tag) ask(ctx context.Context, b *booking) (pace.Slot, error) {
	keys := []string{t.l.key("address", b.addr.String())}
	kind := byte(0)
	if b.fetch {
		kind = 1
	}
	for range askAttempts {
		e, err := t.current(ctx)
		if err != nil {
			return pace.Slot{}, err
		}
		ahead := microsUp(max(time.Until(b.notBefore), 0))
		r, usable, err := t.step(ctx, e, e.step, keys, appendDoubles([]byte{'A', kind}, microsUp(b.gap), microsUp(b.fetchGap), ahead, microsOf(b.within)))
		if err != nil {
			return pace.Slot{}, err
		}
		if !usable {
			continue
		}
		var wait micros
		booked, ok := readDoubles(r.answers, &wait)
		if !ok || len(booked) != 1 {
			return pace.Slot{}, script.ErrReply
		}
		slot := pace.Slot{Delayed: wait > ahead, Booked: booked[0] == 1}
		if !slot.Delayed {
			slot.Start = latest(r.slot(r.now), b.notBefore)
		} else {
			slot.Start = r.slot(r.now + wait)
		}
		return slot, nil
	}
	return pace.Slot{}, errUnstable
}

var errUnstable = errors.New("the server's memory or its clock changes all the time")
