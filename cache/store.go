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

// A Store keeps one Entry per origin. Package cachetest tests an implementation against this
// contract; its example is a good start.
//
// Keys. The key is robots.Origin, as text Origin.String: scheme, host and port in canonical
// form, at most about 300 bytes of ASCII. A store can hash or prefix keys, but different
// origins must have different keys.
//
// Values. Get returns an entry as it was put: every field of the record, times to the
// millisecond in any zone, with no distinction between empty and nil bodies and headers.
// Stores of bytes use Record.Encode and fetch.Decode. Most of a record are its body and that
// of its last good response, up to 513,024 bytes each.
//
// Absence. For an origin that was never put, or was deleted or dropped, Get returns ErrAbsent.
// If an entry cannot be read, because it is damaged or was written by a later release, Get
// returns another error, and the entry stays until a Put or Delete of its origin. Other
// origins are not affected.
//
// Atomicity. A Put replaces an entry completely or not at all. No reader sees part of an
// entry, or the record of one Put with the fence of another. Entries of different origins are
// independent.
//
// Fences. A Put with a lower Fence than that of the stored entry returns ErrFenced and changes
// nothing; comparison and write are one step. An equal fence overwrites. A deleted or dropped
// entry takes its fence with it.
//
// Durability. In a store that outlives the process, an entry is durable when Put returns nil:
// killing the process at any time loses no acknowledged entry, and the store still opens.
//
// Expiry and limits. After the duration given to Put the store can drop an entry or keep it,
// which does no harm, as it contains its dates. Before that it can drop entries only to stay
// within its own limit, the least recently used or written first. Put returns no error if
// there is no room. A store must not drop many entries at once because its clock was set; if a
// server expires keys by itself, the documentation says what happens then.
//
// Concurrency. All methods can be called from any number of goroutines.
//
// Blocking. Methods can wait for a disk or a network, and return soon after ctx is done, with
// its error. A Put that was given up can still take effect later, completely. With a ctx that
// is already done, a method does nothing. A store does not retry after ctx is done.
//
// Versions. A store reads what all earlier releases have written. For an entry or store of a
// later release the error says so, and nothing is changed.
//
// A Store is not a queue, a history or a lock (see Locker), and nothing lists its entries.
type Store interface {
	// Get returns the entry of an origin.
	Get(ctx context.Context, origin robots.Origin) (Entry, error)
	// Put stores e for e.Record.Origin for at least keep, if there is room.
	Put(ctx context.Context, e Entry, keep time.Duration) error
	// Delete deletes the entry of an origin. It is no error if there is none.
	Delete(ctx context.Context, origin robots.Origin) error
	// Close closes the store. Calls in progress end first, or return ErrClosed. A second Close
	// does nothing.
	Close() error
}

// A Locker is a Store that several processes share, with locks that decide which of them
// fetches. A Cache fetches an origin under its lock. With a plain Store it assumes that no
// other process uses the store.
//
// A lock expires, and a process that was suspended can write after that. Fences prevent this:
// the token of a lock is higher than all earlier tokens of the origin and than the fence of
// its entry, and its holder uses it as the fence of Put. So a late holder gets ErrFenced and
// loses only its own work.
//
// Tokens need not be consecutive, and those of different origins are unrelated. A Locker that
// lost everything, because an empty server replaced its own, can start again; one that keeps
// entries keeps its tokens above their fences.
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
