package redis_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// TestDenied checks that calls wait while the server refuses the worker a right, as while it is
// unreachable, and go on with the right.
func TestDenied(t *testing.T) {
	t.Parallel()
	for name, revoked := range map[string][]string{
		"commands": {"-eval", "-evalsha"},
		"scripts":  {"-set", "-get"}, // which scripts call
		"info":     {"-info"},
		"keys":     {"resetkeys"},
		"all":      {"nocommands"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			user := func(rules ...string) {
				server.Do(slices.Concat([]string{"ACL", "SETUSER", "worker", "on", "nopass", "~*", "&*", "+@all"}, rules)...)
			}
			user()
			option := server.Option()
			option.Username = "worker"
			l := newLimiter(t, redistest.NewClient(t, option), redis.Options{})
			list := []pace.Request{
				{Origin: originOf(t, "a.example"), Schedule: steady(t, time.Millisecond)},
				{Origin: originOf(t, "b.example"), Schedule: steady(t, time.Millisecond)},
			}
			ready(t, l, list...)
			used, started := acquired(t, l, list[0]), acquired(t, l, list[1])
			user(revoked...)
			if err := l.Release(t.Context(), used, ok); err != nil {
				t.Errorf("Release: %v", err)
			}
			if err := l.Start(t.Context(), started, netip.MustParseAddr("192.0.2.1")); !errors.As(err, new(*pace.MissedError)) {
				t.Errorf("Start: %v, want a MissedError", err)
			}
			if permits, err := l.Try(t.Context(), list[:1], 1); err != nil || permits[0].OK() || permits[0].Reasons[0].Cause != pace.CauseDegraded {
				t.Errorf("Try: %v, %v, want %s", permits, err, pace.CauseDegraded)
			}
			until(t, "a worker that notices", func() bool { return !l.DownSince().IsZero() })
			results := make(chan error, 2)
			go func() {
				p, err := l.Acquire(t.Context(), list[0])
				results <- errors.Join(err, l.Release(t.Context(), p, ok))
			}()
			go func() { results <- l.StartFetch(t.Context(), list[0].Origin, netip.MustParseAddr("192.0.2.2")) }()
			server.Do("CONFIG", "RESETSTAT")
			until(t, "refused calls", func() bool { return contains(server.Do("INFO", "errorstats"), "errorstat_") })
			select {
			case err := <-results:
				t.Errorf("a call returns without the right: %v", err)
				results <- nil
			default:
			}
			user()
			for range 2 {
				if err := <-results; err != nil {
					t.Error(err)
				}
			}
			until(t, "a worker that goes on", func() bool { return l.DownSince().IsZero() })
		})
	}
}

// acquired returns a permit of a site.
func acquired(t *testing.T, l *redis.Limiter, r pace.Request) pace.Permit {
	t.Helper()
	p, err := l.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
