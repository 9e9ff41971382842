package pace

import (
	"fmt"
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

// TestReleaseUnknown: releases of unknown permits stay within the bound of the memory.
func TestReleaseUnknown(t *testing.T) {
	l, err := NewLocal(Options{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100_000 {
		o, _, err := robots.ParseURL(fmt.Sprintf("http://s%d.example/", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context(), Permit{ID: "x", Origin: o}, Result{Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.sites); n > 1<<20/bytesPerState {
		t.Errorf("%d states", n)
	}
}
