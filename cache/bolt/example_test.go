package bolt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/fetch"
)

// A file is kept for the next process. A crawler passes the store to cache.New or to polite.
func Example() {
	folder, err := os.MkdirTemp("", "robots")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	ctx, path := context.Background(), filepath.Join(folder, "robots.cache")
	origin, _, err := robots.ParseURL("https://example.com/")
	if err != nil {
		panic(err)
	}

	store, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		panic(err) // one sentence that names the file
	}
	record := &fetch.Record{Origin: origin, URL: origin.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200, Fetched: time.Now(), Body: []byte("User-agent: *\n")}
	if err := store.Put(ctx, cache.Entry{Record: record}, time.Hour); err != nil {
		panic(err)
	}
	if err := store.Close(); err != nil {
		panic(err)
	}

	if store, err = bolt.Open(path, bolt.Options{}); err != nil {
		panic(err)
	}
	defer store.Close()
	entry, err := store.Get(ctx, origin)
	if err != nil {
		panic(err) // cache.ErrAbsent if there is none
	}
	fmt.Printf("%q\n", entry.Record.Body)
	// Output: "User-agent: *\n"
}
