package pace_test

import (
	"context"
	"fmt"
	"net/netip"
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
	start, reasons := s.Explain(last, pace.State{Last: last})
	fmt.Println(start.Format(time.TimeOnly), reasons[0])
	for _, span := range s.Day(last) {
		fmt.Println(span.From.Format("15:04"), span.Reasons[0])
	}
	// Output:
	// 18:00:28 Request-rate 1/30s 1800-1900, line 2: one request every 30 s
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
	site := pace.Request{Origin: origin}
	permit, err := limiter.Acquire(ctx, site)
	if err != nil {
		panic(err) // ctx ended
	}
	addr := netip.MustParseAddr("192.0.2.1") // to which the request is sent
	if err := limiter.Start(ctx, permit, addr); err != nil {
		panic(err)
	}
	// One request; its response shows the load of the site.
	if err := limiter.Release(ctx, permit, pace.Result{Status: 429, RetryAfter: 2 * time.Minute}); err != nil {
		panic(err)
	}
	next, _ := limiter.Try(ctx, []pace.Request{site}, 0)
	fmt.Println(time.Until(next[0].NotBefore).Round(time.Second), next[0].Reasons[0])
	// Output: 2m0s the site sent Retry-After
}
