package redis_test

import (
	"fmt"
	"net/netip"
	"strings"
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

// A sharding is a crawl of two workers to sites all over a cluster.
type sharding struct {
	*crawl
	nodes  []*redistest.Server
	prefix string
}

func startSharded(t *testing.T, nodes []*redistest.Server) *sharding {
	c := &sharding{nodes: nodes, prefix: fresh()}
	var sites []*site
	for i := range campaign.Size(8, 12, 64) {
		r := pace.Request{Origin: originOf(t, fmt.Sprintf("s%d.example", i)), Schedule: steady(t, hotInterval)}
		sites = append(sites, &site{Request: r, addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})})
	}
	c.crawl = startCrawl(t, nodes[0].Addr, 2, redis.Options{Prefix: c.prefix, Options: pace.Options{AddressInterval: 20 * time.Millisecond}}, sites...)
	c.more(t, 2, all)
	return c
}

// on reports whether the origin or the address of a site is on a node.
func (c *sharding) on(t *testing.T, s *site, node int) bool {
	return redistest.Holder(t, c.nodes, stateKey(c.prefix, s.Origin.String())) == node || redistest.Holder(t, c.nodes, stateKey(c.prefix, s.addr.String())) == node
}

// TestClusterHang checks that while one of three nodes hangs the sites that have nothing there
// go on, and no others. Operators still work with the other nodes, and a worker starts.
func TestClusterHang(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3, append(clusterConfig, "cluster-node-timeout 60000")...)
	c := startSharded(t, nodes)
	const hangs = 1
	apart := map[*site]bool{}
	for _, s := range c.sites {
		apart[s] = !c.on(t, s, hangs)
	}
	others := func(s *site) bool { return apart[s] }
	nodes[hangs].Freeze()
	c.more(t, 5, others)
	counts := make([]int, len(c.sites))
	for i, s := range c.sites {
		counts[i] = len(s.seen())
	}
	c.more(t, 10, others)
	for i, s := range c.sites {
		if n := len(s.seen()); !apart[s] && n > counts[i]+1 { // one answer may have been on its way
			t.Errorf("%s was started %d times while its node hung", s.Origin, n-counts[i])
		}
	}
	until(t, "a worker that notices", func() bool { return !c.limiters[0].DownSince().IsZero() })
	operatePartly(t, c, hangs)
	nodes[hangs].Thaw()
	c.more(t, 5, all)
	c.check(t)
}

// operatePartly checks the methods of an Operator while a node is unreachable.
func operatePartly(t *testing.T, c *sharding, away int) {
	t.Helper()
	nodes := c.nodes
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
	if err := o.Hold(t.Context(), redis.Target(site.String()), time.Minute); err != nil {
		t.Error(err)
	}
	if list, err := o.Log(t.Context(), 10); len(list) != 1 || err == nil {
		t.Errorf("the log is %v, %v; want one entry and the part that is away", list, err)
	}
	if held, err := o.Release(t.Context(), redis.Target(site.String())); !held || err != nil {
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
	c := startSharded(t, nodes)
	apart := map[*site]bool{}
	for _, s := range c.sites {
		apart[s] = !c.on(t, s, lost)
	}
	nodes[lost].Kill()
	c.more(t, 5, func(s *site) bool { return apart[s] })
	c.more(t, 5, all)
	c.check(t)
}

// TestClusterReshard checks that no site is started early while keys move under load, and back.
func TestClusterReshard(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3, clusterConfig...)
	c := startSharded(t, nodes)
	// To one node, as redis-cli does: nodes that give and take at a time might lose a slot.
	const to = 2
	for _, s := range c.sites {
		if key := stateKey(c.prefix, s.Origin.String()); redistest.Holder(t, nodes, key) != to {
			redistest.MoveSlot(t, nodes, key, to)
		}
	}
	c.more(t, 5, all)
	c.check(t)
}
