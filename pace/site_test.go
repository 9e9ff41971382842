package pace_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// TestTakeOver: two limiters that hand a site over, each time to one that knows an older
// state of it, decide as one that keeps it.
func TestTakeOver(t *testing.T) {
	now := at("2026-03-01T12:00:00Z")
	o := pace.Options{Now: func() time.Time { return now }, Forget: time.Hour}
	s := schedule(t, "User-agent: *\nCrawl-delay: 7\n", robots.RFC9309, pace.Policy{})
	key := pace.Key{Origin: origin("hand.example")}
	keeps, two := local(t, o), [2]*pace.Local{local(t, o), local(t, o)}
	r := rand.New(rand.NewPCG(1, 2))
	holder, asked, granted := two[0], 0, 0
	for range 3000 {
		if next := two[r.IntN(2)]; next != holder {
			h, idle := holder.History(key.Origin)
			if !idle {
				t.Fatal("not idle, with all grants given back")
			}
			next.TakeOver(key.Origin, h)
			holder = next
		}
		now = now.Add(time.Duration(r.Int64N(int64([]time.Duration{time.Second, 10 * time.Second, 2 * time.Hour}[r.IntN(3)]))))
		want, err := keeps.Reserve(t.Context(), key, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := holder.Reserve(t.Context(), key, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		if asked++; got.OK() != want.OK() || got.Interval != want.Interval || got.Start.Sub(want.Start).Abs() > 0 {
			t.Fatalf("after %d decisions %v, want %v", asked, got.Turn, want.Turn)
		}
		if !got.OK() {
			continue
		}
		granted++
		if _, idle := holder.History(key.Origin); idle {
			t.Fatal("idle, with a grant under way")
		}
		result := pace.Result{Status: []int{200, 404, 500, 429, 503}[r.IntN(5)], Unused: r.IntN(5) == 0}
		if r.IntN(5) == 0 {
			result.RetryAfter = time.Duration(r.Int64N(int64(time.Minute)))
		}
		now = now.Add(time.Duration(r.Int64N(int64(time.Second))))
		for _, end := range []struct {
			l *pace.Local
			g pace.Grant
		}{{keeps, want}, {holder, got}} {
			if err := end.l.Done(t.Context(), end.g, result); err != nil {
				t.Fatal(err)
			}
		}
	}
	if granted < 500 || granted > asked-500 {
		t.Errorf("%d of %d decisions are grants", granted, asked)
	}
	t.Logf("%d decisions, %d grants", asked, granted)
}

// TestTenant: a tenant grants at the sites that it holds, as long as it does by both clocks,
// and knows at the next tenure what it knew before.
func TestTenant(t *testing.T) {
	t.Parallel()
	now := at("2026-03-01T12:00:00Z")
	l, err := pace.NewTenant(pace.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	s := schedule(t, "User-agent: *\nCrawl-delay: 10\n", robots.RFC9309, pace.Policy{})
	key := pace.Key{Origin: origin("held.example")}
	reserve := func(want error) pace.Grant {
		t.Helper()
		g, err := l.Reserve(t.Context(), key, s, 0)
		if err != want {
			t.Fatalf("Reserve says %v, want %v", err, want)
		}
		return g
	}
	done := func(g pace.Grant) {
		t.Helper()
		if err := l.Done(t.Context(), g, pace.Result{Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	reserve(pace.ErrNotHeld)
	if _, err := l.NotBefore(t.Context(), key, s); err != pace.ErrNotHeld {
		t.Errorf("NotBefore says %v", err)
	}
	if _, err := l.Wait(t.Context(), key, s); err != pace.ErrNotHeld {
		t.Errorf("Wait says %v", err)
	}
	l.Hold(key.Origin, 7, now, time.Minute)
	g := reserve(nil)
	if !g.OK() || !l.Valid(g) || !l.Holds(key.Origin) {
		t.Fatalf("a site that is held: %v, valid %t", g, l.Valid(g))
	}
	if number, _, left := l.Leave(key.Origin, true); left || number != 7 {
		t.Errorf("a site with a request under way was left: %d, %t", number, left)
	}
	l.End(key.Origin, 6) // of an earlier tenure
	if !l.Valid(g) {
		t.Error("the end of another tenure counts")
	}
	l.End(key.Origin, 7)
	l.Hold(key.Origin, 8, now, time.Minute)
	if busy := reserve(nil); l.Valid(g) || busy.OK() || !slices.ContainsFunc(busy.Reasons, func(r pace.Reason) bool { return r.Cause == pace.CauseBusy }) {
		t.Error("a grant of the tenure before is valid, or not under way any more")
	}
	done(g)
	if turn := reserve(nil).Turn; !turn.Start.Equal(now.Add(10 * time.Second)) {
		t.Errorf("after a request under an earlier tenure the next may start at %v", turn)
	}
	if _, _, left := l.Leave(key.Origin, false); left {
		t.Error("a site was left that is used")
	}
	if number, _, left := l.Leave(key.Origin, false); !left || number != 8 {
		t.Errorf("a site that nobody has used since was not left: %d, %t", number, left)
	}
	reserve(pace.ErrNotHeld)

	l.Hold(key.Origin, 9, now, time.Minute)
	now = now.Add(40 * time.Second)
	l.Extend(key.Origin, 8, now, time.Hour)
	g = reserve(nil)
	done(g)
	now = now.Add(20 * time.Second)
	if l.Valid(g) || l.Holds(key.Origin) {
		t.Error("the tenure has not ended")
	}
	l.Extend(key.Origin, 9, now, time.Minute)
	if !l.Valid(g) {
		t.Error("the tenure was not extended")
	}
	now = now.Add(time.Hour)
	if number, _, left := l.Leave(key.Origin, true); left || number != 0 {
		t.Errorf("a tenure that has ended was left: %d, %t", number, left)
	}
	if sites, grants := l.Held(); sites != 0 || grants != 2 {
		t.Errorf("%d sites are held, and %d grants were given, want 0 and 2", sites, grants)
	}
}

// TestTenantFull: a tenant with room for one state says of each site that it leaves what it
// knows, though it cannot keep it.
func TestTenantFull(t *testing.T) {
	t.Parallel()
	now := at("2026-03-01T12:00:00Z")
	l, err := pace.NewTenant(pace.Options{Now: func() time.Time { return now }, MaxBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := schedule(t, "User-agent: *\nCrawl-delay: 10\n", robots.RFC9309, pace.Policy{})
	for i := range uint32(5) {
		key := pace.Key{Origin: origin(fmt.Sprintf("%d.example", i))}
		l.Hold(key.Origin, i+1, now, time.Minute)
		g, err := l.Reserve(t.Context(), key, s, 0)
		if err != nil || !g.OK() {
			t.Fatal(g, err)
		}
		if err := l.Done(t.Context(), g, pace.Result{Status: 429, RetryAfter: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if _, h, left := l.Leave(key.Origin, true); !left || !h.Last.Equal(now) || !h.NotBefore.Equal(now.Add(time.Hour)) {
			t.Errorf("site %d is left (%t) with %+v", i, left, h)
		}
	}
}
