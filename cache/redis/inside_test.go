package redis

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	e.Fence = 1<<64 - 1
	server.Do("SET", s.key(o), "\x04what this one cannot know")
	before := server.Do("DUMP", s.key(o))
	for call, try := range map[string]func() error{
		"get":     func() error { _, err := s.Get(ctx, o); return err },
		"put":     func() error { return s.Put(ctx, e, time.Hour) },
		"delete":  func() error { return s.Delete(ctx, o) },
		"lease":   func() error { _, err := s.Lease(ctx, o, time.Hour); return err },
		"release": func() error { return s.Release(ctx, o, 1) },
	} {
		if err := try(); err == nil || errors.Is(err, cache.ErrAbsent) || errors.Is(err, cache.ErrFenced) || !strings.Contains(err.Error(), "later release") {
			t.Errorf("%s: %v", call, err)
		}
	}
	if keys := server.Do("DBSIZE"); keys != "1" || server.Do("DUMP", s.key(o)) != before {
		t.Error("what a later release has written has changed, or other keys have come")
	}
	if !s.DownSince().IsZero() {
		t.Error("a refusal is an answer")
	}
}

// TestEarlier: keys of the layout before are neither read nor changed, and are found
// before anybody crawls beside workers that use them.
func TestEarlier(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	put(t, s, cachetest.Numbered(1, 1))
	if err := s.CheckLayout(ctx); err != nil {
		t.Errorf("check of a new store: %v", err)
	}
	o := cachetest.Origin(2)
	server.Do("SET", "{robots}:token", "\x0112345678")
	server.Do("SET", "{robots}:record:"+o.String(), "\x01")
	if err := s.CheckLayout(ctx); !errors.Is(err, ErrEarlier) || !strings.Contains(err.Error(), "{robots}:*") || strings.Contains(err.Error(), "\n") {
		t.Errorf("check with keys of the layout before: %v", err)
	}
	if _, err := s.Get(ctx, o); !errors.Is(err, cache.ErrAbsent) {
		t.Errorf("get: %v", err)
	}
	if err := newStore(t, server.Client(), Options{Prefix: "other"}).CheckLayout(ctx); err != nil {
		t.Errorf("check of another prefix: %v", err)
	}
}

// TestDamage: what is damaged, or of another type, is not known for its own origin, and
// is replaced by what is put or granted next. Other origins do not notice.
func TestDamage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o, other := cachetest.Origin(1), cachetest.Origin(2)
	text := strings.Repeat("body ", largeBody)
	for name, damage := range map[string]func(key string){
		"empty":   func(key string) { server.Do("SET", key, "") },
		"word":    func(key string) { server.Do("SET", key, "garbage") },
		"text":    func(key string) { server.Do("SET", key, strings.Repeat("garbage ", 100)) },
		"byte":    func(key string) { server.Do("SET", key, "\x02") },
		"ones":    func(key string) { server.Do("SET", key, strings.Repeat("\xff", 100)) },
		"twos":    func(key string) { server.Do("SET", key, strings.Repeat("\x02", 100)) },
		"lease":   func(key string) { server.Do("SET", key, "\x03"+strings.Repeat("\xff", leaseSize-1)) },
		"part":    func(key string) { server.Do("SET", key, "\x03"+strings.Repeat("\x00", leaseSize+3)) },
		"nothing": func(key string) { server.Do("SET", key, "\x02"+strings.Repeat("\x00", recordSize)) },
		"list":    func(key string) { server.Do("LPUSH", key, "garbage") },
		"hash":    func(key string) { server.Do("HSET", key, "a", "b") },
	} {
		for _, key := range []string{s.key(o), bodyKey(s.key(o))} {
			server.Do("FLUSHALL")
			beside := cache.Entry{Record: cachetest.Record(other, "beside")}
			e := cache.Entry{Record: cachetest.Record(o, text)}
			for _, e := range []cache.Entry{beside, e} {
				put(t, s, e)
			}
			server.Do("DEL", key)
			damage(key)
			if got, err := s.Get(ctx, o); !errors.Is(err, errEntry) || errors.Is(err, cache.ErrAbsent) {
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
			server.Do("DEL", key)
			damage(key)
			if err := s.Put(ctx, e, time.Hour); err != nil && name != "twos" { // which has the highest fence
				t.Errorf("%s, %s: put: %v", key, name, err)
			} else if got, err := s.Get(ctx, o); err == nil && !sameEntry(got, e) || err != nil && name != "twos" {
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

// TestFlips: no bit of a record can change without an error, but for those at the end that
// compression does not use.
func TestFlips(t *testing.T) {
	e := cachetest.Numbered(1, 1)
	e.Fence = 7
	rest, _ := encode(e, inKey)
	raw := append([]byte{atRest, 0, 0, 0, 0, 0, 0, 0, 7}, rest...)
	read := func() (cache.Entry, error) {
		v, err := parse(raw)
		if err != nil {
			return cache.Entry{}, err
		}
		return v.entry(e.Record.Origin, nil)
	}
	if got, err := read(); err != nil || !sameEntry(got, e) {
		t.Fatalf("%+v, %v", got, err)
	}
	unseen := 0
	for i := range 8 * len(raw) {
		raw[i/8] ^= 1 << (i % 8)
		got, err := read()
		switch {
		case err == nil && !sameEntry(got, e):
			t.Errorf("bit %d: another entry", i)
		case err == nil:
			unseen++
		case !errors.Is(err, errEntry) && !errors.Is(err, errLater):
			t.Errorf("bit %d: %v", i, err)
		}
		raw[i/8] ^= 1 << (i % 8)
	}
	if unseen > 7 {
		t.Errorf("%d bits can change", unseen)
	}
	for n := range raw {
		if v, err := parse(raw[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are an entry: %+v", n, len(raw), v)
		}
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
		l := lease(t, s, o, time.Hour)
		if l.Token <= fence {
			t.Errorf("lease over fence %d: %+v", fence, l)
		}
		if fence >= 1<<53 && l.Token != fence+1 {
			t.Errorf("lease over fence %d has token %d", fence, l.Token)
		}
		if err := s.Release(ctx, o, l.Token); err != nil {
			t.Fatal(err)
		}
		next, err := s.Lease(ctx, o, time.Hour)
		if l.Token == 1<<64-1 {
			if err == nil || !strings.Contains(err.Error(), "highest") {
				t.Errorf("lease after the highest token: %+v, %v", next, err)
			}
		} else if err != nil || next.Token <= l.Token {
			t.Errorf("lease after token %d: %+v, %v", l.Token, next, err)
		}
	}
	var tokens [2]cache.Lease
	for i := range tokens {
		var err error
		if tokens[i], err = s.lease(ctx, s.key(cachetest.Origin(100)), time.Minute, "12345678"); err != nil {
			t.Fatal(err)
		}
	}
	if !tokens[1].Granted || tokens[0].Token != tokens[1].Token {
		t.Errorf("the same call got %+v", tokens)
	}
	l := lease(t, s, cachetest.Origin(101), 1<<62)
	if left, err := s.LeaseLeft(ctx, cachetest.Origin(101)); err != nil || left > longestLease || left < longestLease-time.Minute || l.Left < left {
		t.Errorf("a lease of %v, of which %v is left, %v", l.Left, left, err)
	}
	if left, err := s.LeaseLeft(ctx, cachetest.Origin(102)); err != nil || left != 0 {
		t.Errorf("without a lease %v is left, %v", left, err)
	}
}

// TestRepair: a large body that is lost or damaged is an error of its origin, and comes back
// with the next answer that has it.
func TestRepair(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	folder := t.TempDir()
	inServer, inFolder := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{Bodies: folder})
	read := func(name string) string { b, _ := os.ReadFile(name); return string(b) }
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	for _, size := range []int{largeBody + 1, 513_024} {
		o, other := cachetest.Origin(1), cachetest.Origin(2)
		e := cache.Entry{Record: cachetest.Record(o, strings.Repeat("x", size))}
		r := *cachetest.Record(o, strings.Repeat("y", largeBody+2)) // with two large ones
		r.LastGood = &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK, Body: e.Record.Body}
		two := cache.Entry{Record: &r}
		beside := cache.Entry{Record: cachetest.Record(other, strings.Repeat("z", size))}
		key, file := bodyKey(inServer.key(o)), inFolder.fileOf(e)
		for name, tt := range map[string]struct {
			s      *Store
			damage func()
		}{
			"key gone":  {inServer, func() { server.Do("DEL", key) }},
			"key byte":  {inServer, func() { server.Do("SETRANGE", key, "13", "!") }},
			"key cut":   {inServer, func() { server.Do("SET", key, server.Do("GETRANGE", key, "0", "12"), "KEEPTTL") }},
			"file gone": {inFolder, func() { os.Remove(file) }},
			"file byte": {inFolder, func() { write(file, "!"+read(file)[1:]) }},
			"file cut":  {inFolder, func() { write(file, read(file)[1:]) }},
		} {
			server.Do("FLUSHALL")
			put(t, tt.s, beside)
			for _, e := range []cache.Entry{e, two} {
				put(t, tt.s, e)
				if got, err := tt.s.Get(ctx, o); err != nil || !sameEntry(got, e) {
					t.Fatalf("get with a body of %d bytes: %v", size, err)
				}
				tt.damage()
				if _, err := tt.s.Get(ctx, o); !errors.Is(err, errEntry) || errors.Is(err, cache.ErrAbsent) || !strings.Contains(err.Error(), "body") {
					t.Errorf("get with a body of %d bytes, %s: %v", size, name, err)
				}
				if got, err := tt.s.Get(ctx, other); err != nil || !sameEntry(got, beside) {
					t.Errorf("get of another, %s: %v", name, err)
				}
				put(t, tt.s, e)
				if got, err := tt.s.Get(ctx, o); err != nil || !sameEntry(got, e) {
					t.Errorf("get of %d bytes after a repair, %s: %v", size, name, err)
				}
			}
			for _, o := range []robots.Origin{o, other} {
				if err := tt.s.Delete(ctx, o); err != nil {
					t.Fatal(err)
				}
			}
			if n := server.Do("DBSIZE"); n != "0" {
				t.Errorf("%s keys are left, %s", n, name)
			}
			if !tt.s.DownSince().IsZero() {
				t.Errorf("%s: a damaged body is not a server that is down", name)
			}
		}
	}
}

// TestBodies: a small body that takes the place of a large one leaves no key behind, and a
// worker without the directory says what it lacks.
func TestBodies(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s, in := newStore(t, server.Client(), Options{}), newStore(t, server.Client(), Options{Bodies: t.TempDir()})
	o := cachetest.Origin(1)
	large, small := cache.Entry{Record: cachetest.Record(o, strings.Repeat("x", 2*largeBody))}, cache.Entry{Record: cachetest.Record(o, "small")}
	for _, tt := range []struct {
		s    *Store
		e    cache.Entry
		keys string
	}{{s, large, "2"}, {s, small, "1"}, {s, large, "2"}, {in, large, "1"}, {s, large, "2"}, {in, small, "1"}, {in, large, "1"}} {
		put(t, tt.s, tt.e)
		if got, err := tt.s.Get(ctx, o); err != nil || !sameEntry(got, tt.e) {
			t.Errorf("get: %v", err)
		}
		if n := server.Do("DBSIZE"); n != tt.keys {
			t.Errorf("%s keys, want %s", n, tt.keys)
		}
	}
	if _, err := s.Get(ctx, o); !errors.Is(err, errEntry) || !strings.Contains(err.Error(), "Options.Bodies") {
		t.Errorf("get without the directory: %v", err)
	}
	if err := s.Put(ctx, cache.Entry{Record: cachetest.Record(o, strings.Repeat("x", maxInflated+1))}, time.Hour); err == nil || !strings.Contains(err.Error(), "Options.Bodies") {
		t.Errorf("put of a body of %d bytes: %v", maxInflated+1, err)
	}
	if err := os.RemoveAll(in.bodies.path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in.bodies.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := in.Put(ctx, large, time.Hour); err == nil || !in.DownSince().IsZero() {
		t.Errorf("put into a directory that is none: %v, down since %v", err, in.DownSince())
	}
}

// TestDictionary: another dictionary, or one with other line ends, makes everything that is
// kept unreadable. It takes another version.
func TestDictionary(t *testing.T) {
	const want = "b4c5888463299cfbf2cca32d651b89a3b421e2d1039b7f82572f294e6a2e5f89"
	if got := fmt.Sprintf("%x", fetch.HashOf(dictionary)); got != want {
		t.Errorf("the dictionary of versions %d and %d has changed: %s, want %s", atRest, leased, got, want)
	}
}

// TestSweep: files go a day after the last record that refers to them, and not before.
func TestSweep(t *testing.T) {
	d, err := openDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	content := func(i int) []byte { return fmt.Appendf(nil, "body %d", i) }
	keep := func(i int, keep time.Duration) {
		t.Helper()
		if err := d.keep(fetch.HashOf(content(i)), content(i), keep); err != nil {
			t.Error(err)
		}
	}
	there := func(i int) bool { _, err := d.read(fetch.HashOf(content(i))); return err == nil }
	keep(1, time.Hour)
	keep(2, 48*time.Hour)
	keep(2, time.Hour) // the longer time counts
	keep(3, time.Hour)
	keep(3, 48*time.Hour)
	keep(4, 1<<63-1)
	for _, tt := range []struct {
		after time.Duration
		left  [5]bool
	}{{0, [5]bool{1: true, 2: true, 3: true, 4: true}}, {26 * time.Hour, [5]bool{2: true, 3: true, 4: true}}, {73 * time.Hour, [5]bool{4: true}}} {
		for i := 1; i <= 4; i++ {
			d.sweep(filepath.Dir(d.name(fetch.HashOf(content(i)))), time.Now().Add(tt.after))
			if got := there(i); got != tt.left[i] {
				t.Errorf("after %v: body %d there: %t", tt.after, i, got)
			}
		}
	}
	// Old files go while new ones come.
	old := fetch.HashOf([]byte("old"))
	if err := d.keep(old, []byte("old"), -48*time.Hour); err != nil {
		t.Fatal(err)
	}
	for h := old; ; h[31]++ { // in the folder of the old one
		if err := d.keep(h, content(int(h[31])), time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := d.read(old); err != nil || h[31] == old[31]-1 {
			break
		}
	}
}

// TestLifetimes: a record lives as long as it is to be kept, and a token for two days at
// least.
func TestLifetimes(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o := cachetest.Origin(1)
	left := func(want time.Duration) {
		t.Helper()
		var ms int64
		if _, err := fmt.Sscan(server.Do("PTTL", s.key(o)), &ms); err != nil {
			t.Fatal(err)
		}
		if d := want.Milliseconds() - ms; d < -1 || d > 60_000 {
			t.Errorf("%d ms are left, want %v", ms, want)
		}
	}
	puts := func(keep time.Duration) {
		t.Helper()
		if err := s.Put(ctx, cache.Entry{Record: cachetest.Record(o, "body"), Fence: 7}, keep); err != nil {
			t.Fatal(err)
		}
	}
	puts(time.Hour)
	left(longestLease)
	puts(1<<63 - 1)
	left(1<<63 - 1)
	if err := s.Delete(ctx, o); err != nil {
		t.Fatal(err)
	}
	left(longestLease)
	server.Do("FLUSHALL")
	l := lease(t, s, o, time.Hour)
	left(longestLease)
	puts(90 * 24 * time.Hour)
	left(90 * 24 * time.Hour)
	for range 2 {
		if err := s.Release(ctx, o, l.Token); err != nil {
			t.Fatal(err)
		}
		left(90 * 24 * time.Hour)
		l = lease(t, s, o, time.Hour)
		left(90 * 24 * time.Hour)
		e := cache.Entry{Record: cachetest.Record(o, "body"), Fence: l.Token}
		if err := s.Put(ctx, e, 90*24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	server.Do("PEXPIRE", s.key(o), "60000")
	if err := s.Release(ctx, o, l.Token); err != nil { // at rest, with as much time as before
		t.Fatal(err)
	}
	left(time.Minute)
	lease(t, s, o, time.Hour)
	left(longestLease)
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

// fileOf returns the file that has the body of an entry.
func (s *Store) fileOf(e cache.Entry) string { return s.bodies.name(fetch.HashOf(e.Record.Body)) }
