package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// steered is the prefix of the fleet that an operator steers.
const steered = "steered"

func newOperator(t *testing.T, s *redistest.Server) *redis.Operator {
	t.Helper()
	o, err := redis.NewOperator(s.Client(), redis.Options{Prefix: steered})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func keyAt(t *testing.T, host string) pace.Key { return pace.Key{Origin: redis.OriginOf(t, host)} }

func reserved(t *testing.T, l *redis.Limiter, key pace.Key, within time.Duration) pace.Grant {
	t.Helper()
	g, err := l.Reserve(t.Context(), key, nil, within)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestHold: a site that an operator holds is granted to no worker, whoever asked before,
// until it is released or the time ends; its spacing, its grants and its Retry-After stay.
func TestHold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	o, a, b := newOperator(t, server), newLimiter(t, server.Client(), redis.Options{Prefix: steered}), newLimiter(t, server.Client(), redis.Options{Prefix: steered})
	ctx, key := t.Context(), keyAt(t, "a.example")
	if held, err := o.Release(ctx, key.Origin); err != nil || held {
		t.Errorf("a release of a site that is not held: %v, %v", held, err)
	}
	if err := o.Hold(ctx, key.Origin, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*redis.Limiter{a, b} {
		g := reserved(t, l, key, time.Minute)
		if g.OK() || g.Reasons[0].Cause != pace.CauseHeld || time.Until(g.Start) < 59*time.Minute {
			t.Errorf("while it is held: %+v", g)
		}
		late, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		var tooLate *pace.LateError
		if _, err := l.Wait(late, key, nil); !errors.As(err, &tooLate) {
			t.Errorf("waiting while it is held: %v", err)
		}
	}
	if s, err := o.Site(ctx, key.Origin); err != nil || !s.Known || s.Held.Sub(s.At) < 59*time.Minute || len(s.UnderWay) != 0 {
		t.Errorf("shown: %+v, %v", s, err)
	}
	if held, err := o.Release(ctx, key.Origin); err != nil || !held {
		t.Errorf("released: %v, %v", held, err)
	}
	if server.Do("DBSIZE") == "0" {
		t.Error("the server has no keys")
	}
	g := reserved(t, a, key, 0)
	if !g.OK() {
		t.Fatalf("after the release: %+v", g)
	}
	// A hold of a site that is asked keeps what is known of it.
	if err := o.Hold(ctx, key.Origin, redis.Forever); err != nil {
		t.Fatal(err)
	}
	if err := a.Done(ctx, g, pace.Result{Status: 503, RetryAfter: 30 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if s, err := o.Site(ctx, key.Origin); err != nil || s.Held.Sub(s.At) < redis.Forever-time.Minute || s.State.BackOff.Factor != 2 || len(s.UnderWay) != 0 {
		t.Errorf("shown: %+v, %v", s, err)
	}
	if rests, err := o.Forget(ctx, key.Origin); err != nil || rests != 0 {
		t.Fatal(rests, err)
	}
	if s, err := o.Site(ctx, key.Origin); err != nil || s.Held.IsZero() || s.State.BackOff.Factor != 0 {
		t.Errorf("a hold that is forgotten: %+v, %v", s, err)
	}
	if _, err := o.Release(ctx, key.Origin); err != nil {
		t.Fatal(err)
	}
	if g := reserved(t, b, key, 0); g.OK() || time.Until(g.Start) > pace.DefaultInterval {
		t.Errorf("forgotten and released: %+v, want the interval since the last request", g)
	}
	// A hold ends by its time.
	short := keyAt(t, "b.example")
	if err := o.Hold(ctx, short.Origin, time.Second); err != nil {
		t.Fatal(err)
	}
	held := time.Now()
	if g, err := a.Wait(ctx, short, nil); err != nil || time.Since(held) < 900*time.Millisecond {
		t.Errorf("after %v: %+v, %v", time.Since(held), g, err)
	}
}

// steeredLeased returns a worker with leases of 2 s in the fleet of newOperator.
func steeredLeased(t *testing.T, server *redistest.Server, name string) *redis.Leased {
	t.Helper()
	l, err := redis.NewLeasedFor(server.Client(), redis.Options{Prefix: steered, Name: name}, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestHoldLeased: where each site is one worker's, a hold takes the site from the worker
// that has it, with its next renewal, and gives it to nobody.
func TestHoldLeased(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	o := newOperator(t, server)
	a, b := steeredLeased(t, server, "a"), steeredLeased(t, server, "b")
	ctx, key := t.Context(), keyAt(t, "a.example")
	g, err := a.Reserve(ctx, key, nil, 0)
	if err != nil || !g.OK() {
		t.Fatalf("%+v, %v", g, err)
	}
	if s, err := o.Site(ctx, key.Origin); err != nil || s.Leased != "a" || !s.Known || !s.LeasedUntil.After(s.At) {
		t.Errorf("shown: %+v, %v", s, err)
	}
	if err := o.Hold(ctx, key.Origin, time.Hour); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the lease", func() bool { return !a.Valid(g) })
	for _, l := range []*redis.Leased{a, b} {
		if g, err := l.Reserve(ctx, key, nil, 0); err != nil || g.OK() || g.Reasons[0].Cause != pace.CauseHeld {
			t.Errorf("while it is held: %+v, %v", g, err)
		}
		late, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := l.Wait(late, key, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting while it is held: %v", err)
		}
	}
	// As no worker's lease can have outlasted this hold of a site that nobody had, it is
	// free at once.
	free := keyAt(t, "b.example")
	if err := o.Hold(ctx, free.Origin, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, k := range []pace.Key{key, free} {
		if held, err := o.Release(ctx, k.Origin); err != nil || !held {
			t.Errorf("released: %v, %v", held, err)
		}
	}
	if g, err := b.Reserve(ctx, free, nil, 0); err != nil || !g.OK() {
		t.Errorf("a site that nobody had, after the release: %+v, %v", g, err)
	}
	if g, err := b.Reserve(ctx, key, nil, 0); err != nil || g.OK() {
		t.Errorf("a site that a worker had, just after the release: %+v, %v", g, err)
	}
}

// TestForgetLeased: what a site wished is forgotten also where a worker knows it: the one that
// has the site, which gives it up, and one that had it.
func TestForgetLeased(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	o, ctx := newOperator(t, server), t.Context()
	a, b := steeredLeased(t, server, "a"), steeredLeased(t, server, "b")
	// A worker that was stopped for the time of a lease has not heard of it, and says again
	// what the site wished: then it has to be forgotten again.
	goesOn := func(key pace.Key) {
		t.Helper()
		until(t, "a start at "+key.String(), func() bool {
			s, err := o.Site(ctx, key.Origin)
			if err != nil {
				t.Fatal(err)
			}
			if s.State.NotBefore.After(s.At) || s.State.BackOff.Factor > 0 {
				if _, err := o.Forget(ctx, key.Origin); err != nil {
					t.Fatal(err)
				}
			}
			g, err := a.Reserve(ctx, key, nil, time.Minute)
			return err == nil && g.OK()
		})
	}
	at := func(key pace.Key) redis.Site {
		t.Helper()
		s, err := o.Site(ctx, key.Origin)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	overload := func(host string) pace.Key {
		t.Helper()
		key := keyAt(t, host)
		g, err := a.Reserve(ctx, key, nil, 0)
		if err != nil || !g.OK() {
			t.Fatalf("%+v, %v", g, err)
		}
		if err := a.Done(ctx, g, pace.Result{Status: 503, RetryAfter: time.Hour}); err != nil {
			t.Fatal(err)
		}
		return key
	}
	had := overload("had.example")

	var has pace.Key
	var before redis.Site
	var rests time.Duration
	for n := 0; rests == 0; n++ { // else the lease has ended before
		has = overload(fmt.Sprintf("has%d.example", n))
		before = at(has)
		var err error
		if rests, err = o.Forget(ctx, has.Origin); err != nil {
			t.Fatal(err)
		}
	}
	if s := at(has); !s.LeasedUntil.IsZero() && (s.Leased != "" || !s.State.Last.Equal(s.LeasedUntil)) {
		t.Errorf("shown: %+v, want it to be nobody's for a while", s)
	}
	g, err := b.Reserve(ctx, has, nil, 0)
	if end := before.At.Add(rests); err != nil || g.OK() && at(has).At.Before(end) {
		t.Errorf("another worker, while the first may use the site until %s: %+v, %v", end, g, err)
	}
	if err := b.Done(ctx, g, pace.Result{Unused: true}); err != nil {
		t.Fatal(err)
	}
	goesOn(has)
	if now, end := at(has).At, before.At.Add(rests); now.Before(end) {
		t.Errorf("it went on at %s, before %s", now, end)
	}

	until(t, "the end of the lease", func() bool { return at(had).LeasedUntil.IsZero() })
	if rests, err := o.Forget(ctx, had.Origin); err != nil || rests != 0 {
		t.Errorf("a site that nobody has rests for %v, %v", rests, err)
	}
	goesOn(had)
}

// TestDrainLeased: a worker that is drained gives its sites to others.
func TestDrainLeased(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	o := newOperator(t, server)
	a, err := redis.NewLeased(server.Client(), redis.Options{Prefix: steered, Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, key := t.Context(), keyAt(t, "a.example")
	g, err := a.Reserve(ctx, key, nil, 0)
	if err != nil || !g.OK() {
		t.Fatalf("%+v, %v", g, err)
	}
	workers, _, err := o.Workers(ctx)
	if err != nil || len(workers) != 1 {
		t.Fatalf("%+v, %v", workers, err)
	}
	if err := o.Drain(ctx, workers[0].ID); err != nil {
		t.Fatal(err)
	}
	until(t, "the drain", a.Drained)
	if a.Valid(g) {
		t.Error("a grant that was not used is valid")
	}
	if err := a.Done(ctx, g, pace.Result{Unused: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(ctx, key, nil); !errors.Is(err, redis.ErrDrained) {
		t.Errorf("waiting: %v", err)
	}
	if _, err := a.Next(ctx, []pace.Question{{Key: key}}, 1); !errors.Is(err, redis.ErrDrained) {
		t.Errorf("next: %v", err)
	}
	b, err := redis.NewLeased(server.Client(), redis.Options{Prefix: steered, Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	until(t, "the site", func() bool {
		g, err := b.Reserve(ctx, key, nil, time.Minute)
		return err == nil && g.OK()
	})
	if drained, err := o.Resume(ctx, workers[0].ID); err != nil || !drained {
		t.Errorf("resumed: %v, %v", drained, err)
	}
	until(t, "the end of the drain", func() bool {
		_, err := a.Wait(ctx, keyAt(t, "b.example"), nil)
		if err != nil && !errors.Is(err, redis.ErrDrained) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestOperatorCluster: the parts of a site's state are found on whichever node they are.
func TestOperatorCluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	l := newLimiter(t, redistest.NewClient(t, nodes[0].Option()), redis.Options{Prefix: steered})
	o, ctx := newOperator(t, nodes[1]), t.Context()
	for i := range 20 {
		key := keyAt(t, fmt.Sprintf("s%d.example", i))
		if err := o.Hold(ctx, key.Origin, time.Hour); err != nil {
			t.Fatal(err)
		}
		if g := reserved(t, l, key, 0); g.OK() || g.Reasons[0].Cause != pace.CauseHeld {
			t.Errorf("%v while it is held: %+v", key, g)
		}
		if held, err := o.Release(ctx, key.Origin); err != nil || !held {
			t.Errorf("%v released: %v, %v", key, held, err)
		}
		if g := reserved(t, l, key, 0); !g.OK() {
			t.Errorf("%v after the release: %+v", key, g)
		}
		if s, err := o.Site(ctx, key.Origin); err != nil || len(s.UnderWay) != 1 || !s.Held.IsZero() {
			t.Errorf("%v: %+v, %v", key, s, err)
		}
	}
	if workers, _, err := o.Workers(ctx); err != nil || len(workers) != 1 {
		t.Errorf("workers: %+v, %v", workers, err)
	}
}

// TestSite: what is under way at a site, whose it is, and when its address was asked.
func TestSite(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	o, l := newOperator(t, server), newLimiter(t, server.Client(), redis.Options{Prefix: steered, Options: pace.Options{Concurrency: 2}})
	ctx, key := t.Context(), keyAt(t, "a.example")
	if s, err := o.Site(ctx, key.Origin); err != nil || s.Known || s.At.IsZero() {
		t.Errorf("of a site that nobody asked: %+v, %v", s, err)
	}
	key.Addr = netip.MustParseAddr("192.0.2.1")
	if err := l.Start(ctx, key.Addr); err != nil {
		t.Fatal(err)
	}
	g := reserved(t, l, key, time.Minute)
	lent, err := l.Lend(ctx, key, nil, time.Minute, 90*time.Second)
	if err != nil || !lent.OK() || !g.OK() {
		t.Fatalf("%+v, %+v, %v", g, lent, err)
	}
	s, err := o.Site(ctx, key.Origin)
	if err != nil || len(s.UnderWay) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	i := slices.IndexFunc(s.UnderWay, func(u redis.UnderWay) bool { return u.Worker == "" })
	if i < 0 || s.UnderWay[i].End.Sub(s.UnderWay[i].Start) != 90*time.Second || s.UnderWay[1-i].End.Sub(s.UnderWay[1-i].Start) != 10*time.Minute {
		t.Errorf("under way: %+v", s.UnderWay)
	}
	workers, _, err := o.Workers(ctx)
	if err != nil || len(workers) != 1 || workers[0].ID != s.UnderWay[1-i].Worker {
		t.Errorf("worker %s among %+v, %v", s.UnderWay[1-i].Worker, workers, err)
	}
	if a, err := o.Address(ctx, key.Addr); err != nil || a.Fetch.IsZero() || a.Page.IsZero() {
		t.Errorf("of the address: %+v, %v", a, err)
	}
}

// TestDrain: a worker that is drained gives back what it has not used, takes no grants any
// more, and finishes what is under way; the others go on.
func TestDrain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	var told atomic.Int64
	o, other := newOperator(t, server), newLimiter(t, server.Client(), redis.Options{Prefix: steered, Name: "other"})
	l := newLimiter(t, server.Client(), redis.Options{Prefix: steered, Name: "to be drained", Options: pace.Options{Observe: func(e pace.Event) {
		if e.Kind == pace.EventDrained {
			told.Add(1)
		}
	}}})
	ctx, at, queued := t.Context(), keyAt(t, "a.example"), keyAt(t, "b.example")
	if err := o.Drain(ctx, "0123456789"); err == nil || !strings.Contains(err.Error(), "no worker") {
		t.Errorf("a worker that is none: %v", err)
	}
	g := reserved(t, l, at, 0)
	if err := o.Hold(ctx, queued.Origin, time.Hour); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 3)
	for range cap(waiting) {
		go func() {
			_, err := l.Wait(ctx, queued, nil)
			waiting <- err
		}()
	}
	workers, now, err := o.Workers(ctx)
	if err != nil || len(workers) != 2 || workers[0].Name != "other" || workers[1].Name != "to be drained" || workers[1].Gone || now.Sub(workers[1].Beat) > 15*time.Second {
		t.Fatalf("workers at %v: %+v, %v", now, workers, err)
	}
	if err := o.Drain(ctx, workers[1].ID); err != nil {
		t.Fatal(err)
	}
	for range cap(waiting) {
		if err := <-waiting; !errors.Is(err, redis.ErrDrained) {
			t.Errorf("who waits gets %v, want ErrDrained", err)
		}
	}
	if l.Valid(g) || !l.Drained() || told.Load() != 1 {
		t.Errorf("valid %v, drained %v, told %d times", l.Valid(g), l.Drained(), told.Load())
	}
	if err := l.Done(ctx, g, pace.Result{Unused: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve(ctx, at, nil, 0); !errors.Is(err, redis.ErrDrained) {
		t.Errorf("a grant: %v", err)
	}
	if g := reserved(t, other, at, 0); !g.OK() || other.Drained() {
		t.Errorf("another worker: %+v", g)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Resume(ctx, workers[1].ID); err == nil || !strings.Contains(err.Error(), "no worker") {
		t.Errorf("a worker that has left goes on: %v", err)
	}
	if workers, _, err := o.Workers(ctx); err != nil || !workers[1].Drained || workers[0].Drained || !workers[1].Left || workers[0].Left {
		t.Errorf("workers: %+v, %v", workers, err)
	}
}

// TestResume: a worker that was drained takes grants again when an operator says so, and for
// no other reason: not where the server has lost its memory.
func TestResume(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	var told atomic.Int64
	o, ctx := newOperator(t, server), t.Context()
	l := newLimiter(t, server.Client(), redis.Options{Prefix: steered, Options: pace.Options{Observe: func(e pace.Event) {
		if e.Kind == pace.EventResumed {
			told.Add(1)
		}
	}}})
	worker := func() redis.Worker {
		workers, _, err := o.Workers(ctx)
		if err != nil || len(workers) > 1 {
			t.Fatalf("workers: %+v, %v", workers, err)
		}
		return append(workers, redis.Worker{})[0]
	}
	id := worker().ID
	for _, host := range []string{"a.example", "b.example"} {
		if drained, err := o.Resume(ctx, id); err != nil || drained {
			t.Errorf("a worker that is not drained: %v, %v", drained, err)
		}
		if err := o.Drain(ctx, id); err != nil {
			t.Fatal(err)
		}
		until(t, "the drain", l.Drained)
		server.Do("FLUSHALL")
		until(t, "the drain that the server has lost", func() bool { return worker().Drained })
		if !l.Drained() || told.Load() != 0 {
			t.Errorf("drained %v, told %d times", l.Drained(), told.Load())
		}
		if drained, err := o.Resume(ctx, id); err != nil || !drained {
			t.Errorf("resumed: %v, %v", drained, err)
		}
		until(t, "the end of the drain", func() bool { return !l.Drained() })
		if g := reserved(t, l, keyAt(t, host), time.Minute); !g.OK() || told.Swap(0) != 1 || worker().Drained {
			t.Errorf("a worker that is drained no more: %+v", g)
		}
	}
}

const mostLog = 1000 // entries

// TestLog: the log has what was noted, the latest first, and no more than its bound.
func TestLog(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	o, ctx := newOperator(t, server), t.Context()
	for i := range mostLog + 10 {
		if err := o.Note(ctx, "alice at home", "hold "+strings.Repeat("x", i)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := o.Log(ctx, mostLog+10)
	if err != nil || len(list) != mostLog {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	for i, e := range list {
		if e.Who != "alice_at_home" || !strings.HasPrefix(e.What, "hold") || len(e.Who+e.What) > 500 || i > 0 && e.At.After(list[i-1].At) {
			t.Fatalf("entry %d: %+v", i, e)
		}
	}
	if got := len(list[mostLog-10].What); got != len("hold ")+19 {
		t.Errorf("an entry of %d bytes stands where the twentieth noted belongs", got)
	}
}
