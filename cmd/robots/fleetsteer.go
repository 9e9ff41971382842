package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/duration"
	paceredis "github.com/robotskit/robots/pace/redis"
	"github.com/spf13/cobra"
)

// This file has the commands of robots fleet that change something, and those that show what was changed. Each change needs a
// confirmation, and is noted in the fleet's log.

// changing declares the flags of such a command.
func (c *fleetCall) changing(cmd *cobra.Command, status *int, verb func(context.Context) (int, error)) *cobra.Command {
	cmd.Long += `

It needs a confirmation: an answer on a terminal, or --yes. The change is noted in
robots fleet log.

Exit status: 0 done; 2 invalid usage, or nothing was changed.`
	c.register(cmd, status, verb)
	cmd.Flags().BoolVar(&c.yes, "yes", false, "change without a confirmation")
	return cmd
}

// confirm asks for a confirmation. The error says that nothing was changed.
func (c *fleetCall) confirm(what string) error {
	if c.yes {
		return nil
	}
	in, _ := c.std.in.(*os.File)
	if in == nil || !isTerminal(in) {
		return errors.New("nothing was changed: there is no terminal for a confirmation; use --yes")
	}
	fmt.Fprintf(c.std.err, "%s: %s, for all workers? [y/N] ", c.name, what)
	line, _ := bufio.NewReader(in).ReadString('\n') // no answer is no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// change confirms a change (what, with %s for the subjects), makes it for each of them, and reports it.
func (c *fleetCall) change(ctx context.Context, what string, subjects []string, do func(op *fleet.Operator, subject string) (done string, err error)) (int, error) {
	return c.operate(ctx, func(op *fleet.Operator) (int, error) {
		if err := c.confirm(fmt.Sprintf(what, strings.Join(subjects, ", "))); err != nil {
			return exitBad, err
		}
		for _, to := range subjects {
			done, err := do(op, to)
			if note := (*fleet.NoteError)(nil); errors.As(err, &note) {
				c.warn("%v", note)
			} else if err != nil && len(subjects) > 1 {
				return exitBad, fmt.Errorf("%s: %w", to, err)
			} else if err != nil {
				return exitBad, err
			}
			if c.format == formatJSON {
				err = encode(c.std.out, struct {
					Schema int    `json:"schema"`
					To     string `json:"to"`
					Done   string `json:"done"`
				}{1, to, done})
			} else {
				_, err = fmt.Fprintf(c.std.out, "%s: %s\n", to, done)
			}
			if err != nil {
				return exitBad, err
			}
		}
		return exitAllowed, nil
	})
}

// targets reads the origins and hosts among the arguments, or --all.
func (c *fleetCall) targets() (list []string, err error) {
	switch {
	case c.all && len(c.args) > 0:
		return nil, fmt.Errorf("unexpected argument %q: --all is every site", clip(c.args[0]))
	case c.all:
		return []string{paceredis.All.String()}, nil
	case len(c.args) == 0:
		return nil, errors.New("no site given; name origins such as https://example.com, hosts such as example.com, or --all")
	}
	for _, arg := range c.args {
		t, err := paceredis.ParseTarget(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, t.String())
	}
	return list, nil
}

// changeTargets is change for a command about origins and hosts.
func (c *fleetCall) changeTargets(ctx context.Context, what string, do func(*fleet.Operator, paceredis.Target) (done string, err error)) (int, error) {
	list, err := c.targets()
	if err != nil {
		return exitBad, err
	}
	return c.change(ctx, what, list, func(op *fleet.Operator, subject string) (string, error) {
		t := paceredis.All
		if !c.all {
			t, _ = paceredis.ParseTarget(subject) // it has been read before
		}
		return do(op, t)
	})
}

// changeWorker is change for a command about a worker.
func (c *fleetCall) changeWorker(ctx context.Context, what string, do func(*fleet.Operator, string) (done string, err error)) (int, error) {
	if len(c.args) != 1 {
		return exitBad, errors.New("one worker is needed, by its id in robots fleet status")
	}
	return c.change(ctx, what, c.args, do)
}

func fleetHoldCommand(c *fleetCall, status *int) *cobra.Command {
	cmd := c.changing(&cobra.Command{
		Use:   "hold [--for DURATION] [--yes] --redis URL {ORIGIN | HOST}... | --all",
		Short: "Stop requests to sites",
		Long: `Keep all workers of the fleet from starting requests for pages to an origin, to a host
with all its schemes and ports, or to all sites, until it is released or the time ends.
Requests in progress continue, and robots.txt is still fetched.`,
		Example: `  robots fleet hold --redis redis://redis.internal:6379 https://example.com
  robots fleet hold --redis redis://redis.internal:6379 --for 2h --yes example.com`,
	}, status, func(ctx context.Context) (int, error) {
		until, d := "until it is released", paceredis.Forever
		if c.given("for") {
			if c.hold <= 0 {
				return exitBad, errors.New("--for must be more than 0")
			}
			until, d = "for "+duration.Text(c.hold), c.hold
		}
		return c.changeTargets(ctx, "hold %s "+until, func(op *fleet.Operator, t paceredis.Target) (string, error) {
			return "held " + until, op.Hold(ctx, t, d)
		})
	})
	cmd.Flags().DurationVar(&c.hold, "for", 0, "`DURATION` length of the hold, such as 2h (default until released)")
	cmd.Flags().BoolVar(&c.all, "all", false, "hold every site")
	return cmd
}

func fleetHeldCommand(c *fleetCall, status *int) *cobra.Command {
	return c.register(&cobra.Command{
		Use:   "held --redis URL",
		Short: "List what is held",
		Long: `List the origins and hosts that are held, and until when.

Exit status: 0; 2 invalid usage, or no server answers.`,
		Example: "  robots fleet held --redis redis://redis.internal:6379",
	}, status, func(ctx context.Context) (int, error) {
		if err := noArguments(c.args); err != nil {
			return exitBad, err
		}
		return c.operate(ctx, func(op *fleet.Operator) (int, error) {
			list, err := op.Held(ctx)
			if err != nil && len(list) == 0 {
				return exitBad, err
			}
			c.partly(err)
			for _, h := range list {
				var until *time.Time
				text := "until it is released"
				if h.Until.Sub(c.std.now()) < paceredis.Forever/2 {
					until, text = &h.Until, "until "+stamp(h.Until)
				}
				if c.format == formatJSON {
					err = encode(c.std.out, struct {
						Schema int        `json:"schema"`
						Target string     `json:"target"`
						Until  *time.Time `json:"until"`
					}{1, h.Target.String(), until})
				} else {
					_, err = fmt.Fprintf(c.std.out, "%s: held %s\n", h.Target, text)
				}
				if err != nil {
					return exitBad, err
				}
			}
			return exitAllowed, nil
		})
	})
}

func fleetReleaseCommand(c *fleetCall, status *int) *cobra.Command {
	cmd := c.changing(&cobra.Command{
		Use:   "release [--yes] --redis URL {ORIGIN | HOST}... | --all",
		Short: "End the hold of sites",
		Long: `End robots fleet hold. Workers that wait for the site notice it within a minute. Its
interval and its Retry-After still apply.`,
		Example: "  robots fleet release --redis redis://redis.internal:6379 https://example.com",
	}, status, func(ctx context.Context) (int, error) {
		return c.changeTargets(ctx, "release %s", func(op *fleet.Operator, t paceredis.Target) (string, error) {
			held, err := op.Release(ctx, t)
			if !held {
				return "was not held", err
			}
			return "released", err
		})
	})
	cmd.Flags().BoolVar(&c.all, "all", false, "end every hold")
	return cmd
}

func fleetForgetCommand(c *fleetCall, status *int) *cobra.Command {
	return c.changing(&cobra.Command{
		Use:   "forget [--yes] --redis URL ORIGIN...",
		Short: "Delete the robots.txt and back-off of sites",
		Long: `Delete the fleet's copy of the robots.txt of an origin, with the last good copy, and its
Retry-After and back-off. Workers that have the file in memory use it until it expires.
The interval since the last request and a hold still apply.`,
		Example: "  robots fleet forget --redis redis://redis.internal:6379 https://example.com",
	}, status, func(ctx context.Context) (int, error) {
		if len(c.args) == 0 {
			return exitBad, errors.New("no site given; name origins such as https://example.com")
		}
		origins := map[string]robots.Origin{}
		for _, arg := range c.args {
			t, err := paceredis.ParseTarget(arg)
			if err != nil {
				return exitBad, err
			}
			if t.Origin.IsZero() {
				return exitBad, fmt.Errorf("%q is not an origin such as https://example.com", clip(arg))
			}
			origins[arg] = t.Origin
		}
		return c.change(ctx, "delete the robots.txt and back-off of %s", c.args, func(op *fleet.Operator, subject string) (string, error) {
			return "deleted", op.Forget(ctx, origins[subject])
		})
	})
}

func fleetDrainCommand(c *fleetCall, status *int) *cobra.Command {
	return c.changing(&cobra.Command{
		Use:   "drain [--yes] --redis URL WORKER",
		Short: "Stop a worker from acquiring permits",
		Long: `Make a worker, named by its id in robots fleet status, acquire no more permits. It notices
within 7 s, and until robots fleet resume its callers get an error and robots serve is not
ready. Requests in progress continue.`,
		Example: "  robots fleet drain --redis redis://redis.internal:6379 5f0c2a91d3",
	}, status, func(ctx context.Context) (int, error) {
		return c.changeWorker(ctx, "drain the worker %s", func(op *fleet.Operator, worker string) (string, error) {
			return "acquires no more permits within 7 s", op.Drain(ctx, worker)
		})
	})
}

func fleetResumeCommand(c *fleetCall, status *int) *cobra.Command {
	return c.changing(&cobra.Command{
		Use:   "resume [--yes] --redis URL WORKER",
		Short: "End the drain of a worker",
		Long: `End robots fleet drain: the worker acquires permits again within 7 s, and robots serve is
ready again. A worker that is started again is never drained.`,
		Example: "  robots fleet resume --redis redis://redis.internal:6379 5f0c2a91d3",
	}, status, func(ctx context.Context) (int, error) {
		return c.changeWorker(ctx, "resume the worker %s", func(op *fleet.Operator, worker string) (string, error) {
			drained, err := op.Resume(ctx, worker)
			if !drained {
				return "was not drained", err
			}
			return "acquires permits again within 7 s", err
		})
	})
}

func fleetConfigCommand(c *fleetCall, status *int) *cobra.Command {
	return c.changing(&cobra.Command{
		Use:   "config [--yes] --redis URL [NAME=VALUE]...",
		Short: "Show or change the options that all workers share",
		Long: `Show the options that all workers of the fleet have in common, or change them: concurrency
(permits per site), address-interval and fetch-interval (minimum interval between pages, and
between robots.txt fetches, at an IP address; 0 for none) and lifetime (of a permit).
Workers adopt a change within 7 s; those started with another value stop.`,
		Example: `  robots fleet config --redis redis://redis.internal:6379
  robots fleet config --redis redis://redis.internal:6379 --yes concurrency=2 address-interval=250ms`,
	}, status, func(ctx context.Context) (int, error) {
		if len(c.args) == 0 {
			return c.operate(ctx, func(op *fleet.Operator) (int, error) { return c.showConfig(ctx, op) })
		}
		changes := make([]func(*paceredis.Config), 0, len(c.args))
		for _, arg := range c.args {
			change, err := configChange(arg)
			if err != nil {
				return exitBad, err
			}
			changes = append(changes, change)
		}
		return c.change(ctx, "set %s", []string{strings.Join(c.args, " ")}, func(op *fleet.Operator, what string) (string, error) {
			return "set", op.Configure(ctx, what, func(config *paceredis.Config) {
				for _, change := range changes {
					change(config)
				}
			})
		})
	})
}

// configChange reads NAME=VALUE.
func configChange(arg string) (func(*paceredis.Config), error) {
	name, value, _ := strings.Cut(arg, "=")
	if name == "concurrency" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("invalid %q; write a number, 1 or more", clip(arg))
		}
		return func(c *paceredis.Config) { c.Concurrency = n }, nil
	}
	d, err := time.ParseDuration(value)
	if value == "0" {
		d, err = 0, nil
	}
	fields := map[string]func(*paceredis.Config){
		"address-interval": func(c *paceredis.Config) { c.AddressInterval = d },
		"fetch-interval":   func(c *paceredis.Config) { c.FetchInterval = d },
		"lifetime":         func(c *paceredis.Config) { c.Lifetime = d },
	}
	change := fields[name]
	switch {
	case change == nil:
		return nil, fmt.Errorf("unknown option %q (known: concurrency, address-interval, fetch-interval, lifetime)", clip(name))
	case err != nil || d < 0 || name == "lifetime" && d == 0:
		return nil, fmt.Errorf("invalid %q; write a duration such as 500ms", clip(arg))
	}
	return change, nil
}

func (c *fleetCall) showConfig(ctx context.Context, op *fleet.Operator) (int, error) {
	config, err := op.Config(ctx)
	if err != nil && config.Version == 0 {
		return exitBad, err
	}
	c.partly(err)
	if c.format == formatJSON {
		return exitAllowed, encode(c.std.out, struct {
			Schema          int     `json:"schema"`
			Version         int     `json:"version"`
			Concurrency     int     `json:"concurrency"`
			AddressInterval float64 `json:"address_interval"`
			FetchInterval   float64 `json:"fetch_interval"`
			Lifetime        float64 `json:"lifetime"`
		}{1, config.Version, config.Concurrency, config.AddressInterval.Seconds(), config.FetchInterval.Seconds(), config.Lifetime.Seconds()})
	}
	if config.Version == 0 {
		_, err = fmt.Fprintln(c.std.out, "no worker has joined this fleet yet")
		return exitAllowed, err
	}
	_, err = fmt.Fprintf(c.std.out, "concurrency       %d\naddress-interval  %s\nfetch-interval    %s\nlifetime          %s\nversion           %d\n",
		config.Concurrency, config.AddressInterval, config.FetchInterval, config.Lifetime, config.Version)
	return exitAllowed, err
}
