package redis

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
)

// TestLater: what a later release has written is refused and stays as it is.
func TestLater(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o, e := cachetest.Origin(1), cachetest.Numbered(1, 1)
	e.Record = cachetest.Record(o, "body")
	body := fmt.Sprintf("%sbody:%x", s.head, fetch.HashOf(e.Record.Body))
	for _, tt := range []struct{ key, calls string }{
		{s.recordKey(o), "get put delete lease"},
		{body, "put"},
		{s.leaseKey(o), "lease release"},
		{s.head + "token", "lease"},
	} {
		server.Do("FLUSHALL")
		server.Do("SET", tt.key, "\x02what this one cannot know")
		before := server.Do("DUMP", tt.key)
		for call := range strings.FieldsSeq(tt.calls) {
			var err error
			switch call {
			case "get":
				_, err = s.Get(ctx, o)
			case "put":
				e.Fence = 1<<64 - 1
				err = s.Put(ctx, e, time.Hour)
			case "delete":
				err = s.Delete(ctx, o)
			case "lease":
				_, err = s.Lease(ctx, o, time.Hour)
			case "release":
				err = s.Release(ctx, o, 1)
			}
			if err == nil || errors.Is(err, cache.ErrAbsent) || errors.Is(err, cache.ErrFenced) || !strings.Contains(err.Error(), "later release") {
				t.Errorf("%s with %s of a later release: %v", call, tt.key, err)
			}
		}
		if keys := server.Do("DBSIZE"); keys != "1" || server.Do("DUMP", tt.key) != before {
			t.Errorf("%s of a later release has changed, or other keys have come", tt.key)
		}
		if !s.DownSince().IsZero() {
			t.Error("a refusal is an answer")
		}
	}
	server.Do("FLUSHALL")
	server.Do("SET", s.recordKey(o), "\x00nothing that was ever written")
	if _, err := s.Get(ctx, o); err == nil || errors.Is(err, cache.ErrAbsent) {
		t.Errorf("get of something else: %v", err)
	}
}

// TestDamage: what is damaged, or of another type, is not known for its own origin, and
// is replaced by what is put or granted next. Other origins do not notice.
func TestDamage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o, other := cachetest.Origin(1), cachetest.Origin(2)
	body := strings.Repeat("body ", 10)
	for name, damage := range map[string]func(key string){
		"empty": func(key string) { server.Do("SET", key, "") },
		"word":  func(key string) { server.Do("SET", key, "garbage") },
		"text":  func(key string) { server.Do("SET", key, strings.Repeat("garbage ", 100)) },
		"byte":  func(key string) { server.Do("SET", key, "\x01") },
		"ones":  func(key string) { server.Do("SET", key, strings.Repeat("\xff", 100)) },
		"list":  func(key string) { server.Do("LPUSH", key, "garbage") },
		"hash":  func(key string) { server.Do("HSET", key, "a", "b") },
	} {
		for _, key := range []string{s.recordKey(o), fmt.Sprintf("%sbody:%x", s.head, fetch.HashOf([]byte(body))), s.leaseKey(o), s.head + "token"} {
			server.Do("FLUSHALL")
			beside := cache.Entry{Record: cachetest.Record(other, "beside")}
			e := cache.Entry{Record: cachetest.Record(o, body)}
			for _, e := range []cache.Entry{beside, e} {
				put(t, s, e)
			}
			server.Do("DEL", key)
			damage(key)
			if got, err := s.Get(ctx, o); err == nil && !sameEntry(got, e) || errors.Is(err, cache.ErrFenced) {
				t.Errorf("%s, %s: get: %+v, %v", key, name, got, err)
			}
			if got, err := s.Get(ctx, other); err != nil || !sameEntry(got, beside) {
				t.Errorf("%s, %s: get of another: %v", key, name, err)
			}
			for _, o := range []robots.Origin{o, other} {
				l := lease(t, s, o, time.Hour)
				if err := s.Release(ctx, o, l.Token); err != nil {
					t.Errorf("%s, %s: release: %v", key, name, err)
				}
				if err := s.Await(ctx, o); err != nil {
					t.Errorf("%s, %s: await: %v", key, name, err)
				}
			}
			if err := s.Put(ctx, e, time.Hour); err != nil {
				t.Errorf("%s, %s: put: %v", key, name, err)
			}
			if got, err := s.Get(ctx, o); err != nil || !sameEntry(got, e) {
				t.Errorf("%s, %s: get of what was put: %v", key, name, err)
			}
			server.Do("DEL", key)
			damage(key)
			if err := s.Delete(ctx, o); err != nil {
				t.Errorf("%s, %s: delete: %v", key, name, err)
			}
			if _, err := s.Get(ctx, o); !errors.Is(err, cache.ErrAbsent) {
				t.Errorf("%s, %s: get after delete: %v", key, name, err)
			}
		}
	}
	if since := s.DownSince(); !since.IsZero() {
		t.Errorf("down since %v", since)
	}
}

// TestTokens: tokens are above the fence kept, however high that is, and a call that
// is sent again has the lease it was granted.
func TestTokens(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	for i, fence := range []uint64{0, 1 << 53, 1<<53 + 1, 1<<60 + 1<<32 - 1, 1 << 63, 1<<64 - 2} {
		o := cachetest.Origin(i)
		put(t, s, cache.Entry{Record: cachetest.Record(o, "a"), Fence: fence})
		server.Do("DEL", s.head+"token")
		l := lease(t, s, o, time.Hour)
		if l.Token <= fence {
			t.Errorf("lease over fence %d: %+v", fence, l)
		}
		if fence >= 1<<53 && l.Token != fence+1 {
			t.Errorf("lease over fence %d has token %d", fence, l.Token)
		}
		next, err := s.Lease(ctx, cachetest.Origin(100+i), time.Hour)
		if l.Token == 1<<64-1 {
			if err == nil || !strings.Contains(err.Error(), "highest") {
				t.Errorf("lease after the highest token: %+v, %v", next, err)
			}
		} else if err != nil || next.Token <= l.Token {
			t.Errorf("lease of another origin after token %d: %+v, %v", l.Token, next, err)
		}
	}
	server.Do("FLUSHALL")
	o := cachetest.Origin(1)
	keys := []string{s.leaseKey(o), s.recordKey(o), s.head + "token"}
	var tokens []string
	for range 2 {
		code, rest, err := s.run(ctx, leaseScript, keys, []string{"60000", "12345678"})
		if err != nil || code != done || len(rest) != 2 {
			t.Fatalf("lease: code %d, %v", code, err)
		}
		token, _ := rest[1].ToString()
		tokens = append(tokens, token)
	}
	if tokens[0] != tokens[1] {
		t.Errorf("the same call got tokens %x and %x", tokens[0], tokens[1])
	}
}

// TestRepair: a body that is lost or damaged comes back with the next answer that
// has it, whoever puts it.
func TestRepair(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client()
	for _, size := range []int{1, sentAlong, sentAlong + 1, 513_024} {
		for name, damage := range map[string]func(key string){
			"gone": func(key string) { server.Do("DEL", key) },
			"byte": func(key string) { server.Do("SETRANGE", key, "13", "!") },
			"cut":  func(key string) { server.Do("SET", key, server.Do("GETRANGE", key, "0", "12"), "KEEPTTL") },
			"head": func(key string) { server.Do("SET", key, "\x01", "KEEPTTL") },
		} {
			server.Do("FLUSHALL")
			o, other := cachetest.Origin(1), cachetest.Origin(2)
			e := cache.Entry{Record: cachetest.Record(o, strings.Repeat("x", size))}
			f := cache.Entry{Record: cachetest.Record(other, strings.Repeat("x", size))}
			s := newStore(t, client, Options{})
			for _, e := range []cache.Entry{e, f} {
				put(t, s, e)
			}
			damage(fmt.Sprintf("%sbody:%x", s.head, fetch.HashOf(e.Record.Body)))
			if _, err := s.Get(ctx, o); err == nil || errors.Is(err, cache.ErrAbsent) || !strings.Contains(err.Error(), "body") {
				t.Errorf("get with a body of %d bytes, %s: %v", size, name, err)
			}
			for range 2 {
				put(t, s, e)
				for _, e := range []cache.Entry{e, f} {
					if got, err := s.Get(ctx, e.Record.Origin); err != nil || !sameEntry(got, e) {
						t.Errorf("get of %d bytes after a repair, %s: %v", size, name, err)
					}
				}
			}
			// The other's reference may be to the body that is gone.
			put(t, s, f)
			counted(t, s)
			for i, o := range []cache.Entry{e, f} {
				if i == 1 {
					if got, err := s.Get(ctx, other); err != nil || !sameEntry(got, f) {
						t.Errorf("get of the second when the first is gone, %s: %v", name, err)
					}
				}
				if err := s.Delete(ctx, o.Record.Origin); err != nil {
					t.Fatal(err)
				}
			}
			if n := server.Do("DBSIZE"); n != "0" {
				t.Errorf("%s keys are left, %s", n, name)
			}
		}
	}
}

// TestLifetimes: a body lives as long as the longest of the records that refer to it.
func TestLifetimes(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	put := func(i int, keep time.Duration) {
		t.Helper()
		if err := s.Put(ctx, cache.Entry{Record: cachetest.Record(cachetest.Origin(i), "shared")}, keep); err != nil {
			t.Fatal(err)
		}
	}
	body := fmt.Sprintf("%sbody:%x", s.head, fetch.HashOf([]byte("shared")))
	for _, tt := range []struct {
		origin     int
		keep, most time.Duration
	}{
		{1, time.Hour, time.Hour}, {2, 2 * time.Hour, 2 * time.Hour}, {3, time.Minute, 2 * time.Hour}, {2, time.Minute, 2 * time.Hour},
		{4, 1<<63 - 1, 1<<63 - 1}, {5, -1 << 63, 1<<63 - 1},
	} {
		put(tt.origin, tt.keep)
		var left int64
		if _, err := fmt.Sscan(server.Do("PTTL", body), &left); err != nil {
			t.Fatal(err)
		}
		if d := tt.most.Milliseconds() - left; d < -1 || d > 60_000 {
			t.Errorf("the body lives %d ms after a put for %v, want %v", left, tt.keep, tt.most)
		}
	}
}

// TestFlat makes many calls and looks whether anything grows with them.
func TestFlat(t *testing.T) {
	calls := campaign.Size(2000, 4000, 10_000)
	server := redistest.Start(t, redistest.Options{})
	s, other := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{})
	const origins, workers = 500, 16
	round := func(calls int) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				s := []*Store{s, other}[w%2]
				for n := next.Add(1); n <= int64(calls); n = next.Add(1) {
					o := cachetest.Origin(int(n) % origins)
					if _, err := s.Get(ctx, o); err != nil && !errors.Is(err, cache.ErrAbsent) {
						t.Error(err)
						return
					}
					l, err := s.Lease(ctx, o, time.Minute)
					if err == nil && l.Granted {
						e := cachetest.Numbered(int(n)%origins, uint64(n%7))
						e.Fence = l.Token
						if err = s.Put(ctx, e, time.Hour); err == nil {
							err = s.Release(ctx, o, l.Token)
						}
					}
					if err == nil {
						err = s.Await(ctx, o)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	type state struct {
		goroutines, connections int
		heap                    int64
		used                    int
	}
	look := func() (now state) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now.goroutines, now.heap = runtime.NumGoroutine(), int64(m.HeapAlloc)
		now.connections = strings.Count(server.Do("CLIENT", "LIST"), "addr=") - 1 // this one
		now.used = usedMemory(server)
		return now
	}
	round(calls / 10)
	before := look()
	round(calls)
	after := look()
	t.Logf("%d rounds of get, lease, put, release and await: %+v before, %+v after", calls, before, after)
	if after.goroutines > before.goroutines+4 || after.connections > before.connections || after.heap > before.heap+8<<20 || after.used > before.used+2<<20 {
		t.Error("something has grown")
	}
}
