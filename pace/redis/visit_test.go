package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// counted is a client that counts the scripts it runs for pages, and those for all else.
type counted struct {
	rueidis.Client
	steps, ends, others *atomic.Int64
}

func count(c rueidis.Client) counted {
	return counted{c, new(atomic.Int64), new(atomic.Int64), new(atomic.Int64)}
}

func (c counted) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	words := cmd.Commands()
	switch {
	case words[0] == "EVALSHA" && words[2] == "2" && strings.HasSuffix(words[3], ":epoch"):
		c.steps.Add(1)
	case words[0] == "EVALSHA" && strings.Contains(words[3], ":origin:"):
		c.ends.Add(1)
	default:
		c.others.Add(1)
	}
	return c.Client.Do(ctx, cmd)
}

// TestHerd: of 200 sites on one address whose callers come at once, each page costs a
// grant, a booking and an end, and the starts are as close as the pace permits.
func TestHerd(t *testing.T) {
	t.Parallel()
	const sites, workers, gap = 200, 4, 2 * time.Millisecond
	server := redistest.Start(t, redistest.Options{})
	prefix, s, addr := fresh(), steady(t, time.Millisecond), netip.MustParseAddr("192.0.2.1")
	var limiters []*redis.Limiter
	var clients []counted
	for range workers {
		c := count(server.Client())
		clients = append(clients, c)
		limiters = append(limiters, newLimiter(t, c, redis.Options{Prefix: prefix, Options: pace.Options{AddressInterval: gap}}))
	}
	crawl := func() (starts []time.Time) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range sites {
			l, k := limiters[i%workers], pace.Key{Origin: originOf(t, fmt.Sprintf("herd%d.example", i))}
			all.Go(func() {
				g, err := l.Wait(t.Context(), k, s)
				if err != nil {
					t.Error(err)
					return
				}
				turn, err := l.Visit(t.Context(), g, addr, s)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				starts = append(starts, turn.Start)
				mu.Unlock()
				done(t, l, g, ok)
			})
		}
		all.Wait()
		return starts
	}
	crawl() // after which the workers know the tags
	time.Sleep(10 * time.Millisecond)
	for _, c := range clients {
		c.steps.Store(0)
		c.ends.Store(0)
	}
	began := time.Now()
	starts := crawl()
	var steps, ends int64
	for _, c := range clients {
		steps += c.steps.Load()
		ends += c.ends.Load()
	}
	if len(starts) != sites || steps != 2*sites || ends != sites {
		t.Errorf("%d pages cost %d grants and bookings and %d ends, want %d and %d", len(starts), steps, ends, 2*sites, sites)
	}
	slices.SortFunc(starts, time.Time.Compare)
	for i, at := range starts {
		if least := time.Duration(i) * gap; at.Sub(began) < least {
			t.Errorf("start %d after %v, want at least %v", i, at.Sub(began), least)
		}
	}
	t.Logf("%d pages at %d starts a second, where the pace is %d", sites, int(float64(sites)/starts[sites-1].Sub(began).Seconds()), int(time.Second/gap))
}

// TestBookAgrees: the line of an address is the same in the script and in a pace.Local,
// through pages and fetches of all kinds.
func TestBookAgrees(t *testing.T) {
	campaign.OneGoroutine(t)
	redis.BookAgrees(t, redistest.Start(t, redistest.Options{}).Client(), campaign.Size(500, 2000, 50_000))
}

// TestOlderLayout: a fleet of the layout before is refused, with what to do.
func TestOlderLayout(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	server.Do("SET", "{old}:pace:1:epoch", "anything")
	_, err := redis.New(server.Client(), redis.Options{Prefix: "old"})
	if err == nil || !strings.Contains(err.Error(), "delete the key {old}:pace:1:epoch") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v, want a sentence that says which key to delete", err)
	}
	server.Do("DEL", "{old}:pace:1:epoch")
	newLimiter(t, server.Client(), redis.Options{Prefix: "old"})
}

// TestAddressLost: where a server has lost what was booked at an address, that rests for one
// gap, of pages and of fetches of robots.txt, and not longer.
func TestAddressLost(t *testing.T) {
	t.Parallel()
	const gap = 200 * time.Millisecond
	for name, lose := range map[string]func(*redistest.Server){
		"emptied":  func(s *redistest.Server) { s.Do("FLUSHALL") },
		"replaced": (*redistest.Server).Replace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			l := newLimiter(t, server.Client(), redis.Options{WhenDown: redis.Stop, Options: pace.Options{AddressInterval: gap, FetchInterval: gap / 2}})
			s := steady(t, time.Microsecond)
			visit := func(n int, addr string) (start time.Time) {
				t.Helper()
				k := pace.Key{Origin: originOf(t, fmt.Sprintf("lost%d.example", n))}
				until(t, "a start", func() bool {
					g, err := l.Wait(t.Context(), k, s)
					if err != nil {
						t.Fatal(err)
					}
					turn, err := l.Visit(t.Context(), g, netip.MustParseAddr(addr), s)
					done(t, l, g, pace.Result{Unused: err != nil})
					start = turn.Start
					return err == nil
				})
				return start
			}
			visit(0, "192.0.2.1")
			visit(1, "192.0.2.2")
			lost := time.Now()
			lose(server)
			if d := visit(2, "192.0.2.1").Sub(lost); d < gap {
				t.Errorf("a page %s after, want %s", d, gap)
			}
			if err := l.Start(t.Context(), netip.MustParseAddr("192.0.2.2")); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(lost); d < gap/2 && l.DownSince().IsZero() {
				t.Errorf("a fetch %s after, want %s", d, gap/2)
			}
			back(t, l)
			first := visit(3, "192.0.2.1")
			if d := visit(4, "192.0.2.1").Sub(first); d < gap-logSlack {
				t.Errorf("two pages are %s apart then, want %s", d, gap)
			}
		})
	}
}

// TestVisitClock: while a request waits for its address the clock of the server is set
// forward, so that its grant has timed out there and another worker gets one. The request
// does not start beside that of the other.
func TestVisitClock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Clock: true})
	o := redis.Options{Prefix: fresh(), Options: pace.Options{AddressInterval: 4 * time.Second}}
	a, b := newLimiter(t, server.Client(), o), newLimiter(t, server.Client(), o)
	s, addr := steady(t, 10*time.Millisecond), netip.MustParseAddr("192.0.2.1")
	first, second := pace.Key{Origin: originOf(t, "first.example")}, pace.Key{Origin: originOf(t, "second.example")}
	g := reserve(t, a, first, s)
	if _, err := a.Visit(t.Context(), g, addr, s); err != nil {
		t.Fatal(err)
	}
	done(t, a, g, pace.Result{Status: 200})
	done(t, b, reserve(t, b, pace.Key{Origin: originOf(t, "third.example")}, s), pace.Result{}) // so it knows the clock
	booked := func() string { return server.Do("GET", stateKey(o.Prefix, "address:"+addr.String())) }
	before := booked()
	g = reserve(t, a, second, s)
	visited := make(chan error, 1)
	go func() {
		_, err := a.Visit(t.Context(), g, addr, s)
		visited <- err
	}()
	until(t, "the start at the address to be booked", func() bool { return booked() != before })
	server.SetClock(time.Hour)
	if _, err := b.Wait(t.Context(), second, s); err != nil {
		t.Fatal(err)
	}
	if missed, is := errors.AsType[*pace.MissedError](<-visited); !is || missed.Key != (pace.Key{Origin: second.Origin, Addr: addr}) {
		t.Errorf("the request starts beside that of another worker: %v", missed)
	}
	if a.Valid(g) {
		t.Error("its grant is valid still")
	}
}
