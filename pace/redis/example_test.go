package redis_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// A worker of a fleet of ten, which stops at no outage of Redis and then takes a
// tenth of a site's rate at most.
func Example() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis.example:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	limiter, err := redis.New(client, redis.Options{WhenDown: redis.Divide, Workers: 10})
	if err != nil {
		log.Fatal(err)
	}
	defer limiter.Close()

	origin, _, err := robots.ParseURL("https://www.example.com/page")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	grant, err := limiter.Wait(ctx, pace.Key{Origin: origin}, nil) // nil: the site declares nothing
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("may start:", grant.Turn)
	if err := limiter.Done(ctx, grant, pace.Result{Status: 200}); err != nil {
		log.Fatal(err)
	}
}
