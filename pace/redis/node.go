package redis

import (
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/script"
)

//go:embed *.lua
var luaFiles embed.FS

const (
	allowOOM = " flags=allow-oom"
	server   = "local server = server_id()\n"
	// Releases are as many as permits, and need not know the server.
	serverOfRelease = "local server = ARGV[2] and server_id()\n"
)

var (
	acquireScript   = newScript("", server, "state.lua", "acquire.lua")
	addressScript   = newScript("", server, "state.lua", "address.lua")
	releaseScript   = newScript(allowOOM, serverOfRelease, "state.lua", "release.lua")
	showScript      = newScript(" flags=no-writes", server, "state.lua", "show.lua")
	heartbeatScript = newScript(allowOOM, server, "heartbeat.lua")
	logScript       = newScript(allowOOM, server, "log.lua")
)

// newScript returns a script of head.lua, a line, and further files.
func newScript(flags, line string, files ...string) *script.Script {
	return &script.Script{Text: func() string {
		text := "#!lua" + flags + "\n" + luaFile("head.lua") + line
		for _, name := range files {
			text += luaFile(name)
		}
		return text
	}}
}

func luaFile(name string) string {
	text, _ := luaFiles.ReadFile(name) // which is embedded
	return string(text)
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
	id      string       // the beginning of its replication id
	retryAt atomic.Int64 // Unix nanoseconds, before which no call is made as one has failed

	mu     sync.Mutex
	anchor reading // of its clock, zero for none
	// The last step forward of the clock: when it was noticed, and the sum of all steps.
	noticed, step micros
}

const (
	// clockSlack is by how much a server's clock may be ahead of this machine's before it counts
	// as a step, with a thousandth of the time since the anchor: clocks drift and are slewed.
	clockSlack = 2 * time.Millisecond
	// anchorFor is for how long an anchor stays, so that many small steps add up.
	anchorFor = 5 * time.Second
	// startable is for how long after the server has confirmed a permit its request may start
	// without asking again. A server that lost its memory counts all sites as requested so much
	// later: the permits that it has lost have started then.
	startable = 50 * time.Millisecond
)

// observe notes a reading of the node's clock, and reports whether it was set forward.
func (n *node) observe(r reading) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.anchor
	step, back := r.step(old), r.ahead(old)
	switch {
	case old.now == 0:
	case step > 0:
		n.noticed, n.step = r.now, n.step+step
	case back < -microsOf(clockSlack): // it was set back
		n.step = max(n.step+back, 0)
		n.noticed = min(n.noticed, r.now)
	case back >= 0 && between(old.sent, r.received) < anchorFor:
		return false
	}
	n.anchor = r
	return step > 0
}

// ahead returns the time that passed on the server's clock since an earlier reading, less the
// most that passed here.
func (r reading) ahead(old reading) micros {
	return r.now - old.now - microsOf(between(old.sent, r.sent))
}

// step returns the most by which the server's clock was set forward since an earlier reading,
// 0 if that cannot be told from drift and the time of the calls.
func (r reading) step(old reading) micros {
	elapsed := between(old.sent, r.received)
	if old.now == 0 || r.now <= old.now+microsOf(elapsed+clockSlack+elapsed/1000) {
		return 0
	}
	return math.Ceil(max(r.ahead(old), r.now-old.now-microsOf(r.sent.Sub(old.received))))
}

// noServer is the id of no server.
const noServer = "\x00\x00\x00\x00\x00\x00\x00\x00"

// head returns what state.lua reads; n is nil for an unknown server.
func (ns *nodes) head(n *node) []byte {
	id, noticed, step := noServer, 0.0, 0.0
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		id, noticed, step = n.id, n.noticed, n.step
	}
	return appendDoubles([]byte(id), noticed, step, microsOf(startable), microsUp(ns.backOff))
}

// estimate returns the time of the node's clock, this machine's if it is unknown.
func (n *node) estimate() time.Time {
	now := clock()
	if n == nil {
		return now
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return timeAt(n.anchor.now + microsOf(now.Sub(n.anchor.sent)))
}

func (n *node) stepped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.step > 0
}

// nodes are the servers of a client.
type nodes struct {
	client  rueidis.Client
	prefix  string        // of keys
	backOff time.Duration // how long after the last overload a back-off is deleted

	bySlot []atomic.Pointer[node] // of one server a single element

	mu   sync.Mutex
	byID map[string]*node
}

func newNodes(client rueidis.Client, prefix string, backOff time.Duration) *nodes {
	n := 1
	if client.Mode() == rueidis.ClientModeCluster {
		n = slots
	}
	return &nodes{client: client, prefix: prefix, backOff: backOff, bySlot: make([]atomic.Pointer[node], n), byID: map[string]*node{}}
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

// maxNodes bounds the nodes that are remembered: each restart of a server makes a new one.
const maxNodes = 1000

// answered notes which node has answered for a slot, and reports whether it is another one
// than before.
func (ns *nodes) answered(slot int, id string) (n *node, changed bool) {
	before := ns.node(slot)
	if before != nil && before.id == id {
		return before, false
	}
	ns.mu.Lock()
	defer ns.mu.Unlock()
	n = ns.byID[id]
	if n == nil {
		if len(ns.byID) >= maxNodes {
			clear(ns.byID)
		}
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
	stepped bool // its clock was set forward, which the call did not know
	text    string
	err     error
}

// A call is a run of a script on the server of a slot.
type call struct {
	slot int
	keys []string
	args []string
}

// call returns a call about an origin or an address. What state.lua reads is completed by more, and
// followed by further arguments.
func (ns *nodes) call(of string, more []byte, further ...string) call {
	slot := ns.slot(of)
	arg := append(ns.head(ns.node(slot)), more...)
	return call{slot, []string{ns.stateKey(of)}, append([]string{string(arg)}, further...)}
}

// errNotAsked is the error of calls that are not made, since an earlier one has failed.
var errNotAsked = errors.New("the server did not answer a moment ago")

// run runs a script, in one pipeline for each server. A server that does not answer is not
// asked again for half a second, and neither are its other keys.
func (ns *nodes) run(ctx context.Context, s *script.Script, calls []call) []reply {
	replies, sent := make([]reply, len(calls)), clock()
	var open []int
	var out []script.Call
	for i, c := range calls {
		if n := ns.node(c.slot); n != nil && n.retryAt.Load() > sent.UnixNano() {
			replies[i].err = errNotAsked
			continue
		}
		open, out = append(open, i), append(out, script.Call{Keys: c.keys, Args: c.args})
	}
	if len(open) == 0 {
		return replies
	}
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	results := s.RunAll(limited, ns.client, out)
	received := clock()
	for k, i := range open {
		r, slot := &replies[i], calls[i].slot
		text, err := results[k].ToString()
		if err == nil && len(text) < 16 {
			err = script.ErrReply
		}
		if err != nil {
			r.err = err
			// A caller that gives up proves nothing about the server.
			if n := ns.node(slot); n != nil && unanswered(err) && ctx.Err() == nil {
				n.retryAt.Store(received.Add(jittered(retryEvery)).UnixNano())
			}
			continue
		}
		r.sent, r.received = sent, received
		text, _ = readDoubles(text, &r.now)
		if r.text = text[8:]; text[:8] == noServer {
			continue
		}
		unknown := ns.node(slot)
		r.node, r.changed = ns.answered(slot, text[:8])
		r.stepped = r.node.observe(r.reading) || unknown != r.node && r.node.stepped()
	}
	return replies
}

// unanswered reports whether an error means that a server does not answer.
func unanswered(err error) bool {
	kind := script.KindOf(err)
	return kind == script.Lost || kind == script.Down
}

// micros is a time of the server's clock or a duration, in microseconds. Scripts
// count in doubles, which are exact until the year 2255.
type micros = float64

func microsOf(d time.Duration) micros { return float64(d) / 1e3 }

// microsUp returns a duration rounded up.
func microsUp(d time.Duration) micros { return math.Ceil(microsOf(d)) }

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
