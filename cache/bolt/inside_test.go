package bolt

import (
	"encoding/binary"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/robotskit/robots/fetch"
)

// counts holds what a store counts against what is there: references, bytes and
// the order of writing.
func counts(t *testing.T, s *Store) {
	t.Helper()
	err := s.db.View(func(tx *bbolt.Tx) error {
		refs := map[fetch.Hash]uint32{}
		var total int64
		lines := 0
		tbl := open(tx)
		err := tbl.records.ForEach(func(k, v []byte) error {
			h, err := parseHeader(v)
			if err != nil {
				t.Errorf("entry of %s: %v", k, err)
			}
			for _, hash := range h.hashes {
				refs[hash]++
			}
			if got := tbl.order.Get(orderKey(h.sequence)); string(got) != string(k) {
				t.Errorf("entry of %s has the sequence number of %q", k, got)
			}
			total += entryBytes(k, len(v))
			lines++
			return nil
		})
		if err != nil {
			return err
		}
		err = tbl.bodies.ForEach(func(k, v []byte) error {
			total += int64(len(k) + len(v))
			hash := fetch.Hash(k)
			if binary.BigEndian.Uint16(k[len(hash):]) > 0 {
				return nil
			}
			body, n, err := readBody(tbl.bodies, hash)
			if err != nil || fetch.HashOf(body) != hash || n != refs[hash] {
				t.Errorf("body %x counts %d references, there are %d; %v", k[:6], n, refs[hash], err)
			}
			delete(refs, hash)
			return nil
		})
		if err != nil {
			return err
		}
		if len(refs) != 0 {
			t.Errorf("%d bodies are missing", len(refs))
		}
		n := 0
		if err := tbl.order.ForEach(func(k, v []byte) error { n++; return nil }); err != nil {
			return err
		}
		if n != lines || total != tbl.size {
			t.Errorf("%d sequence numbers for %d entries, %d bytes counted of %d", n, lines, tbl.size, total)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
