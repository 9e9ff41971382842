package main

import (
	"context"
	"errors"

	"github.com/robotskit/robots/cmd/robots-bulk/internal/bulk"
	"github.com/spf13/cobra"
)

// askOptions are one run of robots-bulk ask.
type askOptions struct {
	evaluation evaluationFlags
	args       []string // a snapshot, or - for standard input
	paths      []string
	strict     bool
	withFormat bool // --format was given
}

func newAskCommand(std *streams, status *int) *cobra.Command {
	o := &askOptions{evaluation: evaluationFlags{task: taskFlags{std: std}}}
	cmd := &cobra.Command{
		Use:                   "ask",
		Short:                 "Evaluate every capture of a snapshot for crawlers",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.args = args
			o.withFormat = cmd.Flags().Changed("format")
			*status, err = o.run(cmd.Context())
			return err
		},
	}
	o.evaluation.registerCrawlers(cmd)
	cmd.Flags().Lookup("agents").Usage = "`FILE` list of crawlers, one per line: tokens, most specific first; or named: all that its files name"
	cmd.Flags().StringArrayVar(&o.paths, "path", nil, "`PATH` path or URL to evaluate for each site (repeat for more; default \"/\")")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "with -: exit with 1 if a line had an error")
	o.evaluation.registerOutput(cmd)
	return cmd
}

func (o *askOptions) run(ctx context.Context) (int, error) {
	if len(o.args) != 1 {
		return exitBad, errors.New("one snapshot required; name the output folder of robots-bulk pack")
	}
	if o.args[0] == "-" {
		return o.stream(ctx)
	}
	task := &o.evaluation.task
	o.evaluation.snapshot = o.args[0]
	return o.evaluation.evaluate(ctx, func(e bulk.EvaluationOptions) (*bulk.Task, error) {
		e.Paths = o.paths
		return e.AskTask(task.dir, task.format, o.args[0])
	})
}

// stream answers standard input on standard output.
func (o *askOptions) stream(ctx context.Context) (int, error) {
	task := &o.evaluation.task
	e, err := o.evaluation.evaluationOptions()
	if err != nil {
		return exitBad, err
	}
	if task.dir != "" || task.share != "" {
		return exitBad, errors.New("-o and --shard have no use with -: rows go to standard output")
	}
	if !o.withFormat {
		task.format = bulk.JSONL
	}
	e.Paths = o.paths
	invalid, err := e.Stream(ctx, task.std.in, task.std.out, task.format)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted, nil
	case err != nil:
		return exitBad, err
	case invalid > 0 && o.strict:
		return exitFailed, nil
	}
	return exitDone, nil
}
