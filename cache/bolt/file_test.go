package bolt

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

var update = flag.Bool("update", false, "write testdata anew")

func mustOpen(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// put puts an entry for an hour.
func put(t *testing.T, s cache.Store, e cache.Entry) {
	t.Helper()
	if err := s.Put(context.Background(), e, time.Hour); err != nil {
		t.Errorf("put of %s: %v", e.Record.Origin, err)
	}
}

// sample makes a store with entries of all sizes and returns the bytes of its file.
func sample(t *testing.T, n int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample")
	s := mustOpen(t, path, Options{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			put(t, s, sampleEntry(i))
		})
	}
	wg.Wait()
	for i := range n / 10 { // free some pages
		if err := s.Delete(context.Background(), cachetest.Origin(n-1-i)); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sampleEntry(i int) cache.Entry {
	r := cachetest.Record(cachetest.Origin(i), strings.Repeat(fmt.Sprintln("Disallow: /", i%50), i%50*(i%7)))
	if i%5 == 0 {
		r.LastGood = &fetch.Copy{Outcome: fetch.Success, Cause: fetch.OK, Body: []byte("shared")}
	}
	return cache.Entry{Record: r}
}

// TestForeign: a file of another program, or of a later release, is refused with one sentence
// and not changed.
func TestForeign(t *testing.T) {
	otherBolt := func(fill func(tx *bbolt.Tx) error) []byte {
		path := filepath.Join(t.TempDir(), "other")
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(fill), db.Close()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ours := func(change func(tx *bbolt.Tx) error) []byte {
		return otherBolt(func(tx *bbolt.Tx) error { return errors.Join(layOut(tx), change(tx)) })
	}
	whole := sample(t, 50)
	files := map[string][]byte{
		"one byte":       {0},
		"text":           []byte("User-agent: *\nDisallow: /\n"),
		"zeros":          make([]byte, 64<<10),
		"noise":          noise(64 << 10),
		"sqlite":         append([]byte("SQLite format 3\x00"), make([]byte, 8192)...),
		"cut to nothing": whole[:1],
		"cut to a page":  whole[:4096],
		"cut to pages":   whole[:6*4096],
		"another program's": otherBolt(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte("accounts"))
			return errors.Join(err, b.Put([]byte("a"), []byte("1")))
		}),
		"another program's meta": otherBolt(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte("meta"))
			return errors.Join(err, b.Put([]byte("format"), []byte("1")))
		}),
		"a later release's": ours(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(versionKey, []byte{version + 1}) }),
		"no version":        ours(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete(versionKey) }),
		"no order":          ours(func(tx *bbolt.Tx) error { return tx.DeleteBucket(orderBucket) }),
	}
	for name, data := range files {
		path := filepath.Join(t.TempDir(), "robots.cache")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if err == nil {
			t.Errorf("%s: opened", name)
			_ = s.Close()
		} else if !isSentence(err.Error(), path) {
			t.Errorf("%s: %q is no sentence that names the file and a way out", name, err)
		} else if name == "a later release's" && !strings.Contains(err.Error(), "another release") {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
			t.Errorf("%s: the file has changed (%d bytes, %v)", name, len(after), err)
		}
		if err != nil && testing.Verbose() {
			t.Logf("%-22s %s", name, strings.ReplaceAll(err.Error(), path, "FILE"))
		}
	}
	t.Logf("%d files refused and unchanged", len(files))
	dir := t.TempDir()
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none", "robots.cache"), Options{}); err == nil || !strings.Contains(err.Error(), "cannot be created: no such file") {
		t.Errorf("no folder: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "a"), Options{Size: 5}); err == nil {
		t.Error("a size of 5: no error")
	}
	for name, data := range map[string][]byte{"empty": {}, "no tables": otherBolt(func(*bbolt.Tx) error { return nil })} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, path, Options{})
		if err := s.Put(context.Background(), sampleEntry(1), time.Hour); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func noise(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func isSentence(s, path string) bool {
	return strings.HasPrefix(s, "cache file "+path+" is not changed: ") && strings.HasSuffix(s, "; use another file, or move this one away") && !strings.Contains(s, "\n")
}

// TestDamage flips bytes and cuts the file in hundreds of places. The file is
// refused and unchanged, or opens and gives the entries as they were or an error
// for each that is not, before and after it takes writes, and the process goes on.
func TestDamage(t *testing.T) {
	const n = 300
	whole := sample(t, n)
	rounds := campaign.Size(20, 100, 1000)
	random := rand.New(rand.NewPCG(5, 6))
	refused, lost, kept := 0, 0, 0
	for round := range rounds {
		path := filepath.Join(t.TempDir(), "robots.cache")
		data := bytes.Clone(whole)
		switch round % 4 {
		case 0: // a byte
			data[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
		case 1: // in the beginning of a page, where its structure is
			data[random.IntN(len(data)/4096)*4096+random.IntN(64)] ^= byte(1 + random.IntN(255))
		case 2: // a page
			at := random.IntN(len(data)/4096) * 4096
			if random.IntN(2) == 0 {
				copy(data[at:at+4096], noise(4096))
			} else {
				copy(data[at:at+4096], data[random.IntN(len(data)/4096)*4096:])
			}
		default:
			data = data[:random.IntN(len(data))]
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			continue
		}
		s, err := Open(path, Options{})
		if err != nil {
			refused++
			after, rerr := os.ReadFile(path)
			if !isSentence(err.Error(), path) || rerr != nil || !bytes.Equal(after, data) {
				t.Fatalf("round %d: %v; unchanged: %v", round, err, bytes.Equal(after, data))
			}
			continue
		}
		ctx := context.Background()
		for i := range n - n/10 {
			e, err := s.Get(ctx, cachetest.Origin(i))
			switch {
			case errors.Is(err, cache.ErrAbsent):
				lost++
			case err != nil:
				lost++
			case cachetest.Difference(e, sampleEntry(i)) != "":
				t.Errorf("round %d: entry %d is another", round, i)
			default:
				kept++
			}
		}
		var wg sync.WaitGroup
		for i := range 50 { // a good answer heals, unless the damage is around it
			wg.Go(func() {
				if err := s.Put(ctx, sampleEntry(i), time.Hour); err != nil {
					return
				}
				if e, err := s.Get(ctx, cachetest.Origin(i)); err == nil && cachetest.Difference(e, sampleEntry(i)) != "" {
					t.Errorf("round %d: entry %d after it was put anew is another", round, i)
				}
			})
		}
		wg.Wait()
		_ = s.Close()
	}
	t.Logf("%d damaged files: %d refused and unchanged; of the others %d entries were as they had been, %d said that they were not", rounds, refused, kept, lost)
}

// TestLocked: the second process to open a file gets an error soon.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.cache")
	s := mustOpen(t, path, Options{})
	_, err := Open(path, Options{LockWait: 20 * time.Millisecond})
	if want := "cache file " + path + " is in use by another process (waited 20ms): stop that process or use another file"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path, Options{})
}

// TestLate: a write that takes longer than its caller waits returns an error with the name of
// the file, and is kept.
func TestLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.cache")
	s := mustOpen(t, path, Options{})
	slow, err := s.db.Begin(true) // the disk, as the writer sees it
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err = s.Put(ctx, sampleEntry(1), time.Hour)
	if want := "cache file " + path + ": the write is in progress and might still take effect: context deadline exceeded"; err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := slow.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // which waits for it
		t.Fatal(err)
	}
	s = mustOpen(t, path, Options{})
	if _, err := s.Get(context.Background(), cachetest.Origin(1)); err != nil {
		t.Errorf("after the disk went on: %v", err)
	}
}

// TestRace: of many that create a file concurrently one succeeds, and the others get an error.
func TestRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.cache")
	var wg sync.WaitGroup
	var mu sync.Mutex
	opened := 0
	for range 8 {
		wg.Go(func() {
			s, err := Open(path, Options{LockWait: 5 * time.Millisecond})
			if err != nil {
				if !strings.Contains(err.Error(), "in use by another process") {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			opened++
			mu.Unlock()
			t.Cleanup(func() { _ = s.Close() })
		})
	}
	wg.Wait()
	if left, _ := filepath.Glob(path + ".new*"); opened > 1 || len(left) != 0 {
		t.Errorf("%d opened, left over: %v", opened, left)
	}
	if opened == 0 { // all met while others looked
		mustOpen(t, path, Options{})
	}
}

// TestSize: a file stays within its limit when much more is written, and keeps the last entries.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: it fills a memory or file to its limit")
	}
	const size = 4 << 20
	path := filepath.Join(t.TempDir(), "robots.cache")
	s := mustOpen(t, path, Options{Size: size})
	ctx := context.Background()
	var written, most int64
	n := 0
	for written < campaign.Size[int64](2, 4, 60)*size {
		var wg sync.WaitGroup
		for range 100 {
			i := n
			n++
			body := string(noise(6 * []int{1, 50, 200, 1000, 20_000}[i%5*(i%11)/10])) // which does not compress
			written += int64(len(body)) + 700
			wg.Go(func() {
				put(t, s, cache.Entry{Record: cachetest.Record(cachetest.Origin(i%7000), body)})
			})
		}
		wg.Wait()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	if most > size {
		t.Errorf("the file grew to %d bytes, bound %d", most, size)
	}
	// A transaction makes room for all that it writes, on a slow machine for a hundred entries; one
	// at a time they fill the file again.
	for i := range 300 {
		put(t, s, cache.Entry{Record: cachetest.Record(cachetest.Origin(9000+i), string(noise(6000)))})
	}
	put(t, s, sampleEntry(8000))
	if _, err := s.Get(ctx, cachetest.Origin(8000)); err != nil {
		t.Errorf("the entry written last: %v", err)
	}
	if kept := s.live.Load(); kept < size/3 {
		t.Errorf("only %d bytes kept in %d", kept, size)
	}
	t.Logf("%d MB in %d writes through a file of at most %d bytes, bound %d: %d entries", written/1e6, n, most, size, counts(t, s))
}

// TestScattered: large entries scatter the free pages of a small file, and small ones are
// written nevertheless.
func TestScattered(t *testing.T) {
	const size = 1 << 20
	s := mustOpen(t, filepath.Join(t.TempDir(), "robots.cache"), Options{Size: size})
	for n := range campaign.Size(15, 60, 1000) {
		var wg sync.WaitGroup
		for k := range 50 {
			i := 50*n + k
			body := string(noise(6 * []int{1, 50, 200, 1000, 10_000}[i%5*(i%11)/10]))
			wg.Go(func() { put(t, s, cache.Entry{Record: cachetest.Record(cachetest.Origin(i%1700), body)}) })
		}
		wg.Wait()
		put(t, s, sampleEntry(8000+n))
		if _, err := s.Get(t.Context(), cachetest.Origin(8000+n)); err != nil {
			t.Fatalf("the entry written last, %d: %v", n, err)
		}
	}
	if info, err := os.Stat(s.path); err != nil || info.Size() > size {
		t.Errorf("the file: %v bytes, %v", info.Size(), err)
	}
	if kept := s.live.Load(); kept < size/16 {
		t.Errorf("only %d bytes kept in %d", kept, size)
	}
}

// TestExpired: expired entries are removed with later writes, a few at a time, whatever the
// clock.
func TestExpired(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "robots.cache"), Options{})
	ctx := context.Background()
	const n = 100
	for i := range n {
		if err := s.Put(ctx, sampleEntry(i), -time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if left := counts(t, s); left > 2 {
		t.Errorf("%d are left", left)
	}
}

// TestFormat opens a file of the first release with this format, which every later one must
// open.
func TestFormat(t *testing.T) {
	const golden = "testdata/version2.cache"
	entries := []cache.Entry{{Record: cachetest.Record(cachetest.Origin(1), "User-agent: *\nDisallow: /private\n"), Fence: 7}, sampleEntry(25)}
	if *update {
		_ = os.Remove(golden)
		s := mustOpen(t, golden, Options{})
		for _, e := range entries {
			if err := s.Put(context.Background(), e, 100*365*24*time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "robots.cache")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path, Options{})
	for _, want := range entries {
		got, err := s.Get(context.Background(), want.Record.Origin)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cachetest.Difference(got, want); diff != "" {
			t.Error(diff)
		}
		put(t, s, want)
	}
	counts(t, s)
}

// TestKeep: a named value is there when the file is opened again.
func TestKeep(t *testing.T) {
	name, ctx := filepath.Join(t.TempDir(), "cache"), t.Context()
	for _, value := range []string{"", "one", strings.Repeat("two", 10_000), "three"} {
		s, err := Open(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Kept(ctx, "other"); got != nil || err != nil {
			t.Errorf("what nobody kept: %q, %v", got, err)
		}
		if err := s.Keep(ctx, "a", []byte(value)); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(name, Options{}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Kept(ctx, "a"); got == nil || string(got) != value || err != nil {
			t.Errorf("%.20q instead of %.20q, %v", got, value, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
