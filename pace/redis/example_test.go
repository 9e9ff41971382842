package redis_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// A worker of a fleet.
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
	limiter, err := redis.New(client, redis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer limiter.Close()

	origin, _, err := robots.ParseURL("https://www.example.com/page")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	schedule, err := pace.NewSchedule(nil, pace.Policy{Default: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	site := pace.Request{Origin: origin, Schedule: schedule}
	permit, err := limiter.Acquire(ctx, site)
	if err != nil {
		log.Fatal(err)
	}
	if err := limiter.Start(ctx, permit, netip.MustParseAddr("192.0.2.1")); err != nil {
		log.Fatal(err)
	}
	// One request; its response shows the load of the site.
	if err := limiter.Release(ctx, permit, pace.Result{Status: 429, RetryAfter: 2 * time.Minute}); err != nil {
		log.Fatal(err)
	}
	permits, err := limiter.Try(ctx, []pace.Request{site}, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("for all workers:", permits[0].Reasons[0])
}

func TestExample(t *testing.T) {
	redistest.RunExample(t, Example, "for all workers: the site sent Retry-After\n")
}
