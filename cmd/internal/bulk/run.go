package bulk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A FailedError says that all shards are done but these, which were given up.
type FailedError struct {
	Dir    string
	Failed []Failure
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%d of the shards were given up, shard %d as %s: see %s/%s, and remove a file there to try its shard again",
		len(e.Failed), e.Failed[0].Shard, e.Failed[0].Error, e.Dir, errorsDir)
}

// Run does what of a task is not done yet, on this machine or, with a queue, leading
// others. It returns nil if every shard of its slice is done, a *FailedError if all are
// but those that were given up, the context's error if it was interrupted, and any other
// error if it had to stop, as when the disk is full. In each case parts are whole, and a
// call with the same task goes on.
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
	if o.Queue.used() {
		err = r.lead(ctx, state)
	} else {
		err = r.local(ctx, state.todo)
	}
	if err != nil {
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

	// alone is held by one shard alone if it may have killed a worker, so that it takes
	// no others with it again, and otherwise by all that are worked on.
	alone sync.RWMutex
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

// local does shards in this process alone.
func (r *runner) local(ctx context.Context, shards []Shard) error {
	if len(shards) == 0 {
		return nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo := make(chan Shard, len(shards)) // a shard is in it once, so that sending never waits
	for _, s := range shards {
		todo <- s
	}
	var left atomic.Int64
	left.Store(int64(len(shards)))
	var workers sync.WaitGroup
	for range min(r.o.Workers, len(shards)) {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case s, more := <-todo:
					if !more {
						return
					}
					_, again, err := r.try(ctx, s)
					switch {
					case err != nil:
						stop(err)
					case again > 0:
						time.AfterFunc(again, func() { todo <- s })
					case left.Add(-1) == 0:
						close(todo)
					}
				}
			}
		})
	}
	workers.Wait()
	if left.Load() > 0 {
		return context.Cause(ctx)
	}
	return nil
}

// try does a shard, unless it is done or given up. A failed shard is to be tried again
// after the time it returns. An error stops the run.
func (r *runner) try(ctx context.Context, s Shard) (counts Counts, again time.Duration, err error) {
	name := r.t.Name(s)
	if r.t.isDone(name) {
		r.o.Progress.done(Counts{})
		return counts, 0, nil
	}
	if _, err := os.Lstat(r.t.errorFile(name)); err == nil {
		r.o.Progress.lost()
		return counts, 0, nil
	}
	before, err := readTries(r.t.triesFile(name))
	if err != nil {
		return counts, 0, err
	}
	if before.Count >= r.o.Tries {
		r.o.Progress.lost()
		return Counts{}, 0, r.t.giveUp(name)
	}
	if before.Dark > 0 {
		r.alone.Lock()
		defer r.alone.Unlock()
	} else {
		r.alone.RLock()
		defer r.alone.RUnlock()
	}
	if err := ctx.Err(); err != nil {
		return counts, 0, context.Cause(ctx)
	}
	if err := r.t.note(name, begun, nil); err != nil {
		return counts, 0, err
	}
	counts, err = r.t.do(ctx, s, name)
	switch {
	case err == nil:
		os.Remove(r.t.triesFile(name))
		r.o.Progress.done(counts)
		return counts, 0, nil
	case ctx.Err() != nil || stops(err):
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return counts, 0, errors.Join(err, r.t.note(name, interrupted, nil))
	}
	if err := r.t.note(name, failed, err); err != nil {
		return counts, 0, err
	}
	_, input := errors.AsType[*badInput](err)
	if n := before.Count + 1; n < r.o.Tries && !input {
		return counts, r.o.Lease / 30 * time.Duration(n*n), nil
	}
	r.o.Progress.lost()
	return Counts{}, 0, r.t.giveUp(name)
}

// do does a shard and commits its parts. A panic is an error of the shard.
func (t *Task) do(ctx context.Context, s Shard, name string) (counts Counts, err error) {
	p, err := newPart(t, name)
	if err != nil {
		return counts, &stopError{err}
	}
	defer p.Discard()
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

// A badInput is an error that another try of the shard would have again.
type badInput struct{ error }

func inputError(format string, args ...any) error { return &badInput{fmt.Errorf(format, args...)} }

// stops reports whether every other shard would have the error, too.
func stops(err error) bool {
	_, stop := errors.AsType[*stopError](err)
	return stop || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}
