package cache

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/fetch"
)

const (
	// jumpLeast is how far the wall clock may differ from the monotonic one before
	// that counts as a jump. Slewing and leap seconds stay below it for a long time.
	jumpLeast = time.Minute
	// jumpSpread: answers that a forward jump would have ended at once end within
	// this time.
	jumpSpread = time.Hour
)

// A clock tells the wall time and notices when it jumps. An epoch is the time between
// two jumps. A record has the epoch in which its times were written, so that they can
// be adjusted to the present one.
type clock struct {
	wall   func() time.Time // of tests of jumps, nil for time.Now
	moved  func(d time.Duration)
	start  time.Time // by the wall clock of the first epoch
	run    uint64    // upper 44 bits of this clock's epochs, random
	anchor atomic.Pointer[anchor]

	mu    sync.Mutex
	jumps []time.Duration // the jump that ended each epoch but the last
}

// anchor is the beginning of an epoch on both clocks.
type anchor struct {
	at    time.Time // with its monotonic reading
	wall  time.Time
	epoch uint64
}

const epochBits = 20

func newClock(wall func() time.Time, moved func(time.Duration)) *clock {
	c := &clock{wall: wall, moved: moved, run: rand.Uint64() >> epochBits << epochBits}
	at, wallTime := c.read()
	c.start = wallTime
	c.anchor.Store(&anchor{at: at, wall: wallTime, epoch: c.run})
	return c
}

// read reads both clocks: the time with its monotonic reading, and without.
func (c *clock) read() (at, wall time.Time) {
	at = time.Now()
	wall = at
	if c.wall != nil {
		wall = c.wall()
	}
	return at, wall.Round(0)
}

// now returns the wall time without a monotonic reading and the epoch it
// belongs to.
func (c *clock) now() (time.Time, uint64) {
	at, wall := c.read()
	a := c.anchor.Load()
	if d := a.jump(at, wall); d.Abs() < jumpLeast {
		return wall, a.epoch
	}
	c.mu.Lock()
	a = c.anchor.Load()
	d := a.jump(at, wall)
	if d.Abs() < jumpLeast { // another goroutine has seen it
		c.mu.Unlock()
		return wall, a.epoch
	}
	c.jumps = append(c.jumps, d)
	next := &anchor{at: at, wall: wall, epoch: a.epoch + 1}
	c.anchor.Store(next)
	c.mu.Unlock()
	c.moved(d)
	return wall, next.epoch
}

func (a *anchor) jump(at, wall time.Time) time.Duration {
	return wall.Sub(a.wall) - at.Sub(a.at)
}

// adjust returns e with its times in the present epoch. An entry of another clock that
// is older than this clock counts as of this clock's first epoch, as its times were
// read by the wall clock of then. A younger one comes from another process that runs
// now and is left as it is. A time in the future counts as now, and if it is more than
// an hour ahead the entry has ended.
func (c *clock) adjust(e Entry, now time.Time, epoch uint64) Entry {
	r := e.Record
	from := uint64(0)
	known := e.Epoch>>epochBits == epoch>>epochBits
	if known {
		from = e.Epoch - c.run
	} else if r.Fetched.After(c.start) {
		from = epoch - c.run
	}
	if to := epoch - c.run; from < to {
		c.mu.Lock()
		for _, d := range c.jumps[min(from, uint64(len(c.jumps))):] {
			r = shifted(r, d, now)
		}
		c.mu.Unlock()
	}
	if ahead := r.Fetched.Sub(now); ahead > jumpLeast {
		r = shifted(r, -ahead, now)
		if ahead > jumpSpread { // else it would be new at every look until that time has come
			r.Expires, r.NextTry = earlier(r.Expires, now), earlier(r.NextTry, now)
		}
	}
	e.Record, e.Epoch = r, epoch
	return e
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// shifted returns r with all its times moved by d. A clock that goes forward may have
// done so because time has passed, so the end of a fresh answer moves forward no
// further than to a random time within jumpSpread.
func shifted(r *fetch.Record, d time.Duration, now time.Time) *fetch.Record {
	move := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.Add(d)
	}
	end := func(t time.Time) time.Time {
		if d <= 0 || t.IsZero() {
			return move(t)
		}
		soon := now.Add(rand.N(jumpSpread))
		switch m := t.Add(d); {
		case m.Before(soon):
			return m
		case t.After(soon): // the jump was shorter than the life left
			return t
		default:
			return soon
		}
	}
	s := *r
	s.Started, s.Fetched, s.NextTry = move(r.Started), move(r.Fetched), move(r.NextTry)
	s.FailingSince, s.LastFailure = move(r.FailingSince), move(r.LastFailure)
	s.Expires = end(r.Expires)
	if r.LastGood != nil {
		c := *r.LastGood
		c.Fetched, c.Expires = move(c.Fetched), end(c.Expires)
		s.LastGood = &c
	}
	return &s
}
