package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

func newOperator(t *testing.T, s *redistest.Server, prefix string) *redis.Operator {
	t.Helper()
	o, err := redis.NewOperator(s.Client(), prefix, "some one")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestParseTarget checks that a target that would hold nothing is refused.
func TestParseTarget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://example.com":         "https://example.com",
		"http://example.com:8080/":    "http://example.com:8080",
		"example.com":                 "example.com",
		"https://*.example.com":       "",
		"*.example.com":               "",
		"https://example.com/a":       "",
		"https://example.com?x":       "",
		"https://user@example.com":    "",
		"example.com/a":               "",
		"example.com:8080":            "",
		"example.com:80":              "",
		"[2001:db8::80]":              "2001:db8::80",
		"":                            "",
		"ftp//example.com":            "",
		"https://":                    "",
		"https://example.com#section": "",
	} {
		target, err := redis.ParseTarget(text)
		if got := target.String(); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q is the target %q, %v; want %q", text, got, err, want)
		}
	}
}

// listening waits until a worker would notice a change of the configuration without a heartbeat.
func listening(t *testing.T, s *redistest.Server, prefix string) {
	t.Helper()
	until(t, "a worker that listens", func() bool { return s.Do("PUBLISH", prefix+":fleet", "") == "1" })
}

// TestHold checks that what an operator holds is not requested, until it is released. No heartbeat
// is needed for it, and a caller that waits notices the release.
func TestHold(t *testing.T) {
	t.Parallel()
	server, prefix := redistest.Start(t, redistest.Options{}), fresh()
	l, o := newLimiter(t, server.Client(), redis.WithHeartbeat(redis.Options{Prefix: prefix}, time.Hour)), newOperator(t, server, prefix)
	listening(t, server, prefix)
	r := pace.Request{Origin: originOf(t, "a.example"), Schedule: steady(t, time.Millisecond)}
	ready(t, l, r)
	held := func() bool {
		p := try(t, l, r)
		if p.OK() {
			if err := l.Release(t.Context(), p, pace.Result{Unused: true}); err != nil {
				t.Fatal(err)
			}
		}
		return !p.OK() && slices.ContainsFunc(p.Reasons, func(r pace.Reason) bool { return r.Cause == pace.CauseHeld })
	}
	for _, target := range []redis.Target{redis.Target(r.Origin.String()), "a.example", redis.All} {
		if err := o.Hold(t.Context(), target, time.Hour); err != nil {
			t.Fatal(err)
		}
		until(t, "a worker that holds "+target.String(), held)
		if list, err := o.Held(t.Context()); err != nil || len(list) != 1 || list[0].Target != target {
			t.Errorf("held are %v, %v; want %s", list, err, target)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(10*time.Second, cancel).Stop() // a caller with a deadline would not wait
		waited := make(chan error, 1)
		go func() {
			p, err := l.Acquire(ctx, r)
			waited <- errors.Join(err, l.Release(ctx, p, pace.Result{Unused: true}))
		}()
		if was, err := o.Release(t.Context(), target); err != nil || !was {
			t.Errorf("%s: released %t, %v", target, was, err)
		}
		if err := <-waited; err != nil {
			t.Errorf("%s: a caller that waited for the release: %v", target, err)
		}
	}
}

// TestSite checks what an operator sees of a site, and deletes.
func TestSite(t *testing.T) {
	t.Parallel()
	server, prefix := redistest.Start(t, redistest.Options{}), fresh()
	l, o := newLimiter(t, server.Client(), redis.Options{Prefix: prefix}), newOperator(t, server, prefix)
	r := pace.Request{Origin: originOf(t, "a.example"), Schedule: steady(t, time.Millisecond)}
	if s, err := o.Site(t.Context(), r.Origin); err != nil || s.Known {
		t.Errorf("an unknown site is %+v, %v", s, err)
	}
	ready(t, l, r)
	p, _ := start(t, l, r, netip.MustParseAddr("192.0.2.1"))
	s, err := o.Site(t.Context(), r.Origin)
	if err != nil || !s.Known || len(s.Permits) != 1 || !s.State.Busy || len(s.Permits[0].Worker) != 10 {
		t.Errorf("a site with a permit is %+v, %v", s, err)
	}
	if a, err := o.Address(t.Context(), netip.MustParseAddr("192.0.2.1")); err != nil || a.Page.IsZero() {
		t.Errorf("the address is %+v, %v", a, err)
	}
	if err := l.Release(t.Context(), p, pace.Result{Status: 429, RetryAfter: time.Hour}); err != nil {
		t.Fatal(err)
	}
	s, err = o.Site(t.Context(), r.Origin)
	if err != nil || s.State.BackOff != 2 || s.State.NotBefore.Before(s.At.Add(50*time.Minute)) || len(s.Permits) != 0 {
		t.Errorf("a site that said 429 is %+v, %v", s, err)
	}
	if err := o.Forget(t.Context(), r.Origin); err != nil {
		t.Fatal(err)
	}
	if s, err = o.Site(t.Context(), r.Origin); err != nil || s.State.BackOff != 0 || !s.State.NotBefore.IsZero() || s.State.Last.IsZero() {
		t.Errorf("a site whose wishes are deleted is %+v, %v", s, err)
	}
}

// TestDrain checks that a drained worker acquires no permits, until it is resumed, also on a
// server that has lost its memory.
func TestDrain(t *testing.T) {
	t.Parallel()
	server, prefix := redistest.Start(t, redistest.Options{}), fresh()
	l, o := newLimiter(t, server.Client(), redis.Options{Prefix: prefix, Name: "the worker"}), newOperator(t, server, prefix)
	workers, _, err := o.Workers(t.Context())
	if err != nil || len(workers) != 1 || workers[0].Name != "the worker" || workers[0].Gone || workers[0].Drained {
		t.Fatalf("the workers are %+v, %v", workers, err)
	}
	id := workers[0].ID
	if err := o.Drain(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	until(t, "a drained worker", l.Drained)
	r := pace.Request{Origin: originOf(t, "a.example")}
	if _, err := l.Acquire(t.Context(), r); !errors.Is(err, redis.ErrDrained) {
		t.Errorf("Acquire of a drained worker: %v", err)
	}
	server.Do("FLUSHALL")
	until(t, "a worker that is drained on the emptied server", func() bool {
		workers, _, err := o.Workers(t.Context())
		return err == nil && len(workers) == 1 && workers[0].Drained
	})
	if drained, err := o.Resume(t.Context(), id); err != nil || !drained {
		t.Errorf("resumed: %t, %v", drained, err)
	}
	until(t, "a worker that goes on", func() bool { return !l.Drained() })
	if err := o.Drain(t.Context(), "0123456789"); err == nil {
		t.Error("a worker that does not exist is drained")
	}
	if list, err := o.Log(t.Context(), 2); err != nil || len(list) != 2 || list[1].What != "resume "+id || list[1].Who != "some_one" || list[0].What != "failed or incomplete: drain 0123456789" {
		t.Errorf("the log is %+v, %v", list, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if workers, _, err := o.Workers(t.Context()); err != nil || len(workers) != 1 || !workers[0].Left {
		t.Errorf("after Close the workers are %+v, %v", workers, err)
	}
}

// TestDeath checks that the permit of a worker whose heartbeats end during a request, or before it,
// ends without them, and that such a worker does not start early when it goes on.
func TestDeath(t *testing.T) {
	t.Parallel()
	const heartbeat = 300 * time.Millisecond
	for _, dies := range []bool{true, false} {
		t.Run(fmt.Sprint("Dies ", dies), func(t *testing.T) {
			t.Parallel()
			server, s := redistest.Start(t, redistest.Options{}), hot(t)
			proxy := redistest.NewProxy(t, server.Addr)
			o := redis.WithHeartbeat(redis.Options{Prefix: fresh()}, heartbeat)
			l := newLimiter(t, redistest.NewClient(t, rueidis.ClientOption{InitAddress: []string{proxy.Addr}, DisableCache: true}), o)
			var p pace.Permit
			if !dies {
				p = acquired(t, l, s.Request)
			} else {
				p, _ = start(t, l, s.Request, s.addr)
				s.starts = append(s.starts, time.Now())
			}
			began := time.Now()
			proxy.Switch("")
			c := startCrawl(t, server.Addr, 2, o, s)
			c.more(t, 5, all)
			if d := s.seen()[len(s.seen())-5].Sub(began); dies && d < 2*heartbeat {
				t.Errorf("the others start %s after the last heartbeat of one, want %s", d, 3*heartbeat)
			}
			proxy.Switch(server.Addr)
			if !dies {
				s.start(t.Context(), t, l, p)
			}
			c.check(t)
		})
	}
}

// TestRate checks that an operator sees the permits of a worker, and no attempts to acquire them.
func TestRate(t *testing.T) {
	t.Parallel()
	server, prefix := redistest.Start(t, redistest.Options{}), fresh()
	o := newOperator(t, server, prefix)
	l := newLimiter(t, server.Client(), redis.WithHeartbeat(redis.Options{Prefix: prefix}, 100*time.Millisecond))
	busy := pace.Request{Origin: originOf(t, "busy.example"), Schedule: steady(t, time.Millisecond)}
	ready(t, l, busy)
	acquired(t, l, busy)
	worker := func() redis.Worker {
		list, _, err := o.Workers(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	beats := map[time.Time]bool{}
	rates := map[float64]bool{} // above 0: one heartbeat reports the permit, and no two of them the same rate
	until(t, "some heartbeats", func() bool {
		if p := try(t, l, busy); p.OK() {
			t.Fatal("two permits of a site")
		}
		w := worker()
		beats[w.Beat] = true
		if w.Rate > 0 {
			rates[w.Rate] = true
		}
		return len(beats) >= 4
	})
	if len(rates) > 1 {
		t.Errorf("permits per second of a worker that gets one permit: %v", rates)
	}
	until(t, "a heartbeat with a permit", func() bool {
		p := acquired(t, l, pace.Request{Origin: originOf(t, "other.example"), Schedule: busy.Schedule})
		if err := l.Release(t.Context(), p, ok); err != nil {
			t.Fatal(err)
		}
		return worker().Rate > 0
	})
}
