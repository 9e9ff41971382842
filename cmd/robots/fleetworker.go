package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fleet"
	paceredis "github.com/robotskit/robots/pace/redis"
	"github.com/spf13/cobra"
)

// This file has the commands of robots fleet that change workers: one, or the options of all.

// checkWorker checks that the arguments name one worker.
func checkWorker(args []string) error {
	if len(args) != 1 {
		return errors.New("one worker required; name its id in robots fleet status")
	}
	return nil
}

// fleetDrainOptions are one run of robots fleet drain.
type fleetDrainOptions struct {
	std     *screen.Streams
	args    []string // the id of a worker
	changes fleetChangeFlags
}

func newFleetDrainCommand(std *screen.Streams) *cobra.Command {
	o := &fleetDrainOptions{std: std}
	cmd := &cobra.Command{Use: "drain", Short: "Stop a worker from acquiring permits", RunE: runE(std, &o.args, o.run)}
	o.changes.register(cmd)
	return cmd
}

func (o *fleetDrainOptions) run(ctx context.Context) (int, error) {
	if err := cmp.Or(o.changes.fleet.validate(), checkWorker(o.args)); err != nil {
		return exitBad, err
	}
	return o.changes.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		return o.changes.change(o.std, "drain the worker %s", o.args, func(int) (string, error) {
			return "acquires no more permits", op.Drain(ctx, o.args[0])
		})
	})
}

// fleetResumeOptions are one run of robots fleet resume.
type fleetResumeOptions struct {
	std     *screen.Streams
	args    []string // the id of a worker
	changes fleetChangeFlags
}

func newFleetResumeCommand(std *screen.Streams) *cobra.Command {
	o := &fleetResumeOptions{std: std}
	cmd := &cobra.Command{Use: "resume", Short: "End the drain of a worker", RunE: runE(std, &o.args, o.run)}
	o.changes.register(cmd)
	return cmd
}

func (o *fleetResumeOptions) run(ctx context.Context) (int, error) {
	if err := cmp.Or(o.changes.fleet.validate(), checkWorker(o.args)); err != nil {
		return exitBad, err
	}
	return o.changes.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		return o.changes.change(o.std, "resume the worker %s", o.args, func(int) (string, error) {
			drained, err := op.Resume(ctx, o.args[0])
			if !drained {
				return "was not drained", err
			}
			return "acquires permits again", err
		})
	})
}

// fleetConfigOptions are one run of robots fleet config.
type fleetConfigOptions struct {
	std     *screen.Streams
	args    []string // NAME=VALUE, none to show the options
	changes fleetChangeFlags
}

func newFleetConfigCommand(std *screen.Streams) *cobra.Command {
	o := &fleetConfigOptions{std: std}
	cmd := &cobra.Command{Use: "config", Short: "Show or change the options that all workers share", RunE: runE(std, &o.args, o.run)}
	o.changes.register(cmd)
	return cmd
}

func (o *fleetConfigOptions) run(ctx context.Context) (int, error) {
	if err := o.changes.fleet.validate(); err != nil {
		return exitBad, err
	}
	if len(o.args) == 0 {
		return o.changes.fleet.operate(ctx, o.show)
	}
	given := map[string]bool{}
	for _, arg := range o.args {
		if err := setFleetOption(new(paceredis.Config), arg); err != nil {
			return exitBad, err
		}
		name, _, _ := strings.Cut(arg, "=")
		if given[name] {
			return exitBad, fmt.Errorf("%s is given twice", name)
		}
		given[name] = true
	}
	what := strings.Join(o.args, " ")
	return o.changes.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		return o.changes.change(o.std, "set %s", []string{what}, func(int) (string, error) {
			return "set", op.Configure(ctx, what, func(config *paceredis.Config) {
				for _, arg := range o.args {
					_ = setFleetOption(config, arg) // it is valid
				}
			})
		})
	})
}

// show shows the options.
func (o *fleetConfigOptions) show(ctx context.Context, op *fleet.Operator) (int, error) {
	config, err := op.Config(ctx)
	if err := warnPartial(o.std, err, config.Version > 0); err != nil {
		return exitBad, err
	}
	writeFleet(o.std, &o.changes.fleet, source.FleetConfig(&config), render.FleetConfig)
	return exitAllowed, nil
}

// setFleetOption sets an option by an argument NAME=VALUE.
func setFleetOption(c *paceredis.Config, arg string) error {
	name, value, _ := strings.Cut(arg, "=")
	if name == "concurrency" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number, 1 or more", clip(arg))
		}
		c.Concurrency = n
		return nil
	}
	d, err := time.ParseDuration(value)
	switch name {
	case "address-interval":
		c.AddressInterval = d
	case "fetch-interval":
		c.FetchInterval = d
	case "lifetime":
		c.Lifetime = d
		if err != nil || d < time.Second || d > 12*time.Hour {
			return fmt.Errorf("%q is not a duration, 1s to 12h", clip(arg))
		}
	default:
		return fmt.Errorf("unknown option %q (known: concurrency, address-interval, fetch-interval, lifetime)", clip(name))
	}
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration such as 500ms", clip(arg))
	}
	return nil
}
