package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

var contains = strings.Contains

// clusterConfig is what an operator sets so that the rest of a cluster goes on.
var clusterConfig = []string{"cluster-require-full-coverage no"}

// A shardedSite is a site whose origin and address are on nodes of a cluster.
type shardedSite struct {
	pace.Request
	addr            netip.Addr
	origin, address int

	mu     sync.Mutex
	starts []time.Time
}

func (s *shardedSite) on(node int) bool { return s.origin == node || s.address == node }

func (s *shardedSite) seen() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.starts)
}

const (
	shardedInterval = 100 * time.Millisecond
	shardedGap      = 20 * time.Millisecond
)

// A shardedCrawl is the requests of two workers to sites all over a cluster.
type shardedCrawl struct {
	prefix   string
	sites    []*shardedSite
	limiters []*redis.Limiter
	end      func()
}

// startSharded lets two workers request the sites, one page after another.
func startSharded(t *testing.T, nodes []*redistest.Server, sites int) *shardedCrawl {
	c := &shardedCrawl{prefix: fresh()}
	schedule := steady(t, shardedInterval)
	for i := range sites {
		s := &shardedSite{Request: pace.Request{Origin: originOf(t, fmt.Sprintf("s%d.example", i)), Schedule: schedule}, addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}
		s.origin = redistest.Holder(t, nodes, stateKey(c.prefix, s.Origin.String()))
		s.address = redistest.Holder(t, nodes, stateKey(c.prefix, s.addr.String()))
		c.sites = append(c.sites, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		l := newLimiter(t, nodes[0].Client(), redis.Options{Prefix: c.prefix, Options: pace.Options{AddressInterval: shardedGap}})
		c.limiters = append(c.limiters, l)
		for _, s := range c.sites {
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
	c.more(t, 2, func(*shardedSite) bool { return true })
	return c
}

// page requests one page.
func (s *shardedSite) page(ctx context.Context, t *testing.T, l *redis.Limiter) {
	p, err := l.Acquire(ctx, s.Request)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, redis.ErrDrained) {
			t.Errorf("%s: %v", s.Origin, err)
		}
		time.Sleep(shardedInterval)
		return
	}
	result := ok
	err = l.Start(ctx, p, s.addr)
	if missed, is := errors.AsType[*pace.MissedError](err); is {
		time.Sleep(min(time.Until(missed.Permit.NotBefore), shardedInterval)) // until its address is there
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

// more waits until each of some sites was started n times more.
func (c *shardedCrawl) more(t *testing.T, n int, which func(*shardedSite) bool) {
	t.Helper()
	before := make([]int, len(c.sites))
	for i, s := range c.sites {
		before[i] = len(s.seen())
	}
	until(t, fmt.Sprintf("%d starts of each site", n), func() bool {
		for i, s := range c.sites {
			if which(s) && len(s.seen()) < before[i]+n {
				return false
			}
		}
		return true
	})
}

// check ends the crawl and checks that no site was started early.
func (c *shardedCrawl) check(t *testing.T) {
	t.Helper()
	c.end()
	starts := 0
	var rest time.Duration
	for _, s := range c.sites {
		at := s.seen()
		slices.SortFunc(at, time.Time.Compare)
		starts += len(at)
		rest = max(rest, longest(at))
		if d := closest(at); d < shardedInterval-logSlack {
			t.Errorf("%s: two starts are %s apart, want %s", s.Origin, d, shardedInterval)
		}
	}
	t.Logf("%d starts at %d sites, the longest rest %s", starts, len(c.sites), rest.Round(time.Millisecond))
}

// TestClusterHang checks that while one of three nodes hangs the sites that have nothing there
// go on, and no others. Operators still work with the other nodes, and a worker starts.
func TestClusterHang(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3, append(clusterConfig, "cluster-node-timeout 60000")...)
	c := startSharded(t, nodes, campaign.Size(8, 12, 64))
	const hangs = 1
	nodes[hangs].Freeze()
	apart := func(s *shardedSite) bool { return !s.on(hangs) }
	c.more(t, 5, apart)
	counts := make([]int, len(c.sites))
	for i, s := range c.sites {
		counts[i] = len(s.seen())
	}
	c.more(t, 10, apart)
	for i, s := range c.sites {
		if n := len(s.seen()); s.on(hangs) && n > counts[i]+1 { // one answer may have been on its way
			t.Errorf("%s was started %d times while its node hung", s.Origin, n-counts[i])
		}
	}
	until(t, "a worker that notices", func() bool { return !c.limiters[0].DownSince().IsZero() })
	operatePartly(t, c, nodes, hangs)
	nodes[hangs].Thaw()
	c.more(t, 5, func(*shardedSite) bool { return true })
	c.check(t)
}

// operatePartly checks the methods of an Operator while a node is unreachable.
func operatePartly(t *testing.T, c *shardedCrawl, nodes []*redistest.Server, away int) {
	t.Helper()
	option := nodes[0].Option()
	option.ConnWriteTimeout = time.Second // which bounds a connection to a server that hangs
	client := redistest.NewClient(t, option)
	o, err := redis.NewOperator(client, c.prefix, "test")
	if err != nil {
		t.Fatal(err)
	}
	workers, _, err := o.Workers(t.Context())
	if len(workers) != 2 || err == nil || !contains(err.Error(), "slots ") {
		t.Errorf("%d workers, %v; want 2, and the part that is away", len(workers), err)
	}
	site := originOf(t, "held0.example") // which no worker waits for
	for i := 1; redistest.Holder(t, nodes, stateKey(c.prefix, site.String())) == away; i++ {
		site = originOf(t, fmt.Sprintf("held%d.example", i))
	}
	if err := o.Hold(t.Context(), redis.Target{Origin: site}, time.Minute); err != nil {
		t.Error(err)
	}
	if list, err := o.Log(t.Context(), 10); len(list) != 1 || err == nil {
		t.Errorf("the log is %v, %v; want one entry and the part that is away", list, err)
	}
	if held, err := o.Release(t.Context(), redis.Target{Origin: site}); !held || err != nil {
		t.Errorf("released: %t, %v", held, err)
	}
	if err := o.Drain(t.Context(), workers[0].ID); err != nil {
		t.Error(err)
	}
	if drained, err := o.Resume(t.Context(), workers[0].ID); !drained || err != nil {
		t.Errorf("resumed: %t, %v", drained, err)
	}
	newLimiter(t, client, redis.Options{Prefix: c.prefix})
}

// TestClusterFailover checks a primary that is killed and whose replica takes over, which might
// have lost the last writes: no site is started early, and those of the other nodes go on.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3, clusterConfig...)
	const lost = 2
	redistest.ReplicaOf(t, nodes, lost, clusterConfig...)
	c := startSharded(t, nodes, campaign.Size(8, 12, 64))
	nodes[lost].Kill()
	c.more(t, 5, func(s *shardedSite) bool { return !s.on(lost) })
	c.more(t, 5, func(*shardedSite) bool { return true })
	c.check(t)
}

// TestClusterReshard checks that no site is started early while keys move under load, and back.
func TestClusterReshard(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3, clusterConfig...)
	c := startSharded(t, nodes, campaign.Size(8, 12, 64))
	// To one node, as redis-cli does: nodes that give and take at a time might lose a slot.
	const to = 2
	for _, s := range c.sites {
		if s.origin != to {
			redistest.MoveSlot(t, nodes, stateKey(c.prefix, s.Origin.String()), to)
		}
	}
	c.more(t, 5, func(*shardedSite) bool { return true })
	c.check(t)
}
