package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fleet"
	"github.com/spf13/cobra"
)

// A fleetCall is one run of a verb of robots fleet.
type fleetCall struct {
	*command
	crawler crawlerFlags
	redis   string // the URL
	yes     bool
	all     bool          // every site
	hold    time.Duration // 0 until it is released
	last    int           // entries of the log
}

func fleetCommand(std *streams, status *int) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Inspect and control workers sharing Redis",
		Long: `Inspect and control the workers of a crawler that share Redis. With some servers of a
cluster unreachable, each command does what it can with the others and names those that
failed. The password of Redis comes from the environment: ` + passwordName + `, or
from the file named by the same with ` + inFile + `.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command given" + knownVerbs(cmd))
			}
			return unknownCommand(cmd, args[0])
		},
	}
	for _, make := range []func(*fleetCall, *int) *cobra.Command{
		fleetStatusCommand, fleetShowCommand, fleetConfigCommand, fleetHoldCommand, fleetHeldCommand, fleetReleaseCommand, fleetForgetCommand, fleetDrainCommand, fleetResumeCommand, fleetLogCommand, fleetDoctorCommand,
	} {
		cmd.AddCommand(make(&fleetCall{command: newCommand(std)}, status))
	}
	return cmd
}

// register declares the flags of every verb of fleet, and what runs.
func (c *fleetCall) register(cmd *cobra.Command, status *int, verb func(context.Context) (int, error)) *cobra.Command {
	cmd.DisableFlagsInUseLine = true
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&c.redis, "redis", "", "`URL` Redis of the fleet, such as rediss://user@host:6379?prefix=robots")
	registerFormat(cmd, &c.format)
	cmd.RunE = c.run(status, func(ctx context.Context) (int, error) {
		if !c.given("redis") {
			return exitBad, errors.New("no fleet given: name its Redis with --redis URL")
		}
		ctx, stop := interruptible(ctx)
		defer stop()
		code, err := verb(ctx)
		if ctx.Err() != nil {
			err = errInterrupted
		}
		return code, err
	})
	return cmd
}

// operate connects to the fleet and does something there.
func (c *fleetCall) operate(ctx context.Context, do func(*fleet.Operator) (int, error)) (int, error) {
	o, err := withPasswords("--redis", c.redis, fleet.Options{})
	if err != nil {
		return exitBad, err
	}
	op, err := fleet.Operate(ctx, c.redis, whoAmI(), o)
	if err != nil {
		return exitBad, fmt.Errorf("--redis: %w", err)
	}
	defer func() { _ = op.Close() }() // which has nothing to report
	return do(op)
}

// partly warns that a part of the fleet is unreachable.
func (c *fleetCall) partly(err error) {
	if err != nil {
		c.warn("the answer is incomplete: %v", err)
	}
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

// originOf reads the one origin that is the argument.
func (c *fleetCall) originOf() (origin robots.Origin, err error) {
	if len(c.args) != 1 {
		return origin, errors.New("one origin is needed, such as https://example.com")
	}
	if origin, _, err = robots.ParseURL(c.args[0]); err != nil {
		return origin, fmt.Errorf("%q is not an origin such as https://example.com: %w", clip(c.args[0]), err)
	}
	return origin, nil
}

func fleetDoctorCommand(c *fleetCall, status *int) *cobra.Command {
	return c.register(&cobra.Command{
		Use:   "doctor --redis URL",
		Short: "Find problems with the Redis of a fleet",
		Long: `Check every server for what a fleet needs: reachability, rights of the user, version,
options of the fleet, eviction, memory, persistence, replicas, clock and latency. It
changes nothing.

Exit status: 0 no problem; 1 problems found; 2 invalid usage.`,
		Example: `  robots fleet doctor --redis redis://redis.internal:6379
  robots fleet doctor --redis rediss://robots@redis.internal:6379 --format json`,
	}, status, c.doctor)
}

func (c *fleetCall) doctor(ctx context.Context) (int, error) {
	if err := noArguments(c.args); err != nil {
		return exitBad, err
	}
	o, err := withPasswords("--redis", c.redis, fleet.Options{})
	if err != nil {
		return exitBad, err
	}
	found, err := fleet.Examine(ctx, c.redis, o)
	if err != nil {
		return exitBad, fmt.Errorf("--redis: %w", err)
	}
	for _, f := range found {
		if c.format == formatJSON {
			err = encode(c.std.out, struct {
				Schema int     `json:"schema"`
				Check  string  `json:"check"`
				Node   *string `json:"node"`
				Text   string  `json:"text"`
				Do     string  `json:"do"`
			}{1, f.Check, notEmpty(f.Node), f.Text, f.Do})
			if err != nil {
				return exitBad, err
			}
			continue
		}
		where := ""
		if f.Node != "" {
			where = f.Node + ": "
		}
		fmt.Fprintf(c.std.out, "%s  %s%s.\n%s  fix: %s.\n", fill(f.Check, 11), where, f.Text, fill("", 11), f.Do)
	}
	if len(found) > 0 {
		return exitDisallowed, nil
	}
	if c.format == formatText {
		fmt.Fprintf(c.std.out, "no problems found: %s\n", strings.Join(fleet.Checks(), ", "))
	}
	return exitAllowed, nil
}
