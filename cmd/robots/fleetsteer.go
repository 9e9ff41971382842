package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
	"github.com/spf13/cobra"
)

// This file holds the verbs of robots fleet that change something: hold, release, forget,
// drain, resume. Each asks before, and is noted in the fleet's log.

// changing declares the flags of such a verb.
func (c *fleetCall) changing(cmd *cobra.Command, status *int, verb func(context.Context) (int, error)) *cobra.Command {
	cmd.Long += `

On a terminal it asks before; else it needs --yes. The change is noted in the fleet
(robots fleet log).

Exit status: 0 done, 2 a bad call, or nothing done.`
	c.register(cmd, status, verb)
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask")
	return cmd
}

// confirm asks whether to go on. An error says that nothing was done.
func (c *fleetCall) confirm(what string) error {
	if c.yes {
		return nil
	}
	in, _ := c.std.in.(*os.File)
	if in == nil || !isTerminal(in) {
		return errors.New("nothing was changed: there is no terminal to ask on, so give --yes")
	}
	fmt.Fprintf(c.std.err, "%s: %s, for all workers? [y/N] ", c.name, what)
	line, _ := bufio.NewReader(in).ReadString('\n') // without an answer it is no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// change asks about a change, makes it, and says what was done.
func (c *fleetCall) change(ctx context.Context, to, what string, do func(*fleet.Operator) (done string, err error)) (int, error) {
	return c.operate(ctx, func(op *fleet.Operator) (int, error) {
		if err := c.confirm(what); err != nil {
			return exitBad, err
		}
		done, err := do(op)
		if err != nil {
			return exitBad, err
		}
		if c.format == formatJSON {
			return exitAllowed, encode(c.std.out, struct {
				Schema int    `json:"schema"`
				To     string `json:"to"`
				Done   string `json:"done"`
			}{1, to, done})
		}
		fmt.Fprintf(c.std.out, "%s: %s\n", to, done)
		return exitAllowed, nil
	})
}

// changeOrigin is change for a verb about an origin.
func (c *fleetCall) changeOrigin(ctx context.Context, what string, do func(*fleet.Operator, robots.Origin) (done string, err error)) (int, error) {
	origin, err := c.originOf()
	if err != nil {
		return exitBad, err
	}
	return c.change(ctx, origin.String(), fmt.Sprintf(what, origin), func(op *fleet.Operator) (string, error) { return do(op, origin) })
}

// changeWorker is change for a verb about a worker.
func (c *fleetCall) changeWorker(ctx context.Context, what string, do func(*fleet.Operator, string) (done string, err error)) (int, error) {
	if len(c.args) != 1 {
		return exitBad, errors.New("one worker is needed, by its id in robots fleet status")
	}
	worker := c.args[0]
	return c.change(ctx, worker, what+clip(worker), func(op *fleet.Operator) (string, error) { return do(op, worker) })
}

func fleetHoldCommand(c *fleetCall, status *int) *cobra.Command {
	cmd := c.changing(&cobra.Command{
		Use:   "hold [--for DURATION] [--yes] --redis URL ORIGIN",
		Short: "Let no worker start requests to a site",
		Long: `Hold keeps all workers of the fleet from starting requests for pages to an origin,
until it is released or the time ends. It is part of what every grant is made of, so
no worker can overlook it. Requests under way go on to their end. A robots.txt that
has expired is still fetched when a worker asks for it.`,
		Example: `  robots fleet hold --redis redis://redis.internal:6379 https://example.com
  robots fleet hold --redis redis://redis.internal:6379 --for 2h --yes https://example.com`,
	}, status, func(ctx context.Context) (int, error) {
		until, d := "until it is released", paceredis.Forever
		if c.given("for") {
			if c.hold <= 0 {
				return exitBad, errors.New("--for must be more than 0")
			}
			until, d = "for "+pace.Words(c.hold), c.hold
		}
		return c.changeOrigin(ctx, "hold %s "+until, func(op *fleet.Operator, origin robots.Origin) (string, error) {
			return "held " + until, op.Hold(ctx, origin, d)
		})
	})
	cmd.Flags().DurationVar(&c.hold, "for", 0, "hold it for this `DURATION`, as in 2h, in place of until it is released")
	return cmd
}

func fleetReleaseCommand(c *fleetCall, status *int) *cobra.Command {
	return c.changing(&cobra.Command{
		Use:   "release [--yes] --redis URL ORIGIN",
		Short: "End the hold of a site",
		Long: `Release ends robots fleet hold. Workers that wait for the site notice it within a
minute. Its interval, and what it asked for by Retry-After, still hold.`,
		Example: "  robots fleet release --redis redis://redis.internal:6379 https://example.com",
	}, status, func(ctx context.Context) (int, error) {
		return c.changeOrigin(ctx, "release %s", func(op *fleet.Operator, origin robots.Origin) (string, error) {
			held, err := op.Release(ctx, origin)
			if !held {
				return "was not held", err
			}
			return "released", err
		})
	})
}

func fleetForgetCommand(c *fleetCall, status *int) *cobra.Command {
	return c.changing(&cobra.Command{
		Use:   "forget [--yes] --redis URL ORIGIN",
		Short: "Forget the robots.txt and the back-off of a site",
		Long: `Forget deletes what the fleet has of the robots.txt of an origin, with the last good
copy, and forgets its Retry-After and its back-off. Workers that have the file in
memory go on with it until it expires. When the site was last asked is kept, as is
a hold, so that no request starts too early. Where each site is one worker's, by a
lease, that one gives it up, and it rests until the lease would have ended, for a
minute at most.`,
		Example: "  robots fleet forget --redis redis://redis.internal:6379 https://example.com",
	}, status, func(ctx context.Context) (int, error) {
		return c.changeOrigin(ctx, "forget the robots.txt and the back-off of %s", func(op *fleet.Operator, origin robots.Origin) (string, error) {
			rests, err := op.Forget(ctx, origin)
			if rests > 0 {
				return "forgotten; a worker has the site and gives it up, and it rests for " + pace.Words(rests.Round(time.Second)), err
			}
			return "forgotten", err
		})
	})
}

func fleetDrainCommand(c *fleetCall, status *int) *cobra.Command {
	return c.changing(&cobra.Command{
		Use:   "drain [--yes] --redis URL WORKER",
		Short: "Let a worker take no more turns",
		Long: `Drain tells a worker, by its id in robots fleet status, to take no more grants and to
give back those that it has not used. It learns so within 7 s, and until robots fleet
resume: who waits there gets an error, and robots serve is not ready. What is under
way goes on to its end.`,
		Example: "  robots fleet drain --redis redis://redis.internal:6379 5f0c2a91d3",
	}, status, func(ctx context.Context) (int, error) {
		return c.changeWorker(ctx, "drain the worker ", func(op *fleet.Operator, worker string) (string, error) {
			return "takes no more grants within 7 s", op.Drain(ctx, worker)
		})
	})
}

func fleetResumeCommand(c *fleetCall, status *int) *cobra.Command {
	return c.changing(&cobra.Command{
		Use:   "resume [--yes] --redis URL WORKER",
		Short: "End the drain of a worker",
		Long: `Resume ends robots fleet drain: the worker takes grants again within 7 s, and robots
serve is ready again. A worker that has ended meanwhile is started anew, which no
drain outlasts.`,
		Example: "  robots fleet resume --redis redis://redis.internal:6379 5f0c2a91d3",
	}, status, func(ctx context.Context) (int, error) {
		return c.changeWorker(ctx, "resume the worker ", func(op *fleet.Operator, worker string) (string, error) {
			drained, err := op.Resume(ctx, worker)
			if !drained {
				return "was not drained", err
			}
			return "takes grants again within 7 s", err
		})
	})
}
