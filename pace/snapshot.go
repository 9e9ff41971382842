package pace

import (
	"encoding/json"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace/internal/backoff"
)

// snapshot is what a Local keeps for the next process.
type snapshot struct {
	Taken   time.Time      `json:"taken"`
	Permits []savedPermit  `json:"permits,omitempty"`
	Rests   []savedResting `json:"rests,omitempty"`
}

// savedPermit is a permit with a lifetime of its own.
type savedPermit struct {
	ID      string     `json:"id"`
	Origin  string     `json:"origin"`
	Addr    netip.Addr `json:"addr,omitzero"`
	Start   time.Time  `json:"start"`
	Expires time.Time  `json:"expires"`
}

// savedResting is a site that needs more than its interval.
type savedResting struct {
	Origin    string          `json:"origin"`
	NotBefore time.Time       `json:"not_before,omitzero"`
	Overload  time.Time       `json:"overload,omitzero"`
	BackOff   backoff.BackOff `json:"back_off,omitzero"`
}

// Snapshot returns what the Local of the next process has to know, as JSON: the permits
// with a lifetime of their own, and the sites that rest because of a Retry-After or a
// back-off, as far as Options.MaxBytes had room for their names.
func (l *Local) Snapshot() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.options.Now()
	at := l.moment(now)
	time := func(m moment) time.Time { return now.Add(time.Duration(m - at)) }
	s := snapshot{Taken: now}
	for _, a := range l.active {
		for _, p := range a.permits {
			if p.own && p.end > at {
				s.Permits = append(s.Permits, savedPermit{p.id, p.origin.String(), p.addr, time(p.start), time(p.end)})
			}
		}
	}
	for id, origin := range l.names {
		state, r := l.sites[id], savedResting{Origin: origin.String()}
		if !l.rests(state, at) {
			continue
		}
		if state.retry > at {
			r.NotBefore = time(state.retry)
		}
		if l.backsOff(state, at) {
			r.Overload, r.BackOff = time(state.overload), state.back
		}
		s.Rests = append(s.Rests, r)
	}
	text, _ := json.Marshal(s) // all of it can be encoded
	return text
}

// Resume continues in a new Local from the Snapshot of an earlier process, or from a nil
// snapshot where that process left none. Every site and address counts as requested when
// the snapshot was taken, or now. Times are of the machine's clock: if that was set back,
// nothing ends later than if it began now. After an error, as with nil.
func (l *Local) Resume(data []byte) error {
	var s snapshot
	var err error
	if len(data) > 0 {
		if err = json.Unmarshal(data, &s); err != nil {
			s = snapshot{}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.moment(l.options.Now())
	l.since = now
	if !s.Taken.IsZero() {
		l.since = min(now, l.moment(s.Taken))
	}
	for _, r := range s.Rests {
		origin, _, err := robots.ParseURL(r.Origin + "/")
		if err != nil || l.full(now) {
			continue
		}
		state := fresh
		state.last, state.slowest = l.since, float32(defaultMaxCrawlDelay.Seconds()) // the schedule is not kept
		if !r.NotBefore.IsZero() {
			state.retry = min(l.moment(r.NotBefore), after(now, l.options.MaxRetryAfter))
		}
		if f := r.BackOff.Factor; f > 1 && f <= backoff.Max && !r.Overload.IsZero() {
			state.back, state.overload = r.BackOff, min(l.moment(r.Overload), now)
		}
		if id := idOf(l, origin); l.rests(state, now) {
			l.sites[id], l.names[id] = state, origin
		}
	}
	for _, p := range s.Permits {
		origin, _, err := robots.ParseURL(p.Origin + "/")
		if err != nil || p.ID == "" {
			continue
		}
		start := l.moment(p.Start)
		if start > after(now, longestSleep) {
			start = now
		}
		lifetime := min(max(p.Expires.Sub(p.Start), 0), maxLifetime)
		l.reservePage(p.Addr, now, start)
		id := idOf(l, origin)
		a := l.activate(id)
		a.slowest = defaultMaxCrawlDelay // the schedule is not kept
		a.permits = append(a.permits, permit{id: p.ID, start: start, end: after(start, lifetime), last: l.since, own: true, origin: origin, addr: p.Addr})
		l.touch(id, max(start, l.since), a.slowest)
	}
	return err
}
