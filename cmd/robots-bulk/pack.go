package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/robotskit/robots/cmd/robots-bulk/internal/bulk"
	"github.com/spf13/cobra"
)

// packFormats are those of a snapshot, which ask, join and diff can read.
var packFormats = []string{bulk.Parquet, bulk.JSONL, bulk.JSONLZstd}

// packFlags are the flags of pack or of one of its two phases.
type packFlags struct {
	taskFlags
	bulk.PackOptions
	paths  string
	strict bool
}

func newPackCommand(std *streams, status *int) *cobra.Command {
	flags := &packFlags{taskFlags: taskFlags{std: std}}
	cmd := &cobra.Command{
		Use:                   "pack",
		Short:                 "Make a snapshot of archives",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.runInputs(cmd, args, status, func(ctx context.Context, inputs []bulk.Input, o bulk.RunOptions) error {
				return bulk.Pack(ctx, flags.dir, flags.format, flags.PackOptions, inputs, o)
			})
		},
	}
	flags.registerInputs(cmd)
	cmd.Flags().IntVar(&flags.Parts, "parts", 0, "`N` parts by range of sites (default one per 256 MB)")
	flags.registerResolve(cmd)
	flags.register(cmd, packFormats...)
	cmd.AddCommand(newPackReadCommand(std, status), newPackResolveCommand(std, status))
	return cmd
}

func newPackReadCommand(std *streams, status *int) *cobra.Command {
	flags := &packFlags{taskFlags: taskFlags{std: std}}
	cmd := &cobra.Command{
		Use:                   "read",
		Short:                 "Read one share of the inputs (first array job)",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.share == "" {
				return errors.New("no share: add --shard I/N")
			}
			return flags.runInputs(cmd, args, status, func(ctx context.Context, inputs []bulk.Input, o bulk.RunOptions) error {
				return bulk.PackRead(ctx, flags.dir, flags.PackOptions, inputs, o.Share.Of, o)
			})
		},
	}
	flags.registerShare(cmd, "shard")
	flags.registerInputs(cmd)
	flags.register(cmd)
	return cmd
}

func newPackResolveCommand(std *streams, status *int) *cobra.Command {
	flags := &packFlags{taskFlags: taskFlags{std: std}}
	cmd := &cobra.Command{
		Use:                   "resolve",
		Short:                 "Make one part of the snapshot (second array job)",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.share == "" {
				return errors.New("no part: add --part J/P")
			}
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: the inputs are those of pack read", args[0])
			}
			return flags.runChecked(cmd, status, func(ctx context.Context, o bulk.RunOptions) error {
				flags.Parts = o.Share.Of
				return bulk.PackResolve(ctx, flags.dir, flags.format, flags.PackOptions, o)
			})
		},
	}
	flags.registerShare(cmd, "part")
	flags.registerResolve(cmd)
	flags.register(cmd, packFormats...)
	return cmd
}

func (flags *packFlags) registerInputs(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&flags.paths, "paths", "", "`FILE` list of more inputs, one path per line, also gzip; - for standard input")
	cmd.Flags().BoolVar(&flags.LooseFiles, "files", false, "read robots.txt files that are named by their site, also in tar and zip")
}

func (flags *packFlags) registerResolve(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&flags.Window, "redirect-window", 24*time.Hour, "`DURATION` maximum time between a redirect and its archived target")
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "exit with 1 if an input record could not be read or an input held none")
}

// runInputs lists the inputs and runs fn.
func (flags *packFlags) runInputs(cmd *cobra.Command, args []string, status *int, fn func(context.Context, []bulk.Input, bulk.RunOptions) error) error {
	if flags.paths != "" {
		in, err := flags.std.open(flags.paths)
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
		return errors.New("no input: name files or folders, or list them with --paths")
	}
	inputs, err := flags.ListInputs(args)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot read %s: %w", at.Path, at.Err)
	} else if err != nil {
		return err
	}
	if len(inputs) == 0 {
		return errors.New("no input: the folders hold no files")
	}
	return flags.runChecked(cmd, status, func(ctx context.Context, o bulk.RunOptions) error { return fn(ctx, inputs, o) })
}

// runChecked checks the options, runs fn, and reports damage once the snapshot is complete.
func (flags *packFlags) runChecked(cmd *cobra.Command, status *int, fn func(context.Context, bulk.RunOptions) error) error {
	switch {
	case cmd.Flags().Changed("redirect-window") && flags.Window <= 0:
		return errors.New("--redirect-window: must be more than 0")
	case cmd.Flags().Changed("parts") && flags.Parts < 1:
		return errors.New("--parts: must be at least 1")
	}
	o, err := flags.options()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if *status, err = flags.run(ctx, o, func(o bulk.RunOptions) error { return fn(ctx, o) }); err != nil || *status != exitDone || flags.format == "" {
		return err
	}
	s, err := bulk.ReadStatus(flags.dir)
	if err != nil {
		return err
	}
	if lost := s.DescribeDamage(); lost != "" {
		fmt.Fprintf(flags.std.err, "%s: %s: see %s\n", flags.name, lost, filepath.Join(flags.dir, "errors"))
		if flags.strict {
			*status = exitFailed
		}
	}
	return nil
}
