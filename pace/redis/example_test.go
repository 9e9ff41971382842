package redis_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// A worker of a fleet of ten, which stops at no outage of Redis and then takes a
// tenth of a site's rate at most.
func Example() {
	options, err := rueidis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := rueidis.NewClient(options)
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
	// One request; its answer says how the site fares.
	if err := limiter.Done(ctx, grant, pace.Result{Status: 429, RetryAfter: 2 * time.Minute}); err != nil {
		log.Fatal(err)
	}
	turn, err := limiter.NotBefore(ctx, pace.Key{Origin: origin}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("for all workers:", turn.Reasons[0])
}
