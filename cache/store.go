package cache

import (
	"context"
	"errors"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// Errors of a Store that callers branch on. They may be wrapped.
var (
	// ErrAbsent is returned by Get if nothing is kept for an origin.
	ErrAbsent = errors.New("nothing is kept for this origin")
	// ErrFenced is returned by Put if an entry with a higher fence is kept.
	ErrFenced = errors.New("the holder of a later lock has written this origin")
	// ErrLocked is returned by Lock if the lock is held.
	ErrLocked = errors.New("another process fetches this origin")
	// ErrClosed is returned by everything after Close.
	ErrClosed = errors.New("closed")
)

// An Entry is what a Store keeps for one origin.
type Entry struct {
	// Record is never nil in an entry that is kept. Nobody changes it after Put
	// or Get: stores, caches and callers share it.
	Record *fetch.Record
	// Fence is the token of the lock under which Record was fetched, 0 without
	// locks. The tokens of an origin only grow.
	Fence uint64
}

// A Store keeps one Entry per origin. Package cachetest tests an implementation
// against this contract. To write a store, begin with its example.
//
// Keys. The key is robots.Origin, in text Origin.String: scheme, host and port in
// canonical form, at most some 300 bytes of ASCII. Two schemes of a host are two
// keys. A store may hash or prefix keys, but different origins have different keys.
//
// Values. An entry comes back as it was put: every field of the record, times
// with a millisecond's precision in any zone, empty and nil bodies and headers
// alike. Record.Encode and fetch.Decode do that for stores of bytes. Most of a record are its
// bodies, its own and that of its last good response, of up to 513,024 bytes each.
//
// Absence. Get of an origin that was never put, was deleted or was dropped
// returns ErrAbsent. If an entry is there but cannot be read, because it is damaged
// or of a later release, Get returns another error, and the entry stays as it is
// until a Put or Delete of its origin. Other origins are not affected.
//
// Atomicity. A Put replaces the entry of its origin as a whole or not at all; no
// reader sees half of one, a record without its body, or the record of one Put
// with the fence of another. Nothing ties entries of different origins together.
//
// Fences. A Put whose Fence is lower than that of the entry kept returns
// ErrFenced and changes nothing, compared and written in one step. An equal fence
// overwrites. A deleted or dropped entry takes its fence with it.
//
// Durability. A store that outlives the process has made an entry durable when
// Put returns nil: killing the process at any moment loses no entry that was
// acknowledged and leaves a store that opens.
//
// Expiry and bounds. Put says how long the entry is worth keeping. After that the
// store may drop it or keep it: an old entry does no harm, as it has its dates.
// Earlier than that the store may drop entries only to stay within a bound of its
// own, first those that were not written or read for the longest time. It is no error
// of Put if there is no room for an entry. A store must not drop many entries at once
// because its clock moved. If a server expires the keys by itself, the store's
// documentation says what happens when the server's clock moves.
//
// Concurrency. All methods may be called from any number of goroutines.
//
// Blocking. Methods may wait for a disk or a network, and return soon after ctx
// is done, with its error. A Put that was given up may still be done later, as a
// whole. With a ctx that is already done, a method does nothing. A store makes no
// retries after ctx is done.
//
// Versions. A store reads what every earlier release of it has written. If an entry
// or a whole store is of a later release, the error says so, and nothing is changed.
//
// A Store is not a queue, not a history (it has the last entry of an origin only) and
// not a lock (see Locker). Nothing lists its entries. Its clock need not agree with
// that of others.
type Store interface {
	// Get returns the entry of an origin.
	Get(ctx context.Context, origin robots.Origin) (Entry, error)
	// Put keeps e for e.Record.Origin for at least keep, room permitting.
	Put(ctx context.Context, e Entry, keep time.Duration) error
	// Delete forgets an origin. It is no error if nothing is kept.
	Delete(ctx context.Context, origin robots.Origin) error
	// Close closes the store. Calls under way end first, or end with ErrClosed. A
	// second Close does nothing.
	Close() error
}

// A Locker is a Store that several processes share and that says which of them
// fetches. A Cache with a Locker fetches an origin under its lock. A Cache with a plain
// Store assumes that no other process uses the store.
//
// A lock ends by time, and a process that was suspended may write after that. Fences
// prevent this. The token of a lock is higher than every token granted before for the
// origin, and higher than the fence of the entry kept. Its holder puts with the token as
// the fence, so a late holder gets ErrFenced, and only its own work is lost.
//
// Tokens need not be consecutive, and those of different origins are unrelated. If a
// Locker loses everything (its server was replaced by an empty one) it may start
// again, as the entries and their fences are gone too. If it keeps entries, its
// tokens stay above their fences.
type Locker interface {
	Store
	// Lock takes the right to fetch an origin, for ttl at most, and returns its token. It
	// does not wait: if another has the lock it returns ErrLocked.
	Lock(ctx context.Context, origin robots.Origin, ttl time.Duration) (token uint64, err error)
	// Unlock ends the lock with this token early. If that lock has ended, or another is
	// in force, Unlock does nothing and returns nil.
	Unlock(ctx context.Context, origin robots.Origin, token uint64) error
	// Down reports whether the part of the store that has an origin is out of reach. Answers
	// of a Cache are marked as fetch.Record.Degraded meanwhile.
	Down(origin robots.Origin) bool
}
