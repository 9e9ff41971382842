package cache_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

// wallClock is a wall clock that jumps.
type wallClock struct{ off atomic.Int64 }

func (w *wallClock) now() time.Time        { return time.Now().Round(0).Add(time.Duration(w.off.Load())) }
func (w *wallClock) jump(by time.Duration) { w.off.Add(int64(by)) }

func openAt(t *testing.T, o cache.Options, wall func() time.Time) *cache.Cache {
	t.Helper()
	c, err := cache.NewAt(o, wall)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestJumps: the wall clock jumps to and fro during outages and good times. An
// outage is as old afterwards as it was, waits last as long, no answer holds for
// longer than its life, and a jump forward ends no more of them than time would.
func TestJumps(t *testing.T) {
	jumps := []time.Duration{2 * time.Minute, 30 * time.Minute, 2 * hour, 26 * hour, 40 * day, 20 * 365 * day,
		-2 * time.Minute, -2 * hour, -26 * hour, -40 * day, -20 * 365 * day}
	for _, held := range []string{"memory", "store"} {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 8))
			n := 0
			for range campaign.Size(300, 2000, 10_000) {
				wall := &wallClock{}
				s := &site{t: t, wall: time.Now, jumps: true} // judged by the true time
				fetcher := fetcherFunc(func(ctx context.Context, o robots.Origin) (*fetch.Record, error) {
					r, err := s.Fetch(ctx, o)
					r.Started, r.Fetched = wall.now(), wall.now()
					return r, err
				})
				options := cache.Options{Fetcher: fetcher, Memory: 1 << 20}
				if held == "store" { // memory keeps nothing, all comes back from the store
					options.Memory, options.Store = 1, plain{cache.NewMemory(1 << 20)}
				}
				c := openAt(t, options, wall.now)
				s.now = &behaviours[random.IntN(len(behaviours))]
				get(t, c)
				synctest.Wait()
				total := time.Duration(0)
				for range 5 {
					time.Sleep(time.Duration(random.Int64N(int64(6 * hour))))
					if random.IntN(2) == 0 {
						by := jumps[random.IntN(len(jumps))]
						wall.jump(by)
						total += by
					}
					if random.IntN(2) == 0 {
						s.now = &behaviours[random.IntN(len(behaviours))]
					}
					get(t, c)
					synctest.Wait()
					r := get(t, c)
					synctest.Wait()
					n++
					if s.model.failures > 0 {
						age, want := wall.now().Sub(r.FailingSince), time.Since(s.model.firstFail)
						if (age - want).Abs() > 2*time.Millisecond*10 {
							t.Fatalf("outage of %v is %v old after jumps of %v", want, age, total)
						}
						if (r.Covered - s.model.covered).Abs() > 20*time.Millisecond {
							t.Fatalf("failures cover %v, want %v, after jumps of %v", r.Covered, s.model.covered, total)
						}
					}
					if s.model.lastGood != nil {
						left := r.Expires.Sub(wall.now())
						if g := r.LastGood; g != nil {
							left = g.Expires.Sub(wall.now())
						}
						if limit := day - time.Since(s.model.goodAt); left > max(limit, 0)+time.Millisecond*20 {
							t.Fatalf("fresh for %v more, want %v at most, after jumps of %v", left, limit, total)
						}
					}
				}
				c.Close()
			}
			t.Logf("%s: %d calls around jumps", held, n)
		})
	}
}

// TestForwardSpreads: a jump over the ends of many answers ends them within an hour.
func TestForwardSpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := &wallClock{}
		moved := 0
		s := &slow{now: behaving("file"), wall: wall.now}
		c := openAt(t, cache.Options{Fetcher: s, Memory: 64 << 20, Observe: func(e cache.Event) {
			if e.Kind == cache.EventClockMoved {
				moved++
			}
		}}, wall.now)
		defer c.Close()
		const n = 2000
		ask := func() {
			for i := range n {
				if _, err := c.Get(context.Background(), cachetest.Origin(i)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		ask()
		wall.jump(3 * day)
		var spread []int64
		for range 13 {
			before := s.asked.Load()
			ask()
			spread = append(spread, s.asked.Load()-before)
			time.Sleep(5 * time.Minute)
		}
		most := int64(0)
		for _, k := range spread {
			most = max(most, k)
		}
		if moved != 1 || most > n/6 || s.asked.Load() < 2*n*95/100 {
			t.Errorf("fetches every five minutes after the jump: %v, noticed %d times", spread, moved)
		}
		t.Logf("%d answers, a jump of 3 days: fetches every five minutes %v", n, spread)
	})
}

// TestRestart: the wall clock moves while no process runs.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			by  time.Duration
			age time.Duration // that the outage must have
		}{
			{0, 5 * day},
			{-hour, 5*day - hour}, // within what was seen: believed
			{-20 * day, 5 * day},  // into the past of the record: as old as when last seen
			{3 * day, 8 * day},    // no different from a pause
		} {
			wall := &wallClock{}
			store := cache.NewMemory(1 << 20)
			s := &slow{now: behaving("reset"), wall: wall.now}
			c := openAt(t, cache.Options{Fetcher: s, Store: plain{store}}, wall.now)
			began := time.Now()
			for time.Since(began) < 5*day {
				get(t, c)
				synctest.Wait()
				time.Sleep(hour)
			}
			get(t, c)
			c.Close()
			time.Sleep(2 * hour)
			wall.jump(tt.by)
			c = openAt(t, cache.Options{Fetcher: s, Store: plain{store}}, wall.now)
			r := get(t, c)
			if age := r.Fetched.Sub(r.FailingSince); (age-tt.age).Abs() > 4*hour || r.Fetched.After(wall.now()) || r.NextTry.Sub(wall.now()) > 67*time.Minute {
				t.Errorf("restart after %v: outage of %v, want %v; next try %v from now", tt.by, age, tt.age, r.NextTry.Sub(wall.now()))
			}
			c.Close()
		}
	})
}

// TestFuture: an entry of a process whose clock was ahead is no answer until that
// time has come, and its outage no older than it was.
func TestFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ahead := range []time.Duration{2 * time.Minute, 50 * time.Minute, 2 * hour, 3 * day, 20 * 365 * day} {
			for _, behaviour := range []string{"file", "404", "reset"} {
				wall := &wallClock{}
				wall.jump(ahead)
				store := plain{cache.NewMemory(1 << 20)}
				c := openAt(t, cache.Options{Fetcher: &slow{now: behaving(behaviour), wall: wall.now}, Store: store}, wall.now)
				get(t, c)
				c.Close()
				s := &slow{now: behaving(behaviour)}
				for range 30 { // each a process that lives for one call
					c := open(t, cache.Options{Fetcher: s, Store: store})
					if r := get(t, c); r.Fetched.After(time.Now()) || behaviour == "reset" && time.Since(r.FailingSince) > 30*hour {
						t.Errorf("%s, %v ahead: fetched %v, failing since %v", behaviour, ahead, r.Fetched, r.FailingSince)
					}
					c.Close()
					time.Sleep(hour)
				}
				if s.asked.Load() == 0 {
					t.Errorf("%s, %v ahead: not asked for in 30 hours", behaviour, ahead)
				}
			}
		}
	})
}
