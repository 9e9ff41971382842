package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
	"github.com/robotskit/robots/pace/redis"
)

// TestLeasedContract holds the limiter of a partitioned frontier against the contract.
func TestLeasedContract(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it takes 7 s")
	}
	t.Parallel()
	c := redistest.Start(t, redistest.Options{}).Client()
	pacetest.Run(t, pacetest.Subject{
		New: func(t *testing.T, o pace.Options) pace.Limiter {
			return newLeased(t, c, redis.Options{Options: o, Prefix: fresh()}, time.Minute)
		},
		Unit:  50 * time.Millisecond,
		Slack: 25 * time.Millisecond, // of addresses, as in TestContract
	})
}

func newLeased(t testing.TB, c rueidis.Client, o redis.Options, term time.Duration) *redis.Leased {
	t.Helper()
	l, err := redis.NewLeasedFor(c, o, term)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A leasedPair is two workers of a fleet, a and b, and a site with an interval of 100 ms.
type leasedPair struct {
	*testing.T
	server *redistest.Server
	a, b   *redis.Leased
	s      *pace.Schedule
}

func pairOf(t *testing.T, o redistest.Options, term time.Duration) leasedPair {
	t.Helper()
	p := leasedPair{T: t, server: redistest.Start(t, o), s: steady(t, 100*time.Millisecond)}
	p.a = newLeased(t, p.server.Client(), redis.Options{Name: "worker-a"}, term)
	p.b = newLeased(t, p.server.Client(), redis.Options{Name: "worker-b"}, term)
	return p
}

func (p leasedPair) key(name string) pace.Key { return pace.Key{Origin: originOf(p, name+".example")} }

// ask asks until there is an answer: after a restart of the server each connection first
// finds that it is broken.
func (p leasedPair) ask(l *redis.Leased, name string) (g pace.Grant) {
	p.Helper()
	until(p, "the server", func() (answered bool) {
		var err error
		if g, err = l.Reserve(p.Context(), p.key(name), p.s, 0); err != nil && !errors.Is(err, redis.ErrDown) {
			p.Fatal(err)
		}
		return err == nil
	})
	return g
}

// look asks when a site might be asked, until there is an answer.
func (p leasedPair) look(l *redis.Leased, name string) (turn pace.Turn) {
	p.Helper()
	until(p, "the server", func() (answered bool) {
		var err error
		if turn, err = l.NotBefore(p.Context(), p.key(name), p.s); err != nil && !errors.Is(err, redis.ErrDown) {
			p.Fatal(err)
		}
		return err == nil
	})
	return turn
}

// visit makes a request.
func (p leasedPair) visit(l *redis.Leased, name string, r pace.Result) (ended time.Time) {
	p.Helper()
	g, err := l.Wait(p.Context(), p.key(name), p.s)
	if err != nil {
		p.Fatal(err)
	}
	if !l.Valid(g) {
		p.Fatal("a grant that Wait has just returned is not valid")
	}
	ended = time.Now()
	if err := l.Done(p.Context(), g, r); err != nil {
		p.Fatal(err)
	}
	return ended
}

// taken returns who has the site, by a refusal.
func taken(g pace.Grant) (worker string, until time.Time, is bool) {
	i := slices.IndexFunc(g.Reasons, func(r pace.Reason) bool { return r.Cause == pace.CauseLeased })
	if g.OK() || i < 0 {
		return "", until, false
	}
	return g.Reasons[i].Worker, g.Reasons[i].Until, true
}

// refused checks that a worker does not get a site, and returns until when.
func (p leasedPair) refused(l *redis.Leased, name, holder string) time.Time {
	p.Helper()
	g := p.ask(l, name)
	worker, until, is := taken(g)
	if !is || worker != holder {
		p.Fatalf("%v, want a refusal that names %q", g.Turn, holder)
	}
	return until
}

// TestLeasedOrder: a second worker at a site is refused with the name of the first; when
// that one leaves, it has the site at once, and goes on at the right spacing.
func TestLeasedOrder(t *testing.T) {
	t.Parallel()
	p := pairOf(t, redistest.Options{}, time.Minute)
	p.visit(p.a, "x", ok)
	p.visit(p.a, "busy", pace.Result{Status: 503, RetryAfter: 5 * time.Minute})
	ends := p.refused(p.b, "x", "worker-a")
	if d := time.Until(ends); d > time.Minute || d < 30*time.Second {
		t.Errorf("for %s more, want a minute at most", d)
	}
	if text := p.ask(p.b, "x").Turn.String(); !strings.Contains(text, "another worker has the site: worker-a, until ") {
		t.Errorf("the reason is %q", text)
	}
	if g := p.ask(p.b, "x"); time.Until(g.Start) > 5*time.Second {
		t.Errorf("to be asked again in %s, want 5 s at most, as the first may leave", time.Until(g.Start))
	}
	if turn := p.look(p.b, "x"); !because(turn, pace.CauseLeased) {
		t.Errorf("NotBefore says %v", turn)
	}
	if turn := p.look(p.b, "free"); because(turn, pace.CauseLeased) {
		t.Errorf("NotBefore of a free site says %v", turn)
	}
	p.visit(p.a, "free", ok) // which NotBefore has not taken

	until(t, "an answer for both", func() bool {
		answers, err := p.b.Next(t.Context(), []pace.Question{{Key: p.key("x"), Schedule: p.s}, {Key: p.key("y"), Schedule: p.s}}, 2)
		if err != nil || answers[0].OK() {
			t.Fatalf("%v, %v, want no start at x", answers, err)
		}
		worker, _, is := taken(answers[0])
		return is && worker == "worker-a" && answers[1].OK()
	})

	ended := p.visit(p.a, "x", ok)
	under := p.ask(p.a, "slow") // with a request under way
	if err := p.a.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := p.b.Reserve(t.Context(), p.key("x"), p.s, time.Minute)
	if err != nil || !g.OK() || g.Start.Before(ended.Add(100*time.Millisecond)) {
		t.Errorf("after the first has left: %v, %v, want a start 100 ms after %s", g.Turn, err, ended)
	}
	turn := p.look(p.b, "busy")
	if !because(turn, pace.CauseRetryAfter) || turn.Interval != 2*time.Second {
		t.Errorf("after the first has left: %v, want its Retry-After and back-off", turn)
	}
	p.refused(p.b, "slow", "worker-a")
	if err := p.a.Done(t.Context(), under, ok); err != nil {
		t.Fatal(err)
	}
	if _, _, is := taken(p.ask(p.b, "slow")); is {
		t.Error("the site of the last request is not handed over")
	}
	if _, err := p.a.Wait(t.Context(), p.key("x"), p.s); err == nil {
		t.Error("a limiter that is closed gives a start")
	}
}

func because(t pace.Turn, c pace.Cause) bool {
	return slices.ContainsFunc(t.Reasons, func(r pace.Reason) bool { return r.Cause == c })
}

// TestLeasedWait: who waits at the site of another worker gets it when that one gives it
// back, as it does with a site that it does not use, and an error while it uses the site.
func TestLeasedWait(t *testing.T) {
	t.Parallel()
	p := pairOf(t, redistest.Options{}, 8*time.Second) // it is renewed in time, also on a busy machine
	ended := p.visit(p.a, "idle", ok)
	if at := p.visit(p.b, "idle", ok); at.Before(ended.Add(100 * time.Millisecond)) {
		t.Errorf("asked %s after the last", at.Sub(ended))
	}
	if testing.Short() {
		return // the rest takes as long as a lease
	}
	working, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for working.Err() == nil {
			p.visit(p.a, "used", ok)
		}
	})
	defer all.Wait()
	defer stop()
	until(t, "the first to have the site", func() bool { return because(p.look(p.b, "used"), pace.CauseLeased) })
	_, err := p.b.Wait(t.Context(), p.key("used"), p.s)
	no, is := errors.AsType[*pace.TakenError](err)
	if !is || no.Worker != "worker-a" || !strings.Contains(err.Error(), "http://used.example is the site of another worker, worker-a, until ") {
		t.Errorf("Wait says %v, want a TakenError", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.b.Wait(ctx, p.key("used"), p.s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait with a deadline says %v", err)
	}
}

// TestLeasedOperator: what an operator says holds for sites that belong to a worker.
func TestLeasedOperator(t *testing.T) {
	t.Parallel()
	p := pairOf(t, redistest.Options{}, 2*time.Second)
	op, err := redis.NewOperator(p.server.Client(), redis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	held := func() bool {
		g := p.ask(p.a, "x")
		if err := p.a.Done(t.Context(), g, pace.Result{Unused: true}); err != nil {
			t.Fatal(err)
		}
		return because(g.Turn, pace.CauseHeld)
	}
	p.visit(p.a, "x", ok)
	if err := op.Hold(t.Context(), p.key("x").Origin, time.Hour); err != nil {
		t.Fatal(err)
	}
	until(t, "the worker to obey", held)
	if g := p.ask(p.b, "x"); !because(g.Turn, pace.CauseHeld) {
		t.Errorf("another worker: %v, want that the site is held", g.Turn)
	}
	if _, err := op.Release(t.Context(), p.key("x").Origin); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of it", func() bool { return !held() })
	p.visit(p.a, "x", ok)
	p.visit(p.a, "y", ok)
	workers, _, err := op.Workers(t.Context())
	if err != nil || len(workers) != 2 || workers[0].Name != "worker-a" {
		t.Fatalf("the workers are %v, %v", workers, err)
	}
	waiting := make(chan error, 1)
	go func() { _, err := p.a.Wait(t.Context(), p.key("x"), steady(t, time.Hour)); waiting <- err }()
	if err := op.Drain(t.Context(), workers[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, redis.ErrDrained) {
		t.Errorf("a worker that is drained: %v, want ErrDrained", err)
	}
	p.visit(p.b, "y", ok)
}

// TestLeasedFull: a worker keeps within its memory, and has room for a site when another one
// is not used any more.
func TestLeasedFull(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t, redistest.Options{}).Client()
	l := newLeased(t, c, redis.Options{Options: pace.Options{MaxBytes: 1}}, time.Second) // one site
	s := steady(t, time.Millisecond)
	first, second := pace.Key{Origin: originOf(t, "full1.example")}, pace.Key{Origin: originOf(t, "full2.example")}
	for _, key := range []pace.Key{first, second} {
		if key == second {
			g, err := l.Reserve(t.Context(), second, s, 0)
			if err != nil || g.OK() || g.Reasons[0].Cause != pace.CauseFull {
				t.Fatalf("%v, %v, want no room", g.Turn, err)
			}
		}
		g, err := l.Wait(t.Context(), key, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Done(t.Context(), g, ok); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLeasedOutage: without the server a worker goes on with what it has until its leases
// end, and with nothing else.
func TestLeasedOutage(t *testing.T) {
	t.Parallel()
	p := pairOf(t, redistest.Options{}, 3*time.Second)
	p.visit(p.a, "x", ok)
	p.server.Kill()
	began := time.Now()
	if _, err := p.a.Reserve(t.Context(), p.key("y"), p.s, 0); !errors.Is(err, redis.ErrDown) {
		t.Errorf("at a new site: %v, want ErrDown", err)
	}
	visits := 0
	for {
		g, err := p.a.Reserve(t.Context(), p.key("x"), p.s, time.Second)
		if err != nil {
			if !errors.Is(err, redis.ErrDown) {
				t.Error(err)
			}
			break
		}
		visits++
		time.Sleep(time.Until(g.Start))
		if err := p.a.Done(t.Context(), g, ok); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > 3*time.Second+slack || visits == 0 {
		t.Errorf("%d visits in %s without the server, want some, and none after 3 s", visits, took)
	}
	answers, err := p.a.Next(t.Context(), []pace.Question{{Key: p.key("x")}, {Key: p.key("z")}}, 2)
	if err != nil || answers[0].OK() || answers[0].Reasons[0].Cause != pace.CauseDegraded || answers[1].Reasons[0].Cause != pace.CauseDegraded {
		t.Errorf("Next says %v, %v", answers, err)
	}
	p.server.Up() // empty
	p.visit(p.a, "x", ok)
	p.visit(p.b, "y", ok)
	p.refused(p.b, "x", "worker-a")
}

// slack is for a machine that does other work.
const slack = 20 * time.Second

// TestLeasedRestart: on a server that came back empty nobody gets a site before the leases
// that it has forgotten have ended, and their holders go on.
func TestLeasedRestart(t *testing.T) {
	t.Parallel()
	term := campaign.Size(4*time.Second, 4*time.Second, 10*time.Second)
	p := pairOf(t, redistest.Options{}, term)
	losses := []func(){p.server.Replace, func() { p.server.Do("FLUSHALL") }}
	for _, lose := range losses[:campaign.Size(1, 2, 2)] {
		p.visit(p.a, "x", ok)
		began := time.Now()
		lose()
		waits, last := 0, time.Time{}
		for {
			if _, _, is := taken(p.ask(p.b, fmt.Sprint("y", began.Unix()))); !is {
				break
			}
			last = time.Now()
			if worker, _, is := taken(p.ask(p.b, "x")); !is || worker != "" && worker != "worker-a" {
				t.Fatalf("the site of the first: %t, %s", is, worker)
			}
			p.visit(p.a, "x", ok)
			waits++
		}
		if took := time.Since(began); took < term {
			t.Errorf("a new site after %s, want %s", took, term)
		}
		t.Logf("%d refusals, the last after %s", waits, last.Sub(began))
		p.refused(p.b, "x", "worker-a")
	}
}

// TestLeasedClock: a clock that is set forward ends no lease, and one that is set back
// makes none longer.
func TestLeasedClock(t *testing.T) {
	t.Parallel()
	p := pairOf(t, redistest.Options{Clock: true}, 20*time.Second)
	p.visit(p.a, "x", ok)
	p.visit(p.a, "idle", ok)
	p.refused(p.b, "x", "worker-a")
	p.server.SetClock(time.Hour)
	for range 20 {
		if _, _, is := taken(p.ask(p.b, "x")); !is {
			t.Fatal("the second worker gets a site whose lease the clock has ended")
		}
	}
	p.visit(p.a, "x", ok)
	p.server.SetClock(-time.Hour)
	for range 20 {
		if _, _, is := taken(p.ask(p.b, "x")); !is {
			t.Fatal("the second worker gets the site of the first")
		}
	}
	if d := time.Until(p.ask(p.b, "x").Reasons[0].Until); d > 21*time.Second {
		t.Errorf("after the clock was set back for %s more, want 20 s at most", d)
	}
}

// TestLeasedDamage: what no script has written is a site that somebody may have.
func TestLeasedDamage(t *testing.T) {
	t.Parallel()
	p := pairOf(t, redistest.Options{}, time.Second)
	for i, damage := range [][]string{
		{"SET", "", "nonsense"}, {"SET", "", strings.Repeat("\xff", 80)}, {"RPUSH", "", "a"},
	} {
		name := fmt.Sprint("d", i)
		p.visit(p.a, name, ok)
		damage[1] = p.server.Do("EVAL", "return redis.call('KEYS', ARGV[1])[1]", "0", "*site:http://"+name+".example")
		p.server.Do("DEL", damage[1])
		p.server.Do(damage...)
		began := time.Now()
		if g := p.ask(p.b, name); g.OK() {
			t.Errorf("%v: granted at once", damage)
		}
		p.visit(p.b, name, ok)
		if took := time.Since(began); took < time.Second {
			t.Errorf("%v: asked after %s, want 1 s", damage, took)
		}
	}
}

// TestLeasedLost: workers that fight for a few sites over connections that break, one of
// which leaves now and then: no two requests to a site are closer than its interval.
func TestLeasedLost(t *testing.T) {
	t.Parallel()
	const workers, sites, term, interval = 4, 3, 600 * time.Millisecond, 20 * time.Millisecond
	s := redistest.Start(t, redistest.Options{})
	proxy := redistest.NewProxy(t, s.Addr)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute) // a slow machine may take all of it
	defer stop()
	enough := time.Now().Add(campaign.Size(2*time.Second, 4*time.Second, time.Minute))
	var mu sync.Mutex
	type start struct {
		at     time.Time
		worker int
	}
	logs := make([][]start, sites)
	handed := func(log []start) (n int) {
		for i := 1; i < len(log); i++ {
			if log[i].worker != log[i-1].worker {
				n++
			}
		}
		return n
	}
	var all sync.WaitGroup
	for w := range workers {
		option := rueidis.ClientOption{InitAddress: []string{proxy.Addr}, DisableCache: true}
		all.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				client, err := rueidis.NewClient(option)
				if err != nil {
					continue // the connection broke
				}
				l, err := redis.NewLeasedFor(client, redis.Options{Name: fmt.Sprint(w)}, term)
				if err != nil {
					client.Close()
					continue
				}
				until := time.Now().Add(2 * term)
				for n := round + w; ctx.Err() == nil && time.Now().Before(until); n++ {
					key := pace.Key{Origin: originOf(t, fmt.Sprintf("lost%d.example", n%sites))}
					g, err := l.Reserve(ctx, key, steady(t, interval), 0)
					if err != nil || !g.OK() {
						time.Sleep(time.Millisecond)
						continue
					}
					if l.Valid(g) {
						mu.Lock()
						logs[n%sites] = append(logs[n%sites], start{time.Now(), w})
						mu.Unlock()
					}
					if err := l.Done(ctx, g, ok); err != nil {
						t.Error(err)
					}
				}
				l.Close()
				client.Close()
			}
		})
	}
	all.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(7 * time.Millisecond)
			proxy.Switch(s.Addr)
			mu.Lock()
			if time.Now().After(enough) && !slices.ContainsFunc(logs, func(log []start) bool { return handed(log) == 0 }) {
				stop()
			}
			mu.Unlock()
		}
	})
	all.Wait()
	for site, log := range logs {
		for i := 1; i < len(log); i++ {
			if d := log[i].at.Sub(log[i-1].at); d < interval {
				t.Errorf("site %d: workers %d and %d ask %s apart, want %s", site, log[i-1].worker, log[i].worker, d, interval)
			}
		}
		n := handed(log)
		if t.Logf("site %d: %d requests, handed over %d times", site, len(log), n); n == 0 {
			t.Error("nobody else ever had the site")
		}
	}
}

// holder returns which process has the site of the tests with processes, 0 for none.
func holder(t *testing.T, l *redis.Leased, s *pace.Schedule) (pid int) {
	t.Helper()
	turn, err := l.NotBefore(t.Context(), pace.Key{Origin: originOf(t, "hot.example")}, s)
	if err != nil && !errors.Is(err, redis.ErrDown) {
		t.Fatal(err)
	}
	if worker, _, is := taken(pace.Grant{Turn: turn}); is {
		_, number, _ := strings.Cut(worker, "/")
		pid, _ = strconv.Atoi(number)
	}
	return pid
}

// TestLeasedKill: the worker that has a site is killed, or stopped before its request for
// longer than its lease: another one has the site when the lease is over, and not before.
func TestLeasedKill(t *testing.T) {
	t.Parallel()
	const interval, term = 40 * time.Millisecond, 1200 * time.Millisecond
	server := redistest.Start(t, redistest.Options{})
	prefix, s := fresh(), steady(t, interval)
	look := newLeased(t, server.Client(), redis.Options{Prefix: prefix}, term)
	site := fleet(t, 3, orders{Redis: server.Addr, Prefix: prefix, Interval: interval, Term: term})
	first := site.workers[0]
	first.tell(t, stops)
	until(t, "the first worker to stop with the site", func() bool { return holder(t, look, s) == first.pid })
	for _, w := range site.workers[1:] {
		w.tell(t, works)
	}
	if n := len(site.seen()); n != 0 && holder(t, look, s) == first.pid {
		t.Errorf("%d requests while the first worker has the site and is stopped", n)
	}
	another := func(than int) (pid int) {
		until(t, "another worker", func() bool {
			pid = holder(t, look, s)
			return pid != 0 && pid != than
		})
		n := len(site.seen())
		until(t, "its requests", func() bool { return len(site.seen()) > n+5 })
		return pid
	}
	second := another(first.pid)
	first.signal(t, syscall.SIGCONT)
	kills := campaign.Size(1, 1, 2)
	for range kills {
		if err := syscall.Kill(second, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		second = another(second)
	}
	starts := site.end()
	if d := closest(starts); d < interval {
		t.Errorf("two requests are %s apart, want %s", d, interval)
	}
	if d := longest(starts); d > term+interval+slack {
		t.Errorf("nobody had the site for %s after a worker was killed, want a lease of %s", d, term)
	}
	t.Logf("%d requests, the closest %s apart, %s without a worker at most", len(starts), closest(starts), longest(starts))
}

// TestLeasedAllocations: a grant, its end and a look under leases allocate no more than
// pace.Local does.
func TestLeasedAllocations(t *testing.T) {
	own, err := pace.NewLocal(pace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	leased := newLeased(t, redistest.Start(t, redistest.Options{}).Client(), redis.Options{}, time.Hour)
	ctx, s := t.Context(), steady(t, time.Nanosecond)
	asked := make([]pace.Question, 100)
	for i := range asked {
		asked[i] = pace.Question{Key: pace.Key{Origin: originOf(t, fmt.Sprintf("site%d.example", i))}, Schedule: s}
	}
	for _, test := range []struct {
		name string
		do   func(l pace.Chooser)
	}{
		{"Next", func(l pace.Chooser) { _, _ = l.Next(ctx, asked, 0) }},
		{"NotBefore", func(l pace.Chooser) { _, _ = l.NotBefore(ctx, asked[0].Key, s) }},
		{"Reserve, Valid and Done", func(l pace.Chooser) {
			g, err := l.Reserve(ctx, asked[0].Key, s, time.Minute)
			if err != nil || !g.OK() || !l.Valid(g) {
				t.Fatal(g, err)
			}
			_ = l.Done(ctx, g, ok)
		}},
	} {
		most := testing.AllocsPerRun(100, func() { test.do(own) })
		if got := testing.AllocsPerRun(100, func() { test.do(leased) }); got > most {
			t.Errorf("%s allocates %v times, pace.Local %v times", test.name, got, most)
		} else {
			t.Logf("%s allocates %v times, pace.Local %v times", test.name, got, most)
		}
	}
}
