package main

import (
	"context"
	"errors"

	"github.com/robotskit/robots/cmd/robots-bulk/internal/bulk"
	"github.com/spf13/cobra"
)

// diffOptions are one run of robots-bulk diff.
type diffOptions struct {
	evaluation evaluationFlags
	args       []string // two snapshots
}

func newDiffCommand(std *streams, status *int) *cobra.Command {
	o := &diffOptions{evaluation: evaluationFlags{task: taskFlags{std: std}}}
	cmd := &cobra.Command{
		Use:                   "diff",
		Short:                 "Show which sites changed access between two snapshots",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.args = args
			*status, err = o.run(cmd.Context())
			return err
		},
	}
	o.evaluation.registerCrawlers(cmd)
	o.evaluation.registerOutput(cmd)
	return cmd
}

func (o *diffOptions) run(ctx context.Context) (int, error) {
	if len(o.args) != 2 {
		return exitBad, errors.New("two snapshots required; name the older one first")
	}
	task := &o.evaluation.task
	return o.evaluation.evaluate(ctx, func(e bulk.EvaluationOptions) (*bulk.Task, error) {
		return e.DiffTask(task.dir, task.format, o.args[0], o.args[1])
	})
}
