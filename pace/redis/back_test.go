package redis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// leave kills a server and returns when the limiter has noticed.
func leave(t *testing.T, server *redistest.Server, l *redis.Limiter) {
	t.Helper()
	server.Kill()
	for l.DownSince().IsZero() {
		_, _ = l.NotBefore(t.Context(), pace.Key{Origin: hot}, nil) // whose error is what is waited for
	}
}

// backBy waits until the limiter knows that its server is back.
func backBy(t *testing.T, l *redis.Limiter, limit time.Duration, meanwhile func()) {
	t.Helper()
	for began := time.Now(); !l.DownSince().IsZero(); meanwhile() {
		if time.Since(began) > limit {
			t.Fatalf("still down %s after the server is back", limit)
		}
	}
}

// TestBackInSpiteOfTrouble: sites that say that they are overloaded, many of them,
// do not keep a worker from seeing that Redis is back.
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
	leave(t, server, l)
	for range 40 {
		trouble()
	}
	server.Replace()
	backBy(t, l, 5*time.Second, trouble)
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
	leave(t, server, l)
	done(t, l, g, pace.Result{Status: 200})
	time.Sleep(interval + interval/4)
	server.Replace()
	backBy(t, l, 5*time.Second, func() { time.Sleep(time.Millisecond) })
	if g, err := l.Reserve(t.Context(), k, s, 0); err != nil || g.OK() {
		t.Errorf("granted %t, %v, as soon as the server is back; want a rest of %s", g.OK(), err, interval)
	}
}

// TestDeadlineInClaim: a start that is claimed a moment ahead and lies behind the
// caller's deadline is none.
func TestDeadlineInClaim(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, redistest.Start(t, redistest.Options{}).Client(), redis.Options{})
	s, k := steady(t, 200*time.Millisecond), pace.Key{Origin: hot}
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
	reserve(t, l, k, s) // nobody holds it
}

// TestCloseWakes: who waits is told of the end at once.
func TestCloseWakes(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, redistest.Start(t, redistest.Options{}).Client(), redis.Options{})
	s, k := steady(t, time.Hour), pace.Key{Origin: hot}
	done(t, l, reserve(t, l, k, s), pace.Result{Status: 200})
	ended := make(chan error, 3)
	for range cap(ended) {
		go func() { _, err := l.Wait(t.Context(), k, s); ended <- err }()
	}
	time.Sleep(50 * time.Millisecond) // so that some of them wait, which is all the same to the test
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
