package pace

import (
	"context"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
)

// address is the state of an IP address: the last starts reserved there.
type address struct {
	pages   moment
	fetches moment // of robots.txt
	until   moment // from then on it is that of an unknown address
}

// page returns the next start of a page. The pages reserved and still to come are a gap
// apart, so the last one shows where all of them are, and a fetch finds room between them.
func (a address) page(now, notBefore moment, gap, fetchGap time.Duration) moment {
	start := max(notBefore, after(a.pages, gap), after(a.fetches, fetchGap))
	if a.pages > now {
		gaps := (start - a.pages + moment(gap) - 1) / moment(gap)
		start = a.pages + gaps*moment(gap)
	}
	return start
}

// fetch returns the next start of a fetch of robots.txt: between the reserved pages, or
// behind them where they leave no room.
func (a address) fetch(now moment, gap, fetchGap time.Duration) moment {
	start := max(now, after(a.fetches, fetchGap))
	behind := after(a.pages, fetchGap)
	switch {
	case behind <= start:
		return start
	case gap < 2*fetchGap:
		return behind
	}
	since := time.Duration(start-a.pages) % gap // the page before
	if since < 0 {
		since += gap
	}
	switch {
	case since < fetchGap:
		start = after(start, fetchGap-since)
	case gap-since < fetchGap:
		start = after(start, gap-since+fetchGap)
	}
	return start
}

// addressOf returns the state of an address. It makes room for one more.
func (l *Local) addressOf(addr netip.Addr, now moment) address {
	if len(l.addrs) >= l.sweepAddrs {
		l.sweepAddresses(now)
	}
	a, known := l.addrs[idOf(l, addr.Unmap().WithZone(""))]
	if !known {
		a = address{pages: l.since, fetches: l.since}
	}
	return a
}

func (l *Local) keepAddress(addr netip.Addr, a address) {
	gap, fetchGap := l.options.At(addr)
	a.until = max(after(a.pages, gap), after(a.pages, fetchGap), after(a.fetches, fetchGap))
	l.addrs[idOf(l, addr.Unmap().WithZone(""))] = a
}

// nextPage returns the next start of a page at an address, from notBefore on. It reserves
// nothing.
func (l *Local) nextPage(addr netip.Addr, now, notBefore moment) moment {
	gap, fetchGap := l.options.At(addr)
	if gap == 0 {
		return notBefore
	}
	return l.addressOf(addr, now).page(now, notBefore, gap, fetchGap)
}

// reservePage reserves a start that nextPage has returned.
func (l *Local) reservePage(addr netip.Addr, now, start moment) {
	if gap, _ := l.options.At(addr); gap == 0 {
		return
	}
	a := l.addressOf(addr, now)
	a.pages = max(a.pages, start)
	l.keepAddress(addr, a)
}

// StartFetch reserves a start for a fetch of robots.txt and waits for it.
func (l *Local) StartFetch(ctx context.Context, o robots.Origin, addr netip.Addr) error {
	if ctx.Err() == nil {
		wait := l.reserveFetch(addr)
		if wait <= 0 || sleep(ctx, wait, nil) == nil {
			return nil
		}
	}
	return &waitError{"to fetch robots.txt of " + o.String(), context.Cause(ctx)}
}

// reserveFetch reserves the next start of a fetch and returns how far off it is.
func (l *Local) reserveFetch(addr netip.Addr) time.Duration {
	gap, fetchGap := l.options.At(addr)
	if fetchGap == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.moment(l.options.Now())
	a := l.addressOf(addr, now)
	a.fetches = a.fetch(now, gap, fetchGap)
	l.keepAddress(addr, a)
	return time.Duration(a.fetches - now)
}

// Start reserves a start at an address, waits for it, and checks the permit again.
func (l *Local) Start(ctx context.Context, p Permit, addr netip.Addr) error {
	if err := ended(ctx, p.Origin); err != nil {
		return err
	}
	start, err := l.reserveStart(ctx, p, addr)
	if err != nil {
		return err
	}
	for d := start.Sub(l.options.Now()); d > 0; d = start.Sub(l.options.Now()) {
		if sleep(ctx, min(d, longestSleep), nil) != nil {
			return ended(ctx, p.Origin)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The process might have been suspended, or the clock set.
	d := l.decide(Request{Origin: p.Origin, Schedule: p.Schedule})
	if _, open := p.Schedule.At(d.now); !open || d.now.After(p.StartBy) || d.permit(p.ID) == nil {
		return &MissedError{Permit: d.refusal()}
	}
	return nil
}

// reserveStart reserves the start of a request at its origin and at its address.
func (l *Local) reserveStart(ctx context.Context, p Permit, addr netip.Addr) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.decide(Request{Origin: p.Origin, Schedule: p.Schedule})
	held := d.permit(p.ID)
	if held == nil {
		return time.Time{}, &MissedError{Permit: d.refusal()}
	}
	ready := latest(d.now, p.Start)
	if started := d.active.started; started != never { // other requests of this permit, or of others at the same time
		ready = d.schedule.Next(ready, State{Last: d.time(started), BackOff: d.state.BackOff})
	}
	at := l.nextPage(addr, d.at, d.moment(ready))
	start := d.time(at)
	d.state.Address = time.Time{}
	if start.After(ready) {
		d.state.Address = start
	}
	refusal := func(notBefore time.Time) Permit {
		_, reasons := d.schedule.Explain(d.now, d.state)
		return Permit{Origin: p.Origin, Schedule: p.Schedule, NotBefore: latest(d.now, notBefore), Reasons: reasons}
	}
	d.state.Busy = false // by this permit
	if _, open := d.schedule.At(start); !open {
		return start, &MissedError{Permit: refusal(d.schedule.Next(start, State{}))}
	}
	if deadline, limited := ctx.Deadline(); limited && start.After(deadline) && !deadline.After(p.StartBy) {
		return start, &LateError{Permit: refusal(start)}
	}
	if start.After(p.StartBy) { // ask again when a new permit lasts until then
		return start, &MissedError{Permit: refusal(start.Add(p.Start.Sub(p.StartBy)))}
	}
	l.reservePage(addr, d.at, at)
	held.start, d.active.started = at, at
	l.touch(d.origin, at, d.active.slowest)
	return start, nil
}
