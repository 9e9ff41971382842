package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/robots-bulk/internal/bulk"
	"github.com/spf13/cobra"
)

// evaluationFlags are the flags of a command that evaluates rules for crawlers.
type evaluationFlags struct {
	taskFlags
	agents    []string
	agentFile string
	dialects  string
	paths     []string
	strict    bool
}

// registerCrawlers declares the flags of ask, join and diff that precede those of one command.
func (flags *evaluationFlags) registerCrawlers(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&flags.agents, "agent", "a", nil, "`TOKEN[,TOKEN]` product tokens of one crawler, most specific first (repeat for several crawlers; default *)")
	f.StringVar(&flags.agentFile, "agents", "", "`FILE` list of crawlers, one per line: tokens separated by spaces or commas, most specific first")
	f.StringVarP(&flags.dialects, "dialect", "d", "rfc9309", "`NAME[,NAME]` auto, "+strings.Join(ask.DialectNames(), ", ")+", all")
}

// registerOutput declares the flags of ask, join and diff that follow those of one command.
func (flags *evaluationFlags) registerOutput(cmd *cobra.Command) {
	flags.register(cmd, bulk.Formats...)
	flags.registerShare(cmd, "shard")
}

// evaluate runs the task for the options of the flags.
func (flags *evaluationFlags) evaluate(ctx context.Context, task func(bulk.EvaluationOptions) (*bulk.Task, error)) (int, error) {
	o, err := flags.evaluationOptions()
	if err != nil {
		return exitBad, err
	}
	t, err := task(o)
	if err != nil {
		return exitBad, err
	}
	return flags.runTask(ctx, t)
}

// evaluationOptions returns the options that the flags set.
func (flags *evaluationFlags) evaluationOptions() (o bulk.EvaluationOptions, err error) {
	switch {
	case len(flags.agents) > 0 && flags.agentFile != "":
		return o, errors.New("-a and --agents exclude each other: name the crawlers with -a or in the file")
	case len(flags.agents) > 0:
		for _, value := range flags.agents {
			tokens, err := ask.Tokens(value)
			if err != nil {
				return o, fmt.Errorf("-a %w", err)
			}
			o.Agents = append(o.Agents, tokens)
		}
	case flags.agentFile != "":
		f, err := flags.std.open(flags.agentFile)
		if err != nil {
			return o, fmt.Errorf("--agents: %w", err)
		}
		defer f.Close()
		if o.Agents, err = bulk.ReadAgents(f); err != nil {
			return o, fmt.Errorf("--agents %s: %w", flags.agentFile, err)
		}
	}
	o.Dialects = strings.Split(flags.dialects, ",")
	if flags.dialects == ask.AllDialects {
		o.Dialects = ask.DialectNames()
	}
	for i, name := range o.Dialects {
		o.Dialects[i] = strings.TrimSpace(name)
	}
	o.Paths = flags.paths
	return o, nil
}

func newAskCommand(std *streams, status *int) *cobra.Command {
	flags := &evaluationFlags{taskFlags: taskFlags{std: std}}
	cmd := &cobra.Command{
		Use:                   "ask",
		Short:                 "Evaluate every capture of a snapshot for crawlers",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) != 1 {
				return errors.New("name one snapshot, the output folder of robots-bulk pack")
			}
			if args[0] == "-" {
				*status, err = flags.stream(cmd)
				return err
			}
			*status, err = flags.evaluate(cmd.Context(), func(o bulk.EvaluationOptions) (*bulk.Task, error) {
				return o.AskTask(flags.dir, flags.format, args[0])
			})
			return err
		},
	}
	flags.registerCrawlers(cmd)
	cmd.Flags().StringArrayVar(&flags.paths, "path", nil, "`PATH` path or URL to evaluate for each site (repeat for more; default \"/\")")
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "with -: exit with 1 if a line could not be read")
	flags.registerOutput(cmd)
	return cmd
}

// stream answers standard input on standard output.
func (flags *evaluationFlags) stream(cmd *cobra.Command) (int, error) {
	o, err := flags.evaluationOptions()
	switch {
	case err != nil:
		return exitBad, err
	case flags.dir != "" || flags.share != "":
		return exitBad, errors.New("-o and --shard have no use with -: rows go to standard output")
	case !cmd.Flags().Changed("format"):
		flags.format = bulk.JSONL
	}
	damagedLines := 0
	err = o.Stream(cmd.Context(), flags.std.in, flags.std.out, flags.format, func(d bulk.Damage) {
		damagedLines++
		complain(flags.std, flags.name, fmt.Errorf("byte %d: %s", d.Offset, d.Detail))
	})
	switch {
	case cmd.Context().Err() != nil:
		return exitInterrupted, nil
	case err != nil:
		return exitBad, err
	case damagedLines > 0 && flags.strict:
		return exitFailed, nil
	}
	return exitDone, nil
}

func newJoinCommand(std *streams, status *int) *cobra.Command {
	flags := &evaluationFlags{taskFlags: taskFlags{std: std}}
	var at string
	var o bulk.JoinOptions
	cmd := &cobra.Command{
		Use:                   "join",
		Short:                 "Evaluate lists of URLs as of their times",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) < 2 {
				return errors.New("name a snapshot and lists of URLs")
			}
			if at != "" {
				if o.At, err = ask.Time(at); err != nil {
					return fmt.Errorf("--at %w", err)
				}
			}
			*status, err = flags.evaluate(cmd.Context(), func(of bulk.EvaluationOptions) (*bulk.Task, error) {
				o.EvaluationOptions = of
				return o.JoinTask(flags.dir, flags.format, args[0], args[1:])
			})
			return err
		},
	}
	flags.registerCrawlers(cmd)
	cmd.Flags().StringVar(&at, "at", "", "`TIME` time of URLs without one")
	cmd.Flags().BoolVar(&o.Sort, "sort", false, "sort the lists first, in the output folder")
	flags.registerOutput(cmd)
	return cmd
}

func newDiffCommand(std *streams, status *int) *cobra.Command {
	flags := &evaluationFlags{taskFlags: taskFlags{std: std}}
	cmd := &cobra.Command{
		Use:                   "diff",
		Short:                 "Show which sites changed access between two snapshots",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) != 2 {
				return errors.New("name two snapshots, the older one first")
			}
			*status, err = flags.evaluate(cmd.Context(), func(o bulk.EvaluationOptions) (*bulk.Task, error) {
				return o.DiffTask(flags.dir, flags.format, args[0], args[1])
			})
			return err
		},
	}
	flags.registerCrawlers(cmd)
	flags.registerOutput(cmd)
	return cmd
}
