package bolt

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
)

// TestStructure: a file whose pages do not form a tree is refused and not changed, before bbolt
// follows them without end or allocates what they state.
func TestStructure(t *testing.T) {
	whole := sample(t, 1000)
	native := binary.NativeEndian
	at := func(n uint64) int { return int(n) * 4096 }
	tx := int64(0)
	var meta int // of the last transaction
	for n := range uint64(2) {
		if id := int64(native.Uint64(whole[at(n)+64:])); id >= tx {
			tx, meta = id, at(n)+pageHeader
		}
	}
	root, freelist := native.Uint64(whole[meta+16:]), native.Uint64(whole[meta+32:])
	var branch, leaf uint64 // of the entries
	used := uint64(len(whole) / 4096)
	var reach func(n uint64)
	reach = func(n uint64) {
		count := int(native.Uint16(whole[at(n)+10:]))
		for i := range count {
			e := at(n) + pageHeader + i*elementSize
			switch kind := native.Uint16(whole[at(n)+8:]); {
			case kind == branchPage:
				branch, leaf = n, native.Uint64(whole[e+8:])
				reach(leaf)
			case native.Uint32(whole[e:]) == bucketElement:
				value := e + int(native.Uint32(whole[e+4:])) + int(native.Uint32(whole[e+8:]))
				if below := native.Uint64(whole[value:]); below != 0 {
					reach(below)
				}
			}
		}
	}
	reach(root)
	if branch == 0 {
		t.Fatal("the sample has no branch page")
	}
	last := (int(native.Uint16(whole[at(branch)+10:])) - 1) * elementSize
	for _, c := range []struct {
		name, want string
		change     func(data []byte)
	}{
		{"none", "", func([]byte) {}},
		{"a branch leads to itself first", "used twice", func(d []byte) { native.PutUint64(d[at(branch)+pageHeader+8:], branch) }},
		{"a branch leads to itself last", "used twice", func(d []byte) { native.PutUint64(d[at(branch)+pageHeader+last+8:], branch) }},
		{"a branch leads to the root", "used twice", func(d []byte) { native.PutUint64(d[at(branch)+pageHeader+8:], root) }},
		{"two ways to a page", "used twice", func(d []byte) { native.PutUint64(d[at(branch)+pageHeader+8:], leaf) }},
		{"a branch leads to the beginning", "there is no page 0", func(d []byte) { native.PutUint64(d[at(branch)+pageHeader+8:], 0) }},
		{"a branch leads out of the file", "there is no page", func(d []byte) { native.PutUint64(d[at(branch)+pageHeader+8:], used) }},
		{"a branch without elements", "is empty", func(d []byte) { native.PutUint16(d[at(branch)+10:], 0) }},
		{"too many elements of a branch", "elements exceed", func(d []byte) { native.PutUint16(d[at(branch)+10:], 1<<16-1) }},
		{"too many elements of a leaf", "elements exceed", func(d []byte) { native.PutUint16(d[at(leaf)+10:], 1<<16-1) }},
		{"a key out of its page", "has an element", func(d []byte) { native.PutUint32(d[at(branch)+pageHeader+4:], 1<<31) }},
		{"a value out of its page", "has an element", func(d []byte) { native.PutUint32(d[at(leaf)+pageHeader+12:], 1<<31) }},
		{"elements that overlap", "has an element", func(d []byte) { native.PutUint32(d[at(leaf)+pageHeader+elementSize+4:], 0) }},
		{"an entry that is a bucket", "malformed bucket", func(d []byte) {
			native.PutUint32(d[at(leaf)+pageHeader:], bucketElement)
			value := at(leaf) + pageHeader + int(native.Uint32(d[at(leaf)+pageHeader+4:])) + int(native.Uint32(d[at(leaf)+pageHeader+8:]))
			native.PutUint64(d[value:], 0)
		}},
		{"an unknown kind", "has the kind 3", func(d []byte) { native.PutUint16(d[at(leaf)+8:], 3) }},
		{"another number", "has the number 1", func(d []byte) { native.PutUint64(d[at(leaf):], 1) }},
		{"overflow into another page", "used twice", func(d []byte) {
			first := min(root, leaf) // where they are depends on the order of the writes
			native.PutUint32(d[at(first)+12:], uint32(max(root, leaf)-first))
		}},
		{"overflow out of the file", "there is no page", func(d []byte) { native.PutUint32(d[at(root)+12:], 1<<32-1) }},
		{"free pages without end", "free pages exceed", func(d []byte) {
			native.PutUint16(d[at(freelist)+10:], 1<<16-1)
			native.PutUint64(d[at(freelist)+pageHeader:], 1<<40)
		}},
		{"too many free pages", "free pages exceed", func(d []byte) { native.PutUint16(d[at(freelist)+10:], 1<<15) }},
		{"a free page in use", "used twice", func(d []byte) { native.PutUint64(d[at(freelist)+pageHeader:], leaf) }},
		{"a page that is free twice", "used twice", func(d []byte) { copy(d[at(freelist)+pageHeader:][:8], d[at(freelist)+pageHeader+8:]) }},
		{"no list of free pages", "has the kind 2", func(d []byte) { native.PutUint16(d[at(freelist)+8:], leafPage) }},
	} {
		path := filepath.Join(t.TempDir(), "robots.cache")
		data := bytes.Clone(whole)
		c.change(data)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			put(t, mustOpen(t, path, Options{}), sampleEntry(1))
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := Open(path, Options{})
		runtime.ReadMemStats(&after)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: opened", c.name)
		} else if !isSentence(err.Error(), path) || !strings.Contains(err.Error(), "it is damaged: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant a sentence with %q", c.name, err, c.want)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(2*len(whole)) {
			t.Errorf("%s: %d bytes were allocated for a file of %d", c.name, allocated, len(whole))
		}
		if now, err := os.ReadFile(path); err != nil || !slices.Equal(now, data) {
			t.Errorf("%s: the file has changed (%v)", c.name, err)
		}
	}
}

// counted counts what is read of a file.
type counted struct {
	io.ReaderAt
	reads int
	bytes int64
}

func (c *counted) ReadAt(data []byte, at int64) (int, error) {
	c.reads++
	c.bytes += int64(len(data))
	return c.ReaderAt.ReadAt(data, at)
}

// TestCheckReads: a check reads no more than the beginning of each page, so that a file with hundreds
// of thousands of records opens soon, however large they are.
func TestCheckReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.cache")
	s := mustOpen(t, path, Options{})
	const large = 100_000
	for i := range 10 {
		put(t, s, cache.Entry{Record: cachetest.Record(cachetest.Origin(i), string(noise(large)))})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		c := &counted{ReaderAt: file}
		if err := check(c, tx, db.Info().PageSize); err != nil {
			return err
		}
		if c.bytes > large || c.reads > 20 {
			t.Errorf("%d reads of %d bytes in a file of %d", c.reads, c.bytes, tx.Size())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
