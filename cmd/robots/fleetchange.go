package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/duration"
	paceredis "github.com/robotskit/robots/pace/redis"
	"github.com/spf13/cobra"
)

// This file has the commands of robots fleet that change something. Each change needs a confirmation, and is noted in the
// fleet's log.

// fleetChangeFlags are the flags of all commands that change a fleet.
type fleetChangeFlags struct {
	fleet fleetFlags
	yes   bool
}

// register declares the flags.
func (f *fleetChangeFlags) register(cmd *cobra.Command) {
	f.fleet.register(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "change without a confirmation")
}

// confirm asks for a confirmation. The error says that nothing was changed.
func (f *fleetChangeFlags) confirm(std *screen.Streams, what string) error {
	if f.yes {
		return nil
	}
	if !screen.IsTerminal(std.In) {
		return errors.New("nothing was changed: there is no terminal for a confirmation; use --yes")
	}
	fmt.Fprintf(std.Err, "%s: %s, for all workers? [y/N] ", std.Name, what)
	line, _ := bufio.NewReader(std.In).ReadString('\n') // no answer is no
	if reply := strings.ToLower(strings.TrimSpace(line)); reply != "y" && reply != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// change confirms a change (what, with %s for the subjects), makes it for each of them, and reports it.
func (f *fleetChangeFlags) change(
	std *screen.Streams, what string, subjects []string, do func(i int) (done string, err error),
) (int, error) {
	if err := f.confirm(std, fmt.Sprintf(what, strings.Join(subjects, ", "))); err != nil {
		return exitBad, err
	}
	status := exitAllowed
	for i, subject := range subjects {
		done, err := do(i)
		switch {
		case errors.Is(err, paceredis.ErrNotNoted):
			std.Warn("%v", err)
		case err != nil && len(subjects) == 1:
			return exitBad, err
		case err != nil: // such as that of its server, while others are reachable
			std.Complain(fmt.Errorf("%s: %w", subject, err))
			status = exitBad
			continue
		}
		writeFleet(std, &f.fleet, &answer.FleetChange{To: subject, Done: done}, render.FleetChange)
	}
	return status, nil
}

// fleetTargets returns the targets that arguments or --all name, and their names in one form.
func fleetTargets(args []string, all bool) (targets []paceredis.Target, names []string, err error) {
	switch {
	case all && len(args) > 0:
		return nil, nil, fmt.Errorf("unexpected argument %q: --all is every site", clip(args[0]))
	case all:
		return []paceredis.Target{paceredis.All}, []string{paceredis.All.String()}, nil
	case len(args) == 0:
		return nil, nil, errors.New("no site given; name origins such as https://example.com, hosts such as example.com, or --all")
	}
	for _, arg := range args {
		target, err := paceredis.ParseTarget(arg)
		if err != nil {
			return nil, nil, err
		}
		targets = append(targets, target)
		names = append(names, target.String())
	}
	return targets, names, nil
}

// fleetHoldOptions are one run of robots fleet hold.
type fleetHoldOptions struct {
	std      *screen.Streams
	args     []string // origins and hosts
	changes  fleetChangeFlags
	duration time.Duration // 0 for a hold until released
	all      bool          // every site
}

func newFleetHoldCommand(std *screen.Streams) *cobra.Command {
	o := &fleetHoldOptions{std: std}
	cmd := &cobra.Command{Use: "hold", Short: "Stop requests to sites", RunE: runE(std, &o.args, o.run)}
	o.changes.register(cmd)
	cmd.Flags().DurationVar(&o.duration, "for", 0, "`DURATION` length of the hold, such as 2h (default until released)")
	cmd.Flags().BoolVar(&o.all, "all", false, "hold every site")
	return cmd
}

func (o *fleetHoldOptions) run(ctx context.Context) (int, error) {
	if err := o.changes.fleet.validate(); err != nil {
		return exitBad, err
	}
	if o.changes.fleet.set.Changed("for") && o.duration <= 0 {
		return exitBad, errors.New("--for must be more than 0")
	}
	targets, names, err := fleetTargets(o.args, o.all)
	if err != nil {
		return exitBad, err
	}
	until := "until released"
	hold := paceredis.Forever
	if o.duration > 0 {
		until = "for " + duration.Text(o.duration)
		hold = o.duration
	}
	return o.changes.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		return o.changes.change(o.std, "hold %s "+until, names, func(i int) (string, error) {
			return "held " + until, op.Hold(ctx, targets[i], hold)
		})
	})
}

// fleetReleaseOptions are one run of robots fleet release.
type fleetReleaseOptions struct {
	std     *screen.Streams
	args    []string // origins and hosts
	changes fleetChangeFlags
	all     bool // every hold
}

func newFleetReleaseCommand(std *screen.Streams) *cobra.Command {
	o := &fleetReleaseOptions{std: std}
	cmd := &cobra.Command{Use: "release", Short: "End the hold of sites", RunE: runE(std, &o.args, o.run)}
	o.changes.register(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "end every hold")
	return cmd
}

func (o *fleetReleaseOptions) run(ctx context.Context) (int, error) {
	if err := o.changes.fleet.validate(); err != nil {
		return exitBad, err
	}
	targets, names, err := fleetTargets(o.args, o.all)
	if err != nil {
		return exitBad, err
	}
	return o.changes.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		return o.changes.change(o.std, "release %s", names, func(i int) (string, error) {
			held, err := op.Release(ctx, targets[i])
			done := "released"
			if !held {
				done = "was not held"
			}
			list, _ := op.Held(ctx) // what is known of it
			for _, h := range list {
				if overlap(targets[i], h.Target) {
					done += "; still held: " + h.Target.String()
				}
			}
			return done, err
		})
	})
}

// overlap reports whether a hold of one target keeps requests to the other from starting.
func overlap(a, b paceredis.Target) bool {
	host := func(t paceredis.Target) string { return cmp.Or(t.Origin().Host(), string(t)) }
	return a == paceredis.All || b == paceredis.All || host(a) == host(b) && (a.Origin().IsZero() || b.Origin().IsZero())
}

// fleetForgetOptions are one run of robots fleet forget.
type fleetForgetOptions struct {
	std     *screen.Streams
	args    []string // origins
	changes fleetChangeFlags
}

func newFleetForgetCommand(std *screen.Streams) *cobra.Command {
	o := &fleetForgetOptions{std: std}
	cmd := &cobra.Command{Use: "forget", Short: "Delete the robots.txt and back-off of sites", RunE: runE(std, &o.args, o.run)}
	o.changes.register(cmd)
	return cmd
}

func (o *fleetForgetOptions) run(ctx context.Context) (int, error) {
	if err := o.changes.fleet.validate(); err != nil {
		return exitBad, err
	}
	if len(o.args) == 0 {
		return exitBad, errors.New("no site given; name origins such as https://example.com")
	}
	var origins []robots.Origin
	for _, arg := range o.args {
		target, err := paceredis.ParseTarget(arg)
		if err != nil || target.Origin().IsZero() {
			return exitBad, fmt.Errorf("%q is not an origin such as https://example.com", clip(arg))
		}
		origins = append(origins, target.Origin())
	}
	return o.changes.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		return o.changes.change(o.std, "delete the robots.txt and back-off of %s", o.args, func(i int) (string, error) {
			return "deleted", op.Forget(ctx, origins[i])
		})
	})
}
