package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/robots-bulk/internal/bulk"
	"github.com/spf13/cobra"
)

// joinOptions are one run of robots-bulk join.
type joinOptions struct {
	evaluation evaluationFlags
	args       []string // a snapshot, and lists of URLs
	at         string   // time of URLs without one
	sort       bool
}

func newJoinCommand(std *streams, status *int) *cobra.Command {
	o := &joinOptions{evaluation: evaluationFlags{task: taskFlags{std: std}}}
	cmd := &cobra.Command{
		Use:                   "join",
		Short:                 "Evaluate lists of URLs as of their times",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.args = args
			*status, err = o.run(cmd.Context())
			return err
		},
	}
	o.evaluation.registerCrawlers(cmd)
	cmd.Flags().StringVar(&o.at, "at", "", "`TIME` time of URLs without one")
	cmd.Flags().BoolVar(&o.sort, "sort", false, "sort the lists first, in the output folder")
	o.evaluation.registerOutput(cmd)
	return cmd
}

func (o *joinOptions) run(ctx context.Context) (int, error) {
	if len(o.args) < 2 {
		return exitBad, errors.New("one snapshot and lists of URLs required")
	}
	join := bulk.JoinOptions{Sort: o.sort}
	if o.at != "" {
		var err error
		if join.At, err = ask.Time(o.at); err != nil {
			return exitBad, fmt.Errorf("--at %w", err)
		}
	}
	task := &o.evaluation.task
	return o.evaluation.evaluate(ctx, func(e bulk.EvaluationOptions) (*bulk.Task, error) {
		join.EvaluationOptions = e
		return join.JoinTask(task.dir, task.format, o.args[0], o.args[1:])
	})
}
