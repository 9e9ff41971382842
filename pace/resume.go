package pace

import (
	"time"

	"github.com/robotskit/robots"
)

// A Loan is a grant that is lent and has not been given back.
type Loan struct {
	ID         uint64 // of the grant
	Key        Key
	Start, End time.Time // when its request may start, and when it counts as one that timed out
}

// Loans returns the grants that are lent, for the Local of another process.
func (l *Local) Loans() []Loan {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.options.Now()
	at := l.moment(now)
	var list []Loan
	for _, a := range l.active {
		for _, g := range a.grants {
			if g.key != nil && g.end > at {
				list = append(list, Loan{g.id, *g.key, now.Add(time.Duration(max(g.start, g.visit) - at)), now.Add(time.Duration(g.end - at))})
			}
		}
	}
	return list
}

// Rests returns the sites that are to be left alone for longer than their interval, for the
// Local of another process. Sites for whose names there was no room (Options.MaxBytes) are
// not among them.
func (l *Local) Rests() map[robots.Origin]History {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.options.Now()
	at := l.moment(now)
	rests := map[robots.Origin]History{}
	for id, origin := range l.names {
		s := l.sites[id]
		if !l.rests(s, at) {
			continue
		}
		var h History
		if s.retry > at {
			h.NotBefore = now.Add(time.Duration(s.retry - at))
		}
		if s.back.Factor > 0 {
			h.Overload, h.BackOff = now.Add(time.Duration(s.overload-at)), s.back
		}
		rests[origin] = h
	}
	return rests
}

// Resume has a Local that is new go on where that of another process ended: with its
// loans, its rests, and as if every site and every address had been asked at that time,
// since when each was is not kept. So each waits one interval from then. The zero time is
// now, for a process of which nobody knows when it ended.
//
// Times are of the machine's clock. If that was set back, nothing ends later than if it
// began now.
func (l *Local) Resume(ended time.Time, loans []Loan, rests map[robots.Origin]History) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.moment(l.options.Now())
	l.since = now
	if !ended.IsZero() {
		l.since = min(now, l.moment(ended))
	}
	for origin, h := range rests {
		if l.full(now) {
			break
		}
		rest := history{last: l.since, retry: never, overload: never, slowest: DefaultMaxCrawlDelay} // its schedule is not kept
		if !h.NotBefore.IsZero() {
			rest.retry = min(l.moment(h.NotBefore), after(now, l.options.MaxRetryAfter))
		}
		if f := h.BackOff.Factor; f > 1 && f <= MaxBackOff && !h.Overload.IsZero() {
			rest.back, rest.overload = h.BackOff, min(l.moment(h.Overload), now)
		}
		id := idOf(l, origin)
		if l.takeOver(id, rest); l.rests(l.sites[id], now) {
			l.names[id] = origin
		}
	}
	for i := range loans {
		loan := &loans[i]
		hold := min(max(loan.End.Sub(loan.Start), 0), MaxHold)
		if !isLent(loan.ID) {
			continue
		}
		start := l.moment(loan.Start)
		if start > after(now, longestSleep) {
			start = now
		}
		key := Key{Origin: loan.Key.Origin, Addr: loan.Key.Addr.Unmap().WithZone("")}
		g := grant{id: loan.ID, start: start, end: after(start, hold), last: l.since, visit: never, key: &key}
		origin := idOf(l, key.Origin)
		if gap, fetchGap := l.gaps(key.Addr); gap > 0 {
			a := l.addressOf(key.Addr, now)
			a.pages = max(a.pages, start)
			l.keepAddress(key.Addr, a, gap, fetchGap)
		}
		a := l.activate(origin)
		a.slowest = DefaultMaxCrawlDelay // its schedule is not kept
		a.grants = append(a.grants, g)
		l.touch(origin, a, max(start, l.since), a.slowest)
	}
}
