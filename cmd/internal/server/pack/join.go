package main

import (
	"encoding/binary"
	"errors"
	"slices"
)

// A segment is a part of the first memory of a WebAssembly program.
type segment struct {
	offset uint64
	bytes  []byte
}

// gap is how many zeros may stand inside a segment.
const gap = 1 << 10

var errWasm = errors.New("the engine is not the WebAssembly that Go's linker writes")

// join returns the program with data segments that lie close together made one.
// Go's linker cuts the data at every few zeros, into 66,000 segments: the file gets
// a tenth smaller by that, and what gzip makes of it a tenth larger, because the
// offsets between the parts repeat nothing. Memory begins as zeros, so both mean
// the same.
func join(wasm []byte) ([]byte, error) {
	const header, data = 8, 11
	if len(wasm) < header {
		return nil, errWasm
	}
	out := slices.Clone(wasm[:header])
	for rest := wasm[header:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errWasm
		}
		body := rest[1+n:][:size]
		rest = rest[1+n+int(size):]
		if id == data {
			segments, err := readSegments(body)
			if err != nil {
				return nil, err
			}
			body = appendSegments(nil, segments)
		}
		out = append(binary.AppendUvarint(append(out, id), uint64(len(body))), body...)
	}
	return out, nil
}

// What stands around the offset of a segment of the only memory: its kind, and
// the expression "i32.const offset; end".
const (
	active   = 0x00
	constant = 0x41
	end      = 0x0b
)

func readSegments(body []byte) ([]segment, error) {
	count, n := binary.Uvarint(body)
	if n <= 0 {
		return nil, errWasm
	}
	body = body[n:]
	var list []segment
	for range count {
		if len(body) < 2 || body[0] != active || body[1] != constant {
			return nil, errWasm
		}
		// Signed, but an offset never is: its highest bit is 0, so this reads it too.
		offset, n := binary.Uvarint(body[2:])
		if n <= 0 || len(body) < 2+n+1 || body[2+n] != end {
			return nil, errWasm
		}
		body = body[2+n+1:]
		size, n := binary.Uvarint(body)
		if n <= 0 || size > uint64(len(body)-n) {
			return nil, errWasm
		}
		list = append(list, segment{offset, body[n:][:size]})
		body = body[n+int(size):]
	}
	slices.SortFunc(list, func(a, b segment) int { return int(a.offset) - int(b.offset) })
	return list, nil
}

func appendSegments(dst []byte, list []segment) []byte {
	var joined []segment
	for _, s := range list {
		if n := len(joined); n > 0 {
			last := &joined[n-1]
			if between := s.offset - last.offset - uint64(len(last.bytes)); between <= gap {
				last.bytes = append(append(last.bytes, make([]byte, between)...), s.bytes...)
				continue
			}
		}
		joined = append(joined, segment{s.offset, slices.Clone(s.bytes)})
	}
	dst = binary.AppendUvarint(dst, uint64(len(joined)))
	for _, s := range joined {
		dst = append(appendSigned(append(dst, active, constant), s.offset), end)
		dst = append(binary.AppendUvarint(dst, uint64(len(s.bytes))), s.bytes...)
	}
	return dst
}

// appendSigned appends a number that is not negative as a signed LEB128.
func appendSigned(dst []byte, n uint64) []byte {
	for n > 0x3f {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}
