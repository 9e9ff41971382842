package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// questions asks for so many sites.
func questions(t testing.TB, name string, n int, s *pace.Schedule) []pace.Question {
	asked := make([]pace.Question, n)
	for i := range asked {
		asked[i] = pace.Question{Key: pace.Key{Origin: originOf(t, fmt.Sprintf("%s%d.example", name, i))}, Schedule: s}
	}
	return asked
}

// next asks, and sets what was granted to be given back with the next question.
func next(t testing.TB, l pace.Chooser, asked []pace.Question, k int) (granted, degraded int) {
	t.Helper()
	answers, err := l.Next(t.Context(), asked, k)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range answers {
		asked[i].Ended = pace.Grant{}
		switch {
		case g.OK():
			granted++
			asked[i].Ended, asked[i].Result = g, ok
		case g.Reasons[0].Cause == pace.CauseDegraded:
			degraded++
		}
	}
	return granted, degraded
}

// TestNextShared: workers of a frontier that share their sites: each has its turn once an
// interval, whoever asks, and what one gives back the others see.
func TestNextShared(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t, redistest.Options{}).Client()
	prefix := fresh()
	a, b := newLimiter(t, c, redis.Options{Prefix: prefix}), newLimiter(t, c, redis.Options{Prefix: prefix})
	s := steady(t, time.Hour)
	first, second := questions(t, "shared", 100, s), questions(t, "shared", 100, s)
	for range 2 {
		next(t, b, questions(t, "other", 1000, s), 1000) // b knows all tags by now, and looks
	}
	if n, _ := next(t, a, first, 30); n != 30 {
		t.Errorf("granted %d, want 30", n)
	}
	if n, _ := next(t, b, second, 100); n != 70 {
		t.Errorf("the second worker is granted %d, want the other 70", n)
	}
	for i := range first {
		first[i].Result = pace.Result{Unused: true}
	}
	next(t, a, first, 0)
	if n, _ := next(t, b, second, 100); n != 30 {
		t.Errorf("the second worker is granted %d, want the 30 that were not used", n)
	}
	answers, err := a.Next(t.Context(), first, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range answers {
		if g.OK() || time.Until(g.Start) < 50*time.Minute && !because(g.Turn, pace.CauseBusy) {
			t.Errorf("site %d: %v", i, g.Turn)
		}
	}
}

// TestNextDown: sites whose server hangs or is gone are refused, or have their share, and
// hold up no others.
func TestNextDown(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	for _, n := range nodes {
		n.Do("CONFIG", "SET", "cluster-require-full-coverage", "no") // else a cluster without one node is down
	}
	for _, policy := range []redis.Policy{redis.Stop, redis.Divide} {
		l := newLimiter(t, nodes[0].Client(), redis.Options{WhenDown: policy, Workers: 4})
		s := steady(t, 100*time.Millisecond)
		asked := questions(t, "down", 300, s)
		until(t, "a call that grants all", func() bool { // on a busy machine a node may be too slow at first
			n, d := next(t, l, asked, 300)
			return n == 300 && d == 0
		})
		next(t, l, asked, 0)
		nodes[1].Freeze()
		time.Sleep(110 * time.Millisecond)
		granted, degraded := 0, 0
		until(t, fmt.Sprintf("%s: a call in which one of three nodes is away, and no other", policy), func() bool {
			granted, degraded = next(t, l, asked, 300) // takes as long as a call may
			return degraded >= 50 && degraded <= 150
		})
		until(t, "the others", func() bool {
			n, _ := next(t, l, asked, 300)
			granted += n
			return granted > 2*(300-degraded)
		})
		nodes[1].Thaw()
		want := slices.Clone(asked)
		until(t, "all of them", func() bool {
			next(t, l, want, 300)
			return l.DownSince().IsZero()
		})
	}
}

// TestNextScripts: on one server a script decides about 32 sites, and one gives 32 back,
// whatever their tags.
func TestNextScripts(t *testing.T) {
	t.Parallel()
	const sites = 320
	server := redistest.Start(t, redistest.Options{})
	l := newLimiter(t, server.Client(), redis.Options{})
	asked := questions(t, "scripts", sites, steady(t, time.Nanosecond))
	for _, k := range []int{sites, 0} {
		until(t, "10 scripts", func() bool { // on a machine that stands still meanwhile it may be more
			if k == 0 {
				next(t, l, asked, sites)
			}
			server.Do("CONFIG", "RESETSTAT")
			if n, _ := next(t, l, asked, k); n != k {
				t.Fatalf("granted %d, want %d", n, k)
			}
			_, calls, _ := strings.Cut(server.Do("INFO", "commandstats"), "cmdstat_mget:calls=") // each of these scripts reads once
			calls, _, _ = strings.Cut(calls, ",")
			if k > 0 {
				next(t, l, asked, 0)
			}
			return calls == "10"
		})
	}
}
