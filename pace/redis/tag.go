package redis

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/script"
)

// tags is in how many tags the keys of a fleet are. Each lies in one slot of a cluster, so
// that a script can reach all of it. More would undo batches of decisions, and each costs a
// cluster the text of its scripts.
const tags = 256

// A tag is one part of the state, which a script can reach, and to the limiter what a server
// is: it has an epoch of its memory, a clock, and outages of its own. Nothing holds over two
// tags, and no time of one is compared with that of another. In a cluster it has the keys
// with that hash tag; on one server, where a script reaches all keys, one tag has them all.
type tag struct {
	l        *Limiter
	epochKey string

	clock   serverClock
	joining sync.Mutex
	epoch   atomic.Pointer[epoch]
	ended   atomic.Uint64 // so many grants of the worker are from before the epoch

	outage     atomic.Pointer[outage] // nil while its server answers
	lastOutage atomic.Pointer[outage] // the last one that is over
	localUntil atomic.Int64           // until when, in Unix nanoseconds, the own limiter counts too
}

// newTags returns the tags of the server or the cluster.
func (l *Limiter) newTags() []tag {
	n := 1
	if l.client.Mode() == rueidis.ClientModeCluster {
		n = tags
	}
	list := make([]tag, n)
	for i := range list {
		list[i].l, list[i].epochKey = l, tagHead(l.options.Prefix, i)+"epoch"
	}
	return list
}

// tagHead returns what the keys of a tag begin with.
func tagHead(prefix string, n int) string {
	return "{" + prefix + ":" + strconv.Itoa(n) + "}:" + version
}

// tagOf returns the tag of an origin or an address.
func (l *Limiter) tagOf(name string) *tag { return &l.tags[tagNumber(name)%len(l.tags)] }

// key returns a key of an origin or an address: kind is origin, site or address.
func (l *Limiter) key(kind, name string) string { return stateKey(l.options.Prefix, kind, name) }

func stateKey(prefix, kind, name string) string {
	return tagHead(prefix, tagNumber(name)) + kind + ":" + name
}

// tagNumber returns in which tag that is: the FNV-1a hash of its text in 32 bits, modulo their
// number.
func tagNumber(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int(h % tags)
}

// A reply is what a server says to a step of a tag: its clock, and the answers.
type reply struct {
	reading
	answers string
}

// step runs a script of an epoch over keys of the tag. The answers are not usable, and the
// step is to be made again, where the tag turns out to be in another epoch, its clock was
// set forward, or this process was stopped meanwhile: what was granted is then given back.
func (t *tag) step(ctx context.Context, e *epoch, s *script.Script, keys []string, arg []byte) (r reply, usable bool, err error) {
	keys = append([]string{t.epochKey}, keys...)
	args := []string{string(arg)}
	r.sent = clock()
	text, err := t.l.call(ctx, (*script.Script).ByName, s, keys, args)
	if script.Says(err, "NOSCRIPT") {
		known, asking := t.knows(ctx, e)
		switch {
		case asking != nil:
			return r, false, asking
		case !known:
			// The server never saw this epoch begin: it was restarted, or it is another one.
			return r, false, t.join(ctx, e, true)
		}
		r.sent = clock()
		text, err = t.l.call(ctx, (*script.Script).ByText, s, keys, args) // which the server knows from now on
	}
	r.received = clock()
	if err != nil {
		return r, false, err
	}
	var ok bool
	if r.answers, ok = readDoubles(text, &r.now); !ok {
		return r, false, script.ErrReply
	}
	by := e
	if r.answers == "" {
		by = nil
	}
	plausible := t.clock.observe(by, r.now, r.sent, r.received)
	switch {
	case !plausible: // a start would come too early
		return r, false, t.join(ctx, e, true)
	case by == nil:
		return r, false, t.join(ctx, e, false)
	}
	return r, passed(r.sent) <= callLimit && t.epoch.Load() == e, nil
}

// current returns the epoch of the tag. The first call joins it.
func (t *tag) current(ctx context.Context) (*epoch, error) {
	if e := t.epoch.Load(); e != nil {
		return e, nil
	}
	err := t.join(ctx, nil, false)
	return t.epoch.Load(), err
}

// callLimit is how long one call may take before the tag counts as down.
const callLimit = time.Second

// retryEvery is after how long a call is made again that the server cannot answer while the
// tag moves to another node.
const retryEvery = 10 * time.Millisecond

// runner is a way to run a script, such as *script.Script.Run.
type runner func(s *script.Script, ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult

// call runs a script in a way.
func (l *Limiter) call(ctx context.Context, run runner, s *script.Script, keys, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	for {
		reply, err := run(s, ctx, l.client, keys, args).ToString()
		if !script.Says(err, "TRYAGAIN", "CLUSTERDOWN") || l.sleep(ctx, retryEvery, nil) != nil || l.closing.Err() != nil {
			return reply, err
		}
	}
}
