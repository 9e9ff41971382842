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

// sites answers with the same robots.txt for every site; a crawler has a
// *fetch.Client in its place.
type sites struct{}

func (sites) Fetch(_ context.Context, origin robots.Origin) (*fetch.Record, error) {
	now := time.Now()
	return &fetch.Record{
		Origin: origin, URL: origin.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200,
		Fetched: now, Expires: now.Add(24 * time.Hour), Body: []byte("User-agent: *\nCrawl-delay: 60\nDisallow: /private\n"),
	}, nil
}

// host is a site of the frontier with the pages that are still to be fetched.
type host struct {
	origin robots.Origin
	paths  []robots.Path
	next   time.Time // when it may be asked again
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

// A crawler with a queue of its own uses the parts: of five thousand sites it takes
// the one whose turn is next, and a site that has no turn yet holds up no other.
func Example_frontier() {
	ctx := context.Background()
	files, err := cache.New(cache.Options{Fetcher: sites{}})
	if err != nil {
		panic(err)
	}
	defer files.Close()
	limiter, err := pace.NewLocal(pace.Options{})
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
			h.origin, h.paths = origin, append(h.paths, path)
		}
		heap.Push(&queue, h)
	}

	fetched, disallowed := 0, 0
	for len(queue) > 0 && !queue[0].next.After(time.Now()) {
		h := queue[0]
		record, err := files.Get(ctx, h.origin)
		if err != nil {
			panic(err)
		}
		rules := record.Rules(robots.RFC9309, time.Now(), "MyBot")
		for len(h.paths) > 0 && !rules.Allowed(h.paths[0]) {
			h.paths = h.paths[1:]
			disallowed++
		}
		if len(h.paths) == 0 {
			heap.Pop(&queue)
			continue
		}
		schedule, err := pace.NewSchedule(rules, pace.Policy{})
		if err != nil {
			panic(err)
		}
		grant, err := limiter.Reserve(ctx, pace.Key{Origin: h.origin}, schedule, 0)
		if err != nil {
			panic(err)
		}
		if !grant.OK() {
			h.next = grant.Start // the site comes again then
			heap.Fix(&queue, 0)
			continue
		}
		h.paths = h.paths[1:] // here the page is fetched
		fetched++
		if err := limiter.Done(ctx, grant, pace.Result{Status: 200}); err != nil {
			panic(err)
		}
	}
	fmt.Println(fetched, "pages at once,", disallowed, "disallowed,", len(queue), "sites wait for their next turn")
	// Output: 5000 pages at once, 5000 disallowed, 5000 sites wait for their next turn
}
