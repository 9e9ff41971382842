package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bberrors "go.etcd.io/bbolt/errors"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

// A transaction has at most this many writes, or bytes of bodies.
const (
	batchMost  = 1024
	batchBytes = 8 << 20
	// queueMost bounds the writes in the queue, whose callers may have given up. The
	// callers of further writes wait for room in it.
	queueMost = 16
)

// A write is one Put, Delete or Keep on its way to the file.
type write struct {
	key    []byte
	keep   []byte // of Keep: the value
	header header // without a record: delete
	bodies [][]byte
	size   int64 // of bodies
	err    error // of this write alone
	done   chan struct{}
}

// Put keeps an entry.
func (s *Store) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if e.Record == nil || e.Record.Origin.IsZero() {
		return s.fail(errors.New("the entry has no record, or the record no origin"))
	}
	w := &write{
		key: []byte(e.Record.Origin.String()),
		header: header{
			fence: e.Fence, epoch: e.Epoch,
			until:  uint64(max(time.Now().Add(keep).UnixMilli(), 0)),
			record: e.Record.Encode(),
		},
	}
	for h, b := range e.Record.Bodies() {
		w.header.hashes, w.bodies = append(w.header.hashes, h), append(w.bodies, b)
		w.size += int64(len(b))
	}
	return s.do(ctx, w)
}

// Delete forgets an origin.
func (s *Store) Delete(ctx context.Context, origin robots.Origin) error {
	return s.do(ctx, &write{key: []byte(origin.String())})
}

// Keep keeps a value under a name beside the entries, in place of the one before. It is
// for the few things of a program that are to be where its entries are; they are not
// dropped, and do not count in the bound of the file.
func (s *Store) Keep(ctx context.Context, name string, value []byte) error {
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(value, castagnoli()))
	return s.do(ctx, &write{key: []byte(name), keep: append(sum, value...)})
}

// do hands a write to the writer and waits for it.
func (s *Store) do(ctx context.Context, w *write) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	w.done = make(chan struct{})
	select {
	case s.writes <- w:
	case <-ctx.Done():
		return s.fail(fmt.Errorf("too many writes wait for the disk: %w", ctx.Err()))
	}
	select {
	case <-w.done:
		return s.fail(w.err)
	case <-ctx.Done():
		return s.fail(fmt.Errorf("the write is still under way and may still be done: %w", ctx.Err()))
	}
}

// write is the writer: it puts all writes in the queue into one transaction. The next
// ones gather while that is on its way to the disk. So a batch is as large as the load
// makes it, and no write waits for a batch to fill.
func (s *Store) write() {
	defer close(s.ended)
	var batch []*write
	most := min(batchBytes, s.size/64)
	for w := range s.writes {
		batch = append(batch[:0], w)
		size := w.size
	gather:
		for len(batch) < batchMost && size < most {
			select {
			case w, ok := <-s.writes:
				if !ok {
					break gather
				}
				batch = append(batch, w)
				size += w.size
			default:
				break gather
			}
		}
		s.commit(batch)
		for _, w := range batch {
			close(w.done)
		}
	}
}

// commit does a batch of writes. If a batch of several fails, it is tried in halves: a
// write that cannot be done must not make others fail.
func (s *Store) commit(batch []*write) {
	err := s.update(batch, s.size/2)
	if half := len(batch) / 2; err != nil && half > 0 {
		s.commit(batch[:half])
		s.commit(batch[half:])
		return
	}
	// A record of many pages needs them in a row, and there may be none though there is
	// room. Then other entries are dropped, a few more each time.
	for part := int64(16); errors.Is(err, bberrors.ErrMaxSizeReached) && part > 1; part /= 2 {
		if err = s.update(nil, s.size/2-s.size/2/part); err == nil {
			err = s.update(batch, s.size/2)
		}
	}
	if err != nil {
		batch[0].err = err
	}
}

// update does writes in one transaction and then drops entries above most bytes.
func (s *Store) update(batch []*write, most int64) error {
	return guarded(func() error {
		if s.commitFailed {
			if err := rewriteMeta(s.db, s.file); err != nil {
				return err
			}
		}
		s.commitFailed = true
		err := s.db.Update(func(tx *bbolt.Tx) error {
			t := open(tx)
			// A quarter of the pages stays free: a transaction writes new pages
			// before it gives back old ones.
			stats := s.db.Stats()
			free := int64(stats.FreePageN+stats.PendingPageN) * int64(s.db.Info().PageSize)
			if used, soft := tx.Size()-free, s.size/4*3; used > soft {
				most = min(most, int64(float64(t.size)*float64(soft)/float64(used)))
			}
			for _, w := range batch {
				var err error
				if w.err, err = t.apply(w); err != nil {
					return err
				}
			}
			return t.close(len(batch), most)
		})
		s.commitFailed = err != nil && !errors.Is(err, bberrors.ErrMaxSizeReached)
		return err
	})
}

// table is a transaction with the buckets open.
type table struct {
	tx                           *bbolt.Tx
	meta, records, bodies, order *bbolt.Bucket
	size                         int64 // of all entries, keys and values
}

func open(tx *bbolt.Tx) *table {
	t := &table{tx, tx.Bucket(metaBucket), tx.Bucket(recordsBucket), tx.Bucket(bodiesBucket), tx.Bucket(orderBucket), entrySize(tx)}
	t.order.FillPercent = 0.9 // keys only grow
	return t
}

// entrySize returns the size of all entries, as it was last saved.
func entrySize(tx *bbolt.Tx) int64 {
	v := tx.Bucket(metaBucket).Get(bytesKey)
	if len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}

// apply does one write. The first error is the write's own, the second one of
// the transaction.
func (t *table) apply(w *write) (own, err error) {
	if w.keep != nil {
		kept, err := t.tx.CreateBucketIfNotExists(keptBucket)
		if err == nil {
			err = kept.Put(w.key, w.keep)
		}
		return nil, err
	}
	old := t.records.Get(w.key)
	var was header
	if old != nil {
		if h, err := parseHeader(old); err == nil { // else its bodies stay in the file
			was = h
		}
		was.record = nil // of the page, which may be written now
	}
	if w.header.record == nil {
		if old == nil {
			return nil, nil
		}
		return nil, t.remove(w.key, len(old), was)
	}
	if was.fence > w.header.fence {
		return cache.ErrFenced, nil
	}
	for i, h := range w.header.hashes {
		more := uint32(1)
		if at := slices.Index(was.hashes, h); at >= 0 { // the body has not changed, as most do not
			was.hashes, more = slices.Delete(was.hashes, at, at+1), 0
		}
		if err := t.refer(h, w.bodies[i], more); err != nil {
			return nil, err
		}
	}
	if old != nil {
		if err := t.remove(w.key, len(old), was); err != nil {
			return nil, err
		}
	}
	w.header.sequence, err = t.order.NextSequence()
	if err != nil {
		return nil, err
	}
	value := w.header.append(make([]byte, 0, headerSize+len(w.header.hashes)*len(fetch.Hash{})+len(w.header.record)))
	t.size += entryBytes(w.key, len(value))
	return nil, errors.Join(t.records.Put(w.key, value), t.order.Put(orderKey(w.header.sequence), w.key))
}

// entryBytes is the size of a record with its key in order.
func entryBytes(key []byte, value int) int64 { return int64(2*len(key) + value + 8) }

func orderKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// remove deletes a record, its key in order and its references to bodies.
func (t *table) remove(key []byte, size int, h header) error {
	t.size -= entryBytes(key, size)
	if at := orderKey(h.sequence); bytes.Equal(t.order.Get(at), key) {
		if err := t.order.Delete(at); err != nil {
			return err
		}
	}
	for _, hash := range h.hashes {
		if err := t.release(hash); err != nil {
			return err
		}
	}
	return t.records.Delete(key)
}

// close drops entries that are past their time, a few per write, so that a clock put
// forward does not drop all at once. If there is still too much it drops those written
// longest ago.
func (t *table) close(writes int, most int64) error {
	now := uint64(max(time.Now().UnixMilli(), 0))
	expired := 2 * writes
	c := t.order.Cursor()
	for {
		at, key := c.First()
		if len(at) != 8 {
			return t.save()
		}
		at, key = bytes.Clone(at), bytes.Clone(key)
		old := t.records.Get(key)
		h, err := parseHeader(old)
		full := t.size > most
		switch {
		case old == nil || err == nil && h.sequence != binary.BigEndian.Uint64(at): // a key without its record
			if err := t.order.Delete(at); err != nil {
				return err
			}
			continue
		case err != nil && full:
			h = header{sequence: binary.BigEndian.Uint64(at)}
		case full:
		case err == nil && h.until < now && expired > 0:
			expired--
		default:
			return t.save()
		}
		if err := t.remove(key, len(old), h); err != nil {
			return err
		}
	}
}

func (t *table) save() error {
	return t.meta.Put(bytesKey, binary.BigEndian.AppendUint64(nil, uint64(max(t.size, 0))))
}
