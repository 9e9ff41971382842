package bolt

import (
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
	"time"

	"go.etcd.io/bbolt"
	bberrors "go.etcd.io/bbolt/errors"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

// Options are the settings of a Store. The zero value is usual.
type Options struct {
	// Size bounds the file, in bytes: 4 GiB, on 32-bit systems 1 GiB. It is at least
	// 1 MiB. Live entries take up to half of it.
	Size int64
	// LockWait is how long Open waits for another process to close the file: one
	// second.
	LockWait time.Duration
	// NoSync leaves it to the system when writes reach the disk, for a file that
	// nobody needs after the process. After a loss of power the file may not open.
	NoSync bool
}

const (
	format  = "github.com/robotskit/robots/cache"
	version = 1 // of the layout in the package comment

	leastSize = 1 << 20
)

var (
	metaBucket    = []byte("meta")
	recordsBucket = []byte("records")
	bodiesBucket  = []byte("bodies")
	orderBucket   = []byte("order")
	keptBucket    = []byte("kept")

	formatKey  = []byte("format")
	versionKey = []byte("version")
	bytesKey   = []byte("octets") // as existing files have it
)

// Store is a cache.Store in a file.
type Store struct {
	path string
	db   *bbolt.DB
	file *os.File // that db reads and writes
	size int64    // bound of the file

	commitFailed bool // the last one did; used by the writer alone

	mu     sync.RWMutex // held for reading while a call is under way
	closed bool
	writes chan *write
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
	// The file is opened twice: first for reading, under a lock that keeps writers
	// out while it is checked, then for writing.
	if info.Size() > 0 {
		if err := verify(path, o.LockWait); err != nil {
			return nil, refuse(path, o, err)
		}
	}
	db, file, err := openVerified(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path:   path,
		db:     db,
		file:   file,
		size:   o.Size,
		writes: make(chan *write, queueMost),
		ended:  make(chan struct{}),
	}
	go s.write()
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
	if first, _ := tx.Cursor().First(); first != nil {
		return nil
	}
	for _, name := range [][]byte{metaBucket, recordsBucket, bodiesBucket, orderBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(metaBucket)
	return errors.Join(meta.Put(formatKey, []byte(format)), meta.Put(versionKey, []byte{version}), meta.Put(bytesKey, make([]byte, 8)))
}

// refuse makes the sentence that says why a file is not opened.
func refuse(path string, o Options, err error) error {
	switch {
	case errors.Is(err, bberrors.ErrTimeout):
		return fmt.Errorf("cache file %s is in use by another process (waited %v): end that process or name another file", path, o.LockWait)
	case errors.Is(err, errDamaged), errors.Is(err, errForeign), errors.Is(err, errLater):
		return fmt.Errorf("cache file %s is left as it is: %w: name another file, or move this one away to begin anew", path, err)
	}
	return fmt.Errorf("cache file %s cannot be opened: %w", path, bare(err))
}

// openVerified opens a file for writing that is there and checked, or empty.
func openVerified(path string, o Options) (db *bbolt.DB, file *os.File, err error) {
	size := o.Size
	if info, err := os.Stat(path); err == nil && info.Size() > size {
		size = info.Size() // made under a larger bound; it will not grow
	}
	err = guarded(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: o.LockWait, FreelistType: bbolt.FreelistMapType, MaxSize: int(size), NoSync: o.NoSync, NoGrowSync: o.NoSync,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag, mode)
				file = f
				return f, err
			},
		})
		if err == nil {
			err = rewriteMeta(db, file)
		}
		if err == nil {
			err = db.Update(layOut)
		}
		return err
	})
	if err != nil {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		return nil, nil, refuse(path, o, err)
	}
	db.AllocSize = int(min(int64(db.AllocSize), o.Size/64))
	return db, file, nil
}

// rewriteMeta makes sure that the state from which bbolt goes on is on the disk. If the
// last sync of a commit failed, readers of the file see the commit, but the disk may
// not have it. The next commit would reuse the pages of the state before, and a loss
// of power during that commit would leave neither state whole. To sync again does not
// help: after a failed sync a kernel may count the pages as written. So the two meta
// pages, which name the state, are written again, one after the other.
func rewriteMeta(db *bbolt.DB, file *os.File) error {
	var page []byte
	if err := db.View(func(*bbolt.Tx) error { page = make([]byte, db.Info().PageSize); return nil }); err != nil {
		return err // there is no mapping of the file
	}
	for i := range int64(2) {
		at := i * int64(len(page))
		if _, err := file.ReadAt(page, at); err != nil {
			return err
		}
		if _, err := file.WriteAt(page, at); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// Why a file is refused.
var (
	errDamaged = errors.New("it is damaged")
	errForeign = errors.New("it is not a cache of robots.txt files")
	errLater   = errors.New("a later release has written it")
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
	if errors.Is(err, bberrors.ErrInvalidMapping) { // the system had no room for a larger one
		return fmt.Errorf("cache file %s must be opened again: the system could not map it into memory: %w", s.path, err)
	}
	return fmt.Errorf("cache file %s: %w", s.path, err)
}

// begin starts a call; the second result ends it.
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

// Get returns the entry of an origin. A read does not save an entry from being
// dropped, but a record in use is written once a day.
func (s *Store) Get(ctx context.Context, origin robots.Origin) (cache.Entry, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return cache.Entry{}, err
	}
	defer end()
	var e cache.Entry
	err = guarded(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			v := tx.Bucket(recordsBucket).Get([]byte(origin.String()))
			if v == nil {
				return cache.ErrAbsent
			}
			h, err := parseHeader(v)
			if err != nil {
				return fmt.Errorf("entry of %s: %w", origin, err)
			}
			bodies := tx.Bucket(bodiesBucket)
			r, err := fetch.Decode(h.record, func(hash fetch.Hash) ([]byte, error) {
				body, _, err := readBody(bodies, hash)
				return body, err
			})
			if err == nil && r.Origin != origin {
				err = fmt.Errorf("record is damaged: it is of %s", r.Origin)
			}
			if err != nil {
				return fmt.Errorf("entry of %s: %w", origin, err)
			}
			e = cache.Entry{Record: r, Fence: h.fence, Epoch: h.epoch}
			return nil
		})
	})
	return e, s.fail(err)
}

// Kept returns the value that Keep has kept under a name, nil if there is none.
func (s *Store) Kept(ctx context.Context, name string) ([]byte, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var value []byte
	err = guarded(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			kept := tx.Bucket(keptBucket)
			if kept == nil {
				return nil
			}
			v := kept.Get([]byte(name))
			switch {
			case v == nil:
			case len(v) < 4 || crc32.Checksum(v[4:], castagnoli()) != binary.BigEndian.Uint32(v):
				return fmt.Errorf("what is kept as %s is damaged: its checksum is wrong", name)
			default:
				value = append([]byte{}, v[4:]...)
			}
			return nil
		})
	})
	return value, s.fail(err)
}

// Usage returns how much is in the file. It reads all of it to count.
func (s *Store) Usage() (cache.Usage, error) {
	end, err := s.begin(context.Background())
	if err != nil {
		return cache.Usage{}, err
	}
	defer end()
	var u cache.Usage
	err = guarded(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			u.Origins = tx.Bucket(recordsBucket).Stats().KeyN
			err := tx.Bucket(bodiesBucket).ForEach(func(k, _ []byte) error {
				if n := len(k) - 2; n > 0 && k[n] == 0 && k[n+1] == 0 {
					u.Bodies++
				}
				return nil
			})
			u.Bytes = entrySize(tx)
			return err
		})
	})
	return u, s.fail(err)
}

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

// header is a stored record taken apart.
type header struct {
	fence, epoch, until, sequence uint64
	hashes                        []fetch.Hash
	record                        []byte
}

const headerSize = 1 + 4 + 4*8 + 1

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func parseHeader(v []byte) (header, error) {
	if len(v) > 0 && v[0] > version {
		return header{}, fmt.Errorf("it has version %d, this release reads versions up to %d", v[0], version)
	}
	if len(v) < headerSize || v[0] != version || crc32.Checksum(v[5:], castagnoli()) != binary.BigEndian.Uint32(v[1:]) {
		return header{}, errors.New("it is damaged: its checksum is wrong")
	}
	u := func(i int) uint64 { return binary.BigEndian.Uint64(v[5+8*i:]) }
	h := header{fence: u(0), epoch: u(1), until: u(2), sequence: u(3)}
	n, rest := int(v[headerSize-1]), v[headerSize:]
	if len(rest) < n*len(fetch.Hash{}) {
		return header{}, errors.New("it is damaged: it is too short")
	}
	h.hashes = make([]fetch.Hash, n)
	for i := range h.hashes {
		rest = rest[copy(h.hashes[i][:], rest):]
	}
	h.record = rest
	return h, nil
}

func (h *header) append(v []byte) []byte {
	v = append(v, version, 0, 0, 0, 0)
	for _, u := range [...]uint64{h.fence, h.epoch, h.until, h.sequence} {
		v = binary.BigEndian.AppendUint64(v, u)
	}
	v = append(v, byte(len(h.hashes)))
	for i := range h.hashes {
		v = append(v, h.hashes[i][:]...)
	}
	v = append(v, h.record...)
	binary.BigEndian.PutUint32(v[1:], crc32.Checksum(v[5:], castagnoli()))
	return v
}
