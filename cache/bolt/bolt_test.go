package bolt

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/cache/internal/packed"
)

// inside lets the suite look into a store.
type inside struct{ *Store }

func (s inside) Plant(origin robots.Origin, record []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		return newest(tx).Put([]byte(origin.String()), slices.Concat(encoded(math.MaxInt64), encoded(0), packed.PackEncoded(0, record)))
	})
}

func TestConformance(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Store {
		s, err := Open(filepath.Join(t.TempDir(), "robots.cache"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return inside{s}
	})
}

// counts returns the number and the size of all entries. It checks that each is in one
// generation, which counts its size.
func counts(t *testing.T, s *Store) (origins, total int) {
	t.Helper()
	err := s.db.View(func(tx *bbolt.Tx) error {
		entries := tx.Bucket(entriesBucket)
		return entries.ForEachBucket(func(name []byte) error {
			size := 0
			g := entries.Bucket(name)
			err := g.ForEach(func(k, v []byte) error {
				if in, _ := find(tx, k); in.Root() != g.Root() {
					t.Errorf("%s is in two generations", k)
				}
				size += len(k) + len(v)
				origins++
				return nil
			})
			if uint64(size) != g.Sequence() {
				t.Errorf("generation %x has %d bytes, counted are %d", name, size, g.Sequence())
			}
			total += size
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
	return origins, total
}
