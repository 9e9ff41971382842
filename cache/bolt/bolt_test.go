package bolt

import (
	"encoding/binary"
	"path/filepath"
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
		return tx.Bucket(recordsBucket).Put([]byte(origin.String()), append(make([]byte, headerSize), packed.PackEncoded(0, record)...))
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

// counts compares the counters of a store with its content: bytes and the order of writes.
func counts(t *testing.T, s *Store) (origins int) {
	t.Helper()
	err := s.db.View(func(tx *bbolt.Tx) error {
		var total int64
		order := tx.Bucket(orderBucket)
		err := tx.Bucket(recordsBucket).ForEach(func(k, v []byte) error {
			if got := order.Get(v[:8]); string(got) != string(k) {
				t.Errorf("entry of %s has the sequence number %d of %q", k, binary.BigEndian.Uint64(v), got)
			}
			total += entryBytes(k, v)
			origins++
			return nil
		})
		if n := order.Stats().KeyN; n != origins || total != s.live.Load() {
			t.Errorf("%d sequence numbers for %d entries, %d bytes counted of %d", n, origins, s.live.Load(), total)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return origins
}
