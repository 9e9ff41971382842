package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/internal/script"
)

// TestLater: an entry of a later release is refused and not changed.
func TestLater(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o, e := cachetest.Origin(1), cachetest.Numbered(1, 1)
	e.Fence = 1<<64 - 1
	server.Do("SET", s.key(o), "\x04what this one cannot know")
	before := server.Do("DUMP", s.key(o))
	for call, try := range map[string]func() error{
		"get":    func() error { _, err := s.Get(ctx, o); return err },
		"put":    func() error { return s.Put(ctx, e, time.Hour) },
		"delete": func() error { return s.Delete(ctx, o) },
		"lock":   func() error { _, err := s.Lock(ctx, o, time.Hour); return err },
		"unlock": func() error { return s.Unlock(ctx, o, 1) },
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

// TestDamage: a damaged value, or one of another type, counts as absent for its own origin, and
// is replaced by the next put or lock. Other origins are not affected.
func TestDamage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	o, other := cachetest.Origin(1), cachetest.Origin(2)
	text := strings.Repeat("body ", 20_000)
	for name, damage := range map[string]func(key string){
		"empty":   func(key string) { server.Do("SET", key, "") },
		"word":    func(key string) { server.Do("SET", key, "garbage") },
		"text":    func(key string) { server.Do("SET", key, strings.Repeat("garbage ", 100)) },
		"byte":    func(key string) { server.Do("SET", key, "\x02") },
		"ones":    func(key string) { server.Do("SET", key, strings.Repeat("\xff", 100)) },
		"twos":    func(key string) { server.Do("SET", key, strings.Repeat("\x02", 100)) },
		"lock":    func(key string) { server.Do("SET", key, "\x03"+strings.Repeat("\xff", lockSize-1)) },
		"part":    func(key string) { server.Do("SET", key, "\x03"+strings.Repeat("\x00", lockSize+3)) },
		"nothing": func(key string) { server.Do("SET", key, "\x02"+strings.Repeat("\x00", fenceSize)) },
		"list":    func(key string) { server.Do("LPUSH", key, "garbage") },
		"hash":    func(key string) { server.Do("HSET", key, "a", "b") },
	} {
		beside, e := cache.Entry{Record: cachetest.Record(other, "beside")}, cache.Entry{Record: cachetest.Record(o, text)}
		broken := func() {
			server.Do("FLUSHALL")
			put(t, s, beside)
			damage(s.key(o))
		}
		broken()
		if got, err := s.Get(ctx, o); !errors.Is(err, errDamaged) || errors.Is(err, cache.ErrAbsent) {
			t.Errorf("%s: get: %+v, %v", name, got, err)
		}
		if got, err := s.Get(ctx, other); err != nil || !sameEntry(got, beside) {
			t.Errorf("%s: get of another: %v", name, err)
		}
		for _, o := range []robots.Origin{o, other} {
			l := lock(t, s, o, time.Hour)
			if err := s.Unlock(ctx, o, l); err != nil {
				t.Errorf("%s: release: %v", name, err)
			}
		}
		broken()
		if err := s.Put(ctx, e, time.Hour); err != nil && name != "twos" { // which has the highest fence
			t.Errorf("%s: put: %v", name, err)
		} else if got, err := s.Get(ctx, o); err == nil && !sameEntry(got, e) || err != nil && name != "twos" {
			t.Errorf("%s: get of what was put: %v", name, err)
		}
		broken()
		if err := s.Delete(ctx, o); err != nil {
			t.Errorf("%s: delete: %v", name, err)
		}
		if _, err := s.Get(ctx, o); !errors.Is(err, cache.ErrAbsent) {
			t.Errorf("%s: get after delete: %v", name, err)
		}
	}
	if since := s.DownSince(); !since.IsZero() {
		t.Errorf("down since %v", since)
	}
}

// TestTokens: tokens exceed the stored fence, however high it is, and a repeated call has its
// lease.
func TestTokens(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	for i, fence := range []uint64{0, 1 << 53, 1<<53 + 1, 1<<60 + 1<<32 - 1, 1 << 63, 1<<64 - 2} {
		o := cachetest.Origin(i)
		put(t, s, cache.Entry{Record: cachetest.Record(o, "a"), Fence: fence})
		l := lock(t, s, o, time.Hour)
		if l <= fence {
			t.Errorf("lock over fence %d: %d", fence, l)
		}
		if fence >= 1<<53 && l != fence+1 {
			t.Errorf("lock over fence %d has token %d", fence, l)
		}
		if err := s.Unlock(ctx, o, l); err != nil {
			t.Fatal(err)
		}
		next, err := s.Lock(ctx, o, time.Hour)
		if l == 1<<64-1 {
			if err == nil || !strings.Contains(err.Error(), "highest") {
				t.Errorf("lock after the highest token: %+v, %v", next, err)
			}
		} else if err != nil || next <= l {
			t.Errorf("lock after token %d: %d, %v", l, next, err)
		}
	}
	l := lock(t, s, cachetest.Origin(101), 1<<62)
	if left, err := s.LockLeft(ctx, cachetest.Origin(101)); err != nil || left > longestLock || left < longestLock-time.Minute {
		t.Errorf("of the lock %d %v is left, %v", l, left, err)
	}
	if left, err := s.LockLeft(ctx, cachetest.Origin(102)); err != nil || left != 0 {
		t.Errorf("without a lock %v is left, %v", left, err)
	}
}

// TestLifetimes: a record lives as long as requested, and a token for at least two days.
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
	left(longestLock)
	puts(1<<63 - 1)
	left(1<<63 - 1)
	if err := s.Delete(ctx, o); err != nil {
		t.Fatal(err)
	}
	left(longestLock)
	server.Do("FLUSHALL")
	l := lock(t, s, o, time.Hour)
	left(longestLock)
	puts(90 * 24 * time.Hour)
	left(90 * 24 * time.Hour)
	for range 2 {
		if err := s.Unlock(ctx, o, l); err != nil {
			t.Fatal(err)
		}
		left(90 * 24 * time.Hour)
		l = lock(t, s, o, time.Hour)
		left(90 * 24 * time.Hour)
		e := cache.Entry{Record: cachetest.Record(o, "body"), Fence: l}
		if err := s.Put(ctx, e, 90*24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	server.Do("PEXPIRE", s.key(o), "60000")
	if err := s.Unlock(ctx, o, l); err != nil { // at rest, with as much time as before
		t.Fatal(err)
	}
	left(time.Minute)
	lock(t, s, o, time.Hour)
	left(longestLock)
}

// TestReplies: a reply that a script cannot give is an error, also a refusal without a reason.
func TestReplies(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := newStore(t, server.Client(), Options{})
	reason := errors.New("refused")
	for _, c := range []struct {
		reply      string
		no, errors error
	}{
		{"{0}", nil, nil}, {"{1}", reason, reason}, {"{1}", nil, script.ErrReply}, {"{2}", nil, errLater}, {"{3}", nil, errExhausted},
		{"{4}", reason, script.ErrReply}, {"{-1}", reason, script.ErrReply}, {"{}", reason, script.ErrReply}, {"{'x'}", reason, script.ErrReply},
	} {
		_, err := s.run(t.Context(), &script.Script{Text: func() string { return "return " + c.reply }}, c.no, "robots:x")
		if !errors.Is(err, c.errors) {
			t.Errorf("%s, refused for %v: %v, want %v", c.reply, c.no, err, c.errors)
		}
	}
}

// TestDownSince: the time since which a cluster is down is the earliest of its parts.
func TestDownSince(t *testing.T) {
	s := &Store{parts: make([]part, 4)}
	s.down.Store(2)
	now := time.Now()
	for i, ago := range []time.Duration{0, time.Minute, time.Hour, time.Second} {
		if p := &s.parts[i]; ago > 0 {
			p.isDown.Store(true)
			p.since = now.Add(-ago)
			p.probe = now.Add(time.Hour)
		}
	}
	if since := s.DownSince(); !since.Equal(now.Add(-time.Hour)) {
		t.Errorf("down since %s ago, want an hour", now.Sub(since))
	}
}
