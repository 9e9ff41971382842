package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

func back(t *testing.T, l *redis.Limiter) {
	t.Helper()
	until(t, "Redis to be back", func() bool { return l.DownSince().IsZero() })
}

// noticed waits until the limiter knows that its server is down.
func noticed(t *testing.T, l *redis.Limiter) {
	t.Helper()
	until(t, "Redis to be down", func() bool {
		_, _ = l.NotBefore(t.Context(), pace.Key{Origin: originOf(t, "any.example")}, nil) // whose error is what is waited for
		return !l.DownSince().IsZero()
	})
}

func has(turn pace.Turn, c pace.Cause) bool {
	return slices.ContainsFunc(turn.Reasons, func(r pace.Reason) bool { return r.Cause == c })
}

func reserve(t *testing.T, l *redis.Limiter, k pace.Key, s *pace.Schedule) pace.Grant {
	t.Helper()
	g, err := l.Reserve(t.Context(), k, s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func done(t *testing.T, l *redis.Limiter, g pace.Grant, r pace.Result) {
	t.Helper()
	if err := l.Done(t.Context(), g, r); err != nil {
		t.Fatal(err)
	}
}

var ok = pace.Result{Status: 200}

// TestStop: with the policy Stop nothing starts, the errors say why, and Wait goes on when
// Redis is back.
func TestStop(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AppendOnly: true})
	l := newLimiter(t, server.Client(), redis.Options{WhenDown: redis.Stop})
	k, s := pace.Key{Origin: originOf(t, "stop.example")}, steady(t, 100*time.Millisecond)
	done(t, l, reserve(t, l, k, s), ok)
	server.Kill()
	if _, err := l.Reserve(t.Context(), k, s, 0); !errors.Is(err, redis.ErrDown) {
		t.Errorf("Reserve says %v, want ErrDown", err)
	}
	if _, err := l.NotBefore(t.Context(), k, s); !errors.Is(err, redis.ErrDown) {
		t.Errorf("NotBefore says %v, want ErrDown", err)
	}
	if l.DownSince().IsZero() {
		t.Error("the limiter does not say that Redis is down")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Wait(ctx, k, s); !errors.Is(err, redis.ErrDown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait says %v, want the end of the context and ErrDown", err)
	}
	result := make(chan error, 1)
	go func() {
		g, err := l.Wait(t.Context(), k, s)
		if err == nil {
			err = l.Done(t.Context(), g, ok)
		}
		result <- err
	}()
	server.Up()
	if err := <-result; err != nil {
		t.Errorf("Wait says %v after Redis is back", err)
	}
	back(t, l)
}

// TestDivide: while Redis is down a worker keeps to its share and to what a site asked for
// before, and tells the others later what a site asked for meanwhile.
func TestDivide(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AppendOnly: true})
	prefix := fresh()
	l := newLimiter(t, server.Client(), redis.Options{Prefix: prefix, Workers: 4})
	other := newLimiter(t, server.Client(), redis.Options{Prefix: prefix})
	s := steady(t, 50*time.Millisecond)
	asked := pace.Key{Origin: originOf(t, "asked.example")}
	done(t, l, reserve(t, l, asked, s), pace.Result{Status: 503, RetryAfter: time.Hour})
	server.Kill()
	asking := time.Now()
	if turn, err := l.NotBefore(t.Context(), asked, s); err != nil || !has(turn, pace.CauseRetryAfter) {
		t.Errorf("a Retry-After is forgotten when Redis is down: %v, %v", turn, err)
	}
	k := pace.Key{Origin: originOf(t, "divide.example"), Addr: netip.MustParseAddr("192.0.2.1")}
	g := reserve(t, l, k, s)
	if g.OK() || !has(g.Turn, pace.CauseDegraded) || g.Interval != 200*time.Millisecond {
		t.Errorf("the first answer alone is %t, %s every %s, want none for a moment, and a quarter of the pace", g.OK(), g.Turn, g.Interval)
	}
	if early, wait := g.Start.Sub(asking), time.Until(g.Start); early < 50*time.Millisecond || wait > 150*time.Millisecond {
		t.Errorf("the first start is %s after the question, and %s after the answer, want this worker's place among two", early, wait)
	}
	var starts []time.Time
	for range 3 {
		g, err := l.Wait(t.Context(), k, s)
		if err != nil {
			t.Fatal(err)
		}
		turn, err := l.Visit(t.Context(), g, k.Addr, s)
		if err != nil {
			t.Fatal(err)
		}
		starts = append(starts, turn.Start)
		done(t, l, g, pace.Result{Status: 200, RetryAfter: time.Duration(len(starts)/3) * time.Hour})
	}
	// 4 workers share the address too, which has 500 ms.
	if d := closest(starts); d < 2*time.Second-lateSlack {
		t.Errorf("two starts alone are %s apart, want 2 s", d)
	}
	server.Up()
	back(t, l)
	back(t, other)
	if turn, err := other.NotBefore(t.Context(), k, s); err != nil || !has(turn, pace.CauseRetryAfter) {
		t.Errorf("what a site asked for meanwhile is not told: %s, %v", turn, err)
	}
}

// TestLostRelease: a server that was restarted, and has lost that grants were given back, is
// told so again. What came of them counts once.
func TestLostRelease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AppendOnly: true})
	server.Do("CONFIG", "SET", "appendfsync", "always")
	prefix, s := fresh(), steady(t, 50*time.Millisecond)
	l := newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop})
	other := newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop})
	end := func(host string, lost bool, r pace.Result) pace.Key {
		k := pace.Key{Origin: originOf(t, host)}
		name := stateKey(prefix, "origin:http://"+host)
		g := reserve(t, l, k, s)
		before := server.Do("GET", name)
		done(t, l, g, r)
		if lost {
			server.Do("SET", name, before)
		}
		return k
	}
	overload := pace.Result{Status: 503}
	usual, slower, kept := end("usual.example", true, ok), end("slower.example", true, overload), end("kept.example", false, overload)
	server.Restart()
	until(t, "a start: what is lost counts as under way", func() bool {
		_, _ = l.NotBefore(t.Context(), usual, s) // by which it notices the restart
		g, err := other.Reserve(t.Context(), usual, s, 0)
		return err == nil && g.OK()
	})
	for _, k := range []pace.Key{slower, kept} {
		var turn pace.Turn
		until(t, "the end of the grant", func() (ended bool) {
			var err error
			turn, err = other.NotBefore(t.Context(), k, s)
			return err == nil && !has(turn, pace.CauseBusy)
		})
		if turn.Interval != 2*time.Second {
			t.Errorf("%s: an interval of %s after one overload, want 2 s", k, turn.Interval)
		}
	}
}

// TestNoFleet: a worker that never reached Redis has no share.
func TestNoFleet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	c := server.Client()
	server.Kill()
	k, s := pace.Key{Origin: originOf(t, "alone.example")}, steady(t, time.Millisecond)
	l := newLimiter(t, c, redis.Options{})
	if _, err := l.Reserve(t.Context(), k, s, 0); !errors.Is(err, redis.ErrDown) {
		t.Errorf("Reserve says %v, want ErrDown", err)
	}
	told := newLimiter(t, c, redis.Options{Workers: 2})
	if _, err := told.Wait(t.Context(), k, s); err != nil {
		t.Error(err)
	}
	server.Up()
	back(t, l)
	until(t, "a start", func() bool { return reserve(t, l, k, s).OK() })
}

// TestLostReply: a grant whose reply was lost, and a Done that could not be told,
// hold a site no longer than Redis is down.
func TestLostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	prefix := fresh()
	l := newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop})
	s := steady(t, time.Millisecond)
	lost, late := pace.Key{Origin: originOf(t, "lost.example")}, pace.Key{Origin: originOf(t, "late.example")}
	g := reserve(t, l, late, s)
	server.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Reserve(ctx, lost, s, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Reserve says %v, want the end of the context", err)
	}
	done(t, l, g, ok)
	server.Thaw()
	back(t, l)
	for _, k := range []pace.Key{lost, late} {
		until(t, "a start", func() bool {
			g, err := l.Reserve(t.Context(), k, s, 0)
			return err == nil && g.OK()
		})
	}
}

// TestFull: where memory is full nothing is granted, what is given back is taken.
func TestFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	prefix := fresh()
	l := newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop})
	s := steady(t, time.Millisecond)
	k := pace.Key{Origin: originOf(t, "full.example")}
	state := stateKey(prefix, "origin:http://full.example")
	g := reserve(t, l, k, s)
	server.Do("CONFIG", "SET", "maxmemory", "1")
	if _, err := l.Reserve(t.Context(), pace.Key{Origin: originOf(t, "other.example")}, s, 0); !errors.Is(err, redis.ErrDown) ||
		!strings.Contains(err.Error(), "memory") {
		t.Errorf("Reserve says %v, want ErrDown and that memory is full", err)
	}
	before := server.Do("STRLEN", state)
	done(t, l, g, ok)
	if after := server.Do("STRLEN", state); after >= before {
		t.Errorf("the state has %s bytes after Done, %s before", after, before)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	back(t, l)
}

// TestDoubtOnce: many clients of a server that forgot begin one epoch, each
// origin waits one interval, and not one for each client.
func TestDoubtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AppendOnly: true})
	prefix := fresh()
	s := steady(t, 300*time.Millisecond)
	k := pace.Key{Origin: originOf(t, "doubt.example")}
	epochKey := redis.ServerEpochKey(prefix)
	var all []*redis.Limiter
	for range 8 {
		all = append(all, newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop}))
	}
	done(t, all[0], reserve(t, all[0], k, s), ok)
	// Limiters that come later believe what is there, and doubt nothing.
	epoch := server.Do("GET", epochKey)
	all = append(all, newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop}))
	time.Sleep(1200 * time.Millisecond) // the file is written every second
	if g := reserve(t, all[8], k, s); !g.OK() {
		t.Errorf("a new limiter is refused: %s", g.Turn)
	} else {
		done(t, all[8], g, ok)
	}
	if now := server.Do("GET", epochKey); now[:16] != epoch[:16] {
		t.Errorf("a new limiter begins epoch %s after %s", now, epoch)
	}
	for name, fault := range map[string]func(){"restart": server.Restart, "replacement": server.Replace} {
		epoch := server.Do("GET", epochKey)
		fault()
		up := time.Now()
		for _, l := range all {
			until(t, "an answer", func() bool {
				g, err := l.Reserve(t.Context(), k, s, 0)
				if g.OK() {
					if d := time.Since(up); d < 300*time.Millisecond {
						t.Errorf("a start %s after a %s, want an interval", d, name)
					}
					done(t, l, g, ok)
				}
				return err == nil
			})
		}
		for _, l := range all {
			back(t, l)
		}
		now := server.Do("GET", epochKey)
		if now[16:32] != epoch[:16] {
			t.Errorf("after a %s the epoch is %s, want one that follows %s", name, now, epoch[:16])
		}
	}
}

// TestClockBehind: a clock that is set back lengthens no wait by more than what
// was waited for.
func TestClockBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Clock: true})
	l := newLimiter(t, server.Client(), redis.Options{})
	s := steady(t, 2*time.Second)
	k := pace.Key{Origin: originOf(t, "behind.example"), Addr: netip.MustParseAddr("192.0.2.3")}
	done(t, l, reserve(t, l, k, s), pace.Result{Status: 200, RetryAfter: 3 * time.Second})
	server.SetClock(-time.Hour)
	g := reserve(t, l, k, s)
	if wait := time.Until(g.Start); g.OK() || wait > 3100*time.Millisecond || wait < time.Second {
		t.Errorf("an hour back the wait is %s, want up to the 3 s that were asked for", wait)
	}
	server.SetClock(time.Hour)
	if g := reserve(t, l, k, s); g.OK() {
		t.Error("an hour ahead a start is given at once")
	} else if wait := time.Until(g.Start); wait > 2100*time.Millisecond || wait < time.Second {
		t.Errorf("an hour ahead the wait is %s, want an interval", wait)
	}
}

// TestOptions: what is refused, in one sentence.
func TestOptions(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t, redistest.Options{}).Client()
	for want, o := range map[string]redis.Options{
		"prefix": {Prefix: "a}b"},
		"redis.Options.WhenDown is 7: it must be Divide or Stop": {WhenDown: 7},
		"redis.Options.Workers is -1: it must be 1 or more":      {Workers: -1},
		"pace.Options.GrantTimeout is -1ns: it must be positive": {Options: pace.Options{GrantTimeout: -1}},
	} {
		if _, err := redis.New(c, o); err == nil || !strings.Contains(err.Error(), want) || o.Check() == nil {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	// Nor can a server that has no scripts heal by waiting.
	c = redistest.Start(t, redistest.Options{Config: []string{`rename-command EVAL ""`}}).Client()
	if _, err := redis.New(c, redis.Options{}); err == nil || !strings.Contains(err.Error(), "unknown command 'EVAL'") {
		t.Errorf("a server without scripts: %v", err)
	}
	for _, p := range []redis.Policy{redis.Divide, redis.Stop} {
		text, _ := p.MarshalText()
		var q redis.Policy
		if err := q.UnmarshalText(text); err != nil || q != p {
			t.Errorf("%q is read as %s, %v", text, q, err)
		}
	}
}

// TestUser: a user with nothing but the commands and keys that are documented can
// do all that a limiter does, and one without them is told so.
func TestUser(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	server.Do(append([]string{"ACL", "SETUSER", "crawler"}, redistest.AccessRule(t, "doc.go")...)...)
	server.Do("ACL", "SETUSER", "stranger", "on", ">SECRET", "-@all", "+hello", "+ping", "~*")
	o := server.Option()
	o.Username, o.Password, o.DisableCache = "crawler", "SECRET", true
	l := newLimiter(t, redistest.NewClient(t, o), redis.Options{Prefix: "robots"})
	k, s := pace.Key{Origin: originOf(t, "user.example"), Addr: netip.MustParseAddr("192.0.2.1")}, steady(t, time.Millisecond)
	for i, r := range []pace.Result{ok, {Status: 503}, {Unused: true}} {
		k.Addr = k.Addr.Next()
		k.Origin = originOf(t, "user"+string(rune('a'+i))+".example")
		done(t, l, reserve(t, l, k, s), r)
	}
	if !l.DownSince().IsZero() {
		t.Error("a call was refused")
	}
	if log := server.Do("ACL", "LOG"); strings.Contains(log, "crawler") {
		t.Errorf("the server refused something: %s", log)
	}
	l.Close()
	if log := server.Do("ACL", "LOG"); strings.Contains(log, "crawler") {
		t.Errorf("the server refused something of Close: %s", log)
	}
	o.Username = "stranger"
	c := redistest.NewClient(t, o)
	if _, err := redis.New(c, redis.Options{}); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("New says %v for a user without rights, want NOPERM", err)
	}
}

// TestBackInSpiteOfTrouble: many answers of overloaded sites do not keep a worker from
// seeing that Redis is back.
func TestBackInSpiteOfTrouble(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	l := newLimiter(t, server.Client(), redis.Options{Workers: 1})
	s, n := steady(t, 10*time.Millisecond), 0
	trouble := func() {
		n++
		g, err := l.Reserve(t.Context(), pace.Key{Origin: originOf(t, fmt.Sprintf("h%d.example", n))}, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		done(t, l, g, pace.Result{Status: 429})
		time.Sleep(20 * time.Millisecond)
	}
	server.Kill()
	noticed(t, l)
	for range 40 {
		trouble()
	}
	server.Replace()
	until(t, "Redis to be back", func() bool { trouble(); return l.DownSince().IsZero() })
}

// TestLateDone: a response that ended before the server was exchanged, and is told
// afterwards, does not shorten the interval of which every site then rests.
func TestLateDone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	const interval = 2 * time.Second
	l := newLimiter(t, server.Client(), redis.Options{Prefix: fresh(), WhenDown: redis.Stop})
	s, k := steady(t, interval), pace.Key{Origin: originOf(t, "late.example")}
	g := reserve(t, l, k, s)
	server.Kill()
	noticed(t, l)
	done(t, l, g, pace.Result{Status: 200})
	time.Sleep(interval + interval/4)
	server.Replace()
	back(t, l)
	if g, err := l.Reserve(t.Context(), k, s, 0); err != nil || g.OK() {
		t.Errorf("granted %t, %v, as soon as the server is back; want a rest of %s", g.OK(), err, interval)
	}
}

// TestDeadlineInClaim: a start that is granted ahead of time and is after the caller's
// deadline is given back.
func TestDeadlineInClaim(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, redistest.Start(t, redistest.Options{}).Client(), redis.Options{})
	s, k := steady(t, 200*time.Millisecond), pace.Key{Origin: originOf(t, "hot.example")}
	done(t, l, reserve(t, l, k, s), pace.Result{Status: 200})
	turn, err := l.NotBefore(t.Context(), k, s)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(turn.Start) - 20*time.Millisecond)
	ctx, cancel := context.WithDeadline(t.Context(), turn.Start.Add(-8*time.Millisecond))
	defer cancel()
	if _, err := l.Wait(ctx, k, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait says %v, want an error that wraps context.DeadlineExceeded", err)
	}
	done(t, l, reserve(t, l, pace.Key{Origin: originOf(t, "other.example")}, s), pace.Result{Status: 200})
	time.Sleep(time.Until(turn.Start))
	until(t, "the start that was given back", func() bool { return reserve(t, l, k, s).OK() })
}

// TestCloseWakes: callers that wait get an error at once.
func TestCloseWakes(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, redistest.Start(t, redistest.Options{}).Client(), redis.Options{})
	s, k := steady(t, time.Hour), pace.Key{Origin: originOf(t, "hot.example")}
	done(t, l, reserve(t, l, k, s), pace.Result{Status: 200})
	ended := make(chan error, 3)
	for range cap(ended) {
		go func() { _, err := l.Wait(t.Context(), k, s); ended <- err }()
	}
	time.Sleep(50 * time.Millisecond) // so that some of them wait; the test does not need it
	l.Close()
	for range cap(ended) {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("Wait says nothing")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("still waiting")
		}
	}
}
