package pace_test

import (
	"context"
	"fmt"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

func ExampleSchedule() {
	f := robots.Parse([]byte("User-agent: SeznamBot\nRequest-rate: 1/30s 1800-1900\nRequest-rate: 10/1m\n"))
	s, err := pace.NewSchedule(f.Rules(robots.Seznam, "SeznamBot"), pace.Policy{})
	if err != nil {
		panic(err) // the policy is impossible
	}
	last := time.Date(2026, 3, 1, 17, 59, 58, 0, time.UTC)
	fmt.Println(s.Turn(last, last))
	for _, span := range s.Day(last) {
		fmt.Println(span.From.Format("15:04"), span.Reasons[0])
	}
	// Output:
	// 2026-03-01T18:00:28Z (Request-rate 1/30s 1800-1900, line 2: one request every 30 s)
	// 00:00 Request-rate 10/1m, line 3: one request every 6 s
	// 18:00 Request-rate 1/30s 1800-1900, line 2: one request every 30 s
	// 19:00 Request-rate 10/1m, line 3: one request every 6 s
}

func ExampleLimiter() {
	ctx := context.Background()
	var limiter pace.Limiter
	limiter, err := pace.NewLocal(pace.Options{})
	if err != nil {
		panic(err) // the options are impossible
	}
	origin, _, _ := robots.ParseURL("https://example.com/")
	grant, err := limiter.Wait(ctx, pace.Key{Origin: origin}, nil)
	if err != nil {
		panic(err) // ctx ended
	}
	// One request; its answer says how the site fares.
	if err := limiter.Done(ctx, grant, pace.Result{Status: 429, RetryAfter: 2 * time.Minute}); err != nil {
		panic(err)
	}
	turn, _ := limiter.NotBefore(ctx, pace.Key{Origin: origin}, nil)
	fmt.Println(time.Until(turn.Start).Round(time.Second), turn.Reasons[0])
	// Output: 2m0s the site said when to come again
}
