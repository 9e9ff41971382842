package polite_test

import (
	"context"
	"fmt"
	"slices"
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

// must is for errors that a crawler reports.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// due takes up to five hundred hosts from the queue that might be ready.
func due(queue []*host) (hosts, rest []*host) {
	slices.SortFunc(queue, func(a, b *host) int { return a.next.Compare(b.next) })
	n := 0
	for n < min(len(queue), 500) && !queue[n].next.After(time.Now()) {
		n++
	}
	return queue[:n:n], queue[n:]
}

// A crawler with its own queue uses the parts. It tries five hundred sites in one call: some get
// a permit for a page, the others the time of their next attempt. With the limiter of a fleet
// instead of pace.Local nothing else changes.
func Example_frontier() {
	ctx := context.Background()
	files := must(cache.New(cache.Options{Fetcher: sites{}}))
	defer files.Close()
	var limiter pace.Limiter = must(pace.NewLocal(pace.Options{}))
	var queue []*host
	for i := range 5000 {
		h := &host{}
		for _, page := range []string{"/", "/private/a", "/b"} {
			origin, path, err := robots.ParseURL(fmt.Sprintf("https://site-%d.example%s", i, page))
			if err != nil {
				panic(err)
			}
			h.ask.Origin, h.paths = origin, append(h.paths, path)
		}
		queue = append(queue, h)
	}

	fetched, disallowed := 0, 0
	for {
		var ready, hosts []*host
		if ready, queue = due(queue); len(ready) == 0 {
			break
		}
		var asked []pace.Request
		for _, h := range ready {
			record := must(files.Get(ctx, h.ask.Origin))
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
			h.ask.Schedule = must(pace.NewSchedule(rules, pace.Policy{}))
			hosts, asked = append(hosts, h), append(asked, h.ask)
		}
		permits := must(limiter.Try(ctx, asked, 200)) // as many pages as are fetched at a time
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
			queue = append(queue, h)
		}
	}
	fmt.Println(fetched, "pages at once,", disallowed, "disallowed,", len(queue), "sites wait for their next page")
	// Output: 5000 pages at once, 5000 disallowed, 5000 sites wait for their next page
}
