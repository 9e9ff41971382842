package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// memory is what segments make of a memory.
func memory(list []segment) []byte {
	var m []byte
	for _, s := range list {
		if n := int(s.offset) + len(s.bytes); n > len(m) {
			m = append(m, make([]byte, n-len(m))...)
		}
		copy(m[s.offset:], s.bytes)
	}
	return m
}

// TestJoin: fewer segments, and the same memory.
func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var list []segment
		offset := uint64(rng.IntN(200))
		for range rng.IntN(50) {
			s := segment{offset, make([]byte, 1+rng.IntN(300))}
			for i := range s.bytes {
				s.bytes[i] = byte(rng.Uint32())
			}
			list = append(list, s)
			offset += uint64(len(s.bytes) + rng.IntN(2*gap))
		}
		want := memory(list)
		data := binary.AppendUvarint(nil, uint64(len(list)))
		for _, s := range list {
			data = append(appendSigned(append(data, active, constant), s.offset), end)
			data = append(binary.AppendUvarint(data, uint64(len(s.bytes))), s.bytes...)
		}
		wasm := append([]byte("\x00asm\x01\x00\x00\x00"), 1, 2, 'a', 'b', 11)
		wasm = append(binary.AppendUvarint(wasm, uint64(len(data))), data...)
		got, err := join(wasm)
		if err != nil {
			t.Fatal(err)
		}
		body := got[8+4+1:]
		_, n := binary.Uvarint(body)
		joined, err := readSegments(body[n:])
		if err != nil || !bytes.Equal(memory(joined), want) {
			t.Fatalf("%d segments of %d bytes: other bytes after join, or %v", len(list), len(want), err)
		}
		for i := 1; i < len(joined); i++ {
			if last := joined[i-1]; joined[i].offset-last.offset-uint64(len(last.bytes)) <= gap {
				t.Fatal("two segments lie close together still")
			}
		}
	}
	for _, bad := range []string{"", "\x00asm", "\x00asm\x01\x00\x00\x00\x0b\x7f", "\x00asm\x01\x00\x00\x00\x0b\x02\x01\x01"} {
		if _, err := join([]byte(bad)); err == nil {
			t.Errorf("join(%q) finds nothing wrong", bad)
		}
	}
}
