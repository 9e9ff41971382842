//go:build amd64 || arm64

package bolt

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestFull: the system lets the file grow no further (RLIMIT_FSIZE). What was
// acknowledged stays, and without the limit everything goes on.
func TestFull(t *testing.T) {
	if os.Getenv(tortureEnv) == "" {
		inChild(t, "limit") // the limit is that of a process
		return
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Skip(err)
	}
	limit := func(bytes uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	step := 4 << 10 * campaign.Size(32, 8, 1)
	failed, refused := 0, 0
	for room := step; room <= 600<<10 && !t.Failed(); room += step {
		b := newBench(t, filepath.Join(dir, "robots.cache"), dir, fmt.Sprintf("room for %d bytes", room))
		limit(uint64(room))
		if b.open() {
			for i := range 30 {
				for _, i := range []int{i, 1000 + i} {
					if b.put(i) != nil {
						failed++
					}
				}
			}
			for i := range 10 {
				if b.remove(1000+i) != nil {
					failed++
				}
			}
			b.check("full", b.s)
		} else {
			refused++
		}
		limit(old.Cur)
		if b.s != nil {
			for _, i := range []int{1, 1025} {
				if err := b.put(i); err != nil {
					b.errorf("put with room again: %v", err)
				}
			}
			b.close()
		}
		if !b.open() {
			t.Fatalf("%s: not opened with room again", b.title)
		}
		b.check("opened again", b.s)
		counts(t, b.s)
		b.close()
		if left, _ := filepath.Glob(b.path + ".new*"); len(left) > 0 {
			b.errorf("left over: %v", left)
		}
		if err := os.Remove(b.path); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d calls failed, under %d limits the file could not be made", failed, refused)
}
