package redis_test

import (
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
	"github.com/robotskit/robots/pace/redis"
)

// TestContract holds the limiter against the contract on one server and on a cluster.
func TestContract(t *testing.T) {
	for name, o := range map[string]redistest.Options{"Server": {}, "Cluster": {Cluster: true}} {
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
				Forgets: true,
				Unit:    80 * time.Millisecond,
				// With several requests at a time the log of a caller that gets its permit
				// late shows two starts closer than they were.
				Slack: 30 * time.Millisecond,
			})
		})
	}
}
