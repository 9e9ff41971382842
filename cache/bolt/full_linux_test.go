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

// TestFull: a file system without room, and a limit on the size of a file. What
// was acknowledged stays, and with room again everything goes on.
func TestFull(t *testing.T) {
	switch os.Getenv(tortureEnv) {
	case "":
		t.Run("limit", func(t *testing.T) { inChild(t, "limit", nil) })
		t.Run("file-system", func(t *testing.T) {
			inChild(t, "file-system", &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
			})
		})
		return
	case "limit":
		t.Run("limit", func(t *testing.T) {
			var old syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
				t.Skip(err)
			}
			full(t, t.TempDir(), 4<<10, func(byteCount int64) error {
				limit := old
				if byteCount > 0 {
					limit.Cur = uint64(byteCount)
				}
				return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
			})
		})
	default:
		t.Run("file-system", func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
				t.Skipf("no file system can be mounted: %v", err)
			}
			defer func() { _ = syscall.Unmount(dir, 0) }()
			full(t, dir, 16<<10, func(byteCount int64) error {
				if byteCount == 0 {
					byteCount = 64 << 20
				}
				return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", byteCount))
			})
		})
	}
}

// full fills a file under every limit in steps, and lifts the limit.
func full(t *testing.T, dir string, step int64, limit func(byteCount int64) error) {
	t.Helper()
	step *= campaign.Size[int64](32, 8, 1)
	runs, failed, refused, reopened := 0, 0, 0, 0
	for byteCount := step; byteCount <= 600<<10; byteCount += step {
		b := &bench{t: t, path: filepath.Join(dir, "robots.cache"), aside: dir, acked: map[int]uint64{}, maybe: map[int][]uint64{}, title: fmt.Sprintf("room for %d bytes", byteCount)}
		if err := limit(byteCount); err != nil {
			t.Fatal(err)
		}
		if b.open() {
			for i := range 30 {
				if b.put(i) != nil {
					failed++
				}
				if b.put(1000+i) != nil {
					failed++
				}
			}
			b.check("full", b.s)
			for i := range 10 {
				if b.remove(1000+i) != nil {
					failed++
				}
			}
			b.check("full", b.s)
		}
		if err := limit(0); err != nil {
			t.Fatal(err)
		}
		if b.s != nil {
			for _, i := range []int{1, 1025} {
				if err := b.put(i); err != nil {
					b.errorf("put with room again: %v", err)
				}
			}
			b.check("with room again", b.s)
			counts(t, b.s)
			b.close()
			reopened++
		} else {
			refused++
		}
		if !b.open() {
			t.Fatalf("%s: not opened with room again", b.title)
		}
		b.check("opened again", b.s)
		counts(t, b.s)
		b.close()
		runs++
		if left, _ := filepath.Glob(b.path + ".new*"); len(left) > 0 {
			b.errorf("left over: %v", left)
		}
		if err := os.Remove(b.path); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d limits: %d did not let the file be made, under %d entries were put, %d calls failed", runs, refused, reopened, failed)
}
