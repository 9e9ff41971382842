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

// clusterConfig is what an operator sets so that the rest of a cluster goes on.
var clusterConfig = []string{"cluster-require-full-coverage no"}

// A shardedSite is a site whose origin and address are on nodes of a cluster.
type shardedSite struct {
	pace.Key
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
	shardedInterval = 50 * time.Millisecond
	shardedGap      = 20 * time.Millisecond
)

// A shardedCrawl is what workers do at sites all over a cluster.
type shardedCrawl struct {
	sites    []*shardedSite
	limiters []*redis.Limiter
	end      func()
}

// startSharded lets two workers, which stop while Redis is down, ask sites one page after
// another. A grant ends after timeout, the usual one if 0.
func startSharded(t *testing.T, nodes []*redistest.Server, sites int, timeout time.Duration) *shardedCrawl {
	prefix := fresh()
	c := &shardedCrawl{}
	for i := range sites {
		s := &shardedSite{Key: pace.Key{Origin: originOf(t, fmt.Sprintf("s%d.example", i)), Addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}}
		s.origin = redistest.Holder(t, nodes, epochKey(prefix, s.Origin.String()))
		s.address = redistest.Holder(t, nodes, epochKey(prefix, s.Addr.String()))
		c.sites = append(c.sites, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	schedule := steady(t, shardedInterval)
	for range 2 {
		l := newLimiter(t, nodes[0].Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop, Options: pace.Options{AddressInterval: shardedGap, GrantTimeout: timeout}})
		c.limiters = append(c.limiters, l)
		for _, s := range c.sites {
			all.Go(func() {
				for ctx.Err() == nil {
					s.page(ctx, t, l, schedule)
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

// page asks for one page.
func (s *shardedSite) page(ctx context.Context, t *testing.T, l *redis.Limiter, schedule *pace.Schedule) {
	g, err := l.Wait(ctx, s.Key, schedule)
	if err != nil {
		if ctx.Err() == nil {
			t.Errorf("%s: %v", s, err)
		}
		return
	}
	turn, err := l.Visit(ctx, g, s.Addr, schedule)
	result := ok
	switch missed, is := errors.AsType[*pace.MissedError](err); {
	case is:
		time.Sleep(min(time.Until(missed.Turn.Start), shardedInterval)) // until its address is there
		result = pace.Result{Unused: true}
	case err != nil:
		result = pace.Result{Unused: true}
	default:
		s.mu.Lock()
		s.starts = append(s.starts, turn.Start)
		s.mu.Unlock()
	}
	if err := l.Done(ctx, g, result); err != nil {
		t.Errorf("%s: %v", s, err)
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

// check ends the crawl and checks that no site was started too early.
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
			t.Errorf("%s: two starts are %s apart, want %s", s, d, shardedInterval)
		}
	}
	t.Logf("%d starts at %d sites, the longest rest %s", starts, len(c.sites), rest.Round(time.Millisecond))
}

// TestClusterHang: while one of three nodes hangs, the sites that have nothing there go on,
// and no other is started.
func TestClusterHang(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3, append(clusterConfig, "cluster-node-timeout 60000")...)
	c := startSharded(t, nodes, campaign.Size(12, 18, 64), 0)
	const hangs = 1
	nodes[hangs].Freeze()
	apart := func(s *shardedSite) bool { return !s.on(hangs) }
	c.more(t, 5, apart)
	counts := make([]int, len(c.sites))
	for i, s := range c.sites {
		counts[i] = len(s.seen())
	}
	c.more(t, 20, apart)
	for i, s := range c.sites {
		if n := len(s.seen()); s.on(hangs) && n > counts[i]+1 { // one answer may have been on its way
			t.Errorf("%s was started %d times while its node hung", s, n-counts[i])
		}
	}
	if c.limiters[0].DownSince().IsZero() {
		t.Error("nobody has noticed")
	}
	nodes[hangs].Thaw()
	c.more(t, 5, func(*shardedSite) bool { return true })
	c.check(t)
}

// TestClusterFailover: a primary is killed and its replica takes over, which may have lost
// the last writes. The sites of the other nodes go on meanwhile, also those of which the
// other half of a turn is there, and none is started too early.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3, clusterConfig...)
	const lost = 2
	redistest.ReplicaOf(t, nodes, lost, clusterConfig...)
	c := startSharded(t, nodes, campaign.Size(12, 18, 64), 0)
	nodes[lost].Kill()
	c.more(t, 5, func(s *shardedSite) bool { return !s.on(lost) })
	c.more(t, 5, func(*shardedSite) bool { return true })
	c.check(t)
}

// TestClusterReshard: half of the tags move to another node under load. None of their sites
// is started too early.
func TestClusterReshard(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3, clusterConfig...)
	c := startSharded(t, nodes, campaign.Size(12, 18, 64), 0)
	// To one node, as redis-cli does: nodes that give and take at a time may lose a slot.
	const to = 2
	moved := map[string]bool{}
	for _, s := range c.sites {
		for _, of := range []string{s.Origin.String(), s.Addr.String()} {
			key := c.limiters[0].TagKey(of)
			if !moved[key] && redistest.Holder(t, nodes, key) != to && len(moved) < len(c.sites) {
				moved[key] = true
				redistest.MoveSlot(t, nodes, key, to)
			}
		}
	}
	c.more(t, 5, func(*shardedSite) bool { return true })
	c.check(t)
	t.Logf("%d tags moved", len(moved))
}

// TestClusterClock: the clock of one of three nodes is set ahead, behind, and right again.
// The sites of that node rest, as its tags begin new epochs where it went forward; no other
// tag does, and no site is started too early.
func TestClusterClock(t *testing.T) {
	t.Parallel()
	// Nodes take others for failed by their clocks.
	nodes := redistest.StartClusterOf(t, 3, redistest.Options{Clock: true, Config: append(clusterConfig, "cluster-node-timeout 60000000")})
	const jump = time.Hour
	c := startSharded(t, nodes, campaign.Size(12, 18, 64), 3*jump) // or what waits for its address times out in the jump
	const set = 1
	epochs := func(node int) []string {
		names := nodes[node].Do("EVAL", `local s = '' for _, k in ipairs(redis.call('KEYS', '*:epoch')) do s = s .. k .. '=' .. redis.call('GETRANGE', k, 0, 15) .. ' ' end return s`, "0")
		return slices.DeleteFunc(strings.Fields(names), func(s string) bool { return strings.Contains(s, ":0}") }) // which New asks, and perhaps nobody later
	}
	for _, ahead := range []time.Duration{jump, -jump, 0} {
		var before [3][]string
		for node := range nodes {
			before[node] = epochs(node)
		}
		nodes[set].SetClock(ahead)
		c.more(t, 3, func(*shardedSite) bool { return true })
		for node := range nodes {
			want := "the old"
			if node == set && ahead >= 0 {
				want = "new"
			}
			// Of what is asked next, and no time is said for when that is.
			until(t, fmt.Sprintf("%s epochs on node %d, with the clock of node %d off by %s", want, node, set, ahead), func() bool {
				after := epochs(node)
				same := 0
				for _, e := range after {
					if slices.Contains(before[node], e) {
						same++
					}
				}
				return len(after) > 0 && len(after) == len(before[node]) && (want == "new" && same == 0 || want == "the old" && same == len(after))
			})
		}
	}
	c.check(t)
}
