// Package replace writes files in one step.
package replace

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// File writes a file, durably, so that a crash or a full disk leaves the old one. It follows
// symbolic links, and keeps the mode of an old file, which must be writable. A new file has the
// mode that the umask allows. Two processes can write the same file at once.
func File(name string, body []byte) error {
	mode := fs.FileMode(0o666)
	old, err := os.OpenFile(name, os.O_WRONLY, 0)
	exists := err == nil
	if exists {
		defer old.Close()
		info, err := old.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() { // such as /dev/stdout
			_, err = old.Write(body)
			return err
		}
		mode = info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		target = name
	}
	// With the mode of the file from the beginning, as os.CreateTemp has 0600 and a later Chmod
	// ignores the umask.
	temp, err := os.OpenFile(filepath.Join(filepath.Dir(target), ".robots-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = temp.Write(body); err == nil && exists {
		err = temp.Chmod(mode)
	}
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), target)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // the error of writing says more
	}
	return err
}
