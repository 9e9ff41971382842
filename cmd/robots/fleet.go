package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
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

// An action is what a command does in a fleet; nil examines it.
type action func(ctx context.Context, op *fleet.Operator) (int, error)

// A plan checks the arguments of a command and returns its action.
type plan func(c *fleetCall) (action, error)

func fleetCommand(std *screen.Streams) *cobra.Command {
	all := &cobra.Command{
		Use: "fleet",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command given" + ask.Hint("", verbs(cmd)))
			}
			return unknownCommand(cmd, args[0])
		},
	}
	look := func(name, short string, p plan) (*fleetCall, *cobra.Command) {
		c := &fleetCall{command: newCommand(std)}
		cmd := &cobra.Command{Use: name, Short: short, RunE: c.run(func(ctx context.Context) (int, error) { return c.follow(ctx, p) })}
		cmd.Flags().StringVar(&c.redis, "redis", "", "`URL` Redis of the fleet, such as rediss://user@host:6379?prefix=robots")
		c.formatFlag(cmd)
		all.AddCommand(cmd)
		return c, cmd
	}
	change := func(name, short string, p plan) (*fleetCall, *cobra.Command) {
		c, cmd := look(name, short, p)
		cmd.Flags().BoolVar(&c.yes, "yes", false, "change without a confirmation")
		return c, cmd
	}
	look("status", "Show the workers and the servers of a fleet", func(c *fleetCall) (action, error) { return c.status, noArguments(c.args) })

	c, cmd := look("show", "Show what a fleet knows of a site or an address", (*fleetCall).show)
	c.crawler.register(cmd, false)
	cmd.Flags().Lookup("agent").Usage = "`TOKEN[,TOKEN]` product tokens of the crawler, most specific first"

	change("config", "Show or change the options that all workers share", (*fleetCall).config)

	c, cmd = change("hold", "Stop requests to sites", (*fleetCall).holdSites)
	cmd.Flags().DurationVar(&c.hold, "for", 0, "`DURATION` length of the hold, such as 2h (default until released)")
	cmd.Flags().BoolVar(&c.all, "all", false, "hold every site")

	look("held", "List what is held", func(c *fleetCall) (action, error) { return c.held, noArguments(c.args) })

	c, cmd = change("release", "End the hold of sites", (*fleetCall).release)
	cmd.Flags().BoolVar(&c.all, "all", false, "end every hold")

	change("forget", "Delete the robots.txt and back-off of sites", (*fleetCall).forget)
	change("drain", "Stop a worker from acquiring permits", (*fleetCall).drain)
	change("resume", "End the drain of a worker", (*fleetCall).resume)

	c, cmd = look("log", "Show what operators have changed", func(c *fleetCall) (action, error) {
		if c.last < 1 {
			return nil, fmt.Errorf("-n %d is not a number of entries, 1 or more", c.last)
		}
		return c.log, noArguments(c.args)
	})
	cmd.Flags().IntVarP(&c.last, "last", "n", 20, "`N` number of entries to show")

	look("doctor", "Find problems with the Redis of a fleet", func(c *fleetCall) (action, error) { return nil, noArguments(c.args) })
	return all
}

// follow checks the arguments, and then does what they say.
func (c *fleetCall) follow(ctx context.Context, p plan) (int, error) {
	if !c.given("redis") {
		return exitBad, errors.New("no fleet given: name its Redis with --redis URL")
	}
	do, err := p(c)
	if err != nil {
		return exitBad, err
	}
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	code, err := c.in(ctx, do)
	if ctx.Err() != nil {
		err = screen.ErrInterrupted
	}
	return code, err
}

// in connects to the fleet and does something there.
func (c *fleetCall) in(ctx context.Context, do action) (int, error) {
	o, err := source.WithPasswords("--redis", c.redis, fleet.Options{})
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

// writeFleet writes an answer as a line of JSON, or as text.
func writeFleet[T any](c *fleetCall, v *T, text func(io.Writer, *T)) {
	if c.format == formatJSON {
		c.std.EncodeAnswer(v)
		return
	}
	text(c.std.Out, v)
}
