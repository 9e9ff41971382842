package clients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/robotskit/robots/polite"
)

// A go-retryablehttp client over a polite transport: a page that fails is requested again, when the
// crawl rate permits it. One that robots.txt disallows is not: the default policy would retry it as
// any error.
func Example_retry() {
	site := newSite()
	defer site.Close()
	transport := newTransport(polite.Options{})
	defer transport.Close()

	client := retryablehttp.NewClient()
	client.Logger = nil
	client.RetryWaitMin = time.Millisecond // the transport waits
	client.HTTPClient = &http.Client{Transport: transport}
	client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if no, is := errors.AsType[*polite.DisallowedError](err); is {
			return false, no
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	for _, path := range []string{"/busy", "/private/diary"} {
		resp, err := client.Get(site.URL + path)
		if no, is := errors.AsType[*polite.DisallowedError](err); is {
			fmt.Println(path, no.Verdict)
			continue
		}
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
		fmt.Println(path, resp.Status)
	}
	// Output:
	// /busy 200 OK
	// /private/diary disallowed by line 2: Disallow: /private
}
