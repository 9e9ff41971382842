package bulk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks an open file; errHeld says that somebody else has. The lock ends with the
// process.
func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// removeLocked closes a file that is locked and removes it: it cannot be removed earlier.
func removeLocked(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

// syncDir does nothing: Windows makes names durable by itself.
func syncDir(string) error { return nil }
