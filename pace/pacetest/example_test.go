package pacetest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
)

// countingLimiter is a limiter of your own, here one that counts what is released.
type countingLimiter struct {
	pace.Limiter
	released atomic.Int64
}

func (l *countingLimiter) Release(ctx context.Context, p pace.Permit, r pace.Result) error {
	l.released.Add(1)
	return l.Limiter.Release(ctx, p, r)
}

// A test of a limiter has one call. On a simulated clock, as here, the suite takes no
// time; a limiter that talks to a server leaves Within out.
func ExampleRun() {
	testLimiter := func(t *testing.T) { // func TestLimiter in a file of its own
		pacetest.Run(t, pacetest.Subject{
			New: func(t *testing.T, o pace.Options) pace.Limiter {
				local, err := pace.NewLocal(o)
				if err != nil {
					t.Fatal(err)
				}
				return &countingLimiter{Limiter: local}
			},
			Within: synctest.Test,
		})
	}
	// What go test does with it.
	all := func(string, string) (bool, error) { return true, nil }
	fmt.Println(testing.RunTests(all, []testing.InternalTest{{Name: "TestLimiter", F: testLimiter}}))
	// Output: true
}
