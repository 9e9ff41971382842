package redis

import (
	"sync"
	"time"
)

// clock is this machine's, for what is slept and for how long something takes.
func clock() time.Time {
	return time.Now()
}

// between returns how much time lies between two, by the clock that says more: while
// a machine is suspended that for intervals may stand still, and the other may be set.
func between(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// passed returns how long ago a time was.
func passed(t time.Time) time.Duration { return between(t, clock()) }

// clockSlack is by how much the server's clock may be ahead of what this
// machine's says has passed: clocks drift and are slewed, and a jump that is
// shorter cannot be told from that.
const clockSlack = 250 * time.Millisecond

// serverClock is what the client knows of the server's clock.
type serverClock struct {
	mu        sync.Mutex
	server    micros    // the last time it said; 0 for none
	local     time.Time // this machine's before that
	by        *epoch
	confirmed micros    // when the server last confirmed that epoch
	at        time.Time // that on this machine
}

// observe notes the server's time in a reply. It reports false, and notes nothing, if
// more time went by on the server than here: its clock was set forward, or it is
// another one.
func (c *serverClock) observe(e *epoch, now micros, sent, received time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != 0 && now > c.server+microsOf(received.Sub(c.local)+clockSlack) {
		return false
	}
	c.server, c.local = now, sent
	if e != nil {
		c.by, c.confirmed, c.at = e, now, sent
	}
	return true
}

// forget makes observe accept the next time, whatever it is.
func (c *serverClock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = 0
}

// confirmedAt returns when the server last confirmed an epoch, 0 for never.
func (c *serverClock) confirmedAt(e *epoch) micros {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by != e {
		return 0
	}
	return c.confirmed
}

// silent returns how long ago the server confirmed an epoch, as far as it is known.
func (c *serverClock) silent() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return passed(c.at)
}

// known reports whether the server ever said its time.
func (c *serverClock) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server != 0
}

// estimate returns the server's time now, this machine's if it never said any.
func (c *serverClock) estimate() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == 0 {
		return clock()
	}
	return timeAt(c.server + microsOf(clock().Sub(c.local)))
}

// reading is one look at both clocks: the server's time was now between sent and
// received.
type reading struct {
	now            micros
	sent, received time.Time
}

// clocksAgree is the finest difference between two clocks that is one.
const clocksAgree = time.Millisecond

// local returns a time of the server on this machine's clock. Where both may show
// the same it is the same, so that a window opens on the minute; else it is late by
// the time the reply took, and never early.
func (r reading) local(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	now := timeAt(r.now)
	if !now.Before(r.sent.Add(-clocksAgree)) && !now.After(r.received.Add(clocksAgree)) {
		return t
	}
	return r.received.Add(t.Sub(now))
}

// slot returns the start that is booked at a time of the server. Where the clocks agree it
// does not depend on how long the reply took: starts that are booked a gap apart are as far
// apart at the workers.
func (r reading) slot(start micros) time.Time {
	return r.received.Add(r.local(timeAt(start)).Sub(r.received)) // with what does not see a clock set
}

// ahead returns a start that is still to come, for a sleep that ends neither
// early nor with a clock that is set meanwhile.
func (r reading) ahead(start micros) time.Time {
	return r.received.Add(time.Duration((start - r.now) * 1e3))
}
