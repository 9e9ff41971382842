package redis_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// A site logs when its requests start.
type site struct {
	pace.Request
	addr   netip.Addr
	mu     sync.Mutex
	starts []time.Time
}

// seen returns the starts until now, in order.
func (s *site) seen() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(slices.Values(s.starts), time.Time.Compare)
}

// page requests one page.
func (s *site) page(ctx context.Context, t *testing.T, l *redis.Limiter) {
	p, err := l.Acquire(ctx, s.Request)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, redis.ErrDrained) {
			t.Errorf("%s: %v", s.Origin, err)
		}
		time.Sleep(hotInterval)
		return
	}
	s.start(ctx, t, l, p)
}

// start requests a page with a permit.
func (s *site) start(ctx context.Context, t *testing.T, l *redis.Limiter, p pace.Permit) {
	result := ok
	err := l.Start(ctx, p, s.addr)
	if missed, is := errors.AsType[*pace.MissedError](err); is {
		time.Sleep(min(time.Until(missed.Permit.NotBefore), hotInterval)) // until its address is there
	}
	if err != nil {
		result = pace.Result{Unused: true}
	} else {
		s.mu.Lock()
		s.starts = append(s.starts, time.Now())
		s.mu.Unlock()
	}
	if err := l.Release(ctx, p, result); err != nil {
		t.Errorf("%s: %v", s.Origin, err)
	}
}

// hot returns a site of many workers.
func hot(t *testing.T) *site {
	return &site{Request: pace.Request{Origin: originOf(t, "hot.example"), Schedule: steady(t, hotInterval)}}
}

const hotInterval = 100 * time.Millisecond

// A crawl is the requests of workers to sites, one page after another.
type crawl struct {
	sites    []*site
	limiters []*redis.Limiter
	end      func()
}

// startCrawl lets workers request the sites of a fleet on the server at an address.
func startCrawl(t *testing.T, addr string, workers int, o redis.Options, sites ...*site) *crawl {
	c := &crawl{sites: sites}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range workers {
		client := redistest.NewClient(t, rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, PipelineMultiplex: -1})
		l := newLimiter(t, client, o)
		c.limiters = append(c.limiters, l)
		for _, s := range sites {
			all.Go(func() {
				for ctx.Err() == nil {
					s.page(ctx, t, l)
				}
			})
		}
	}
	c.end = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	t.Cleanup(c.end)
	return c
}

func all(*site) bool { return true }

// more waits until each of some sites was started n times more.
func (c *crawl) more(t *testing.T, n int, which func(*site) bool) {
	t.Helper()
	before := make([]int, len(c.sites))
	for i, s := range c.sites {
		before[i] = len(s.seen())
	}
	until(t, "more starts of each site", func() bool {
		for i, s := range c.sites {
			if which(s) && len(s.seen()) < before[i]+n {
				return false
			}
		}
		return true
	})
}

// logSlack is by how much the log of starts may be out.
const logSlack = 2 * time.Millisecond

// check ends the crawl and checks that no site was started early.
func (c *crawl) check(t *testing.T) {
	t.Helper()
	c.end()
	starts, least, rest := 0, time.Hour, time.Duration(0)
	for _, s := range c.sites {
		at := s.seen()
		starts += len(at)
		for i := 1; i < len(at); i++ {
			d := at[i].Sub(at[i-1])
			if least, rest = min(least, d), max(rest, d); d < hotInterval-logSlack {
				t.Errorf("%s: two starts are %s apart, want %s", s.Origin, d, hotInterval)
			}
		}
	}
	t.Logf("%d starts at %d sites, %s apart at least, the longest rest %s", starts, len(c.sites), least, rest.Round(time.Millisecond))
}

// within returns how many starts lie in a stretch, its end not included.
func within(starts []time.Time, from time.Time, d time.Duration) int {
	n := 0
	for _, at := range starts {
		if !at.Before(from) && at.Before(from.Add(d)) {
			n++
		}
	}
	return n
}
