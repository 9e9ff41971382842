package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fleet"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newFleetCommand(std *screen.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fleet",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command given" + ask.Hint("", verbs(cmd)))
			}
			return unknownCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(
		newFleetStatusCommand(std), newFleetShowCommand(std), newFleetConfigCommand(std), newFleetHoldCommand(std),
		newFleetHeldCommand(std), newFleetReleaseCommand(std), newFleetForgetCommand(std), newFleetDrainCommand(std),
		newFleetResumeCommand(std), newFleetLogCommand(std), newFleetDoctorCommand(std),
	)
	return cmd
}

// fleetFlags are the flags of all commands of robots fleet.
type fleetFlags struct {
	set    *pflag.FlagSet // with these
	redis  string
	output outputFlags
}

// register declares the flags.
func (f *fleetFlags) register(cmd *cobra.Command) {
	f.set = cmd.Flags()
	f.set.StringVar(&f.redis, "redis", "", "`URL` Redis of the fleet, such as rediss://user@host:6379?prefix=robots")
	f.output.registerFormat(cmd)
}

// validate checks that the fleet is named.
func (f *fleetFlags) validate() error {
	if !f.set.Changed("redis") {
		return errors.New("no fleet given; name its Redis with --redis URL")
	}
	return nil
}

// connect calls do with the options of the fleet, until a signal ends it.
func (f *fleetFlags) connect(ctx context.Context, do func(context.Context, fleet.Options) (int, error)) (int, error) {
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	options, err := source.WithPasswords("--redis", f.redis, fleet.Options{})
	if err != nil {
		return exitBad, err
	}
	status, err := do(ctx, options)
	if ctx.Err() != nil {
		err = screen.ErrInterrupted
	}
	return status, err
}

// operate calls do with an operator of the fleet.
func (f *fleetFlags) operate(ctx context.Context, do func(context.Context, *fleet.Operator) (int, error)) (int, error) {
	return f.connect(ctx, func(ctx context.Context, options fleet.Options) (int, error) {
		op, err := fleet.Operate(ctx, f.redis, operatorName(), options)
		if err != nil {
			return exitBad, fmt.Errorf("--redis: %w", err)
		}
		defer func() { _ = op.Close() }() // which has nothing to report
		return do(ctx, op)
	})
}

// operatorName is the user that the log names.
func operatorName() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}

// warnPartial warns that a part of the fleet is unreachable. The error stays if all of it is: nothing is known then.
func warnPartial(std *screen.Streams, err error, known bool) error {
	if err != nil && known {
		std.Warn("the answer is incomplete: %v", err)
		return nil
	}
	return err
}

// writeFleet writes an answer as a line of JSON, or as text.
func writeFleet[T any](std *screen.Streams, f *fleetFlags, v *T, text func(io.Writer, *T)) {
	if f.output.json() {
		std.EncodeAnswer(v)
		return
	}
	text(std.Out, v)
}
