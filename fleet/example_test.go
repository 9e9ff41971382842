package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/polite"
)

// A worker of a fleet: workers share records and crawl rates. It needs a Redis, whose URL and
// password come from the environment.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n")
		}
	}))
	defer site.Close()

	ctx := context.Background()
	f, err := fleet.Open(ctx, os.Getenv("REDIS_URL"), fleet.Options{Password: os.Getenv("REDIS_PASSWORD")})
	if err != nil {
		log.Fatal(err) // one sentence, such as which right the user lacks
	}
	defer f.Close()
	transport, err := polite.New("MyBot", polite.Options{Fleet: f, AllowPrivate: true}) // the site is on this machine
	if err != nil {
		log.Fatal(err)
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	for _, path := range []string{"/page", "/private/diary"} {
		resp, err := client.Get(site.URL + path)
		var no *polite.DisallowedError
		if errors.As(err, &no) {
			fmt.Println(path, no.Verdict)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(path, resp.Status)
	}
}
