package polite_test

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// sites returns the same robots.txt for every site; a crawler uses a *fetch.Client instead.
type sites struct{}

func (sites) Fetch(_ context.Context, origin robots.Origin) (*fetch.Record, error) {
	now := time.Now()
	return &fetch.Record{
		Origin: origin, URL: origin.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200,
		Fetched: now, Expires: now.Add(24 * time.Hour), Body: []byte("User-agent: *\nCrawl-delay: 60\nDisallow: /private\n"),
	}, nil
}

// host is a site of the frontier with its remaining pages.
type host struct {
	paths []robots.Path
	next  time.Time // when it may be requested again
	ask   pace.Request
}

type frontier []*host

func (f frontier) Len() int           { return len(f) }
func (f frontier) Less(i, j int) bool { return f[i].next.Before(f[j].next) }
func (f frontier) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)        { *f = append(*f, x.(*host)) }
func (f *frontier) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

// due takes up to five hundred hosts from the queue that might be ready.
func (f *frontier) due() (hosts []*host) {
	for len(*f) > 0 && len(hosts) < 500 && !(*f)[0].next.After(time.Now()) {
		hosts = append(hosts, heap.Pop(f).(*host))
	}
	return hosts
}

// A crawler with its own queue uses the parts. It tries five hundred sites in one call: some get
// a permit for a page, the others the time of their next attempt. With the limiter of a fleet
// instead of pace.Local nothing else changes.
func Example_frontier() {
	ctx := context.Background()
	files, err := cache.New(cache.Options{Fetcher: sites{}})
	if err != nil {
		panic(err)
	}
	defer files.Close()
	var limiter pace.Limiter
	limiter, err = pace.NewLocal(pace.Options{})
	if err != nil {
		panic(err)
	}
	var queue frontier
	for i := range 5000 {
		h := &host{}
		for _, page := range []string{"/", "/private/a", "/b"} {
			origin, path, err := robots.ParseURL(fmt.Sprintf("https://site-%d.example%s", i, page))
			if err != nil {
				panic(err)
			}
			h.ask.Origin, h.paths = origin, append(h.paths, path)
		}
		heap.Push(&queue, h)
	}

	fetched, disallowed := 0, 0
	for due := queue.due(); len(due) > 0; due = queue.due() {
		var hosts []*host
		var asked []pace.Request
		for _, h := range due {
			record, err := files.Get(ctx, h.ask.Origin)
			if err != nil {
				panic(err)
			}
			rules := record.Rules(robots.RFC9309, time.Now(), "MyBot")
			for len(h.paths) > 0 && !rules.Allowed(h.paths[0]) {
				h.paths = h.paths[1:]
				disallowed++
			}
			if len(h.paths) == 0 {
				if err := limiter.Release(ctx, h.ask.Done, h.ask.Result); err != nil {
					panic(err)
				}
				continue
			}
			if h.ask.Schedule, err = pace.NewSchedule(rules, pace.Policy{}); err != nil {
				panic(err)
			}
			hosts, asked = append(hosts, h), append(asked, h.ask)
		}
		permits, err := limiter.Try(ctx, asked, 200) // as many pages as are fetched at a time
		if err != nil {
			panic(err)
		}
		for i, h := range hosts {
			p := permits[i]
			h.ask.Done, h.next = pace.Permit{}, p.NotBefore
			if p.OK() {
				h.paths = h.paths[1:] // here limiter.Start is called and the page is fetched
				fetched++
				// The next call releases the permit, and returns when the next page may start.
				h.ask.Done, h.ask.Result = p, pace.Result{Status: 200}
				h.next = p.Start
			}
			heap.Push(&queue, h)
		}
	}
	fmt.Println(fetched, "pages at once,", disallowed, "disallowed,", len(queue), "sites wait for their next page")
	// Output: 5000 pages at once, 5000 disallowed, 5000 sites wait for their next page
}
