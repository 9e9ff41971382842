package cachetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
)

// Memory is the simplest cache.Locker, a map, for tests of caches that share a store. Make one
// with NewMemory.
type Memory struct {
	mu     sync.Mutex
	kept   map[robots.Origin]cache.Entry
	locks  map[robots.Origin]lock
	token  uint64
	closed bool
}

type lock struct {
	token uint64
	until time.Time
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{kept: map[robots.Origin]cache.Entry{}, locks: map[robots.Origin]lock{}}
}

// begin locks the store for a call.
func (m *Memory) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return cache.ErrClosed
	}
	return nil
}

// Get returns the entry of an origin.
func (m *Memory) Get(ctx context.Context, origin robots.Origin) (cache.Entry, error) {
	if err := m.begin(ctx); err != nil {
		return cache.Entry{}, err
	}
	defer m.mu.Unlock()
	e, ok := m.kept[origin]
	if !ok {
		return e, cache.ErrAbsent
	}
	return e, nil
}

// Put stores an entry without an expiry.
func (m *Memory) Put(ctx context.Context, e cache.Entry, _ time.Duration) error {
	if e.Record == nil || e.Record.Origin.IsZero() {
		return errors.New("the entry has no record, or the record no origin")
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if m.kept[e.Record.Origin].Fence > e.Fence {
		return cache.ErrFenced
	}
	m.kept[e.Record.Origin] = e
	return nil
}

// Delete deletes the entry of an origin.
func (m *Memory) Delete(ctx context.Context, origin robots.Origin) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	delete(m.kept, origin)
	return nil
}

// Lock takes the lock on an origin.
func (m *Memory) Lock(ctx context.Context, origin robots.Origin, ttl time.Duration) (uint64, error) {
	if err := m.begin(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if l, ok := m.locks[origin]; ok && time.Now().Before(l.until) {
		return 0, cache.ErrLocked
	}
	m.token = max(m.token, m.kept[origin].Fence) + 1
	m.locks[origin] = lock{m.token, time.Now().Add(ttl)}
	return m.token, nil
}

// Unlock releases a lock.
func (m *Memory) Unlock(ctx context.Context, origin robots.Origin, token uint64) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if m.locks[origin].token == token {
		delete(m.locks, origin)
	}
	return nil
}

// Down returns false, as memory always answers.
func (*Memory) Down(robots.Origin) bool { return false }

// Close deletes everything.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = nil
	m.locks = nil
	m.closed = true
	return nil
}
