package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/redistest"
)

// TestOwnWrites: a Get sees what the same store has put or deleted just before,
// whatever the client-side cache holds, with many at it at once.
func TestOwnWrites(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for _, multiplex := range []int{0, 2} {
		o := server.Option()
		o.PipelineMultiplex = multiplex
		s := newStore(t, newClient(t, o), Options{Prefix: fmt.Sprint("own-", multiplex)})
		var wg sync.WaitGroup
		var reads atomic.Int64
		more := make(chan struct{}, 4)
		for range 2 { // keep the client-side cache full
			wg.Go(func() {
				for range more {
					for i := range 40 {
						if _, err := s.Get(ctx, cachetest.Origin(i%4)); err != nil && !errors.Is(err, cache.ErrAbsent) {
							t.Error(err)
						}
						reads.Add(1)
					}
				}
			})
		}
		var writers sync.WaitGroup
		for i := range 4 {
			writers.Go(func() {
				for n := range uint64(300) {
					select {
					case more <- struct{}{}:
					default:
					}
					if err := s.Put(ctx, cachetest.Numbered(i, n), time.Hour); err != nil {
						t.Error(err)
						return
					}
					if e, err := s.Get(ctx, cachetest.Origin(i)); err != nil || e.Epoch != n {
						t.Errorf("entry %d after put of %d: %d, %v", i, n, e.Epoch, err)
					}
					if n%10 == 9 {
						if err := s.Delete(ctx, cachetest.Origin(i)); err != nil {
							t.Error(err)
						}
						if _, err := s.Get(ctx, cachetest.Origin(i)); !errors.Is(err, cache.ErrAbsent) {
							t.Errorf("entry %d after delete: %v", i, err)
						}
					}
				}
			})
		}
		writers.Wait()
		close(more)
		wg.Wait()
		t.Logf("1200 puts read back beside %d other reads", reads.Load())
	}
}

// TestNotice: what another process puts shows soon, by the server's notice, in the
// client-side cache that has an earlier entry or none.
func TestNotice(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	noticed := make(chan struct{}, 100)
	o := server.Option()
	o.OnInvalidations = func([]rueidis.RedisMessage) { noticed <- struct{}{} }
	reader := newStore(t, newClient(t, o), Options{ClientTTL: time.Hour})
	writer := newStore(t, server.Client(), Options{})
	for n := range uint64(20) {
		for range 2 {
			e, err := reader.Get(ctx, cachetest.Origin(1))
			if n == 0 && errors.Is(err, cache.ErrAbsent) {
				continue
			}
			if err != nil || e.Epoch != n-1 {
				t.Fatalf("get before put of %d: %d, %v", n, e.Epoch, err)
			}
		}
		if err := writer.Put(ctx, cachetest.Numbered(1, n), time.Hour); err != nil {
			t.Fatal(err)
		}
		<-noticed
	}
}

// TestGivenUp: who joins the question of another is not given up with him.
func TestGivenUp(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	o, asked := server.Option(), make(chan struct{}, 10)
	o.DisableRetry = true
	o.NewCacheStoreFn = func(rueidis.CacheStoreOption) rueidis.CacheStore { return newMap(asked) }
	s := newStore(t, newClient(t, o), Options{})
	if err := s.Put(ctx, cachetest.Numbered(1, 1), time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, cachetest.Origin(2)); !errors.Is(err, cache.ErrAbsent) { // connect
		t.Fatal(err)
	}
	<-asked
	server.Freeze()
	impatient, cancel := context.WithCancel(ctx)
	gave, other := make(chan error, 1), make(chan error, 1)
	get := func(ctx context.Context, c chan error) { _, err := s.Get(ctx, cachetest.Origin(1)); c <- err }
	go get(impatient, gave)
	<-asked
	for range 4 {
		go get(ctx, other)
		<-asked
	}
	cancel()
	if err := <-gave; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: %v", err)
	}
	server.Thaw()
	for range 4 {
		if err := <-other; err != nil {
			t.Errorf("who waited: %v", err)
		}
	}
	if since := s.Away(); !since.IsZero() {
		t.Errorf("away since %v for want of patience", since)
	}
}

// deaf is a client-side cache that takes no notice of the server's notices, as if
// they were for ever on their way.
type deaf struct {
	rueidis.CacheStore
	asked chan<- struct{} // told of each question
}

func newMap(asked chan<- struct{}) rueidis.CacheStore {
	return deaf{rueidis.NewSimpleCacheAdapter(&simple{held: map[string]rueidis.RedisMessage{}}), asked}
}

func (d deaf) Flight(key, cmd string, ttl time.Duration, now time.Time) (rueidis.RedisMessage, rueidis.CacheEntry) {
	v, e := d.CacheStore.Flight(key, cmd, ttl, now)
	if d.asked != nil {
		d.asked <- struct{}{}
	}
	return v, e
}

func (d deaf) Delete([]rueidis.RedisMessage) {}

type simple struct {
	mu   sync.Mutex
	held map[string]rueidis.RedisMessage
}

func (s *simple) Get(key string) rueidis.RedisMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[key]
}

func (s *simple) Set(key string, v rueidis.RedisMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[key] = v
}

func (s *simple) Del(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, key)
}

func (s *simple) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.held)
}

// TestOrder: with the server's notices late for ever, a Get sees what there was when
// a Lease or an Await returned, and what its own store has put or deleted.
func TestOrder(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	option := server.Option()
	option.NewCacheStoreFn = func(rueidis.CacheStoreOption) rueidis.CacheStore { return newMap(nil) }
	reader, writer := newStore(t, newClient(t, option), Options{}), newStore(t, server.Client(), Options{})
	o, n := cachetest.Origin(1), uint64(0)
	get := func() uint64 {
		t.Helper()
		e, err := reader.Get(ctx, o)
		if err != nil && !errors.Is(err, cache.ErrAbsent) {
			t.Fatal(err)
		}
		return e.Epoch
	}
	write := func(s *Store) {
		t.Helper()
		n++
		if err := s.Put(ctx, cachetest.Numbered(1, n), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	for name, call := range map[string]func() error{
		"lease":  func() error { _, err := reader.Lease(ctx, o, time.Minute); return err },
		"await":  func() error { return reader.Await(ctx, o) },
		"put":    func() error { write(reader); return nil },
		"delete": func() error { return reader.Delete(ctx, o) },
	} {
		server.Do("FLUSHALL")
		write(writer)
		reader.turn(o).Add(1)
		before := get()
		write(writer)
		if got := get(); got != before {
			t.Fatalf("%s: %d, but the client-side cache should still have %d", name, got, before)
		}
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := n
		if name == "delete" {
			want = 0
		}
		if got := get(); got != want {
			t.Errorf("get after %s: %d, want %d", name, got, want)
		}
	}
}
