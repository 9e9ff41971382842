package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"

	"github.com/robotskit/robots/fetch"
)

// A body is cut into pieces, two of which fit a page of 4096 bytes with their keys. A
// value larger than a page would need several free pages in a row, whenever its leaf is
// written. A file near its bound may have that room, but not in a row.
const (
	pieceSize  = 1900
	pieceFirst = 4 + 4 // before the bytes of the first piece: references and length of the body
	piecesMost = 1 << 16
)

// pieceKey returns the key of the n-th piece of a body.
func pieceKey(h fetch.Hash, n int) []byte {
	return binary.BigEndian.AppendUint16(append(make([]byte, 0, len(h)+2), h[:]...), uint16(n))
}

var errMissing = errors.New("it is missing, in whole or in part")

// readBody returns a body and its number of references. The caller must check its hash.
func readBody(bodies *bbolt.Bucket, h fetch.Hash) (body []byte, refs uint32, err error) {
	c := bodies.Cursor()
	k, v := c.Seek(h[:])
	if !bytes.Equal(k, pieceKey(h, 0)) || len(v) < pieceFirst {
		return nil, 0, errMissing
	}
	refs = binary.BigEndian.Uint32(v)
	length := int(binary.BigEndian.Uint32(v[4:]))
	if length > pieceSize*piecesMost {
		return nil, refs, errMissing
	}
	body = append(make([]byte, 0, min(length, 1<<20)), v[pieceFirst:]...)
	for n := 1; len(body) < length; n++ {
		if k, v = c.Next(); n == piecesMost || len(v) == 0 || !bytes.Equal(k, pieceKey(h, n)) {
			return nil, refs, errMissing
		}
		body = append(body, v...)
	}
	if len(body) != length {
		return nil, refs, errMissing
	}
	return body, refs, nil
}

// refer adds one reference to a body, or none, and keeps the body. One that is there
// with other bytes is damaged, and is written again.
func (t *table) refer(h fetch.Hash, body []byte, more uint32) error {
	held, refs, err := readBody(t.bodies, h)
	refs += more
	if err == nil && bytes.Equal(held, body) {
		if more == 0 {
			return nil
		}
		return t.count(h, refs)
	}
	if err := t.discard(h); err != nil {
		return err
	}
	for n := 0; n == 0 || len(body) > 0; n++ {
		if n == piecesMost {
			return errors.New("body is too large for a cache file")
		}
		var piece []byte
		if n == 0 {
			piece = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, max(refs, 1)), uint32(len(body)))
		}
		k := min(len(body), pieceSize-len(piece))
		piece, body = append(piece, body[:k]...), body[k:]
		key := pieceKey(h, n)
		if err := t.bodies.Put(key, piece); err != nil {
			return err
		}
		t.size += int64(len(key) + len(piece))
	}
	return nil
}

// release removes a reference, and the body with the last one.
func (t *table) release(h fetch.Hash) error {
	v := t.bodies.Get(pieceKey(h, 0))
	if len(v) < pieceFirst {
		return t.discard(h)
	}
	if refs := binary.BigEndian.Uint32(v); refs > 1 {
		return t.count(h, refs-1)
	}
	return t.discard(h)
}

// count writes the number of references to a body that is there.
func (t *table) count(h fetch.Hash, refs uint32) error {
	key := pieceKey(h, 0)
	v := bytes.Clone(t.bodies.Get(key))
	binary.BigEndian.PutUint32(v, refs)
	return t.bodies.Put(key, v)
}

// discard deletes all pieces of a body.
func (t *table) discard(h fetch.Hash) error {
	var keys [][]byte
	c := t.bodies.Cursor()
	for k, v := c.Seek(h[:]); bytes.HasPrefix(k, h[:]); k, v = c.Next() {
		keys = append(keys, bytes.Clone(k))
		t.size -= int64(len(k) + len(v))
	}
	for _, k := range keys {
		if err := t.bodies.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
