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
	Taken time.Time   `json:"taken"`
	Sites []savedSite `json:"sites,omitempty"`
}

// savedSite is a site that needs more than its interval, or has permits with a lifetime of
// their own.
type savedSite struct {
	Origin    string          `json:"origin"`
	NotBefore time.Time       `json:"not_before,omitzero"`
	Overload  time.Time       `json:"overload,omitzero"`
	BackOff   backoff.BackOff `json:"back_off,omitzero"`
	Permits   []savedPermit   `json:"permits,omitempty"`
}

type savedPermit struct {
	ID      string     `json:"id"`
	Addr    netip.Addr `json:"addr,omitzero"`
	Start   time.Time  `json:"start"`
	Expires time.Time  `json:"expires"`
}

// Snapshot returns what the Local of the next process has to know, as JSON: the permits
// with a lifetime of their own, and the sites that rest because of a Retry-After or a
// back-off.
func (l *Local) Snapshot() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := snapshot{Taken: l.options.Now()}
	for origin, state := range l.sites {
		l.expire(state, s.Taken)
		saved := savedSite{Origin: origin.String()}
		if state.retry.After(s.Taken) {
			saved.NotBefore = state.retry
		}
		if l.backsOff(state, s.Taken) {
			saved.Overload, saved.BackOff = state.overload, state.back
		}
		for _, p := range state.permits {
			if p.own {
				saved.Permits = append(saved.Permits, savedPermit{p.id, p.addr, p.start, p.end})
			}
		}
		if !saved.NotBefore.IsZero() || !saved.Overload.IsZero() || saved.Permits != nil {
			s.Sites = append(s.Sites, saved)
		}
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
	now := l.options.Now()
	// notAfter returns a time on this process's clock, at most that far ahead.
	notAfter := func(t time.Time, ahead time.Duration) time.Time { return now.Add(min(t.Sub(now), ahead)) }
	if l.since = now; !s.Taken.IsZero() {
		l.since = notAfter(s.Taken, 0)
	}
	for _, saved := range s.Sites {
		origin, _, err := robots.ParseURL(saved.Origin + "/")
		if err != nil || l.full(now) {
			continue
		}
		state := &site{last: l.since, slowest: defaultMaxCrawlDelay} // the schedule is not kept
		if !saved.NotBefore.IsZero() {
			state.retry = notAfter(saved.NotBefore, l.options.MaxRetryAfter)
		}
		if f := saved.BackOff.Factor; f > 1 && f <= backoff.Max && !saved.Overload.IsZero() {
			state.back, state.overload = saved.BackOff, notAfter(saved.Overload, 0)
		}
		for _, p := range saved.Permits {
			start, lifetime := notAfter(p.Start, maxInterval), min(max(p.Expires.Sub(p.Start), 0), maxLifetime)
			if start.After(now.Add(longestSleep)) {
				start = now
			}
			state.permits = append(state.permits, permit{id: p.ID, start: start, end: start.Add(lifetime), last: l.since, own: true, addr: p.Addr})
			state.last = latest(state.last, start)
			l.reservePage(p.Addr, now, start)
		}
		l.sites[origin] = state
	}
	return err
}
