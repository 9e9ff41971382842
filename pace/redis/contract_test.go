package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
	"github.com/robotskit/robots/pace/redis"
)

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
				Unit:    80 * time.Millisecond,
				// With several requests at a time the log of a caller that gets its permit
				// late shows two starts closer than they were.
				Slack: 30 * time.Millisecond,
			})
		})
	}
}
