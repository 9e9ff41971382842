package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

func TestTieredConformance(t *testing.T) {
	cachetest.Run(t, func(*testing.T) cache.Store {
		return cache.NewTiered(cache.NewMemory(200<<20), cache.NewMemory(200<<20), 0)
	})
}

// down is a shared store that can be out of reach.
type down struct {
	*cache.Memory
	since atomic.Pointer[time.Time] // nil while it is there
	keep  atomic.Int64              // as the last Put said
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
	a.keep.Store(int64(keep))
	return a.Memory.Put(ctx, e, keep)
}

func (a *down) DownSince() time.Time {
	if since := a.since.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

func (a *down) Down(robots.Origin) bool { return !a.DownSince().IsZero() }

// A pair is a Tiered store over two in memory.
type pair struct {
	*cache.Tiered
	t      *testing.T
	shared *down
	local  *cache.Memory
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t, shared: &down{Memory: cache.NewMemory(1 << 20)}, local: cache.NewMemory(1 << 20)}
	p.Tiered = cache.NewTiered(p.shared, p.local, 2*time.Hour)
	return p
}

// put puts an entry of the first origin, which was fetched so many hours after others.
func (p *pair) put(s cache.Store, body string, hours int, fence uint64, want error) {
	p.t.Helper()
	r := cachetest.Record(cachetest.Origin(1), body)
	r.Fetched = r.Fetched.Add(time.Duration(hours) * time.Hour)
	if err := s.Put(context.Background(), cache.Entry{Record: r, Fence: fence}, time.Hour); !errors.Is(err, want) {
		p.t.Errorf("put of %q: %v, want %v", body, err, want)
	}
}

// want checks the body that the pair, the shared and the local store have: "-" is
// absent, "!" another error.
func (p *pair) want(when, all string) {
	p.t.Helper()
	var got []string
	for _, s := range []cache.Store{p, p.shared, p.local} {
		switch e, err := s.Get(context.Background(), cachetest.Origin(1)); {
		case errors.Is(err, cache.ErrAbsent):
			got = append(got, "-")
		case err != nil:
			got = append(got, "!")
		default:
			got = append(got, string(e.Record.Body))
		}
	}
	if got := strings.Join(got, " "); got != all {
		p.t.Errorf("%s: the pair, the shared and the local store have %s, want %s", when, got, all)
	}
}

// TestTiered loses the shared store in every way and gets it back.
func TestTiered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, now := newPair(t), time.Now()
		defer p.Close()
		p.want("empty", "- - -")
		p.put(p, "a", 0, 5, nil)
		p.want("put", "a a a")
		p.put(p.shared.Memory, "b", 1, 6, nil)
		p.want("another process has put", "b b b")
		p.put(p, "late", 2, 5, cache.ErrFenced)
		p.want("a late holder has put", "b b b")

		p.shared.since.Store(&now)
		p.want("down", "b ! b")
		p.put(p, "c", 2, 6, errDown)
		if got := p.DownSince(); !got.Equal(now) {
			t.Errorf("down since %v, want %v", got, now)
		}
		p.want("put while down", "c ! c")
		p.shared.since.Store(nil)
		p.want("back", "c c c")

		p.shared.Memory = cache.NewMemory(1 << 20)
		p.want("replaced by an empty one", "c c c")
		p.put(p.shared.Memory, "d", 3, 9, nil)
		p.shared.Memory = cache.NewMemory(1 << 20)
		p.put(p, "e", 4, 1, nil) // whose fences begin anew
		p.want("replaced, and put", "e e e")
		p.put(p.shared.Memory, "f", 3, 9, nil) // by a clock that is behind, under the later lease
		p.want("disagreeing", "f f f")
		p.put(p.local, "g", 5, 9, nil) // fetched without a lease, as the store was down
		p.want("later", "g g g")
		p.shared.since.Store(&now)
		p.put(p, "late", 6, 3, cache.ErrFenced)
		p.shared.since.Store(nil)
		p.want("a late holder has put while down", "g g g")
		if e, err := p.Get(context.Background(), cachetest.Origin(1)); err != nil || e.Fence != 9 {
			t.Errorf("fence %d, %v, want 9", e.Fence, err)
		}
		if err := p.Delete(context.Background(), cachetest.Origin(1)); err != nil {
			t.Error(err)
		}
		p.want("deleted", "- - -")
	})
}

// TestTieredCarries: what is put while the shared store is down is there soon after it
// is back, though nobody asks for it.
func TestTieredCarries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, now := newPair(t), time.Now()
		defer p.Close()
		for i, outage := range []time.Duration{0, time.Second, time.Hour} {
			p.shared.since.Store(&now)
			p.put(p, fmt.Sprint(i), i, 0, errDown)
			time.Sleep(outage)
			p.shared.since.Store(nil)
			time.Sleep(5 * time.Second)
			if e, err := p.shared.Get(context.Background(), cachetest.Origin(1)); err != nil || string(e.Record.Body) != fmt.Sprint(i) {
				t.Errorf("after an outage of %v: %v, %v, want body %d", outage, e.Record, err, i)
			}
			if keep := time.Duration(p.shared.keep.Load()); keep != time.Hour {
				t.Errorf("after an outage of %v: kept for %v, want the hour that Put said", outage, keep)
			}
			p.shared.Memory = cache.NewMemory(1 << 20)
			p.want("replaced", strings.TrimSpace(strings.Repeat(fmt.Sprint(i)+" ", 3)))
			if keep := time.Duration(p.shared.keep.Load()); keep != 2*time.Hour {
				t.Errorf("what is asked for again is kept for %v, want two hours", keep)
			}
		}
	})
}

// TestDegraded: while the shared store is down answers say so, and nothing that is
// kept does.
func TestDegraded(t *testing.T) {
	shared, local := &down{Memory: cache.NewMemory(1 << 20)}, cache.NewMemory(1<<20)
	c, err := cache.New(cache.Options{Store: cache.NewTiered(shared, local, 0), Fetcher: fetcherFunc(func(_ context.Context, o robots.Origin) (*fetch.Record, error) {
		r := cachetest.Record(o, "User-agent: *\nDisallow: /x\n")
		r.Started, r.Fetched = time.Now(), time.Now()
		return r, nil
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
	if e, err := local.Get(t.Context(), cachetest.Origin(0)); err != nil || e.Record.Degraded {
		t.Errorf("kept as %+v, %v", e.Record, err)
	}
}
