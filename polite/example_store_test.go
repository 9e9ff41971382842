package polite_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// A crawler of many sites keeps each robots.txt in a file, also for its next run.
func ExampleNew_manySites() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := bolt.Open(filepath.Join(dir, "robots.cache"), bolt.Options{})
	if err != nil {
		panic(err) // another process uses the file, or it is not a cache
	}
	defer store.Close()
	transport, err := polite.New("MyBot", polite.Options{
		Store:  store,
		Base:   pages{"https://example.com/robots.txt": "", "https://example.com/": "home"}, // for this test
		Policy: pace.Policy{Default: time.Millisecond},
	})
	if err != nil {
		panic(err) // which option is invalid
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	resp, err := client.Get("https://example.com/")
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}
