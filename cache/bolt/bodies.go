package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"

	"github.com/robotskit/robots/fetch"
)

// Bodies lie in pieces, so that two of them and their keys fit a page of 4096
// bytes. A value that is larger than a page would need as many free pages in a
// row, and so would whoever shares a leaf with it whenever that is written: a
// file near its bound would have the room and not be able to use it.
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

// readBody puts a body together. Its content is checked by whoever asked for it.
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

// refer counts more references to a body, one or none, and keeps it. A body that
// is there with other bytes is damaged, and written anew.
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
		t.byteCount += int64(len(key) + len(piece))
	}
	return nil
}

// release takes a reference away, and the body with the last one.
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
		t.byteCount -= int64(len(k) + len(v))
	}
	for _, k := range keys {
		if err := t.bodies.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
