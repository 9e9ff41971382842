package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/duration"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// This file has the answers of the commands of robots fleet, and writes them as text.

// A fleetStatus is the workers and servers of a fleet.
type fleetStatus struct {
	At      time.Time     `json:"at"`      // by the clock of a server
	Workers []fleetWorker `json:"workers"` // by name
	Servers []fleetServer `json:"servers"` // those of Redis

	parts int // for text: in how many parts the state is stored
}

// A fleetWorker is a process that acquires permits.
type fleetWorker struct {
	ID               string    `json:"id"`                 // 10 hexadecimal digits
	Name             string    `json:"name"`               // empty for one that is away for long
	Heartbeat        time.Time `json:"heartbeat"`          // the last one
	Away             bool      `json:"away"`               // heartbeats are missing, and its permits have expired
	Left             bool      `json:"left"`               // it was closed
	Drained          bool      `json:"drained"`            // it acquires no more permits
	PermitsPerSecond float64   `json:"permits_per_second"` // between its last two heartbeats
	PartsAway        int       `json:"parts_away"`         // parts of the state that it cannot reach
}

// A fleetServer is a Redis server. Without an answer, only its address and the error are known.
type fleetServer struct {
	Addr              string          `json:"addr"`                // host and port
	Error             *string         `json:"error"`               // why there is no answer
	Replica           bool            `json:"replica"`             // not a primary
	Version           string          `json:"version"`             // of Redis
	Memory            int64           `json:"memory"`              // bytes used
	MaxMemory         int64           `json:"max_memory"`          // bytes, 0 for no limit
	Keys              int64           `json:"keys"`                // in all its databases
	CommandsPerSecond float64         `json:"commands_per_second"` // at present
	Up                answer.Interval `json:"up_seconds"`          // since its start
	WriteError        *string         `json:"write_error"`         // why it refuses permits
}

func newFleetStatus(s *fleet.Status, parts int) *fleetStatus {
	status := &fleetStatus{At: s.At, Workers: []fleetWorker{}, Servers: []fleetServer{}, parts: parts}
	for _, w := range s.Workers {
		if w.Gone || w.Left {
			w.Rate = 0
		}
		status.Workers = append(status.Workers, fleetWorker{
			ID: w.ID, Name: w.Name, Heartbeat: w.Beat, Away: w.Gone && !w.Left, Left: w.Left, Drained: w.Drained,
			PermitsPerSecond: w.Rate, PartsAway: w.Away,
		})
	}
	for _, n := range s.Nodes {
		status.Servers = append(status.Servers, fleetServer{
			Addr: n.Addr, Error: errorText(n.Err), Replica: n.Replica, Version: n.Version, Memory: n.Memory, MaxMemory: n.MaxMemory,
			Keys: n.Keys, CommandsPerSecond: n.Rate, Up: answer.Interval(n.Up), WriteError: errorText(n.WriteErr),
		})
	}
	return status
}

// errorText returns the text of an error, nil for none.
func errorText(err error) *string {
	if err == nil {
		return nil
	}
	return new(err.Error())
}

// healthy reports whether all workers send heartbeats and all servers work.
func (s *fleetStatus) healthy() bool {
	for i := range s.Workers {
		if s.Workers[i].Away {
			return false
		}
	}
	for i := range s.Servers {
		if s.Servers[i].Error != nil || s.Servers[i].WriteError != nil {
			return false
		}
	}
	return true
}

func (s *fleetStatus) writeText(w io.Writer, _ render.Palette) {
	live := 0
	rate := 0.0
	var workers, servers [][]string
	for i := range s.Workers {
		worker := &s.Workers[i]
		if !worker.Away && !worker.Left {
			live++
		}
		rate += worker.PermitsPerSecond
		workers = append(workers, []string{"  " + worker.ID, worker.Name, render.Short(worker.PermitsPerSecond) + " permits/s", worker.state(s.At, s.parts)})
	}
	for i := range s.Servers {
		servers = append(servers, s.Servers[i].row())
	}
	fmt.Fprintf(w, "%s, %s permits/s\n", render.Count(live, "worker"), render.Short(rate))
	render.Align(w, workers)
	fmt.Fprintln(w, render.Count(len(servers), "server"))
	render.Align(w, servers)
}

// state describes a worker of a fleet whose state has some parts.
func (w *fleetWorker) state(now time.Time, parts int) (state string) {
	switch {
	case w.Left:
		state = "left at " + render.Stamp(w.Heartbeat)
	case w.Away:
		state = "away since " + render.Stamp(w.Heartbeat) + ": its permits have expired"
	default:
		state = "heartbeat " + render.Took(now.Sub(w.Heartbeat)) + " ago"
		if w.PartsAway > 0 {
			state += fmt.Sprintf(", %d of %d parts of the state unreachable", w.PartsAway, parts)
		}
	}
	if w.Drained {
		state += ", drained"
	}
	return state
}

// row returns the cells of a server.
func (n *fleetServer) row() []string {
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
		"  " + n.Addr, role, n.Version, fmt.Sprintf("%d MiB of %s", n.Memory>>20, limit), render.Count(int(n.Keys), "key"),
		render.Short(n.CommandsPerSecond) + " commands/s", state,
	}
}

// A fleetConfig is the options that all workers share.
type fleetConfig struct {
	Version         int             `json:"version"`          // 0 before the first worker has joined
	Concurrency     int             `json:"concurrency"`      // requests to a site at the same time
	AddressInterval answer.Interval `json:"address_interval"` // between requests to an IP address
	FetchInterval   answer.Interval `json:"fetch_interval"`   // between robots.txt fetches from an IP address
	Lifetime        answer.Interval `json:"lifetime"`         // of a permit
}

func newFleetConfig(c *paceredis.Config) *fleetConfig {
	return &fleetConfig{
		Version: c.Version, Concurrency: c.Concurrency, AddressInterval: answer.Interval(c.AddressInterval),
		FetchInterval: answer.Interval(c.FetchInterval), Lifetime: answer.Interval(c.Lifetime),
	}
}

func (c *fleetConfig) writeText(w io.Writer, _ render.Palette) {
	if c.Version == 0 {
		fmt.Fprintln(w, "no worker has joined this fleet yet")
		return
	}
	fmt.Fprintf(w, "concurrency       %d\naddress-interval  %s\nfetch-interval    %s\nlifetime          %s\nversion           %d\n",
		c.Concurrency, time.Duration(c.AddressInterval), time.Duration(c.FetchInterval), time.Duration(c.Lifetime), c.Version)
}

// A fleetHold is a site, a host or all sites that an operator holds.
type fleetHold struct {
	Target string     `json:"target"` // an origin, a host, or "all sites"
	Until  *time.Time `json:"until"`  // null until released
}

func newFleetHold(h paceredis.Held, now time.Time) *fleetHold {
	hold := &fleetHold{Target: h.Target.String()}
	if h.Until.Sub(now) < paceredis.Forever/2 {
		hold.Until = &h.Until
	}
	return hold
}

func (h *fleetHold) writeText(w io.Writer, _ render.Palette) {
	end := "released"
	if h.Until != nil {
		end = render.Stamp(*h.Until)
	}
	fmt.Fprintf(w, "%s: held until %s\n", h.Target, end)
}

// A fleetLogEntry is a change that an operator made.
type fleetLogEntry struct {
	At   time.Time `json:"at"`   // by the clock of a server
	Who  string    `json:"who"`  // user and host
	What string    `json:"what"` // the command
}

func (e *fleetLogEntry) writeText(w io.Writer, _ render.Palette) {
	fmt.Fprintf(w, "%s  %s  %s\n", render.Stamp(e.At), e.Who, strings.TrimSpace(e.What))
}

// A fleetProblem is a problem with the Redis of a fleet.
type fleetProblem struct {
	Check string  `json:"check"` // one word: the check that found it
	Node  *string `json:"node"`  // address of the server, null for all
	Text  string  `json:"text"`  // a sentence, without its period
	Do    string  `json:"do"`    // likewise: the fix
}

func (p *fleetProblem) writeText(w io.Writer, _ render.Palette) {
	where := ""
	if p.Node != nil {
		where = *p.Node + ": "
	}
	fmt.Fprintf(w, "%-11s  %s%s.\n%-11s  fix: %s.\n", p.Check, where, p.Text, "", p.Do)
}

// A fleetChange is a change that a command made.
type fleetChange struct {
	To   string `json:"to"`   // the site, worker or option
	Done string `json:"done"` // a phrase
}

func (c *fleetChange) writeText(w io.Writer, _ render.Palette) {
	fmt.Fprintf(w, "%s: %s\n", c.To, c.Done)
}
