package redis

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
)

// counting is a Fetcher that counts the fetches of each origin.
type counting struct {
	mu      sync.Mutex
	fetches map[robots.Origin]int
}

func (c *counting) Fetch(_ context.Context, o robots.Origin) (*fetch.Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetches[o]++
	r := cachetest.Record(o, o.Host())
	r.Fetched = time.Now()
	return r, nil
}

// TestFleet starts caches together, each with a client of its own and callers that get the same
// origins, in the same order or in another. Each origin is fetched once.
func TestFleet(t *testing.T) {
	t.Parallel()
	origins := campaign.Size(100, 1000, 10_000)
	server := redistest.Start(t, redistest.Options{})
	site := &counting{fetches: map[robots.Origin]int{}}
	var wg sync.WaitGroup
	for i := range uint64(8) {
		store := newStore(t, redistest.NewClient(t, server.Option()), Options{})
		c, err := cache.New(cache.Options{Fetcher: site, Store: store, Observe: func(e cache.Event) {
			if e.Kind == cache.EventStoreFailed {
				t.Errorf("%s: %v", e.Origin, e.Err)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for j := range uint64(4) {
			wg.Go(func() {
				for _, n := range rand.New(rand.NewPCG(i/4, j)).Perm(origins) {
					o := cachetest.Origin(n)
					if r, err := c.Get(ctx, o); err != nil || string(r.Body) != o.Host() {
						t.Errorf("%s: %v", o, err)
					}
				}
			})
		}
	}
	wg.Wait()
	for o, n := range site.fetches {
		if n != 1 {
			t.Errorf("%s was fetched %d times", o, n)
		}
	}
	if len(site.fetches) != origins {
		t.Errorf("%d origins were fetched, want %d", len(site.fetches), origins)
	}
}
