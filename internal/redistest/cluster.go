package redistest

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// slots is the number of hash slots of a cluster.
const slots = 16384

// StartCluster starts a cluster of n primaries, each with an equal part of the slots,
// and returns when they know each other.
func StartCluster(t testing.TB, n int) []*Server {
	t.Helper()
	nodes := make([]*Server, n)
	for i := range nodes {
		nodes[i] = Start(t, Options{Config: []string{"cluster-enabled yes", "cluster-node-timeout 1000"}})
		nodes[i].Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/n), strconv.Itoa((i+1)*slots/n-1))
		if i > 0 {
			host, port, _ := net.SplitHostPort(nodes[0].Addr)
			nodes[i].Do("CLUSTER", "MEET", host, port)
		}
	}
	for _, s := range nodes {
		s.until(func() bool {
			info := s.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(n))
		})
	}
	return nodes
}

// MoveSlot moves the slot of a key, with all its keys, to another node.
func MoveSlot(t testing.TB, nodes []*Server, key string, to int) {
	t.Helper()
	slot := nodes[0].Do("CLUSTER", "KEYSLOT", key)
	n, err := strconv.Atoi(slot)
	if err != nil {
		t.Fatal(err)
	}
	from := n * len(nodes) / slots
	source, target := nodes[from].Do("CLUSTER", "MYID"), nodes[to].Do("CLUSTER", "MYID")
	nodes[to].Do("CLUSTER", "SETSLOT", slot, "IMPORTING", source)
	nodes[from].Do("CLUSTER", "SETSLOT", slot, "MIGRATING", target)
	host, port, _ := net.SplitHostPort(nodes[to].Addr)
	for {
		keys := strings.Fields(strings.Trim(nodes[from].Do("EVAL", "return table.concat(redis.call('CLUSTER','GETKEYSINSLOT',ARGV[1],100),' ')", "0", slot), "[]"))
		if len(keys) == 0 {
			break
		}
		nodes[from].Do(append([]string{"MIGRATE", host, port, "", "0", "5000", "KEYS"}, keys...)...)
	}
	for _, i := range []int{to, from} {
		nodes[i].Do("CLUSTER", "SETSLOT", slot, "NODE", target)
	}
}
