package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/cache/internal/packed"
	"github.com/robotskit/robots/internal/redistest"
)

var ctx = context.Background()

func newStore(t testing.TB, client rueidis.Client, o Options) *Store {
	t.Helper()
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// put stores an entry for an hour.
func put(t *testing.T, s cache.Store, e cache.Entry) {
	t.Helper()
	if err := s.Put(context.Background(), e, time.Hour); err != nil {
		t.Errorf("put of %s: %v", e.Record.Origin, err)
	}
}

// lock takes the lock on an origin and returns its token.
func lock(t *testing.T, s *Store, o robots.Origin, ttl time.Duration) uint64 {
	t.Helper()
	token, err := s.Lock(ctx, o, ttl)
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	return token
}

// unlessAbsent returns nil for ErrAbsent, which shows that the server has answered.
func unlessAbsent(err error) error {
	if errors.Is(err, cache.ErrAbsent) {
		return nil
	}
	return err
}

// inside lets the suite write any value.
type inside struct{ *Store }

func (s inside) Plant(origin robots.Origin, record []byte) error {
	value := append(make([]byte, 1+fenceSize), packed.PackEncoded(0, record)...)
	value[0] = atRest
	return s.client.Do(ctx, s.client.B().Set().Key(s.key(origin)).Value(string(value)).Build()).Error()
}

// conform runs the suite on a server as a client of it. Only a client with all rights can look
// inside.
func conform(t *testing.T, o rueidis.ClientOption, servers ...*redistest.Server) {
	client := redistest.NewClient(t, o)
	cachetest.Run(t, func(t *testing.T) cache.Store {
		for _, server := range servers {
			server.Do("FLUSHALL")
		}
		s := newStore(t, client, Options{})
		if o.Username != "" {
			return s
		}
		return inside{s}
	})
}

// patient keeps a cluster from marking a node as failed on a busy machine.
func patient(nodes []*redistest.Server) {
	for _, n := range nodes {
		n.Do("CONFIG", "SET", "cluster-node-timeout", "60000")
	}
}

func TestConformance(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, redistest.Options{})
		conform(t, server.Option(), server)
	})
	t.Run("three primaries", func(t *testing.T) {
		if testing.Short() {
			t.Skip("short: the store on a server has run the same tests")
		}
		t.Parallel()
		nodes := redistest.StartCluster(t, 3)
		patient(nodes)
		conform(t, nodes[0].Option(), nodes...)
	})
}

// TestACL runs the suite as a user with only the documented rights, with TLS and in a cluster.
func TestACL(t *testing.T) {
	rule := redistest.AccessRule(t, "doc.go")
	for _, cluster := range []bool{false, true} {
		t.Run(fmt.Sprint("cluster ", cluster), func(t *testing.T) {
			t.Parallel()
			var server *redistest.Server
			if cluster {
				server = redistest.StartCluster(t, 1)[0]
			} else {
				server = redistest.Start(t, redistest.Options{TLS: true})
			}
			server.Do(append([]string{"ACL", "SETUSER", "robots"}, rule...)...)
			o := server.Option()
			o.Username, o.Password, o.DisableCache = "robots", "SECRET", true
			conform(t, o, server)
			if log := server.Do("ACL", "LOG"); strings.Contains(log, "reason") {
				t.Errorf("the server has refused: %s", log)
			}
			if err := newStore(t, redistest.NewClient(t, o), Options{Prefix: "other"}).Put(ctx, cachetest.Numbered(1, 1), time.Hour); err == nil || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("put under another prefix: %v", err)
			}
		})
	}
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

// unhurried repeats a call that took too long on a busy machine.
func unhurried(call func() error) (err error) {
	for range 100 {
		if err = call(); !errors.Is(err, errSilent) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}
