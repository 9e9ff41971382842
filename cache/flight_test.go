package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

// slow is a Fetcher that takes a while.
type slow struct {
	takes time.Duration
	now   *behaviour
	err   error
	asked atomic.Int64
}

func (s *slow) Fetch(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	s.asked.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	return record(origin, s.now, time.Now()), nil
}

func behaving(name string) *behaviour {
	for i := range behaviours {
		if behaviours[i].name == name {
			return &behaviours[i]
		}
	}
	panic("no behaviour " + name)
}

func open(t *testing.T, o cache.Options) *cache.Cache {
	t.Helper()
	c, err := cache.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, c *cache.Cache) *fetch.Record {
	t.Helper()
	r, err := c.Get(context.Background(), origin)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// took runs f in a bubble and returns its duration there.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// TestOneFlight: a thousand callers cause one fetch, also if the first one is canceled; each
// waits as long as its own context.
func TestOneFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: 10 * time.Second, now: behaving("file")}
		c := open(t, cache.Options{Fetcher: s})
		defer c.Close()
		first, giveUp := context.WithCancel(context.Background())
		gaveUp := make(chan error, 1)
		go func() {
			_, err := c.Get(first, origin)
			gaveUp <- err
		}()
		synctest.Wait()
		var answered, late atomic.Int64
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				ctx := context.Background()
				if i%4 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 3*time.Second)
					defer cancel()
				}
				began := time.Now()
				r, err := c.Get(ctx, origin)
				switch wait := time.Since(began); {
				case i%4 == 0 && errors.Is(err, context.DeadlineExceeded) && wait == 3*time.Second:
					late.Add(1)
				case i%4 != 0 && err == nil && r.Outcome == fetch.Success && wait == 10*time.Second:
					answered.Add(1)
				default:
					t.Errorf("caller %d: %v after %v", i, err, wait)
				}
			})
		}
		synctest.Wait()
		giveUp()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller: %v", err)
		}
		wg.Wait()
		if n := s.asked.Load(); n != 1 {
			t.Errorf("%d fetches", n)
		}
		t.Logf("1 fetch for %d answered and %d who would not wait, begun by one who gave up", answered.Load(), late.Load())
	})
}

// TestUseToEnd: a fresh record is used without a fetch until it expires.
func TestUseToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: 10 * time.Second, now: behaving("file")}
		c := open(t, cache.Options{Fetcher: s, UseToEnd: true})
		defer c.Close()
		r := get(t, c)
		time.Sleep(time.Until(r.Expires) - time.Second)
		for range 2 {
			if w := took(func() { get(t, c) }); w != 0 {
				t.Errorf("waited %v", w)
			}
		}
		synctest.Wait()
		if n := s.asked.Load(); n != 1 {
			t.Errorf("%d fetches, want 1", n)
		}
		time.Sleep(time.Second)
		get(t, c)
		if n := s.asked.Load(); n != 2 {
			t.Errorf("%d fetches after the end, want 2", n)
		}
	})
}

// TestLife follows an origin through its states: fresh, fetched early, stale, overdue.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: 10 * time.Second, now: behaving("file")}
		var mu sync.Mutex
		var kinds []cache.EventKind
		c := open(t, cache.Options{Fetcher: s, Observe: func(e cache.Event) {
			mu.Lock()
			defer mu.Unlock()
			kinds = append(kinds, e.Kind)
		}})
		forget := func() {
			mu.Lock()
			defer mu.Unlock()
			kinds = nil
		}
		defer c.Close()
		expect := func(what string, wait time.Duration, asked int64, want ...cache.EventKind) {
			t.Helper()
			if w := took(func() { get(t, c) }); w != wait {
				t.Errorf("%s: waited %v, want %v", what, w, wait)
			}
			synctest.Wait()
			if n := s.asked.Load(); n != asked {
				t.Errorf("%s: %d fetches, want %d", what, n, asked)
			}
			mu.Lock()
			defer forget()
			defer mu.Unlock()
			if fmt.Sprint(kinds) != fmt.Sprint(want) {
				t.Errorf("%s: events %v, want %v", what, kinds, want)
			}
		}
		expect("nothing held", 10*time.Second, 1, cache.EventFetched, cache.EventWaited)
		expect("fresh", 0, 1, cache.EventHit)
		r := get(t, c)
		life := r.Expires.Sub(r.Fetched)
		forget()
		time.Sleep(life * 79 / 100)
		expect("at 79 %", 0, 1, cache.EventHit)
		time.Sleep(life * 2 / 100)
		expect("at 81 %", 0, 2, cache.EventAhead, cache.EventHit)
		expect("at 81 %, under way", 0, 2, cache.EventHit)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		forget()
		expect("renewed", 0, 2, cache.EventHit)
		r = get(t, c)
		time.Sleep(time.Until(r.Expires))
		forget()
		expect("at 100 %", 1800*time.Millisecond, 3, cache.EventStale)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		forget()
		expect("renewed again", 0, 3, cache.EventHit)
		time.Sleep(48*time.Hour + time.Minute) // a life is a day at most
		forget()
		expect("a day after its end", 10*time.Second, 4, cache.EventFetched, cache.EventWaited)

		s.now = behaving("500") // the site begins to fail
		r = get(t, c)
		time.Sleep(r.Expires.Sub(r.Fetched) * 9 / 10)
		get(t, c)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r = get(t, c)
		if r.Outcome != fetch.Unreachable || r.LastGood == nil || !time.Now().Before(r.LastGood.Expires) {
			t.Fatalf("an early refresh failed: %+v", r)
		}
		if v := r.Rules(robots.Google, time.Now(), "Bot").Match(openPath); !v.Allowed {
			t.Errorf("verdict while the answer is fresh: %v", v)
		}
		forget()
		expect("failing, not due", 0, 5, cache.EventHit)
		time.Sleep(2 * time.Minute)
		expect("failing, due", 1800*time.Millisecond, 6, cache.EventStale)
	})
}

// TestStaleErrors: a fetch without a result leaves the kept record.
func TestStaleErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{now: behaving("file")}
		c := open(t, cache.Options{Fetcher: s, FetchLimit: time.Second})
		r := get(t, c)
		time.Sleep(time.Until(r.Expires))
		s.err = errors.New("no such thing")
		if got := get(t, c); got.Fetched != r.Fetched {
			t.Errorf("after an error: %v", got.Fetched)
		}
		synctest.Wait()     // for the fetch that has failed: the next is another
		s.takes = time.Hour // past the limit of a fetch, which is below the stale wait
		if w := took(func() { get(t, c) }); w != time.Second {
			t.Errorf("waited %v", w)
		}
		time.Sleep(25 * time.Hour)
		if _, err := c.Get(context.Background(), origin); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nothing to answer with: %v", err)
		}
		synctest.Wait() // likewise
		go func() {
			time.Sleep(time.Second / 2)
			c.Close()
		}()
		if _, err := c.Get(context.Background(), origin); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("closed while waiting: %v", err)
		}
		if _, err := c.Get(context.Background(), origin); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		if _, err := c.Get(context.Background(), robots.Origin{}); err == nil {
			t.Error("no origin: no error")
		}
	})
}

// TestRefreshAndForget: Refresh does not use a fetch that ended before it was called, even if
// its record is still being stored. A deleted record is fetched again. A slow store delays a
// caller by StaleWait at most.
func TestRefreshAndForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Second, now: behaving("file")}
		store := slowPut{cachetest.NewMemory(), 2 * time.Second}
		c := open(t, cache.Options{Fetcher: s, Store: store})
		defer c.Close()
		if w := took(func() { get(t, c) }); w != 1800*time.Millisecond {
			t.Errorf("waited %v", w)
		}
		s.now = behaving("404")
		r, err := c.Refresh(context.Background(), origin)
		if err != nil || r.Status != 404 || s.asked.Load() != 2 {
			t.Errorf("refresh: %v, %v after %d fetches", r, err, s.asked.Load())
		}
		if err := c.Forget(context.Background(), origin); err != nil {
			t.Error(err)
		}
		if _, err := store.Get(context.Background(), origin); !errors.Is(err, cache.ErrAbsent) {
			t.Errorf("forgotten, but in the store: %v", err)
		}
		get(t, c)
		if n := s.asked.Load(); n != 3 {
			t.Errorf("%d fetches", n)
		}
	})
}

// TestBusyDisk: a record is stored although that takes long, as on a busy machine, and the next
// process does not fetch it again.
func TestBusyDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{now: behaving("file")}
		store := slowPut{cachetest.NewMemory(), 20 * time.Second}
		for range 2 {
			c := open(t, cache.Options{Fetcher: s, Store: store})
			if w := took(func() { get(t, c) }); w > 1800*time.Millisecond {
				t.Errorf("waited %v", w)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := s.asked.Load(); n != 1 {
			t.Errorf("%d fetches, want 1", n)
		}
	})
}

// TestRefused: a process fetches what another's guard has refused.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cachetest.NewMemory()
		c := open(t, cache.Options{Fetcher: &slow{now: behaving("refused")}, Store: store})
		defer c.Close()
		if r := get(t, c); r.Outcome != fetch.Refused {
			t.Fatalf("%+v", r)
		}
		synctest.Wait()
		other := &slow{now: behaving("file")}
		d := open(t, cache.Options{Fetcher: other, Store: store})
		defer d.Close()
		if r := get(t, d); r.Outcome != fetch.Success || other.asked.Load() != 1 {
			t.Errorf("another process: %v after %d fetches", r.Outcome, other.asked.Load())
		}
	})
}

// TestJitter: jitter stays within its bounds and reaches all of their range.
func TestJitter(t *testing.T) {
	for _, tt := range []struct{ d, least, most, from, to time.Duration }{
		{24 * hour, 5 * time.Minute, 24 * hour, 24 * hour * 9 / 10, 24 * hour},
		{5 * time.Minute, 5 * time.Minute, 24 * hour, 5 * time.Minute, 5 * time.Minute * 11 / 10},
		{hour, 5 * time.Minute, 24 * hour, hour * 9 / 10, hour * 11 / 10},
		{hour, hour, hour, hour, hour},
		{48 * hour, 5 * time.Minute, 7 * 24 * hour, 48 * hour * 9 / 10, 48 * hour * 11 / 10},
	} {
		low, high := 1000*hour, time.Duration(0)
		const n = 10_000
		var sum time.Duration
		for range n {
			v := cache.Jittered(tt.d, tt.least, tt.most)
			low, high, sum = min(low, v), max(high, v), sum+v
		}
		span := tt.to - tt.from
		if low < tt.from || high > tt.to || low > tt.from+span/100 || high < tt.to-span/100 {
			t.Errorf("%v in %v..%v: %v to %v, want %v to %v", tt.d, tt.least, tt.most, low, high, tt.from, tt.to)
		}
		if mid := (tt.from + tt.to) / 2; (sum/n - mid).Abs() > span/20 {
			t.Errorf("%v in %v..%v: %v in the middle, want %v", tt.d, tt.least, tt.most, sum/n, mid)
		}
	}
}

// TestStatedLife: a lifetime stated by the site applies within 5 minutes and a day, and jitter
// never lengthens it (D-28).
func TestStatedLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			stated   time.Duration
			by       string
			from, to time.Duration
		}{
			{0, "", 24 * hour * 9 / 10, 24 * hour},
			{0, "Cache-Control", 5 * time.Minute, 5 * time.Minute},
			{-time.Hour, "Expires", 5 * time.Minute, 5 * time.Minute},
			{hour, "Cache-Control", hour * 9 / 10, hour},
			{330 * time.Second, "Cache-Control", 5 * time.Minute, 330 * time.Second},
			{1000 * hour, "Cache-Control", 24 * hour * 9 / 10, 24 * hour},
		} {
			for _, what := range []string{"file", "404"} {
				c := open(t, cache.Options{Fetcher: fetcherFunc(func(_ context.Context, o robots.Origin) (*fetch.Record, error) {
					r := record(o, behaving(what), time.Now())
					r.StatedLife, r.StatedBy = tt.stated, tt.by
					return r, nil
				})})
				for range 50 {
					r, err := c.Refresh(context.Background(), origin)
					if err != nil {
						t.Fatal(err)
					}
					if life := r.Expires.Sub(r.Fetched); life < tt.from-time.Millisecond || life > tt.to {
						t.Errorf("%s, %v by %q: %v, want %v to %v", what, tt.stated, tt.by, life, tt.from, tt.to)
					}
				}
				c.Close()
			}
		}
	})
}

type fetcherFunc func(context.Context, robots.Origin) (*fetch.Record, error)

func (f fetcherFunc) Fetch(ctx context.Context, o robots.Origin) (*fetch.Record, error) {
	return f(ctx, o)
}

func TestOptions(t *testing.T) {
	for _, o := range []cache.Options{{Memory: -1}, {StaleWait: -1}, {FetchLimit: -1}, {Keep: -1}, {KeepOnce: -1}} {
		if _, err := cache.New(o); err == nil || !strings.HasPrefix(err.Error(), "cache option ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
