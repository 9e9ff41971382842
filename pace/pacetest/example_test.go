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

// countingLimiter is your own limiter, here one that counts releases.
type countingLimiter struct {
	pace.Limiter
	released atomic.Int64
}

func (l *countingLimiter) Release(ctx context.Context, p pace.Permit, r pace.Result) error {
	l.released.Add(1)
	return l.Limiter.Release(ctx, p, r)
}

// The test of a limiter is one call. On a simulated clock, as here, the suite takes no time; for
// a limiter with a server, leave Within unset.
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
	// The result of go test.
	all := func(string, string) (bool, error) { return true, nil }
	fmt.Println(testing.RunTests(all, []testing.InternalTest{{Name: "TestLimiter", F: testLimiter}}))
	// Output: true
}
