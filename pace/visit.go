package pace

import (
	"context"
	"net/netip"
	"slices"
	"time"
)

// An address keeps the last starts at an IP address that are booked.
type address struct {
	pages   moment
	fetches moment // of robots.txt
	until   moment // from then on it says what one that is not kept says
}

// page returns the next start of a page. The pages that are booked, and still to come, are
// a gap apart: so where they are is known of all from the last one, and a fetch finds room
// between them.
func (a address) page(now, notBefore moment, gap, fetchGap time.Duration) moment {
	start := max(notBefore, after(a.pages, gap), after(a.fetches, fetchGap))
	if a.pages > now {
		gaps := (start - a.pages + moment(gap) - 1) / moment(gap)
		start = a.pages + gaps*moment(gap)
	}
	return start
}

// fetch returns the next start of a fetch of robots.txt: between the pages that are
// booked, or behind them where they leave no room.
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

// gaps returns the time between two pages at an address, and between a fetch of robots.txt
// and any other start there, for this worker; 0 for no pace.
func (l *Local) gaps(addr netip.Addr) (gap, fetchGap time.Duration) {
	gap, fetchGap = l.options.At(addr)
	return times(gap, l.workers), times(fetchGap, l.workers)
}

// addressOf returns what is kept of an address. It makes room for one more.
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

func (l *Local) keepAddress(addr netip.Addr, a address, gap, fetchGap time.Duration) {
	a.until = max(after(a.pages, gap), after(a.pages, fetchGap), after(a.fetches, fetchGap))
	l.addrs[idOf(l, addr.Unmap().WithZone(""))] = a
}

// Book is the step of Visit, for limiters that fall back on a Local. There is no error.
func (l *Local) Book(_ context.Context, addr netip.Addr, notBefore time.Time, within time.Duration) (Slot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.options.Now()
	ready := latest(now, notBefore)
	gap, fetchGap := l.gaps(addr)
	if gap == 0 {
		return Slot{Start: notBefore, Booked: true}, nil
	}
	at := l.moment(now)
	a := l.addressOf(addr, at)
	start := a.page(at, l.moment(ready), gap, fetchGap)
	slot := Slot{Start: now.Add(time.Duration(start - at)), Booked: time.Duration(start-at) <= max(within, 0)}
	slot.Delayed = slot.Start.After(ready)
	if slot.Booked {
		a.pages = start
		l.keepAddress(addr, a, gap, fetchGap)
	}
	return slot, nil
}

// Start returns when the next fetch of robots.txt from an address may start, in the order
// of the calls: Options.FetchInterval after any other start there (D-57), but not behind
// all pages that wait. An address that is not known has no pace. The error wraps
// context.Cause(ctx), if that ends first.
//
// It is what fetch.Options.Starts asks for. No Done follows: a start that is not
// used costs the others one interval.
func (l *Local) Start(ctx context.Context, addr netip.Addr) error {
	if ctx.Err() == nil {
		wait := l.bookFetch(addr)
		if wait <= 0 || sleep(ctx, wait, nil) == nil {
			return nil
		}
	}
	return &waitError{"to fetch robots.txt at " + addr.String(), context.Cause(ctx)}
}

// bookFetch takes the next start of a fetch and returns how far off it is.
func (l *Local) bookFetch(addr netip.Addr) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	gap, fetchGap := l.gaps(addr)
	if fetchGap == 0 {
		return 0
	}
	now := l.moment(l.options.Now())
	a := l.addressOf(addr, now)
	a.fetches = a.fetch(now, gap, fetchGap)
	l.keepAddress(addr, a, gap, fetchGap)
	return time.Duration(a.fetches - now)
}

// Visit books a start at an address and waits for it.
func (l *Local) Visit(ctx context.Context, g Grant, addr netip.Addr, s *Schedule) (Turn, error) {
	return VisitBy(ctx, l, l.options.Now, g, addr, s)
}

// A Booker has the steps that Visit and Lend are made of. *Local is one.
type Booker interface {
	Valid(g Grant) bool
	Done(ctx context.Context, g Grant, r Result) error
	// Book takes the next start of a page at an address, from notBefore on, if it is at
	// most within from now.
	Book(ctx context.Context, addr netip.Addr, notBefore time.Time, within time.Duration) (Slot, error)
}

// A Slot is a start at an address.
type Slot struct {
	Start   time.Time
	Delayed bool // by the address
	Booked  bool // else it is only said
}

// turn returns the turn of a grant whose request has that start.
func (s Slot) turn(g Grant) Turn {
	t := g.Turn
	t.Start = s.Start
	if s.Delayed {
		t.Reasons = slices.Insert(slices.Clone(t.Reasons), 0, Reason{Cause: CauseAddress, Until: s.Start})
	}
	return t
}

// VisitBy is Visit for a limiter that can book. It is exported so that all implementations
// of Limiter do the same.
func VisitBy(ctx context.Context, b Booker, clock func() time.Time, g Grant, addr netip.Addr, s *Schedule) (Turn, error) {
	key := Key{Origin: g.Key.Origin, Addr: addr}
	if err := ended(ctx, key); err != nil {
		return Turn{}, err
	}
	now := clock()
	within := g.Until.Sub(now) / 2 // so that there is time for the request
	deadline, limited := ctx.Deadline()
	late := limited && deadline.Sub(now) < within
	if late {
		within = deadline.Sub(now)
	}
	slot, err := b.Book(ctx, addr, g.Start, within)
	if missed, is := err.(*MissedError); is { //nolint:errorlint // it is that of Book itself
		missed.Key = key
	}
	if err != nil {
		return Turn{}, err
	}
	turn := slot.turn(g)
	switch {
	case !slot.Booked && late:
		return Turn{}, &LateError{Key: key, Turn: turn}
	case !slot.Booked:
		turn.Start = latest(clock(), slot.Start.Add(-within))
		return Turn{}, &MissedError{Key: key, Turn: turn}
	case slot.Delayed && !isOpen(s, turn.Start):
		return Turn{}, &MissedError{Key: key, Turn: s.TurnIn(turn.Start, State{Address: turn.Start})}
	}
	for d := turn.Start.Sub(clock()); d > 0; d = turn.Start.Sub(clock()) {
		if sleep(ctx, min(d, longestSleep), nil) != nil {
			return Turn{}, ended(ctx, key)
		}
	}
	if !b.Valid(g) {
		turn.Start = clock()
		return Turn{}, &MissedError{Key: key, Turn: turn}
	}
	return turn, nil
}

// LendBy is the booking of Lend for a limiter that can book: it books the address of a grant
// that is lent, or gives the grant back and says when to ask again.
func LendBy(ctx context.Context, b Booker, clock func() time.Time, g Grant, within time.Duration) (Grant, error) {
	slot, err := b.Book(ctx, g.Key.Addr, g.Start, min(within, g.Until.Sub(clock())))
	if err == nil {
		g.Turn = slot.turn(g)
	}
	if slot.Booked {
		return g, err
	}
	if back := b.Done(context.WithoutCancel(ctx), g, Result{Unused: true}); err == nil {
		err = back
	}
	return Grant{Key: g.Key, Turn: g.Turn}, err
}

func isOpen(s *Schedule, at time.Time) bool {
	_, open := s.At(at)
	return open
}

// A MissedError says that a grant cannot be used any more: give it back as never used, and
// ask for another at Turn.Start.
type MissedError struct {
	Key   Key
	Turn  Turn
	Cause error // nil, or what keeps the limiter from booking the address
}

// Error names the site, when to ask again, and the deciding reason.
func (e *MissedError) Error() string {
	s := "the turn of " + e.Key.String() + " has passed: ask again at " + e.Turn.String()
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *MissedError) Unwrap() error { return e.Cause }
