package redis_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// damages are scripts that replace the value of a key. They are scripts so that no
// heartbeat comes between. Those that need a string make one of the key first.
var damages = map[string]string{
	"empty":   `set('')`,
	"word":    `set('garbage')`,
	"text":    `set(string.rep('A', 44))`,
	"digits":  `set(string.rep('1', 16))`,
	"ones":    `set(string.rep('\255', 68))`,
	"longer":  `set(old .. 'tail')`,
	"cut":     `set(string.sub(old, 1, -6))`,
	"middle":  `redis.call('SETRANGE', KEYS[1], 4, '\0\0\0\126\0\0\0\0\0\0\0\126')`,
	"list":    `redis.call('DEL', KEYS[1]) redis.call('LPUSH', KEYS[1], 'garbage')`,
	"hash":    `redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'a', 'b')`,
	"members": `redis.call('DEL', KEYS[1]) redis.call('ZADD', KEYS[1], '1e300', 'b')`,
}

func damage(s *redistest.Server, script, key string) {
	s.Do("EVAL", `
		local old = ''
		if redis.call('TYPE', KEYS[1]).ok == 'string' then old = redis.call('GET', KEYS[1]) else redis.call('DEL', KEYS[1]) end
		local function set(v) redis.call('SET', KEYS[1], v) end
		`+script+`
		return 'OK'`, "1", key)
}

// TestDamage: a site whose state is damaged counts as asked when that is found. The state
// is replaced, and other sites are not affected.
func TestDamage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	const interval = 50 * time.Millisecond
	for name, script := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			prefix := fresh()
			l := newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop, Options: pace.Options{AddressInterval: interval}})
			s := steady(t, interval)
			key := func(host string, addr byte) pace.Key {
				return pace.Key{Origin: originOf(t, host), Addr: netip.AddrFrom4([4]byte{192, 0, 2, addr})}
			}
			wait := func(k pace.Key, g pace.Grant) pace.Grant {
				if !g.OK() {
					var err error
					if g, err = l.Wait(ctx, k, s); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := l.Visit(ctx, g, k.Addr, s); err != nil {
					t.Fatal(err)
				}
				return g
			}
			for i, damaged := range []struct {
				key string
				who pace.Key // who rests
			}{
				{stateKey(prefix, "origin:http://held.example"), key("held.example", 1)}, // with a grant under way
				{stateKey(prefix, "origin:http://new.example"), key("new.example", 2)},
				{stateKey(prefix, "address:192.0.2.3"), key("addressed.example", 3)}, // with a start that is booked
				{stateKey(prefix, "address:192.0.2.4"), key("other.example", 4)},
			} {
				var g pace.Grant
				if i%2 == 0 {
					g = wait(damaged.who, reserve(t, l, damaged.who, s))
				}
				if i >= 2 {
					done(t, l, g, ok)
					g = pace.Grant{}
				}
				damage(server, script, damaged.key)
				found := time.Now()
				again := reserve(t, l, damaged.who, s)
				if again.OK() && i < 2 {
					t.Errorf("%s: a start at once", damaged.key)
				}
				done(t, l, wait(pace.Key{}, reserve(t, l, key(fmt.Sprintf("well%d.example", i), byte(100+i)), s)), ok)
				done(t, l, g, ok)
				next := wait(damaged.who, again)
				if d := time.Since(found); d < interval {
					t.Errorf("%s: a start %s after, want a rest of %s", damaged.key, d, interval)
				}
				done(t, l, next, ok)
				if kind := server.Do("TYPE", damaged.key); kind != "string" && kind != "none" { // its time may be over
					t.Errorf("%s: still a %s", damaged.key, kind)
				}
			}
			damageShared(ctx, t, server, l, prefix, script, pace.Key{Origin: originOf(t, "shared.example")}, s)
			if !l.DownSince().IsZero() {
				t.Errorf("down since %s", l.DownSince())
			}
		})
	}
}

// damageShared damages what all share: the list of workers, and the epoch, after which all
// rest.
func damageShared(ctx context.Context, t *testing.T, server *redistest.Server, l *redis.Limiter, prefix, script string, k pace.Key, s *pace.Schedule) {
	t.Helper()
	done(t, l, reserve(t, l, k, s), ok)
	for name, shared := range map[string]string{"workers": "{" + prefix + "}:pace:2:workers", "epoch": redis.ServerEpochKey(prefix)} {
		damage(server, script, shared)
		found := time.Now()
		for _, l := range []*redis.Limiter{l, newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop})} {
			g, err := l.Wait(ctx, k, s)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(found); name == "epoch" && d < s.Fastest() {
				t.Errorf("%s: a start %s after, want a rest of %s", shared, d, s.Fastest())
			}
			done(t, l, g, ok)
			if !l.DownSince().IsZero() {
				t.Errorf("%s: down since %s", shared, l.DownSince())
			}
		}
	}
}
