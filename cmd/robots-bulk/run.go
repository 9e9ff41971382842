package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/bulk"
	"github.com/spf13/cobra"
)

// How often a run says how far it is: on a terminal, in one line that changes, and elsewhere.
const (
	progressShown = 250 * time.Millisecond
	progressSaid  = time.Minute
)

// A tableRun is a call of a verb that works on shards.
type tableRun struct {
	std  *streams
	name string // of the command

	dir, format string
	workers     int
	share       string
	dryRun      bool
}

// register declares the flags of a verb that makes tables, after its own; formats are
// those of its tables, the default first.
func (b *tableRun) register(cmd *cobra.Command, formats ...string) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&b.dir, "output", "o", "", "write the tables into this folder, `DIR`, or go on with it")
	f.StringVar(&b.format, "format", formats[0], "write tables in this `FORMAT`: "+strings.Join(formats, ", "))
	complete(cmd, "format", formats)
	f.IntVar(&b.workers, "workers", 0, "work on `N` shards at a time (default one per core)")
	f.BoolVar(&b.dryRun, "dry-run", false, "say what is to be done, what it takes and what room there is, and stop")
	f.StringVar(&b.share, "shard", "", "do one share of the shards, `I/N` as in 1/8; auto/N takes I from the\nvariables of an array of jobs (Kubernetes, AWS Batch, Slurm), of Slurm\nauto takes both")
}

// options returns what the flags say.
func (b *tableRun) options() (o bulk.RunOptions, err error) {
	if b.workers < 0 {
		return o, errors.New("--workers is less than 1")
	}
	o.Workers = cmp.Or(b.workers, runtime.GOMAXPROCS(0))
	if b.share != "" {
		if o.Slice, err = bulk.ParseSlice(b.share, os.Getenv); err != nil {
			return o, fmt.Errorf("--shard: %w", err)
		}
	} else if variable := bulk.ArrayJob(os.Getenv); variable != "" {
		warn(b.std, b.name, "%s is set and --shard is not: this job does all shards", variable)
	}
	return o, nil
}

// run runs a task as the flags say: it says what will be done, then how far it is, and
// what came of it.
func (b *tableRun) run(ctx context.Context, t *bulk.Task) (int, error) {
	return b.runBy(ctx, t, bulk.Run)
}

// runBy runs a task by what it is to be run by.
func (b *tableRun) runBy(ctx context.Context, t *bulk.Task, run func(context.Context, *bulk.Task, bulk.RunOptions) error) (int, error) {
	o, err := b.options()
	if err != nil {
		return exitBad, err
	}
	plan, err := bulk.NewPlan(t, o)
	if err != nil {
		return exitBad, err
	}
	if b.dryRun {
		fmt.Fprintln(b.std.out, plan)
		return exitDone, nil
	}
	fmt.Fprintf(b.std.err, "%s: %s\n", b.name, plan)
	if plan.Short() {
		warn(b.std, b.name, "what is written may have no room; a full disk ends the run, and the same command goes on")
	}
	return b.watch(ctx, o, func(ctx context.Context, o bulk.RunOptions) error { return run(ctx, t, o) })
}

// watch says how far a run is until it ends, and then what came of it.
func (b *tableRun) watch(ctx context.Context, o bulk.RunOptions, run func(context.Context, bulk.RunOptions) error) (int, error) {
	o.Progress = new(bulk.Progress)
	quiet := b.report(o.Progress)
	err := run(ctx, o)
	quiet()
	lost, failed := errors.AsType[*bulk.FailedError](err)
	switch {
	case failed, err == nil:
		fmt.Fprintf(b.std.err, " %s\n", o.Progress.Line())
	case ctx.Err() != nil:
		fmt.Fprintf(b.std.err, "%s: interrupted: %s shards done, their parts whole; the same command goes on\n", b.name, bulk.Thousands(o.Progress.Done()))
		return exitInterrupted, nil
	default:
		return exitBad, err
	}
	if failed {
		complain(b.std, b.name, lost)
		return exitFailed, nil
	}
	return exitDone, nil
}

// report says again and again how far a run is until stop is called.
func (b *tableRun) report(p *bulk.Progress) (stop func()) {
	begin, end, every := " ", "\n", progressSaid
	if f, ok := b.std.err.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			begin, end, every = "\r ", "\x1b[K", progressShown // the rest of the line is erased
		}
	}
	ticker := time.NewTicker(every) //nolint:forbidigo // people wait by this clock
	quit := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-ticker.C:
				fmt.Fprint(b.std.err, begin, p.Line(), end)
			case <-quit:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(quit)
		ended.Wait()
		if every == progressShown {
			fmt.Fprint(b.std.err, "\r\x1b[K")
		}
	}
}

func statusCommand(std *streams, status *int) *cobra.Command {
	var format string
	var strict bool
	cmd := &cobra.Command{
		Use:   "status [flags] DIR",
		Short: "Say how far a run has come",
		Long: `Status compares the parts in a folder with its manifest, lists the shards that
failed, counts what of the inputs could not be read, and removes what killed runs left.

Exit status: 0 all shards are done, 1 some failed (with --strict also: not all could be
read), 3 not all are done yet.`,
		Example:               "  robots-bulk status cc-2026-41",
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return fmt.Errorf("unknown --format %q: it is text or json", format)
			}
			if len(args) != 1 {
				return errors.New("one folder is needed: that of -o of a run")
			}
			s, err := bulk.Look(args[0])
			if err != nil {
				return notRun(args[0], err)
			}
			switch {
			case s.Done+len(s.Failed) < s.Shards:
				*status = exitUnfinished
			case len(s.Failed) > 0, strict && s.Lost() != "":
				*status = exitFailed
			}
			if format == "json" {
				e := json.NewEncoder(std.out)
				e.SetEscapeHTML(false)
				return e.Encode(struct {
					Schema int `json:"schema"`
					*bulk.Status
				}{1, s})
			}
			writeStatus(std, args[0], s)
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "answer in this `FORMAT`: text, or json, one object")
	complete(cmd, "format", []string{"text", "json"})
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 if something of an input could not be read")
	return cmd
}

// notRun says that a folder is not that of a run if that is what is wrong.
func notRun(dir string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is not the folder of a run: it has no manifest.json", dir)
	}
	return err
}

// writeStatus writes a status for people.
func writeStatus(std *streams, dir string, s *bulk.Status) {
	line := fmt.Sprintf("%s shards  %s done", bulk.Thousands(int64(s.Shards)), bulk.Thousands(int64(s.Done)))
	if s.Working > 0 {
		line += fmt.Sprintf("  %d in work", s.Working)
	}
	if n := len(s.Failed); n > 0 {
		line += fmt.Sprintf("  %d failed", n)
	}
	fmt.Fprintln(std.out, line)
	for _, f := range s.Failed {
		fmt.Fprintf(std.out, "  %05d  %s  %s\n", f.Shard, robots.Printable(filepath.Base(f.Input)), robots.Printable(f.Error))
	}
	if lost := s.Lost(); lost != "" {
		fmt.Fprintf(std.out, "  %s: see %s\n", lost, filepath.Join(dir, "errors"))
	}
	for _, name := range s.Strange {
		fmt.Fprintf(std.out, "  %s is no part of a shard\n", robots.Printable(name))
	}
}
