package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/robots-bulk/internal/bulk"
	"github.com/spf13/cobra"
)

// packFormats are those of a snapshot, which ask, join and diff can read.
var packFormats = []string{bulk.Parquet, bulk.JSONL, bulk.JSONLZstd}

// packFlags are the flags of pack or of one of its two phases.
type packFlags struct {
	task   taskFlags
	pack   bulk.PackOptions
	paths  string
	strict bool
}

func newPackCommand(std *streams, status *int) *cobra.Command {
	flags := &packFlags{task: taskFlags{std: std}}
	cmd := &cobra.Command{
		Use:                   "pack",
		Short:                 "Make a snapshot of archives",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.runInputs(cmd, args, status, func(ctx context.Context, inputs []bulk.Input, o bulk.RunOptions) error {
				return bulk.Pack(ctx, flags.task.dir, flags.task.format, flags.pack, inputs, o)
			})
		},
	}
	flags.registerInputs(cmd)
	cmd.Flags().IntVar(&flags.pack.Parts, "parts", 0, "`N` parts by range of sites (default one per 256 MB, with --lint per 4 MB)")
	flags.registerResolve(cmd)
	flags.task.register(cmd, packFormats...)
	cmd.AddCommand(newPackReadCommand(std, status), newPackResolveCommand(std, status))
	return cmd
}

func newPackReadCommand(std *streams, status *int) *cobra.Command {
	flags := &packFlags{task: taskFlags{std: std}}
	cmd := &cobra.Command{
		Use:                   "read",
		Short:                 "Read one share of the inputs (first array job)",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.task.share == "" {
				return errors.New("no share given; add --shard I/N")
			}
			return flags.runInputs(cmd, args, status, func(ctx context.Context, inputs []bulk.Input, o bulk.RunOptions) error {
				return bulk.PackRead(ctx, flags.task.dir, flags.pack, inputs, o.Share.Of, o)
			})
		},
	}
	flags.task.registerShare(cmd, "shard")
	flags.registerInputs(cmd)
	flags.task.register(cmd)
	return cmd
}

func newPackResolveCommand(std *streams, status *int) *cobra.Command {
	flags := &packFlags{task: taskFlags{std: std}}
	cmd := &cobra.Command{
		Use:                   "resolve",
		Short:                 "Make one part of the snapshot (second array job)",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.task.share == "" {
				return errors.New("no part given; add --part J/P")
			}
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: the inputs are those of pack read", args[0])
			}
			return flags.runChecked(cmd, status, func(ctx context.Context, o bulk.RunOptions) error {
				flags.pack.Parts = o.Share.Of
				return bulk.PackResolve(ctx, flags.task.dir, flags.task.format, flags.pack, o)
			})
		},
	}
	flags.task.registerShare(cmd, "part")
	flags.registerResolve(cmd)
	flags.task.register(cmd, packFormats...)
	return cmd
}

func (flags *packFlags) registerInputs(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&flags.paths, "paths", "", "`FILE` list of more inputs, one path per line, also gzip; - for standard input")
	cmd.Flags().BoolVar(&flags.pack.LooseFiles, "files", false, "read robots.txt files that are named by their site, also in tar and zip")
}

func (flags *packFlags) registerResolve(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&flags.pack.Window, "redirect-window", 24*time.Hour, "`DURATION` maximum time between a redirect and its archived target")
	cmd.Flags().BoolVar(&flags.pack.Lint, "lint", false, "make the table findings: the findings of each check in each file")
	cmd.Flags().BoolVar(&flags.pack.Access, "access", false, "prove how much each file allows each name in it (column access of agents)")
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "exit with 1 if an input record could not be read or an input held none")
}

// runInputs lists the inputs and runs fn.
func (flags *packFlags) runInputs(
	cmd *cobra.Command, args []string, status *int, fn func(context.Context, []bulk.Input, bulk.RunOptions) error,
) error {
	if flags.paths != "" {
		in, err := flags.task.std.open(flags.paths)
		if err != nil {
			return fmt.Errorf("--paths: %w", err)
		}
		defer in.Close()
		more, err := bulk.ReadPaths(in)
		if err != nil {
			return fmt.Errorf("--paths %s: %w", flags.paths, err)
		}
		args = append(args, more...)
	}
	if len(args) == 0 {
		return errors.New("no input given; name files or folders, or list them with --paths")
	}
	inputs, err := flags.pack.ListInputs(args)
	at, ok := errors.AsType[*fs.PathError](err)
	switch {
	case ok && strings.HasPrefix(at.Path, "crawl-data/") && errors.Is(err, fs.ErrNotExist): // from a list of Common Crawl
		return fmt.Errorf("%s is not a local file; download it from https://data.commoncrawl.org/ first", at.Path)
	case ok:
		return fmt.Errorf("cannot read %s: %w", at.Path, at.Err)
	case err != nil:
		return err
	case len(inputs) == 0:
		return errors.New("no input: the folders contain no files")
	}
	return flags.runChecked(cmd, status, func(ctx context.Context, o bulk.RunOptions) error { return fn(ctx, inputs, o) })
}

// runChecked checks the options, runs fn, and reports damage once the snapshot is complete.
func (flags *packFlags) runChecked(cmd *cobra.Command, status *int, fn func(context.Context, bulk.RunOptions) error) error {
	switch {
	case cmd.Flags().Changed("redirect-window") && flags.pack.Window <= 0:
		return errors.New("--redirect-window must be more than 0")
	case cmd.Flags().Changed("parts") && flags.pack.Parts < 1:
		return errors.New("--parts must be at least 1")
	}
	o, err := flags.task.options()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	*status, err = flags.task.run(ctx, o, func(o bulk.RunOptions) error { return fn(ctx, o) })
	if err != nil || *status != exitDone || flags.task.format == "" {
		return err
	}
	s, err := bulk.ReadStatus(flags.task.dir)
	if err != nil {
		return err
	}
	if lost := s.DescribeDamage(); lost != "" {
		fmt.Fprintf(flags.task.std.err, "%s: %s: see %s\n", flags.task.name, lost, filepath.Join(flags.task.dir, "errors"))
		if flags.strict {
			*status = exitFailed
		}
	}
	return nil
}
