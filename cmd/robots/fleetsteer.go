package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/duration"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// This file has the commands of robots fleet that change something. Each change needs a confirmation, and is noted in the
// fleet's log.

// confirm asks for a confirmation. The error says that nothing was changed.
func (c *fleetCall) confirm(what string) error {
	if c.yes {
		return nil
	}
	in, _ := c.std.in.(*os.File)
	if in == nil || !screen.IsTerminal(in) {
		return errors.New("nothing was changed: there is no terminal for a confirmation; use --yes")
	}
	fmt.Fprintf(c.std.err, "%s: %s, for all workers? [y/N] ", c.std.name, what)
	line, _ := bufio.NewReader(in).ReadString('\n') // no answer is no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// change confirms a change (what, with %s for the subjects), makes it for each of them, and reports it.
func (c *fleetCall) change(what string, subjects []string, do func(i int) (done string, err error)) (int, error) {
	if err := c.confirm(fmt.Sprintf(what, strings.Join(subjects, ", "))); err != nil {
		return exitBad, err
	}
	status := exitAllowed
	for i, to := range subjects {
		done, err := do(i)
		switch {
		case errors.Is(err, paceredis.ErrNotNoted):
			c.warn("%v", err)
		case err != nil && len(subjects) == 1:
			return exitBad, err
		case err != nil: // such as that of its server, while others are reachable
			c.std.complain(fmt.Errorf("%s: %w", to, err))
			status = exitBad
			continue
		}
		c.answer(jsonObject{{"schema", 1}, {"to", to}, {"done", done}}, fmt.Sprintf("%s: %s\n", to, done))
	}
	return status, nil
}

// sites checks that the arguments are origins and hosts, or that there is --all.
func (c *fleetCall) sites() error {
	switch {
	case c.given("for") && c.hold <= 0:
		return errors.New("--for must be more than 0")
	case c.all && len(c.args) > 0:
		return fmt.Errorf("unexpected argument %q: --all is every site", clip(c.args[0]))
	case c.all:
		c.targets = []paceredis.Target{paceredis.All}
		return nil
	case len(c.args) == 0:
		return errors.New("no site given; name origins such as https://example.com, hosts such as example.com, or --all")
	}
	for _, arg := range c.args {
		t, err := paceredis.ParseTarget(arg)
		if err != nil {
			return err
		}
		c.targets = append(c.targets, t)
	}
	return nil
}

// targetNames are the targets in one form.
func (c *fleetCall) targetNames() (names []string) {
	for _, t := range c.targets {
		names = append(names, t.String())
	}
	return names
}

func (c *fleetCall) holdSites(ctx context.Context, op *fleet.Operator) (int, error) {
	until, d := "until released", paceredis.Forever
	if c.hold > 0 {
		until, d = "for "+duration.Text(c.hold), c.hold
	}
	return c.change("hold %s "+until, c.targetNames(), func(i int) (string, error) {
		return "held " + until, op.Hold(ctx, c.targets[i], d)
	})
}

func (c *fleetCall) release(ctx context.Context, op *fleet.Operator) (int, error) {
	return c.change("release %s", c.targetNames(), func(i int) (string, error) {
		held, err := op.Release(ctx, c.targets[i])
		done := "released"
		if !held {
			done = "was not held"
		}
		list, _ := op.Held(ctx) // what is known of it
		for _, h := range list {
			if overlap(c.targets[i], h.Target) {
				done += "; still held: " + h.Target.String()
			}
		}
		return done, err
	})
}

// overlap reports whether a hold of one target keeps requests to the other from starting.
func overlap(a, b paceredis.Target) bool {
	host := func(t paceredis.Target) string { return cmp.Or(t.Origin().Host(), string(t)) }
	return a == paceredis.All || b == paceredis.All || host(a) == host(b) && (a.Origin().IsZero() || b.Origin().IsZero())
}

// origins checks that the arguments are origins.
func (c *fleetCall) origins() error {
	if len(c.args) == 0 {
		return errors.New("no site given; name origins such as https://example.com")
	}
	for _, arg := range c.args {
		t, err := paceredis.ParseTarget(arg)
		if err != nil || t.Origin().IsZero() {
			return fmt.Errorf("%q is not an origin such as https://example.com", clip(arg))
		}
		c.targets = append(c.targets, t)
	}
	return nil
}

func (c *fleetCall) forget(ctx context.Context, op *fleet.Operator) (int, error) {
	return c.change("delete the robots.txt and back-off of %s", c.args, func(i int) (string, error) {
		return "deleted", op.Forget(ctx, c.targets[i].Origin())
	})
}

// oneWorker checks that the argument names one.
func (c *fleetCall) oneWorker() error {
	if len(c.args) != 1 {
		return errors.New("one worker is needed, by its id in robots fleet status")
	}
	return nil
}

func (c *fleetCall) drain(ctx context.Context, op *fleet.Operator) (int, error) {
	return c.change("drain the worker %s", c.args, func(int) (string, error) {
		return "acquires no more permits", op.Drain(ctx, c.args[0])
	})
}

func (c *fleetCall) resume(ctx context.Context, op *fleet.Operator) (int, error) {
	return c.change("resume the worker %s", c.args, func(int) (string, error) {
		drained, err := op.Resume(ctx, c.args[0])
		if !drained {
			return "was not drained", err
		}
		return "acquires permits again", err
	})
}

// configChanges reads the arguments NAME=VALUE.
func (c *fleetCall) configChanges() error {
	given := map[string]bool{}
	for _, arg := range c.args {
		change, err := configChange(arg)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(arg, "=")
		if given[name] {
			return fmt.Errorf("%s is given twice", name)
		}
		given[name] = true
		c.options = append(c.options, change)
	}
	return nil
}

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
	change := map[string]func(*paceredis.Config){
		"address-interval": func(c *paceredis.Config) { c.AddressInterval = d },
		"fetch-interval":   func(c *paceredis.Config) { c.FetchInterval = d },
		"lifetime":         func(c *paceredis.Config) { c.Lifetime = d },
	}[name]
	switch {
	case change == nil:
		return nil, fmt.Errorf("unknown option %q (known: concurrency, address-interval, fetch-interval, lifetime)", clip(name))
	case name == "lifetime" && (err != nil || d < time.Second || d > 12*time.Hour):
		return nil, fmt.Errorf("invalid %q; write a duration, 1s to 12h", clip(arg))
	case err != nil || d < 0:
		return nil, fmt.Errorf("invalid %q; write a duration such as 500ms", clip(arg))
	}
	return change, nil
}

func (c *fleetCall) config(ctx context.Context, op *fleet.Operator) (int, error) {
	if len(c.args) > 0 {
		what := strings.Join(c.args, " ")
		return c.change("set %s", []string{what}, func(int) (string, error) {
			return "set", op.Configure(ctx, what, func(config *paceredis.Config) {
				for _, change := range c.options {
					change(config)
				}
			})
		})
	}
	config, err := op.Config(ctx)
	if err = c.partly(err, config.Version > 0); err != nil {
		return exitBad, err
	}
	text := "no worker has joined this fleet yet\n"
	if config.Version > 0 {
		text = fmt.Sprintf("concurrency       %d\naddress-interval  %s\nfetch-interval    %s\nlifetime          %s\nversion           %d\n",
			config.Concurrency, config.AddressInterval, config.FetchInterval, config.Lifetime, config.Version)
	}
	c.answer(jsonObject{
		{"schema", 1}, {"version", config.Version}, {"concurrency", config.Concurrency}, {"address_interval", config.AddressInterval.Seconds()},
		{"fetch_interval", config.FetchInterval.Seconds()}, {"lifetime", config.Lifetime.Seconds()},
	}, text)
	return exitAllowed, nil
}
