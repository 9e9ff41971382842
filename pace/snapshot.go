package pace

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace/internal/backoff"
)

// snapshot is what a Local keeps for the next process: the sites that need more than their interval,
// or have permits with a lifetime of their own, by their origin.
type snapshot struct {
	Taken time.Time        `json:"taken"`
	Sites map[string]*site `json:"sites,omitempty"`
}

// Snapshot returns, as JSON, the state that the next process needs: the permits with a
// lifetime of their own, and the sites that rest because of a Retry-After or a
// back-off.
func (l *Local) Snapshot() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := snapshot{l.options.Now(), map[string]*site{}}
	for origin, state := range l.sites {
		l.expire(state, s.Taken)
		saved := *state
		saved.Permits = slices.DeleteFunc(slices.Clone(state.Permits), func(p permit) bool { return !p.hasLifetime })
		if state.Retry.After(s.Taken) || l.isBackingOff(state, s.Taken) || len(saved.Permits) > 0 {
			s.Sites[origin.String()] = &saved
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
	l.since = now
	if !s.Taken.IsZero() {
		l.since = notAfter(s.Taken, 0)
	}
	for name, state := range s.Sites {
		origin, _, err := robots.ParseURL(name + "/")
		if err != nil || state == nil || l.full(now) {
			continue
		}
		state.last = l.since
		state.slowest = defaultMaxCrawlDelay // a snapshot has no schedule
		if !state.Retry.IsZero() {
			state.Retry = notAfter(state.Retry, l.options.MaxRetryAfter)
		}
		if f := state.BackOff.Factor; f < 2 || f > backoff.Max {
			state.BackOff = backoff.BackOff{}
		}
		state.Overload = notAfter(state.Overload, 0)
		for i := range state.Permits {
			p := &state.Permits[i]
			lifetime := min(max(p.End.Sub(p.Start), 0), maxLifetime)
			p.Start = notAfter(p.Start, maxInterval)
			if p.Start.After(now.Add(longestSleep)) {
				p.Start = now
			}
			p.End = p.Start.Add(lifetime)
			p.last = l.since
			p.hasLifetime = true
			state.last = latest(state.last, p.Start)
			l.reservePage(p.Addr, now, p.Start)
		}
		l.sites[origin] = state
	}
	return err
}
