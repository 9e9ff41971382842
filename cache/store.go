package cache

import (
	"context"
	"errors"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// Errors of a Store. They can be wrapped.
var (
	// ErrAbsent is returned by Get if there is no entry.
	ErrAbsent = errors.New("nothing is kept for this origin")
	// ErrFenced is returned by Put if an entry with a higher fence is kept.
	ErrFenced = errors.New("the holder of a later lock has written this origin")
	// ErrLocked is returned by Lock if another holder has the lock.
	ErrLocked = errors.New("another process fetches this origin")
	// ErrClosed is returned by all methods after Close.
	ErrClosed = errors.New("closed")
)

// An Entry is what a Store keeps for one origin.
type Entry struct {
	// Record is never nil in a stored entry. It is shared and must not be changed after Put or
	// Get.
	Record *fetch.Record
	// Fence is the token of the lock under which Record was fetched, 0 without locks. The
	// tokens of an origin only grow.
	Fence uint64
}

// A Store keeps one Entry per origin. The package documentation has the contract, and package
// cachetest tests an implementation against it.
type Store interface {
	// Get returns the entry of an origin.
	Get(ctx context.Context, origin robots.Origin) (Entry, error)
	// Put stores e for e.Record.Origin for at least keep, if there is room.
	Put(ctx context.Context, e Entry, keep time.Duration) error
	// Delete deletes the entry of an origin. A missing entry is not an error.
	Delete(ctx context.Context, origin robots.Origin) error
	// Close closes the store. Calls in progress end first, or return ErrClosed. A second Close
	// does nothing.
	Close() error
}

// A Locker is a Store that several processes share, with locks that decide which of them
// fetches. A Cache fetches an origin under its lock. With a plain Store it assumes that no
// other process uses the store. See the contract in the package documentation.
type Locker interface {
	Store
	// Lock takes the lock on an origin for at most ttl and returns its token. It does not
	// wait: if another holder has the lock it returns ErrLocked.
	Lock(ctx context.Context, origin robots.Origin, ttl time.Duration) (token uint64, err error)
	// Unlock releases the lock with this token. If that has expired, or there is another, it
	// does nothing and returns nil.
	Unlock(ctx context.Context, origin robots.Origin, token uint64) error
	// Down reports whether the part of the store with an origin is unreachable. Records that a
	// Cache returns meanwhile are marked fetch.Record.Degraded.
	Down(origin robots.Origin) bool
}
