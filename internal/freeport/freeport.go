// Package freeport gives tests addresses for servers that open their port themselves, in
// a process of their own.
package freeport

import (
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// The ports lie below those that a system gives to a request for any port (from 32,768 on
// with Linux): else another test could be given the port of a server that is about to
// start, or that is dead for a while. The bus of a Redis Cluster listens 10,000 above its
// server, so these ports lie between 17,000 and 20,000.
const first, blocks, size = 7_000, 15, 200

// A process has a block of ports as long as it listens at the first of them.
var block = sync.OnceValue(func() net.Listener {
	for i := range blocks {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+(os.Getpid()+i)%blocks*size))
		if err == nil {
			return l
		}
	}
	return nil
})

var given atomic.Int64

// Addr returns an address of loopback that is free, and that the next 198 calls in this
// process, and calls in other processes, do not return.
func Addr(t testing.TB) string {
	t.Helper()
	l := block()
	if l == nil {
		t.Fatalf("no free ports: %d processes have theirs between %d and %d", blocks, first, first+blocks*size-1)
	}
	base := l.Addr().(*net.TCPAddr).Port
	for range size {
		port := base + 1 + int(given.Add(1)-1)%(size-1)
		if free(port) && free(port+10_000) {
			return fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	t.Fatalf("no free port between %d and %d", base, base+size-1)
	return ""
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
