package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
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
	if !screen.IsTerminal(c.std.In) {
		return errors.New("nothing was changed: there is no terminal for a confirmation; use --yes")
	}
	fmt.Fprintf(c.std.Err, "%s: %s, for all workers? [y/N] ", c.std.Name, what)
	line, _ := bufio.NewReader(c.std.In).ReadString('\n') // no answer is no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// change returns the action that confirms a change (what, with %s for the subjects), makes it for each of them, and reports it.
func (c *fleetCall) change(what string, subjects []string, do func(ctx context.Context, op *fleet.Operator, i int) (done string, err error)) action {
	return func(ctx context.Context, op *fleet.Operator) (int, error) {
		if err := c.confirm(fmt.Sprintf(what, strings.Join(subjects, ", "))); err != nil {
			return exitBad, err
		}
		status := exitAllowed
		for i, to := range subjects {
			done, err := do(ctx, op, i)
			switch {
			case errors.Is(err, paceredis.ErrNotNoted):
				c.warn("%v", err)
			case err != nil && len(subjects) == 1:
				return exitBad, err
			case err != nil: // such as that of its server, while others are reachable
				c.std.Complain(fmt.Errorf("%s: %w", to, err))
				status = exitBad
				continue
			}
			writeFleet(c, &answer.FleetChange{To: to, Done: done}, render.FleetChange)
		}
		return status, nil
	}
}

// sites returns the targets that the arguments or --all name, and their names in one form.
func (c *fleetCall) sites() (targets []paceredis.Target, names []string, err error) {
	switch {
	case c.given("for") && c.hold <= 0:
		return nil, nil, errors.New("--for must be more than 0")
	case c.all && len(c.args) > 0:
		return nil, nil, fmt.Errorf("unexpected argument %q: --all is every site", clip(c.args[0]))
	case c.all:
		return []paceredis.Target{paceredis.All}, []string{paceredis.All.String()}, nil
	case len(c.args) == 0:
		return nil, nil, errors.New("no site given; name origins such as https://example.com, hosts such as example.com, or --all")
	}
	for _, arg := range c.args {
		t, err := paceredis.ParseTarget(arg)
		if err != nil {
			return nil, nil, err
		}
		targets, names = append(targets, t), append(names, t.String())
	}
	return targets, names, nil
}

func (c *fleetCall) holdSites() (action, error) {
	until, d := "until released", paceredis.Forever
	if c.hold > 0 {
		until, d = "for "+duration.Text(c.hold), c.hold
	}
	targets, names, err := c.sites()
	return c.change("hold %s "+until, names, func(ctx context.Context, op *fleet.Operator, i int) (string, error) {
		return "held " + until, op.Hold(ctx, targets[i], d)
	}), err
}

func (c *fleetCall) release() (action, error) {
	targets, names, err := c.sites()
	return c.change("release %s", names, func(ctx context.Context, op *fleet.Operator, i int) (string, error) {
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
	}), err
}

// overlap reports whether a hold of one target keeps requests to the other from starting.
func overlap(a, b paceredis.Target) bool {
	host := func(t paceredis.Target) string { return cmp.Or(t.Origin().Host(), string(t)) }
	return a == paceredis.All || b == paceredis.All || host(a) == host(b) && (a.Origin().IsZero() || b.Origin().IsZero())
}

func (c *fleetCall) forget() (action, error) {
	if len(c.args) == 0 {
		return nil, errors.New("no site given; name origins such as https://example.com")
	}
	var origins []robots.Origin
	for _, arg := range c.args {
		t, err := paceredis.ParseTarget(arg)
		if err != nil || t.Origin().IsZero() {
			return nil, fmt.Errorf("%q is not an origin such as https://example.com", clip(arg))
		}
		origins = append(origins, t.Origin())
	}
	return c.change("delete the robots.txt and back-off of %s", c.args, func(ctx context.Context, op *fleet.Operator, i int) (string, error) {
		return "deleted", op.Forget(ctx, origins[i])
	}), nil
}

// oneWorker checks that the argument names one.
func (c *fleetCall) oneWorker() error {
	if len(c.args) != 1 {
		return errors.New("one worker is needed, by its id in robots fleet status")
	}
	return nil
}

func (c *fleetCall) drain() (action, error) {
	return c.change("drain the worker %s", c.args, func(ctx context.Context, op *fleet.Operator, i int) (string, error) {
		return "acquires no more permits", op.Drain(ctx, c.args[i])
	}), c.oneWorker()
}

func (c *fleetCall) resume() (action, error) {
	return c.change("resume the worker %s", c.args, func(ctx context.Context, op *fleet.Operator, i int) (string, error) {
		drained, err := op.Resume(ctx, c.args[i])
		if !drained {
			return "was not drained", err
		}
		return "acquires permits again", err
	}), c.oneWorker()
}

// config shows the options, or sets those of the arguments NAME=VALUE.
func (c *fleetCall) config() (action, error) {
	if len(c.args) == 0 {
		return c.showConfig, nil
	}
	given := map[string]bool{}
	for _, arg := range c.args {
		if err := setOption(new(paceredis.Config), arg); err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(arg, "=")
		if given[name] {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		given[name] = true
	}
	what := strings.Join(c.args, " ")
	return c.change("set %s", []string{what}, func(ctx context.Context, op *fleet.Operator, _ int) (string, error) {
		return "set", op.Configure(ctx, what, func(config *paceredis.Config) {
			for _, arg := range c.args {
				_ = setOption(config, arg) // it is valid
			}
		})
	}), nil
}

// setOption sets an option by an argument NAME=VALUE.
func setOption(c *paceredis.Config, arg string) error {
	name, value, _ := strings.Cut(arg, "=")
	if name == "concurrency" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("invalid %q; write a number, 1 or more", clip(arg))
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
			return fmt.Errorf("invalid %q; write a duration, 1s to 12h", clip(arg))
		}
	default:
		return fmt.Errorf("unknown option %q (known: concurrency, address-interval, fetch-interval, lifetime)", clip(name))
	}
	if err != nil || d < 0 {
		return fmt.Errorf("invalid %q; write a duration such as 500ms", clip(arg))
	}
	return nil
}

func (c *fleetCall) showConfig(ctx context.Context, op *fleet.Operator) (int, error) {
	config, err := op.Config(ctx)
	if err = c.partly(err, config.Version > 0); err != nil {
		return exitBad, err
	}
	writeFleet(c, source.FleetConfig(&config), render.FleetConfig)
	return exitAllowed, nil
}
