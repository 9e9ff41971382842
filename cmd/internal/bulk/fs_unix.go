//go:build darwin || freebsd || linux

package bulk

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks an open file; errHeld says that somebody else has. The lock ends with the
// process, also in a folder that machines share, if its file system has locks.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errHeld
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// removeLocked removes a file that is locked, and only then closes it.
func removeLocked(f *os.File) {
	os.Remove(f.Name())
	f.Close()
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
