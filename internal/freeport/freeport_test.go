package freeport

import (
	"net"
	"testing"
)

// TestAddr: an address is free, is not given twice, and a port that is taken is left out.
func TestAddr(t *testing.T) {
	seen := map[string]bool{}
	for range size / 2 {
		addr := Addr(t)
		if seen[addr] {
			t.Fatalf("%s was given twice", addr)
		}
		seen[addr] = true
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	given.Store(0)
	if addr := Addr(t); seen[addr] {
		t.Errorf("%s was given and is not free", addr)
	}
}
