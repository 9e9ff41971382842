package redis

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

// Sizes of the layout, as in common.lua.
const (
	atRest, leased = 2, 3 // first bytes

	leaseSize  = 8 + 8 + 8
	recordSize = 8 + 8 + 1 + 4 // at least
)

// largeBody is the size of a body above which it is kept apart from its record, in a
// place.
const largeBody = 16 << 10

type place byte

const (
	inRecord place = iota // there are no large ones
	inKey
	inDirectory
)

// dictionary is what records and files have in common: where it occurs, a few bits point
// at it. The likeliest stands last. It is part of the layout: another one needs another
// version.
//
//go:embed dictionary.txt
var dictionary []byte

// deflaters compress, four at a time, as each takes 1.2 MB.
var deflaters = sync.OnceValue(func() chan *flate.Writer {
	c := make(chan *flate.Writer, 4)
	for range cap(c) {
		c <- nil // made when it is needed
	}
	return c
})

// deflate compresses the pieces in a row.
func deflate(pieces ...[]byte) []byte {
	var out bytes.Buffer
	w := <-deflaters()
	if w == nil {
		w, _ = flate.NewWriterDict(&out, flate.BestCompression, dictionary) // no error: the level is valid
	} else {
		w.Reset(&out)
	}
	for _, p := range pieces {
		_, _ = w.Write(p) // a Buffer never fails
	}
	_ = w.Close()
	deflaters() <- w
	return out.Bytes()
}

var inflaters = sync.Pool{New: func() any { return flate.NewReaderDict(nil, dictionary) }}

// maxInflated bounds what is read of a value, whatever damage makes of it.
const maxInflated = 64 << 20

func inflate(data []byte) ([]byte, error) {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(data), dictionary); err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, maxInflated+1))
	if err == nil && len(out) > maxInflated {
		err = errors.New("it is too large")
	}
	return out, err
}

// A body of an entry is in it, or apart: in a place where its hash finds it.
type body struct {
	content []byte // nil while it is apart
	hash    fetch.Hash
	size    int
}

// encode returns the record of an entry after its fence, and the bodies that are kept apart
// at a place if they are large. It is
//
//	epoch (8), place (1), CRC-32C of fence, these and what is deflated (4), deflated: length of
//	the record, record, and of each body twice its length and the body, or, if it is apart,
//	that and one more, and its hash
func encode(e cache.Entry, large place) (rest []byte, apart []body) {
	record := e.Record.EncodeBeside()
	pieces := [][]byte{binary.AppendUvarint(nil, uint64(len(record))), record}
	where := inRecord
	for h, b := range e.Record.Bodies() {
		size := uint64(len(b)) << 1
		if len(b) <= largeBody {
			pieces = append(pieces, binary.AppendUvarint(nil, size), b)
			continue
		}
		pieces = append(pieces, binary.AppendUvarint(nil, size|1), h[:])
		where, apart = large, append(apart, body{b, h, len(b)})
	}
	rest = append(binary.BigEndian.AppendUint64(nil, e.Epoch), byte(where))
	rest = binary.BigEndian.AppendUint32(rest, checksum(append([][]byte{binary.BigEndian.AppendUint64(nil, e.Fence), rest}, pieces...)...))
	return append(rest, deflate(pieces...)...), apart
}

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func checksum(pieces ...[]byte) (sum uint32) {
	for _, p := range pieces {
		sum = crc32.Update(sum, castagnoli(), p)
	}
	return sum
}

// A value is an entry as it is stored.
type value struct {
	record []byte
	bodies []body
	place  place
	fence  uint64
	epoch  uint64
}

var errShort = errors.New("it ends too early")

// parse reads a value. It returns cache.ErrAbsent for one that has no record.
func parse(raw []byte) (v value, err error) {
	switch {
	case len(raw) > 0 && raw[0] > version && raw[0] < ' ':
		return v, errLater
	case len(raw) > 0 && raw[0] == atRest:
		raw = raw[1:]
	case len(raw) > leaseSize && raw[0] == leased:
		if raw = raw[1+leaseSize:]; len(raw) == 0 {
			return v, cache.ErrAbsent
		}
	default:
		return v, errEntry
	}
	if len(raw) < recordSize {
		return v, errEntry
	}
	v.fence, v.epoch, v.place = binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:]), place(raw[16])
	rest, err := inflate(raw[recordSize:])
	if err != nil {
		return v, entryError{err}
	}
	if checksum(raw[:17], rest) != binary.BigEndian.Uint32(raw[17:]) {
		return v, errEntry
	}
	take := func(n uint64) (piece []byte, err error) {
		if n > uint64(len(rest)) {
			return nil, entryError{errShort}
		}
		piece, rest = rest[:n:n], rest[n:]
		return piece, nil
	}
	number := func() (n uint64, err error) {
		n, size := binary.Uvarint(rest)
		_, err = take(uint64(max(size, 0)))
		if size <= 0 {
			err = entryError{errShort}
		}
		return n, err
	}
	n, err := number()
	if err == nil {
		v.record, err = take(n)
	}
	for err == nil && len(rest) > 0 {
		if n, err = number(); err != nil {
			break
		}
		var b body
		if n&1 == 0 {
			b.content, err = take(n >> 1)
		} else {
			var h []byte
			h, err = take(uint64(len(b.hash)))
			copy(b.hash[:], h)
			b.size = int(min(n>>1, maxInflated))
		}
		v.bodies = append(v.bodies, b)
	}
	return v, err
}

// entry returns the entry of a value. It asks load for the bodies that are not in it, and
// checks what it gets.
func (v value) entry(origin robots.Origin, load func(body) ([]byte, error)) (cache.Entry, error) {
	next := 0
	r, err := fetch.Decode(v.record, func(fetch.Hash) ([]byte, error) {
		if len(v.bodies) == 0 {
			return nil, errMissing
		}
		b := &v.bodies[min(next, len(v.bodies)-1)] // the last good one may be that of the record
		next++
		if b.content != nil {
			return bytes.Clone(b.content), nil // without the rest of the value
		}
		content, err := load(*b)
		if err == nil && fetch.HashOf(content) != b.hash {
			err = errors.New("it is damaged: its content has another hash")
		}
		b.content = content
		return content, err
	})
	if err == nil && r.Origin != origin {
		err = fmt.Errorf("record is damaged: it is of %s", r.Origin)
	}
	if err != nil {
		return cache.Entry{}, entryError{err}
	}
	return cache.Entry{Record: r, Fence: v.fence, Epoch: v.epoch}, nil
}

var errMissing = errors.New("it is missing")
