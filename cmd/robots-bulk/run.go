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
	"slices"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/robots-bulk/internal/bulk"
	"github.com/spf13/cobra"
)

// progressInterval is how often progress is shown, elsewhere than on a terminal.
const progressInterval = 10 * time.Second

// taskFlags are the common flags of a command that works on shards.
type taskFlags struct {
	std  *streams
	name string // of the command

	dir, format string
	workers     int
	share       string
}

// register declares the common flags of a command, after its own; formats are those of its
// tables, the default first.
func (flags *taskFlags) register(cmd *cobra.Command, formats ...string) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&flags.dir, "output", "o", "", "`DIR` output folder; a run that was stopped continues there")
	f.IntVar(&flags.workers, "workers", 0, "`N` shards to work on concurrently (default one per core)")
	if len(formats) > 0 {
		f.StringVar(&flags.format, "format", formats[0], "`FORMAT` table format: "+strings.Join(formats, ", "))
		complete(cmd, "format", formats)
	}
	cmd.PreRunE = func(*cobra.Command, []string) error {
		flags.name = cmd.CommandPath()
		if len(formats) == 0 {
			return nil
		}
		return checkFormat(flags.format, formats...)
	}
}

// checkFormat returns an error for a value of --format that is none of the known ones.
func checkFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return fmt.Errorf("unknown --format %q (known: %s)", format, strings.Join(known, ", "))
}

// registerShare declares the flag that selects one job of an array.
func (flags *taskFlags) registerShare(cmd *cobra.Command, flag string) {
	cmd.Flags().StringVar(&flags.share, flag, "", "`I/N` share of the work, such as 1/8; auto/8 in an array job; auto in Slurm")
}

// options returns the options of a run.
func (flags *taskFlags) options() (o bulk.RunOptions, err error) {
	if flags.dir == "" {
		return o, errors.New("no output folder given; add -o DIR")
	}
	if bulk.IsRemote(flags.dir) {
		return o, fmt.Errorf("-o %s is remote; write to a local folder, and upload it", flags.dir)
	}
	if flags.workers < 0 {
		return o, errors.New("--workers must be at least 1")
	}
	o.Workers = cmp.Or(flags.workers, runtime.GOMAXPROCS(0))
	if flags.share != "" {
		if o.Share, err = bulk.ParseShare(flags.share, os.Getenv); err != nil {
			return o, err
		}
	} else if variable := bulk.ArrayJobVariable(os.Getenv); variable != "" {
		complain(flags.std, flags.name, fmt.Errorf("warning: %s is set but no share is selected: this job does all the work", variable))
	}
	return o, nil
}

// runTask runs a task.
func (flags *taskFlags) runTask(ctx context.Context, t *bulk.Task) (int, error) {
	o, err := flags.options()
	if err != nil {
		return exitBad, err
	}
	return flags.run(ctx, o, func(o bulk.RunOptions) error { return bulk.Run(ctx, t, o) })
}

// run runs fn, prints its progress until it ends, and returns the exit status.
func (flags *taskFlags) run(ctx context.Context, o bulk.RunOptions, fn func(bulk.RunOptions) error) (int, error) {
	o.Progress = new(bulk.Progress)
	stop := flags.std.screen.Report(progressInterval, func() string { return " " + o.Progress.Line() })
	err := fn(o)
	stop()
	failed, isFailed := errors.AsType[*bulk.FailedError](err)
	early, isEarly := errors.AsType[*bulk.PhaseError](err)
	switch {
	case isFailed:
		fmt.Fprintf(flags.std.err, " %s\n", o.Progress.Line())
		complain(flags.std, flags.name, failed)
		return exitFailed, nil
	case isEarly:
		complain(flags.std, flags.name, early)
		return exitUnfinished, nil
	case err == nil:
		fmt.Fprintf(flags.std.err, " %s\n", o.Progress.Line())
		return exitDone, nil
	case ctx.Err() != nil:
		fmt.Fprintf(flags.std.err, "%s: interrupted: %s shards done; run the same command again to continue\n",
			flags.name, screen.Thousands(o.Progress.Done()))
		return exitInterrupted, nil
	}
	return exitBad, err
}

func newStatusCommand(std *streams, status *int) *cobra.Command {
	var format string
	var strict bool
	cmd := &cobra.Command{
		Use:                   "status",
		Short:                 "Show the progress of a run",
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format, "text", "json"); err != nil {
				return err
			}
			if len(args) != 1 {
				return errors.New("one output folder required; name that of a run")
			}
			s, err := bulk.ReadStatus(args[0])
			if err != nil {
				return err
			}
			switch {
			case s.Done+len(s.Failed) < s.Shards:
				*status = exitUnfinished
			case len(s.Failed) > 0, len(s.Damaged) > 0, strict && s.DescribeDamage() != "":
				*status = exitFailed
			}
			if format == "json" {
				e := json.NewEncoder(screen.JSON(std.out))
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
	cmd.Flags().StringVar(&format, "format", "text", "`FORMAT` text, json")
	complete(cmd, "format", []string{"text", "json"})
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 if an input record could not be read")
	return cmd
}

// writeStatus writes a status for people.
func writeStatus(std *streams, dir string, s *bulk.Status) {
	noun := "shards"
	if s.Shards == 1 {
		noun = "shard"
	}
	line := fmt.Sprintf("%s %s  %s done", screen.Thousands(int64(s.Shards)), noun, screen.Thousands(int64(s.Done)))
	if n := len(s.Failed); n > 0 {
		line += fmt.Sprintf("  %d failed", n)
	}
	fmt.Fprintln(std.out, line)
	for _, f := range s.Failed {
		fmt.Fprintf(std.out, "  %05d  %s  %s\n", f.Shard, robots.Printable(filepath.Base(f.Input)), robots.Printable(f.Error))
	}
	if lost := s.DescribeDamage(); lost != "" {
		fmt.Fprintf(std.out, "  %s: see %s\n", lost, filepath.Join(dir, "errors"))
	}
	for _, damaged := range s.Damaged {
		fmt.Fprintf(std.out, "  %s; remove it, and run the same command again\n", robots.Printable(damaged))
	}
	for _, name := range s.Unknown {
		fmt.Fprintf(std.out, "  %s is an unknown file\n", robots.Printable(name))
	}
}
