package polite_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// A crawler of a small local site: it requests allowed pages at the declared rate.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nCrawl-delay: 0.05\nDisallow: /private/\n")
		}
	}))
	defer site.Close()

	transport, err := polite.New("MyBot", polite.Options{AllowPrivate: true, Policy: pace.Policy{Default: time.Second}})
	if err != nil {
		panic(err) // which option is invalid
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	for _, path := range []string{"/", "/news", "/private/diary"} {
		resp, err := client.Get(site.URL + path)
		var no *polite.DisallowedError
		if errors.As(err, &no) {
			fmt.Println(path, no.Verdict)
			continue
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		fmt.Println(path, resp.Status)
	}
	// Output:
	// / 200 OK
	// /news 200 OK
	// /private/diary disallowed by line 3: Disallow: /private/
}
