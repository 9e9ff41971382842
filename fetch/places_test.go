package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A crowd counts the connections that are open at once. Each counts until just
// before the answer: the client may be with the next before this end has closed.
type crowd struct {
	open, most, all atomic.Int64
	stay            time.Duration // how long the answer takes
}

func (c *crowd) counted(handle func(*site, net.Conn)) func(*site, net.Conn) {
	return func(s *site, conn net.Conn) {
		c.all.Add(1)
		n := c.open.Add(1)
		for old := c.most.Load(); n > old && !c.most.CompareAndSwap(old, n); old = c.most.Load() {
		}
		time.Sleep(c.stay) // a slow site
		c.open.Add(-1)
		handle(s, conn)
	}
}

// TestPerHost: many origins that lead to one host ask it so many at once as the
// option says, over all schemes and ports, and the wait makes none of them fail:
// one by one it is longer than the time of a fetch.
func TestPerHost(t *testing.T) {
	for _, row := range []struct{ perHost, least, most int }{{1, 1, 1}, {3, 2, 3}, {0, 4, 60}} {
		t.Run(fmt.Sprint(row.perHost), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			target := crowd{stay: 30 * time.Millisecond}
			file := target.counted(speak(answer(whole("200 OK", someRules))))
			a, b := s.listen(t, "127.0.0.1:0", file), s.listen(t, "127.0.0.1:0", file)
			busy := s.listen(t, "127.0.0.1:0", target.counted(ftpServer{}.serve))
			origins := s.listen(t, "127.0.0.1:0", speak(func(p *peer) {
				place := "http://target.test:" + a.port() + "/robots.txt"
				if strings.HasPrefix(p.host, "b") {
					place = "https://target.test:" + b.port() + "/robots.txt"
				}
				p.say(whole("301 Moved", "", "Location: "+place))
			}))
			o := s.options()
			o.PerHost = row.perHost
			o.Limits = Limits{}
			if row.perHost == 1 {
				o.Limits.Total = shortLimits.Total
			}
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
			if n := int(target.most.Load()); n < row.least || n > row.most || target.all.Load() != 60 {
				t.Errorf("%d connections, %d at once, want 60 and %d to %d", target.all.Load(), n, row.least, row.most)
			}
			if len(c.places.hosts) > 0 {
				t.Errorf("places are kept: %v", c.places.hosts)
			}
		})
	}
}

// TestPerHostCross: hosts that lead to each other are no deadlock.
func TestPerHostCross(t *testing.T) {
	s := newStage(t)
	at := s.listen(t, "127.0.0.1:0", speak(func(p *peer) {
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
	o.PerHost = 1
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

// TestPerHostCancel: a caller that gives up while it waits gets its own error at
// once, and the wait of the others goes on.
func TestPerHostCancel(t *testing.T) {
	s := newStage(t)
	entered, leave := make(chan bool, 9), make(chan bool)
	at := s.listen(t, "127.0.0.1:0", speak(func(p *peer) {
		entered <- true
		<-leave
		p.say(whole("200 OK", someRules))
	}))
	o := s.options()
	o.PerHost, o.Limits = 1, Limits{}
	c := s.client(t, o)
	origin := mustOrigin(t, "http://site.test:"+at.port())
	var fetches sync.WaitGroup
	get := func() {
		if r, err := c.Fetch(context.Background(), origin); err != nil || r.Cause != OK {
			t.Errorf("%+v, %v", r, err)
		}
	}
	fetches.Go(get)
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if r, err := c.Fetch(ctx, origin); r != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %+v, %v", r, err)
	}
	fetches.Go(get)
	leave <- true
	<-entered
	leave <- true
	fetches.Wait()
	if n := at.accepted.Load(); n != 2 || len(c.places.hosts) > 0 {
		t.Errorf("%d connections, want 2; kept %v", n, c.places.hosts)
	}
}

// TestPlaces: places are handed out in the order of asking, past those who gave
// up, and none is lost.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := places{most: 2, hosts: map[string]*queue{}}
		for _, host := range []string{"a", "a", "b"} {
			if err := p.take(t.Context(), host); err != nil {
				t.Error(err)
			}
		}
		p.give("b") // another host
		var mu sync.Mutex
		var order []int
		note := func(i int) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, i)
		}
		quit, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 9 {
			ctx := t.Context()
			if i%3 == 1 {
				ctx = quit
			}
			go func() {
				if err := p.take(ctx, "a"); err != nil {
					note(-i)
					return
				}
				note(i)
				time.Sleep(time.Second)
				p.give("a")
			}()
			synctest.Wait() // it waits behind the others
		}
		cancel()
		synctest.Wait()
		slices.Sort(order)
		if want := []int{-7, -4, -1}; !slices.Equal(order, want) {
			t.Errorf("gave up: %v, want %v", order, want)
		}
		order = nil
		p.give("a") // one place for six
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []int{0, 2, 3, 5, 6, 8}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		p.give("a")
		if len(p.hosts) > 0 {
			t.Errorf("kept %v", p.hosts)
		}
	})
}

// TestPlacesRace: a place that comes in the moment of giving up goes on to the
// next.
func TestPlacesRace(t *testing.T) {
	p := places{most: 1, hosts: map[string]*queue{}}
	var all sync.WaitGroup
	var holders atomic.Int64
	for i := range 2000 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%50)*100*time.Microsecond)
			defer cancel()
			if p.take(ctx, "a") != nil {
				return
			}
			if holders.Add(1) != 1 {
				t.Error("two hold one place")
			}
			holders.Add(-1)
			p.give("a")
		})
	}
	all.Wait()
	if len(p.hosts) > 0 {
		t.Errorf("kept %v", p.hosts)
	}
}
