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

func (q *batcher) queued() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// hold takes the batcher, as a call that has no answer yet does, until release.
func (q *batcher) hold() (release func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy {
		panic("it is taken")
	}
	q.busy = true
	return func() { q.serve(q.next(nil)) }
}

// count counts calls from now on.
func (q *batcher) count() *atomic.Int64 {
	var n atomic.Int64
	call := q.call
	q.call = func(ctx context.Context, run runner, s script.Script, keys, args []string) (string, error) {
		n.Add(1)
		return call(ctx, run, s, keys, args)
	}
	return &n
}

// TestTogether: requests that find others on their way are asked maxBatch, and
// each has the answer that it would have had by itself. Who gives up while it
// waits was never asked for.
func TestTogether(t *testing.T) {
	t.Parallel()
	const callers, gone = 100, 10
	server := redistest.Start(t, redistest.Options{})
	l, err := New(server.Client(), Options{Options: pace.Options{AddressInterval: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := Steady(t, time.Hour)
	keys := sites(t, callers)
	if _, err := l.Reserve(t.Context(), pace.Key{Origin: keys[0].Origin}, s, 0); err != nil { // so that the server knows the script
		t.Fatal(err)
	}
	decisions, ends := l.decisions.count(), l.releases.count()
	letGo := l.decisions.hold()
	var all sync.WaitGroup
	got, errs := make([]pace.Grant, callers), make([]error, callers)
	patience, cancel := context.WithCancel(t.Context())
	for i, k := range keys {
		ctx := t.Context()
		if i >= callers-gone {
			ctx = patience
		}
		all.Go(func() { got[i], errs[i] = l.Reserve(ctx, k, s, 0) })
	}
	Until(t, "all wait", func() bool { return l.decisions.queued() == callers })
	cancel()
	Until(t, "those who gave up are gone", func() bool { return l.decisions.queued() == callers-gone })
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
			granted[g.Key.Addr]++
		case i > 0 && g.Reasons[0].Cause != pace.CauseAddress:
			t.Errorf("%d is refused: %+v", i, g.Turn)
		}
	}
	for addr, n := range granted {
		if n != 1 {
			t.Errorf("%d starts at %s within an hour", n, addr)
		}
	}
	if want := (callers - gone + 2) / 3; len(granted) != want {
		t.Errorf("starts at %d addresses, want %d", len(granted), want)
	}
	if n, want := decisions.Load(), int64((callers-gone+maxBatch-1)/maxBatch); n != want {
		t.Errorf("the server was called %d times, want %d", n, want)
	}
	if list := l.pending.take(); len(list) > 0 {
		t.Errorf("%d cancellations of what was never asked for", len(list))
	}

	// Their ends go maxBatch, too.
	letGo = l.releases.hold()
	for _, g := range got {
		if g.OK() {
			all.Go(func() {
				if err := l.Done(t.Context(), g, pace.Result{Unused: true}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	Until(t, "all ends wait", func() bool { return l.releases.queued() == len(granted) })
	letGo()
	all.Wait()
	if n := ends.Load(); n != 1 {
		t.Errorf("the server was called %d times for %d ends", n, len(granted))
	}
	for _, g := range got {
		l.pending.add(release{key: g.Key, id: g.ID, result: pace.Result{Unused: true}, ended: time.Now()})
	}
	ends.Store(0)
	if err := l.sendPending(t.Context()); err != nil {
		t.Error(err)
	}
	if n, want := ends.Load(), int64((callers+maxBatch-1)/maxBatch); n != want {
		t.Errorf("the server was called %d times for what could not be told before, want %d", n, want)
	}
	for _, g := range got {
		if turn, err := l.NotBefore(t.Context(), g.Key, s); err != nil || g.OK() && turn.Start.After(time.Now()) {
			t.Errorf("%s is not as it was: %+v, %v", g.Key, turn, err)
		}
	}
}

// TestTogetherDown: who waits behind requests that a hanging server does not
// answer knows as soon as they do.
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
