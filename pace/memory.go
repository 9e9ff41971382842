package pace

import (
	"hash/maphash"
	"maps"
	"math"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
)

// moment is a time on the limiter's own clock: nanoseconds since it was made, by
// the monotonic clock where there is one.
type moment int64

// never is the moment of what did not happen.
const never moment = math.MinInt64

func after(m moment, d time.Duration) moment {
	if m == never {
		return never
	}
	return m + moment(d)
}

// id stands for an origin or an address: 128 bits of two seeded hashes. It takes a third
// of the memory of the name. Of 10^9 sites two have the same id with a probability of 1
// in 10^20; they would then share one pace.
type id [2]uint64

// site is what is kept of an origin, 32 bytes beside its id.
type site struct {
	last     moment  // end of the last response
	retry    moment  // when a Retry-After allows the next request
	overload moment  // when the site last said that it is overloaded
	slowest  float32 // seconds for which last matters
	back     BackOff
}

var fresh = site{last: never, retry: never, overload: never / 2}

// named is how many states the name of a site counts as that is to be left alone for longer
// than its interval: 100 bytes beside its host, which has 253 at most and 30 as a rule.
const named = 2

// bytesPerState are those of a state in a map that is filled as maps are on the
// average: 16 for the id, 32 or 24 for the state, 1 of the map, over a load between
// 7/16 and 7/8. BenchmarkIdle holds the number against the heap.
const bytesPerState = 128

// States that say what a fresh one says are useless. They are swept out when there are
// twice as many states as the last sweep left, so that a state costs the same whatever
// their number; leastSweep is the number that is not worth a sweep.
const leastSweep = 1024

func (l *Local) moment(t time.Time) moment { return moment(t.Sub(l.base)) }

func idOf[T robots.Origin | netip.Addr](l *Local, of T) id {
	return id{maphash.Comparable(l.seeds[0], of), maphash.Comparable(l.seeds[1], of)}
}

// uselessFrom returns the moment from which a site says what a fresh one says.
func (l *Local) uselessFrom(s site) moment {
	at := max(s.retry, after(s.last, time.Duration(float64(s.slowest)*float64(time.Second))+time.Microsecond))
	if s.back.Factor > 0 {
		at = max(at, after(s.overload, l.options.Forget))
	}
	return at
}

// site returns what is kept of an origin, and of a in place of the map if it is held.
func (l *Local) site(origin id, a *active) (s site, known bool) {
	if a != nil && a.tenure.number != 0 {
		return a.tenure.site, true
	}
	s, known = l.sites[origin]
	return s, known
}

func (l *Local) keep(origin id, a *active, s site) {
	if a != nil && a.tenure.number != 0 {
		a.tenure.site = s
	} else {
		l.sites[origin] = s
	}
}

// touch notes an event at a site and for how long it matters.
func (l *Local) touch(origin id, a *active, at moment, slowest time.Duration) {
	s, ok := l.site(origin, a)
	if !ok || l.uselessFrom(s) <= at {
		s = fresh
	}
	s.last = max(s.last, at)
	// Rounded up: a float32 is out by 2^-24 of its value.
	s.slowest = max(s.slowest, float32(slowest.Seconds()*(1+1e-6)))
	l.keep(origin, a, s)
}

// untouch takes a start back that was not used.
func (l *Local) untouch(origin id, a *active, g grant) {
	if s, ok := l.site(origin, a); ok && s.last == g.start {
		s.last = g.last
		l.keep(origin, a, s)
	}
}

// answered notes what a site answered. The name of one that is to be left alone for longer is
// noted too, for the next process.
func (l *Local) answered(name robots.Origin, origin id, a *active, at moment, r Result) {
	s, _ := l.site(origin, a)
	if at-s.overload >= moment(l.options.Forget) {
		s.back = BackOff{}
	}
	if s.back = s.back.After(r); r.Overload() {
		s.overload = at
	}
	if r.RetryAfter > 0 {
		s.retry = max(s.retry, after(at, min(r.RetryAfter, l.options.MaxRetryAfter)))
	}
	l.keep(origin, a, s)
	switch _, known := l.names[origin]; {
	case l.tenant: // nobody asks for names
	case !known && l.rests(s, at) && !l.full(at):
		l.names[origin] = name
	case known && !l.rests(s, at):
		delete(l.names, origin)
	}
}

// rests reports whether a site is to be left alone for longer than its interval.
func (l *Local) rests(s site, at moment) bool {
	return s.retry > at || s.back.Factor > 0 && at-s.overload < moment(l.options.Forget)
}

// full makes room for one site more and reports whether there is none.
func (l *Local) full(now moment) bool {
	if len(l.addrs) >= l.sweepAddrs {
		l.sweepAddresses(now)
	}
	full := func() bool {
		return len(l.sites)+len(l.addrs)+named*len(l.names)+2 > max(l.options.MaxBytes/bytesPerState, 1)
	}
	switch {
	case !full():
		if len(l.sites) >= l.sweepSites {
			l.sweep(now)
		}
		return false
	case now < l.room:
		return true
	}
	l.sweepAddresses(now)
	l.sweep(now)
	return full()
}

// fullWait is after how long a full limiter looks again where it cannot know
// when there will be room: a site is at work.
const fullWait = time.Second

func (l *Local) sweep(now moment) {
	l.room = math.MaxInt64
	if 4*len(l.addrs) > l.options.MaxBytes/bytesPerState {
		l.room = after(now, fullWait)
	}
	for origin, s := range l.sites {
		at := l.uselessFrom(s)
		switch a := l.active[origin]; {
		case a != nil: // it stays, for the last time if its grants were lost
			l.endLost(origin, a, now)
			l.retire(origin, a)
			l.room = min(l.room, after(now, fullWait))
		case at <= now:
			delete(l.sites, origin)
			delete(l.names, origin)
		default:
			l.room = min(l.room, at)
		}
	}
	if l.room == math.MaxInt64 {
		l.room = after(now, fullWait)
	}
	l.sites = shrunk(l.sites, l.sweepSites)
	l.sweepSites = max(2*len(l.sites), leastSweep)
}

func (l *Local) sweepAddresses(now moment) {
	for addr, a := range l.addrs {
		if a.until <= now {
			delete(l.addrs, addr)
		}
	}
	l.addrs = shrunk(l.addrs, l.sweepAddrs)
	l.sweepAddrs = max(2*len(l.addrs), leastSweep)
}

// shrunk copies a map that has far fewer values than it had, since a map never gives
// memory back.
func shrunk[V any](old map[id]V, held int) map[id]V {
	if len(old) > held/4 {
		return old
	}
	m := make(map[id]V, len(old))
	maps.Copy(m, old)
	return m
}
