package pace_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots/pace"
)

// TestObserve: every decision and every release is one event, a look none.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events strings.Builder
		l := local(t, pace.Options{AddressInterval: -1, Observe: func(e pace.Event) {
			fmt.Fprintf(&events, "%s %s %s %s %v\n", e.Kind, e.Cause, e.Took, e.Origin.Host(), e.Err != nil)
		}})
		ctx, request := t.Context(), pace.Request{Origin: origin("a.example")}
		p := try(t, l, request)
		try(t, l, request)
		_ = l.Release(ctx, p, pace.Result{Status: 200})
		_ = l.Release(ctx, pace.Permit{}, pace.Result{}) // not a permit
		p, _ = l.Acquire(ctx, request)
		_ = l.Release(ctx, p, pace.Result{Unused: true})
		late, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _ = l.Try(ctx, []pace.Request{request}, 0)
		_, _ = l.Acquire(ctx, request)
		_, _ = l.Acquire(late, request)
		want := `acquired  0s a.example false
refused default 4s a.example false
released  0s a.example false
acquired  4s a.example false
released  0s a.example false
acquired  0s a.example false
failed  0s a.example true
`
		if got := events.String(); got != want {
			t.Errorf("events\n%s\nwant\n%s", got, want)
		}
	})
}

// TestAllocations: a permit and its release allocate little, and an event nothing.
func TestAllocations(t *testing.T) {
	now, events := time.Now(), 0
	allocations := func(observe func(pace.Event)) float64 {
		l := local(t, pace.Options{AddressInterval: -1, Now: func() time.Time { return now }, Observe: observe})
		list := []pace.Request{{Origin: origin("a.example")}}
		return testing.AllocsPerRun(1000, func() {
			now = now.Add(time.Minute)
			permits, err := l.Try(t.Context(), list, 1)
			if err != nil || !permits[0].OK() {
				t.Fatal(permits, err)
			}
			_ = l.Release(t.Context(), permits[0], pace.Result{Status: 200})
		})
	}
	with, without := allocations(func(pace.Event) { events++ }), allocations(nil)
	if with != without || events != 2*1001 {
		t.Errorf("%v allocations with %d events, %v without", with, events, without)
	}
	if without > 12 {
		t.Errorf("%v allocations for a permit and its release", without)
	}
	t.Log(without)
}
