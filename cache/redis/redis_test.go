package redis

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/redistest"
)

var ctx = context.Background()

// TestMain is also the beginning of processes that tests start.
func TestMain(m *testing.M) {
	if address := os.Getenv(workerEnv); address != "" {
		work(address)
		return
	}
	os.Exit(m.Run())
}

func newStore(t testing.TB, client rueidis.Client, o Options) *Store {
	t.Helper()
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// inside lets the suite see what a store holds.
type inside struct{ *Store }

// Bytes counts the values of records and bodies.
func (s inside) Bytes() (n int64) {
	keys, err := s.client.Do(ctx, s.client.B().Keys().Pattern(s.head+"*").Build()).AsStrSlice()
	if err != nil {
		panic(err)
	}
	for _, key := range keys {
		size, err := s.client.Do(ctx, s.client.B().Strlen().Key(key).Build()).AsInt64()
		if err != nil {
			panic(err)
		}
		n += int64(len(key)) + size
	}
	return n
}

func (s inside) Plant(origin robots.Origin, record []byte) error {
	head := string([]byte{version}) + encoded(0) + encoded(0)
	hashes, err := fetch.EncodedBodies(record)
	if err != nil {
		hashes = nil
	}
	head += string([]byte{byte(len(hashes))})
	for _, h := range hashes {
		head += string(h[:]) + encoded(0)
	}
	return s.client.Do(ctx, s.client.B().Set().Key(s.recordKey(origin)).Value(head+string(record)).Build()).Error()
}

// conform runs the suite on stores with prefixes of their own.
func conform(t *testing.T, client rueidis.Client) {
	n := 0
	cachetest.Run(t, func(t *testing.T) cache.Store {
		n++
		return inside{newStore(t, client, Options{Prefix: "conform-" + strconv.Itoa(n)})}
	})
}

func TestConformance(t *testing.T) {
	t.Run("server", func(t *testing.T) { conform(t, redistest.Start(t, redistest.Options{}).Client()) })
	t.Run("cluster", func(t *testing.T) { conform(t, redistest.Start(t, redistest.Options{Cluster: true}).Client()) })
}

func newClient(t testing.TB, o rueidis.ClientOption) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestOptions(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client()
	for _, o := range []Options{{Prefix: "a b"}, {Prefix: "{a}"}, {Prefix: "a\x00"}, {Prefix: strings.Repeat("a", 65)}} {
		if s, err := New(client, o); err == nil || s != nil || !strings.HasPrefix(err.Error(), "shared cache: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no client: no error")
	}
}
