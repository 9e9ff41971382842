package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fleet"
)

// This file has the commands of robots fleet that only look.

func (c *fleetCall) status(ctx context.Context, op *fleet.Operator) (int, error) {
	s, failed := op.Status(ctx)
	if err := c.partly(failed, len(s.Workers) > 0); err != nil {
		return exitBad, err
	}
	status := source.FleetStatus(&s, op.Parts())
	writeFleet(c, status, render.FleetStatus)
	if failed != nil || !status.Healthy() {
		return exitDisallowed, nil
	}
	return exitAllowed, nil
}

// show shows an address or an origin, the latter as a crawler sees it.
func (c *fleetCall) show() (action, error) {
	if len(c.args) != 1 {
		return nil, errors.New("one origin is needed, such as https://example.com")
	}
	if addr, err := netip.ParseAddr(c.args[0]); err == nil {
		return func(ctx context.Context, op *fleet.Operator) (int, error) { return c.showAddress(ctx, op, addr) }, nil
	}
	origin, _, err := robots.ParseURL(c.args[0])
	if err != nil {
		return nil, fmt.Errorf("%q is not an origin such as https://example.com: %w", clip(c.args[0]), err)
	}
	readers, err := c.crawler.choose()
	if err == nil && len(readers.list) > 1 {
		err = errors.New("several crawlers given: -a names one, with fallbacks after commas")
	}
	return func(ctx context.Context, op *fleet.Operator) (int, error) {
		s, err := op.Site(ctx, origin)
		if err != nil {
			return exitBad, err
		}
		writeFleet(c, source.FleetSite(&s, readers.list[0]), render.FleetSite)
		if s.Record == nil && !s.Pace.Known {
			return exitDisallowed, nil
		}
		return exitAllowed, nil
	}, err
}

func (c *fleetCall) showAddress(ctx context.Context, op *fleet.Operator, addr netip.Addr) (int, error) {
	a, err := op.Address(ctx, addr)
	if err != nil {
		return exitBad, err
	}
	code := exitAllowed
	if a.Page.IsZero() && a.Fetch.IsZero() {
		code = exitDisallowed
	}
	writeFleet(c, source.FleetAddress(addr, a), render.FleetAddress)
	return code, nil
}

func (c *fleetCall) held(ctx context.Context, op *fleet.Operator) (int, error) {
	list, err := op.Held(ctx)
	if err = c.partly(err, len(list) > 0); err != nil {
		return exitBad, err
	}
	for _, h := range list {
		writeFleet(c, source.FleetHold(h, c.std.Now()), render.FleetHold)
	}
	return exitAllowed, nil
}

func (c *fleetCall) log(ctx context.Context, op *fleet.Operator) (int, error) {
	list, err := op.Log(ctx, c.last)
	if err = c.partly(err, len(list) > 0); err != nil {
		return exitBad, err
	}
	for _, e := range list {
		writeFleet(c, &answer.FleetLogEntry{At: e.At, Who: e.Who, What: e.What}, render.FleetLogEntry)
	}
	return exitAllowed, nil
}

func (c *fleetCall) doctor(found []fleet.Finding) (int, error) {
	if len(found) == 0 {
		if c.format == formatText {
			fmt.Fprintf(c.std.Out, "no problems found: %s\n", strings.Join(fleet.Checks(), ", "))
		}
		return exitAllowed, nil
	}
	for _, f := range found {
		writeFleet(c, &answer.FleetProblem{Check: f.Check, Node: answer.OrNull(f.Node), Text: f.Text, Do: f.Do}, render.FleetProblem)
	}
	return exitDisallowed, nil
}
