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

// freeSpace returns how many bytes may be written, false if that is not known.
func freeSpace(dir string) (int64, bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return int64(free), err == nil
}
