package redis

import (
	"context"
	"embed"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/script"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	acquireScript   = newScript("acquire.lua")
	addressScript   = newScript("address.lua")
	releaseScript   = newScript("release.lua")
	showScript      = newScript("show.lua")
	heartbeatScript = newScript("heartbeat.lua")
	logScript       = newScript("log.lua")
)

func newScript(name string) *script.Script {
	return &script.Script{Text: func() string { return luaText(name) }}
}

// luaText returns the text of a file, with that of the files that it includes.
func luaText(name string) string {
	file, _ := luaFiles.ReadFile(name) // which is embedded
	var text strings.Builder
	for line := range strings.Lines(string(file)) {
		if included, is := strings.CutPrefix(strings.TrimSpace(line), "--> "); is {
			line = luaText(included)
		}
		text.WriteString(line)
	}
	return text.String()
}

// callLimit bounds one call of the server.
const callLimit = time.Second

// slots is the number of hash slots of a cluster, and parts the number of parts in which the
// workers are listed, each in an equal range of slots: a cluster with up to as many primaries of
// equal size has one part on each. One server has one part.
const (
	slots = 16384
	parts = 8
)

// partTags are hash tags in the slots of each part.
var partTags = [parts]string{"part315", "part135", "part65", "part398", "part525", "part243", "part423", "part603"}

// stateKey returns the key of an origin or an address.
func (ns *nodes) stateKey(of string) string { return ns.prefix + ":{" + of + "}:pace" }

// A node is a server since its last restart or failover.
type node struct {
	id     string                  // the beginning of its replication id
	failed atomic.Pointer[failure] // the last call that it did not answer

	mu          sync.Mutex
	anchor      reading       // of its clock, zero for none
	pendingRise micros        // by how much anchors showed more than those before, which might be part of a step
	fastestTrip time.Duration // of the fastest call
	steps       []clockSteps  // of its clock forward, the oldest first
}

// clockSteps are one or more steps of a server's clock forward: the times at which the first and the
// last were noticed, and their sum.
type clockSteps struct {
	first, last, sum micros
}

// A failure is a call without an answer.
type failure struct {
	err     error
	retryAt time.Time // before which no further call is made
}

const (
	// anchorFor is for how long an anchor stays, so that many small steps add up. Until then a
	// clock that is slewed might be ahead by clockSlack, and what is more counts as a step.
	anchorFor  = 5 * time.Second
	clockSlack = anchorFor / 1000
	// startable is for how long after the server has confirmed a permit its request may start
	// without another call, unless Config.Startable is longer. A server that lost its memory counts
	// all sites as requested so much later: the permits that it has lost have started then.
	startable = 50 * time.Millisecond
)

// stepPrecision is how exactly the time of a step is known: to this part of its age. So a clock that
// is slewed for long has some hundred entries.
const stepPrecision = 4

// joinSteps joins steps that are close to each other for their age. A value that was written
// between joined steps counts as later by all of them.
func joinSteps(steps []clockSteps, now micros) []clockSteps {
	var joined []clockSteps // the latest first
	for _, s := range slices.Backward(steps) {
		if n := len(joined); n > 0 && joined[n-1].last-s.first <= (now-joined[n-1].last)/stepPrecision {
			joined[n-1].first = s.first
			joined[n-1].sum += s.sum
		} else {
			joined = append(joined, s)
		}
	}
	slices.Reverse(joined)
	return joined
}

// earliestNow returns the earliest time that the node's clock shows at a time of this machine, unless it
// was set back.
func (n *node) earliestNow(at time.Time) micros {
	return n.anchor.now + microsOf(at.Sub(n.anchor.received))
}

// expected returns the time of the node's clock at which a call that is sent at a time of this machine
// runs, unless the clock was set or the call is slow.
func (n *node) expected(sent time.Time) micros {
	return n.earliestNow(sent) - n.pendingRise + microsOf(n.fastestTrip)
}

// observe notes a reading of the node's clock. A step that a slow call hides stays ahead of the
// anchor until a faster call shows it, and until then clock_shift.lua counts it in each call.
func (n *node) observe(r reading) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if trip := r.received.Sub(r.sent); n.fastestTrip == 0 || trip < n.fastestTrip {
		n.fastestTrip = trip
	}
	switch rise := r.now - n.earliestNow(r.received); {
	case r.sent.Before(n.anchor.received): // it might be older
	case n.anchor.now == 0 || r.now < n.earliestNow(r.sent): // the clock was set back, or runs slower
		n.anchor = r
		n.pendingRise = 0
		n.anchor.received = r.sent.Add(n.fastestTrip)
		for i := range n.steps {
			s := &n.steps[i]
			s.first = min(s.first, r.now)
			s.last = min(s.last, r.now)
		}
	case rise > microsOf(clockSlack):
		n.anchor = r
		// What a slow call hides counts at once, and later calls might show it again.
		hidden := microsOf(r.received.Sub(r.sent) - n.fastestTrip)
		n.steps = append(n.steps, clockSteps{r.now, r.now, math.Ceil(n.pendingRise + rise + hidden)})
		n.pendingRise = 0
	case rise >= 0 && r.sent.Sub(n.anchor.sent) >= anchorFor:
		n.anchor = r
		n.pendingRise = rise
	case rise >= 0 && rise <= microsOf(n.anchor.received.Sub(n.anchor.sent)-n.fastestTrip): // a faster call
		n.anchor = r
		n.pendingRise += rise
	}
	if len(n.steps) > 1 {
		n.steps = joinSteps(n.steps, r.now)
	}
}

// noServer is the id of no server.
const noServer = "\x00\x00\x00\x00\x00\x00\x00\x00"

// stateArguments returns the arguments that arguments.lua reads, and the time of the server as far as it is
// known. n is nil for an unknown server.
func (ns *nodes) stateArguments(n *node) (head []byte, at time.Time) {
	now := clock()
	id := noServer
	expected := microsAt(now)
	var steps []clockSteps
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		id = n.id
		expected = n.expected(now)
		steps = n.steps
	}
	head = appendDoubles([]byte(id), expected, microsOf(ns.startableFor()), microsCeil(ns.maxBackOff))
	head = binary.LittleEndian.AppendUint16(head, uint16(len(steps)))
	for _, s := range steps {
		head = appendDoubles(head, s.last, s.sum)
	}
	return head, timeAt(expected)
}

// nodes are the servers of a client.
type nodes struct {
	client     rueidis.Client
	prefix     string        // of keys
	maxBackOff time.Duration // how long after the last overload a back-off is deleted

	configStartable atomic.Int64 // Config.Startable

	bySlot []atomic.Pointer[node] // of one server a single element

	mu   sync.Mutex
	byID map[string]*node // each restart of a server adds one
}

func newNodes(client rueidis.Client, prefix string, maxBackOff time.Duration) *nodes {
	n := 1
	if client.Mode() == rueidis.ClientModeCluster {
		n = slots
	}
	return &nodes{
		client: client, prefix: prefix, maxBackOff: maxBackOff,
		bySlot: make([]atomic.Pointer[node], n), byID: map[string]*node{},
	}
}

// startableFor returns for how long a permit is startable in this fleet.
func (ns *nodes) startableFor() time.Duration {
	return max(startable, time.Duration(ns.configStartable.Load()))
}

func (ns *nodes) cluster() bool { return len(ns.bySlot) > 1 }

// parts returns the number of parts.
func (ns *nodes) parts() int { return min(len(ns.bySlot), parts) }

// slot returns the slot of a hash tag, such as an origin or an address.
func (ns *nodes) slot(tag string) int {
	if !ns.cluster() {
		return 0
	}
	command := ns.client.B().Get().Key(ns.stateKey(tag)).Build()
	return int(command.Slot())
}

func (ns *nodes) part(slot int) int { return slot * parts / slots }

// node returns the node that answered last for a slot, nil if it is unknown.
func (ns *nodes) node(slot int) *node { return ns.bySlot[slot].Load() }

// noteAnswer records which node has answered for a slot, and reports whether the slot had another
// node before.
func (ns *nodes) noteAnswer(slot int, id string) (n *node, changed bool) {
	before := ns.node(slot)
	if before != nil && before.id == id {
		return before, false
	}
	ns.mu.Lock()
	defer ns.mu.Unlock()
	n = ns.byID[id]
	if n == nil {
		n = &node{id: id}
		ns.byID[id] = n
	}
	ns.bySlot[slot].Store(n)
	return n, before != nil
}

// A reply is that of a script.
type reply struct {
	reading
	node    *node
	changed bool // another node than before has answered
	unsent  bool // the call was not made, since an earlier one has failed
	text    string
	err     error
}

// A call is a run of a script on the server of a slot.
type call struct {
	slot int
	keys []string
	args []string
}

// call returns a call about an origin or an address. What arguments.lua reads is completed by more, and
// followed by further arguments.
func (ns *nodes) call(of string, more []byte, further ...string) call {
	slot := ns.slot(of)
	head, _ := ns.stateArguments(ns.node(slot))
	return call{slot, []string{ns.stateKey(of)}, append([]string{string(head) + string(more)}, further...)}
}

// run runs a script, in one pipeline for each server. A server that does not answer is not
// called again for half a second, for its other keys neither.
func (ns *nodes) run(ctx context.Context, s *script.Script, calls []call) []reply {
	replies := make([]reply, len(calls))
	sent := clock()
	var open []int
	var out []script.Call
	for i, c := range calls {
		if n := ns.node(c.slot); n != nil {
			if f := n.failed.Load(); f != nil && sent.Before(f.retryAt) {
				replies[i].err = f.err
				replies[i].unsent = true
				continue
			}
		}
		open = append(open, i)
		out = append(out, script.Call{Keys: c.keys, Args: c.args})
	}
	if len(open) == 0 {
		return replies
	}
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	results := s.RunAll(limited, ns.client, out)
	received := clock()
	for k, i := range open {
		r := &replies[i]
		slot := calls[i].slot
		text, err := results[k].ToString()
		if err == nil && len(text) < 16 {
			err = script.ErrReply
		}
		if err != nil {
			r.err = err
			// A caller that gives up proves nothing about the server.
			if n := ns.node(slot); n != nil && isUnanswered(err) && ctx.Err() == nil {
				n.failed.Store(&failure{err, received.Add(jittered(retryEvery))})
			}
			continue
		}
		r.sent = sent
		r.received = received
		text, _ = readDoubles(text, &r.now)
		r.text = text[8:]
		if text[:8] == noServer {
			continue
		}
		r.node, r.changed = ns.noteAnswer(slot, text[:8])
		r.node.observe(r.reading)
	}
	return replies
}

// isUnanswered reports whether an error means that a server answers no call at present.
func isUnanswered(err error) bool {
	kind := script.KindOf(err)
	return kind == script.Lost || kind == script.Down
}

// micros is a time of the server's clock or a duration, in microseconds. Scripts
// count in doubles, which are exact until the year 2255.
type micros = float64

func microsOf(d time.Duration) micros { return float64(d) / 1e3 }

// microsCeil returns a duration rounded up.
func microsCeil(d time.Duration) micros { return math.Ceil(microsOf(d)) }

func microsAt(t time.Time) micros { return float64(t.UnixMicro()) }

// timeAt returns a time of the server, the zero time for never.
func timeAt(m micros) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

func appendDoubles(b []byte, values ...micros) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// readDoubles reads doubles off a reply and reports whether there are as many.
func readDoubles(reply string, values ...*micros) (rest string, ok bool) {
	if len(reply) < 8*len(values) {
		return reply, false
	}
	for _, v := range values {
		*v = math.Float64frombits(binary.LittleEndian.Uint64([]byte(reply[:8])))
		reply = reply[8:]
	}
	return reply, true
}

func clock() time.Time { return time.Now() }

// between returns the time from one instant to another, by the clock that shows more: while a
// machine is suspended the monotonic clock might stand still, and the other might be set.
func between(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// passed returns how long ago a time was.
func passed(t time.Time) time.Duration { return between(t, clock()) }

// A reading is the time of a server's clock between two times of this machine.
type reading struct {
	now            micros
	sent, received time.Time
}

// clocksAgree is the smallest difference of two clocks that counts.
const clocksAgree = time.Millisecond

// local returns a time of the server on this machine's clock, with a monotonic reading, so that a
// clock that is set changes no sleep. It is the same time where the clocks agree, so that a window
// opens on the minute, and else late by the time of the reply.
func (r reading) local(t time.Time) time.Time {
	now := timeAt(r.now)
	switch {
	case t.IsZero():
		return t
	case now.Before(r.sent.Add(-clocksAgree)) || now.After(r.received.Add(clocksAgree)):
		return r.received.Add(t.Sub(now))
	}
	return r.received.Add(t.Sub(r.received))
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
