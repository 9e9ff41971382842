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
	ErrFenced = errors.New("a later lease has written this origin")
	// ErrClosed is returned by everything after Close.
	ErrClosed = errors.New("closed")
)

// An Entry is what a Store keeps for one origin.
type Entry struct {
	// Record is never nil in an entry that is kept. Nobody changes it after Put
	// or Get: stores, caches and callers share it.
	Record *fetch.Record
	// Fence is the number of the lease under which Record was fetched, 0 without
	// leases. Numbers of one origin only grow.
	Fence uint64
	// Epoch says by which setting of whose clock the times in Record were
	// written. It means something to the Cache that wrote it; a store keeps it.
	Epoch uint64
}

// A Store keeps one Entry for each origin. Package cachetest holds an
// implementation against what follows; whoever writes one should begin there.
//
// Keys. The key is robots.Origin, in text Origin.String: scheme, host and port in
// canonical form, at most some 300 bytes of ASCII. Two schemes of a host are two
// keys. A store may hash or prefix keys, it never folds them together.
//
// Values. An entry comes back as it was put: every field of the record, times
// with a millisecond's precision in any zone, empty and nil bodies and headers
// alike. Record.Encode and fetch.Decode do that for stores of bytes.
//
// Bodies. The bodies of a record (its own and that of its last good answer, up to
// 513,024 bytes each) are many times larger than the rest, and thousands of
// sites have the same. A store keeps each once by its content, see Record.Bodies,
// and forgets it when no entry refers to it. It hands out a body only after
// checking that its content has the hash it was kept under.
//
// Absence. Get of an origin that was never put, was deleted or was dropped
// returns ErrAbsent. An entry that is there but cannot be read, being damaged or
// written by a later release, gives another error and stays as it is until a Put
// or Delete for its origin: the store must neither report it absent nor fail for
// other origins.
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
// Expiry and bounds. Put says how long the entry is worth keeping. The store may
// drop it at any time after that, or keep it: entries are facts with their dates,
// so an old one does no harm. It may drop entries earlier only to stay within a
// bound of its own, those not written or read for longest first. That an entry
// did not find room is no error of Put. A store must not drop many entries at
// once because its clock moved; one on a server that expires keys by itself says
// what becomes of them when that server's clock does.
//
// Concurrency. All methods may be called from any number of goroutines.
//
// Blocking. Methods may wait for a disk or a network, and return soon after ctx
// is done, with its error. A Put given up that way may or may not be done later,
// as a whole. A ctx that is already done does nothing. A store starts no retries
// of its own that outlast ctx.
//
// Versions. A store reads what every earlier release of it wrote. An entry or a
// whole store written by a later release is refused with an error that says so,
// and is not changed by that.
//
// It is not a queue, not a history (one entry per origin, the last), not a lock
// (see Leaser), and nothing enumerates it. It needs no clock that agrees with
// anybody else's.
type Store interface {
	// Get returns the entry of an origin.
	Get(ctx context.Context, origin robots.Origin) (Entry, error)
	// Put keeps e for e.Record.Origin for at least keep, room permitting.
	Put(ctx context.Context, e Entry, keep time.Duration) error
	// Delete forgets an origin. It is no error if nothing is kept.
	Delete(ctx context.Context, origin robots.Origin) error
	// Close releases what the store holds. Calls under way end first, or end
	// with ErrClosed. A second Close does nothing.
	Close() error
}

// A Leaser is a Store that several processes share and that can say which of them
// fetches. A Cache on a Leaser fetches an origin under a lease; one on a plain
// Store takes the store for its own.
//
// A lease is a promise about time and is therefore no lock: a holder that was
// suspended may write after its lease ended. That is what fences are for. Every
// lease granted has a token higher than any granted before for its origin and
// than the fence of the entry kept; its holder puts with this token, so a late
// one finds ErrFenced and nothing is lost but its work.
//
// Tokens need not be consecutive, and those of different origins are unrelated.
// A Leaser that loses its memory (a server replaced by an empty one) may start
// again: entries and their fences are gone with it. One that keeps entries keeps
// their fences and must stay above them.
type Leaser interface {
	Store
	// Lease asks for the right to fetch an origin for d. It does not wait.
	Lease(ctx context.Context, origin robots.Origin, d time.Duration) (Lease, error)
	// Release ends the lease with this token early. It is no error if it has
	// ended or another is in force, which it leaves alone.
	Release(ctx context.Context, origin robots.Origin, token uint64) error
	// Await waits until no lease is in force on an origin, and returns at once if
	// none is: at the latest when the lease runs out, so that a dead holder
	// delays nobody for longer. It may return early. The error is that of ctx or
	// of the store.
	Await(ctx context.Context, origin robots.Origin) error
}

// A Lease is the answer to a wish for one.
type Lease struct {
	Granted bool
	Token   uint64        // of a lease granted
	Left    time.Duration // how long the lease in force still runs, whoever holds it
}
