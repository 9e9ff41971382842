package pace

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace/internal/queue"
)

// address is the state of an IP address: the last starts reserved there.
type address struct {
	lastPage  time.Time
	lastFetch time.Time // of robots.txt
}

// page returns the next start of a page. The pages reserved and still to come are a gap
// apart, so the last one shows where all of them are, and a fetch finds room between them.
func (a address) page(now, notBefore time.Time, gap, fetchGap time.Duration) time.Time {
	start := latest(notBefore, latest(nextAfter(a.lastPage, gap), nextAfter(a.lastFetch, fetchGap)))
	if a.lastPage.After(now) {
		gaps := (start.Sub(a.lastPage) + gap - 1) / gap
		start = a.lastPage.Add(gaps * gap)
	}
	return start
}

// fetch returns the next start of a fetch of robots.txt: between the reserved pages, or
// behind them where they leave no room.
func (a address) fetch(now time.Time, gap, fetchGap time.Duration) time.Time {
	start := latest(now, nextAfter(a.lastFetch, fetchGap))
	behind := nextAfter(a.lastPage, fetchGap)
	switch {
	case !behind.After(start):
		return start
	case gap < 2*fetchGap:
		return behind
	}
	past := start.Sub(a.lastPage) % gap // since the page before
	if past < 0 {
		past += gap
	}
	switch {
	case past < fetchGap:
		return start.Add(fetchGap - past)
	case gap-past < fetchGap:
		return start.Add(gap - past + fetchGap)
	}
	return start
}

// addressOf returns the state of an address, and its name in memory. It makes room for one more.
func (l *Local) addressOf(addr netip.Addr, now time.Time) (netip.Addr, address) {
	l.full(now)
	addr = addr.Unmap().WithZone("")
	a, known := l.addrs[addr]
	if !known {
		a = address{lastPage: l.since, lastFetch: l.since}
	}
	return addr, a
}

// nextPage returns the next start of a page at an address, from notBefore on. It reserves
// nothing.
func (l *Local) nextPage(addr netip.Addr, now, notBefore time.Time) time.Time {
	gap, fetchGap := l.options.intervalsAt(addr)
	if gap == 0 {
		return notBefore
	}
	_, a := l.addressOf(addr, now)
	return a.page(now, notBefore, gap, fetchGap)
}

// reservePage reserves a start that nextPage has returned.
func (l *Local) reservePage(addr netip.Addr, now, start time.Time) {
	if gap, _ := l.options.intervalsAt(addr); gap == 0 {
		return
	}
	addr, a := l.addressOf(addr, now)
	a.lastPage = latest(a.lastPage, start)
	l.addrs[addr] = a
}

// StartFetch reserves a start for a fetch of robots.txt and waits for it.
func (l *Local) StartFetch(ctx context.Context, o robots.Origin, addr netip.Addr) error {
	if ctx.Err() == nil {
		wait := l.reserveFetch(addr)
		if wait <= 0 || queue.Sleep(ctx, wait, nil) == nil {
			return nil
		}
	}
	return fmt.Errorf("waiting to fetch robots.txt of %s: %w", o, context.Cause(ctx))
}

// reserveFetch reserves the next start of a fetch and returns how far off it is.
func (l *Local) reserveFetch(addr netip.Addr) time.Duration {
	gap, fetchGap := l.options.intervalsAt(addr)
	if fetchGap == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.options.Now()
	addr, a := l.addressOf(addr, now)
	a.lastFetch = a.fetch(now, gap, fetchGap)
	l.addrs[addr] = a
	return a.lastFetch.Sub(now)
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
		if queue.Sleep(ctx, min(d, longestSleep), nil) != nil {
			return ended(ctx, p.Origin)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The process might have been suspended, or the clock set.
	d := l.decide(Request{Origin: p.Origin, Schedule: p.Schedule})
	if _, open := p.Schedule.At(d.now); !open || d.now.After(p.StartBy) || d.site.index(p.ID) < 0 {
		return &MissedError{Permit: d.refusal()}
	}
	return nil
}

// reserveStart reserves the start of a request at its origin and at its address.
func (l *Local) reserveStart(ctx context.Context, p Permit, addr netip.Addr) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.decide(Request{Origin: p.Origin, Schedule: p.Schedule})
	i := d.site.index(p.ID)
	if i < 0 {
		return time.Time{}, &MissedError{Permit: d.refusal()}
	}
	ready := latest(d.now, p.Start)
	if started := d.site.started; !started.IsZero() { // other requests of this permit, or of others at the same time
		ready = d.schedule.Next(ready, State{Last: started, BackOff: d.state.BackOff})
	}
	start := l.nextPage(addr, d.now, ready)
	d.state.Address = (time.Time{})
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
	if start.After(p.StartBy) { // try again when a new permit lasts until then
		return start, &MissedError{Permit: refusal(start.Add(p.Start.Sub(p.StartBy)))}
	}
	l.reservePage(addr, d.now, start)
	d.site.Permits[i].Start = start
	d.site.started = start
	l.recordEvent(d.site, start, d.schedule.slowest)
	return start, nil
}
