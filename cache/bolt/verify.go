package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"time"

	"go.etcd.io/bbolt"
	bberrors "go.etcd.io/bbolt/errors"
)

// verify checks that a file is a complete store of this package. It writes nothing.
// bbolt itself trusts its pages. A damaged page can make it panic in a goroutine of its
// own, read past the end of the file or, worst, overwrite pages in use that it takes for
// free. So verify reads every page that is reachable from the root. Each must have its
// own number, be used once, have its elements inside, its keys in order and children of
// the right kind. The list of free pages must name none of them.
func verify(path string, wait time.Duration) error {
	var file *os.File
	var db *bbolt.DB
	err := guarded(func() (err error) {
		db, err = bbolt.Open(path, 0, &bbolt.Options{
			ReadOnly: true, Timeout: wait,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
				file = f
				return f, err
			},
		})
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
	err = newWalk(file).run()
	if err == nil {
		err = guarded(func() error { return db.View(ours) })
	}
	return errors.Join(err, guarded(db.Close))
}

// ours checks that the buckets are those of a store, or that there are none yet.
func ours(tx *bbolt.Tx) error {
	if first, _ := tx.Cursor().First(); first == nil {
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
	if v[0] > version {
		return fmt.Errorf("%w: it has version %d, this release reads versions up to %d", errLater, v[0], version)
	}
	for _, name := range [][]byte{recordsBucket, bodiesBucket, orderBucket} {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: it has no bucket %q", errDamaged, name)
		}
	}
	return nil
}

// The layout of a file of bbolt 1.x, in the byte order of the machine.
const (
	pageHeader   = 16 // id (8), kind (2), count (2), overflow (4)
	elementSize  = 16 // of branch and leaf pages
	bucketHeader = 16 // root (8), sequence (8)

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	bucketFlag = 0x01

	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaSize    = 64
	noFreelist  = ^uint64(0)
)

var order = binary.NativeEndian

// walk is a check of all pages of a file.
type walk struct {
	file     io.ReaderAt
	size     int64
	pageSize uint64
	pages    uint64   // below the high-water mark
	root     uint64   // page
	free     uint64   // page of the list of free ones
	seen     []uint64 // a bit for each page in use
	err      error
}

func newWalk(f *os.File) *walk {
	w := &walk{file: f}
	info, err := f.Stat()
	if err != nil {
		w.err = err
		return w
	}
	w.size = info.Size()
	w.metas()
	return w
}

func (w *walk) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errDamaged}, args...)...)
}

// metas finds the valid meta page of the later transaction, of the two at the
// beginning of the file.
func (w *walk) metas() {
	var newest uint64
	found := false
	for _, at := range metaOffsets {
		b := make([]byte, pageHeader+metaSize)
		if _, err := w.file.ReadAt(b, at); err != nil {
			continue
		}
		m := b[pageHeader:]
		sum := fnv.New64a()
		sum.Write(m[:metaSize-8])
		if order.Uint32(m) != metaMagic || order.Uint32(m[4:]) != metaVersion || order.Uint64(m[56:]) != sum.Sum64() {
			continue
		}
		size, tx := uint64(order.Uint32(m[8:])), order.Uint64(m[48:])
		if size < 1024 || size&(size-1) != 0 || at != 0 && uint64(at) != size {
			continue
		}
		if !found || tx > newest {
			found, newest = true, tx
			w.pageSize, w.root, w.free, w.pages = size, order.Uint64(m[16:]), order.Uint64(m[32:]), order.Uint64(m[40:])
		}
	}
	switch {
	case !found:
		w.err = errForeign
	case w.pages > uint64(w.size)/w.pageSize:
		w.err = w.damaged("it is cut short, %d bytes of at least %d", w.size, w.pages*w.pageSize)
	case w.pages < 4 || w.root >= w.pages || w.free >= w.pages && w.free != noFreelist:
		w.err = w.damaged("its first page names pages that are not there")
	}
}

// metaOffsets are where the meta pages may begin: the second is one page after the
// first, whatever the size of a page.
var metaOffsets = [...]int64{0, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10}

func (w *walk) run() error {
	if w.err != nil {
		return w.err
	}
	w.seen = make([]uint64, (w.pages+63)/64)
	w.seen[0] = 3 // the meta pages
	if err := w.tree(w.root, nil, nil, 0); err != nil {
		return err
	}
	if w.free == noFreelist {
		return nil
	}
	b, err := w.page(w.free, freelistPage)
	if err != nil {
		return err
	}
	n, ids := uint64(order.Uint16(b[10:])), b[pageHeader:]
	if n == 0xFFFF {
		n, ids = order.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return w.damaged("its list of free pages is longer than its page")
	}
	for ; n > 0; n, ids = n-1, ids[8:] {
		if err := w.take(order.Uint64(ids), 1); err != nil {
			return err
		}
	}
	return nil
}

// take marks pages as used for one purpose.
func (w *walk) take(id, n uint64) error {
	if id >= w.pages || n > w.pages-id {
		return w.damaged("page %d is beyond its end", id)
	}
	for ; n > 0; id, n = id+1, n-1 {
		if w.seen[id/64]&(1<<(id%64)) != 0 {
			return w.damaged("page %d has two uses", id)
		}
		w.seen[id/64] |= 1 << (id % 64)
	}
	return nil
}

// page reads a page and its overflow pages.
func (w *walk) page(id uint64, kind uint16) ([]byte, error) {
	if id >= w.pages {
		return nil, w.damaged("page %d is beyond its end", id)
	}
	b := make([]byte, w.pageSize)
	if _, err := w.file.ReadAt(b, int64(id*w.pageSize)); err != nil {
		return nil, w.damaged("page %d cannot be read: %v", id, err)
	}
	is := order.Uint16(b[8:])
	if order.Uint64(b) != id || is != branchPage && is != leafPage && is != freelistPage || kind != 0 && is != kind {
		return nil, w.damaged("page %d has the wrong number or kind", id)
	}
	more := uint64(order.Uint32(b[12:]))
	if err := w.take(id, more+1); err != nil {
		return nil, err
	}
	if more > 0 {
		b = append(b, make([]byte, more*w.pageSize)...)
		if _, err := w.file.ReadAt(b[w.pageSize:], int64((id+1)*w.pageSize)); err != nil {
			return nil, w.damaged("page %d cannot be read: %v", id, err)
		}
	}
	return b, nil
}

// deepest is more than any tree of bbolt has levels.
const deepest = 64

// tree checks the pages of a bucket from one page down. The first key must be low, the
// key that the branch above has for the page, and all keys must be below high, the
// key of the next page. Both are nil if there is no branch above.
func (w *walk) tree(id uint64, low, high []byte, depth int) error {
	b, err := w.page(id, 0)
	if err != nil {
		return err
	}
	return w.elements(id, b, low, high, depth)
}

func (w *walk) elements(id uint64, b, low, high []byte, depth int) error {
	kind, n := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if depth > deepest || kind == freelistPage || kind == branchPage && n == 0 || pageHeader+n*elementSize > len(b) {
		return w.damaged("page %d is not a page of a tree", id)
	}
	// An element is flags, offset, key size, value size in a leaf; offset, key size,
	// page (8) in a branch. Offsets count from the element.
	var children []uint64
	var keys [][]byte
	for i := range n {
		at := pageHeader + i*elementSize
		e := b[at:]
		pos, ksize, vsize := uint64(order.Uint32(e)), uint64(order.Uint32(e[4:])), uint64(0)
		if kind == leafPage {
			pos, ksize, vsize = uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:])), uint64(order.Uint32(e[12:]))
		}
		begin := uint64(at) + pos
		if begin < uint64(pageHeader+n*elementSize) || begin+ksize+vsize > uint64(len(b)) {
			return w.damaged("an element of page %d lies outside it", id)
		}
		key, value := b[begin:begin+ksize], b[begin+ksize:begin+ksize+vsize]
		wrong := high != nil && bytes.Compare(key, high) >= 0
		if i > 0 {
			wrong = wrong || bytes.Compare(key, keys[i-1]) <= 0
		} else if low != nil {
			wrong = wrong || !bytes.Equal(key, low) // bbolt finds the branch again by it
		}
		if wrong {
			return w.damaged("the keys of page %d are out of order", id)
		}
		keys = append(keys, key)
		if kind == branchPage {
			children = append(children, order.Uint64(e[8:]))
			continue
		}
		if order.Uint32(e)&bucketFlag != 0 {
			if err := w.bucket(id, value, depth); err != nil {
				return err
			}
		}
	}
	for i, child := range children {
		top := high
		if i+1 < n {
			top = keys[i+1]
		}
		if err := w.tree(child, keys[i], top, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a bucket by the value of its element: the number of its root
// page, or that page itself if it is small.
func (w *walk) bucket(id uint64, value []byte, depth int) error {
	if len(value) < bucketHeader {
		return w.damaged("a bucket in page %d has no root", id)
	}
	if root := order.Uint64(value); root != 0 {
		return w.tree(root, nil, nil, depth+1)
	}
	if value = value[bucketHeader:]; len(value) < pageHeader || order.Uint16(value[8:]) != leafPage {
		return w.damaged("a small bucket in page %d has no leaf", id)
	}
	return w.elements(id, value, nil, nil, depth+1)
}
