// Package packed is the form of an entry in stores of bytes, and of one that has not been used
// lately in memory: its encoded record, compressed, behind a checksum.
//
//	CRC-32C of the fence (8 bytes, big-endian) and of the record (4), deflated record
package packed

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
	"github.com/robotskit/robots/fetch"
)

// dictionary is what records and files have in common: where it occurs, a few bits point
// at it. The most frequent strings are last. It is part of the layout: another one needs another
// version of both stores.
//
//go:embed dictionary.txt
var dictionary []byte

var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriterDict(nil, flate.BestCompression, dictionary) // no error: the level is valid
	return w
}}

var inflaters = sync.Pool{New: func() any { return flate.NewReaderDict(nil, dictionary) }}

// maxInflated bounds what is read of an entry, whatever damage makes of it.
const maxInflated = 64 << 20

// Pack packs the record of an entry with this fence, which is only in the checksum.
func Pack(fence uint64, r *fetch.Record) []byte { return PackEncoded(fence, r.Encode()) }

// PackEncoded packs an encoded record.
func PackEncoded(fence uint64, plain []byte) []byte {
	var out bytes.Buffer
	out.Write(checksum(fence, plain))
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&out)
	_, _ = w.Write(plain) // a Buffer never fails
	_ = w.Close()
	return out.Bytes()
}

// Unpack returns the record of an origin that was packed with this fence. The error says what is
// wrong with the data.
func Unpack(origin robots.Origin, fence uint64, data []byte) (*fetch.Record, error) {
	if len(data) < crc32.Size {
		return nil, errDamaged
	}
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(data[crc32.Size:]), dictionary); err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxInflated))
	if err != nil || !bytes.Equal(checksum(fence, plain), data[:crc32.Size]) {
		return nil, errDamaged
	}
	record, err := fetch.Decode(plain)
	if err == nil && record.Origin != origin {
		err = fmt.Errorf("record is damaged: it is of %s", record.Origin)
	}
	return record, err
}

var errDamaged = errors.New("it is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(fence uint64, plain []byte) []byte {
	sum := crc32.Checksum(binary.BigEndian.AppendUint64(nil, fence), castagnoli)
	return binary.BigEndian.AppendUint32(nil, crc32.Update(sum, castagnoli, plain))
}
