package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
	"github.com/robotskit/robots/pace/redis"
)

// unit returns an interval that is long compared with a call on this machine at present.
func unit(t *testing.T, c rueidis.Client) time.Duration {
	slowest := time.Duration(0)
	l := newLimiter(t, c, redis.Options{})
	for range 100 {
		began := time.Now()
		try(t, l, pace.Request{Origin: originOf(t, "unit.example"), Schedule: steady(t, time.Hour)})
		slowest = max(slowest, time.Since(began))
	}
	return max(80*time.Millisecond, min(4*slowest, 2*time.Second))
}

// TestContract holds the limiter against the contract on one server and on a cluster.
func TestContract(t *testing.T) {
	for _, cluster := range []bool{false, true} {
		if testing.Short() && cluster {
			continue
		}
		t.Run(fmt.Sprint("Cluster ", cluster), func(t *testing.T) {
			t.Parallel()
			var server *redistest.Server
			if cluster {
				server = redistest.StartCluster(t, 1)[0]
			} else {
				server = redistest.Start(t, redistest.Options{})
			}
			c := server.Client()
			pacetest.Run(t, pacetest.Subject{
				New: func(t *testing.T, o pace.Options) pace.Limiter {
					return newLimiter(t, c, redis.Options{Options: o})
				},
				Forgets: true,
				Unit:    unit(t, c),
				// With several requests at a time the log of a caller that gets its permit
				// late shows two starts closer than they were.
				Slack: 30 * time.Millisecond,
			})
		})
	}
}
