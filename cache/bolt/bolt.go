package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bberrors "go.etcd.io/bbolt/errors"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/internal/packed"
)

// Options configure a Store. The zero value is usual.
type Options struct {
	// Size limits the file, in bytes: 4 GiB, on 32-bit systems 1 GiB, at least 1 MiB. Entries
	// take up to half of it.
	Size int64
}

const (
	format  = "github.com/robotskit/robots/cache"
	version = 3 // of the layout in the package comment

	minSize  = 1 << 20
	lockWait = time.Second // for another process to close the file
	maxBatch = 256         // writes per transaction

	// A file has at most generations of entries, each at most a share of half of the file.
	generations = 4
)

var (
	metaBucket    = []byte("meta")
	entriesBucket = []byte("entries")
	keptBucket    = []byte("kept")

	formatKey  = []byte("format")
	versionKey = []byte("version")
)

// Store is a cache.Store in a file.
type Store struct {
	path   string
	db     *bbolt.DB
	size   int64 // limit of the file
	writes chan write

	once    sync.Once     // of Close
	closing chan struct{} // closed when Close begins
	ended   chan struct{} // closed at the end of the writer
}

// Open opens the store in a file, which it creates if it does not exist or is empty. The error
// is one sentence that names the file.
func Open(path string, o Options) (*Store, error) {
	if o.Size == 0 {
		o.Size = min(4<<30, math.MaxInt/2+1)
	}
	if o.Size < minSize || o.Size > math.MaxInt {
		return nil, fmt.Errorf(
			"cache file %s: a size of %d bytes is not possible: it must be from %d to %d", path, o.Size, minSize, math.MaxInt,
		)
	}
	s := &Store{path: path, size: o.Size, writes: make(chan write), closing: make(chan struct{}), ended: make(chan struct{})}
	if err := guarded(s.open); err != nil {
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		return nil, refuse(path, err)
	}
	go s.writer()
	return s, nil
}

func (s *Store) open() error {
	info, err := os.Stat(s.path)
	largest := s.size
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errIrregular
	case info.Size() > 0:
		// A file is opened for writing after it was checked, as bbolt might change it.
		if err := verify(s.path, info.Size()); err != nil {
			return err
		}
		largest = max(largest, info.Size()) // a file with a larger limit does not grow
	}
	s.db, err = bbolt.Open(s.path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, MaxSize: int(largest)})
	if err != nil {
		return err
	}
	s.db.AllocSize = int(min(int64(s.db.AllocSize), s.size/64))
	isEmpty := false
	err = s.db.View(func(tx *bbolt.Tx) error {
		isEmpty = tx.Bucket(metaBucket) == nil
		return nil
	})
	if err == nil && isEmpty {
		err = s.db.Update(layOut)
	}
	return err
}

// layOut creates the buckets of an empty file.
func layOut(tx *bbolt.Tx) error {
	meta, err := tx.CreateBucket(metaBucket)
	if err != nil {
		return err
	}
	for _, name := range [][]byte{entriesBucket, keptBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return errors.Join(meta.Put(formatKey, []byte(format)), meta.Put(versionKey, []byte{version}), rotate(tx))
}

// verify checks that a file of some size is a complete store of this package. It writes
// nothing.
func verify(path string, size int64) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
	switch {
	case err == nil:
		err = guarded(func() error {
			return db.View(func(tx *bbolt.Tx) error {
				if tx.Size() > size {
					return fmt.Errorf("%w: it is truncated, %d bytes of at least %d", errDamaged, size, tx.Size())
				}
				if err := check(file, tx, db.Info().PageSize); err != nil {
					return err
				}
				return ours(tx)
			})
		})
		err = errors.Join(err, db.Close())
	case errors.Is(err, bberrors.ErrInvalid), errors.Is(err, bberrors.ErrVersionMismatch), errors.Is(err, bberrors.ErrChecksum):
		err = errForeign
	case errors.Is(err, bberrors.ErrTimeout), errors.As(err, new(*os.PathError)):
	default:
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return errors.Join(err, file.Close())
}

// ours checks that the buckets are those of a store, or missing in an empty file.
func ours(tx *bbolt.Tx) error {
	if first, _ := tx.Cursor().First(); first == nil {
		return nil
	}
	meta := tx.Bucket(metaBucket)
	if meta == nil || string(meta.Get(formatKey)) != format {
		return errForeign
	}
	v := meta.Get(versionKey)
	if len(v) != 1 {
		return fmt.Errorf("%w: it has no version", errDamaged)
	}
	if v[0] != version {
		return fmt.Errorf("%w: it has version %d, this release reads version %d", errOther, v[0], version)
	}
	if tx.Bucket(entriesBucket) == nil || tx.Bucket(keptBucket) == nil {
		return fmt.Errorf("%w: it lacks a bucket", errDamaged)
	}
	return nil
}

// refuse returns the message for a file that is not opened.
func refuse(path string, err error) error {
	switch {
	case errors.Is(err, bberrors.ErrTimeout):
		return fmt.Errorf("cache file %s is in use by another process (waited %v): stop that process or use another file", path, lockWait)
	case errors.Is(err, errIrregular):
		return fmt.Errorf("cache file %s is not a regular file; use another one", path)
	case errors.Is(err, errDamaged), errors.Is(err, errForeign), errors.Is(err, errOther):
		return fmt.Errorf("cache file %s is not changed: %w; use another file, or move this one away", path, err)
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // the message has the path
	}
	return fmt.Errorf("cache file %s cannot be opened: %w", path, err)
}

// Why a file is refused.
var (
	errIrregular = errors.New("it is not a regular file")
	errDamaged   = errors.New("it is damaged")
	errForeign   = errors.New("it is not a cache of robots.txt files")
	errOther     = errors.New("another release has written it")
)

// guarded turns a panic, which a damaged page causes in bbolt and a missing bucket here, or a
// fault of the mapped memory, into an error. bbolt rolls the transaction back.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return do()
}

// fail adds the file name to an error of an open store.
func (s *Store) fail(err error) error {
	switch {
	case err == nil, errors.Is(err, cache.ErrFenced), errors.Is(err, cache.ErrAbsent):
		return err
	case errors.Is(err, bberrors.ErrDatabaseNotOpen):
		err = cache.ErrClosed
	}
	return fmt.Errorf("cache file %s: %w", s.path, err)
}

// read runs a read transaction.
func (s *Store) read(ctx context.Context, do func(tx *bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.fail(guarded(func() error { return s.db.View(do) }))
}

// A write is a change for the writer, which might try it more than once.
type write struct {
	change func(tx *bbolt.Tx) error
	done   chan error
}

// write passes a change to the writer and waits for it.
func (s *Store) write(ctx context.Context, change func(tx *bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := write{change, make(chan error, 1)}
	select {
	case s.writes <- w:
	case <-s.closing:
		return s.fail(cache.ErrClosed)
	case <-ctx.Done():
		return s.fail(fmt.Errorf("too many writes are waiting for the disk: %w", ctx.Err()))
	}
	select {
	case err := <-w.done:
		return s.fail(err)
	case <-ctx.Done():
		return s.fail(fmt.Errorf("the write is in progress and might still take effect: %w", ctx.Err()))
	}
}

// writer makes all waiting changes in one transaction while the next ones arrive, so that
// batches grow with the load. (DB.Batch uses its own goroutine, in which a damaged file would
// crash the process.)
func (s *Store) writer() {
	defer close(s.ended)
	for {
		var batch []write
		select {
		case w := <-s.writes:
			batch = append(batch, w)
		case <-s.closing:
			return
		}
		for more := true; more && len(batch) < maxBatch; {
			select {
			case w := <-s.writes:
				batch = append(batch, w)
			default:
				more = false
			}
		}
		err := s.commit(batch...)
		for _, w := range batch {
			if err != nil { // an impossible change must not fail the others
				w.done <- s.commitOne(w)
			} else {
				w.done <- nil
			}
		}
	}
}

func (s *Store) commit(batch ...write) error {
	return s.update(func(tx *bbolt.Tx) error {
		for _, w := range batch {
			if err := w.change(tx); err != nil {
				return err
			}
		}
		if s.full(tx) {
			return rotate(tx)
		}
		return nil
	})
}

// commitOne makes a change. While it lacks room, as a large record needs many consecutive
// pages, it drops older entries.
func (s *Store) commitOne(w write) error {
	err := s.commit(w)
	for n := 0; n < generations && errors.Is(err, bberrors.ErrMaxSizeReached); n++ {
		if err = s.update(rotate); err == nil {
			err = s.commit(w)
		}
	}
	return err
}

// update runs a transaction.
func (s *Store) update(do func(tx *bbolt.Tx) error) error {
	return guarded(func() error { return s.db.Update(do) })
}

// share is the limit of a generation.
func (s *Store) share() uint64 { return uint64(s.size) / 2 / generations }

// full reports whether the newest generation has its share, or used pages take more than
// three quarters of the file: a transaction writes new pages before it frees old ones.
func (s *Store) full(tx *bbolt.Tx) bool {
	stats := s.db.Stats()
	used := tx.Size() - int64(stats.FreePageN+stats.PendingPageN)*int64(s.db.Info().PageSize)
	return newest(tx).Sequence() > s.share() || used > s.size/4*3
}

// rotate begins a generation and drops the oldest one. To drop a whole bucket needs few free
// pages, even if it is large.
func rotate(tx *bbolt.Tx) error {
	entries := tx.Bucket(entriesBucket)
	n, err := entries.NextSequence()
	if err != nil {
		return err
	}
	if _, err := entries.CreateBucket(encoded(n)); err != nil {
		return err
	}
	if err := entries.DeleteBucket(encoded(n - generations)); !errors.Is(err, bberrors.ErrBucketNotFound) {
		return err
	}
	return nil
}

func newest(tx *bbolt.Tx) *bbolt.Bucket {
	entries := tx.Bucket(entriesBucket)
	return entries.Bucket(encoded(entries.Sequence()))
}

func encoded(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// find returns the value of a key and the generation that has it, nil if there is none.
func find(tx *bbolt.Tx, key []byte) (generation *bbolt.Bucket, value []byte) {
	entries := tx.Bucket(entriesBucket)
	names := entries.Cursor()
	for name, _ := names.Last(); name != nil; name, _ = names.Prev() {
		generation = entries.Bucket(name)
		value = generation.Get(key)
		if value != nil {
			return generation, value
		}
	}
	return nil, nil
}

// resize adds bytes to the size of a generation, which is its sequence number.
func resize(generation *bbolt.Bucket, bytes int) error {
	return generation.SetSequence(generation.Sequence() + uint64(bytes))
}

// remove removes an entry if there is one.
func remove(tx *bbolt.Tx, key []byte) error {
	generation, value := find(tx, key)
	if generation == nil {
		return nil
	}
	return errors.Join(resize(generation, -len(key)-len(value)), generation.Delete(key))
}

// headerSize is the size of expiry and fence before the packed record.
const headerSize = 8 + 8

// sweep removes expired entries among the next few after a key in each generation, so that a
// clock that is set forward does not remove many at once.
func sweep(tx *bbolt.Tx, key []byte) error {
	var keys [][]byte
	now := time.Now().UnixMilli()
	entries := tx.Bucket(entriesBucket)
	err := entries.ForEachBucket(func(name []byte) error {
		c := entries.Bucket(name).Cursor()
		k, v := c.Seek(key)
		for n := 0; n < 4 && k != nil; n++ {
			if len(v) >= headerSize && int64(binary.BigEndian.Uint64(v)) < now {
				keys = append(keys, bytes.Clone(k))
			}
			k, v = c.Next()
		}
		return nil
	})
	for _, k := range keys {
		err = errors.Join(err, remove(tx, k))
	}
	return err
}

func unpack(origin robots.Origin, value []byte) (cache.Entry, error) {
	if len(value) < headerSize {
		return cache.Entry{}, errDamaged
	}
	fence := binary.BigEndian.Uint64(value[8:])
	record, err := packed.Unpack(origin, fence, value[headerSize:])
	return cache.Entry{Record: record, Fence: fence}, err
}

// Get returns the entry of an origin. It does not protect the entry from being dropped, but a
// record in use is rewritten once a day.
func (s *Store) Get(ctx context.Context, origin robots.Origin) (e cache.Entry, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) (err error) {
		_, value := find(tx, []byte(origin.String()))
		if value == nil {
			return cache.ErrAbsent
		}
		if e, err = unpack(origin, value); err != nil {
			return fmt.Errorf("entry of %s: %w", origin, err)
		}
		return nil
	})
	return e, err
}

// Put stores an entry, unless the file has no room for it.
func (s *Store) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if e.Record == nil || e.Record.Origin.IsZero() {
		return s.fail(errors.New("the entry has no record, or the record no origin"))
	}
	origin := e.Record.Origin
	key := []byte(origin.String())
	until := uint64(max(time.Now().Add(keep).UnixMilli(), 0))
	value := slices.Concat(encoded(until), encoded(e.Fence), packed.Pack(e.Fence, e.Record))
	if uint64(len(value)) > s.share() {
		return ctx.Err()
	}
	err := s.write(ctx, func(tx *bbolt.Tx) error {
		if _, old := find(tx, key); len(old) >= headerSize && binary.BigEndian.Uint64(old[8:]) > e.Fence {
			if _, err := unpack(origin, old); err == nil { // a damaged entry can be replaced
				return cache.ErrFenced
			}
		}
		if err := remove(tx, key); err != nil {
			return err
		}
		generation := newest(tx)
		return errors.Join(resize(generation, len(key)+len(value)), generation.Put(key, value), sweep(tx, key))
	})
	if errors.Is(err, bberrors.ErrMaxSizeReached) { // not enough consecutive free pages
		return nil
	}
	return err
}

// Delete deletes the entry of an origin.
func (s *Store) Delete(ctx context.Context, origin robots.Origin) error {
	return s.write(ctx, func(tx *bbolt.Tx) error { return remove(tx, []byte(origin.String())) })
}

// Keep stores a value under a name beside the entries, for the few values of a program that
// belong to them. They are not dropped and do not count against the limit.
func (s *Store) Keep(ctx context.Context, name string, value []byte) error {
	return s.write(ctx, func(tx *bbolt.Tx) error { return tx.Bucket(keptBucket).Put([]byte(name), value) })
}

// Kept returns the value that Keep stored under a name, nil if there is none.
func (s *Store) Kept(ctx context.Context, name string) (value []byte, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		value = bytes.Clone(tx.Bucket(keptBucket).Get([]byte(name)))
		return nil
	})
	return value, err
}

// Close waits for calls in progress and closes the file.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		close(s.closing)
		<-s.ended
		err = s.fail(guarded(s.db.Close))
	})
	return err
}
