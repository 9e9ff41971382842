package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
	}))
	defer site.Close()

	client, err := fetch.New(fetch.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Guard:     fetch.Guard{AllowLoopback: true}, // the site of this example
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	origin, path, _ := robots.ParseURL(site.URL + "/private/page")
	record, err := client.Fetch(context.Background(), origin)
	if err != nil { // the caller's mistake or a cancelled context
		fmt.Println(err)
		return
	}
	rules := record.Rules(robots.RFC9309, time.Now(), "ExampleBot")
	fmt.Println(record.Outcome)
	fmt.Println(rules.Match(path))
	// Output:
	// success
	// disallowed by line 2: Disallow: /private
}

// A failure keeps the copy from before. The dialects differ in how they use it.
func ExampleRecord_After() {
	origin, path, _ := robots.ParseURL("https://example.com/page")
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	good := &fetch.Record{
		Origin: origin, Outcome: fetch.Success, Cause: fetch.OK, Status: 200,
		Body: []byte("User-agent: *\nDisallow: /private\n"), Fetched: noon.Add(-24 * time.Hour), Expires: noon,
	}
	down := &fetch.Record{Origin: origin, Outcome: fetch.Unreachable, Cause: fetch.ServerError, Status: 503, Fetched: noon}
	kept := down.After(good)
	for _, d := range []robots.Dialect{robots.RFC9309, robots.Google} {
		fmt.Println(d.Name+":", kept.Rules(d, noon.Add(time.Hour), "ExampleBot").Match(path))
	}
	// Output:
	// rfc9309: allowed: no rule for * matches (status 503 since 2026-05-01T12:00:00Z, copy of 2026-04-30T12:00:00Z used)
	// google: disallowed: robots.txt cannot be reached (status 503 since 2026-05-01T12:00:00Z, copy of 2026-04-30T12:00:00Z kept; used from 2026-05-02T00:00:00Z)
}
