package redis_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/redis"
	"github.com/robotskit/robots/fetch"
)

// Caches of many processes over one Redis: each site is fetched by one of them. Package fleet
// does this in one call, with a shared crawl rate.
func Example() {
	var asked atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
	}))
	defer site.Close()

	options, err := rueidis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	options.DisableCache = true
	client, err := rueidis.NewClient(options)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	store, err := redis.New(client, redis.Options{Prefix: "crawler"})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	fetcher, err := fetch.New(fetch.Options{
		UserAgent: "MyBot/1.0 (+https://example.com/bot)",
		Guard:     fetch.Guard{AllowLoopback: true}, // the site of this example
	})
	if err != nil {
		log.Fatal(err)
	}
	origin, _, err := robots.ParseURL(site.URL + "/page")
	if err != nil {
		log.Fatal(err)
	}
	for _, process := range []string{"one", "another"} {
		c, err := cache.New(cache.Options{Fetcher: fetcher, Store: store})
		if err != nil {
			log.Fatal(err)
		}
		defer c.Close()
		record, err := c.Get(context.Background(), origin)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(process, "has it:", record.Outcome)
	}
	fmt.Println("the site was asked", asked.Load(), "time")
}
