package redis_test

import (
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace/redis"
)

// stallSlack is for how long a busy machine may stop all workers.
const stallSlack = 30 * time.Second

// TestFlapping: while Redis comes and goes all the time, workers that divide the rate
// start no more than it in all, and go on starting.
func TestFlapping(t *testing.T) {
	t.Parallel()
	length := campaign.Size(4*time.Second, 4*time.Second, 20*time.Second)
	for _, tt := range []struct {
		name     string
		workers  int
		interval time.Duration
		up, down time.Duration
		// forgets says that the server that comes back is an empty one, after which each
		// site rests for longer than it is there.
		forgets bool
		least   int // starts in the length
	}{
		{"network", 8, hotInterval, 900 * time.Millisecond, 700 * time.Millisecond, false, 20},
		{"often", 8, hotInterval, 200 * time.Millisecond, 200 * time.Millisecond, false, 20},
		{"crashes", 3, 2 * time.Second, 500 * time.Millisecond, 400 * time.Millisecond, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			proxy := redistest.NewProxy(t, server.Addr)
			s := fleet(t, tt.workers, orders{Redis: proxy.Addr, Prefix: fresh(), Interval: tt.interval, WhenDown: redis.Divide})
			s.begin(t)
			until(t, "a start", func() bool { return len(s.seen()) > 0 })
			time.Sleep(max(tt.up, time.Second)) // all have seen how many there are
			began, before := time.Now(), len(s.seen())
			late := func() bool { return len(s.seen()) < before+tt.least && time.Since(began) < 4*stallSlack }
			for time.Since(began) < length || late() {
				proxy.Switch("")
				time.Sleep(tt.down)
				if tt.forgets {
					server.Replace()
				}
				proxy.Switch(server.Addr)
				time.Sleep(tt.up)
			}
			took := time.Since(began)
			starts := s.end()
			n := within(starts, began, took)
			t.Logf("%d starts in %s, the closest %s apart, the longest %s, at most %d a second", n, took.Round(time.Millisecond),
				closest(starts), longest(starts), most(starts, time.Second))
			// A share is one start in as many intervals as there are workers: one more of
			// each lies in any stretch.
			if bound := int(took/tt.interval) + tt.workers; n > bound {
				t.Errorf("%d starts in %s, want at most %d", n, took, bound)
			}
			if n < tt.least {
				t.Errorf("%d starts in %s, want %d at least", n, took, tt.least)
			}
			if d := longest(starts); d > 2*time.Duration(tt.workers)*tt.interval+stallSlack {
				t.Errorf("no start for %s", d)
			}
		})
	}
}
