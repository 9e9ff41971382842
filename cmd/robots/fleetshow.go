package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fleet"
	"github.com/spf13/cobra"
)

// This file has the commands of robots fleet that change nothing.

// fleetStatusOptions are one run of robots fleet status.
type fleetStatusOptions struct {
	std   *screen.Streams
	args  []string
	fleet fleetFlags
}

func newFleetStatusCommand(std *screen.Streams) *cobra.Command {
	o := &fleetStatusOptions{std: std}
	cmd := &cobra.Command{Use: "status", Short: "Show the workers and the servers of a fleet", RunE: runE(std, &o.args, o.run)}
	o.fleet.register(cmd)
	return cmd
}

func (o *fleetStatusOptions) run(ctx context.Context) (int, error) {
	if err := cmp.Or(o.fleet.validate(), noArguments(o.args)); err != nil {
		return exitBad, err
	}
	return o.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		s, failed := op.Status(ctx)
		if err := warnPartial(o.std, failed, len(s.Workers) > 0); err != nil {
			return exitBad, err
		}
		status := source.FleetStatus(&s, op.Parts())
		writeFleet(o.std, &o.fleet, status, render.FleetStatus)
		if failed != nil || !status.Healthy() {
			return exitDisallowed, nil
		}
		return exitAllowed, nil
	})
}

// fleetShowOptions are one run of robots fleet show.
type fleetShowOptions struct {
	std     *screen.Streams
	args    []string // an origin or an IP address
	fleet   fleetFlags
	crawler crawlerFlags
}

func newFleetShowCommand(std *screen.Streams) *cobra.Command {
	o := &fleetShowOptions{std: std}
	cmd := &cobra.Command{Use: "show", Short: "Show what a fleet knows of a site or an address", RunE: runE(std, &o.args, o.run)}
	o.fleet.register(cmd)
	o.crawler.register(cmd, false)
	cmd.Flags().Lookup("agent").Usage = "`TOKEN[,TOKEN]` product tokens of the crawler, most specific first"
	return cmd
}

func (o *fleetShowOptions) run(ctx context.Context) (int, error) {
	if err := o.fleet.validate(); err != nil {
		return exitBad, err
	}
	if len(o.args) != 1 {
		return exitBad, errors.New("one origin required, such as https://example.com")
	}
	if address, err := netip.ParseAddr(o.args[0]); err == nil {
		return o.showAddress(ctx, address)
	}
	origin, _, err := robots.ParseURL(o.args[0])
	if err != nil {
		return exitBad, fmt.Errorf("%q is not an origin such as https://example.com: %w", clip(o.args[0]), err)
	}
	chosen, err := o.crawler.choose()
	if err == nil && len(chosen.list) > 1 {
		err = errors.New("several crawlers given: -a names one, with fallbacks after commas")
	}
	if err != nil {
		return exitBad, err
	}
	return o.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		s, err := op.Site(ctx, origin)
		if err != nil {
			return exitBad, err
		}
		writeFleet(o.std, &o.fleet, source.FleetSite(&s, chosen.list[0]), render.FleetSite)
		if s.Record == nil && !s.Pace.Known {
			return exitDisallowed, nil
		}
		return exitAllowed, nil
	})
}

// showAddress shows the state of an IP address.
func (o *fleetShowOptions) showAddress(ctx context.Context, address netip.Addr) (int, error) {
	return o.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		a, err := op.Address(ctx, address)
		if err != nil {
			return exitBad, err
		}
		writeFleet(o.std, &o.fleet, source.FleetAddress(address, a), render.FleetAddress)
		if a.Page.IsZero() && a.Fetch.IsZero() {
			return exitDisallowed, nil
		}
		return exitAllowed, nil
	})
}

// fleetHeldOptions are one run of robots fleet held.
type fleetHeldOptions struct {
	std   *screen.Streams
	args  []string
	fleet fleetFlags
}

func newFleetHeldCommand(std *screen.Streams) *cobra.Command {
	o := &fleetHeldOptions{std: std}
	cmd := &cobra.Command{Use: "held", Short: "List what is held", RunE: runE(std, &o.args, o.run)}
	o.fleet.register(cmd)
	return cmd
}

func (o *fleetHeldOptions) run(ctx context.Context) (int, error) {
	if err := cmp.Or(o.fleet.validate(), noArguments(o.args)); err != nil {
		return exitBad, err
	}
	return o.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		list, err := op.Held(ctx)
		if err := warnPartial(o.std, err, len(list) > 0); err != nil {
			return exitBad, err
		}
		for _, h := range list {
			writeFleet(o.std, &o.fleet, source.FleetHold(h, o.std.Now()), render.FleetHold)
		}
		return exitAllowed, nil
	})
}

// fleetLogOptions are one run of robots fleet log.
type fleetLogOptions struct {
	std   *screen.Streams
	args  []string
	fleet fleetFlags
	last  int // entries
}

func newFleetLogCommand(std *screen.Streams) *cobra.Command {
	o := &fleetLogOptions{std: std}
	cmd := &cobra.Command{Use: "log", Short: "Show what operators have changed", RunE: runE(std, &o.args, o.run)}
	o.fleet.register(cmd)
	cmd.Flags().IntVarP(&o.last, "last", "n", 20, "`N` number of entries to show")
	return cmd
}

func (o *fleetLogOptions) run(ctx context.Context) (int, error) {
	if err := o.fleet.validate(); err != nil {
		return exitBad, err
	}
	if o.last < 1 {
		return exitBad, fmt.Errorf("-n %d is not a number of entries, 1 or more", o.last)
	}
	if err := noArguments(o.args); err != nil {
		return exitBad, err
	}
	return o.fleet.operate(ctx, func(ctx context.Context, op *fleet.Operator) (int, error) {
		list, err := op.Log(ctx, o.last)
		if err := warnPartial(o.std, err, len(list) > 0); err != nil {
			return exitBad, err
		}
		for _, e := range list {
			writeFleet(o.std, &o.fleet, &answer.FleetLogEntry{At: e.At, Who: e.Who, What: e.What}, render.FleetLogEntry)
		}
		return exitAllowed, nil
	})
}

// fleetDoctorOptions are one run of robots fleet doctor.
type fleetDoctorOptions struct {
	std   *screen.Streams
	args  []string
	fleet fleetFlags
}

func newFleetDoctorCommand(std *screen.Streams) *cobra.Command {
	o := &fleetDoctorOptions{std: std}
	cmd := &cobra.Command{Use: "doctor", Short: "Find problems with the Redis of a fleet", RunE: runE(std, &o.args, o.run)}
	o.fleet.register(cmd)
	return cmd
}

func (o *fleetDoctorOptions) run(ctx context.Context) (int, error) {
	if err := cmp.Or(o.fleet.validate(), noArguments(o.args)); err != nil {
		return exitBad, err
	}
	return o.fleet.connect(ctx, func(ctx context.Context, options fleet.Options) (int, error) {
		problems, err := fleet.Examine(ctx, o.fleet.redis, options)
		if err != nil {
			return exitBad, fmt.Errorf("--redis: %w", err)
		}
		for _, p := range problems {
			problem := &answer.FleetProblem{Check: p.Check, Node: answer.OrNull(p.Node), Text: p.Text, Do: p.Do}
			writeFleet(o.std, &o.fleet, problem, render.FleetProblem)
		}
		if len(problems) > 0 {
			return exitDisallowed, nil
		}
		if !o.fleet.output.json() {
			fmt.Fprintf(o.std.Out, "no problems found: %s\n", strings.Join(fleet.Checks(), ", "))
		}
		return exitAllowed, nil
	})
}
