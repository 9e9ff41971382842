package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fleet"
	"github.com/spf13/cobra"
)

// A fleetCall is one run of a command of robots fleet.
type fleetCall struct {
	*command
	crawler crawlerFlags
	redis   string // the URL
	yes     bool
	all     bool          // every site
	hold    time.Duration // 0 for a hold until released
	last    int           // entries of the log
}

// An action is what a command does in a fleet.
type action func(ctx context.Context, op *fleet.Operator) (int, error)

// A fleetVerb is a command of robots fleet.
type fleetVerb struct {
	name, short string

	changes bool                                   // the fleet, after a confirmation
	flags   func(c *fleetCall, cmd *cobra.Command) // declares those of this command alone, nil for none
	plan    func(c *fleetCall) (action, error)     // checks the arguments
}

var fleetVerbs = []fleetVerb{
	{
		name:  "status",
		short: "Show the workers and the servers of a fleet",
		plan:  func(c *fleetCall) (action, error) { return c.status, noArguments(c.args) },
	},
	{
		name:  "show",
		short: "Show what a fleet knows of a site or an address",
		flags: func(c *fleetCall, cmd *cobra.Command) {
			c.crawler.register(cmd, false)
			cmd.Flags().Lookup("agent").Usage = "`TOKEN[,TOKEN]` product tokens of the crawler, most specific first"
		},
		plan: (*fleetCall).show,
	},
	{
		name:    "config",
		short:   "Show or change the options that all workers share",
		changes: true,
		plan:    (*fleetCall).config,
	},
	{
		name:    "hold",
		short:   "Stop requests to sites",
		changes: true,
		flags: func(c *fleetCall, cmd *cobra.Command) {
			cmd.Flags().DurationVar(&c.hold, "for", 0, "`DURATION` length of the hold, such as 2h (default until released)")
			cmd.Flags().BoolVar(&c.all, "all", false, "hold every site")
		},
		plan: (*fleetCall).holdSites,
	},
	{
		name:  "held",
		short: "List what is held",
		plan:  func(c *fleetCall) (action, error) { return c.held, noArguments(c.args) },
	},
	{
		name:    "release",
		short:   "End the hold of sites",
		changes: true,
		flags: func(c *fleetCall, cmd *cobra.Command) {
			cmd.Flags().BoolVar(&c.all, "all", false, "end every hold")
		},
		plan: (*fleetCall).release,
	},
	{
		name:    "forget",
		short:   "Delete the robots.txt and back-off of sites",
		changes: true,
		plan:    (*fleetCall).forget,
	},
	{
		name:    "drain",
		short:   "Stop a worker from acquiring permits",
		changes: true,
		plan:    (*fleetCall).drain,
	},
	{
		name:    "resume",
		short:   "End the drain of a worker",
		changes: true,
		plan:    (*fleetCall).resume,
	},
	{
		name:  "log",
		short: "Show what operators have changed",
		flags: func(c *fleetCall, cmd *cobra.Command) {
			cmd.Flags().IntVarP(&c.last, "last", "n", 20, "`N` number of entries to show")
		},
		plan: func(c *fleetCall) (action, error) {
			if c.last < 1 {
				return nil, fmt.Errorf("-n %d is not a number of entries, 1 or more", c.last)
			}
			return c.log, noArguments(c.args)
		},
	},
	{
		name:  "doctor",
		short: "Find problems with the Redis of a fleet",
		plan:  func(c *fleetCall) (action, error) { return nil, noArguments(c.args) }, // it needs no operator
	},
}

func fleetCommand(std *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fleet",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command given" + ask.Hint("", verbs(cmd)))
			}
			return unknownCommand(cmd, args[0])
		},
	}
	for _, v := range fleetVerbs {
		cmd.AddCommand(v.command(&fleetCall{command: newCommand(std)}))
	}
	return cmd
}

func (v *fleetVerb) command(c *fleetCall) *cobra.Command {
	cmd := &cobra.Command{Use: v.name, Short: v.short}
	cmd.Flags().StringVar(&c.redis, "redis", "", "`URL` Redis of the fleet, such as rediss://user@host:6379?prefix=robots")
	c.formatFlag(cmd)
	if v.changes {
		cmd.Flags().BoolVar(&c.yes, "yes", false, "change without a confirmation")
	}
	if v.flags != nil {
		v.flags(c, cmd)
	}
	cmd.RunE = c.run(func(ctx context.Context) (int, error) {
		if !c.given("redis") {
			return exitBad, errors.New("no fleet given: name its Redis with --redis URL")
		}
		do, err := v.plan(c)
		if err != nil {
			return exitBad, err
		}
		ctx, stop := interruptible(ctx)
		defer stop()
		code, err := c.in(ctx, do)
		if ctx.Err() != nil {
			err = errInterrupted
		}
		return code, err
	})
	return cmd
}

// in does something in the fleet, or examines its servers if do is nil.
func (c *fleetCall) in(ctx context.Context, do action) (int, error) {
	o, err := withPasswords("--redis", c.redis, fleet.Options{})
	if err != nil {
		return exitBad, err
	}
	if do == nil {
		found, err := fleet.Examine(ctx, c.redis, o)
		if err != nil {
			return exitBad, fmt.Errorf("--redis: %w", err)
		}
		return c.doctor(found)
	}
	op, err := fleet.Operate(ctx, c.redis, whoAmI(), o)
	if err != nil {
		return exitBad, fmt.Errorf("--redis: %w", err)
	}
	defer func() { _ = op.Close() }() // which has nothing to report
	return do(ctx, op)
}

// whoAmI is the user that the log names.
func whoAmI() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}

// partly warns that a part of the fleet is unreachable. The error stays if all of it is: nothing is known then.
func (c *fleetCall) partly(err error, known bool) error {
	if err != nil && known {
		c.warn("the answer is incomplete: %v", err)
		return nil
	}
	return err
}
