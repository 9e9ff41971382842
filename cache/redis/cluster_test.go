package redis

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/redistest"
)

// slotOf returns the slot of the key of an origin.
func slotOf(s *Store, o robots.Origin) int {
	cmd := s.client.B().Get().Key(s.key(o)).Build()
	return int(cmd.Slot() & 16383)
}

// nodeOf returns the node of a new cluster with this many nodes that has a slot.
func nodeOf(slot, nodes int) int { return ((slot+1)*nodes - 1) / 16384 }

// visit makes the calls of a cache for an origin: get, lease, put, release. It returns an error
// unless another holds the lease.
func visit(s *Store, o robots.Origin) error {
	return unhurried(func() error {
		if _, err := s.Get(ctx, o); err != nil && !errors.Is(err, cache.ErrAbsent) {
			return err
		}
		token, err := s.Lock(ctx, o, time.Minute)
		if err != nil {
			return err
		}
		if err := s.Put(ctx, cache.Entry{Record: cachetest.Record(o, "body"), Fence: token}, time.Hour); err != nil {
			return err
		}
		return s.Unlock(ctx, o, token)
	})
}

// TestHangingNode: records are spread over the nodes of a cluster, and a hanging node stops no
// origin of another.
func TestHangingNode(t *testing.T) {
	t.Parallel() // it waits most of the time
	nodes := redistest.StartCluster(t, 3)
	patient(nodes)
	s := newStore(t, redistest.NewClient(t, nodes[0].Option()), Options{})
	var of [3][]robots.Origin
	for i := range 60 {
		o := cachetest.Origin(i)
		if err := visit(s, o); err != nil {
			t.Fatal(err)
		}
		n := nodeOf(slotOf(s, o), len(nodes))
		of[n] = append(of[n], o)
	}
	for i, n := range nodes {
		if got := n.Do("DBSIZE"); got != fmt.Sprint(len(of[i])) || len(of[i]) == 0 {
			t.Errorf("node %d has %s keys of %d origins", i, got, len(of[i]))
		}
	}
	nodes[1].Freeze()
	defer nodes[1].Thaw()
	failed := make(chan error, 1)
	go func() { _, err := s.Get(ctx, of[1][0]); failed <- err }()
	for hung := false; !hung; {
		select {
		case err := <-failed:
			if err == nil || !strings.Contains(err.Error(), "the server does not answer") {
				t.Errorf("an origin of the node that hangs: %v", err)
			}
			hung = true
		default:
		}
		for _, o := range append(of[0], of[2]...) {
			if err := visit(s, o); err != nil {
				t.Fatalf("an origin of another node: %v", err)
			}
		}
		time.Sleep(50 * time.Millisecond) // the machine has other tests
	}
	eventually(t, "one node down and the others not", func() error {
		if !s.Down(of[1][0]) || s.DownSince().IsZero() {
			t.Fatal("the node that hangs is not down")
		}
		if s.Down(of[0][0]) || s.Down(of[2][0]) { // as on a busy machine
			return errors.New("another is down")
		}
		return nil
	})
	nodes[1].Thaw()
	for _, o := range of[1] {
		eventually(t, "visit", func() error { return visit(s, o) })
	}
	eventually(t, "down", func() error {
		if since := s.DownSince(); !since.IsZero() {
			return fmt.Errorf("down since %v", since)
		}
		return nil
	})
}

// TestMovingSlot: calls succeed while the slot of an origin moves, as redis-cli moves it, and a
// lease granted before is valid afterwards.
func TestMovingSlot(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 2)
	patient(nodes)
	s := newStore(t, redistest.NewClient(t, nodes[0].Option()), Options{})
	// One with a record, one with a lease, one unknown, all in one slot.
	same := []robots.Origin{cachetest.Origin(0)}
	for i := 1; len(same) < 3; i++ {
		if o := cachetest.Origin(i); slotOf(s, o) == slotOf(s, same[0]) {
			same = append(same, o)
		}
	}
	if err := visit(s, same[0]); err != nil {
		t.Fatal(err)
	}
	held := lock(t, s, same[1], time.Hour)
	slot := slotOf(s, same[0])
	from, to := nodes[nodeOf(slot, 2)], nodes[1-nodeOf(slot, 2)]
	host, port, _ := net.SplitHostPort(to.Addr)
	number := strconv.Itoa(slot)
	last := uint64(0)
	for stage, step := range []func(){
		func() {},
		func() {
			to.Do("CLUSTER", "SETSLOT", number, "IMPORTING", from.Do("CLUSTER", "MYID"))
			from.Do("CLUSTER", "SETSLOT", number, "MIGRATING", to.Do("CLUSTER", "MYID"))
		},
		func() { from.Do("MIGRATE", host, port, s.key(same[0]), "0", "5000") },
		func() { from.Do("MIGRATE", host, port, s.key(same[1]), "0", "5000") },
		func() {
			for _, n := range []*redistest.Server{to, from} {
				n.Do("CLUSTER", "SETSLOT", number, "NODE", to.Do("CLUSTER", "MYID"))
			}
		},
	} {
		step()
		for _, o := range []robots.Origin{same[0], same[2]} {
			if err := visit(s, o); err != nil {
				t.Errorf("stage %d: %v", stage, err)
			}
		}
		if _, err := s.Lock(ctx, same[1], time.Hour); !errors.Is(err, cache.ErrLocked) {
			t.Errorf("stage %d: a lock in force: %v", stage, err)
		}
		l := lock(t, s, same[0], time.Minute)
		if l <= last {
			t.Errorf("stage %d: token %d after %d", stage, l, last)
		}
		last = l
		if err := s.Unlock(ctx, same[0], l); err != nil {
			t.Errorf("stage %d: %v", stage, err)
		}
	}
	if err := s.Unlock(ctx, same[1], held); err != nil {
		t.Error(err)
	}
	if l := lock(t, s, same[1], time.Minute); l <= held {
		t.Errorf("token %d after %d", l, held)
	}
	if since := s.DownSince(); !since.IsZero() {
		t.Errorf("down since %v", since)
	}
}
