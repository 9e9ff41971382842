package redis_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/redis"
	"github.com/robotskit/robots/fetch"
)

// Caches of many processes over one Redis: each site is fetched by one of them.
// Package fleet does this in one call, with a pace for all.
func Example() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis.example:6379"}, DisableCache: true})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	store, err := redis.New(client, redis.Options{Prefix: "crawler"})
	if err != nil {
		log.Fatal(err)
	}
	fetcher, err := fetch.New(fetch.Options{UserAgent: "MyBot/1.0 (+https://example.com/bot)"})
	if err != nil {
		log.Fatal(err)
	}
	c, err := cache.New(cache.Options{Fetcher: fetcher, Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	origin, _, err := robots.ParseURL("https://example.com/page")
	if err != nil {
		log.Fatal(err)
	}
	record, err := c.Get(context.Background(), origin)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(record.Outcome)
}
