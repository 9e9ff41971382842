package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/internal/duration"
)

// FleetStatus writes the workers and servers of a fleet.
func FleetStatus(w io.Writer, s *answer.FleetStatus) {
	live := 0
	rate := 0.0
	var workers, servers [][]string
	for i := range s.Workers {
		worker := &s.Workers[i]
		if !worker.Away && !worker.Left {
			live++
		}
		rate += worker.PermitsPerSecond
		permits := Short(worker.PermitsPerSecond) + " permits/s"
		workers = append(workers, []string{"  " + worker.ID, worker.Name, permits, workerState(worker, s.At, s.Parts)})
	}
	for i := range s.Servers {
		servers = append(servers, serverCells(&s.Servers[i]))
	}
	fmt.Fprintf(w, "%s, %s permits/s\n", Count(live, "worker"), Short(rate))
	Align(w, workers)
	fmt.Fprintln(w, Count(len(servers), "server"))
	Align(w, servers)
}

// workerState describes a worker of a fleet whose state has some parts.
func workerState(w *answer.FleetWorker, now time.Time, parts int) (state string) {
	switch {
	case w.Left:
		state = "left at " + Stamp(w.Heartbeat)
	case w.Away:
		state = "away since " + Stamp(w.Heartbeat) + ": its permits have expired"
	default:
		state = "heartbeat " + Took(now.Sub(w.Heartbeat)) + " ago"
		if w.PartsAway > 0 {
			state += fmt.Sprintf(", %d of %d parts of the state unreachable", w.PartsAway, parts)
		}
	}
	if w.Drained {
		state += ", drained"
	}
	return state
}

// serverCells returns the cells of a server.
func serverCells(n *answer.FleetServer) []string {
	if n.Error != nil {
		return []string{"  " + n.Addr, "away: " + robots.Printable(*n.Error)}
	}
	role := "primary"
	if n.Replica {
		role = "replica"
	}
	limit := "no limit"
	if n.MaxMemory > 0 {
		limit = fmt.Sprintf("%d MiB", n.MaxMemory>>20)
	}
	state := "up " + duration.Text(time.Duration(n.Up))
	if n.WriteError != nil {
		state += ", refuses writes: " + robots.Printable(*n.WriteError)
	}
	return []string{
		"  " + n.Addr, role, n.Version, fmt.Sprintf("%d MiB of %s", n.Memory>>20, limit), Count(int(n.Keys), "key"),
		Short(n.CommandsPerSecond) + " commands/s", state,
	}
}

// FleetConfig writes the options that all workers share.
func FleetConfig(w io.Writer, c *answer.FleetConfig) {
	if c.Version == 0 {
		fmt.Fprintln(w, "no worker has joined this fleet yet")
		return
	}
	fmt.Fprintf(w, "concurrency       %d\naddress-interval  %s\nfetch-interval    %s\nlifetime          %s\nversion           %d\n",
		c.Concurrency, time.Duration(c.AddressInterval), time.Duration(c.FetchInterval), time.Duration(c.Lifetime), c.Version)
}

// FleetHold writes what an operator holds.
func FleetHold(w io.Writer, h *answer.FleetHold) {
	end := "released"
	if h.Until != nil {
		end = Stamp(*h.Until)
	}
	fmt.Fprintf(w, "%s: held until %s\n", h.Target, end)
}

// FleetLogEntry writes a change that an operator made.
func FleetLogEntry(w io.Writer, e *answer.FleetLogEntry) {
	fmt.Fprintf(w, "%s  %s  %s\n", Stamp(e.At), e.Who, strings.TrimSpace(e.What))
}

// FleetProblem writes a problem with its fix.
func FleetProblem(w io.Writer, p *answer.FleetProblem) {
	where := ""
	if p.Node != nil {
		where = *p.Node + ": "
	}
	fmt.Fprintf(w, "%-11s  %s%s.\n%-11s  fix: %s.\n", p.Check, where, p.Text, "", p.Do)
}

// FleetChange writes a change that a command made.
func FleetChange(w io.Writer, c *answer.FleetChange) {
	fmt.Fprintf(w, "%s: %s\n", c.To, c.Done)
}

// until formats a time and how far off it is.
func until(t, now time.Time) string { return Stamp(t) + ", in " + duration.Text(t.Sub(now)) }

// FleetSite writes the state of a site.
func FleetSite(w io.Writer, s *answer.FleetSite) {
	line := func(what, text string) { fmt.Fprintf(w, "  %-9s  %s\n", what, text) }
	fmt.Fprintln(w, s.Origin)
	line("record", recordText(s.Record))
	if s.Lease > 0 {
		line("lease", "a worker fetches robots.txt, for "+duration.Text(time.Duration(s.Lease))+" at most")
	}
	line("last", lastText(s))
	for i := range s.Permits {
		line("permit", permitText(&s.Permits[i]))
	}
	if s.BackOff > 0 {
		var overload time.Time
		if s.Overload != nil {
			overload = *s.Overload
		}
		line("back-off", fmt.Sprintf("%d times the interval, since the site signaled overload at %s", s.BackOff, Stamp(overload)))
	}
	switch {
	case s.HeldForever:
		line("held", "until released")
	case s.Held != nil && s.Held.After(s.At):
		line("held", "until "+until(*s.Held, s.At))
	}
	switch {
	case s.Next == nil:
		line("next", s.NoNext)
	case s.Next.After(s.At):
		line("next", until(*s.Next, s.At))
	default:
		line("next", "now")
	}
	for _, reason := range s.Reasons {
		line("", reason)
	}
}

// recordText describes a record, or that there is none.
func recordText(r *answer.FleetRecord) string {
	if r == nil {
		return "none"
	}
	text := fmt.Sprintf("fetched %s: %s, status %d, %s", Stamp(r.Fetched), r.Outcome, r.Status, Count(r.Bytes, "byte"))
	if r.Answered {
		text += ", fresh until " + Stamp(r.Expires)
	} else {
		text += ", " + r.Problem + ", next try from " + Stamp(r.NextTry)
	}
	return robots.Printable(text)
}

// lastText describes the last request to a site.
func lastText(s *answer.FleetSite) string {
	switch {
	case s.LastUnknown:
		return "unknown, so the site counts as requested now"
	case s.Last == nil:
		return "no request that still matters"
	case s.Last.After(s.At):
		return "counts as requested at " + Stamp(*s.Last)
	}
	return "a request ended, or the last one started, at " + Stamp(*s.Last)
}

// permitText describes a permit.
func permitText(p *answer.FleetSitePermit) string {
	holder := "a client of a service"
	if p.Worker != nil {
		holder = "worker " + *p.Worker
	}
	return holder + ", from " + Stamp(p.Start) + ", expires " + Stamp(p.End)
}

// FleetAddress writes the state of an IP address.
func FleetAddress(w io.Writer, a *answer.FleetAddress) {
	last := func(at *time.Time) string {
		if at == nil {
			return "none that still matters"
		}
		return "last start at " + Stamp(*at)
	}
	fmt.Fprintf(w, "%s\n  page        %s\n  robots.txt  %s\n", a.Addr, last(a.Page), last(a.Fetch))
}
