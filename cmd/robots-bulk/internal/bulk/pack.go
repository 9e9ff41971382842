package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A snapshot is made by two tasks. The first is in a hidden folder of it until it is
// complete:
//
//	.pack  a shard is some of the inputs, and makes one run (sortedrun.go)
//	.      a shard is a range of sites, and makes a part of captures and a part of bodies
const (
	runsDir = ".pack"

	verbRead = "pack-read"
	verbPack = "pack"

	tableRuns     = "runs"
	tableBodies   = "bodies"
	tableCaptures = "captures"
	runFormat     = "run"
)

const (
	// MaxRuns is how many runs plain pack makes at most: every redirect is looked up in each.
	MaxRuns = 64
	// runBytesPerPart become about 256 MB of Parquet, in about a minute.
	runBytesPerPart = 512 << 20
	// runBytesPerLintedPart are smaller: lint takes milliseconds a file, and a kill should cost at most a minute.
	runBytesPerLintedPart = 8 << 20
)

// CollectorPercent is how much the memory of a program grows between two runs of the garbage collector, in
// percent: less than Go's default of 100, so that pack stays below 300 MB with all its tables open.
const CollectorPercent = 60

// PackOptions decide what a snapshot holds. They are part of its manifest.
type PackOptions struct {
	Window     time.Duration `json:"redirect_window"`  // between a redirect and its target; 0 is 24 h
	LooseFiles bool          `json:"files,omitempty"`  // read loose robots.txt files, also in tar and zip
	Lint       bool          `json:"lint,omitempty"`   // count the findings of each file
	Access     bool          `json:"access,omitempty"` // prove the access of each name in a file
	Parts      int           `json:"parts,omitempty"`  // 0: by size
}

// claimSnapshot returns an error unless a snapshot has this format, these inputs, and the options
// that change makes of its own.
func (t *Task) claimSnapshot(format string, inputs []Input, change func(*PackOptions)) error {
	var o PackOptions
	if err := json.Unmarshal(t.Options, &o); err != nil {
		return fmt.Errorf("options of %s: %w", t.Dir, err)
	}
	change(&o)
	claimed, err := o.snapshotTask(t.Dir, format, inputs)
	if err != nil {
		return err
	}
	claimed.Shards = t.Shards
	return claimed.claimFolder()
}

// PackResolve makes the parts of a snapshot of its runs. It does the shards of run.Share,
// and of the options it takes Window and Parts.
func PackResolve(ctx context.Context, dir, format string, o PackOptions, run RunOptions) error {
	t, err := readManifest(dir)
	if err == nil && isComplete(t) {
		return finishSnapshot(ctx, t, format, o, run)
	}
	readTask, err := readManifest(filepath.Join(dir, runsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no runs; start pack read first", dir)
	}
	if err != nil {
		return err
	}
	if readTask.Engine != Engine() {
		return &OtherTaskError{Dir: readTask.Dir, Difference: differentValues("version", readTask.Engine, Engine())}
	}
	status, err := readTask.survey(Share{})
	if err != nil {
		return err
	}
	if missing := status.Shards - status.Done; missing > 0 {
		return &PhaseError{Missing: missing, Shards: status.Shards}
	}
	t, err = resolveRuns(ctx, readTask, dir, format, o, run)
	if err != nil {
		return err
	}
	return removeRuns(t)
}

// finishSnapshot checks that a complete snapshot is the one that the options describe, and removes
// its runs.
func finishSnapshot(ctx context.Context, t *Task, format string, o PackOptions, run RunOptions) error {
	err := t.claimSnapshot(format, t.Inputs, func(old *PackOptions) {
		old.Window = cmp.Or(o.Window, old.Window)
		old.Lint = o.Lint
		old.Access = o.Access
		if run.Share.Of > 0 {
			old.Parts = run.Share.Of
		}
	})
	if err != nil {
		return err
	}
	return errors.Join(Run(ctx, t, run), removeRuns(t)) // Run has nothing to do
}

// resolveRuns makes the parts of a snapshot of the runs of a task of pack read, and returns its task.
func resolveRuns(ctx context.Context, readTask *Task, dir, format string, o PackOptions, run RunOptions) (*Task, error) {
	runs, err := openRuns(readTask)
	if err != nil {
		return nil, err
	}
	defer runs.close()
	t, err := runs.task(dir, format, o, readTask)
	if err != nil {
		return nil, err
	}
	return t, Run(ctx, t, run)
}

// task returns the task that makes a snapshot of the runs of a task of pack read.
func (s *runSet) task(dir, format string, o PackOptions, readTask *Task) (*Task, error) {
	var readOptions PackOptions
	if err := json.Unmarshal(readTask.Options, &readOptions); err != nil {
		return nil, fmt.Errorf("options of %s: %w", readTask.Dir, err)
	}
	o.LooseFiles = readOptions.LooseFiles
	var inputs []Input // with their hashes
	for _, run := range s.runs {
		inputs = append(inputs, run.Inputs...)
	}
	t, err := o.snapshotTask(dir, format, inputs)
	if err != nil {
		return nil, err
	}
	s.redirectWindow = o.Window.Milliseconds()
	from := ""
	for i, to := range append(divideSites(s.runs, o.parts(s.responseBytes("", afterAllSites))), "") {
		t.Shards = append(t.Shards, Shard{Number: i, From: from, To: to, work: s.responseBytes(from, cmp.Or(to, afterAllSites))})
		from = to
	}
	t.DoShard = func(ctx context.Context, shard Shard, p *PartWriter) error {
		return s.writePart(ctx, o, shard, p)
	}
	return t, nil
}

// parts returns the number of parts of a snapshot of runs of a size.
func (o *PackOptions) parts(runBytes int64) int {
	switch {
	case o.Parts > 0:
		return o.Parts
	case o.Lint:
		return int(runBytes/runBytesPerLintedPart) + 1
	default:
		return int(runBytes/runBytesPerPart) + 1
	}
}

// snapshotTask returns the task that makes a snapshot, without its shards. It fills in defaults.
func (o *PackOptions) snapshotTask(dir, format string, inputs []Input) (t *Task, err error) {
	if o.Window <= 0 {
		o.Window = 24 * time.Hour
	}
	t = newTask(verbPack, dir, format, slices.Concat([]string{tableBodies}, o.fileTableNames(), []string{tableCaptures})...)
	t.Inputs = inputs
	t.Options, err = json.Marshal(o)
	return t, err
}

// Pack makes a snapshot. It may be called again after whatever stopped it.
func Pack(ctx context.Context, dir, format string, o PackOptions, inputs []Input, run RunOptions) error {
	old, err := readManifest(dir)
	switch {
	case err == nil: // its options and inputs must be the same
		identified, err := identifyInputs(inputs)
		if err != nil {
			return err
		}
		if err := old.claimSnapshot(format, identified, func(old *PackOptions) { *old = o }); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := PackRead(ctx, dir, o, inputs, min(len(inputs), MaxRuns), run); err != nil {
		return err
	}
	return PackResolve(ctx, dir, format, o, run)
}

// A PhaseError reports that pack resolve was started before pack read was done.
type PhaseError struct{ Missing, Shards int }

func (e *PhaseError) Error() string {
	return fmt.Sprintf("%d of %d runs are missing: wait until each pack read has ended", e.Missing, e.Shards)
}

// isComplete reports whether all parts of a snapshot are there.
func isComplete(t *Task) bool {
	status, err := t.survey(Share{})
	return err == nil && t.Verb == verbPack && status.Done == status.Shards
}

// removeRuns removes the runs of a snapshot that is complete.
func removeRuns(t *Task) error {
	if !isComplete(t) {
		return nil
	}
	return os.RemoveAll(filepath.Join(t.Dir, runsDir))
}
