package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// This file has the commands of robots fleet that only look.

func (c *fleetCall) status(ctx context.Context, op *fleet.Operator) (int, error) {
	s, failed := op.Status(ctx)
	if err := c.partly(failed, len(s.Workers) > 0); err != nil {
		return exitBad, err
	}
	healthy, rate := failed == nil, 0.0
	workers, servers := []jsonObject{}, []jsonObject{}
	var rows [][]string // of the text
	live := 0
	for _, w := range s.Workers {
		if w.Gone || w.Left {
			w.Rate = 0
		} else {
			live++
		}
		workers = append(workers, jsonObject{
			{"id", w.ID}, {"name", w.Name}, {"heartbeat", w.Beat}, {"away", w.Gone && !w.Left}, {"left", w.Left}, {"drained", w.Drained},
			{"permits_per_second", w.Rate}, {"parts_away", w.Away},
		})
		healthy = healthy && (!w.Gone || w.Left)
		rate += w.Rate
		rows = append(rows, []string{"  " + w.ID, w.Name, render.Short(w.Rate) + " permits/s", workerState(w, s.At, op.Parts())})
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %s permits/s\n", render.Count(live, "worker"), render.Short(rate))
	render.Align(&text, rows)
	rows = nil
	for _, n := range s.Nodes {
		var failure, refuses *string
		if n.Err != nil {
			healthy, failure = false, new(n.Err.Error())
			rows = append(rows, []string{"  " + n.Addr, "away: " + robots.Printable(*failure)})
		} else {
			role, most := "primary", "no limit"
			if n.Replica {
				role = "replica"
			}
			if n.MaxMemory > 0 {
				most = fmt.Sprintf("%d MiB", n.MaxMemory>>20)
			}
			state := "up " + duration.Text(n.Up)
			if n.WriteErr != nil {
				healthy, refuses = false, new(n.WriteErr.Error())
				state += ", refuses writes: " + robots.Printable(*refuses)
			}
			rows = append(rows, []string{
				"  " + n.Addr, role, n.Version, fmt.Sprintf("%d MiB of %s", n.Memory>>20, most), render.Count(int(n.Keys), "key"), render.Short(n.Rate) + " commands/s", state,
			})
		}
		servers = append(servers, jsonObject{
			{"addr", n.Addr}, {"error", failure}, {"replica", n.Replica}, {"version", n.Version}, {"memory", n.Memory}, {"max_memory", n.MaxMemory},
			{"keys", n.Keys}, {"commands_per_second", n.Rate}, {"up_seconds", n.Up.Seconds()}, {"write_error", refuses},
		})
	}
	fmt.Fprintln(&text, render.Count(len(s.Nodes), "server"))
	render.Align(&text, rows)
	code := exitAllowed
	if !healthy {
		code = exitDisallowed
	}
	c.answer(jsonObject{{"schema", 1}, {"at", s.At}, {"workers", workers}, {"servers", servers}}, text.String())
	return code, nil
}

// workerState describes a worker of a fleet whose state has some parts.
func workerState(w paceredis.Worker, now time.Time, parts int) (state string) {
	switch {
	case w.Left:
		state = "left at " + render.Stamp(w.Beat)
	case w.Gone:
		state = "away since " + render.Stamp(w.Beat) + ": its permits have expired"
	default:
		state = "heartbeat " + render.Took(now.Sub(w.Beat)) + " ago"
	}
	if w.Away > 0 && !w.Gone {
		state += fmt.Sprintf(", %d of %d parts of the state unreachable", w.Away, parts)
	}
	if w.Drained {
		state += ", drained"
	}
	return state
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
	readers, _, err := c.crawler.crawlers()
	if err == nil && len(readers) > 1 {
		err = errors.New("several crawlers given: -a names one, with fallbacks after commas")
	}
	return func(ctx context.Context, op *fleet.Operator) (int, error) {
		s, err := op.Site(ctx, origin)
		if err != nil {
			return exitBad, err
		}
		next, none := nextOfSite(&s, readers[0])
		c.answer(siteAnswer(&s, next, none))
		if s.Record == nil && !s.Pace.Known {
			return exitDisallowed, nil
		}
		return exitAllowed, nil
	}, err
}

// A nextRequest is when the next request to a site may start, and why not earlier.
type nextRequest struct {
	Start   time.Time
	Reasons []pace.Reason
}

// nextOfSite returns the next request to a site, or why there is none.
func nextOfSite(s *fleet.Site, crawler Crawler) (next *nextRequest, none string) {
	switch {
	case s.Pace.WriteError != nil:
		return nil, "none while its Redis server refuses writes: " + robots.Printable(s.Pace.WriteError.Error())
	case s.Record == nil:
		return nil, "unknown without a robots.txt"
	}
	rules := s.Record.Rules(crawler.Dialect, s.Pace.At, crawler.Tokens...)
	if _, without := rules.FallbackReason(); without && !rules.Allowed(robots.RawPath("/")) {
		return nil, "none while robots.txt is unavailable: the site counts as disallowed"
	}
	schedule, _ := pace.NewSchedule(rules, pace.Policy{}) // a policy without limits is valid
	start, reasons := schedule.Explain(s.Pace.At, s.Pace.State)
	for i := range reasons {
		if r := &reasons[i]; r.Cause == pace.CauseRetryAfter && r.Until.Equal(s.Pace.Held) {
			r.Cause = pace.CauseHeld
		}
	}
	return &nextRequest{start, reasons}, ""
}

// until writes a time and how far off it is.
func until(t, now time.Time) string { return render.Stamp(t) + ", in " + duration.Text(t.Sub(now)) }

// siteAnswer describes a site in JSON and for people.
func siteAnswer(s *fleet.Site, next *nextRequest, none string) (j jsonObject, text string) {
	var b strings.Builder
	say := func(what, text string, args ...any) {
		fmt.Fprintf(&b, "  %-9s  %s\n", what, fmt.Sprintf(text, args...))
	}
	now, p := s.Pace.At, &s.Pace
	fmt.Fprintln(&b, s.Origin)
	var record jsonObject
	if r := s.Record; r == nil {
		say("record", "none")
	} else {
		record = jsonObject{
			{"outcome", r.Outcome.String()}, {"status", r.Status}, {"cause", r.Cause.String()}, {"bytes", len(r.Body)}, {"fetched", r.Fetched},
			{"expires", onlyIf(!r.Expires.IsZero(), r.Expires)}, {"next_try", onlyIf(!r.NextTry.IsZero(), r.NextTry)},
		}
		text := fmt.Sprintf("fetched %s: %s, status %d, %s", render.Stamp(r.Fetched), r.Outcome, r.Status, render.Count(len(r.Body), "byte"))
		if r.Outcome.Good() {
			text += ", fresh until " + render.Stamp(r.Expires)
		} else {
			text += ", " + r.Cause.Sentence() + ", next try from " + render.Stamp(r.NextTry)
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
		say("last", "counts as requested at %s", render.Stamp(p.State.Last))
	default:
		say("last", "a request ended, or the last one started, at %s", render.Stamp(p.State.Last))
	}
	permits := []jsonObject{}
	for _, permit := range p.Permits {
		permits = append(permits, jsonObject{{"worker", notEmpty(permit.Worker)}, {"start", permit.Start}, {"end", permit.Expires}})
		holder := "worker " + permit.Worker
		if permit.Worker == "" {
			holder = "a client of a service"
		}
		say("permit", "%s, from %s, expires %s", holder, render.Stamp(permit.Start), render.Stamp(permit.Expires))
	}
	if p.State.BackOff > 0 {
		say("back-off", "%d times the interval, since the site signaled overload at %s", p.State.BackOff, render.Stamp(p.Overload))
	}
	switch {
	case p.Held.Sub(now) > paceredis.Forever/2:
		say("held", "until released")
	case p.Held.After(now):
		say("held", "until %s", until(p.Held, now))
	}
	var start *time.Time
	var refused *string
	if p.WriteError != nil {
		refused = new(p.WriteError.Error())
	}
	reasons := []string{}
	if next == nil {
		say("next", "%s", none)
	} else {
		start = &next.Start
		when := "now"
		if start.After(now) {
			when = until(*start, now)
		}
		say("next", "%s", when)
		for _, r := range next.Reasons {
			reasons = append(reasons, r.String())
			say("", "%s", r)
		}
	}
	retryAfter := p.State.NotBefore
	if retryAfter.Equal(p.Held) {
		retryAfter = time.Time{}
	}
	return jsonObject{
		{"schema", 1}, {"origin", s.Origin.String()}, {"at", p.At}, {"record", record}, {"lease_seconds", s.LeaseLeft.Seconds()},
		{"last", notEmpty(p.State.Last)}, {"retry_after", notEmpty(retryAfter)}, {"back_off", int(p.State.BackOff)}, {"overload", notEmpty(p.Overload)},
		{"held", notEmpty(p.Held)}, {"permits", permits}, {"next", start}, {"reasons", reasons}, {"write_error", refused},
	}, b.String()
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
	last := func(at time.Time) string {
		if at.IsZero() {
			return "none that still matters"
		}
		return "last start at " + render.Stamp(at)
	}
	c.answer(jsonObject{{"schema", 1}, {"addr", addr}, {"at", a.At}, {"page", notEmpty(a.Page)}, {"fetch", notEmpty(a.Fetch)}},
		fmt.Sprintf("%s\n  page        %s\n  robots.txt  %s\n", addr, last(a.Page), last(a.Fetch)))
	return code, nil
}

func (c *fleetCall) held(ctx context.Context, op *fleet.Operator) (int, error) {
	list, err := op.Held(ctx)
	if err = c.partly(err, len(list) > 0); err != nil {
		return exitBad, err
	}
	for _, h := range list {
		until, text := &h.Until, "until "+render.Stamp(h.Until)
		if h.Until.Sub(c.std.Now()) >= paceredis.Forever/2 {
			until, text = nil, "until released"
		}
		c.answer(jsonObject{{"schema", 1}, {"target", h.Target.String()}, {"until", until}}, fmt.Sprintf("%s: held %s\n", h.Target, text))
	}
	return exitAllowed, nil
}

func (c *fleetCall) log(ctx context.Context, op *fleet.Operator) (int, error) {
	list, err := op.Log(ctx, c.last)
	if err = c.partly(err, len(list) > 0); err != nil {
		return exitBad, err
	}
	for _, e := range list {
		c.answer(jsonObject{{"schema", 1}, {"at", e.At}, {"who", e.Who}, {"what", e.What}}, fmt.Sprintf("%s  %s  %s\n", render.Stamp(e.At), e.Who, strings.TrimSpace(e.What)))
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
		where := ""
		if f.Node != "" {
			where = f.Node + ": "
		}
		j := jsonObject{{"schema", 1}, {"check", f.Check}, {"node", notEmpty(f.Node)}, {"text", f.Text}, {"do", f.Do}}
		c.answer(j, fmt.Sprintf("%-11s  %s%s.\n%-11s  fix: %s.\n", f.Check, where, f.Text, "", f.Do))
	}
	return exitDisallowed, nil
}
