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
	task      taskFlags
	agents    []string
	agentFile string
	dialects  string
	snapshot  string // whose files name the crawlers of --agents named, "" if the command has none
}

// agentsNamed is the value of --agents for all crawlers that the files of a snapshot name.
const agentsNamed = "named"

// registerCrawlers declares the flags of ask, join and diff that precede those of one command.
func (flags *evaluationFlags) registerCrawlers(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(
		&flags.agents, "agent", "a", nil,
		"`TOKEN[,TOKEN]` product tokens of one crawler, most specific first (repeat for several crawlers; default *)",
	)
	f.StringVar(
		&flags.agentFile, "agents", "",
		"`FILE` list of crawlers, one per line: tokens separated by spaces or commas, most specific first",
	)
	f.StringVarP(&flags.dialects, "dialect", "d", "rfc9309", "`NAME[,NAME]` auto, "+strings.Join(ask.DialectNames(), ", ")+", all")
}

// registerOutput declares the flags of ask, join and diff that follow those of one command.
func (flags *evaluationFlags) registerOutput(cmd *cobra.Command) {
	flags.task.register(cmd, bulk.Formats...)
	flags.task.registerShare(cmd, "shard")
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
	return flags.task.runTask(ctx, t)
}

// evaluationOptions returns the options that the flags set.
func (flags *evaluationFlags) evaluationOptions() (o bulk.EvaluationOptions, err error) {
	switch {
	case len(flags.agents) > 0 && flags.agentFile != "":
		return o, errors.New("-a and --agents exclude each other")
	case len(flags.agents) > 0:
		for _, value := range flags.agents {
			tokens, err := ask.Tokens(value)
			if err != nil {
				return o, fmt.Errorf("-a %w", err)
			}
			o.Agents = append(o.Agents, tokens)
		}
	case flags.agentFile != "":
		if o.Agents, err = flags.readAgents(); err != nil {
			return o, err
		}
	}
	o.Dialects = strings.Split(flags.dialects, ",")
	if flags.dialects == ask.AllDialects {
		o.Dialects = ask.DialectNames()
	}
	for i, name := range o.Dialects {
		o.Dialects[i] = strings.TrimSpace(name)
	}
	return o, nil
}

// readAgents reads the crawlers of --agents.
func (flags *evaluationFlags) readAgents() ([][]string, error) {
	if flags.agentFile == agentsNamed && flags.snapshot != "" {
		agents, err := bulk.NamedAgents(flags.snapshot)
		if err != nil {
			return nil, fmt.Errorf("--agents named: %w", err)
		}
		return agents, nil
	}
	f, err := flags.task.std.open(flags.agentFile)
	if err != nil {
		return nil, fmt.Errorf("--agents: %w", err)
	}
	defer f.Close()
	agents, err := bulk.ReadAgents(f)
	if err != nil {
		return nil, fmt.Errorf("--agents %s: %w", flags.agentFile, err)
	}
	return agents, nil
}
