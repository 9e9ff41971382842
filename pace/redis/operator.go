package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// An Operator inspects and controls the workers of a fleet without being one. All times are of
// a server's clock; a call takes a few seconds at most. With servers of a cluster unreachable,
// results are incomplete, and the error wraps a *PartError for each missing part. A change
// succeeds if one server accepts it, as workers pass it on.
type Operator struct {
	client rueidis.Client
	prefix string
	nodes  *nodes
}

// NewOperator returns an operator of the fleet with a prefix of keys, DefaultPrefix if it is
// empty. The client stays the caller's.
func NewOperator(client rueidis.Client, prefix string) (*Operator, error) {
	prefix, err := script.Prefix(prefix)
	if err != nil {
		return nil, err
	}
	return &Operator{client: client, prefix: prefix, nodes: newNodes(client)}, nil
}

// A PartError reports that a part of the keys is unreachable.
type PartError struct {
	First, Last int // hash slots; 0 and 16383 for one server
	Err         error
}

// Error names the slots.
func (e *PartError) Error() string { return fmt.Sprintf("slots %d to %d: %v", e.First, e.Last, e.Err) }

// Unwrap returns Err.
func (e *PartError) Unwrap() error { return e.Err }

func (o *Operator) partError(part int, err error) error {
	size := slots / o.nodes.parts()
	return &PartError{First: part * size, Last: (part+1)*size - 1, Err: err}
}

func (o *Operator) slotOfPart(part int) int { return o.nodes.slot(partTags[part]) }

// look returns the time and the id of the server that has the keys, which have one slot, and
// their values, "" for none.
func (o *Operator) look(ctx context.Context, keys ...string) (r reply, values []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	r.sent = clock()
	all, err := lookScript.Run(ctx, o.client, keys, nil).AsStrSlice()
	if err != nil {
		return r, nil, err
	}
	r.received = clock()
	if len(all) != 1+len(keys) || len(all[0]) != 16 {
		return r, nil, script.ErrReply
	}
	r.text, _ = readDoubles(all[0], &r.now)
	return r, all[1:], nil
}

// eachPart calls f for all parts at the same time, and joins the errors. What f returns is
// called for one part after another.
func (o *Operator) eachPart(f func(part int) (note func(), err error)) (answered bool, err error) {
	var all sync.WaitGroup
	notes, failed := make([]func(), o.nodes.parts()), make([]error, o.nodes.parts())
	for part := range notes {
		all.Go(func() {
			var err error
			if notes[part], err = f(part); err != nil {
				failed[part] = o.partError(part, err)
			}
		})
	}
	all.Wait()
	for part, note := range notes {
		answered = answered || failed[part] == nil
		if note != nil {
			note()
		}
	}
	return answered, errors.Join(failed...)
}

// Config returns the configuration of the fleet, the zero value if it has none yet.
func (o *Operator) Config(ctx context.Context) (c Config, err error) {
	best := ""
	answered, err := o.eachPart(func(part int) (func(), error) {
		_, values, err := o.look(ctx, fleetKey(o.prefix, part, "fleet"))
		return func() {
			if err == nil && len(values[0]) > 8 {
				best = max(best, values[0][8:])
			}
		}, err
	})
	if !answered || best == "" {
		return c, err
	}
	c, damaged := parseConfig(best)
	return c, errors.Join(damaged, err)
}

// Change changes the configuration of the fleet. Workers adopt it with their next heartbeat,
// within 7 s; one that was started with other options then acquires no more permits.
func (o *Operator) Change(ctx context.Context, change func(*Config)) error {
	c, err := o.Config(ctx)
	if err != nil && c.Version == 0 {
		return err
	}
	if c.Version == 0 {
		filled, err := pace.Options{}.Filled()
		if err != nil {
			return err
		}
		c = newConfig(filled)
	}
	change(&c)
	c.Version++
	answered, err := o.eachPart(func(part int) (func(), error) {
		key := fleetKey(o.prefix, part, "fleet")
		r, _, err := o.look(ctx, key)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		return nil, o.client.Do(ctx, o.client.B().Set().Key(key).Value(r.text+c.text()).Build()).Error()
	})
	if answered {
		return nil // the workers pass it on
	}
	return err
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

// Parts returns in how many parts the workers are listed: each lies on one server.
func (o *Operator) Parts() int { return o.nodes.parts() }

// Workers returns the list of workers, by name, and the time of a server.
func (o *Operator) Workers(ctx context.Context) (list []Worker, at time.Time, err error) {
	known := map[string]*Worker{}
	drains := map[string]drainState{}
	_, err = o.eachPart(func(part int) (func(), error) {
		scores, values, r, err := o.workersOf(ctx, part)
		return func() {
			if err == nil {
				at = latest(at, timeAt(r.now))
				noteWorkers(known, drains, scores, values, r.now)
			}
		}, err
	})
	for id, w := range known {
		w.Drained = drains[id].drained
		list = append(list, *w)
	}
	slices.SortFunc(list, func(a, b Worker) int { return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID) })
	return list, at, err
}

// workersOf returns the last heartbeats of the workers in a part, and their values.
func (o *Operator) workersOf(ctx context.Context, part int) (scores []rueidis.ZScore, values []string, r reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	key := fleetKey(o.prefix, part, "workers")
	scores, err = o.client.Do(ctx, o.client.B().Zrange().Key(key).Min("0").Max("-1").Withscores().Build()).AsZScores()
	if err != nil && !script.Says(err, "WRONGTYPE") { // which the next heartbeat fixes
		return nil, nil, r, err
	}
	keys := []string{key}
	for _, s := range scores {
		keys = append(keys, workerKey(o.prefix, part, s.Member))
	}
	r, values, err = o.look(ctx, keys...)
	return scores, values, r, err
}

// noteWorkers adds the workers of a part.
func noteWorkers(known map[string]*Worker, drains map[string]drainState, scores []rueidis.ZScore, values []string, now micros) {
	for i, s := range scores {
		id, text := hex.EncodeToString([]byte(s.Member)), values[i+1]
		if drain := parseDrain(text); drain.at > drains[id].at {
			drains[id] = drain
		}
		w := Worker{ID: id, Beat: timeAt(s.Score), Gone: now-s.Score > microsUp(workerTimeout())}
		w.Rate, w.Away, w.Name = parseAbout(text[min(len(text), drainSize):])
		w.Left, w.Away, w.Name = w.Away == left, max(w.Away, 0), robots.Printable(w.Name)
		if have := known[id]; have == nil || have.Gone && !w.Gone || have.Name == "" {
			known[id] = &w
		}
	}
}

// Drain has a worker acquire no more permits and start no more requests, from its next
// heartbeat on, within 7 s, until it ends or Resume is called. The error says that there is no
// such worker.
func (o *Operator) Drain(ctx context.Context, id string) error {
	_, err := o.mark(ctx, id, true)
	return err
}

// Resume ends a Drain, and reports whether there was one.
func (o *Operator) Resume(ctx context.Context, id string) (drained bool, err error) {
	return o.mark(ctx, id, false)
}

// mark writes the drain state of a worker. Its heartbeats write the later state to the parts
// that do not have it.
func (o *Operator) mark(ctx context.Context, id string, drain bool) (drained bool, err error) {
	workers, _, away := o.Workers(ctx)
	workers = slices.DeleteFunc(workers, func(w Worker) bool { return w.Gone || w.Left })
	i := slices.IndexFunc(workers, func(w Worker) bool { return w.ID == id })
	if i < 0 {
		var known []string
		for _, w := range workers {
			known = append(known, w.ID)
		}
		return false, errors.Join(fmt.Errorf("no worker %.80q sends heartbeats (known: %s)", id, cmp.Or(strings.Join(known, ", "), "none")), away)
	}
	name, _ := hex.DecodeString(id) // no error: it is one of these
	text := drainState{drain, clock().UnixMicro()}.text()
	answered, err := o.eachPart(func(part int) (func(), error) {
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		return nil, o.client.Do(ctx, o.client.B().Setrange().Key(workerKey(o.prefix, part, string(name))).Offset(0).Value(text).Build()).Error()
	})
	if answered {
		err = nil
	}
	return workers[i].Drained, err
}

// A Site is what the fleet knows of an origin.
type Site struct {
	At    time.Time // of the server, when it looked
	Known bool      // else the site counts as requested when a worker asks for it
	// State is for pace.Schedule.Explain.
	State    pace.State
	Overload time.Time // when the site last signaled overload
	Held     time.Time // until when an operator holds it, zero if it is not held
	Permits  []SitePermit
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
	name := origin.String()
	r, values, err := o.look(ctx, stateKey(o.prefix, name))
	if err != nil {
		return s, err
	}
	s.parse(values[0], r)
	s.State.Busy = len(s.Permits) >= max(c.Concurrency, 1)
	if until := c.heldUntil(origin, clock()); !until.IsZero() {
		s.Held = latest(s.Held, until)
		s.State.NotBefore = latest(s.State.NotBefore, s.Held)
	}
	return s, nil
}

// parse reads a state as state.lua does. One that is damaged counts as unknown.
func (s *Site) parse(value string, r reply) {
	const head, row = 60, 28
	s.At = timeAt(r.now)
	if len(value) < head || (len(value)-head)%row != 0 {
		s.State.Last = s.At
		return
	}
	var written, last, retry, held, over, slowest micros
	rest, _ := readDoubles(value[8:], &written, &last, &retry, &held, &over, &slowest)
	moved := min(r.now-written, 0)
	at := func(m micros) time.Time {
		if m == 0 {
			return time.Time{}
		}
		return timeAt(m + moved)
	}
	s.Known = value[:8] == r.text
	s.State = pace.State{Last: at(last), NotBefore: at(retry), BackOff: binary.LittleEndian.Uint16([]byte(rest))}
	if !s.Known {
		s.State.Last = latest(s.State.Last, s.At)
	}
	s.Overload = at(over)
	if at(held).After(s.At) {
		s.Held = at(held)
		s.State.NotBefore = latest(s.State.NotBefore, s.Held)
	}
	for rest = rest[4:]; rest != ""; rest = rest[row:] {
		var start micros
		readDoubles(rest[8:], &start)
		p := SitePermit{Start: at(start)}
		p.Expires = p.Start.Add(time.Duration(binary.LittleEndian.Uint32([]byte(rest[24:]))) * time.Millisecond)
		if rest[0] != sharedMark {
			p.Worker = hex.EncodeToString([]byte(rest[:5]))
		}
		if p.Expires.After(s.At) {
			s.Permits = append(s.Permits, p)
		} else {
			s.State.Last = latest(s.State.Last, p.Expires)
		}
	}
}

// An Address is what the fleet knows of an IP address.
type Address struct {
	At    time.Time // of the server, when it looked
	Page  time.Time // the last start of a request that is reserved there, zero if unknown
	Fetch time.Time // the last start of a fetch of robots.txt, the same
}

// Address returns what is known of an address.
func (o *Operator) Address(ctx context.Context, addr netip.Addr) (a Address, err error) {
	name := addr.Unmap().WithZone("").String()
	r, values, err := o.look(ctx, stateKey(o.prefix, name))
	if err != nil {
		return a, err
	}
	a.At = timeAt(r.now)
	var written, since, page, fetch micros
	if len(values[0]) == 40 {
		readDoubles(values[0][8:], &written, &since, &page, &fetch)
		a.Page, a.Fetch = timeAt(page), timeAt(fetch)
	}
	return a, nil
}

// Forever is for how long a site is held without an end: ten years.
const Forever = 10 * 365 * 24 * time.Hour

// A Target is what is held: one origin, all origins of a host, or all sites.
type Target struct {
	Origin robots.Origin
	Host   string // if Origin is zero; "" for all sites
}

// All is the target of all sites.
var All Target

// ParseTarget reads an origin such as https://example.com, or a host such as example.com for
// all its schemes and ports.
func ParseTarget(s string) (t Target, err error) {
	wrong := func(what string) error {
		return fmt.Errorf("%.200q %s: give an origin such as https://example.com, or a host", s, what)
	}
	text, isHost := s, !strings.Contains(s, "://")
	if isHost {
		text = "http://" + s
	}
	u, err := url.Parse(text) //nolint:forbidigo // the parts that an origin has not
	switch {
	case s == "" || strings.ContainsAny(s, "*"):
		return t, wrong("is not an origin")
	case err == nil && (strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil):
		return t, wrong("has more than an origin")
	case isHost && err == nil && u.Port() != "":
		return t, wrong("has a port and no scheme")
	}
	origin, _, err := robots.ParseURL(text)
	if err != nil {
		return t, wrong("is not an origin")
	}
	if isHost {
		return Target{Host: origin.Host()}, nil
	}
	return Target{Origin: origin}, nil
}

// String returns the origin, the host, or "all sites".
func (t Target) String() string {
	if !t.Origin.IsZero() {
		return t.Origin.String()
	}
	return cmp.Or(t.Host, "all sites")
}

// Hold keeps all workers from starting requests for a time, at most Forever. It replaces an
// earlier Hold of the target. An origin is held at once, a host and all sites within 7 s.
// Requests that have started are not ended.
func (o *Operator) Hold(ctx context.Context, t Target, d time.Duration) error {
	d = min(max(d, time.Second), Forever)
	if t.Origin.IsZero() {
		return o.Change(ctx, func(c *Config) {
			now := clock()
			c.Held = slices.DeleteFunc(c.Held, func(h HeldHost) bool { return h.Host == t.Host || h.Until.Before(now) })
			c.Held = append(c.Held, HeldHost{t.Host, now.Add(d)})
		})
	}
	if _, err := o.steer(ctx, 'h', t.Origin, d); err != nil {
		return err
	}
	key := o.heldKey(t.Origin)
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	// The list is for Held only, so the site is held without it too.
	_ = o.client.Do(ctx, o.client.B().Zadd().Key(key).ScoreMember().ScoreMember(float64(clock().Add(d).UnixMicro()), t.Origin.String()).Build()).Error()
	return nil
}

// heldKey returns the key of the list of held origins.
func (o *Operator) heldKey(origin robots.Origin) string {
	return fleetKey(o.prefix, o.nodes.part(origin.String()), "held")
}

// Release ends the Hold of a target, or with All each one, and reports whether there was one.
// Workers that wait for a site notice it within a minute.
func (o *Operator) Release(ctx context.Context, t Target) (held bool, err error) {
	if !t.Origin.IsZero() {
		if held, err = o.steer(ctx, 'r', t.Origin, 0); err != nil {
			return held, err
		}
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		_ = o.client.Do(ctx, o.client.B().Zrem().Key(o.heldKey(t.Origin)).Member(t.Origin.String()).Build()).Error() // see Hold
		return held, nil
	}
	list, away := o.Held(ctx)
	if slices.ContainsFunc(list, func(h Held) bool { return h.Target.Origin.IsZero() && (t == All || h.Target == t) }) {
		held = true
		err = o.Change(ctx, func(c *Config) {
			c.Held = slices.DeleteFunc(c.Held, func(h HeldHost) bool { return t == All || h.Host == t.Host })
		})
	}
	if t != All {
		return held, err
	}
	failed := []error{err, away}
	for _, h := range list {
		if !h.Target.Origin.IsZero() {
			held = true
			_, err := o.Release(ctx, h.Target)
			failed = append(failed, err)
		}
	}
	return held, errors.Join(failed...)
}

// A Held is a target that an operator holds.
type Held struct {
	Target Target
	Until  time.Time
}

// Held returns what is held: all sites, hosts, then origins by name.
func (o *Operator) Held(ctx context.Context) (list []Held, err error) {
	c, _ := o.Config(ctx) // the parts that are away are in the error below
	now := clock()
	for _, h := range c.Held {
		if h.Until.After(now) {
			list = append(list, Held{Target{Host: h.Host}, h.Until})
		}
	}
	_, err = o.eachPart(func(part int) (func(), error) {
		held, err := o.heldIn(ctx, part, now)
		return func() { list = append(list, held...) }, err
	})
	slices.SortFunc(list, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Target.Origin.String(), b.Target.Origin.String()), cmp.Compare(a.Target.Host, b.Target.Host))
	})
	return list, err
}

// heldIn returns the origins that are held, of a part.
func (o *Operator) heldIn(ctx context.Context, part int, now time.Time) (list []Held, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	key := fleetKey(o.prefix, part, "held")
	names, err := o.client.Do(ctx, o.client.B().Zrange().Key(key).Min(strconv.FormatInt(now.UnixMicro(), 10)).Max("+inf").Byscore().Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, name := range names {
		origin, _, err := robots.ParseURL(name)
		if err != nil {
			continue
		}
		r, values, err := o.look(ctx, stateKey(o.prefix, name))
		if failed = append(failed, err); err != nil {
			continue
		}
		var s Site
		if s.parse(values[0], r); !s.Held.IsZero() {
			list = append(list, Held{Target{Origin: origin}, s.Held})
		}
	}
	return list, errors.Join(failed...)
}

// Forget deletes the Retry-After and the back-off of an origin. Its interval, its permits and
// a Hold stay.
func (o *Operator) Forget(ctx context.Context, origin robots.Origin) error {
	_, err := o.steer(ctx, 'f', origin, 0)
	return err
}

func (o *Operator) steer(ctx context.Context, what byte, origin robots.Origin, d time.Duration) (held bool, err error) {
	name := origin.String()
	slot := o.nodes.slot(name)
	arg := appendDoubles(append(o.nodes.node(slot).head(24*time.Hour), what), microsUp(d))
	r := o.nodes.run(ctx, steerScript, []call{{slot, []string{stateKey(o.prefix, name)}, []string{string(arg)}}})[0]
	if r.err == nil && len(r.text) != 1 {
		r.err = script.ErrReply
	}
	return r.err == nil && r.text[0] == 1, r.err
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

// Note adds an entry to the log of the fleet, in the first part that answers.
func (o *Operator) Note(ctx context.Context, who, what string) error {
	who = strings.Join(strings.Fields(who), "_") // which the first space ends
	text := who + " " + what
	args := []string{text[:min(len(text), maxEntry)], strconv.Itoa(maxLog)}
	var failed []error
	for part := range o.nodes.parts() {
		err := o.nodes.run(ctx, logScript, []call{{o.slotOfPart(part), []string{fleetKey(o.prefix, part, "log")}, args}})[0].err
		if err == nil {
			return nil
		}
		failed = append(failed, o.partError(part, err))
	}
	return errors.Join(failed...)
}

// Log returns the last n entries of the log, the latest first.
func (o *Operator) Log(ctx context.Context, n int) (list []LogEntry, err error) {
	last := strconv.Itoa(min(max(n, 1), maxLog) - 1)
	_, err = o.eachPart(func(part int) (func(), error) {
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		key := fleetKey(o.prefix, part, "log")
		rows, err := o.client.Do(ctx, o.client.B().Zrange().Key(key).Min("0").Max(last).Rev().Withscores().Build()).AsZScores()
		return func() {
			for _, r := range rows {
				_, text, _ := strings.Cut(r.Member, " ") // after the time, which makes each unique
				who, what, _ := strings.Cut(text, " ")
				list = append(list, LogEntry{At: timeAt(math.Floor(r.Score)), Who: robots.Printable(who), What: robots.Printable(what)})
			}
		}, err
	})
	slices.SortStableFunc(list, func(a, b LogEntry) int { return b.At.Compare(a.At) })
	return list[:min(len(list), max(n, 1))], err
}
