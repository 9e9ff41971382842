package pace

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/robotskit/robots"
)

// TestSweep: a crawl over ever new sites keeps the state of the last seconds, including expired
// permits, and that of an overloaded site.
func TestSweep(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l, err := NewLocal(Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(i int, r Result) Permit {
		o, _, err := robots.ParseURL(fmt.Sprintf("http://s%d.example/", i))
		if err != nil {
			t.Fatal(err)
		}
		permits, err := l.Try(t.Context(), []Request{{Origin: o}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if i%100 != 99 { // the others expire
			l.Release(t.Context(), permits[0], r)
		}
		return permits[0]
	}
	ask(0, Result{Status: 503, RetryAfter: 12 * time.Hour})
	most := 0
	for i := 1; i < 40_000; i++ { // 11 hours
		now = now.Add(time.Second)
		ask(i, Result{Status: 200})
		most = max(most, len(l.sites))
	}
	if p := ask(0, Result{}); p.OK() {
		t.Error("the Retry-After of a site is lost")
	}
	t.Logf("40,000 sites, at most %d states", most)
	if most > 2*leastSweep {
		t.Errorf("%d states are kept of sites that matter for 4 s", most)
	}
}

// TestReleaseUnknown: releases of unknown permits, and requests without one, stay within the bound of
// the memory. An unused permit adds no state.
func TestReleaseUnknown(t *testing.T) {
	l, err := NewLocal(Options{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context(), Permit{ID: "x"}, Result{Unused: true}); err != nil || len(l.sites) > 0 {
		t.Errorf("an unused permit: %d states, %v", len(l.sites), err)
	}
	for i := range 100_000 {
		o, _, err := robots.ParseURL(fmt.Sprintf("http://s%d.example/", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context(), Permit{ID: "x", Origin: o}, Result{Status: 200}); err != nil {
			t.Fatal(err)
		}
		l.Requested(t.Context(), o)
	}
	if n := len(l.sites); n > 1<<20/bytesPerState {
		t.Errorf("%d states", n)
	}
}

// TestSweepAddresses: an address is kept for the longer of its two intervals, since a fetch also keeps
// that of fetches from the last page.
func TestSweepAddresses(t *testing.T) {
	addr, now := netip.MustParseAddr("192.0.2.1"), time.Unix(1000, 0)
	l, err := NewLocal(Options{AddressInterval: time.Second, FetchInterval: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	l.reservePage(addr, now, now)
	for i, after := range []time.Duration{time.Minute - 1, time.Minute} {
		l.sweepOut(now.Add(after))
		if want := 1 - i; len(l.addrs) != want {
			t.Errorf("%d addresses after %s, want %d", len(l.addrs), after, want)
		}
	}
}
