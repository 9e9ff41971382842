package pace_test

import (
	"math/rand/v2"
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
