package fleet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
)

// examined returns the findings about a URL as "check: text", without those of latency, which a
// busy machine can have.
func examined(t *testing.T, url string, o fleet.Options) (found []string) {
	t.Helper()
	list, err := fleet.Examine(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if !slices.Contains(fleet.Checks(), f.Check) || f.Text == "" || f.Do == "" || strings.HasSuffix(f.Text, ".") || strings.ContainsAny(f.Text+f.Do, "\n") ||
			strings.Contains(f.Text, "geheim") {
			t.Errorf("not a finding: %+v", f)
		}
		if f.Check != "latency" {
			found = append(found, f.Check+": "+f.Text)
		}
	}
	return found
}

// TestExamine: each check finds its problem, and a server configured as documented has no
// finding.
func TestExamine(t *testing.T) {
	t.Parallel()
	right := []string{"maxmemory 100mb", "appendonly yes"}
	healthy := redistest.Start(t, redistest.Options{Config: right})
	if got := examined(t, healthy.URL(), fleet.Options{}); len(got) != 0 {
		t.Errorf("of a server without fault: %q", got)
	}
	wants := func(name string, got []string, want ...string) {
		t.Helper()
		if len(got) != len(want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
			return
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%s: got %q, want %q", name, got[i], want[i])
			}
		}
	}
	bare := redistest.Start(t, redistest.Options{Config: []string{"maxmemory-policy allkeys-lru"}})
	wants("bare", examined(t, bare.URL(), fleet.Options{}), "eviction: maxmemory-policy is allkeys-lru", "memory: maxmemory is not set", "persistence: it has no append-only file")
	bare.Do("CONFIG", "SET", "maxmemory", "1")
	wants("full", examined(t, bare.URL(), fleet.Options{}), "eviction: ", "memory: ", "persistence: ")

	healthy.Do("ACL", "SETUSER", "robots", "on", ">geheim", "~other:*", "+@all", "-info", "-zadd")
	wants("rights", examined(t, "redis://robots@"+healthy.Addr, fleet.Options{Password: "geheim"}), "rights: the user lacks rights of a fleet", "rights: the user may not use INFO")
	wants("password", examined(t, "redis://robots@"+healthy.Addr, fleet.Options{Password: "geheimer"}), "rights: Redis at "+healthy.Addr+" refuses this user: WRONGPASS")
	open(t, healthy.URL(), fleet.Options{})
	two := fleet.Options{Pace: pace.Options{Concurrency: 2}}
	wants("another option", examined(t, healthy.URL(), two), "options: the fleet's Concurrency is 1 and this worker's 2")
	if f, err := fleet.Open(t.Context(), healthy.URL(), two); err == nil || !strings.Contains(err.Error(), "oncurrency") {
		t.Errorf("a worker with another option: %v, %v", f, err)
	}
	replica := healthy.Replica(redistest.Options{Config: right})
	wants("replica", examined(t, replica.URL(), fleet.Options{}), "role: it is a replica")
	healthy.Kill()
	wants("gone", examined(t, healthy.URL(), fleet.Options{}), "reach: Redis at "+healthy.Addr+" does not answer")

	if _, err := fleet.Examine(t.Context(), "http://127.0.0.1", fleet.Options{}); err == nil || !strings.Contains(err.Error(), "unknown scheme") {
		t.Errorf("a URL of something else: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fleet.Examine(ctx, bare.URL(), fleet.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestExamineCluster: every node is examined. A hanging one is found, and the others too.
func TestExamineCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a node that hangs takes seconds")
	}
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	for _, n := range nodes {
		n.Do("CONFIG", "SET", "maxmemory", "100mb")
		n.Do("CONFIG", "SET", "appendonly", "yes")
	}
	got := examined(t, nodes[0].URL(), fleet.Options{})
	if len(got) != 3 || slices.ContainsFunc(got, func(s string) bool { return !strings.HasPrefix(s, "replicas: it has no replica") }) {
		t.Errorf("of three primaries without replicas: %q", got)
	}
	nodes[1].Freeze()
	defer nodes[1].Thaw()
	if got := examined(t, nodes[0].URL(), fleet.Options{}); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "reach: ") }) {
		t.Errorf("with a node that hangs: %q", got)
	}
}

// TestExamineClock: a wrong clock is found, with its direction.
func TestExamineClock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{Clock: true, Config: []string{"maxmemory 100mb", "appendonly yes"}})
	for offset, want := range map[time.Duration]string{time.Hour: "ahead of", -time.Hour: "behind"} {
		s.SetClock(offset)
		if got := examined(t, s.URL(), fleet.Options{}); len(got) != 1 || !strings.Contains(got[0], "clock: its clock is ") || !strings.Contains(got[0], want) {
			t.Errorf("with a clock that is off by %s: %q", offset, got)
		}
	}
}
