package polite_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/robotskit/robots/polite"
)

// A CheckRetry for hashicorp/go-retryablehttp over a polite client. Its own policy would retry a
// request that robots.txt disallows, as it retries any error: it would be refused again, and one that
// is undecided would come before the file is fetched again.
func Example_retry() {
	checkRetry := func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if refused, ok := errors.AsType[*polite.DisallowedError](err); ok {
			return false, refused
		}
		// return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
		return err != nil || resp.StatusCode >= 500, ctx.Err()
	}
	// client := retryablehttp.NewClient()
	// client.HTTPClient = polite.Client("MyBot")
	// client.CheckRetry = checkRetry
	client := polite.Client("MyBot")
	_, err := client.Get("http://127.0.0.1/")
	retry, err := checkRetry(context.Background(), nil, err)
	fmt.Println(retry)
	fmt.Println(err)
	// Output:
	// false
	// robots.txt: http://127.0.0.1/ is disallowed: the address guard refused to fetch robots.txt (address not allowed: 127.0.0.1:80: its network 127.0.0.0/8 is special (loopback)); Options.AllowPrivate permits sites in private networks and on this machine
}
