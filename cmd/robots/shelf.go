package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
)

const (
	// spillAt is how many octets of records a run without --cache keeps in memory
	// before it makes a file for them: some thousand usual sites, so that most
	// runs make none.
	spillAt = 16 << 20
	// busyMost is how many octets may be on their way to the file when another
	// site is asked: a disk may be slower than all sites together.
	busyMost = 16 << 20
)

// A shelf is where a run has what it fetched: in the file of --cache, or in one
// that is gone with the process. Either way nothing is forgotten when memory is
// full, or sites would be asked again before they are due.
type shelf struct {
	mu      sync.Mutex
	early   *cache.Memory   // without a bound; nil when there is or was a file
	origins []robots.Origin // in early
	file    cache.Store     // nil before, and if none can be made
	path    string          // of a file that is still to be removed
	busy    int64           // octets on their way
	eased   chan struct{}   // closed when they are few enough; nil if nobody waits for that
}

// newShelf returns a shelf in a file, or, without one, in memory and then in a file
// of its own.
func newShelf(file *bolt.Store) *shelf {
	if file != nil {
		return &shelf{file: file}
	}
	return &shelf{early: cache.NewMemory(1 << 62)}
}

// ease waits until the file has caught up, and returns the error of ctx if that
// ends before.
func (s *shelf) ease(ctx context.Context) error {
	s.mu.Lock()
	if s.busy > busyMost && s.eased == nil {
		s.eased = make(chan struct{})
	}
	eased := s.eased
	s.mu.Unlock()
	if eased == nil {
		return nil
	}
	select {
	case <-eased:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add counts octets that are on their way, or, negative, no more.
func (s *shelf) add(octets int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy += octets; s.busy <= busyMost && s.eased != nil {
		close(s.eased)
		s.eased = nil
	}
}

// store returns where entries are, nil if they have no place.
func (s *shelf) store() cache.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.early != nil {
		return s.early
	}
	return s.file
}

// Get returns the entry of an origin.
func (s *shelf) Get(ctx context.Context, origin robots.Origin) (cache.Entry, error) {
	if store := s.store(); store != nil {
		return store.Get(ctx, origin)
	}
	return cache.Entry{}, cache.ErrAbsent
}

// Put keeps an entry. That no file can be made is said once.
func (s *shelf) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	octets := weight(e.Record)
	s.add(octets)
	defer s.add(-octets)
	s.mu.Lock()
	if s.early == nil {
		file := s.file
		s.mu.Unlock()
		if file == nil {
			return nil
		}
		return file.Put(ctx, e, keep)
	}
	defer s.mu.Unlock()
	before := s.early.Usage().Origins
	if err := s.early.Put(ctx, e, keep); err != nil {
		return err
	}
	u := s.early.Usage()
	if u.Origins > before {
		s.origins = append(s.origins, e.Record.Origin)
	}
	if u.Octets <= spillAt {
		return nil
	}
	return s.move(keep)
}

// move takes all entries from memory to a file. Others wait for it meanwhile,
// for some tenths of a second.
func (s *shelf) move(keep time.Duration) error {
	early, origins := s.early, s.origins
	s.early, s.origins = nil, nil
	file, path, err := temporary()
	if err != nil {
		return fmt.Errorf("no temporary file: %w", err)
	}
	ctx := context.Background()
	for _, origin := range origins {
		e, err := early.Get(ctx, origin)
		if err == nil {
			err = file.Put(ctx, e, keep)
		}
		if err != nil {
			_ = file.Close()
			_ = os.Remove(path)
			return err
		}
	}
	s.file, s.path = file, path
	return nil
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
func (s *shelf) Delete(ctx context.Context, origin robots.Origin) error {
	if store := s.store(); store != nil {
		return store.Delete(ctx, origin)
	}
	return nil
}

// Close forgets everything.
func (s *shelf) Close() error {
	store := s.store()
	if store == nil {
		return nil
	}
	err := store.Close()
	if s.path != "" {
		_ = os.Remove(s.path)
	}
	return err
}
