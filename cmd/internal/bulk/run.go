package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// A FailedError says that all shards are done but these, which failed.
type FailedError struct {
	Dir    string
	Failed []Failure
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%d of the shards failed, shard %d with %s: see %s/%s; the same command tries them again",
		len(e.Failed), e.Failed[0].Shard, e.Failed[0].Error, e.Dir, errorsDir)
}

// Run does what of a task is not done yet. It returns nil if every shard of its slice is done,
// a *FailedError if all are but those that failed, the context's error if it was interrupted,
// and any other error if it had to stop, as when the disk is full. In each case parts are
// whole, and a call with the same task goes on, also with what failed.
func Run(ctx context.Context, t *Task, o RunOptions) error {
	o.defaults()
	lessGC(o.Workers)
	if err := t.resolve(); err != nil {
		return err
	}
	if err := t.claim(); err != nil {
		return err
	}
	state, err := t.survey(o.Slice)
	if err != nil {
		return err
	}
	state.clean()
	r := &runner{t: t, o: o}
	o.Progress.begin(state, o.Workers)
	if err := r.all(ctx, append(state.todo, state.lost...)); err != nil {
		return err
	}
	return r.end()
}

// lessGC lets the heap grow to five times what is held, up to a bound for so many workers: one
// holds some MiB and makes a hundred times as much garbage, so that the collector takes a
// fifth of the time otherwise. Who sets GOGC or GOMEMLIMIT decides.
func lessGC(workers int) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(heapBase + int64(workers)*heapOfWorker)
	}
}

// With two workers these leave the rest of 256 MiB to what the collector does not see.
const heapBase, heapOfWorker = 128 << 20, 32 << 20

// A runner does shards in this process.
type runner struct {
	t *Task
	o RunOptions
}

// end says what came of it.
func (r *runner) end() error {
	state, err := r.t.survey(r.o.Slice)
	if err != nil {
		return err
	}
	state.clean()
	if len(state.todo) > 0 {
		return fmt.Errorf("%s: %d parts that were made are gone", r.t.Dir, len(state.todo))
	}
	if len(state.lost) > 0 {
		return &FailedError{r.t.Dir, state.failures()}
	}
	return nil
}

// all does shards, as many at a time as there are workers.
func (r *runner) all(ctx context.Context, shards []Shard) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.o.Workers)
	for _, s := range shards {
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return r.try(ctx, s)
		})
	}
	return g.Wait()
}

// try does a shard, unless it is done meanwhile. If it fails, that is kept in its error file, and
// the run goes on; an error that every other shard would have stops it.
func (r *runner) try(ctx context.Context, s Shard) error {
	name := r.t.Name(s)
	if r.t.isDone(name) {
		r.o.Progress.done(Counts{})
		return nil
	}
	counts, err := r.t.do(ctx, s, name)
	switch {
	case err == nil || r.t.isDone(name): // by another process, whose end removes the files of this one
		r.o.Progress.done(counts)
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case stops(err):
		return err
	}
	r.o.Progress.lost()
	return r.t.fail(name, err)
}

// A failure is the line of an error file: why a shard failed in the last run that tried it.
type failure struct {
	Error string    `json:"error"`
	At    time.Time `json:"at"`
}

func (t *Task) errorFile(name string) string { return filepath.Join(t.Dir, errorsDir, name+".jsonl") }

// fail keeps why a shard failed.
func (t *Task) fail(name string, why error) error {
	if err := os.MkdirAll(filepath.Join(t.Dir, errorsDir), 0o777); err != nil {
		return err
	}
	text, err := json.Marshal(failure{clip(why.Error()), time.Now().UTC().Truncate(time.Millisecond)})
	if err != nil {
		return err
	}
	return writeFile(t.errorFile(name), append(text, '\n'))
}

// clip bounds a message.
func clip(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "…"
	}
	return s
}

// do does a shard and commits its parts. A panic is an error of the shard.
func (t *Task) do(ctx context.Context, s Shard, name string) (counts Counts, err error) {
	p, err := newPart(t, name)
	if err != nil {
		return counts, &stopError{err}
	}
	defer p.discard()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	if counts, err = t.Do(ctx, s, p); err != nil {
		return counts, err
	}
	if err := ctx.Err(); err != nil {
		return counts, err
	}
	return counts, p.commit()
}

// A stopError is not that of a shard: the output cannot be written.
type stopError struct{ error }

func (e *stopError) Unwrap() error { return e.error }

// stops reports whether every other shard would have the error, too.
func stops(err error) bool {
	_, stop := errors.AsType[*stopError](err)
	return stop || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}
