package pacetest_test

import (
	"testing"
	"testing/synctest"

	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
)

// The test of a limiter is one call. On a simulated clock, as here, the suite takes no time; for
// a limiter with a server, leave Within unset.
func ExampleRun() {
	var t *testing.T // of func TestLimiter(t *testing.T)
	pacetest.Run(t, pacetest.Subject{
		New: func(t *testing.T, o pace.Options) pace.Limiter {
			l, err := pace.NewLocal(o) // or your own
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
		Within: synctest.Test,
	})
}
