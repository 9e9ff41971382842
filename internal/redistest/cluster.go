package redistest

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// slots is the number of hash slots of a cluster.
const slots = 16384

// StartCluster starts a cluster of n primaries with equal parts of the slots, and returns when
// they know each other. Config has further lines for redis.conf.
func StartCluster(t testing.TB, n int, config ...string) []*Server {
	t.Helper()
	nodes := make([]*Server, n)
	for i := range nodes {
		nodes[i] = startMember(t, config)
		nodes[i].Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/n), strconv.Itoa((i+1)*slots/n-1))
		if i > 0 {
			nodes[i].meet(nodes[0])
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

func startMember(t testing.TB, config []string) *Server {
	t.Helper()
	return Start(t, Options{Config: append([]string{"cluster-enabled yes", "cluster-node-timeout 1000"}, config...)})
}

func (s *Server) meet(other *Server) {
	host, port, _ := net.SplitHostPort(other.Addr)
	s.Do("CLUSTER", "MEET", host, port)
}

// ReplicaOf starts a replica of a primary in a cluster. It returns when the replica has the data
// and all members know it, so that they elect it when the primary fails.
func ReplicaOf(t testing.TB, nodes []*Server, of int, config ...string) *Server {
	t.Helper()
	r := startMember(t, config)
	r.meet(nodes[of])
	id := nodes[of].Do("CLUSTER", "MYID")
	own := r.Do("CLUSTER", "MYID")
	for _, n := range nodes {
		other := n.Do("CLUSTER", "MYID")
		r.until(func() bool { return strings.Contains(r.Do("CLUSTER", "NODES"), other) })
	}
	r.Do("CLUSTER", "REPLICATE", id)
	r.until(func() bool { return strings.Contains(r.Do("INFO", "replication"), "master_link_status:up") })
	for _, n := range nodes {
		r.until(func() bool {
			for line := range strings.Lines(n.Do("CLUSTER", "NODES")) {
				if strings.Contains(line, own) && strings.Contains(line, "slave "+id) {
					return true
				}
			}
			return false
		})
	}
	return r
}

// Holder returns which node of a cluster had the slot of a key when the cluster was started.
func Holder(t testing.TB, nodes []*Server, key string) int {
	t.Helper()
	n, err := strconv.Atoi(nodes[0].Do("CLUSTER", "KEYSLOT", key))
	if err != nil {
		t.Fatal(err)
	}
	return ((n+1)*len(nodes) - 1) / slots
}

// MoveSlot moves the slot of a key, with all its keys, to another node, as redis-cli does.
func MoveSlot(t testing.TB, nodes []*Server, key string, to int) {
	t.Helper()
	slot := nodes[0].Do("CLUSTER", "KEYSLOT", key)
	from := Holder(t, nodes, key)
	source := nodes[from].Do("CLUSTER", "MYID")
	target := nodes[to].Do("CLUSTER", "MYID")
	nodes[to].Do("CLUSTER", "SETSLOT", slot, "IMPORTING", source)
	nodes[from].Do("CLUSTER", "SETSLOT", slot, "MIGRATING", target)
	host, port, _ := net.SplitHostPort(nodes[to].Addr)
	for {
		keys := strings.Fields(
			strings.Trim(nodes[from].Do("EVAL", "return table.concat(redis.call('CLUSTER','GETKEYSINSLOT',ARGV[1],100),' ')", "0", slot), "[]"),
		)
		if len(keys) == 0 {
			break
		}
		nodes[from].Do(append([]string{"MIGRATE", host, port, "", "0", "5000", "KEYS"}, keys...)...)
	}
	for i, n := range append([]*Server{nodes[to], nodes[from]}, nodes...) {
		if i < 2 || n != nodes[to] && n != nodes[from] {
			n.Do("CLUSTER", "SETSLOT", slot, "NODE", target)
		}
	}
}
