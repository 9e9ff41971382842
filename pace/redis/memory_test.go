package redis_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

var ok = pace.Result{Status: 200}

// ready has a limiter know sites, and waits until they are ready.
func ready(t *testing.T, l *redis.Limiter, sites ...pace.Request) {
	t.Helper()
	for _, r := range sites {
		if err := l.StartFetch(t.Context(), r.Origin, netip.Addr{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range sites {
		p, err := l.Acquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context(), p, pace.Result{Unused: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostPermit checks that two workers start an interval apart if the server loses the permit
// of the first before its Start.
func TestLostPermit(t *testing.T) {
	t.Parallel()
	const interval = 300 * time.Millisecond
	for name, lose := range map[string]func(*redistest.Server){
		"Emptied":  func(s *redistest.Server) { s.Do("FLUSHALL") },
		"Replaced": func(s *redistest.Server) { s.Replace() },
	} {
		for _, waits := range []time.Duration{0, redis.Startable / 2, 2 * redis.Startable, interval} {
			t.Run(name+waits.String(), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t, redistest.Options{})
				o := redis.Options{Prefix: fresh()}
				first, second := newLimiter(t, server.Client(), o), newLimiter(t, server.Client(), o)
				r := pace.Request{Origin: originOf(t, "a.example"), Schedule: steady(t, interval)}
				ready(t, first, r)
				p, err := first.Acquire(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				lose(server)
				started := make(chan time.Time, 1)
				go func() {
					defer func() { started <- time.Now() }()
					start(t, second, r, netip.Addr{})
				}()
				time.Sleep(waits)
				called := time.Now()
				err = first.Start(t.Context(), p, netip.Addr{})
				if _, missed := errors.AsType[*pace.MissedError](err); err != nil && !missed {
					t.Fatal(err)
				}
				if other := <-started; err == nil && other.Sub(called) < interval-redis.Startable-logSlack && called.Sub(other) < interval {
					t.Errorf("a start %s after that of a lost permit, want %s", other.Sub(called), interval)
				}
			})
		}
	}
}

// TestClockStep checks that the first call of a worker after a step of the clock starts nothing
// early, at a site and at an address, also if it is its first call about them or an operator
// changes the site, and that a site does not wait for the length of the step.
func TestClockStep(t *testing.T) {
	t.Parallel()
	const interval = 500 * time.Millisecond
	addr := netip.MustParseAddr("192.0.2.1")
	for _, cluster := range []bool{false, true} {
		o := redistest.Options{Clock: true}
		if cluster {
			o.Config = []string{"cluster-enabled yes"}
		}
		server := redistest.Start(t, o)
		if cluster {
			server.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
			until(t, "a cluster", func() bool { return contains(server.Do("CLUSTER", "INFO"), "cluster_state:ok") })
		}
		for _, step := range []time.Duration{interval, 24 * time.Hour, -24 * time.Hour} {
			t.Run(fmt.Sprint("Cluster ", cluster, step), func(t *testing.T) {
				o := redis.Options{Prefix: fresh(), Options: pace.Options{AddressInterval: interval}}
				l, other, third := newLimiter(t, server.Client(), o), newLimiter(t, server.Client(), o), newLimiter(t, server.Client(), o)
				list := []pace.Request{{Origin: originOf(t, "a.example"), Schedule: steady(t, time.Millisecond)}, {Origin: originOf(t, "b.example"), Schedule: steady(t, time.Millisecond)}}
				ready(t, l, list...)
				ready(t, other, list[1])
				p, called := start(t, l, list[0], addr)
				began := time.Now() // the start at the address is between these
				if err := l.Release(t.Context(), p, ok); err != nil {
					t.Fatal(err)
				}
				list[0].Schedule = steady(t, interval)
				server.SetClock(step)
				defer server.SetClock(0)
				if err := newOperator(t, server, o.Prefix).Forget(t.Context(), list[0].Origin); err != nil {
					t.Error(err)
				}
				for _, l := range []*redis.Limiter{other, l} {
					if p := try(t, l, list[0]); p.OK() && p.Start.Sub(began) < interval-logSlack {
						t.Errorf("a start %s after a response, want %s", p.Start.Sub(began), interval)
					}
				}
				if err := l.StartFetch(t.Context(), list[1].Origin, netip.Addr{}); err != nil {
					t.Error(err)
				}
				p = try(t, third, list[1])
				if d := time.Until(p.NotBefore); d > time.Minute {
					t.Errorf("a site that was requested after the step is ready in %s", d)
				}
				if p.OK() { // the site's interval has passed
					if err := third.Release(t.Context(), p, pace.Result{Unused: true}); err != nil {
						t.Error(err)
					}
				}
				start(t, other, list[1], addr)
				if d := time.Since(called); d < interval-logSlack {
					t.Errorf("a start %s after another at the address, want %s", d, interval)
				}
			})
		}
	}
}

// start starts a request at an address, with another permit if one expires on a busy machine. It
// returns the time before the call.
func start(t *testing.T, l *redis.Limiter, r pace.Request, addr netip.Addr) (p pace.Permit, called time.Time) {
	t.Helper()
	for {
		p = acquired(t, l, r)
		called = time.Now()
		err := l.Start(t.Context(), p, addr)
		if err == nil {
			return p, called
		}
		if !errors.As(err, new(*pace.MissedError)) {
			t.Fatal(err)
		}
		if err := l.Release(t.Context(), p, pace.Result{Unused: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLongDelay checks that a site with a Crawl-delay of two days is requested, and that its key
// lives as long.
func TestLongDelay(t *testing.T) {
	t.Parallel()
	const delay = 172800 * time.Second
	server := redistest.Start(t, redistest.Options{Clock: true})
	o := redis.Options{Prefix: fresh()}
	l := newLimiter(t, server.Client(), o)
	s, err := pace.NewSchedule(nil, pace.Policy{Default: delay, Ceiling: delay})
	if err != nil {
		t.Fatal(err)
	}
	r := pace.Request{Origin: originOf(t, "slow.example"), Schedule: s}
	quick := r
	quick.Schedule = steady(t, time.Millisecond)
	ready(t, l, quick)
	p := try(t, l, quick)
	if err := l.Release(t.Context(), p, ok); err != nil || !p.OK() {
		t.Fatal(p, err)
	}
	r.Within = delay + time.Hour
	if p = try(t, l, r); !p.OK() || time.Until(p.Start) < delay-time.Minute {
		t.Fatalf("%v, want a start in %s", p, delay)
	}
	if err := l.Release(t.Context(), p, ok); err != nil {
		t.Fatal(err)
	}
	ttl := server.Do("PTTL", stateKey(o.Prefix, r.Origin.String()))
	if len(ttl) < len("172800000") || ttl < "172700000" {
		t.Errorf("the key lives for %s ms, want as long as the Crawl-delay", ttl)
	}
	other := pace.Request{Origin: originOf(t, "quick.example"), Schedule: quick.Schedule}
	ready(t, l, other)
	if ttl := server.Do("PTTL", stateKey(o.Prefix, other.Origin.String())); len(ttl) != len("600000") && len(ttl) != len("1200000") {
		t.Errorf("the key of a site without a delay lives for %s ms, want some minutes", ttl)
	}
}

// try asks for one site.
func try(t testing.TB, l *redis.Limiter, r pace.Request) pace.Permit {
	t.Helper()
	permits, err := l.Try(t.Context(), []pace.Request{r}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return permits[0]
}

// TestReasons checks that the address is no reason where the site itself is later.
func TestReasons(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, redistest.Start(t, redistest.Options{}).Client(), redis.Options{Options: pace.Options{AddressInterval: 50 * time.Millisecond}})
	r := pace.Request{Origin: originOf(t, "late.example"), Schedule: steady(t, time.Millisecond), Addr: netip.MustParseAddr("192.0.2.1")}
	if err := l.StartFetch(t.Context(), r.Origin, r.Addr); err != nil {
		t.Fatal(err)
	}
	p, err := l.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context(), p, pace.Result{Status: 200, RetryAfter: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if p := try(t, l, r); p.Reasons[0].Cause != pace.CauseRetryAfter {
		t.Errorf("the first reason is %s, want %s", p.Reasons[0].Cause, pace.CauseRetryAfter)
	}
}

// TestDamaged checks that a damaged value counts as requested now, once.
func TestDamaged(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	o := redis.Options{Prefix: fresh()}
	l := newLimiter(t, server.Client(), o)
	r := pace.Request{Origin: originOf(t, "a.example"), Schedule: steady(t, 100*time.Millisecond)}
	ready(t, l, r)
	key, addr := stateKey(o.Prefix, r.Origin.String()), stateKey(o.Prefix, "192.0.2.1")
	for _, damage := range [][]string{{"SET", key, "x"}, {"SETRANGE", key, "8", "xxxxxxxx"}, {"SETRANGE", key, "60", "x"}, {"DEL", key}} {
		server.Do(damage...)
		if p := try(t, l, r); p.OK() {
			t.Errorf("%q: a permit at once", damage)
		}
		server.Do("SET", addr, damage[len(damage)-1])
		p, _ := start(t, l, r, netip.MustParseAddr("192.0.2.1"))
		if err := l.Release(t.Context(), p, ok); err != nil {
			t.Error(err)
		}
	}
	server.Do("DEL", key)
	server.Do("LPUSH", key, "another type")
	if p, err := l.Acquire(t.Context(), r); err != nil || !p.OK() {
		t.Error(p, err)
	}
}

// TestConfig checks that the workers of a fleet have one configuration.
func TestConfig(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	o := redis.Options{Prefix: fresh(), Options: pace.Options{Concurrency: 2, AddressInterval: time.Second}}
	newLimiter(t, server.Client(), o)
	zero := newLimiter(t, server.Client(), redis.Options{Prefix: o.Prefix})
	r := pace.Request{Origin: originOf(t, "a.example"), Schedule: steady(t, time.Millisecond)}
	ready(t, zero, r)
	for range 2 {
		if _, err := zero.Acquire(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if p := try(t, zero, r); p.OK() {
		t.Error("three permits at a time, want the two of the fleet")
	}
	for name, other := range map[string]pace.Options{
		"Concurrency":     {Concurrency: 1},
		"AddressInterval": {AddressInterval: time.Minute},
		"Lifetime":        {Lifetime: time.Hour},
		"Addresses":       {Addresses: []pace.AddressPace{{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Interval: time.Second}}},
	} {
		_, err := redis.New(server.Client(), redis.Options{Prefix: o.Prefix, Options: other})
		if err == nil || !contains(err.Error(), "the fleet's "+name+" is") {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// A farConn is a connection on which each round trip takes longer.
type farConn struct{ net.Conn }

const farTrip = 80 * time.Millisecond

func (c farConn) Write(b []byte) (int, error) {
	time.Sleep(farTrip)
	return c.Conn.Write(b)
}

// TestFar checks that workers start requests over long round trips, and that a worker nearby then
// knows that a permit lost with the memory of the server might start so late.
func TestFar(t *testing.T) {
	t.Parallel()
	server, s, prefix := redistest.Start(t, redistest.Options{}), hot(t), fresh()
	s.addr = netip.MustParseAddr("192.0.2.1")
	near := newLimiter(t, server.Client(), redis.WithHeartbeat(redis.Options{Prefix: prefix, Options: pace.Options{AddressInterval: hotInterval}}, time.Hour))
	listening(t, server, prefix)
	option := server.Option()
	option.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		c, err := d.DialContext(ctx, "tcp", addr)
		return farConn{c}, err
	}
	far := newLimiter(t, redistest.NewClient(t, option), redis.Options{Prefix: prefix})
	until(t, "three starts over a long way", func() bool {
		s.page(t.Context(), t, far)
		return len(s.seen()) >= 3
	})
	began := time.Now()
	lost := try(t, near, pace.Request{Origin: originOf(t, "lost.example"), Schedule: s.Schedule})
	if ahead := lost.NotBefore.Sub(began); ahead < hotInterval+2*farTrip-logSlack {
		t.Errorf("an unknown site is ready after %s, want %s", ahead, hotInterval+2*farTrip)
	}
}
