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

// TestForeign: a file of another program, or of another release, is refused with one sentence
// and not changed. An empty one is used.
func TestForeign(t *testing.T) {
	other := func(fill func(tx *bbolt.Tx) error) []byte {
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
	bucket := func(name, key string) []byte {
		return other(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte(name))
			return errors.Join(err, b.Put([]byte(key), []byte("1")))
		})
	}
	ours := func(change func(tx *bbolt.Tx) error) []byte {
		return other(func(tx *bbolt.Tx) error { return errors.Join(layOut(tx), change(tx)) })
	}
	const foreign, damaged = "it is not a cache of robots.txt files", "it is damaged: "
	whole := sample(t, 50)
	for _, f := range []struct {
		name, want string // none if it is used
		data       []byte
	}{
		{"empty", "", nil},
		{"no buckets", "", other(func(*bbolt.Tx) error { return nil })},
		{"a byte", foreign, []byte{0}},
		{"text", foreign, []byte("User-agent: *\nDisallow: /\n")},
		{"zeros", foreign, make([]byte, 64<<10)},
		{"noise", foreign, noise(64 << 10)},
		{"sqlite", foreign, append([]byte("SQLite format 3\x00"), make([]byte, 8192)...)},
		{"another program", foreign, bucket("accounts", "a")},
		{"another program's meta", foreign, bucket("meta", "format")},
		{"cut to nothing", foreign, whole[:1]},
		{"cut to a page", damaged, whole[:4096]},
		{"cut to pages", damaged + "it is truncated", whole[:6*4096]},
		{"no version", damaged + "it has no version", ours(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete(versionKey) })},
		{"no entries", damaged + "it lacks a bucket", ours(func(tx *bbolt.Tx) error { return tx.DeleteBucket(entriesBucket) })},
		{"another version", "another release has written it", ours(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(versionKey, []byte{version + 1}) })},
	} {
		path := filepath.Join(t.TempDir(), "robots.cache")
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			t.Fatal(err)
		}
		if f.want == "" {
			put(t, mustOpen(t, path, Options{}), sampleEntry(1))
			continue
		}
		s, err := Open(path, Options{})
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: opened", f.name)
		} else if !isSentence(err.Error(), path) || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v\nwant a sentence with %q", f.name, err, f.want)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, f.data) {
			t.Errorf("%s: the file has changed (%d bytes, %v)", f.name, len(after), err)
		}
	}
	dir := t.TempDir()
	for path, want := range map[string]string{dir: "is not a regular file", filepath.Join(dir, "none", "robots.cache"): "cannot be opened: no such file"} {
		if _, err := Open(path, Options{}); err == nil || !strings.HasPrefix(err.Error(), "cache file "+path+" "+want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "a"), Options{Size: 5}); err == nil {
		t.Error("a size of 5: no error")
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
	rounds := campaign.Size(20, 50, 1000)
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

// TestLocked: of many that create a file concurrently one succeeds, and the others get an error
// soon. It can be opened again when that one has closed it.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "robots.cache")
	var wg sync.WaitGroup
	opened := make(chan *Store, 8)
	for range cap(opened) {
		wg.Go(func() {
			s, err := Open(path, Options{})
			if want := "cache file " + path + " is in use by another process (waited 1s): stop that process or use another file"; err == nil {
				opened <- s
			} else if err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
	wg.Wait()
	if n := len(opened); n != 1 {
		t.Fatalf("%d opened", n)
	}
	if err := (<-opened).Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path, Options{})
}

// endsInWrite is a context that ends when the writer has taken a write: until then its caller
// waits for Done once.
type endsInWrite struct {
	context.Context
	waits int
}

func (c *endsInWrite) Done() <-chan struct{} {
	if c.waits++; c.waits < 2 {
		return nil
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

func (c *endsInWrite) Err() error {
	if c.waits < 2 {
		return nil
	}
	return context.DeadlineExceeded
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
	err = s.Put(&endsInWrite{Context: context.Background()}, sampleEntry(1), time.Hour)
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

// TestSize: when much more is written than a file can hold, it stays within its limit, and each
// write can be read at once, even if large entries scatter the free pages of a small file.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: it fills files to their limits")
	}
	for _, f := range []struct{ size, origins, rounds, largest int }{
		{4 << 20, 7000, campaign.Size(30, 30, 900), 120_000},
		{1 << 20, 1700, campaign.Size(15, 30, 1000), 60_000},
	} {
		t.Run(fmt.Sprint(f.size), func(t *testing.T) {
			t.Parallel()
			s := mustOpen(t, filepath.Join(t.TempDir(), "robots.cache"), Options{Size: int64(f.size)})
			last := func(i int, e cache.Entry) {
				t.Helper()
				put(t, s, e)
				if _, err := s.Get(t.Context(), e.Record.Origin); err != nil {
					t.Fatalf("the entry written last, %d: %v", i, err)
				}
				if info, err := os.Stat(s.path); err != nil || info.Size() > int64(f.size) {
					t.Fatalf("the file has %d bytes: %v", info.Size(), err)
				}
			}
			for n := range f.rounds {
				var wg sync.WaitGroup
				for k := range 80 {
					i := 80*n + k
					body := string(noise([]int{6, 300, 1200, 6000, f.largest}[i%5*(i%11)/10])) // which does not compress
					wg.Go(func() { put(t, s, cache.Entry{Record: cachetest.Record(cachetest.Origin(i%f.origins), body)}) })
				}
				wg.Wait()
				last(n, sampleEntry(8000+n))
			}
			// A transaction makes room for all that it writes, on a slow machine for many entries;
			// one at a time they fill the file again.
			for i := range 300 {
				last(i, cache.Entry{Record: cachetest.Record(cachetest.Origin(9000+i), string(noise(6000)))})
			}
			origins, kept := counts(t, s)
			if kept < f.size/3 {
				t.Errorf("only %d bytes kept in %d", kept, f.size)
			}
			t.Logf("%d entries, %d bytes", origins, kept)
		})
	}
}

// TestExpired: expired entries are removed with later writes, a few at a time, whatever the
// clock.
func TestExpired(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "robots.cache"), Options{})
	const n = 100
	for i := range n {
		put(t, s, sampleEntry(i))
	}
	err := s.db.Update(func(tx *bbolt.Tx) error { // the clock is set forward
		for i := range n {
			key := []byte(cachetest.Origin(i).String())
			if err := newest(tx).Put(key, append(make([]byte, 8), newest(tx).Get(key)[8:]...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		before, _ := counts(t, s)
		put(t, s, sampleEntry(n+i))
		if after, _ := counts(t, s); after < before-4 {
			t.Fatalf("a write has removed %d", before-after)
		}
	}
	if left, _ := counts(t, s); left > n*5/4 {
		t.Errorf("%d expired entries are left", left-n)
	}
}

// TestFormat opens a file of the first release with this format, which every later one must
// open.
func TestFormat(t *testing.T) {
	const golden = "testdata/version3.cache"
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
	path, ctx := filepath.Join(t.TempDir(), "cache"), t.Context()
	for _, value := range []string{"", "one", strings.Repeat("two", 10_000), "three"} {
		s := mustOpen(t, path, Options{})
		if got, err := s.Kept(ctx, "other"); got != nil || err != nil {
			t.Errorf("what nobody kept: %q, %v", got, err)
		}
		if err := errors.Join(s.Keep(ctx, "a", []byte(value)), s.Close()); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, path, Options{})
		if got, err := s.Kept(ctx, "a"); got == nil || string(got) != value || err != nil {
			t.Errorf("%.20q instead of %.20q, %v", got, value, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
