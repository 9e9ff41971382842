package cache

import (
	"math/rand/v2"
	"time"

	"github.com/robotskit/robots/fetch"
)

// jitter is the random part of a lifetime or wait.
const jitter = 0.1

// maxStale is how long after its expiry a record can be used while it is fetched again.
const maxStale = 24 * time.Hour

// A phase is the position of a record in its lifetime.
type phase uint8

const (
	none    phase = iota // of no record
	fresh                // use it
	ahead                // use it, and fetch in the background
	due                  // fetch; use it after StaleWait
	overdue              // fetch; do not use it
)

// A life is when the phases of a record end, in nanoseconds since 1970. Before early the
// record is from the future, and due.
type life struct{ early, fresh, ahead, due int64 }

// lifeOf returns the life of a record. A failure expires at its NextTry and is never ahead.
func lifeOf(r *fetch.Record) life {
	end := r.NextTry
	fresh := r.NextTry
	if r.Outcome.Good() {
		end = r.Expires
		fresh = end.Add(-max(end.Sub(r.Fetched), 0) / 5)
	}
	return life{early: nanos(r.Fetched.Add(-maxSkew)), fresh: nanos(fresh), ahead: nanos(end), due: nanos(end.Add(maxStale))}
}

// nanos returns the nanoseconds from 1970 to t, within the bounds of a Duration.
func nanos(t time.Time) int64 { return int64(t.Sub(time.Unix(0, 0))) }

// phase returns the phase at a time, in nanoseconds since 1970.
func (l *life) phase(now int64) phase {
	switch {
	case now < l.early:
		return due
	case now < l.fresh:
		return fresh
	case now < l.ahead:
		return ahead
	case now < l.due:
		return due
	}
	return overdue
}

// recordToStore returns the record to store for a fetched record, given the previous one, which can
// be nil: with the last good response or the outage of that, with jitter, and with times that all
// stores and processes can represent.
func recordToStore(r, previous *fetch.Record) *fetch.Record {
	r = wallTimes(r).After(previous)
	if r.Outcome.Good() {
		life := r.Lifetime()
		// Not longer than the site says (D-28).
		r.Expires = r.Fetched.Add(jittered(life, fetch.LifeFloor, life)).Truncate(time.Millisecond)
		return r
	}
	// Rounded up, so not before the site's Retry-After.
	r.NextTry = r.Fetched.Add(jittered(r.RetryDelay()) + time.Millisecond - 1).Truncate(time.Millisecond)
	return r
}

// jittered returns d changed at random by up to a tenth. Values beyond the bounds are
// reflected, so that values near a bound are spread too.
func jittered(d, minimum, maximum time.Duration) time.Duration {
	v := d + time.Duration((2*rand.Float64()-1)*jitter*float64(d))
	if v > maximum {
		v = maximum - (v - maximum)
	}
	if v < minimum {
		v = minimum + (minimum - v)
	}
	return max(min(v, maximum), min(minimum, maximum))
}

// wallTimes returns a copy of r with wall-clock times in UTC, in whole milliseconds: a stored
// record equals the original, and comparisons never mix two clocks.
func wallTimes(r *fetch.Record) *fetch.Record {
	p := *r
	for _, t := range []*time.Time{&p.Started, &p.Fetched, &p.Expires, &p.FailingSince, &p.LastFailure, &p.NextTry} {
		if !t.IsZero() {
			*t = t.Round(0).UTC().Truncate(time.Millisecond)
		}
	}
	return &p
}

// The clocks of processes differ and can be set. A time up to minSkew ahead is not changed, and a
// record up to maxSkew ahead is used.
const (
	minSkew = time.Minute
	maxSkew = time.Hour
)

// withinBounds returns r with a lifetime within the limits, as a damaged record must not be used
// forever. A record from the future is moved to now with all its times, so that the age of an
// outage stays the same.
func withinBounds(r *fetch.Record, now time.Time) *fetch.Record {
	if r == nil {
		return nil
	}
	s := *r
	if ahead := r.Fetched.Sub(now); ahead > minSkew {
		times := []*time.Time{&s.Started, &s.Fetched, &s.Expires, &s.FailingSince, &s.LastFailure, &s.NextTry}
		if r.LastGood != nil {
			good := *r.LastGood
			s.LastGood = &good
			times = append(times, &good.Fetched, &good.Expires)
		}
		for _, t := range times {
			if !t.IsZero() {
				*t = t.Add(-ahead)
			}
		}
		if ahead > maxSkew { // its age is unknown
			s.Expires = earlier(s.Expires, now)
			s.NextTry = earlier(s.NextTry, now)
		}
	} else if !r.Expires.After(r.Fetched.Add(fetch.LifeCeiling)) && !r.NextTry.After(r.Fetched.Add(fetch.WaitCeiling)) {
		return r
	}
	if s.Outcome.Good() {
		s.Expires = earlier(s.Expires, s.Fetched.Add(fetch.LifeCeiling))
	} else {
		s.NextTry = earlier(s.NextTry, s.Fetched.Add(fetch.WaitCeiling))
	}
	return &s
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// merge returns the later of two records of an origin, one from memory and one from a store
// that might have missed writes. In an outage it has the later last good response, the first
// failure after that, and the larger of the counts.
func merge(a, b *fetch.Record) *fetch.Record {
	if b == nil || a != nil && a.Fetched.Equal(b.Fetched) {
		return a
	}
	if a == nil {
		return b
	}
	if a.Fetched.Before(b.Fetched) {
		a, b = b, a
	}
	if a.Outcome.Good() {
		return a
	}
	j := *a
	after := a.After(b)
	if g := after.LastGood; j.LastGood == nil || g != nil && g.Fetched.After(j.LastGood.Fetched) {
		j.LastGood = g
	}
	begins := func(r *fetch.Record) bool {
		return !r.FailingSince.IsZero() && (j.LastGood == nil || r.FailingSince.After(j.LastGood.Fetched))
	}
	if !begins(a) { // only a itself follows the last good response
		alone := a.After(nil)
		j.FailingSince = alone.FailingSince
		j.LastFailure = alone.LastFailure
		j.Failures = alone.Failures
		j.Covered = alone.Covered
	}
	if begins(after) {
		if j.FailingSince.IsZero() || after.FailingSince.Before(j.FailingSince) {
			j.FailingSince = after.FailingSince
		}
		if after.LastFailure.After(j.LastFailure) {
			j.LastFailure = after.LastFailure
		}
		j.Failures = max(j.Failures, after.Failures)
		j.Covered = max(j.Covered, after.Covered)
	}
	if j.LastGood == a.LastGood && j.FailingSince.Equal(a.FailingSince) && j.LastFailure.Equal(a.LastFailure) && j.Failures == a.Failures &&
		j.Covered == a.Covered {
		return a
	}
	return &j
}
