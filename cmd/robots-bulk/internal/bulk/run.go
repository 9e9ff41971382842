package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// A FailedError reports that some shards failed and all others are done.
type FailedError struct {
	Dir    string
	Failed []Failure
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("shards failed: %d, the first is shard %d: %s; see %s/%s, and run the same command to retry",
		len(e.Failed), e.Failed[0].Shard, e.Failed[0].Error, e.Dir, errorsDir)
}

// Run does the missing shards of a task. It returns nil if every shard of its slice is done, a
// *FailedError if some failed, the error of the context if it was interrupted, and any other
// error if it had to stop, as on a full disk. Parts are complete in each case, and a call with
// the same task continues and retries.
func Run(ctx context.Context, t *Task, o RunOptions) error {
	o.defaults()
	if err := t.claimFolder(); err != nil {
		return err
	}
	before, err := t.survey(o.Share)
	if err != nil {
		return err
	}
	before.clean()
	o.Progress.begin(before, o.Workers)
	g, shared := errgroup.WithContext(ctx)
	g.SetLimit(o.Workers)
	for _, s := range before.missing {
		g.Go(func() error { return t.tryShard(shared, s, o.Progress) })
	}
	err = g.Wait()
	t.bodies.close()
	if err != nil {
		return err
	}
	after, err := t.survey(o.Share)
	if err != nil {
		return err
	}
	after.clean()
	if n := len(after.missing) - len(after.Failed); n > 0 {
		return fmt.Errorf("%s: %d finished parts were removed", t.Dir, n)
	}
	if len(after.Failed) > 0 {
		return &FailedError{t.Dir, after.Failed}
	}
	return nil
}

// tryShard does a shard unless it is done. A failure is written to its error file, and the run
// continues; an error that all shards would have stops it.
func (t *Task) tryShard(ctx context.Context, s Shard, p *Progress) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	name := t.PartName(s)
	if t.isDone(name) {
		p.advance(0, s.work)
		p.addDone()
		return nil
	}
	err := t.doShard(ctx, s, name, p)
	switch {
	case err == nil || t.isDone(name): // by another process, which has removed the files of this one
		p.addDone()
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case stopsRun(err):
		return err
	}
	p.addFailed()
	return t.writeErrorFile(name, err)
}

// A errorFileLine is the line of an error file, of the last attempt.
type errorFileLine struct {
	Error string    `json:"error"`
	At    time.Time `json:"at"`
}

func (t *Task) errorFile(name string) string { return filepath.Join(t.Dir, errorsDir, name+".jsonl") }

// writeErrorFile writes the error file of a shard.
func (t *Task) writeErrorFile(name string, why error) error {
	if err := os.MkdirAll(filepath.Join(t.Dir, errorsDir), 0o777); err != nil {
		return err
	}
	text, err := json.Marshal(errorFileLine{truncateMessage(why.Error()), time.Now().UTC().Truncate(time.Millisecond)})
	if err != nil {
		return err
	}
	return writeFile(t.errorFile(name), append(text, '\n'))
}

// truncateMessage limits the length of a message.
func truncateMessage(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "…"
	}
	return s
}

// doShard does a shard and commits its parts. A panic is an error of the shard.
func (t *Task) doShard(ctx context.Context, s Shard, name string, progress *Progress) (err error) {
	p, err := newPartWriter(t, name, progress)
	if err != nil {
		return &stopError{err}
	}
	defer p.close()
	defer func() { p.advance(0, s.work-p.work) }() // the work is an estimate
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	if err := t.DoShard(ctx, s, p); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.commit()
}

// A stopError is an error of the output, not of a shard.
type stopError struct{ error }

func (e *stopError) Unwrap() error { return e.error }

// stopsRun reports whether all other shards would have the same error.
func stopsRun(err error) bool {
	_, stop := errors.AsType[*stopError](err)
	return stop || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}
