package pace_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// TestObserve: every call of a limiter that decides is told of once, with what came of it.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		l, err := pace.NewLocal(pace.Options{AddressInterval: -1, Observe: func(e pace.Event) {
			fmt.Fprintf(&told, "%s %s %s %s %v\n", e.Kind, e.Cause, e.Took, e.Origin.Host(), e.Err != nil)
		}})
		if err != nil {
			t.Fatal(err)
		}
		origin, _, err := robots.ParseURL("https://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		ctx, key := t.Context(), pace.Key{Origin: origin}
		g, _ := l.Reserve(ctx, key, nil, 0)
		_, _ = l.Lend(ctx, key, nil, 0, time.Minute)
		_ = l.Done(ctx, g, pace.Result{Status: 200})
		_ = l.Done(ctx, pace.Grant{}, pace.Result{}) // which is none
		g, _ = l.Wait(ctx, key, nil)
		_ = l.Done(ctx, g, pace.Result{Unused: true})
		late, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _ = l.NotBefore(ctx, key, nil)
		_, _ = l.Wait(ctx, key, nil)
		_, _ = l.Wait(late, key, nil)
		want := `granted  0s a.example false
refused default 4s a.example false
returned  0s a.example false
granted  4s a.example false
returned  0s a.example false
granted  0s a.example false
failed  0s a.example true
`
		if got := told.String(); got != want {
			t.Errorf("told\n%s\nwant\n%s", got, want)
		}
	})
}

// TestObserveCost: who is not told costs nothing, and an event no allocation.
func TestObserveCost(t *testing.T) {
	origin, _, err := robots.ParseURL("https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	now, told := time.Now(), 0
	allocations := func(observe func(pace.Event)) float64 {
		l, err := pace.NewLocal(pace.Options{AddressInterval: -1, Now: func() time.Time { return now }, Observe: observe})
		if err != nil {
			t.Fatal(err)
		}
		key := pace.Key{Origin: origin}
		return testing.AllocsPerRun(1000, func() {
			now = now.Add(time.Minute)
			g, err := l.Reserve(t.Context(), key, nil, 0)
			if err != nil || !g.OK() {
				t.Fatal(g, err)
			}
			_ = l.Done(t.Context(), g, pace.Result{Status: 200})
		})
	}
	with := allocations(func(pace.Event) { told++ })
	if without := allocations(nil); with != without || told != 2*1001 {
		t.Errorf("%v allocations for a grant and its end with %d events, %v without", with, told, without)
	}
	var o pace.Options
	if n := testing.AllocsPerRun(100, func() {
		o.TellDecided(origin, o.Asked(), pace.Grant{ID: 1}, nil)
		o.TellDone(pace.Grant{ID: 1}, pace.Result{}, nil)
		o.Tell(pace.Event{})
	}); n != 0 || !o.Asked().IsZero() {
		t.Errorf("%v allocations for nobody", n)
	}
}
