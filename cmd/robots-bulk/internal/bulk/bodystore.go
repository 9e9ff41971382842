package bulk

import (
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/s2"
)

// A bodyStore keeps the bodies of the snapshot parts in use in temporary files, once for all shards of
// this process, as a part has its bodies by hash and not by site. It is safe for concurrent use.
type bodyStore struct {
	task  *Task
	mu    sync.Mutex
	parts map[string]*partBodies // by name of their file
}

// partBodies are the bodies of a part.
type partBodies struct {
	mu    sync.Mutex // held while they are read
	users int        // guarded by the mutex of the store
	files tempFiles
	pairs *pairFile // by hash; nil: not read yet
}

// acquire returns the bodies of a part, which the caller releases.
func (s *bodyStore) acquire(ctx context.Context, in *snapshotPart) (*partBodies, error) {
	s.mu.Lock()
	s.removeUnused(in.bodies.Name)
	bodies := s.parts[in.bodies.Name]
	if bodies == nil {
		bodies = &partBodies{}
		if s.parts == nil {
			s.parts = map[string]*partBodies{}
		}
		s.parts[in.bodies.Name] = bodies
	}
	bodies.users++
	s.mu.Unlock()
	if err := bodies.read(ctx, s.task, in); err != nil {
		s.release([]*partBodies{bodies})
		return nil, err
	}
	return bodies, nil
}

// release ends the use of bodies. They are kept until those of another part are acquired.
func (s *bodyStore) release(parts []*partBodies) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, bodies := range parts {
		bodies.users--
	}
}

// removeUnused removes all bodies without users, except those of one part.
func (s *bodyStore) removeUnused(except string) {
	for name, bodies := range s.parts {
		if bodies.users == 0 && name != except {
			bodies.files.close()
			delete(s.parts, name)
		}
	}
}

// close removes all bodies.
func (s *bodyStore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeUnused("")
}

// read reads the bodies of a part unless they were read before.
func (b *partBodies) read(ctx context.Context, t *Task, in *snapshotPart) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pairs != nil {
		return nil
	}
	if b.files, err = t.newTempFiles("bodies"); err != nil {
		return err
	}
	b.pairs, err = b.files.writePairs(in.bodyPairs(ctx))
	if err != nil {
		b.files.close()
	}
	return err
}

// bodyPairs yields the bodies of a part by hash.
func (in *snapshotPart) bodyPairs(ctx context.Context) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		for b, err := range readTable[Body](filepath.FromSlash(in.bodies.Name)) {
			err = cmp.Or(err, ctx.Err())
			if !yield(pair{key: []byte(b.SHA256), value: s2.Encode(nil, b.Body)}, err) || err != nil {
				return
			}
		}
	}
}
