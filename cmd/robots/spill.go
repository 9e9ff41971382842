package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
)

// spillAt is how many bytes of records a run without --cache keeps in memory
// before it makes a file: some thousand usual sites, so that most runs make none.
const spillAt = 16 << 20

// A spill is the store of a run without --cache: memory for what fits, and for the
// rest a file that is gone with the process. Nothing is forgotten when memory is
// full, or sites would be asked again before they are due.
type spill struct {
	memory *cache.Memory // without a bound of its own

	mu    sync.Mutex
	tried bool        // to make the file
	err   error       // of that, or
	file  *bolt.Store // nil before
	path  string      // of a file that is still to be removed
}

func newSpill() *spill { return &spill{memory: cache.NewMemory(1 << 62)} }

// Get returns the entry of an origin.
func (s *spill) Get(ctx context.Context, origin robots.Origin) (cache.Entry, error) {
	e, err := s.memory.Get(ctx, origin)
	s.mu.Lock()
	file := s.file
	s.mu.Unlock()
	if file == nil || !errors.Is(err, cache.ErrAbsent) {
		return e, err
	}
	return file.Get(ctx, origin)
}

// Put keeps an entry.
func (s *spill) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	s.mu.Lock()
	if s.memory.Usage().Bytes < spillAt {
		defer s.mu.Unlock()
		return s.memory.Put(ctx, e, keep)
	}
	if !s.tried {
		s.tried = true
		if s.file, s.path, s.err = temporary(); s.err != nil {
			s.err = fmt.Errorf("no temporary file: %w", s.err)
		}
	}
	file, err := s.file, s.err
	s.mu.Unlock()
	if err == nil {
		err = file.Put(ctx, e, keep)
	}
	if err == nil {
		err = s.memory.Delete(ctx, e.Record.Origin) // what was there before it
	}
	return err
}

// temporary makes a file that is gone with the process, however that ends, where
// the system permits it. The path is that of a file that is still to be removed.
//
// Unless TMPDIR says where, /var/tmp comes first: /tmp is often memory, which the
// file is to save.
func temporary() (file *bolt.Store, path string, err error) {
	folders := []string{os.TempDir()}
	if runtime.GOOS != "windows" && os.Getenv("TMPDIR") == "" {
		folders = []string{"/var/tmp", os.TempDir()}
	}
	for _, folder := range folders {
		var f *os.File
		if f, err = os.CreateTemp(folder, "robots-*.cache"); err != nil {
			continue
		}
		path = f.Name()
		_ = f.Close()
		if file, err = bolt.Open(path, bolt.Options{NoSync: true}); err != nil {
			_ = os.Remove(path)
			continue
		}
		if os.Remove(path) == nil { // it lives on while it is open
			path = ""
		}
		return file, path, nil
	}
	return nil, "", err
}

// Delete forgets an origin.
func (s *spill) Delete(ctx context.Context, origin robots.Origin) error {
	s.mu.Lock()
	file := s.file
	s.mu.Unlock()
	err := s.memory.Delete(ctx, origin)
	if file != nil {
		err = errors.Join(err, file.Delete(ctx, origin))
	}
	return err
}

// Close forgets everything.
func (s *spill) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.memory.Close()
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	if s.path != "" {
		_ = os.Remove(s.path)
	}
	return err
}
