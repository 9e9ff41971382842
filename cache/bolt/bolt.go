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

// Options are the settings of a Store. The zero value is usual.
type Options struct {
	// Size bounds the file, in bytes: 4 GiB, on 32-bit systems 1 GiB. It is at least
	// 1 MiB. Live entries take up to half of it.
	Size int64
	// LockWait is how long Open waits for another process to close the file: one
	// second.
	LockWait time.Duration
}

const (
	format  = "github.com/robotskit/robots/cache"
	version = 2 // of the layout in the package comment

	leastSize = 1 << 20
	// A transaction has at most batchMost writes. The callers of those in the queue may have
	// given up; the callers of further ones wait for room in it.
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
	size int64        // bound of the file
	page int64        // bytes of a page
	live atomic.Int64 // bytes of entries

	isEmpty bool // when it was opened

	mu     sync.RWMutex // held for reading while a call is under way
	closed bool
	writes chan write
	ended  chan struct{} // closed when the writer has ended
}

// Open opens the store in a file. It makes the file if there is none, or an empty one.
// The error is one sentence that names the file.
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
			return nil, fmt.Errorf("cache file %s cannot be made: %w", path, bare(err))
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cache file %s cannot be opened: %w", path, bare(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cache file %s is not a regular file: name another one", path)
	}
	s := &Store{path: path, size: o.Size, isEmpty: info.Size() == 0, writes: make(chan write, queueMost), ended: make(chan struct{})}
	// The file is opened twice: first for reading, under a lock that keeps writers
	// out while it is checked, then for writing.
	if info.Size() > 0 {
		if err := s.verify(info.Size(), o.LockWait); err != nil {
			return nil, refuse(path, o, err)
		}
	}
	err = guarded(func() (err error) {
		s.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: o.LockWait, FreelistType: bbolt.FreelistMapType,
			MaxSize: int(max(o.Size, info.Size())), // one made under a larger bound will not grow
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

// bare removes the path from an error, as the sentence around it has the path.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// create makes the file under another name and then links it to path, so that a
// process that is killed leaves no file that does not open. If two processes do it at
// once, the second finds the file of the first.
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

// layOut makes the buckets of an empty file.
func layOut(tx *bbolt.Tx) error {
	for _, name := range [][]byte{metaBucket, recordsBucket, orderBucket, keptBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(metaBucket)
	return errors.Join(meta.Put(formatKey, []byte(format)), meta.Put(versionKey, []byte{version}))
}

// verify checks that a file of so many bytes is a complete store of this package, and counts
// its entries. It writes nothing.
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
				return fmt.Errorf("%w: it is cut short, %d bytes of at least %d", errDamaged, size, tx.Size())
			}
			return s.ours(tx)
		})
	})
	return errors.Join(err, guarded(db.Close))
}

// ours checks that the buckets are those of a store, or that there are none yet, and reads
// every entry. (Tx.Check of bbolt finds more, but on a damaged page it may end the process.)
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

// refuse makes the sentence that says why a file is not opened.
func refuse(path string, o Options, err error) error {
	switch {
	case errors.Is(err, bberrors.ErrTimeout):
		return fmt.Errorf("cache file %s is in use by another process (waited %v): end that process or name another file", path, o.LockWait)
	case errors.Is(err, errDamaged), errors.Is(err, errForeign), errors.Is(err, errOther):
		return fmt.Errorf("cache file %s is left as it is: %w: name another file, or move this one away to begin anew", path, err)
	}
	return fmt.Errorf("cache file %s cannot be opened: %w", path, bare(err))
}

// Why a file is refused.
var (
	errDamaged = errors.New("it is damaged")
	errForeign = errors.New("it is not a cache of robots.txt files")
	errOther   = errors.New("another release has written it")
)

// guarded turns a panic of bbolt, or a fault of the memory that maps the file, into an
// error. bbolt rolls the transaction back.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return do()
}

// fail adds the file's name to an error of a store that is open.
func (s *Store) fail(err error) error {
	if err == nil || errors.Is(err, cache.ErrFenced) || errors.Is(err, cache.ErrAbsent) {
		return err
	}
	return fmt.Errorf("cache file %s: %w", s.path, err)
}

// begin starts a call; the first result ends it.
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

// read reads in a transaction.
func (s *Store) read(ctx context.Context, do func(tx *bbolt.Tx) error) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.fail(guarded(func() error { return s.db.View(do) }))
}

// A write is a change on its way to the file. The change may be tried more than once.
type write struct {
	change func(tx *bbolt.Tx) error
	size   int64 // bytes of what is put
	done   chan error
}

// write hands a change to the writer and waits for it.
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
		return s.fail(fmt.Errorf("too many writes wait for the disk: %w", ctx.Err()))
	}
	select {
	case err := <-w.done:
		return s.fail(err)
	case <-ctx.Done():
		return s.fail(fmt.Errorf("the write is still under way and may still be done: %w", ctx.Err()))
	}
}

// writer makes the changes. Those in the queue are one transaction, and the next ones gather
// while that is on its way to the disk: a batch is as large as the load makes it. (DB.Batch
// does the same in a goroutine of its own, where a damaged file would end the process.)
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
		for i, w := range batch { // one that cannot be done must not make others fail
			w.done <- s.commitOne(batch[i : i+1])
		}
	}
}

func (s *Store) commit(batch []write) error {
	return guarded(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
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
	})
}

// commitOne makes a change for which there may be too little room: a record of many pages
// needs them in a row. Then other entries are dropped, a few more each time.
func (s *Store) commitOne(one []write) error {
	err := s.commit(one)
	for part := int64(16); errors.Is(err, bberrors.ErrMaxSizeReached) && part > 1; part /= 2 {
		err = guarded(func() error { return s.db.Update(func(tx *bbolt.Tx) error { return s.drop(tx, part) }) })
		if err == nil {
			err = s.commit(one)
		}
	}
	return err
}

// full reports whether live entries take more than half of the file, or pages in use more
// than three quarters: a transaction writes new pages before it gives back old ones.
func (s *Store) full(tx *bbolt.Tx) bool {
	stats := s.db.Stats()
	used := tx.Size() - int64(stats.FreePageN+stats.PendingPageN)*s.page
	return s.live.Load() > s.size/2 || used > s.size/4*3
}

// drop drops a part of the entries, those that were written longest ago.
func (s *Store) drop(tx *bbolt.Tx, part int64) error {
	least := s.live.Load() / part
	return s.dropOldest(tx, func(dropped int64, _ uint64) bool { return dropped < least })
}

// dropOldest drops the entries that were written longest ago while more says so, of the
// bytes dropped so far and of when the next has outlived its time.
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
		if len(value) >= headerSize && bytes.Equal(value[:8], at) { // else it has been written again
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

// headerSize is that of what is before the packed record: sequence number, end, fence.
const headerSize = 8 + 8 + 8

// entryBytes is the size of an entry with its key in order.
func entryBytes(key, value []byte) int64 { return int64(2*len(key) + len(value) + 8) }

// remove removes an entry with the value that it has, nil for none.
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

// Get returns the entry of an origin. A read does not save an entry from being
// dropped, but a record in use is written once a day.
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

// Put keeps an entry, unless the file has no room for it.
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
			if _, err := unpack(origin, old); err == nil { // one that is damaged may be replaced
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
		// A few that are past their time go with each write, so that a clock put forward does
		// not drop all at once.
		now, few := uint64(max(time.Now().UnixMilli(), 0)), 2
		return s.dropOldest(tx, func(_ int64, until uint64) bool {
			few--
			return few >= 0 && until < now
		})
	})
	if errors.Is(err, bberrors.ErrMaxSizeReached) { // not so many pages are free in a row
		return nil
	}
	return err
}

// Delete forgets an origin.
func (s *Store) Delete(ctx context.Context, origin robots.Origin) error {
	key := []byte(origin.String())
	return s.write(ctx, 0, func(tx *bbolt.Tx) error { return s.remove(tx, key, tx.Bucket(recordsBucket).Get(key)) })
}

// Keep keeps a value under a name beside the entries, in place of the one before. It is
// for the few things of a program that are to be where its entries are; they are not
// dropped, and do not count in the bound of the file.
func (s *Store) Keep(ctx context.Context, name string, value []byte) error {
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(value, castagnoli))
	return s.write(ctx, len(value), func(tx *bbolt.Tx) error { return tx.Bucket(keptBucket).Put([]byte(name), append(sum, value...)) })
}

// Kept returns the value that Keep has kept under a name, nil if there is none.
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

// Close waits for the calls under way and closes the file.
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
