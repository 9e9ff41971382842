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

// A question is a run of a command that evaluates rules for crawlers.
type question struct {
	tableRun
	agents    []string
	agentFile string
	dialects  string
	paths     []string
	strict    bool
}

// askFlags declares the flags of ask, join and diff that precede those of one command.
func (b *question) askFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&b.agents, "agent", "a", nil, "`TOKEN[,TOKEN]` product tokens of one crawler, most specific first (repeat for several crawlers; default *)")
	f.StringVar(&b.agentFile, "agents", "", "`FILE` list of crawlers, one per line: tokens separated by spaces or commas, most specific first")
	f.StringVarP(&b.dialects, "dialect", "d", "rfc9309", "`NAME[,NAME]` auto, "+strings.Join(ask.DialectNames(), ", ")+", all")
}

// tableFlags declares the flags of ask, join and diff that follow those of one command.
func (b *question) tableFlags(cmd *cobra.Command) {
	b.register(cmd, bulk.Formats...)
	b.registerShare(cmd, "shard")
}

// evaluate runs the task for the options of the flags.
func (b *question) evaluate(ctx context.Context, task func(bulk.EvaluationOptions) (*bulk.Task, error)) (int, error) {
	o, err := b.askOptions()
	if err != nil {
		return exitBad, err
	}
	t, err := task(o)
	if err != nil {
		return exitBad, err
	}
	return b.runTask(ctx, t)
}

// askOptions returns the options that the flags set.
func (b *question) askOptions() (o bulk.EvaluationOptions, err error) {
	switch {
	case len(b.agents) > 0 && b.agentFile != "":
		return o, errors.New("-a and --agents exclude each other: name the crawlers with -a or in the file")
	case len(b.agents) > 0:
		for _, value := range b.agents {
			tokens, err := ask.Tokens(value)
			if err != nil {
				return o, fmt.Errorf("-a %w", err)
			}
			o.Agents = append(o.Agents, tokens)
		}
	case b.agentFile != "":
		f, err := b.std.open(b.agentFile)
		if err != nil {
			return o, fmt.Errorf("--agents: %w", err)
		}
		defer f.Close()
		if o.Agents, err = bulk.ReadAgents(f); err != nil {
			return o, fmt.Errorf("--agents %s: %w", b.agentFile, err)
		}
	}
	o.Dialects = strings.Split(b.dialects, ",")
	if b.dialects == ask.AllDialects {
		o.Dialects = ask.DialectNames()
	}
	for i, name := range o.Dialects {
		o.Dialects[i] = strings.TrimSpace(name)
	}
	o.Paths = b.paths
	return o, nil
}

func askCommand(std *streams, status *int) *cobra.Command {
	b := &question{tableRun: tableRun{std: std}}
	cmd := &cobra.Command{
		Use:                   "ask",
		Short:                 "Evaluate every capture of a snapshot for crawlers",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) != 1 {
				return errors.New("name one snapshot, the output folder of robots-bulk pack")
			}
			if args[0] == "-" {
				*status, err = b.stream(cmd)
				return err
			}
			*status, err = b.evaluate(cmd.Context(), func(o bulk.EvaluationOptions) (*bulk.Task, error) {
				return o.AskTask(b.dir, b.format, args[0])
			})
			return err
		},
	}
	b.askFlags(cmd)
	cmd.Flags().StringArrayVar(&b.paths, "path", nil, "`PATH` path or URL to evaluate for each site (repeat for more; default \"/\")")
	cmd.Flags().BoolVar(&b.strict, "strict", false, "with -: exit with 1 if a line could not be read")
	b.tableFlags(cmd)
	return cmd
}

// stream answers standard input on standard output.
func (b *question) stream(cmd *cobra.Command) (int, error) {
	o, err := b.askOptions()
	switch {
	case err != nil:
		return exitBad, err
	case b.dir != "" || b.share != "":
		return exitBad, errors.New("-o and --shard have no use with -: rows go to standard output")
	case !cmd.Flags().Changed("format"):
		b.format = bulk.JSONL
	}
	bad := 0
	err = o.Stream(cmd.Context(), b.std.in, b.std.out, b.format, func(d bulk.Damage) {
		bad++
		complain(b.std, b.name, fmt.Errorf("byte %d: %s", d.Offset, d.Detail))
	})
	switch {
	case cmd.Context().Err() != nil:
		return exitInterrupted, nil
	case err != nil:
		return exitBad, err
	case bad > 0 && b.strict:
		return exitFailed, nil
	}
	return exitDone, nil
}

func joinCommand(std *streams, status *int) *cobra.Command {
	b := &question{tableRun: tableRun{std: std}}
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
			*status, err = b.evaluate(cmd.Context(), func(of bulk.EvaluationOptions) (*bulk.Task, error) {
				o.EvaluationOptions = of
				return o.JoinTask(b.dir, b.format, args[0], args[1:])
			})
			return err
		},
	}
	b.askFlags(cmd)
	cmd.Flags().StringVar(&at, "at", "", "`TIME` time of URLs without one")
	cmd.Flags().BoolVar(&o.Sort, "sort", false, "sort the lists first, in the output folder")
	b.tableFlags(cmd)
	return cmd
}

func diffCommand(std *streams, status *int) *cobra.Command {
	b := &question{tableRun: tableRun{std: std}}
	cmd := &cobra.Command{
		Use:                   "diff",
		Short:                 "Show which sites changed access between two snapshots",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) != 2 {
				return errors.New("name two snapshots, the older one first")
			}
			*status, err = b.evaluate(cmd.Context(), func(o bulk.EvaluationOptions) (*bulk.Task, error) {
				return o.DiffTask(b.dir, b.format, args[0], args[1])
			})
			return err
		},
	}
	b.askFlags(cmd)
	b.tableFlags(cmd)
	return cmd
}
