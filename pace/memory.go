package pace

import (
	"hash/maphash"
	"maps"
	"math"
	"net/netip"
	"time"
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

func before(m moment, d time.Duration) moment { return after(m, -d) }

// id stands for an origin or an address: 128 bits of two seeded hashes. Keeping
// them in place of the names takes a third of the memory and lets the names go;
// that two of 10^9 sites ever share one is as likely as 1 in 10^20, and would
// cost them a slower pace.
type id [2]uint64

// site is what is kept of an origin, 32 bytes beside its id.
type site struct {
	last     moment  // end of the last response
	retry    moment  // a Retry-After forbids to come before
	overload moment  // when the site last said that it is overloaded
	slowest  float32 // seconds for which last matters
	back     BackOff
}

var fresh = site{last: never, retry: never, overload: never / 2}

// address is what is kept of the requests to an IP address, and apart from them of
// the fetches of robots.txt from it.
type address struct {
	last moment        // last start on it
	tail moment        // start of the last waiter that has a place
	gap  time.Duration // for which the last start matters, in a fleet of one
}

// bytes of a state in a map that is filled as maps are on the average: 16 for
// the id, 32 or 24 for the state, 1 of the map, over a load between 7/16 and 7/8.
// BenchmarkIdle holds the number against the heap.
const bytesPerState = 128

// memory holds the states of a limiter. Dead states are those that say what a
// fresh one says; they are swept out when there are twice as many states as the
// last sweep left, so that a state costs the same whatever their number.
type memory struct {
	base         time.Time
	seeds        [2]maphash.Seed
	sites        map[id]site
	addrs        map[id]address
	most         int // states
	forget       time.Duration
	workers      int64 // by which the pace of an address is divided
	maxRetry     time.Duration
	sweepSites   int // sweep at as many
	sweepAddrs   int
	soonest      moment // when full: the first moment at which a state may be dead
	soonestKnown bool
}

// leastSweep is the number of states that is not worth a sweep.
const leastSweep = 1024

func newMemory(o Options) memory {
	return memory{
		base:       o.Now(),
		seeds:      [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		sites:      map[id]site{},
		addrs:      map[id]address{},
		most:       max(o.MaxBytes/bytesPerState, 1),
		forget:     o.Forget,
		workers:    1,
		maxRetry:   o.MaxRetryAfter,
		sweepSites: leastSweep,
		sweepAddrs: leastSweep,
	}
}

func (m *memory) moment(t time.Time) moment { return moment(t.Sub(m.base)) }

func (m *memory) origin(k Key) id {
	return id{maphash.Comparable(m.seeds[0], k.Origin), maphash.Comparable(m.seeds[1], k.Origin)}
}

// source is what has a pace at an address: requests, or the fetches of robots.txt. It
// differs from the address in a field, since a hash does not know of types.
type source struct {
	addr    netip.Addr
	fetches bool
}

func (m *memory) address(addr netip.Addr) id { return m.source(source{addr, false}) }

func (m *memory) fetches(addr netip.Addr) id { return m.source(source{addr, true}) }

func (m *memory) source(s source) id {
	return id{maphash.Comparable(m.seeds[0], s), maphash.Comparable(m.seeds[1], s)}
}

// shared returns an interval at an address for this worker of a fleet.
func (m *memory) shared(interval time.Duration) time.Duration {
	if interval > MaxInterval/time.Duration(m.workers) {
		return MaxInterval
	}
	return interval * time.Duration(m.workers)
}

// dead returns the moment from which a site says what a fresh one says.
func (m *memory) dead(s site) moment {
	at := max(s.retry, after(s.last, time.Duration(float64(s.slowest)*float64(time.Second))+time.Microsecond))
	if s.back.Factor > 0 {
		at = max(at, after(s.overload, m.forget))
	}
	return at
}

// touch notes an event at a site and for how long it matters.
func (m *memory) touch(origin id, at moment, slowest time.Duration) {
	s, ok := m.sites[origin]
	if !ok || m.dead(s) <= at {
		s = fresh
	}
	s.last = max(s.last, at)
	// Rounded up: a float32 is out by 2^-24 of its value.
	s.slowest = max(s.slowest, float32(slowest.Seconds()*(1+1e-6)))
	m.sites[origin] = s
}

// untouch takes a start back that was not used.
func (m *memory) untouch(origin id, g grant) {
	if s, ok := m.sites[origin]; ok && s.last == g.start {
		s.last = g.last
		m.sites[origin] = s
	}
	if a, ok := m.addrs[g.addr]; ok && g.addressed && a.last == g.start {
		a.last = before(g.start, m.shared(a.gap)) // it was ready at the start
		m.addrs[g.addr] = a
	}
}

// settle notes what a site answered.
func (m *memory) settle(origin id, at moment, r Result) {
	s := m.sites[origin]
	if at-s.overload >= moment(m.forget) {
		s.back = BackOff{}
	}
	if s.back = s.back.After(r); r.Overload() {
		s.overload = at
	}
	if r.RetryAfter > 0 {
		s.retry = max(s.retry, after(at, min(r.RetryAfter, m.maxRetry)))
	}
	m.sites[origin] = s
}

// visit notes a start on an address and for how long it matters.
func (m *memory) visit(addr id, at moment, gap time.Duration) {
	a, ok := m.addrs[addr]
	if !ok {
		a = address{last: never, tail: never}
	}
	a.last, a.gap = max(a.last, at), gap
	m.addrs[addr] = a
}

// crowded makes room for one site more and reports whether there is none.
func (m *memory) crowded(now moment, busy func(id, moment) bool) bool {
	if len(m.addrs) >= m.sweepAddrs {
		m.sweepAddresses(now)
	}
	full := len(m.sites)+len(m.addrs)+2 > m.most
	if len(m.sites) < m.sweepSites && !full {
		return false
	}
	if full && m.soonestKnown && now < m.soonest {
		return true
	}
	if full {
		m.sweepAddresses(now)
	}
	m.sweep(now, busy)
	return len(m.sites)+len(m.addrs)+2 > m.most
}

// fullWait is after how long a full limiter looks again where it cannot know
// when a place will be free: a site is at work.
const fullWait = time.Second

func (m *memory) sweep(now moment, busy func(id, moment) bool) {
	m.soonest, m.soonestKnown = math.MaxInt64, true
	if 4*len(m.addrs) > m.most {
		m.soonest = after(now, fullWait)
	}
	for origin, s := range m.sites {
		switch at := m.dead(s); {
		case busy(origin, now):
			m.soonest = min(m.soonest, after(now, fullWait))
		case at <= now:
			delete(m.sites, origin)
		default:
			m.soonest = min(m.soonest, at)
		}
	}
	if m.soonest == math.MaxInt64 {
		m.soonest = after(now, fullWait)
	}
	m.sites = shrunk(m.sites, m.sweepSites)
	m.sweepSites = max(2*len(m.sites), leastSweep)
}

func (m *memory) sweepAddresses(now moment) {
	for addr, a := range m.addrs {
		if after(max(a.last, a.tail), m.shared(a.gap)) <= now {
			delete(m.addrs, addr)
		}
	}
	m.addrs = shrunk(m.addrs, m.sweepAddrs)
	m.sweepAddrs = max(2*len(m.addrs), leastSweep)
}

// shrunk copies a map that once held many times what it holds, since a map never
// gives memory back.
func shrunk[V any](old map[id]V, held int) map[id]V {
	if len(old) > held/4 {
		return old
	}
	m := make(map[id]V, len(old))
	maps.Copy(m, old)
	return m
}
