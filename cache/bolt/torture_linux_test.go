//go:build amd64 || arm64

package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/campaign"
)

// tortureEnv names the part that a child process plays: bbolt wants a real file,
// so it is the kernel that must fail, and what is done to it for that is for the
// rest of a process's life.
const tortureEnv = "ROBOTS_TEST_TORTURE"

// inChild runs the calling test in a process of its own.
func inChild(t *testing.T, part string) {
	t.Helper()
	memory, err := os.MkdirTemp("/dev/shm", "robots") // the disk is not what fails
	if err != nil {
		memory = t.TempDir()
	}
	defer os.RemoveAll(memory)
	child := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v",
		fmt.Sprintf("-test.short=%v", testing.Short()))
	child.Env = append(os.Environ(), tortureEnv+"="+part, "TMPDIR="+memory)
	out, err := child.CombinedOutput()
	text := string(out)
	if child.ProcessState == nil {
		t.Skipf("no child process: %v", err)
	}
	for line := range strings.Lines(text) {
		if at := strings.Index(line, "_test.go:"); at >= 0 && err == nil {
			_, line, _ = strings.Cut(line[at:], ": ")
			t.Log(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Fatalf("the child process: %v\n%s", err, text)
	}
	if strings.Contains(text, "--- SKIP") {
		t.Skip("the child process had to skip it")
	}
}

// A bench is one run of a scenario on one file.
type bench struct {
	t     *testing.T
	k     *kernel
	path  string
	aside string // a folder for copies, which no failure reaches
	size  int64
	title string
	s     *Store // nil while closed

	mu    sync.Mutex
	acked map[int]uint64   // the version of each entry acknowledged last, 0 for none
	maybe map[int][]uint64 // put since then without an acknowledgement
	last  uint64
}

func newBench(t *testing.T, path, aside, title string) *bench {
	return &bench{t: t, path: path, aside: aside, title: title, acked: map[int]uint64{}, maybe: map[int][]uint64{}}
}

func (b *bench) errorf(format string, args ...any) {
	b.t.Helper()
	b.t.Errorf("%s: "+format, append([]any{b.title}, args...)...)
}

// tortured is the i-th entry in a version; its size follows from i.
func tortured(i int, version uint64) cache.Entry {
	e := cachetest.Numbered(i, version)
	if i >= 1000 { // large, and another in each version
		e.Record = cachetest.Record(cachetest.Origin(i), strings.Repeat(fmt.Sprintln("Disallow: /", i, version), (i-1000)*50))
		e.Epoch = version
	}
	return e
}

func (b *bench) options() Options { return Options{Size: b.size, LockWait: 50 * time.Millisecond} }

func (b *bench) open() bool {
	b.t.Helper()
	s, err := Open(b.path, b.options())
	if err != nil {
		b.sentence(err)
		return false
	}
	b.s = s
	return true
}

// sentence holds an error against what a user can read.
func (b *bench) sentence(err error) {
	b.t.Helper()
	if s := err.Error(); !strings.HasPrefix(s, "cache file "+b.path) || strings.Contains(s, "\n") || strings.Contains(s, "runtime error") {
		b.errorf("%q is no sentence that names the file", s)
	}
}

func (b *bench) put(i int) error {
	b.t.Helper()
	b.mu.Lock()
	b.last++
	version := b.last
	b.mu.Unlock()
	err := b.s.Put(context.Background(), tortured(i, version), time.Hour)
	b.note(i, version, err)
	return err
}

func (b *bench) remove(i int) error {
	b.t.Helper()
	err := b.s.Delete(context.Background(), cachetest.Origin(i))
	b.note(i, 0, err)
	return err
}

func (b *bench) note(i int, version uint64, err error) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.acked[i], b.maybe[i] = version, nil
		return
	}
	b.sentence(err)
	b.maybe[i] = append(b.maybe[i], version)
}

func (b *bench) close() {
	b.t.Helper()
	if b.s == nil {
		return
	}
	if err := b.s.Close(); err != nil {
		b.sentence(err)
	}
	b.s = nil
}

// check holds what a store has against what it acknowledged.
func (b *bench) check(when string, s *Store) {
	b.t.Helper()
	for i, want := range b.acked {
		e, err := s.Get(context.Background(), cachetest.Origin(i))
		var got uint64
		switch {
		case errors.Is(err, cache.ErrAbsent):
		case err != nil:
			b.errorf("%s: entry %d: %v", when, i, err)
			continue
		default:
			got = e.Epoch
			if diff := cachetest.Difference(e, tortured(i, got)); diff != "" {
				b.errorf("%s: entry %d is not what was put: %s", when, i, diff)
			}
		}
		if got != want && !slices.Contains(b.maybe[i], got) && (got != 0 || b.size == 0) {
			b.errorf("%s: entry %d is of version %d, acknowledged was %d, else put %d", when, i, got, want, b.maybe[i])
		}
	}
	if s.db.Stats().OpenTxN != 0 {
		b.errorf("%s: %d transactions are open", when, s.db.Stats().OpenTxN)
	}
}

// copied checks a copy of the file: as it is, or as a loss of power leaves it.
func (b *bench) copied(when string, data []byte) {
	b.t.Helper()
	path := filepath.Join(b.aside, "copy")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.t.Fatal(err)
	}
	defer os.Remove(path)
	s, err := Open(path, b.options())
	if err != nil {
		if len(b.acked) > 0 || !isSentence(err.Error(), path) {
			b.errorf("%s: %v", when, err)
		}
		return
	}
	b.check(when, s)
	counts(b.t, s)
	if err := s.Close(); err != nil {
		b.errorf("%s: %v", when, err)
	}
}

// puts puts an entry, which must succeed, and looks at what a loss of power would
// leave after each sync of it.
func (b *bench) puts(when string, i int) {
	b.t.Helper()
	acked, put := b.acked[i]
	maybe := b.maybe[i]
	b.k.watch(true)
	if err := b.put(i); err != nil {
		b.errorf("put %s: %v", when, err)
	}
	seen := b.k.watch(false)
	later := b.acked[i]
	if b.acked[i] = acked; !put {
		delete(b.acked, i)
	}
	b.maybe[i] = append(slices.Clone(maybe), later)
	for n, data := range seen {
		if n == len(seen)-1 {
			b.acked[i], b.maybe[i] = later, nil
		}
		b.copied(fmt.Sprintf("%s, power lost after sync %d of %d of a put", when, n+1, len(seen)), data)
	}
}

// aftermath: the system works again.
func (b *bench) aftermath(tally map[string]int) {
	b.t.Helper()
	if data, ok := b.k.left(b.path); ok {
		b.copied("after the failure, power lost", data)
	}
	broken := false
	if b.s != nil {
		data, err := os.ReadFile(b.path)
		if err != nil {
			b.t.Fatal(err)
		}
		b.copied("after the failure, killed", data)
		if broken = slices.Contains(b.k.struck, syscall.SYS_MMAP) && b.s.db.View(ours) != nil; broken {
			tally["stores that had to be opened again"]++
			if _, err := b.s.Get(context.Background(), cachetest.Origin(1)); err == nil || errors.Is(err, cache.ErrAbsent) {
				b.errorf("without a mapping: %v", err)
			} else {
				b.sentence(err)
			}
		} else {
			b.check("after the failure", b.s)
			for _, i := range []int{1, 1010} {
				b.puts("after the failure", i)
			}
			b.check("after puts after the failure", b.s)
			counts(b.t, b.s)
		}
		b.close()
	}
	if before, err := os.ReadFile(b.path); err == nil {
		b.k.watch(true)
		s, err := Open(b.path, b.options())
		for n, data := range b.k.watch(false) {
			if !campaign.On() && !slices.Contains(b.k.struck, syscall.SYS_FDATASYNC) {
				break // what a write left undone is found below
			}
			b.copied(fmt.Sprintf("power lost after sync %d of opening again", n+1), data)
		}
		if err != nil {
			after, rerr := os.ReadFile(b.path)
			if !isSentence(err.Error(), b.path) || rerr != nil || !bytes.Equal(after, before) || len(b.acked) > 0 {
				b.errorf("opened again: %v; unchanged %v", err, bytes.Equal(after, before))
			}
			tally["files refused and unchanged"]++
			return
		}
		b.s = s
	} else if !b.open() {
		b.errorf("cannot be opened again")
		return
	}
	b.check("opened again", b.s)
	counts(b.t, b.s)
	b.puts("after opening again", 3)
	b.check("at the end", b.s)
	b.close()
	if err := verify(b.path, time.Second); err != nil {
		b.errorf("at the end: %v", err)
	}
}

var tortures = []struct {
	name string
	size int64
	base func(b *bench) // fills the file, which act finds open; nil if it makes its own
	act  func(b *bench)
}{
	{name: "made", act: func(b *bench) {
		if b.open() {
			_ = b.put(1)
			_ = b.put(2)
			b.close()
		}
	}},
	{name: "made of an empty file", act: func(b *bench) {
		f, err := os.OpenFile(b.path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		_ = f.Close()
		if b.open() {
			_ = b.put(1)
			b.close()
		}
	}},
	{name: "opened", base: filled, act: func(b *bench) {
		b.k.arm(false)
		b.close()
		b.k.arm(true)
		if b.open() {
			b.close()
		}
	}},
	{name: "grown", base: func(b *bench) {}, act: func(b *bench) {
		for i := range 4 {
			_ = b.put(i)
			_ = b.put(1000 + 8*i*i)
		}
	}},
	{name: "written over", base: filled, act: func(b *bench) {
		for i := range 8 {
			_ = b.put(i)
		}
		_ = b.put(1010)
	}},
	{name: "deleted", base: filled, act: func(b *bench) {
		for i := range 6 {
			_ = b.remove(i)
		}
		_ = b.remove(1010)
		_ = b.put(0)
	}},
	{name: "together", base: filled, act: func(b *bench) {
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() { _ = b.put(i) })
		}
		wg.Wait()
	}},
	{name: "bounded", size: leastSize, base: func(b *bench) {
		for i := range 30 {
			if err := b.put(1000 + i*2); err != nil {
				b.t.Fatal(err)
			}
		}
	}, act: func(b *bench) {
		for i := range 4 {
			_ = b.put(1030 + i)
			_ = b.put(i)
		}
	}},
	{name: "closed", base: filled, act: func(b *bench) {
		_ = b.put(1)
		b.close()
	}},
}

// filled is a store with a few entries.
func filled(b *bench) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := errors.Join(b.put(i), b.put(1000+2*i)); err != nil {
				b.t.Error(err)
			}
		})
	}
	wg.Wait()
}

// handles counts the open files of this process.
func handles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestTorture: in every scenario each call to the system for the file fails in
// turn, alone, with the two after it and with all that follow, in every way.
// Nothing panics, nothing is left open, every failure is said in a sentence, and
// whatever was acknowledged is there: at once, in a copy of the file, after a loss
// of power in which only confirmed syncs count, and when the file is opened again.
func TestTorture(t *testing.T) {
	if os.Getenv(tortureEnv) == "" {
		inChild(t, "syscalls")
		return
	}
	dir, aside := t.TempDir(), t.TempDir()
	k, err := install(dir)
	if err != nil {
		t.Skipf("the kernel does not let a process watch its own calls: %v", err)
	}
	type base struct {
		data  []byte
		acked map[int]uint64
		last  uint64
	}
	bases := make([]*base, len(tortures))
	tally := map[string]int{}
	runs, most := 0, 0
	run := func(name string, i, at, many int, how failure) (called []uintptr) {
		path := filepath.Join(dir, name)
		b := newBench(t, path, aside, name)
		b.k, b.size = k, tortures[i].size
		k.mu.Lock()
		clear(k.disks)
		k.at, k.many, k.how, k.called, k.struck = at, many, how, nil, nil
		k.mu.Unlock()
		goroutines, files := runtime.NumGoroutine(), handles(t)
		if base := bases[i]; base != nil {
			if err := os.WriteFile(path, base.data, 0o600); err != nil {
				t.Fatal(err)
			}
			var st syscall.Stat_t
			if err := syscall.Stat(path, &st); err != nil {
				t.Fatal(err)
			}
			k.mu.Lock()
			k.disks[st.Ino] = &disk{kept: bytes.Clone(base.data), next: bytes.Clone(base.data)}
			k.mu.Unlock()
			maps.Copy(b.acked, base.acked)
			b.last = base.last
			if !b.open() {
				t.FailNow()
			}
		}
		k.arm(true)
		tortures[i].act(b)
		k.arm(false)
		called = k.called
		b.title = tortures[i].name
		for _, call := range k.struck {
			if len(b.title) < 120 {
				b.title += fmt.Sprintf(", %s", callNames[call])
			}
		}
		b.title += fmt.Sprintf(": call %d of %d, %d in all, %s", at, len(called), many, failureNames[how])
		b.aftermath(tally)
		if k.trouble != nil {
			t.Fatalf("%s: the test itself: %v", b.title, k.trouble)
		}
		for until := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(until); {
			runtime.Gosched()
		}
		if g, f := runtime.NumGoroutine(), handles(t); g > goroutines || f > files {
			b.errorf("%d goroutines of %d and %d files of %d are left", g, goroutines, f, files)
		}
		if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
			b.errorf("left over: %v", left)
		}
		_ = os.Remove(path)
		if len(k.struck) > 0 {
			runs++
		}
		return called
	}
	for i := range tortures {
		if tortures[i].base == nil {
			continue
		}
		b := newBench(t, filepath.Join(aside, "base"), aside, "base")
		b.k, b.size = k, tortures[i].size
		if !b.open() {
			t.FailNow()
		}
		tortures[i].base(b)
		b.close()
		data, err := os.ReadFile(b.path)
		if err != nil || os.Remove(b.path) != nil {
			t.Fatal(err)
		}
		bases[i] = &base{data, b.acked, b.last}
	}
	for i := range tortures {
		calls := run("whole", i, 0, 0, 0)
		most = max(most, len(calls))
		for at, call := range calls {
			for how := range failures {
				if !how.of(call) {
					continue
				}
				for turn, many := range []int{1, 3, 1 << 20} {
					// A page is written like the next one, so of writes one in a few will do.
					part := campaign.Size(800, 160, 1)
					if call != syscall.SYS_PWRITE64 {
						part = campaign.Size(80, 6, 1)
					}
					if (7*at+3*int(how)+turn)%part != 0 {
						continue
					}
					if run("tortured", i, at+1, many, how); t.Failed() {
						t.FailNow()
					}
				}
			}
		}
	}
	t.Logf("%d scenarios of at most %d calls, %d runs with failures", len(tortures), most, runs)
	for call, n := range k.calls {
		t.Logf("%8d times failed: %s", n, callNames[call])
	}
	for what, n := range tally {
		t.Logf("%8d %s", n, what)
	}
}
