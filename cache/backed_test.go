package cache_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

func TestBackedConformance(t *testing.T) {
	cachetest.Run(t, func(*testing.T) cache.Store {
		return cache.NewBacked(cache.NewMemory(200<<20), cache.NewMemory(200<<20), 0)
	})
}

// down is a shared store that can be out of reach.
type down struct {
	*cache.Memory
	since atomic.Pointer[time.Time] // nil while it is there
}

var errDown = errors.New("connection refused")

func (a *down) Get(ctx context.Context, o robots.Origin) (cache.Entry, error) {
	if a.since.Load() != nil {
		return cache.Entry{}, errDown
	}
	return a.Memory.Get(ctx, o)
}

func (a *down) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if a.since.Load() != nil {
		return errDown
	}
	return a.Memory.Put(ctx, e, keep)
}

func (a *down) DownSince() time.Time {
	if since := a.since.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

// TestBacked loses the shared store in every way and gets it back.
func TestBacked(t *testing.T) {
	ctx := t.Context()
	shared, own := &down{Memory: cache.NewMemory(1 << 20)}, cache.NewMemory(1<<20)
	b := cache.NewBacked(shared, own, time.Hour)
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	entry := func(body string, hours int, fence uint64) cache.Entry {
		r := cachetest.Record(cachetest.Origin(1), body)
		r.Fetched = at.Add(time.Duration(hours) * time.Hour)
		return cache.Entry{Record: r, Fence: fence}
	}
	body := func(s cache.Store) string {
		e, err := s.Get(ctx, cachetest.Origin(1))
		switch {
		case errors.Is(err, cache.ErrAbsent):
			return "-"
		case err != nil:
			return "!"
		}
		return string(e.Record.Body)
	}
	want := func(what, all string) {
		t.Helper()
		for i, w := range strings.Fields(all) {
			if got := body([]cache.Store{b, shared, own}[i]); got != w {
				t.Errorf("%s: %s has %q, want %q", what, [...]string{"the pair", "the shared store", "the own store"}[i], got, w)
			}
		}
	}
	put := func(s cache.Store, e cache.Entry, want error) {
		t.Helper()
		if err := s.Put(ctx, e, time.Hour); !errors.Is(err, want) {
			t.Errorf("put: %v, want %v", err, want)
		}
	}
	want("empty", "- - -")
	put(b, entry("a", 0, 5), nil)
	want("put", "a a a")
	put(shared.Memory, entry("b", 1, 6), nil)
	want("another process wrote", "b b b")
	put(b, entry("late", 2, 5), cache.ErrFenced)
	want("a late holder", "b b b")

	shared.since.Store(&at)
	want("down", "b ! b")
	put(b, entry("c", 2, 6), errDown)
	if got := b.DownSince(); !got.Equal(at) {
		t.Errorf("down since %v, want %v", got, at)
	}
	if got := body(b); got != "c" {
		t.Errorf("what was put while it was down is %q", got)
	}
	shared.since.Store(nil)
	want("back", "c c c")

	for i := range 5 { // which nobody asks for when it is back
		shared.since.Store(&at)
		r := cachetest.Record(cachetest.Origin(10+i), "owed")
		put(b, cache.Entry{Record: r}, errDown)
		if i%2 == 0 {
			shared.since.Store(nil)
		}
	}
	shared.since.Store(nil)
	for i := range 5 {
		for limit := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := shared.Get(ctx, cachetest.Origin(10+i)); err == nil {
				break
			} else if time.Now().After(limit) {
				t.Fatalf("what was put while it was down is not carried over: %v", err)
			}
		}
	}

	shared.Memory = cache.NewMemory(1 << 20)
	want("replaced by an empty one", "c c c")
	put(shared.Memory, entry("d", 3, 9), nil)
	shared.Memory = cache.NewMemory(1 << 20)
	put(b, entry("e", 4, 1), nil) // whose leases begin anew
	want("replaced, and put", "e e e")
	put(shared.Memory, entry("f", 3, 9), nil) // its clock is behind, its lease the later one
	want("disagreeing", "f f f")
	put(own, entry("g", 5, 9), nil) // fetched without a lease, as the store was down
	want("later", "g g g")
	shared.since.Store(&at)
	if err := b.Put(ctx, entry("late", 6, 3), time.Hour); !errors.Is(err, cache.ErrFenced) {
		t.Errorf("a late put while it is down: %v, want ErrFenced", err)
	}
	shared.since.Store(nil)
	want("late while it is down", "g g g")
	if e, err := b.Get(ctx, cachetest.Origin(1)); err != nil || e.Fence != 9 {
		t.Errorf("fence %d, %v, want 9", e.Fence, err)
	}
	if err := b.Delete(ctx, cachetest.Origin(1)); err != nil {
		t.Error(err)
	}
	want("deleted", "- - -")
}

// TestDegraded: while the shared store is down answers say so, and nothing that is
// kept does.
func TestDegraded(t *testing.T) {
	shared, own := &down{Memory: cache.NewMemory(1 << 20)}, cache.NewMemory(1<<20)
	c, err := cache.New(cache.Options{Store: cache.NewBacked(shared, own, 0), Fetcher: fetcher(func(o robots.Origin) *fetch.Record {
		r := cachetest.Record(o, "User-agent: *\nDisallow: /x\n")
		r.Started, r.Fetched = time.Now(), time.Now()
		return r
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	now := time.Now()
	for _, since := range []*time.Time{nil, &now, nil} {
		shared.since.Store(since)
		for i := range 2 {
			r, err := c.Get(t.Context(), cachetest.Origin(i))
			if err != nil {
				t.Fatal(err)
			}
			v := r.Rules(robots.RFC9309, time.Now(), "MyBot").Match(robots.RawPath("/x"))
			if v.Allowed || r.Degraded != (since != nil) || v.State.Degraded != (since != nil) {
				t.Errorf("down since %v: %v, degraded %t", since, v, r.Degraded)
			}
		}
	}
	c.Close() // which waits until all is kept
	if e, err := own.Get(t.Context(), cachetest.Origin(0)); err != nil || e.Record.Degraded {
		t.Errorf("kept as %+v, %v", e.Record, err)
	}
}

type fetcher func(robots.Origin) *fetch.Record

func (f fetcher) Fetch(_ context.Context, o robots.Origin) (*fetch.Record, error) { return f(o), nil }
