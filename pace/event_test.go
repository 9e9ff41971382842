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
