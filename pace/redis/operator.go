package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// An Operator inspects and controls the workers of a fleet without being one. Each change is
// noted in the fleet's log. All times but those of holds are of a server's clock; a call takes a
// few seconds at most. With servers of a cluster unreachable, results are incomplete, and the
// error names the slots of each missing part. A change succeeds if one server accepts it, as
// workers pass it on. They adopt it at once; one whose connection is lost at that moment, with its
// next heartbeat, within 7 s.
type Operator struct {
	client rueidis.Client
	who    string
	nodes  *nodes
}

// NewOperator returns an operator of the fleet with a prefix of keys, DefaultPrefix if it is
// empty. The log notes its changes under the name who. The client stays the caller's.
func NewOperator(client rueidis.Client, prefix, who string) (*Operator, error) {
	prefix, err := script.Prefix(prefix)
	if err != nil {
		return nil, err
	}
	// The first space ends the name.
	return &Operator{client: client, who: strings.Join(strings.Fields(who), "_"), nodes: newNodes(client, prefix, 24*time.Hour)}, nil
}

// ErrNotNoted is in the error of a change that was made.
var ErrNotNoted = errors.New("the change was made, but not noted in the log")

// Noted makes a change and then notes it in the log: if part of a cluster is unreachable, the
// change is made even if it cannot be logged.
func (o *Operator) Noted(ctx context.Context, what string, do func() error) error {
	err := do()
	if err != nil {
		what = "failed or incomplete: " + what
	}
	noted := o.note(ctx, what)
	if err == nil && noted != nil {
		return fmt.Errorf("%w: %w", ErrNotNoted, noted)
	}
	return err
}

// partError names the hash slots of a part.
func (o *Operator) partError(part int, err error) error {
	size := slots / o.nodes.parts()
	return fmt.Errorf("slots %d to %d: %w", part*size, (part+1)*size-1, err)
}

// eachPart sends a command to each part, and joins the errors.
func (o *Operator) eachPart(ctx context.Context, command func(part int) rueidis.Completed) ([]rueidis.RedisResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	commands := make([]rueidis.Completed, o.nodes.parts())
	failed := make([]error, o.nodes.parts())
	for part := range commands {
		commands[part] = command(part)
	}
	results := o.client.DoMulti(ctx, commands...)
	for part, r := range results {
		if err := r.Error(); err != nil && !script.Says(err, "WRONGTYPE") { // which the next heartbeat fixes
			failed[part] = o.partError(part, err)
		}
	}
	return results, errors.Join(failed...)
}

// propagate passes a configuration on, "" for none, and returns that with the highest version, what
// each part has, "" where it is unreachable, and the time of a server.
func (o *Operator) propagate(ctx context.Context, text string) (best string, copies []string, now micros, err error) {
	calls := make([]call, o.nodes.parts())
	failed := make([]error, o.nodes.parts())
	for part := range calls {
		calls[part] = o.nodes.configCall(part, text)
	}
	for part, r := range o.nodes.run(ctx, heartbeatScript, calls) {
		text, _, err := r.config()
		if err != nil {
			failed[part] = o.partError(part, err)
		}
		best = max(best, text)
		copies = append(copies, text)
		now = max(now, r.now)
	}
	return best, copies, now, errors.Join(failed...)
}

// Config returns the configuration of the fleet, with the version 0 if no worker has joined yet.
func (o *Operator) Config(ctx context.Context) (Config, error) {
	best, _, _, err := o.propagate(ctx, "")
	c, damaged := parseConfig(best)
	if c.Lifetime == 0 {
		c.Version = 0
	}
	return c, errors.Join(damaged, err)
}

// Configure changes the configuration of the fleet. A worker that was started with other options
// then acquires no more permits.
func (o *Operator) Configure(ctx context.Context, what string, change func(*Config)) error {
	return o.Noted(ctx, "config "+what, func() error {
		return o.change(ctx, func(c *Config) bool {
			defaults, _ := shared.Fill(pace.Options{}) // which are valid
			*c = c.settled(defaults)
			change(c)
			return true
		})
	})
}

// change changes the configuration, unless there is nothing to change, and again if another change
// was made at the same time.
func (o *Operator) change(ctx context.Context, change func(*Config) bool) error {
	for range attempts {
		best, _, _, err := o.propagate(ctx, "")
		if best == "" && err != nil {
			return err
		}
		c, err := parseConfig(best)
		if err != nil || !change(&c) {
			return err
		}
		c.Version++
		text := c.text()
		best, have, _, err := o.propagate(ctx, text)
		switch {
		case best == "":
			return err
		case !slices.ContainsFunc(have, func(have string) bool { return have != "" && have != text }):
			return nil
		}
	}
	return errUnstable
}

// A Worker is one on the list of workers.
type Worker struct {
	ID   string // 10 hexadecimal digits, with which the ids of its permits begin
	Name string // Options.Name; "" of one that is gone for long
	Beat time.Time
	// Gone reports that its heartbeats are missing for 15 s, and its permits have ended.
	Gone    bool
	Left    bool    // it was closed
	Drained bool    // see Operator.Drain
	Rate    float64 // permits per second, between its last two heartbeats
	Away    int     // how many of the Parts did not answer it
}

// Parts returns the number of parts in which the workers are listed: each is stored on one
// server.
func (o *Operator) Parts() int { return o.nodes.parts() }

// Workers returns the list of workers, by name, and the time of a server.
func (o *Operator) Workers(ctx context.Context) (list []Worker, at time.Time, err error) {
	best, _, now, err := o.propagate(ctx, "")
	c, _ := parseConfig(best) // of a damaged one no worker is drained
	scores := make([][]rueidis.ZScore, o.nodes.parts())
	lists, away := o.eachPart(ctx, func(part int) rueidis.Completed {
		return o.client.B().Zrange().Key(o.nodes.fleetKey(part, "workers")).Min("0").Max("-1").Withscores().Build()
	})
	for part, list := range lists {
		scores[part], _ = list.AsZScores() // the error is noted
	}
	abouts, _ := o.eachPart(ctx, func(part int) rueidis.Completed { // the same
		keys := []string{o.nodes.fleetKey(part, "fleet")} // one at least
		for _, s := range scores[part] {
			keys = append(keys, o.nodes.workerKey(part, s.Member))
		}
		return o.client.B().Mget().Key(keys...).Build()
	})
	known := map[string]Worker{}
	for part := range scores {
		texts, _ := abouts[part].AsStrSlice()
		for i, s := range scores[part][:min(len(scores[part]), max(len(texts)-1, 0))] {
			var a workerReport
			_ = json.Unmarshal([]byte(texts[i+1]), &a) // which is "" of one that is gone for long
			id := hex.EncodeToString([]byte(s.Member))
			w := Worker{ID: id, Name: robots.Printable(a.Name), Beat: timeAt(s.Score), Gone: now-s.Score > microsCeil(3*heartbeatEvery),
				Left: a.Left, Drained: slices.Contains(c.Drained, id), Rate: a.Rate, Away: a.Away}
			if have, is := known[id]; !is || have.Gone && !w.Gone || have.Name == "" {
				known[id] = w
			}
		}
	}
	for _, w := range known {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b Worker) int { return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID) })
	return list, timeAt(now), cmp.Or(err, away)
}

// Drain has a worker acquire no more permits and start no more requests, until it ends or Resume
// is called. The error says that there is no such worker.
func (o *Operator) Drain(ctx context.Context, id string) error {
	_, err := o.setDrained(ctx, "drain ", id, true)
	return err
}

// Resume ends a Drain, and reports whether there was one.
func (o *Operator) Resume(ctx context.Context, id string) (drained bool, err error) {
	return o.setDrained(ctx, "resume ", id, false)
}

// setDrained adds a worker to those that are drained, or removes it.
func (o *Operator) setDrained(ctx context.Context, what, id string, drain bool) (drained bool, err error) {
	workers, _, away := o.Workers(ctx)
	var known []string
	for _, w := range workers {
		if !w.Gone && !w.Left {
			known = append(known, w.ID)
		}
	}
	err = o.Noted(ctx, what+id, func() error {
		if !slices.Contains(known, id) {
			return errors.Join(fmt.Errorf("no worker %.80q sends heartbeats (known: %s)", id, cmp.Or(strings.Join(known, ", "), "none")), away)
		}
		return o.change(ctx, func(c *Config) bool {
			drained = slices.Contains(c.Drained, id)
			c.Drained = slices.DeleteFunc(c.Drained, func(other string) bool {
				return other == id || away == nil && !slices.Contains(known, other)
			})
			if drain {
				c.Drained = append(c.Drained, id)
			}
			return drain || drained
		})
	})
	return drained, err
}

// A Site is what the fleet knows of an origin.
type Site struct {
	At    time.Time // of the server, when it looked
	Known bool      // else the site counts as requested now when a worker acquires a permit
	// State is for pace.Schedule.Explain.
	State    pace.State
	Overload time.Time // when the site last signaled overload
	Held     time.Time // the end of an operator's hold, zero if there is none
	// WriteError is the error with which the server of the origin refuses permits at present, as its
	// memory is full or it has too few replicas; nil if it does not.
	WriteError error
	Permits    []SitePermit
}

// A SitePermit is a permit that was not released yet.
type SitePermit struct {
	Worker  string    // its id, "" if the permit belongs to no process
	Start   time.Time // of the request
	Expires time.Time
}

// Site returns what is known of an origin.
func (o *Operator) Site(ctx context.Context, origin robots.Origin) (s Site, err error) {
	c, _ := o.Config(ctx) // without it one request at a time is assumed
	r := o.nodes.run(ctx, showScript, []call{o.nodes.call(origin.String(), nil)})[0]
	const head, row = 27, 28
	switch {
	case r.err != nil:
		return s, r.err
	case len(r.text) < head || (len(r.text)-head)%row != 0:
		return s, script.ErrReply
	}
	var last, retry, overload micros
	rest, _ := readDoubles(r.text[1:], &last, &retry, &overload)
	s = Site{At: timeAt(r.now), Known: r.text[0] == 1, Overload: timeAt(overload), Held: c.heldUntil(origin, clock()),
		State: pace.State{Last: timeAt(last), NotBefore: timeAt(retry), BackOff: binary.LittleEndian.Uint16([]byte(rest))}}
	if refused := script.RefusedWrite(ctx, o.client, o.nodes.stateKey(origin.String())); refused != nil {
		s.WriteError = refused
	}
	s.State.NotBefore = latest(s.State.NotBefore, s.Held)
	for rest = rest[2:]; rest != ""; {
		p := SitePermit{}
		id := rest[:8]
		var start, before micros
		rest, _ = readDoubles(rest[8:], &start, &before)
		lifetime := binary.LittleEndian.Uint32([]byte(rest))
		rest = rest[4:]
		p.Start = timeAt(start)
		p.Expires = p.Start.Add(time.Duration(lifetime) * time.Millisecond)
		if id[0] < untrustedMark {
			p.Worker = hex.EncodeToString([]byte(id[:5]))
		}
		s.Permits = append(s.Permits, p)
	}
	s.State.Busy = len(s.Permits) >= max(c.Concurrency, 1)
	return s, nil
}

// An Address is what the fleet knows of an IP address.
type Address struct {
	At    time.Time // of the server, when it looked
	Page  time.Time // the last reserved start of a page request, zero if unknown
	Fetch time.Time // the last reserved start of a robots.txt fetch, zero if unknown
}

// Address returns what is known of an address.
func (o *Operator) Address(ctx context.Context, addr netip.Addr) (a Address, err error) {
	more := appendDoubles([]byte{0}, 1, 1, 0, -1)
	r := o.nodes.run(ctx, addressScript, []call{o.nodes.call(addr.Unmap().WithZone("").String(), more)})[0]
	var in, since, lastPage, lastFetch micros
	rest, ok := readDoubles(r.text, &in, &since)
	switch {
	case r.err != nil:
		return a, r.err
	case !ok || len(rest) != 17:
		return a, script.ErrReply
	}
	a.At = timeAt(r.now)
	if since < r.now {
		readDoubles(rest[1:], &lastPage, &lastFetch)
		a.Page = timeAt(lastPage)
		a.Fetch = timeAt(lastFetch)
	}
	return a, nil
}

// Forever is the duration of a hold that has no end: ten years.
const Forever = 10 * 365 * 24 * time.Hour

// maxHeld limits what is held, as each heartbeat passes it on.
const maxHeld = 1000

// Hold keeps all workers from starting requests for pages to a target for a time, from a second
// to Forever, or until Release. It replaces an earlier Hold of the target. Requests in progress
// continue, and robots.txt is still fetched.
func (o *Operator) Hold(ctx context.Context, t Target, d time.Duration) error {
	d = min(max(d, time.Second), Forever)
	what := "hold " + t.String()
	if d < Forever {
		what += " for " + duration.Text(d)
	}
	return o.Noted(ctx, what, func() error {
		full := false
		err := o.change(ctx, func(c *Config) bool {
			now := clock()
			c.Held = slices.DeleteFunc(c.Held, func(h Held) bool { return h.Target == t || h.Until.Before(now) })
			full = len(c.Held) >= maxHeld
			c.Held = append(c.Held, Held{t, now.Add(d)})
			return !full
		})
		if full {
			return fmt.Errorf("%d targets are held: hold hosts, or all sites", maxHeld)
		}
		return err
	})
}

// Release ends the Hold of a target, or with All each one, and reports whether there was one.
func (o *Operator) Release(ctx context.Context, t Target) (held bool, err error) {
	err = o.Noted(ctx, "release "+t.String(), func() error {
		return o.change(ctx, func(c *Config) bool {
			before := len(c.Held)
			c.Held = slices.DeleteFunc(c.Held, func(h Held) bool { return t == All || h.Target == t })
			held = len(c.Held) < before
			return held
		})
	})
	return held, err
}

// Held returns what is held: all sites, hosts, then origins by name.
func (o *Operator) Held(ctx context.Context) (list []Held, err error) {
	c, err := o.Config(ctx)
	now := clock()
	list = slices.DeleteFunc(c.Held, func(h Held) bool { return h.Until.Before(now) })
	slices.SortFunc(list, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Target.Origin().String(), b.Target.Origin().String()), cmp.Compare(a.Target, b.Target))
	})
	return list, err
}

// Forget deletes the Retry-After and the back-off of an origin. Its interval, its permits and
// a Hold stay. The caller notes it.
func (o *Operator) Forget(ctx context.Context, origin robots.Origin) error {
	more := append(appendDoubles(make([]byte, len(permitID{})), 0, 0), resultForget)
	return o.nodes.run(ctx, releaseScript, []call{o.nodes.call(origin.String(), more, "1")})[0].err
}

// A LogEntry is one change that an operator made.
type LogEntry struct {
	At   time.Time
	Who  string
	What string
}

// maxLog is how many entries the log of a part has, the latest ones, and maxEntry how long each
// is at most.
const (
	maxLog   = 1000
	maxEntry = 500 // bytes
)

// note adds an entry to the log of the fleet, in the first part that answers.
func (o *Operator) note(ctx context.Context, what string) error {
	text := o.who + " " + what
	args := []string{text[:min(len(text), maxEntry)], strconv.Itoa(maxLog)}
	var failed []error
	for part := range o.nodes.parts() {
		err := o.nodes.run(ctx, logScript, []call{{o.nodes.slot(partTags[part]), []string{o.nodes.fleetKey(part, "log")}, args}})[0].err
		if err == nil {
			return nil
		}
		failed = append(failed, o.partError(part, err))
	}
	return errors.Join(failed...)
}

// Log returns the last n entries of the log, at least one, the latest first.
func (o *Operator) Log(ctx context.Context, n int) (list []LogEntry, err error) {
	last := strconv.Itoa(min(max(n, 1), maxLog) - 1)
	logs, err := o.eachPart(ctx, func(part int) rueidis.Completed {
		return o.client.B().Zrange().Key(o.nodes.fleetKey(part, "log")).Min("0").Max(last).Rev().Withscores().Build()
	})
	for _, log := range logs {
		rows, _ := log.AsZScores() // the error is noted
		for _, r := range rows {
			_, text, _ := strings.Cut(r.Member, " ") // after the time, which makes each unique
			who, what, _ := strings.Cut(text, " ")
			list = append(list, LogEntry{At: timeAt(math.Floor(r.Score)), Who: robots.Printable(who), What: robots.Printable(what)})
		}
	}
	slices.SortStableFunc(list, func(a, b LogEntry) int { return b.At.Compare(a.At) })
	return list[:min(len(list), max(n, 1))], err
}
