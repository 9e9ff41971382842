package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
	"github.com/spf13/cobra"
)

// This file holds the verbs of robots fleet that only look: status, show, log.

func fleetStatusCommand(c *fleetCall, status *int) *cobra.Command {
	return c.register(&cobra.Command{
		Use:   "status --redis URL",
		Short: "Show the workers and the servers of a fleet",
		Long: `Show the workers with their permits per second and heartbeats, those that died or
are drained, and the servers with memory, keys and commands per second.

Exit status: 0; 1 if a worker has died or a server is unreachable; 2 invalid usage,
or no server answers.`,
		Example: "  robots fleet status --redis redis://redis.internal:6379",
	}, status, c.status)
}

type jsonWorker struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Heartbeat time.Time `json:"heartbeat"`
	Away      bool      `json:"away"`
	Left      bool      `json:"left"`
	Drained   bool      `json:"drained"`
	Rate      float64   `json:"permits_per_second"`
	PartsAway int       `json:"parts_away"`
}

type jsonServer struct {
	Addr      string  `json:"addr"`
	Error     *string `json:"error"`
	Replica   bool    `json:"replica"`
	Version   string  `json:"version"`
	Memory    int64   `json:"memory"`
	MaxMemory int64   `json:"max_memory"`
	Keys      int64   `json:"keys"`
	Rate      float64 `json:"commands_per_second"`
	Up        float64 `json:"up_seconds"`
}

func (c *fleetCall) status(ctx context.Context) (int, error) {
	if err := noArguments(c.args); err != nil {
		return exitBad, err
	}
	return c.operate(ctx, func(op *fleet.Operator) (int, error) {
		s, failed := op.Status(ctx)
		if failed != nil && len(s.Workers) == 0 {
			return exitBad, failed
		}
		c.partly(failed)
		var err error
		if c.format == formatJSON {
			err = c.writeStatusJSON(&s)
		} else {
			c.writeStatus(&s, op)
		}
		if failed != nil || slices.ContainsFunc(s.Workers, func(w paceredis.Worker) bool { return w.Gone && !w.Left }) || slices.ContainsFunc(s.Nodes, func(n fleet.Node) bool { return n.Err != nil }) {
			return exitDisallowed, err
		}
		return exitAllowed, err
	})
}

func (c *fleetCall) writeStatusJSON(s *fleet.Status) error {
	workers, servers := []jsonWorker{}, []jsonServer{}
	for _, w := range s.Workers {
		workers = append(workers, jsonWorker{w.ID, w.Name, w.Beat, w.Gone && !w.Left, w.Left, w.Drained, w.Rate, w.Away})
	}
	for _, n := range s.Nodes {
		j := jsonServer{Addr: n.Addr, Replica: n.Replica, Version: n.Version, Memory: n.Memory, MaxMemory: n.MaxMemory, Keys: n.Keys, Rate: n.Rate, Up: n.Up.Seconds()}
		if n.Err != nil {
			j.Error = notEmpty(n.Err.Error())
		}
		servers = append(servers, j)
	}
	return encode(c.std.out, struct {
		Schema  int          `json:"schema"`
		At      time.Time    `json:"at"`
		Workers []jsonWorker `json:"workers"`
		Servers []jsonServer `json:"servers"`
	}{1, s.At, workers, servers})
}

func (c *fleetCall) writeStatus(s *fleet.Status, op *fleet.Operator) {
	rate := 0.0
	for _, w := range s.Workers {
		rate += w.Rate
	}
	fmt.Fprintf(c.std.out, "%s, %s permits/s\n", count(len(s.Workers), "worker"), short(rate))
	t := tabwriter.NewWriter(c.std.out, 0, 0, 2, ' ', 0)
	for _, w := range s.Workers {
		state := "heartbeat " + took(max(s.At.Sub(w.Beat), time.Millisecond)) + " ago"
		switch {
		case w.Left:
			state = "left at " + stamp(w.Beat)
		case w.Gone:
			state = "away since " + stamp(w.Beat) + ": its permits have expired"
		}
		if w.Away > 0 && !w.Gone {
			state += fmt.Sprintf(", %d of %d parts of the state unreachable", w.Away, op.Parts())
		}
		if w.Drained {
			state += ", drained"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s permits/s\t%s\n", w.ID, w.Name, short(w.Rate), state)
	}
	_ = t.Flush() // the error is that of std.out, which is flushed at the end
	fmt.Fprintln(c.std.out, count(len(s.Nodes), "server"))
	for _, n := range s.Nodes {
		if n.Err != nil {
			fmt.Fprintf(t, "  %s\taway: %s\n", n.Addr, robots.Printable(n.Err.Error()))
			continue
		}
		role, most := "primary", "no limit"
		if n.Replica {
			role = "replica"
		}
		if n.MaxMemory > 0 {
			most = fmt.Sprintf("%d MiB", n.MaxMemory>>20)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%d MiB of %s\t%s\t%s commands/s\tup %s\n", n.Addr, role, n.Version, n.Memory>>20, most, count(int(n.Keys), "key"), short(n.Rate), duration.Text(n.Up))
	}
	_ = t.Flush() // the same
}

func fleetShowCommand(c *fleetCall, status *int) *cobra.Command {
	cmd := c.register(&cobra.Command{
		Use:   "show [-a TOKEN[,TOKEN]] [-d DIALECT] --redis URL {ORIGIN | ADDRESS}",
		Short: "Show what a fleet knows of a site or an address",
		Long: `Show what the fleet knows of an origin: its robots.txt and whether a worker fetches
it, its last request, permits, back-off and hold, and when the next request may start
and why. Given an IP address, show the last starts there.

Exit status: 0; 1 if nothing is known; 2 invalid usage, or its server does not answer.`,
		Example: `  robots fleet show --redis redis://redis.internal:6379 -a MyBot https://example.com
  robots fleet show --redis redis://redis.internal:6379 192.0.2.7`,
	}, status, c.show)
	c.crawler.register(cmd, false)
	return cmd
}

func (c *fleetCall) show(ctx context.Context) (int, error) {
	if len(c.args) == 1 {
		if addr, err := netip.ParseAddr(c.args[0]); err == nil {
			return c.operate(ctx, func(op *fleet.Operator) (int, error) { return c.showAddress(ctx, op, addr) })
		}
	}
	origin, err := c.originOf()
	if err != nil {
		return exitBad, err
	}
	list, _, err := c.crawler.crawlers()
	if err == nil && len(list) > 1 {
		err = errors.New("several crawlers given: -a names one, with fallbacks after commas")
	}
	if err != nil {
		return exitBad, err
	}
	return c.operate(ctx, func(op *fleet.Operator) (int, error) {
		s, err := op.Site(ctx, origin)
		if err != nil {
			return exitBad, err
		}
		next, none, err := c.next(&s, list[0])
		if err != nil {
			return exitBad, err
		}
		if c.format == formatJSON {
			err = c.writeSiteJSON(&s, next)
		} else {
			c.writeSite(&s, next, none)
		}
		if s.Record == nil && !s.Pace.Known {
			return exitDisallowed, err
		}
		return exitAllowed, err
	})
}

// next returns the next request to a site, or why there is none.
func (c *fleetCall) next(s *fleet.Site, crawler Crawler) (next *nextRequest, none string, err error) {
	if s.Record == nil {
		return nil, "unknown without a robots.txt", nil
	}
	rules := s.Record.Rules(crawler.Dialect, s.Pace.At, crawler.Tokens...)
	_, path, err := robots.ParseURL(s.Origin.String() + "/")
	if err != nil {
		return nil, "", err
	}
	if _, without := rules.FallbackReason(); without && !rules.Allowed(path) {
		return nil, "none while robots.txt is unavailable: the site counts as disallowed", nil
	}
	schedule, err := pace.NewSchedule(rules, pace.Policy{})
	if err != nil {
		return nil, "", err
	}
	found := nextOf(schedule, s.Pace.At, s.Pace.State)
	for i := range found.Reasons {
		if r := &found.Reasons[i]; r.Cause == pace.CauseRetryAfter && r.Until.Equal(s.Pace.Held) {
			r.Cause = pace.CauseHeld
		}
	}
	return &found, "", nil
}

// until writes a time and how far off it is.
func until(t, now time.Time) string { return stamp(t) + ", in " + duration.Text(t.Sub(now)) }

func (c *fleetCall) writeSite(s *fleet.Site, next *nextRequest, none string) {
	say := func(what, text string, args ...any) {
		fmt.Fprintf(c.std.out, "  %s  %s\n", fill(what, 9), fmt.Sprintf(text, args...))
	}
	now, p := s.Pace.At, &s.Pace
	fmt.Fprintln(c.std.out, s.Origin)
	if r := s.Record; r == nil {
		say("record", "none")
	} else {
		text := fmt.Sprintf("fetched %s: %s, status %d, %s", stamp(r.Fetched), r.Outcome, r.Status, count(len(r.Body), "byte"))
		if r.Outcome.Good() {
			text += ", fresh until " + stamp(r.Expires)
		} else {
			text += ", " + r.Cause.Sentence() + ", next try from " + stamp(r.NextTry)
		}
		say("record", "%s", robots.Printable(text))
	}
	if s.LeaseLeft > 0 {
		say("lease", "a worker fetches robots.txt, for %s at most", duration.Text(s.LeaseLeft))
	}
	switch {
	case !p.Known:
		say("last", "unknown, so the site counts as requested now")
	case p.State.Last.IsZero():
		say("last", "no request that still matters")
	case p.State.Last.After(now):
		say("last", "counts as requested at %s", stamp(p.State.Last))
	default:
		say("last", "a request ended, or the last one started, at %s", stamp(p.State.Last))
	}
	for _, permit := range p.Permits {
		holder := "worker " + permit.Worker
		if permit.Worker == "" {
			holder = "a client of a service"
		}
		say("permit", "%s, from %s, expires %s", holder, stamp(permit.Start), stamp(permit.Expires))
	}
	if p.State.BackOff > 0 {
		say("back-off", "%d times the interval, since the site signaled overload at %s", p.State.BackOff, stamp(p.Overload))
	}
	if p.Held.After(now) {
		if p.Held.Sub(now) > paceredis.Forever/2 {
			say("held", "until it is released")
		} else {
			say("held", "until %s", until(p.Held, now))
		}
	}
	switch {
	case next == nil:
		say("next", "%s", none)
	case !next.Start.After(now):
		say("next", "now")
	default:
		say("next", "%s", until(next.Start, now))
	}
	if next != nil {
		for _, r := range next.Reasons {
			say("", "%s", r)
		}
	}
}

func (c *fleetCall) writeSiteJSON(s *fleet.Site, next *nextRequest) error {
	type record struct {
		Outcome string    `json:"outcome"`
		Status  int       `json:"status"`
		Cause   string    `json:"cause"`
		Bytes   int       `json:"bytes"`
		Fetched time.Time `json:"fetched"`
		Expires time.Time `json:"expires,omitzero"`
		NextTry time.Time `json:"next_try,omitzero"`
	}
	type permit struct {
		Worker *string   `json:"worker"`
		Start  time.Time `json:"start"`
		End    time.Time `json:"end"`
	}
	out := struct {
		Schema     int        `json:"schema"`
		Origin     string     `json:"origin"`
		At         time.Time  `json:"at"`
		Record     *record    `json:"record"`
		Lease      float64    `json:"lease_seconds"`
		Last       *time.Time `json:"last"`
		RetryAfter *time.Time `json:"retry_after"`
		BackOff    int        `json:"back_off"`
		Overload   *time.Time `json:"overload"`
		Held       *time.Time `json:"held"`
		Permits    []permit   `json:"permits"`
		Next       *time.Time `json:"next"`
		Reasons    []string   `json:"reasons"`
	}{
		Schema: 1, Origin: s.Origin.String(), At: s.Pace.At, Lease: s.LeaseLeft.Seconds(), Last: notZero(s.Pace.State.Last), BackOff: int(s.Pace.State.BackOff),
		Overload: notZero(s.Pace.Overload), Held: notZero(s.Pace.Held), Permits: []permit{}, Reasons: []string{},
	}
	if !s.Pace.State.NotBefore.Equal(s.Pace.Held) {
		out.RetryAfter = notZero(s.Pace.State.NotBefore)
	}
	if r := s.Record; r != nil {
		out.Record = &record{r.Outcome.String(), r.Status, r.Cause.String(), len(r.Body), r.Fetched, r.Expires, r.NextTry}
	}
	for _, p := range s.Pace.Permits {
		out.Permits = append(out.Permits, permit{notEmpty(p.Worker), p.Start, p.Expires})
	}
	if next != nil {
		out.Next = &next.Start
		for _, r := range next.Reasons {
			out.Reasons = append(out.Reasons, r.String())
		}
	}
	return encode(c.std.out, out)
}

// notZero returns nil, which is null, for no time.
func notZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (c *fleetCall) showAddress(ctx context.Context, op *fleet.Operator, addr netip.Addr) (int, error) {
	a, err := op.Address(ctx, addr)
	if err != nil {
		return exitBad, err
	}
	if c.format == formatJSON {
		err = encode(c.std.out, struct {
			Schema int        `json:"schema"`
			Addr   string     `json:"addr"`
			At     time.Time  `json:"at"`
			Page   *time.Time `json:"page"`
			Fetch  *time.Time `json:"fetch"`
		}{1, addr.String(), a.At, notZero(a.Page), notZero(a.Fetch)})
	} else {
		last := func(at time.Time) string {
			if at.IsZero() {
				return "none that still matters"
			}
			return "last start at " + stamp(at)
		}
		fmt.Fprintf(c.std.out, "%s\n  page        %s\n  robots.txt  %s\n", addr, last(a.Page), last(a.Fetch))
	}
	if a.Page.IsZero() && a.Fetch.IsZero() {
		return exitDisallowed, err
	}
	return exitAllowed, err
}

func fleetLogCommand(c *fleetCall, status *int) *cobra.Command {
	cmd := c.register(&cobra.Command{
		Use:   "log [-n N] --redis URL",
		Short: "Show what operators have changed",
		Long: `Show the last changes made with robots fleet: when, who, what. The fleet keeps the
last 1000.

Exit status: 0; 2 invalid usage, or no server answers.`,
		Example: "  robots fleet log --redis redis://redis.internal:6379 -n 100",
	}, status, c.log)
	cmd.Flags().IntVarP(&c.last, "last", "n", 20, "`N` number of entries to show")
	return cmd
}

func (c *fleetCall) log(ctx context.Context) (int, error) {
	if err := noArguments(c.args); err != nil {
		return exitBad, err
	}
	return c.operate(ctx, func(op *fleet.Operator) (int, error) {
		list, err := op.Log(ctx, c.last)
		if err != nil && len(list) == 0 {
			return exitBad, err
		}
		c.partly(err)
		err = nil
		for _, e := range list {
			if c.format == formatJSON {
				err = errors.Join(err, encode(c.std.out, struct {
					Schema int       `json:"schema"`
					At     time.Time `json:"at"`
					Who    string    `json:"who"`
					What   string    `json:"what"`
				}{1, e.At, e.Who, e.What}))
				continue
			}
			fmt.Fprintf(c.std.out, "%s  %s  %s\n", stamp(e.At), e.Who, strings.TrimSpace(e.What))
		}
		return exitAllowed, err
	})
}
