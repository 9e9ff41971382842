package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
)

// A crowd counts concurrent connections, each until just before the answer: the client can open
// the next before this end is closed. No answer begins before a number of connections are open.
type crowd struct {
	open, most, all atomic.Int64
	enough          int64
	reached         chan struct{}
}

func (c *crowd) counted(handle func(*site, net.Conn)) func(*site, net.Conn) {
	return func(s *site, conn net.Conn) {
		c.all.Add(1)
		n := c.open.Add(1)
		for old := c.most.Load(); n > old; old = c.most.Load() {
			if c.most.CompareAndSwap(old, n) && n == c.enough {
				close(c.reached)
			}
		}
		<-c.reached
		c.open.Add(-1)
		handle(s, conn)
	}
}

// piped is a Dial to a site that answers each request of any address after a time.
func piped(dials *atomic.Int64, answerAfter time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if _, err := http.ReadRequest(bufio.NewReader(server)); err != nil {
				return
			}
			time.Sleep(answerAfter)
			_, _ = io.WriteString(server, whole("200 OK", someRules))
		}()
		return client, nil
	}
}

// idle checks that no place is taken.
func (p *pool) idle(t testing.TB) {
	t.Helper()
	for _, q := range []*addressSlots{&p.lookups, &p.starting, &p.perAddress, &p.total} {
		q.mu.Lock()
		if len(q.queues) > 0 {
			t.Errorf("places are kept: %v", q.queues)
		}
		q.mu.Unlock()
	}
}

// TestPerAddress: many origins on one address get as many concurrent connections as the option
// permits, over all names, schemes and ports.
func TestPerAddress(t *testing.T) {
	for _, row := range []struct{ perAddress, want int }{{1, 1}, {3, 3}, {0, 16}} {
		t.Run(fmt.Sprint(row.perAddress), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			target := crowd{enough: int64(row.want), reached: make(chan struct{})}
			file := target.counted(speak(answer(whole("200 OK", someRules))))
			a, b := s.listen(t, "127.0.0.1:0", file), s.listen(t, "127.0.0.1:0", file)
			busy := s.listen(t, "127.0.0.1:0", target.counted(ftpServer{}.serve))
			origins := s.listen(t, "127.0.0.1:0", speak(func(p *peer) {
				place := "http://target.test:" + a.port() + "/robots.txt"
				if strings.HasPrefix(p.host, "b") {
					place = "https://shop.test:" + b.port() + "/robots.txt"
				}
				p.say(whole("301 Moved", "", "Location: "+place))
			}))
			o := s.options()
			o.PerAddress = row.perAddress
			c := s.client(t, o)
			var fetches sync.WaitGroup
			for i := range 60 {
				url := fmt.Sprintf("http://%c%d.test:%s/", "abf"[i%3], i, origins.port())
				if i%3 == 2 {
					url = "ftp://target.test:" + busy.port() + "/"
				}
				origin := mustOrigin(t, url)
				fetches.Go(func() {
					if r, err := c.Fetch(context.Background(), origin); err != nil || r.Cause != OK {
						t.Errorf("%s: %+v, %v", url, r, err)
					}
				})
			}
			fetches.Wait()
			if n := int(target.most.Load()); n != row.want || target.all.Load() != 60 {
				t.Errorf("%d connections, %d at once, want 60 and %d", target.all.Load(), n, row.want)
			}
			c.pool.idle(t)
		})
	}
}

// TestWaitForPlace: no fetch fails because it waits for a connection, even longer than a fetch may take.
func TestWaitForPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		began := time.Now()
		c, err := New(Options{Guard: Guard{AllowLoopback: true}, PerAddress: 1, Limits: Limits{Total: 30 * time.Second}, Dial: piped(&dials, 8*time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		var fetches sync.WaitGroup
		for i := range 10 {
			fetches.Go(func() {
				if r, err := c.Fetch(t.Context(), mustOrigin(t, fmt.Sprintf("http://127.0.0.1:%d", 8001+i))); err != nil || r.Cause != OK {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		fetches.Wait()
		if took := time.Since(began); took != 80*time.Second || dials.Load() != 10 {
			t.Errorf("%d connections took %v, want one after another", dials.Load(), took)
		}
		c.pool.idle(t)
	})
}

// TestCross: addresses that redirect to each other cause no deadlock.
func TestCross(t *testing.T) {
	s := newStage(t)
	for i, name := range []string{"a.test", "b.test", "c.test"} {
		s.dns.name(name, addresses(fmt.Sprintf("127.0.0.%d", i+1)))
	}
	at := s.listen(t, "0.0.0.0:0", speak(func(p *peer) {
		n := 0
		fmt.Sscanf(p.path, "/%d", &n)
		if n == 4 {
			p.say(whole("200 OK", someRules))
			return
		}
		next := map[string]string{"a": "b", "b": "c", "c": "a"}[p.host[:1]]
		p.say(whole("302 Found", "", fmt.Sprintf("Location: http://%s.test:%s/%d", next, p.site.port(), n+1)))
	}))
	o := s.options()
	o.Connections, o.PerAddress = 2, 1
	c := s.client(t, o)
	var fetches sync.WaitGroup
	for i := range 60 {
		origin := mustOrigin(t, fmt.Sprintf("http://%c.test:%s/", "abc"[i%3], at.port()))
		fetches.Go(func() {
			if r, err := c.Fetch(context.Background(), origin); err != nil || r.Cause != OK || len(r.Hops) != 5 {
				t.Errorf("%s: %+v, %v", origin, r, err)
			}
		})
	}
	fetches.Wait()
}

var addrA, addrB = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")

// TestPlaces: places are assigned in the order of the calls; canceled ones are skipped, and none
// is lost.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(Options{Connections: 9, PerAddress: 1})
		if err := p.acquire(t.Context(), robots.Origin{}, addrB); err != nil { // another one
			t.Error(err)
		}
		quit, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		var order []int
		note := func(i int) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, i)
		}
		for i := range 9 {
			ctx := t.Context()
			if i%3 == 2 {
				ctx = quit
			}
			go func() {
				if err := p.acquire(ctx, robots.Origin{}, addrA); err != nil {
					note(-i)
					return
				}
				note(i)
				time.Sleep(time.Second)
				p.release(addrA)
			}()
			synctest.Wait() // it waits behind the others
		}
		cancel()
		synctest.Wait()
		mu.Lock()
		slices.Sort(order)
		if want := []int{-8, -5, -2, 0}; !slices.Equal(order, want) {
			t.Errorf("gave up, or got a place: %v, want %v", order, want)
		}
		mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []int{1, 3, 4, 6, 7}; !slices.Equal(order[4:], want) {
			t.Errorf("order %v, want %v", order[4:], want)
		}
		p.release(addrB)
		p.idle(t)
	})
}

// TestPlacesRace: a place that is assigned at the moment of a cancellation goes to the next.
func TestPlacesRace(t *testing.T) {
	p := addressSlots{limit: 1}
	var all sync.WaitGroup
	var holders atomic.Int64
	for i := range 2000 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%50)*100*time.Microsecond)
			defer cancel()
			if p.acquire(ctx, addrA) != nil {
				return
			}
			if holders.Add(1) != 1 {
				t.Error("two hold one place")
			}
			holders.Add(-1)
			p.release(addrA)
		})
	}
	all.Wait()
	if len(p.queues) > 0 {
		t.Errorf("kept %v", p.queues)
	}
}

// gate lets no start at one address pass until it is opened.
type gate struct {
	addr   netip.Addr
	opened chan struct{}
	err    error // to give then
	asked  atomic.Int64
}

func (g *gate) start(ctx context.Context, _ robots.Origin, addr netip.Addr) error {
	g.asked.Add(1)
	if addr != g.addr {
		return nil
	}
	select {
	case <-g.opened:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestStarts: a connection is opened at its start; a fetch that waits for it holds no place in
// all, and the wait counts against no limit.
func TestStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		g := &gate{addr: netip.MustParseAddr("127.0.0.1"), opened: make(chan struct{})}
		c, err := New(Options{Guard: Guard{AllowLoopback: true}, Connections: 1, Start: g.start, Dial: piped(&dials, 0)})
		if err != nil {
			t.Fatal(err)
		}
		get := func(at string) (*Record, error) { return c.Fetch(t.Context(), mustOrigin(t, "http://"+at)) }
		var fetches sync.WaitGroup
		for i := range 5 {
			fetches.Go(func() {
				if r, err := get(fmt.Sprintf("127.0.0.1:%d", 8001+i)); err != nil || r.Cause != OK {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		synctest.Wait()
		if r, err := get("127.0.0.2"); err != nil || r.Cause != OK {
			t.Errorf("%+v, %v", r, err)
		}
		time.Sleep(time.Hour)
		if n := dials.Load(); n != 1 {
			t.Errorf("%d connections before their start", n-1)
		}
		close(g.opened)
		fetches.Wait()
		if n, asked := dials.Load(), g.asked.Load(); n != 6 || asked != 6 {
			t.Errorf("%d connections at %d starts, want 6", n, asked)
		}
		// An error of Start is not a failure of the site.
		g.err = errors.New("nobody knows")
		if r, err := get("127.0.0.1"); r != nil || !errors.Is(err, g.err) {
			t.Errorf("%+v, %v", r, err)
		}
		c.pool.idle(t)
	})
}

// TestFetchAfter: the function is called when the fetch has its place and has sent nothing, and
// its error ends the fetch; a failure known by then is in the record.
func TestFetchAfter(t *testing.T) {
	s := newStage(t)
	at := s.listen(t, "127.0.0.1:0", speak(answer(whole("200 OK", someRules))))
	o := s.options()
	o.PerAddress = 1
	c := s.client(t, o)
	origin := mustOrigin(t, "http://site.test:"+at.port())
	r, err := c.FetchAfter(t.Context(), origin, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := c.Fetch(ctx, origin); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second fetch: %v", err)
		}
		if n := at.accepted.Load(); n != 0 {
			t.Errorf("%d connections", n)
		}
		return nil
	})
	if err != nil || r.Cause != OK || len(r.Hops) != 1 || r.Hops[0].DNS == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	c.pool.idle(t)
	locked := errors.New("locked")
	for range 3 {
		if _, err := c.FetchAfter(t.Context(), origin, func() error { return locked }); !errors.Is(err, locked) {
			t.Error(err)
		}
	}
	if n := at.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	called := false
	r, err = c.FetchAfter(t.Context(), mustOrigin(t, "http://missing.example/"), func() error { called = true; return nil })
	if err != nil || r.Cause != DNSNotFound || !called {
		t.Errorf("%+v, %v, called: %v", r, err, called)
	}
	c.pool.idle(t)
}
