package pace

import (
	"hash/maphash"
	"maps"
	"math"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace/internal/backoff"
)

// moment is a time on the limiter's own clock: nanoseconds since it was made, by
// the monotonic clock where there is one.
type moment int64

// never is the moment of an event that did not happen.
const never moment = math.MinInt64

func after(m moment, d time.Duration) moment {
	if m == never {
		return never
	}
	return m + moment(d)
}

// id stands for an origin or an address: 128 bits of two seeded hashes, a third of the
// memory of the name. Of 10^9 sites two have the same id with a probability of 1 in 10^20;
// they would then share one pace.
type id [2]uint64

// site is the state of an origin, 32 bytes in addition to its id.
type site struct {
	last     moment  // end of the last response
	retry    moment  // when a Retry-After allows the next request
	overload moment  // when the site last signaled overload
	slowest  float32 // seconds for which last matters
	back     backoff.BackOff
}

var fresh = site{last: never, retry: never, overload: never / 2}

// named is how many states the name of a resting site counts as: 100 bytes and its host,
// which has 253 at most and usually 30.
const named = 2

// bytesPerState are those of a state in a map of average load: 16 for the id, 32 or 24 for
// the state, 1 of the map, over a load between 7/16 and 7/8. BenchmarkIdle compares the
// number with the heap.
const bytesPerState = 128

// States equal to that of an unknown site are useless. They are swept out when there are
// twice as many states as the last sweep left, so that a state costs the same whatever
// their number; leastSweep is the number that is not worth a sweep.
const leastSweep = 1024

func (l *Local) moment(t time.Time) moment { return moment(t.Sub(l.base)) }

func idOf[T robots.Origin | netip.Addr](l *Local, of T) id {
	return id{maphash.Comparable(l.seeds[0], of), maphash.Comparable(l.seeds[1], of)}
}

// uselessFrom returns the moment from which a state is that of an unknown site.
func (l *Local) uselessFrom(s site) moment {
	at := max(s.retry, after(s.last, time.Duration(float64(s.slowest)*float64(time.Second))+time.Microsecond))
	if s.back.Factor > 0 {
		at = max(at, after(s.overload, l.options.MaxBackOff))
	}
	return at
}

// touch records an event at a site and for how long it matters.
func (l *Local) touch(origin id, at moment, slowest time.Duration) {
	s, ok := l.sites[origin]
	if !ok || l.uselessFrom(s) <= at {
		s = fresh
	}
	s.last = max(s.last, at)
	// Rounded up: a float32 is out by 2^-24 of its value.
	s.slowest = max(s.slowest, float32(slowest.Seconds()*(1+1e-6)))
	l.sites[origin] = s
}

// untouch takes back the start of a permit that was not used.
func (l *Local) untouch(origin id, a *active, p permit) {
	if s := l.sites[origin]; s.last == p.start {
		s.last = p.last
		l.sites[origin] = s
	}
	if a.started == p.start {
		a.started = never
	}
}

// responded records the result of a request, and the name of a site that rests, for
// Snapshot.
func (l *Local) responded(name robots.Origin, origin id, at moment, r Result) {
	s := l.sites[origin]
	if !l.backsOff(s, at) {
		s.back = backoff.BackOff{}
	}
	if s.back = s.back.After(r.Overload(), r.Recovered()); r.Overload() {
		s.overload = at
	}
	if r.RetryAfter > 0 {
		s.retry = max(s.retry, after(at, min(r.RetryAfter, l.options.MaxRetryAfter)))
	}
	l.sites[origin] = s
	switch _, known := l.names[origin]; {
	case !known && l.rests(s, at) && !l.full(at):
		l.names[origin] = name
	case known && !l.rests(s, at):
		delete(l.names, origin)
	}
}

func (l *Local) backsOff(s site, at moment) bool {
	return s.back.Factor > 0 && at-s.overload < moment(l.options.MaxBackOff)
}

// rests reports whether a site needs more than its interval.
func (l *Local) rests(s site, at moment) bool { return s.retry > at || l.backsOff(s, at) }

// full makes room for one more site and reports whether there is none.
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
// when there will be room: a site has permits.
const fullWait = time.Second

func (l *Local) sweep(now moment) {
	l.room = math.MaxInt64
	if 4*len(l.addrs) > l.options.MaxBytes/bytesPerState {
		l.room = after(now, fullWait)
	}
	for origin, s := range l.sites {
		at := l.uselessFrom(s)
		switch a := l.active[origin]; {
		case a != nil: // kept, for the last time if its permits have expired
			l.expire(origin, a, now)
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
