package bulk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// work is a test task: each shard writes some rows to two tables.
type work struct {
	Shards int
	Rows   int           // of a shard
	Wait   time.Duration // that a shard takes besides
	Fails  []int         // shards that fail
	Panics []int
}

func (w work) do(ctx context.Context, s Shard, p *PartWriter) error {
	bodies, err := p.CreateTable("bodies")
	if err != nil {
		return err
	}
	captures, err := p.CreateTable("captures")
	if err != nil {
		return err
	}
	var sum [sha256.Size]byte
	for i := range w.Rows {
		sum := sha256.Sum256(fmt.Appendf(sum[:], "%d %d", s.Number, i))
		fmt.Fprintf(captures, "%d %d\n", s.Number, i)
		fmt.Fprintf(bodies, "%x\n", sum)
		if i != w.Rows/2 {
			continue
		}
		switch {
		case slices.Contains(w.Fails, s.Number):
			return fmt.Errorf("row %d is broken", i)
		case slices.Contains(w.Panics, s.Number):
			panic("no such row")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(w.Wait):
		}
	}
	return nil
}

func (w work) task(t testing.TB, dir string) *Task {
	t.Helper()
	options, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	task := newTask("test", dir, "txt", "bodies", "captures")
	task.Options, task.DoShard = options, w.do
	for i := range w.Shards {
		task.Inputs = append(task.Inputs, Input{Name: fmt.Sprintf("input-%d", i), Size: 1000})
		task.Shards = append(task.Shards, Shard{Number: i, Inputs: []int{i}})
	}
	return task
}

// sumOf returns a hash of the names and contents of all files in a folder. It fails if there are
// temporary ones.
func sumOf(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("left over: %s", path)
		}
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// clean returns the status of a task and the hash of its folder, and fails if that has unknown
// files.
func clean(t testing.TB, task *Task) (*Status, string) {
	t.Helper()
	s, err := ReadStatus(task.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Unknown) > 0 {
		t.Errorf("%s: unknown files %q", task.Dir, s.Unknown)
	}
	return s, sumOf(t, task.Dir)
}

// undisturbed returns the checksum of a run in one process.
func undisturbed(t testing.TB, w work) string {
	t.Helper()
	w.Fails, w.Panics = nil, nil
	task := w.task(t, t.TempDir())
	if err := Run(t.Context(), task, RunOptions{Workers: 8}); err != nil {
		t.Fatal(err)
	}
	s, sum := clean(t, task)
	if s.Done != w.Shards {
		t.Errorf("%d of %d shards done", s.Done, w.Shards)
	}
	return sum
}

// TestInterrupt: an interrupted run leaves complete parts, and the next run continues.
func TestInterrupt(t *testing.T) {
	w := work{Shards: 12, Rows: 10, Wait: 5 * time.Millisecond}
	want := undisturbed(t, w)
	dir := t.TempDir()
	for stops := 0; ; stops++ {
		task := w.task(t, dir)
		ctx, stop := context.WithCancel(t.Context())
		do, begun := task.DoShard, 0
		task.DoShard = func(ctx context.Context, s Shard, p *PartWriter) error {
			if begun++; begun == 3 {
				stop()
			}
			return do(ctx, s, p)
		}
		err := Run(ctx, task, RunOptions{})
		if err == nil {
			if stops == 0 {
				t.Error("nothing was interrupted")
			}
			if _, got := clean(t, task); got != want {
				t.Error("an interrupted run gives other bytes")
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if st, err := task.survey(Share{}); err != nil || len(st.Failed) > 0 {
			t.Errorf("%+v, %v", st, err)
		}
	}
}

// TestFailed: shards that fail or panic are listed, all others are done, and the next run
// retries them.
func TestFailed(t *testing.T) {
	w := work{Shards: 10, Rows: 10, Fails: []int{7}, Panics: []int{0}}
	task := w.task(t, t.TempDir())
	for range 2 {
		lost, ok := errors.AsType[*FailedError](Run(t.Context(), task, RunOptions{Workers: 3}))
		if !ok || len(lost.Failed) != 2 {
			t.Fatalf("%v", lost)
		}
		s, _ := clean(t, task)
		if want := []Failure{
			{0, task.PartName(task.Shards[0]), "input-0", "panic: no such row"},
			{7, task.PartName(task.Shards[7]), "input-7", "row 5 is broken"},
		}; s.Done != 8 || !slices.Equal(s.Failed, want) {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
	good := w
	good.Fails, good.Panics = nil, nil
	task.DoShard = good.do // without the failures
	fresh := w.task(t, t.TempDir())
	fresh.DoShard = good.do
	var sums [2]string
	for i, task := range []*Task{task, fresh} {
		if err := Run(t.Context(), task, RunOptions{}); err != nil {
			t.Fatal(err)
		}
		var s *Status
		if s, sums[i] = clean(t, task); s.Done != 10 || len(s.Failed) > 0 {
			t.Errorf("%+v", s)
		}
	}
	if sums[0] != sums[1] {
		t.Error("what failed at first has other bytes")
	}
}

// TestName: a task that is read from its manifest names its parts as before, also one without
// inputs that another version of the program made. Parts of other inputs have other names.
func TestName(t *testing.T) {
	if a, b := (work{Shards: 2}).task(t, ""), (work{Shards: 3}).task(t, ""); a.PartName(a.Shards[0]) == b.PartName(b.Shards[0]) {
		t.Error("parts of other inputs have the same name")
	}
	task := work{Shards: 1}.task(t, t.TempDir())
	task.Engine, task.Inputs, task.Shards[0].Inputs = "v0.0.0+01234567", nil, nil
	if err := task.claimFolder(); err != nil {
		t.Fatal(err)
	}
	again, err := readManifest(task.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := task.PartName(task.Shards[0]), again.PartName(again.Shards[0]); a != b {
		t.Errorf("%s is %s once it is read again", a, b)
	}
}
