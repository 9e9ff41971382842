package redis

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// sites returns keys of many sites, three at an address.
func sites(t *testing.T, n int) []pace.Key {
	keys := make([]pace.Key, n)
	for i := range keys {
		keys[i] = pace.Key{Origin: OriginOf(t, fmt.Sprintf("site%d.example", i)), Addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(i / 3)})}
	}
	return keys
}

func (b *batcher) queued() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// hold makes the batcher wait, as for a call without an answer yet, until letGo.
func (b *batcher) hold() (letGo func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy {
		panic("it is taken")
	}
	b.busy = true
	return func() { b.serve(b.next(nil)) }
}

// count counts calls from now on.
func (b *batcher) count() *atomic.Int64 {
	var n atomic.Int64
	call := b.call
	b.call = func(ctx context.Context, run runner, s script.Script, keys, args []string) (string, error) {
		n.Add(1)
		return call(ctx, run, s, keys, args)
	}
	return &n
}

// newBatched returns a limiter whose server knows the script, and a schedule and keys
// for many callers.
func newBatched(t *testing.T, callers int) (*Limiter, *pace.Schedule, []pace.Key) {
	l, err := New(redistest.Start(t, redistest.Options{}).Client(), Options{Options: pace.Options{AddressInterval: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s, keys := Steady(t, time.Hour), sites(t, callers)
	if _, err := l.Reserve(t.Context(), pace.Key{Origin: keys[0].Origin}, s, 0); err != nil {
		t.Fatal(err)
	}
	return l, s, keys
}

// TestTogether: decisions that come while another is on its way are sent together, and
// each has the answer that it would have had by itself. Nothing is asked for a caller
// who gives up while it waits.
func TestTogether(t *testing.T) {
	t.Parallel()
	const callers, gone = 100, 10
	l, s, keys := newBatched(t, callers)
	calls := l.decisions.count()
	letGo := l.decisions.hold()
	var all sync.WaitGroup
	got, errs := make([]pace.Grant, callers), make([]error, callers)
	limited, cancel := context.WithCancel(t.Context())
	for i, k := range keys {
		ctx := t.Context()
		if i >= callers-gone {
			ctx = limited
		}
		all.Go(func() { got[i], errs[i] = l.Reserve(ctx, k, s, 0) })
	}
	Until(t, "all to wait", func() bool { return l.decisions.queued() == callers })
	cancel()
	Until(t, "those who give up to be gone", func() bool { return l.decisions.queued() == callers-gone })
	letGo()
	all.Wait()
	granted := map[netip.Addr]int{}
	for i, g := range got {
		switch {
		case i >= callers-gone:
			if !errors.Is(errs[i], context.Canceled) {
				t.Errorf("%d gave up: %v, %v", i, g, errs[i])
			}
		case errs[i] != nil:
			t.Errorf("%d: %v", i, errs[i])
		case g.OK():
			if granted[g.Key.Addr]++; granted[g.Key.Addr] > 1 {
				t.Errorf("two starts at %s within an hour", g.Key.Addr)
			}
		case i > 0 && g.Reasons[0].Cause != pace.CauseAddress:
			t.Errorf("%d is refused: %+v", i, g.Turn)
		}
	}
	if want := (callers - gone + 2) / 3; len(granted) != want {
		t.Errorf("starts at %d addresses, want %d", len(granted), want)
	}
	if n, want := calls.Load(), int64((callers-gone+maxBatch-1)/maxBatch); n != want {
		t.Errorf("the server was called %d times, want %d", n, want)
	}
	if list := l.pending.take(); len(list) > 0 {
		t.Errorf("%d releases of what was never asked for", len(list))
	}
}

// TestReleasesTogether: releases are sent together too, those that were pending as well,
// and the sites are as before the grants.
func TestReleasesTogether(t *testing.T) {
	t.Parallel()
	const callers = 90
	l, s, keys := newBatched(t, callers)
	calls := l.releases.count()
	var grants []pace.Grant
	for _, k := range keys {
		g, err := l.Reserve(t.Context(), k, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		if g.OK() {
			grants = append(grants, g)
		}
	}
	letGo := l.releases.hold()
	var all sync.WaitGroup
	for _, g := range grants {
		all.Go(func() {
			if err := l.Done(t.Context(), g, pace.Result{Unused: true}); err != nil {
				t.Error(err)
			}
		})
	}
	Until(t, "all to wait", func() bool { return l.releases.queued() == len(grants) })
	letGo()
	all.Wait()
	if n := calls.Swap(0); n != 1 {
		t.Errorf("the server was called %d times for %d releases", n, len(grants))
	}
	for range 3 {
		for _, g := range grants {
			l.pending.add(release{key: g.Key, id: g.ID, result: pace.Result{Unused: true}, ended: time.Now()})
		}
	}
	if err := l.sendPending(t.Context()); err != nil {
		t.Error(err)
	}
	if n, want := calls.Load(), int64((3*len(grants)+maxBatch-1)/maxBatch); n != want {
		t.Errorf("the server was called %d times for what was pending, want %d", n, want)
	}
	for _, g := range grants {
		if turn, err := l.NotBefore(t.Context(), g.Key, s); err != nil || turn.Start.After(time.Now()) {
			t.Errorf("%s is not as it was: %+v, %v", g.Key, turn, err)
		}
	}
}

// TestTogetherDown: callers that wait behind decisions without an answer get an error as
// soon as those do.
func TestTogetherDown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	l, err := New(server.Client(), Options{WhenDown: Stop})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server.Freeze()
	defer server.Thaw()
	var all sync.WaitGroup
	began := time.Now()
	for _, k := range sites(t, 200) {
		all.Go(func() {
			if g, err := l.Reserve(t.Context(), k, nil, 0); !errors.Is(err, ErrDown) {
				t.Errorf("%+v, %v, want ErrDown", g, err)
			}
		})
	}
	all.Wait()
	// One batch after another would take a limit each.
	if took, least := time.Since(began), 200/maxBatch*callLimit; took >= least {
		t.Errorf("it took %s until everybody knew, want less than %s", took, least)
	}
}
