package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
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
	// LockWait is how long Open waits for another process to close the file: one second.
	LockWait time.Duration
}

const (
	format  = "github.com/robotskit/robots/cache"
	version = 2 // of the layout in the package comment

	leastSize = 1 << 20
	// batchMost is the number of writes per transaction, and of writes in the queue. Callers
	// of queued writes might have given up; others wait for room in the queue.
	batchMost = 256
	queueMost = 16
)

var (
	metaBucket    = []byte("meta")
	recordsBucket = []byte("records")
	orderBucket   = []byte("order")
	keptBucket    = []byte("kept")

	formatKey  = []byte("format")
	versionKey = []byte("version")
)

// Store is a cache.Store in a file.
type Store struct {
	path string
	db   *bbolt.DB
	size int64        // limit of the file
	page int64        // bytes of a page
	live atomic.Int64 // size of the entries

	isEmpty bool // it was empty when opened

	mu     sync.RWMutex // held for reading during a call
	closed bool
	writes chan write
	ended  chan struct{} // closed at the end of the writer
}

// Open opens the store in a file, which it creates if it does not exist or is empty. The error
// is one sentence that names the file.
func Open(path string, o Options) (*Store, error) {
	if o.Size == 0 {
		o.Size = min(4<<30, math.MaxInt/2+1)
	}
	if o.LockWait == 0 {
		o.LockWait = time.Second
	}
	if o.Size < leastSize || o.Size > math.MaxInt {
		return nil, fmt.Errorf("cache file %s: a size of %d bytes is not possible: it must be from %d to %d", path, o.Size, leastSize, math.MaxInt)
	}
	if o.LockWait < 0 {
		return nil, fmt.Errorf("cache file %s: a lock wait of %v is not possible: it must not be negative", path, o.LockWait)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, fmt.Errorf("cache file %s cannot be created: %w", path, bare(err))
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cache file %s cannot be opened: %w", path, bare(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cache file %s is not a regular file; use another one", path)
	}
	s := &Store{path: path, size: o.Size, isEmpty: info.Size() == 0, writes: make(chan write, queueMost), ended: make(chan struct{})}
	// The file is opened twice: first for reading, under a lock that excludes writers while it
	// is checked, then for writing.
	if info.Size() > 0 {
		if err := s.verify(info.Size(), o.LockWait); err != nil {
			return nil, refuse(path, o, err)
		}
	}
	err = guarded(func() (err error) {
		s.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: o.LockWait, FreelistType: bbolt.FreelistMapType,
			MaxSize: int(max(o.Size, info.Size())), // a file with a larger limit does not grow
		})
		if err != nil {
			return err
		}
		s.page = int64(s.db.Info().PageSize)
		if s.isEmpty {
			return s.db.Update(layOut)
		}
		return nil
	})
	if err != nil {
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		return nil, refuse(path, o, err)
	}
	s.db.AllocSize = int(min(int64(s.db.AllocSize), o.Size/64))
	go s.writer()
	return s, nil
}

// bare removes the path from an error, as the message has it already.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// create creates the file under another name and links it to path, so that a killed process
// leaves no incomplete file. If two processes create it at once, the second opens the first's.
func create(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := tmp.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(tmp.Name(), 0o600, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(layOut), db.Close()); err != nil {
		return err
	}
	switch err := os.Link(tmp.Name(), path); {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	default: // the file system has no links
		return os.Rename(tmp.Name(), path)
	}
}

// layOut creates the buckets of an empty file.
func layOut(tx *bbolt.Tx) error {
	for _, name := range [][]byte{metaBucket, recordsBucket, orderBucket, keptBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(metaBucket)
	return errors.Join(meta.Put(formatKey, []byte(format)), meta.Put(versionKey, []byte{version}))
}

// verify checks that a file is a complete store of this package and counts its entries. It
// writes nothing.
func (s *Store) verify(size int64, wait time.Duration) error {
	var db *bbolt.DB
	err := guarded(func() (err error) {
		db, err = bbolt.Open(s.path, 0, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: wait})
		return err
	})
	switch {
	case errors.Is(err, bberrors.ErrInvalid), errors.Is(err, bberrors.ErrVersionMismatch), errors.Is(err, bberrors.ErrChecksum):
		return errForeign
	case errors.Is(err, bberrors.ErrTimeout), errors.As(err, new(*os.PathError)):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	err = guarded(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			if tx.Size() > size {
				return fmt.Errorf("%w: it is truncated, %d bytes of at least %d", errDamaged, size, tx.Size())
			}
			return s.ours(tx)
		})
	})
	return errors.Join(err, guarded(db.Close))
}

// ours checks that the buckets are those of a store, or missing in an empty file, and reads
// all entries. (Tx.Check of bbolt finds more, but a damaged page can crash it.)
func (s *Store) ours(tx *bbolt.Tx) error {
	if first, _ := tx.Cursor().First(); first == nil {
		s.isEmpty = true
		return nil
	}
	meta := tx.Bucket(metaBucket)
	if meta == nil || string(meta.Get(formatKey)) != format {
		return errForeign
	}
	v := meta.Get(versionKey)
	if len(v) != 1 || v[0] == 0 {
		return fmt.Errorf("%w: it has no version", errDamaged)
	}
	if v[0] != version {
		return fmt.Errorf("%w: it has version %d, this release reads version %d", errOther, v[0], version)
	}
	room := tx.Size()
	for _, name := range [][]byte{recordsBucket, orderBucket, keptBucket} {
		bucket := tx.Bucket(name)
		if bucket == nil {
			return fmt.Errorf("%w: it has no bucket %q", errDamaged, name)
		}
		var last []byte
		err := bucket.ForEach(func(k, v []byte) error {
			if room -= int64(len(k) + len(v)); room < 0 || last != nil && bytes.Compare(k, last) <= 0 {
				return fmt.Errorf("%w: its keys are out of order, or their sizes wrong", errDamaged)
			}
			_ = crc32.ChecksumIEEE(v) // reads all of it
			if last = k; string(name) == string(recordsBucket) {
				s.live.Add(entryBytes(k, v))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refuse returns the message for a file that is not opened.
func refuse(path string, o Options, err error) error {
	switch {
	case errors.Is(err, bberrors.ErrTimeout):
		return fmt.Errorf("cache file %s is in use by another process (waited %v): stop that process or use another file", path, o.LockWait)
	case errors.Is(err, errDamaged), errors.Is(err, errForeign), errors.Is(err, errOther):
		return fmt.Errorf("cache file %s is not changed: %w; use another file, or move this one away", path, err)
	}
	return fmt.Errorf("cache file %s cannot be opened: %w", path, bare(err))
}

// Why a file is refused.
var (
	errDamaged = errors.New("it is damaged")
	errForeign = errors.New("it is not a cache of robots.txt files")
	errOther   = errors.New("another release has written it")
)

// guarded turns a panic of bbolt, or a fault of the mapped memory, into an error. bbolt rolls
// the transaction back.
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
	if err == nil || errors.Is(err, cache.ErrFenced) || errors.Is(err, cache.ErrAbsent) {
		return err
	}
	return fmt.Errorf("cache file %s: %w", s.path, err)
}

// begin starts a call, end ends it.
func (s *Store) begin(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return nil, s.fail(cache.ErrClosed)
	}
	return s.mu.RUnlock, nil
}

// read runs a read transaction.
func (s *Store) read(ctx context.Context, do func(tx *bbolt.Tx) error) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.fail(guarded(func() error { return s.db.View(do) }))
}

// A write is a change in the queue. It might be tried more than once.
type write struct {
	change func(tx *bbolt.Tx) error
	size   int64 // size of the value
	done   chan error
}

// write queues a change and waits for it.
func (s *Store) write(ctx context.Context, size int, change func(tx *bbolt.Tx) error) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	w := write{change, int64(size), make(chan error, 1)}
	select {
	case s.writes <- w:
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

// writer writes all queued changes in one transaction while the next ones are queued, so that
// batches grow with the load. (DB.Batch uses its own goroutine, in which a damaged file would
// crash the process.)
func (s *Store) writer() {
	defer close(s.ended)
	for w := range s.writes {
		batch, size := []write{w}, w.size
		for more := true; more && len(batch) < batchMost && size < s.size/64; {
			select {
			case w, ok := <-s.writes:
				if more = ok; ok {
					batch = append(batch, w)
					size += w.size
				}
			default:
				more = false
			}
		}
		if s.commit(batch) == nil {
			for _, w := range batch {
				w.done <- nil
			}
			continue
		}
		for i, w := range batch { // an impossible write must not fail the others
			w.done <- s.commitOne(batch[i : i+1])
		}
	}
}

func (s *Store) commit(batch []write) error {
	return s.update(func(tx *bbolt.Tx) error {
		for _, w := range batch {
			if err := w.change(tx); err != nil {
				return err
			}
		}
		if s.full(tx) {
			return s.drop(tx, 16)
		}
		return nil
	})
}

// commitOne makes a change that might lack room: a large record needs many consecutive pages.
// It drops more and more other entries until there is room; dropping few needs few free pages.
func (s *Store) commitOne(one []write) error {
	err := s.commit(one)
	for part := int64(1024); errors.Is(err, bberrors.ErrMaxSizeReached) && part > 1; part /= 4 {
		if s.update(func(tx *bbolt.Tx) error { return s.drop(tx, part) }) == nil {
			err = s.commit(one)
		}
	}
	if errors.Is(err, bberrors.ErrMaxSizeReached) && one[0].size < s.size/64 {
		if err = s.rebuild(); err == nil {
			err = s.commit(one)
		}
	}
	return err
}

// rebuild drops all entries but the newest, an eighth of the file. Every change copies pages, with
// a large entry many consecutive ones. If the free pages are too scattered for any change, only
// dropping a whole bucket makes room.
func (s *Store) rebuild() error {
	type entry struct{ key, value []byte }
	var newest []entry
	room := min(s.size/8, 32<<20) // bytes in memory
	err := guarded(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			records, order := tx.Bucket(recordsBucket), tx.Bucket(orderBucket).Cursor()
			for at, key := order.Last(); at != nil && room > 0; at, key = order.Prev() {
				if value := records.Get(key); len(value) >= headerSize && bytes.Equal(value[:8], at) {
					newest = append(newest, entry{bytes.Clone(key), bytes.Clone(value)})
					room -= entryBytes(key, value)
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	err = s.update(func(tx *bbolt.Tx) error {
		sequence := tx.Bucket(orderBucket).Sequence()
		tx.OnCommit(func() { s.live.Store(0) })
		for _, name := range [][]byte{recordsBucket, orderBucket} {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(orderBucket).SetSequence(sequence)
	})
	if err != nil {
		return err
	}
	return s.update(func(tx *bbolt.Tx) error {
		for _, e := range newest {
			tx.OnCommit(func() { s.live.Add(entryBytes(e.key, e.value)) })
			if err := errors.Join(tx.Bucket(recordsBucket).Put(e.key, e.value), tx.Bucket(orderBucket).Put(e.value[:8], e.key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// update runs a transaction.
func (s *Store) update(do func(tx *bbolt.Tx) error) error {
	return guarded(func() error { return s.db.Update(do) })
}

// full reports whether entries take more than half of the file, or used pages more than three
// quarters: a transaction writes new pages before it frees old ones.
func (s *Store) full(tx *bbolt.Tx) bool {
	stats := s.db.Stats()
	used := tx.Size() - int64(stats.FreePageN+stats.PendingPageN)*s.page
	return s.live.Load() > s.size/2 || used > s.size/4*3
}

// drop drops a part of the entries, oldest writes first.
func (s *Store) drop(tx *bbolt.Tx, part int64) error {
	least := s.live.Load() / part
	return s.dropOldest(tx, func(dropped int64, _ uint64) bool { return dropped < least })
}

// dropOldest drops entries, oldest writes first, while more returns true for the bytes dropped
// so far and the expiry of the next entry.
func (s *Store) dropOldest(tx *bbolt.Tx, more func(dropped int64, until uint64) bool) error {
	records, order := tx.Bucket(recordsBucket), tx.Bucket(orderBucket)
	var dropped int64
	var last []byte
	for c := order.Cursor(); ; {
		at, key := c.First()
		switch {
		case at == nil:
			return nil
		case bytes.Equal(at, last): // it cannot be deleted
			return errDamaged
		}
		last = bytes.Clone(at)
		value := records.Get(key)
		if len(value) >= headerSize && bytes.Equal(value[:8], at) { // else it was rewritten later
			if !more(dropped, binary.BigEndian.Uint64(value[8:])) {
				return nil
			}
			dropped += entryBytes(key, value)
			if err := s.remove(tx, bytes.Clone(key), value); err != nil {
				return err
			}
		} else if err := order.Delete(last); err != nil {
			return err
		}
	}
}

// headerSize is the size of sequence number, expiry and fence before the packed record.
const headerSize = 8 + 8 + 8

// entryBytes is the size of an entry, with its key in order.
func entryBytes(key, value []byte) int64 { return int64(2*len(key) + len(value) + 8) }

// remove removes an entry with this value, nil for none.
func (s *Store) remove(tx *bbolt.Tx, key, value []byte) error {
	if value == nil {
		return nil
	}
	size := entryBytes(key, value)
	tx.OnCommit(func() { s.live.Add(-size) })
	order := tx.Bucket(orderBucket)
	if len(value) >= 8 && bytes.Equal(order.Get(value[:8]), key) {
		if err := order.Delete(bytes.Clone(value[:8])); err != nil {
			return err
		}
	}
	return tx.Bucket(recordsBucket).Delete(key)
}

// Get returns the entry of an origin. It does not protect the entry from being dropped, but a
// record in use is rewritten once a day.
func (s *Store) Get(ctx context.Context, origin robots.Origin) (e cache.Entry, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) (err error) {
		value := tx.Bucket(recordsBucket).Get([]byte(origin.String()))
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

func unpack(origin robots.Origin, value []byte) (cache.Entry, error) {
	if len(value) < headerSize {
		return cache.Entry{}, errDamaged
	}
	return packed.Unpack(origin, binary.BigEndian.Uint64(value[16:]), value[headerSize:])
}

// Put stores an entry, unless the file has no room for it.
func (s *Store) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if e.Record == nil || e.Record.Origin.IsZero() {
		return s.fail(errors.New("the entry has no record, or the record no origin"))
	}
	origin := e.Record.Origin
	key, data, until := []byte(origin.String()), packed.Pack(e), uint64(max(time.Now().Add(keep).UnixMilli(), 0))
	err := s.write(ctx, len(data), func(tx *bbolt.Tx) error {
		records, order := tx.Bucket(recordsBucket), tx.Bucket(orderBucket)
		order.FillPercent = 0.9 // keys only grow
		old := records.Get(key)
		if len(old) >= headerSize && binary.BigEndian.Uint64(old[16:]) > e.Fence {
			if _, err := unpack(origin, old); err == nil { // a damaged entry can be replaced
				return cache.ErrFenced
			}
		}
		if err := s.remove(tx, key, old); err != nil {
			return err
		}
		sequence, err := order.NextSequence()
		if err != nil {
			return err
		}
		var value []byte
		for _, n := range []uint64{sequence, until, e.Fence} {
			value = binary.BigEndian.AppendUint64(value, n)
		}
		value = append(value, data...)
		tx.OnCommit(func() { s.live.Add(entryBytes(key, value)) })
		if err := errors.Join(records.Put(key, value), order.Put(value[:8], key)); err != nil {
			return err
		}
		// Each write drops a few expired entries, so that a clock that is set forward does not
		// drop all at once.
		now, few := uint64(max(time.Now().UnixMilli(), 0)), 2
		return s.dropOldest(tx, func(_ int64, until uint64) bool {
			few--
			return few >= 0 && until < now
		})
	})
	if errors.Is(err, bberrors.ErrMaxSizeReached) { // not enough consecutive free pages
		return nil
	}
	return err
}

// Delete deletes the entry of an origin.
func (s *Store) Delete(ctx context.Context, origin robots.Origin) error {
	key := []byte(origin.String())
	return s.write(ctx, 0, func(tx *bbolt.Tx) error { return s.remove(tx, key, tx.Bucket(recordsBucket).Get(key)) })
}

// Keep stores a value under a name beside the entries, for the few values of a program that
// belong to them. They are not dropped and do not count against the limit.
func (s *Store) Keep(ctx context.Context, name string, value []byte) error {
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(value, castagnoli))
	return s.write(ctx, len(value), func(tx *bbolt.Tx) error { return tx.Bucket(keptBucket).Put([]byte(name), append(sum, value...)) })
}

// Kept returns the value that Keep stored under a name, nil if there is none.
func (s *Store) Kept(ctx context.Context, name string) (value []byte, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		v := tx.Bucket(keptBucket).Get([]byte(name))
		switch {
		case v == nil:
		case len(v) < 4 || crc32.Checksum(v[4:], castagnoli) != binary.BigEndian.Uint32(v):
			return fmt.Errorf("what is kept as %s is damaged: its checksum is wrong", name)
		default:
			value = append([]byte{}, v[4:]...)
		}
		return nil
	})
	return value, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Close waits for calls in progress and closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.writes)
	<-s.ended
	return s.fail(guarded(s.db.Close))
}
