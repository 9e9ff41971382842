package pace

import (
	"net/netip"
	"slices"
	"time"

	"github.com/robotskit/robots/pace/internal/backoff"
)

// site is the state of an origin. A zero time is that of an event that did not happen. A snapshot
// has the exported fields.
type site struct {
	last     time.Time       // end of the last response
	Retry    time.Time       `json:"not_before,omitzero"` // when a Retry-After allows the next request
	Overload time.Time       `json:"overload,omitzero"`   // when the site last signaled overload
	BackOff  backoff.BackOff `json:"back_off,omitzero"`
	started  time.Time       // the last start that Start reserved
	slowest  time.Duration   // for how long last matters
	Permits  []permit        `json:"permits,omitempty"`
}

// A permit was neither released nor has it expired.
type permit struct {
	ID          string     `json:"id"`
	Start       time.Time  `json:"start"`
	End         time.Time  `json:"expires"`       // if it is not released
	Addr        netip.Addr `json:"addr,omitzero"` // of its request
	last        time.Time  // of the site before, restored if the permit is not used
	hasLifetime bool       // it has a lifetime of its own

	Untrusted bool `json:"untrusted,omitzero"` // else one with a lifetime of its own counts as timed out when it expires
}

// bytesPerState are those of a site with its name, in a map of average load, on 64 bits.
const bytesPerState = 448

// States equal to that of an unknown site are useless. They are swept out when there are
// twice as many states as the last sweep left, so that a state costs the same whatever
// their number; leastSweep is the number that is not worth a sweep.
const leastSweep = 1024

// fullWait is after how long at least a full limiter looks for room again.
const fullWait = time.Second

// full makes room for one more state and reports whether there is none.
func (l *Local) full(now time.Time) bool {
	most := max(l.options.MaxBytes/bytesPerState, 1)
	held := func() int { return len(l.sites) + len(l.addrs) }
	if held() >= l.sweep || held() >= most && !now.Before(l.fullUntil) {
		l.sweepOut(now)
		l.sweep = max(2*held(), leastSweep)
	}
	return held() >= most
}

// sweepOut deletes useless states, and finds when the next ones will be.
func (l *Local) sweepOut(now time.Time) {
	fullUntil := now.Add(maxInterval)
	isRemovable := func(at time.Time) bool {
		if at.After(now) && at.Before(fullUntil) {
			fullUntil = at
		}
		return !at.After(now)
	}
	for origin, s := range l.sites {
		l.expire(s, now)
		if len(s.Permits) > 0 {
			fullUntil = now // they might be released
		} else if isRemovable(l.removableFrom(s)) {
			delete(l.sites, origin)
		}
	}
	for addr, a := range l.addrs {
		gap, fetchGap := l.options.intervalsAt(addr)
		if isRemovable(latest(nextAfter(a.lastPage, max(gap, fetchGap)), nextAfter(a.lastFetch, fetchGap))) {
			delete(l.addrs, addr)
		}
	}
	l.fullUntil = latest(fullUntil, now.Add(fullWait))
}

// removableFrom returns the time from which a state is that of an unknown site.
func (l *Local) removableFrom(s *site) time.Time {
	at := latest(s.Retry, nextAfter(s.last, s.slowest))
	if s.BackOff.Factor > 0 {
		at = latest(at, s.Overload.Add(l.options.MaxBackOff))
	}
	return at
}

// recordEvent records an event at a site and for how long it matters.
func (l *Local) recordEvent(s *site, at time.Time, slowest time.Duration) {
	if !l.removableFrom(s).After(at) {
		s.slowest = 0
	}
	s.last = latest(s.last, at)
	s.slowest = max(s.slowest, slowest)
}

func (s *site) index(id string) int {
	return slices.IndexFunc(s.Permits, func(p permit) bool { return p.ID == id })
}

// undoStart restores the state before the start of a permit that was not used.
func (s *site) undoStart(p permit) {
	if s.last.Equal(p.Start) {
		s.last = p.last
	}
	if s.started.Equal(p.Start) {
		s.started = time.Time{}
	}
}

// expire ends the permits that were not released in time.
func (l *Local) expire(s *site, now time.Time) {
	s.Permits = slices.DeleteFunc(s.Permits, func(p permit) bool {
		if p.End.After(now) {
			return false
		}
		l.recordEvent(s, p.End, s.slowest)
		if p.hasLifetime && !p.Untrusted {
			l.responded(s, p.End, Result{Timeout: true})
		}
		return true
	})
	if len(s.Permits) == 0 {
		s.started = time.Time{}
	}
}

// responded records the result of a request.
func (l *Local) responded(s *site, at time.Time, r Result) {
	if !l.isBackingOff(s, at) {
		s.BackOff = backoff.BackOff{}
	}
	s.BackOff = s.BackOff.After(r.Overload(), r.Recovered())
	if r.Overload() {
		s.Overload = at
	}
	if r.RetryAfter > 0 {
		s.Retry = latest(s.Retry, at.Add(min(r.RetryAfter, l.options.MaxRetryAfter)))
	}
}

func (l *Local) isBackingOff(s *site, at time.Time) bool {
	return s.BackOff.Factor > 0 && at.Sub(s.Overload) < l.options.MaxBackOff
}
