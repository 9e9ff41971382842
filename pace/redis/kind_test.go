package redis_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// TestMixed: a worker that keeps another kind of pace than the others is turned away, in one
// sentence, until they have ended for long enough; one that takes no grants is welcome.
func TestMixed(t *testing.T) {
	t.Parallel()
	for _, leasedFirst := range []bool{false, true} {
		server := redistest.Start(t, redistest.Options{Clock: true})
		join := func(leased bool, name string) (pace.Limiter, func() error, error) {
			if leased {
				l, err := redis.NewLeased(server.Client(), redis.Options{Prefix: steered, Name: name})
				if err != nil {
					return nil, nil, err
				}
				return l, l.Close, nil
			}
			l, err := redis.New(server.Client(), redis.Options{Prefix: steered, Name: name})
			if err != nil {
				return nil, nil, err
			}
			return l, l.Close, nil
		}
		_, closeFirst, err := join(leasedFirst, "first")
		if err != nil {
			t.Fatal(err)
		}
		o := newOperator(t, server)
		if name, _, err := o.Mixed(t.Context()); err != nil || name != "" {
			t.Errorf("leased first %v: %q, %v was turned away already", leasedFirst, name, err)
		}
		refused := func(when string) {
			t.Helper()
			_, _, err := join(!leasedFirst, "second")
			if !errors.Is(err, redis.ErrMixed) || strings.ContainsAny(err.Error(), "\n.") || !strings.Contains(err.Error(), "Leased on all of them or on none") {
				t.Errorf("leased first %v, %s: %v", leasedFirst, when, err)
			}
			if name, leased, err := o.Mixed(t.Context()); err != nil || name != "second" || leased == leasedFirst {
				t.Errorf("leased first %v, %s: %q, leased %v, %v was turned away", leasedFirst, when, name, leased, err)
			}
		}
		refused("while the first works")
		list, _, err := o.Workers(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "first" {
			t.Errorf("leased first %v: %+v, %v", leasedFirst, list, err)
		}
		looks := newLimiter(t, server.Client(), redis.Options{Prefix: steered, RecordsOnly: true})
		if g, err := looks.Reserve(t.Context(), keyAt(t, "a.example"), nil, 0); err == nil || g.OK() {
			t.Errorf("a worker for records only gets %+v, %v", g, err)
		}
		if err := looks.Start(t.Context(), netip.MustParseAddr("192.0.2.1")); err != nil {
			t.Errorf("a worker for records only: %v", err)
		}
		if err := closeFirst(); err != nil {
			t.Fatal(err)
		}
		refused("after the first has ended")
		server.SetClock(11 * time.Minute)
		_, closeSecond, err := join(!leasedFirst, "second")
		if err != nil {
			t.Fatalf("leased first %v, long after the first has ended: %v", leasedFirst, err)
		}
		if err := closeSecond(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMixedLate: a worker that began without the server, and finds that the others keep
// another kind of pace, grants nothing more until they have ended.
func TestMixedLate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	proxy := redistest.NewProxy(t, server.Addr)
	late := redistest.NewClient(t, rueidis.ClientOption{InitAddress: []string{proxy.Addr}, DisableCache: true})
	proxy.Switch("")
	events := make(chan pace.Event, 1000)
	l := newLimiter(t, late, redis.Options{Prefix: steered, Workers: 1, Options: pace.Options{Observe: func(e pace.Event) { events <- e }}})
	key := keyAt(t, "a.example")
	if g := reserved(t, l, key, time.Minute); !g.OK() {
		t.Fatalf("without the server: %+v", g)
	}
	first, err := redis.NewLeased(server.Client(), redis.Options{Prefix: steered})
	if err != nil {
		t.Fatal(err)
	}
	proxy.Switch(server.Addr)
	redistest.Until(t, "the worker to notice the others", l.Drained)
	if g, err := l.Reserve(t.Context(), key, nil, time.Minute); !errors.Is(err, redis.ErrMixed) {
		t.Errorf("among others: %+v, %v", g, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	server.Do("DEL", "{"+steered+"}:pace:2:kind") // in place of ten minutes
	redistest.Until(t, "the worker to go on", func() bool { return !l.Drained() })
	var told []pace.EventKind
	for len(told) < 2 {
		if e := <-events; e.Kind == pace.EventDrained && errors.Is(e.Err, redis.ErrMixed) || e.Kind == pace.EventResumed {
			told = append(told, e.Kind)
		}
	}
	if told[0] != pace.EventDrained || told[1] != pace.EventResumed {
		t.Errorf("the worker tells %v", told)
	}
	if _, err := l.Reserve(t.Context(), key, nil, time.Minute); err != nil {
		t.Errorf("alone: %v", err)
	}
}
