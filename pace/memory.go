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
	ID    string     `json:"id"`
	Start time.Time  `json:"start"`
	End   time.Time  `json:"expires"`       // if it is not released
	Addr  netip.Addr `json:"addr,omitzero"` // of its request
	last  time.Time  // of the site before, restored if the permit is not used
	own   bool       // it has a lifetime of its own

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
	if held() >= l.sweep || held() >= most && !now.Before(l.room) {
		l.sweepOut(now)
		l.sweep = max(2*held(), leastSweep)
	}
	return held() >= most
}

// sweepOut deletes useless states, and finds when the next ones will be.
func (l *Local) sweepOut(now time.Time) {
	room := now.Add(maxInterval)
	useless := func(at time.Time) bool {
		if at.After(now) && at.Before(room) {
			room = at
		}
		return !at.After(now)
	}
	for origin, s := range l.sites {
		if l.expire(s, now); len(s.Permits) > 0 {
			room = now // they might be released
		} else if useless(l.uselessFrom(s)) {
			delete(l.sites, origin)
		}
	}
	for addr, a := range l.addrs {
		if gap, fetchGap := l.options.intervalsAt(addr); useless(latest(since(a.pages, max(gap, fetchGap)), since(a.fetches, fetchGap))) {
			delete(l.addrs, addr)
		}
	}
	l.room = latest(room, now.Add(fullWait))
}

// uselessFrom returns when a state is that of an unknown site.
func (l *Local) uselessFrom(s *site) time.Time {
	at := latest(s.Retry, since(s.last, s.slowest))
	if s.BackOff.Factor > 0 {
		at = latest(at, s.Overload.Add(l.options.MaxBackOff))
	}
	return at
}

// touch records an event at a site and for how long it matters.
func (l *Local) touch(s *site, at time.Time, slowest time.Duration) {
	if !l.uselessFrom(s).After(at) {
		s.slowest = 0
	}
	s.last, s.slowest = latest(s.last, at), max(s.slowest, slowest)
}

func (s *site) index(id string) int {
	return slices.IndexFunc(s.Permits, func(p permit) bool { return p.ID == id })
}

// unused takes back the start of a permit.
func (s *site) unused(p permit) {
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
		l.touch(s, p.End, s.slowest)
		if p.own && !p.Untrusted {
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
	if !l.backsOff(s, at) {
		s.BackOff = backoff.BackOff{}
	}
	if s.BackOff = s.BackOff.After(r.Overload(), r.Recovered()); r.Overload() {
		s.Overload = at
	}
	if r.RetryAfter > 0 {
		s.Retry = latest(s.Retry, at.Add(min(r.RetryAfter, l.options.MaxRetryAfter)))
	}
}

func (l *Local) backsOff(s *site, at time.Time) bool {
	return s.BackOff.Factor > 0 && at.Sub(s.Overload) < l.options.MaxBackOff
}
