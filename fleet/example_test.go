package fleet_test

import (
	"context"
	"log"
	"os"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/polite"
)

// A worker of a fleet: what one has fetched all know, and all keep one pace. It needs
// a Redis, whose password comes from the environment.
func Example() {
	ctx := context.Background()
	f, err := fleet.Open(ctx, "rediss://crawler@redis.example:6379", fleet.Options{Password: os.Getenv("REDIS_PASSWORD")})
	if err != nil {
		log.Fatal(err) // one sentence, such as which right the user lacks
	}
	defer f.Close()
	client := polite.Client("MyBot", polite.Options{Fleet: f})
	resp, err := client.Get("https://example.com/page")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
}
