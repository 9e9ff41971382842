package cache

import (
	"math/rand/v2"
	"time"

	"github.com/robotskit/robots/fetch"
)

// jitter is the part of a life or a wait that chance adds or takes.
const jitter = 0.1

// A phase is where an answer stands in its life.
type phase uint8

const (
	fresh   phase = iota // answer it
	ahead                // answer it, and fetch meanwhile
	due                  // fetch; after a while answer it nevertheless
	overdue              // fetch, and answer nothing older
)

// ending returns when a record is to be fetched anew. A failure is asked again at its
// NextTry.
func ending(r *fetch.Record) time.Time {
	if r.Outcome.Good() {
		return r.Expires
	}
	return r.NextTry
}

// phase returns where a record stands. A failure has no last fifth. A record from the
// future, as the clock was set back, is due.
func (c *Cache) phase(r *fetch.Record, now time.Time) phase {
	end := ending(r)
	soon := end
	if life := end.Sub(r.Fetched); r.Outcome.Good() && life > 0 && !c.o.UseToEnd {
		soon = r.Fetched.Add(life / 5 * 4)
	}
	switch {
	case r.Fetched.Sub(now) > skewMost:
		return due
	case now.Before(soon):
		return fresh
	case now.Before(end):
		return ahead
	case now.Before(end.Add(c.o.StaleMost)):
		return due
	}
	return overdue
}

// toKeep makes a fetched record the one to be kept after held: with the last good
// answer or the outage of held, jitter in its life or wait, and times that stores and
// all processes understand alike.
func (c *Cache) toKeep(r, held *fetch.Record) *fetch.Record {
	r = wallTimes(r).After(held)
	if r.Outcome.Good() {
		life := r.Lifetime(c.o.Floor, c.o.Ceiling)
		r.Expires = r.Fetched.Add(jittered(life, c.o.Floor, life)) // never longer than the site or the ceiling says (D-28)
		return r
	}
	r.NextTry = r.Fetched.Add(jittered(r.RetryDelay()))
	return r
}

// jittered returns d moved by up to a tenth of it at random. A value outside the
// bounds is reflected at them, so that values spread near the bounds too.
func jittered(d, least, most time.Duration) time.Duration {
	v := d + time.Duration((2*rand.Float64()-1)*jitter*float64(d))
	if v > most {
		v = most - (v - most)
	}
	if v < least {
		v = least + (least - v)
	}
	return max(min(v, most), min(least, most))
}

// wallTimes returns a copy of r with times of the wall clock alone, in UTC and whole
// milliseconds: a record that comes back from a store equals the one that was put,
// and a comparison never mixes two clocks.
func wallTimes(r *fetch.Record) *fetch.Record {
	p := *r
	for _, t := range []*time.Time{&p.Started, &p.Fetched, &p.Expires, &p.FailingSince, &p.LastFailure, &p.NextTry} {
		if !t.IsZero() {
			*t = t.Round(0).UTC().Truncate(time.Millisecond)
		}
	}
	return &p
}

// Clocks of processes differ, and are set. A time up to skewLeast ahead is taken as it is,
// and a record up to skewMost ahead may still be used.
const (
	skewLeast = time.Minute
	skewMost  = time.Hour
)

// sane returns r as it may be used: within the bounds of this cache, as a damaged record, or
// one of a cache with other bounds, must not be used for ever; and of now, if it is of the
// future. Its times then move as one, so that an outage stays as old as it was.
func (c *Cache) sane(r *fetch.Record, now time.Time) *fetch.Record {
	if r == nil {
		return nil
	}
	s := *r
	if ahead := r.Fetched.Sub(now); ahead > skewLeast {
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
		if ahead > skewMost { // nobody knows how old it is
			s.Expires, s.NextTry = earlier(s.Expires, now), earlier(s.NextTry, now)
		}
	} else if !r.Expires.After(r.Fetched.Add(c.o.Ceiling)) && !r.NextTry.After(r.Fetched.Add(fetch.WaitCeiling)) {
		return r
	}
	if s.Outcome.Good() {
		s.Expires = earlier(s.Expires, s.Fetched.Add(c.o.Ceiling))
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

// merge returns the later of two records of an origin, one of memory and one of a
// store, which may have missed writes. In an outage it has the last good answer that
// either knows, the first failure after that, and the larger of their counts.
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
	j, after := *a, a.After(b)
	if g := after.LastGood; j.LastGood == nil || g != nil && g.Fetched.After(j.LastGood.Fetched) {
		j.LastGood = g
	}
	begins := func(r *fetch.Record) bool {
		return !r.FailingSince.IsZero() && (j.LastGood == nil || r.FailingSince.After(j.LastGood.Fetched))
	}
	if !begins(a) { // of a's outage only a itself is after the last good answer
		alone := a.After(nil)
		j.FailingSince, j.LastFailure, j.Failures, j.Covered = alone.FailingSince, alone.LastFailure, alone.Failures, alone.Covered
	}
	if begins(after) {
		if j.FailingSince.IsZero() || after.FailingSince.Before(j.FailingSince) {
			j.FailingSince = after.FailingSince
		}
		if after.LastFailure.After(j.LastFailure) {
			j.LastFailure = after.LastFailure
		}
		j.Failures, j.Covered = max(j.Failures, after.Failures), max(j.Covered, after.Covered)
	}
	if j.LastGood == a.LastGood && j.FailingSince.Equal(a.FailingSince) && j.LastFailure.Equal(a.LastFailure) && j.Failures == a.Failures && j.Covered == a.Covered {
		return a
	}
	return &j
}
