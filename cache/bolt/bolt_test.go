package bolt

import (
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
)

// inside lets the suite see what a store holds.
type inside struct{ *Store }

func (s inside) Bytes() int64 {
	u, err := s.Usage()
	if err != nil {
		panic(err)
	}
	return u.Bytes
}

func (s inside) Plant(origin robots.Origin, record []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		h := header{record: record}
		if hashes, err := fetch.EncodedBodies(record); err == nil {
			h.hashes = hashes
		}
		return tx.Bucket(recordsBucket).Put([]byte(origin.String()), h.append(nil))
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
