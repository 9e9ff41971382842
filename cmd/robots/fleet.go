package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"time"

	"github.com/robotskit/robots/fleet"
	paceredis "github.com/robotskit/robots/pace/redis"
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

	// What the arguments name.
	targets []paceredis.Target
	addr    netip.Addr
	readers []Crawler
	options []func(*paceredis.Config) // changes of them
}

// A fleetVerb is a command of robots fleet.
type fleetVerb struct {
	use, short, long, example string

	changes bool                                   // the fleet, after a confirmation
	flags   func(c *fleetCall, cmd *cobra.Command) // declares those of this command alone, nil for none
	check   func(c *fleetCall) error               // checks the arguments, nil if there are none
	do      func(c *fleetCall, ctx context.Context, op *fleet.Operator) (int, error)
}

var fleetVerbs = []fleetVerb{
	{
		use:   "status --redis URL",
		short: "Show the workers and the servers of a fleet",
		long: `Show the workers with their permits per second and heartbeats, those that died or
are drained, and the servers with memory, keys and commands per second.

Exit status: 0; 1 if a worker has died or a server is unreachable; 2 invalid usage,
or no server answers.`,
		example: "  robots fleet status --redis redis://redis.internal:6379",
		do:      (*fleetCall).status,
	},
	{
		use:   "show [-a TOKEN[,TOKEN]] [-d DIALECT] --redis URL {ORIGIN | ADDRESS}",
		short: "Show what a fleet knows of a site or an address",
		long: `Show what the fleet knows of an origin: its robots.txt and whether a worker fetches
it, its last request, permits, back-off and hold, and when the next request may start
and why. Given an IP address, show the last starts there.

Exit status: 0; 1 if nothing is known; 2 invalid usage, or its server does not answer.`,
		example: `  robots fleet show --redis redis://redis.internal:6379 -a MyBot https://example.com
  robots fleet show --redis redis://redis.internal:6379 192.0.2.7`,
		flags: func(c *fleetCall, cmd *cobra.Command) {
			c.crawler.register(cmd, false)
			cmd.Flags().Lookup("agent").Usage = "`TOKEN[,TOKEN]` product tokens of the crawler, most specific first"
		},
		check: (*fleetCall).oneSite,
		do:    (*fleetCall).show,
	},
	{
		use:   "config [--yes] --redis URL [NAME=VALUE]...",
		short: "Show or change the options that all workers share",
		long: `Show the options that all workers of the fleet have in common, or change them: concurrency
(permits per site), address-interval and fetch-interval (minimum interval between pages, and
between robots.txt fetches, at an IP address; 0 for none) and lifetime (of a permit).
Workers adopt a change at once; those started with another value stop.`,
		example: `  robots fleet config --redis redis://redis.internal:6379
  robots fleet config --redis redis://redis.internal:6379 --yes concurrency=2 address-interval=250ms`,
		changes: true,
		check:   (*fleetCall).configChanges,
		do:      (*fleetCall).config,
	},
	{
		use:   "hold [--for DURATION] [--yes] --redis URL {ORIGIN | HOST}... | --all",
		short: "Stop requests to sites",
		long: `Keep all workers of the fleet from starting requests for pages to an origin, to a host
with all its schemes and ports, or to all sites, until it is released or the time ends.
Requests in progress continue, and robots.txt is still fetched.`,
		example: `  robots fleet hold --redis redis://redis.internal:6379 https://example.com
  robots fleet hold --redis redis://redis.internal:6379 --for 2h --yes example.com`,
		changes: true,
		flags: func(c *fleetCall, cmd *cobra.Command) {
			cmd.Flags().DurationVar(&c.hold, "for", 0, "`DURATION` length of the hold, such as 2h (default until released)")
			cmd.Flags().BoolVar(&c.all, "all", false, "hold every site")
		},
		check: (*fleetCall).sites,
		do:    (*fleetCall).holdSites,
	},
	{
		use:   "held --redis URL",
		short: "List what is held",
		long: `List the held origins and hosts, and when each hold ends.

Exit status: 0; 2 invalid usage, or no server answers.`,
		example: "  robots fleet held --redis redis://redis.internal:6379",
		do:      (*fleetCall).held,
	},
	{
		use:     "release [--yes] --redis URL {ORIGIN | HOST}... | --all",
		short:   "End the hold of sites",
		long:    `End robots fleet hold. The interval of the site and its Retry-After still apply.`,
		example: "  robots fleet release --redis redis://redis.internal:6379 https://example.com",
		changes: true,
		flags: func(c *fleetCall, cmd *cobra.Command) {
			cmd.Flags().BoolVar(&c.all, "all", false, "end every hold")
		},
		check: (*fleetCall).sites,
		do:    (*fleetCall).release,
	},
	{
		use:   "forget [--yes] --redis URL ORIGIN...",
		short: "Delete the robots.txt and back-off of sites",
		long: `Delete the fleet's copy of the robots.txt of an origin, with the last good copy, and its
Retry-After and back-off. Workers that have the file in memory use it until it expires.
The interval since the last request and a hold still apply.`,
		example: "  robots fleet forget --redis redis://redis.internal:6379 https://example.com",
		changes: true,
		check:   (*fleetCall).origins,
		do:      (*fleetCall).forget,
	},
	{
		use:   "drain [--yes] --redis URL WORKER",
		short: "Stop a worker from acquiring permits",
		long: `Make a worker, named by its id in robots fleet status, acquire no more permits: until
robots fleet resume its callers get an error and robots serve is not ready. Requests in
progress continue.`,
		example: "  robots fleet drain --redis redis://redis.internal:6379 5f0c2a91d3",
		changes: true,
		check:   (*fleetCall).oneWorker,
		do:      (*fleetCall).drain,
	},
	{
		use:   "resume [--yes] --redis URL WORKER",
		short: "End the drain of a worker",
		long: `End robots fleet drain: the worker acquires permits again, and robots serve is ready
again. A worker that is started again is never drained.`,
		example: "  robots fleet resume --redis redis://redis.internal:6379 5f0c2a91d3",
		changes: true,
		check:   (*fleetCall).oneWorker,
		do:      (*fleetCall).resume,
	},
	{
		use:   "log [-n N] --redis URL",
		short: "Show what operators have changed",
		long: `Show the last changes made with robots fleet: when, who, what. The fleet keeps the
last 1000.

Exit status: 0; 2 invalid usage, or no server answers.`,
		example: "  robots fleet log --redis redis://redis.internal:6379 -n 100",
		flags: func(c *fleetCall, cmd *cobra.Command) {
			cmd.Flags().IntVarP(&c.last, "last", "n", 20, "`N` number of entries to show")
		},
		check: func(c *fleetCall) error {
			if c.last < 1 {
				return fmt.Errorf("-n %d is not a number of entries, 1 or more", c.last)
			}
			return noArguments(c.args)
		},
		do: (*fleetCall).log,
	},
	{
		use:   "doctor --redis URL",
		short: "Find problems with the Redis of a fleet",
		long: `Check every server for what a fleet needs: reachability, rights of the user, version,
options of the fleet, eviction, memory, persistence, replicas, clock and latency. It
changes nothing.

Exit status: 0 no problem; 1 problems found; 2 invalid usage.`,
		example: `  robots fleet doctor --redis redis://redis.internal:6379
  robots fleet doctor --redis rediss://robots@redis.internal:6379 --format json`,
	},
}

func fleetCommand(std *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fleet",
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
	for _, v := range fleetVerbs {
		cmd.AddCommand(v.command(&fleetCall{command: newCommand(std)}))
	}
	return cmd
}

func (v *fleetVerb) command(c *fleetCall) *cobra.Command {
	cmd := &cobra.Command{Use: v.use, Short: v.short, Long: v.long, Example: v.example}
	cmd.Flags().StringVar(&c.redis, "redis", "", "`URL` Redis of the fleet, such as rediss://user@host:6379?prefix=robots")
	c.formatFlag(cmd)
	if v.changes {
		cmd.Long += `

It needs a confirmation: an answer on a terminal, or --yes. The change is noted in
robots fleet log.

Exit status: 0 done; 2 invalid usage, or a change that failed.`
		cmd.Flags().BoolVar(&c.yes, "yes", false, "change without a confirmation")
	}
	if v.flags != nil {
		v.flags(c, cmd)
	}
	cmd.RunE = c.run(func(ctx context.Context) (int, error) {
		if !c.given("redis") {
			return exitBad, errors.New("no fleet given: name its Redis with --redis URL")
		}
		ctx, stop := interruptible(ctx)
		defer stop()
		code, err := v.run(ctx, c)
		if ctx.Err() != nil {
			err = errInterrupted
		}
		return code, err
	})
	return cmd
}

// run checks the arguments, connects to the fleet and does something there.
func (v *fleetVerb) run(ctx context.Context, c *fleetCall) (int, error) {
	check := v.check
	if check == nil {
		check = func(c *fleetCall) error { return noArguments(c.args) }
	}
	if err := check(c); err != nil {
		return exitBad, err
	}
	o, err := withPasswords("--redis", c.redis, fleet.Options{})
	if err != nil {
		return exitBad, err
	}
	if v.do == nil { // the doctor changes nothing
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
	return v.do(c, ctx, op)
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
