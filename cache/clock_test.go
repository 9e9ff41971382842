package cache_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

// TestFuture: an entry from the future, written with a clock that was ahead, is not used until
// that time has come, and its outage is no older than it was.
func TestFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ahead := range []time.Duration{2 * time.Minute, 50 * time.Minute, 2 * hour, 3 * day, 20 * 365 * day} {
			for _, behaviour := range []string{"file", "404", "reset"} {
				for _, restart := range []bool{true, false} {
					store := plain{cachetest.NewMemory()}
					s := &slow{now: behaving(behaviour)}
					var off = ahead
					o := cache.Options{Store: store, Fetcher: fetcherFunc(func(ctx context.Context, o robots.Origin) (*fetch.Record, error) {
						s.asked.Add(1)
						return record(o, s.now, time.Now().Add(off)), nil
					})}
					c := open(t, o)
					get(t, c)
					synctest.Wait()
					off = 0
					for range 30 {
						if restart {
							c.Close()
							c = open(t, o)
						}
						r := get(t, c)
						if r.Fetched.After(time.Now().Add(hour)) || behaviour == "reset" && time.Since(r.FailingSince) > 31*hour {
							t.Errorf("%s, %v ahead: fetched %v, failing since %v", behaviour, ahead, r.Fetched, r.FailingSince)
						}
						synctest.Wait()
						time.Sleep(hour)
					}
					c.Close()
					if s.asked.Load() < 2 {
						t.Errorf("%s, %v ahead: not asked for in 30 hours", behaviour, ahead)
					}
				}
			}
		}
	})
}

// TestSane: a time is used up to a minute ahead. Beyond that all times are moved so that the response
// was read now, and beyond an hour the record has expired.
func TestSane(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ahead, fetched, expires time.Duration
	}{
		{-hour, -hour, 0},
		{time.Minute, time.Minute, hour + time.Minute},
		{time.Minute + 1, 0, hour},
		{hour, 0, hour},
		{hour + 1, 0, 0},
	} {
		r := record(cachetest.Origin(0), behaving("file"), now.Add(c.ahead))
		r.Expires = r.Fetched.Add(hour)
		got := cache.Sane(r, now)
		if fetched, expires := got.Fetched.Sub(now), got.Expires.Sub(now); fetched != c.fetched || expires != c.expires {
			t.Errorf("%s ahead: fetched %s ahead and expires in %s, want %s and %s", c.ahead, fetched, expires, c.fetched, c.expires)
		}
	}
}

// down is a shared store that can be switched off.
type down struct {
	*cachetest.Memory
	is atomic.Bool
}

func (d *down) Down(robots.Origin) bool { return d.is.Load() }

// TestDegraded: while the shared store is unreachable, answers say so, and kept records do not.
func TestDegraded(t *testing.T) {
	shared := &down{Memory: cachetest.NewMemory()}
	c := open(t, cache.Options{Store: shared, Fetcher: fetcherFunc(func(_ context.Context, o robots.Origin) (*fetch.Record, error) {
		return record(o, behaving("file"), time.Now()), nil
	})})
	crawler := &cache.Crawler{Dialect: robots.RFC9309, Tokens: []string{"MyBot"}}
	for _, is := range []bool{false, true, false} {
		shared.is.Store(is)
		for i := range 2 {
			rules, r := rulesOf(t, c, cachetest.Origin(i), crawler)
			if v := rules.Match(privatePath); v.Allowed || r.Degraded != is || v.State.Degraded != is {
				t.Errorf("down %t: %v, degraded %t", is, v, r.Degraded)
			}
		}
	}
	c.Close() // which waits until all is kept
	if e, err := shared.Get(t.Context(), cachetest.Origin(0)); err != nil || e.Record.Degraded {
		t.Errorf("kept as %+v, %v", e.Record, err)
	}
}
