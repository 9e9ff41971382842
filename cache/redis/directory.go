package redis

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/fetch"
)

// A directory keeps large bodies for all workers that see it, each once, in a file that has
// its hash as its name. Nobody counts who refers to a file: its modification time is when
// the last record that does so ends, and after that it is removed.
type directory struct {
	path    string
	written atomic.Int64 // files
}

const (
	// Each sweepEvery-th new file is followed by a sweep of its folder, one of 256.
	sweepEvery = 256
	// sweepMargin is for clocks that differ, and for files that are being written.
	sweepMargin = 24 * time.Hour
	// longestFile keeps times within what every file system can hold.
	longestFile = 10 * 365 * 24 * time.Hour
)

func openDirectory(path string) (*directory, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the directory of bodies: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is no directory of bodies", path)
	}
	return &directory{path: path}, nil
}

func (d *directory) name(h fetch.Hash) string {
	text := hex.EncodeToString(h[:])
	return filepath.Join(d.path, text[:2], text)
}

// read returns the body with a hash, which is not checked.
func (d *directory) read(h fetch.Hash) ([]byte, error) {
	if d == nil {
		return nil, errors.New("it is in a directory, and this worker has none: give all workers the same Options.Bodies")
	}
	content, err := os.ReadFile(d.name(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", errMissing, d.path)
	}
	return content, err
}

// keep keeps a body at least for so long. A file that is damaged is replaced.
func (d *directory) keep(h fetch.Hash, content []byte, keep time.Duration) error {
	name, end := d.name(h), time.Now().Add(min(keep, longestFile))
	if held, err := os.ReadFile(name); err == nil && bytes.Equal(held, content) {
		info, err := os.Stat(name)
		if err == nil && !info.ModTime().Before(end) {
			return nil
		}
		if err == nil && os.Chtimes(name, time.Time{}, end) == nil {
			return nil
		} // else it is another user's file, which can be replaced only
	}
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o777); err != nil { // for workers of other users, as their umask permits
		return err
	}
	// A reader sees the file as a whole or not at all.
	fresh := fmt.Sprintf("%s.%x", name, rand.Uint64())
	err := os.WriteFile(fresh, content, 0o666)
	if err == nil {
		err = os.Chtimes(fresh, time.Time{}, end)
	}
	if err == nil {
		err = os.Rename(fresh, name)
	}
	if err != nil {
		_ = os.Remove(fresh)
		return err
	}
	if d.written.Add(1)%sweepEvery == 0 {
		d.sweep(folder, time.Now())
	}
	return nil
}

// sweep removes the files of a folder that no record refers to any more, as far as it can.
func (d *directory) sweep(folder string, now time.Time) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().Before(now.Add(-sweepMargin)) {
			_ = os.Remove(filepath.Join(folder, f.Name()))
		}
	}
}
