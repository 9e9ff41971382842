package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

type counted struct{ *cache.Memory }

func (c counted) Bytes() int64 { return c.Usage().Bytes }

func TestMemoryConformance(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Store { return counted{cache.NewMemory(1 << 30)} })
}

// TestMemorySize holds the estimate of sizeOf against the runtime's own count. What
// a reader grew and did not fill does not stay, in a record or in its last good copy.
func TestMemorySize(t *testing.T) {
	if campaign.Race {
		t.Skip("the race detector has memory of its own")
	}
	outage := func(r *fetch.Record, body, good []byte) {
		r.Outcome, r.Cause, r.Status, r.Body = fetch.Unreachable, fetch.ServerError, 500, body
		r.LastGood = &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK, URL: r.URL, Body: good}
	}
	grown := func(i int) []byte { return append(make([]byte, 0, 100_000), fmt.Sprintf("%20000d", i)...) }
	for _, tt := range []struct {
		name string
		n    int
		fill func(r *fetch.Record, i int)
	}{
		{"own bodies", 20_000, func(r *fetch.Record, i int) { r.Body = fmt.Appendf(nil, "%2000d", i) }},
		{"one body", 20_000, func(r *fetch.Record, _ int) { r.Body = []byte("User-agent: *\nDisallow: /") }},
		{"no body", 20_000, func(r *fetch.Record, _ int) {
			r.Outcome, r.Cause, r.Status, r.Header = fetch.Unavailable, fetch.ClientError, 404, nil
		}},
		{"outage", 20_000, func(r *fetch.Record, i int) { outage(r, nil, fmt.Appendf(nil, "%500d", i)) }},
		{"grown body", 500, func(r *fetch.Record, i int) { r.Body = grown(i) }},
		{"grown copy", 500, func(r *fetch.Record, i int) { outage(r, nil, grown(i)) }},
		{"both grown", 500, func(r *fetch.Record, i int) { outage(r, grown(i), grown(i)) }},
	} {
		before := heap()
		m := cache.NewMemory(1 << 30)
		for i := range tt.n {
			r := cachetest.Record(cachetest.Origin(i), "")
			tt.fill(r, i)
			put(t, m, cache.Entry{Record: r})
		}
		got, said := heap()-before, m.Usage().Bytes
		t.Logf("%-10s %5d bytes per origin, %5d by estimate", tt.name, got/int64(tt.n), said/int64(tt.n))
		if got > said*13/10 || got < said*6/10 {
			t.Errorf("%s: %d bytes, the estimate says %d", tt.name, got, said)
		}
		runtime.KeepAlive(m)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// put puts an entry for an hour.
func put(t *testing.T, s cache.Store, e cache.Entry) {
	t.Helper()
	if err := s.Put(context.Background(), e, time.Hour); err != nil {
		t.Errorf("put of %s: %v", e.Record.Origin, err)
	}
}

// TestMemoryBound: whatever is put, the store stays within its limit, and what is
// read again and again stays.
func TestMemoryBound(t *testing.T) {
	const limit = 1 << 20
	m := cache.NewMemory(limit)
	ctx := context.Background()
	hot := cachetest.Origin(1_000_000)
	put(t, m, cache.Entry{Record: cachetest.Record(hot, "hot")})
	for i := range 5_000 {
		size := []int{0, 100, 3_000, 60_000, 513_024, 2 << 20}[i%6*(i%7)/6%6]
		put(t, m, cache.Entry{Record: cachetest.Record(cachetest.Origin(i), strings.Repeat(fmt.Sprint(i), size/len(fmt.Sprint(i))))})
		if u := m.Usage(); u.Bytes > limit {
			t.Fatalf("%d bytes after %d puts", u.Bytes, i)
		}
		if size < limit {
			if _, err := m.Get(ctx, hot); err != nil {
				t.Fatalf("the entry read after each put is gone after %d", i)
			}
		} else if err := m.Put(ctx, cache.Entry{Record: cachetest.Record(hot, "hot")}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%+v of 5,000 origins", m.Usage())
}

// TestMemoryLatest: of entries that nobody reads those written first go first,
// and one that has no room takes no other with it.
func TestMemoryLatest(t *testing.T) {
	const limit, latest = 1 << 20, 100 // of the 170 that fit
	ctx := context.Background()
	for n := latest; n < 1_000; n += 37 {
		m := cache.NewMemory(limit)
		put := func(i, size int) {
			r := cachetest.Record(cachetest.Origin(i), strings.Repeat(" ", size)+fmt.Sprint(i))
			put(t, m, cache.Entry{Record: r})
		}
		for i := range n {
			put(i, 5_000)
		}
		put(n, limit)
		if _, err := m.Get(ctx, cachetest.Origin(n)); err == nil {
			t.Errorf("an entry of %d bytes is in a store of %d", limit, limit)
		}
		for i := n - latest; i < n; i++ {
			if _, err := m.Get(ctx, cachetest.Origin(i)); err != nil {
				t.Fatalf("after %d puts the entry of put %d is gone", n, i+1)
			}
		}
	}
}
