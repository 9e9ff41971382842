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
)

type counted struct{ *cache.Memory }

func (c counted) Bytes() int64 { return c.Usage().Bytes }

func TestMemoryConformance(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Store { return counted{cache.NewMemory(1 << 30)} })
}

// TestMemorySize holds the estimate of sizeOf against the runtime's own count.
func TestMemorySize(t *testing.T) {
	const n = 20_000
	for _, tt := range []struct {
		name   string
		record func(i int) *fetch.Record
	}{
		{"own bodies", func(i int) *fetch.Record { return cachetest.Record(cachetest.Origin(i), fmt.Sprintf("%2000d", i)) }},
		{"one body", func(i int) *fetch.Record {
			return cachetest.Record(cachetest.Origin(i), "User-agent: *\nDisallow: /")
		}},
		{"no body", func(i int) *fetch.Record {
			r := cachetest.Record(cachetest.Origin(i), "")
			r.Outcome, r.Cause, r.Status, r.Header = fetch.Unavailable, fetch.ClientError, 404, nil
			return r
		}},
		{"outage", func(i int) *fetch.Record {
			r := cachetest.Record(cachetest.Origin(i), "")
			r.Outcome, r.Cause, r.Status = fetch.Unreachable, fetch.ServerError, 500
			r.LastGood = &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK, URL: r.URL, Body: fmt.Appendf(nil, "%500d", i)}
			return r
		}},
	} {
		before := heap()
		m := cache.NewMemory(1 << 30)
		for i := range n {
			if err := m.Put(context.Background(), cache.Entry{Record: tt.record(i)}, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		got, said := heap()-before, m.Usage().Bytes
		t.Logf("%-10s %4d bytes per origin, %4d by estimate", tt.name, got/n, said/n)
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

// TestMemoryBound: whatever is put, the store stays within its limit, and what is
// read again and again stays.
func TestMemoryBound(t *testing.T) {
	const limit = 1 << 20
	m := cache.NewMemory(limit)
	ctx := context.Background()
	hot := cachetest.Origin(1_000_000)
	if err := m.Put(ctx, cache.Entry{Record: cachetest.Record(hot, "hot")}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for i := range 5_000 {
		size := []int{0, 100, 3_000, 60_000, 513_024, 2 << 20}[i%6*(i%7)/6%6]
		if err := m.Put(ctx, cache.Entry{Record: cachetest.Record(cachetest.Origin(i), strings.Repeat(fmt.Sprint(i), size/len(fmt.Sprint(i))))}, time.Hour); err != nil {
			t.Fatal(err)
		}
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

// TestMemorySpare: what a reader grew and did not fill does not stay, in the
// record or in its last good copy.
func TestMemorySpare(t *testing.T) {
	const limit, n = 16 << 20, 2_000
	for _, tt := range []struct {
		name string
		put  func(r *fetch.Record, body []byte)
	}{
		{"own body", func(r *fetch.Record, body []byte) { r.Body = body }},
		{"last good copy", func(r *fetch.Record, body []byte) {
			r.Outcome, r.Cause, r.Status, r.Body = fetch.Unreachable, fetch.ServerError, 500, nil
			r.LastGood = &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK, URL: r.URL, Body: body}
		}},
		{"both the same", func(r *fetch.Record, body []byte) {
			r.Outcome, r.Cause, r.Status, r.Body = fetch.Unreachable, fetch.ServerError, 500, body
			r.LastGood = &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK, URL: r.URL, Body: append(make([]byte, 0, cap(body)), body...)}
		}},
	} {
		before := heap()
		m := cache.NewMemory(limit)
		for i := range n {
			r := cachetest.Record(cachetest.Origin(i), "")
			tt.put(r, append(make([]byte, 0, 100_000), fmt.Sprintf("%20000d", i)...))
			if err := m.Put(context.Background(), cache.Entry{Record: r}, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		got := heap() - before
		t.Logf("%-14s %d MiB on the heap, %d MiB by estimate", tt.name, got>>20, m.Usage().Bytes>>20)
		if got > limit*13/10 {
			t.Errorf("%s: a store of %d bytes has %d on the heap", tt.name, limit, got)
		}
		runtime.KeepAlive(m)
	}
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
			if err := m.Put(ctx, cache.Entry{Record: r}, time.Hour); err != nil {
				t.Fatal(err)
			}
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
