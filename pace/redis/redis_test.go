package redis_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
	"github.com/robotskit/robots/pace/redis"
)

var prefixes atomic.Int64

// fresh returns a prefix that no other limiter of the tests has.
func fresh() string { return fmt.Sprint("t", prefixes.Add(1)) }

func newLimiter(t testing.TB, c rueidis.Client, o redis.Options) *redis.Limiter {
	t.Helper()
	if o.Prefix == "" {
		o.Prefix = fresh()
	}
	l, err := redis.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var (
	until    = redistest.Until
	stateKey = redis.StateKey
	epochKey = redis.EpochKey
	originOf = redis.OriginOf
	steady   = redis.Steady
)

// TestContract holds the limiter against the contract on a plain server and on a
// cluster.
func TestContract(t *testing.T) {
	servers := map[string]redistest.Options{"Plain": {}, "Cluster": {Cluster: true}}
	for name, o := range servers {
		if testing.Short() && o.Cluster {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redistest.Start(t, o).Client()
			pacetest.Run(t, pacetest.Subject{
				New: func(t *testing.T, o pace.Options) pace.Limiter {
					return newLimiter(t, c, redis.Options{Options: o})
				},
				Unit: 100 * time.Millisecond,
				// With several requests at a time the log of a caller that gets its
				// turn late shows two starts closer than they were given.
				Slack: 25 * time.Millisecond,
			})
		})
	}
}
