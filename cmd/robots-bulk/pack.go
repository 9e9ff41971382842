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

// A packing is a run of pack or of one of its two phases.
type packing struct {
	tableRun
	bulk.PackOptions
	paths  string
	strict bool
}

func packCommand(std *streams, status *int) *cobra.Command {
	b := &packing{tableRun: tableRun{std: std}}
	cmd := &cobra.Command{
		Use:                   "pack",
		Short:                 "Make a snapshot of archives",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.start(cmd, args, status, func(ctx context.Context, inputs []bulk.Input, o bulk.RunOptions) error {
				return bulk.Pack(ctx, b.dir, b.format, b.PackOptions, inputs, o)
			})
		},
	}
	b.inputFlags(cmd)
	cmd.Flags().IntVar(&b.Parts, "parts", 0, "`N` parts by range of sites (default one per 256 MB)")
	b.resolveFlags(cmd)
	b.register(cmd, packFormats...)
	cmd.AddCommand(packReadCommand(std, status), packResolveCommand(std, status))
	return cmd
}

func packReadCommand(std *streams, status *int) *cobra.Command {
	b := &packing{tableRun: tableRun{std: std}}
	cmd := &cobra.Command{
		Use:                   "read",
		Short:                 "Read one share of the inputs (first array job)",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.share == "" {
				return errors.New("no share: add --shard I/N")
			}
			return b.start(cmd, args, status, func(ctx context.Context, inputs []bulk.Input, o bulk.RunOptions) error {
				return bulk.PackRead(ctx, b.dir, b.PackOptions, inputs, o.Share.Of, o)
			})
		},
	}
	b.registerShare(cmd, "shard")
	b.inputFlags(cmd)
	b.register(cmd)
	return cmd
}

func packResolveCommand(std *streams, status *int) *cobra.Command {
	b := &packing{tableRun: tableRun{std: std}}
	cmd := &cobra.Command{
		Use:                   "resolve",
		Short:                 "Make one part of the snapshot (second array job)",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.share == "" {
				return errors.New("no part: add --part J/P")
			}
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: the inputs are those of pack read", args[0])
			}
			return b.check(cmd, status, func(ctx context.Context, o bulk.RunOptions) error {
				b.Parts = o.Share.Of
				return bulk.PackResolve(ctx, b.dir, b.format, b.PackOptions, o)
			})
		},
	}
	b.registerShare(cmd, "part")
	b.resolveFlags(cmd)
	b.register(cmd, packFormats...)
	return cmd
}

func (b *packing) inputFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&b.paths, "paths", "", "`FILE` list of more inputs, one path per line, also gzip; - for standard input")
	cmd.Flags().BoolVar(&b.LooseFiles, "files", false, "read robots.txt files that are named by their site, also in tar and zip")
}

func (b *packing) resolveFlags(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&b.Window, "redirect-window", 24*time.Hour, "`DURATION` maximum time between a redirect and its archived target")
	cmd.Flags().BoolVar(&b.strict, "strict", false, "exit with 1 if an input record could not be read or an input held none")
}

// start lists the inputs and runs fn.
func (b *packing) start(cmd *cobra.Command, args []string, status *int, fn func(context.Context, []bulk.Input, bulk.RunOptions) error) error {
	if b.paths != "" {
		in, err := b.std.open(b.paths)
		if err != nil {
			return fmt.Errorf("--paths: %w", err)
		}
		defer in.Close()
		more, err := bulk.ReadPaths(in)
		if err != nil {
			return fmt.Errorf("--paths %s: %w", b.paths, err)
		}
		args = append(args, more...)
	}
	if len(args) == 0 {
		return errors.New("no input: name files or folders, or list them with --paths")
	}
	inputs, err := b.ListInputs(args)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot read %s: %w", at.Path, at.Err)
	} else if err != nil {
		return err
	}
	if len(inputs) == 0 {
		return errors.New("no input: the folders hold no files")
	}
	return b.check(cmd, status, func(ctx context.Context, o bulk.RunOptions) error { return fn(ctx, inputs, o) })
}

// check checks the options, runs fn, and reports damage once the snapshot is complete.
func (b *packing) check(cmd *cobra.Command, status *int, fn func(context.Context, bulk.RunOptions) error) error {
	switch {
	case cmd.Flags().Changed("redirect-window") && b.Window <= 0:
		return errors.New("--redirect-window: must be more than 0")
	case cmd.Flags().Changed("parts") && b.Parts < 1:
		return errors.New("--parts: must be at least 1")
	}
	o, err := b.options()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if *status, err = b.run(ctx, o, func(o bulk.RunOptions) error { return fn(ctx, o) }); err != nil || *status != exitDone || b.format == "" {
		return err
	}
	s, err := bulk.ReadStatus(b.dir)
	if err != nil {
		return err
	}
	if lost := s.DescribeDamage(); lost != "" {
		fmt.Fprintf(b.std.err, "%s: %s: see %s\n", b.name, lost, filepath.Join(b.dir, "errors"))
		if b.strict {
			*status = exitFailed
		}
	}
	return nil
}
