package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	"golang.org/x/time/rate"
)

// A State is what a service keeps: records in a store, and the state of its limiter. It is that of a fleet,
// in a file, or in memory.
type State struct {
	config  *Config
	log     *slog.Logger
	metrics *Metrics
	fleet   *fleet.Fleet // nil without a Redis
	local   *pace.Local  // the limiter without one
	file    *bolt.Store  // nil without a file
	store   cache.Store  // of the fleet or the file, nil for memory alone
	failing rate.Sometimes
}

// OpenState opens the state that the configuration names, and sets the parts of a service that use it. The
// caller closes the state, also after an error.
func OpenState(ctx context.Context, c *Config, log *slog.Logger, metrics *Metrics, parts *Parts) (*State, error) {
	s := &State{config: c, log: log, metrics: metrics, failing: rate.Sometimes{Interval: time.Minute}}
	paces, err := source.AddressPaces(c.AddressPaces)
	if err != nil {
		return s, err
	}
	parts.Cache.Observe = s.observe
	if c.Shared() {
		err = s.openFleet(ctx, parts, paces)
	} else {
		err = s.openLocal(ctx, parts, paces)
	}
	parts.Cache.Store = s.store
	return s, err
}

// Store is that of the fleet or the file, nil for memory alone.
func (s *State) Store() cache.Store { return s.store }

// Kind names the store: redis, a file or memory.
func (s *State) Kind() string {
	if s.fleet != nil {
		return "redis"
	}
	return s.config.Store
}

// openFleet joins a fleet, which has store and limiter.
func (s *State) openFleet(ctx context.Context, parts *Parts, paces pace.Options) error {
	c := s.config
	var err error
	if s.fleet, err = source.Join("--store", c.Store, fleet.Options{
		MaxMemoryBytes: int64(c.Memory), Pace: paces, AllowEviction: c.AllowEviction, Observe: s.metrics, Log: s.log,
	}); err != nil {
		return err
	}
	if parts.Secret, err = s.fleet.Secret(ctx); err != nil {
		return fmt.Errorf("--store: %w", err)
	}
	s.store = s.fleet.Store()
	parts.Limiter = s.fleet.Limiter()
	parts.Cache.Memory = s.fleet.CacheMemory()
	parts.DownSince = s.fleet.DownSince
	s.metrics.Degraded(s.fleet.DownSince)
	return nil
}

// openLocal makes a limiter of this process, and opens the file of the store if there is one.
func (s *State) openLocal(ctx context.Context, parts *Parts, paces pace.Options) (err error) {
	c := s.config
	// As in a fleet (fleet.Options.MaxMemoryBytes).
	paces.MaxBytes = int(min(int64(c.Memory)/4, math.MaxInt))
	parts.Cache.Memory = int64(c.Memory) / 2
	paces.Observe = s.metrics.Pace
	if s.local, err = pace.NewLocal(paces); err != nil {
		return err
	}
	parts.Limiter = s.local
	if c.Store == "memory" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Store), 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the store: %w", err)
	}
	if s.file, err = bolt.Open(c.Store, bolt.Options{}); err != nil {
		return err
	}
	s.store = s.file
	parts.Secret = s.resume(ctx)
	s.metrics.StoreSize(func() (size int64) {
		if info, err := os.Stat(c.Store); err == nil {
			size = info.Size()
		}
		return size
	})
	return nil
}

// Ready returns why the service is not ready, nil if it is.
func (s *State) Ready(ctx context.Context) error {
	if s.store == nil {
		return nil
	}
	origin, _, _ := robots.ParseURL("https://ready.invalid/") // it is valid
	_, err := s.store.Get(ctx, origin)
	switch {
	case s.fleet != nil && s.fleet.Drained():
		return errors.New("an operator has drained this server, or its options differ from those of the fleet")
	case s.fleet != nil && s.config.RedisOptional:
		return nil
	case s.fleet != nil && !s.fleet.DownSince().IsZero():
		return errors.New("Redis is unreachable")
	case err != nil && !errors.Is(err, cache.ErrAbsent):
		return fmt.Errorf("the store failed: %w", err)
	}
	return nil
}

// observe counts the events of the cache, and logs errors of the store, at most one per minute.
func (s *State) observe(e cache.Event) {
	s.metrics.Cache(e)
	if e.Kind == cache.EventStoreFailed {
		s.failing.Do(func() { s.log.Warn("the store failed; continuing without it", "error", e.Err.Error()) })
	}
}

// Close closes the store, and keeps the state of the limiter in a file.
func (s *State) Close() error {
	var err error
	switch {
	case s.fleet != nil:
		err = s.fleet.Close()
	case s.file != nil:
		err = errors.Join(s.file.Keep(context.Background(), permitsName, s.local.Snapshot()), s.file.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot close the store: %w", err)
	}
	return nil
}

// What the file of a server keeps beside records, so that the next process with the file goes on with its permits and rests: the
// secret of permits, and the state of the limiter. The latter is written when a process ends. While one runs there is none, since
// a process that was killed leaves no record of its last permits.
const (
	secretName  = "secret"
	permitsName = "permits"
)

// resume makes the limiter go on where the process before ended, and returns the secret of permits.
func (s *State) resume(ctx context.Context) []byte {
	secret, err := s.file.Kept(ctx, secretName)
	permits, unread := s.file.Kept(ctx, permitsName)
	if err = errors.Join(err, unread); err != nil || len(secret) > 0 { // else no process has had the file
		err = errors.Join(err, s.local.Resume(permits))
	}
	if err != nil {
		s.log.Warn("the permits and rests of the process before cannot be read and have ended", "error", err.Error())
	}
	if len(secret) == 0 {
		secret = []byte(rand.Text() + rand.Text())
	}
	if err := errors.Join(s.file.Keep(ctx, secretName, secret), s.file.Keep(ctx, permitsName, nil)); err != nil {
		s.log.Warn("the store failed, so permits might end with the process", "error", err.Error())
	}
	return secret
}
