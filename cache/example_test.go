package cache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

// asking is a Fetcher that counts its calls; a crawler uses a *fetch.Client instead.
type asking struct{ n int }

func (c *asking) Fetch(_ context.Context, origin robots.Origin) (*fetch.Record, error) {
	c.n++
	now := time.Now()
	return &fetch.Record{
		Origin: origin, URL: origin.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200,
		Fetched: now, Expires: now.Add(24 * time.Hour), Body: []byte("User-agent: *\nDisallow: /private\n"),
	}, nil
}

func Example() {
	site := &asking{}
	c, err := cache.New(cache.Options{Fetcher: site})
	if err != nil {
		panic(err) // the options are impossible
	}
	defer c.Close()
	for _, url := range []string{"https://example.com/", "https://example.com/private/x", "https://example.com/public"} {
		origin, path, err := robots.ParseURL(url)
		if err != nil {
			panic(err)
		}
		record, err := c.Get(context.Background(), origin)
		if err != nil {
			panic(err) // the context has ended
		}
		fmt.Println(path, record.Rules(robots.RFC9309, time.Now(), "MyBot").Match(path))
	}
	fmt.Println("asked", site.n, "time")
	// Output:
	// / allowed: no rule for * matches
	// /private/x disallowed by line 2: Disallow: /private
	// /public allowed: no rule for * matches
	// asked 1 time
}
