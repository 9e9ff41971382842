package pace

import (
	"time"

	"github.com/robotskit/robots"
)

// A History is what a limiter knows of a site, with which another one goes on at the
// right spacing. The zero value is that of a site that was never asked.
type History struct {
	Last      time.Time     // when the last response ended, or the last request started if that is later
	NotBefore time.Time     // before this a Retry-After forbids to come
	Overload  time.Time     // when the site last said that it is overloaded, unless that is forgotten (Options.Forget)
	BackOff   BackOff       // since then; none if the site has recovered
	Slowest   time.Duration // for how long Last matters
}

// History returns what is known of an origin, and whether the site is idle: no request is
// under way there, and nobody waits.
func (l *Local) History(origin robots.Origin) (h History, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history(idOf(l, origin), l.options.Now())
}

func (l *Local) history(origin id, now time.Time) (h History, idle bool) {
	d := &decision{origin: origin, now: now, at: l.moment(now)}
	l.lookAtOrigin(d)
	idle = d.active == nil || d.active.idle()
	s, known := l.site(d.origin, d.active)
	if !known {
		return h, idle
	}
	h = History{Last: d.state.Last, NotBefore: d.state.NotBefore, BackOff: d.state.BackOff, Slowest: time.Duration(float64(s.slowest) * float64(time.Second))}
	if d.at-s.overload < moment(l.options.Forget) {
		h.Overload = d.time(s.overload)
	}
	return h, idle
}

// TakeOver goes on at an origin with what another limiter knew of it: where both know
// something, the later counts. A limiter that is full (CauseFull) takes it too: what a site
// wishes is not forgotten for want of room.
func (l *Local) TakeOver(origin robots.Origin, h History) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := func(t time.Time) moment {
		if t.IsZero() {
			return never
		}
		return l.moment(t)
	}
	known := history{of(h.Last), of(h.NotBefore), of(h.Overload), h.BackOff, h.Slowest}
	if known.last == never && known.retry == never && known.overload == never {
		return
	}
	id := idOf(l, origin)
	if _, ok := l.site(id, l.active[id]); !ok {
		l.full(l.moment(l.options.Now())) // which sweeps out what is useless
	}
	l.takeOver(id, known)
}

// Forget forgets what a site wished, its Retry-After and its back-off: for who has handed the
// site over, or was told so. When it was last asked, and what is under way there, stay. A
// Tenant forgets nothing of a site that it holds.
func (l *Local) Forget(origin robots.Origin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := idOf(l, origin)
	if a := l.active[id]; a != nil && a.tenure.number != 0 {
		return
	}
	if s, ok := l.sites[id]; ok {
		s.retry, s.overload, s.back = fresh.retry, fresh.overload, fresh.back
		l.sites[id] = s
		delete(l.names, id)
	}
	if a := l.active[id]; a != nil {
		a.signal()
	}
}

// history is a History in moments, never for the zero time.
type history struct {
	last, retry, overload moment
	back                  BackOff
	slowest               time.Duration
}

func (l *Local) takeOver(id id, h history) {
	a := l.active[id]
	s, ok := l.site(id, a)
	if !ok {
		s = fresh
	}
	// Who saw the site last knows whether it has recovered.
	if h.overload > s.overload || h.last >= s.last {
		s.overload, s.back = max(h.overload, fresh.overload), h.back
	}
	s.retry = max(s.retry, h.retry)
	l.keep(id, a, s)
	l.touch(id, a, h.last, h.slowest)
}
