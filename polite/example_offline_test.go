package polite_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// pages answers requests from memory: the body by URL, 404 for all others.
type pages map[string]string

func (p pages) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := p[r.URL.String()]
	if !ok {
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody}, nil
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(body))}, nil
}

// A test of a crawler without a network: the Base answers from memory, for robots.txt too. No
// name is resolved, and a short Default shortens the waits.
func ExampleNew_withoutNetwork() {
	transport, err := polite.New("MyBot", polite.Options{
		Base: pages{
			"https://example.com/robots.txt":    "User-agent: MyBot\nDisallow: /private/\n",
			"https://example.com/":              "home",
			"https://example.com/private/diary": "secret",
		},
		Policy: pace.Policy{Default: time.Millisecond},
	})
	if err != nil {
		panic(err) // which option is invalid
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	for _, url := range []string{"https://example.com/", "https://example.com/private/diary", "https://example.org/gone"} {
		resp, err := client.Get(url)
		if no, disallowed := errors.AsType[*polite.DisallowedError](err); disallowed {
			fmt.Println(url, no.Verdict)
			continue
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(url, resp.StatusCode, string(body))
	}
	// Output:
	// https://example.com/ 200 home
	// https://example.com/private/diary disallowed by line 2: Disallow: /private/
	// https://example.org/gone 404
}
