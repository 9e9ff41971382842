package redis

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/internal/queue"
)

// heartbeatEvery is how often a worker sends a heartbeat.
const heartbeatEvery = 5 * time.Second

// earlyHeartbeat is how often it does so while a server is unreachable, and at first.
const earlyHeartbeat = 500 * time.Millisecond

// workerTimeout is how long after its last heartbeat a worker is gone and its permits end.
func (o Options) workerTimeout() time.Duration { return 3 * o.heartbeat }

// A part is a range of slots with its own list of workers.
type part struct {
	answered atomic.Pointer[time.Time] // when the last heartbeat that was answered was sent
	gone     atomic.Pointer[goneWorkers]
}

// goneWorkers are those that are gone, each with 5 bytes and a double, for how long.
type goneWorkers struct {
	list string
	at   time.Time // when that was so
}

// ago returns how long ago the last heartbeat that was answered was sent.
func (p *part) ago(now time.Time) (ago time.Duration, answered bool) {
	if last := p.answered.Load(); last != nil {
		return between(*last, now), true
	}
	return -time.Second, false
}

// fleetKey returns the key of a part that is of the fleet: fleet, workers, log, or a worker's.
func (ns *nodes) fleetKey(part int, name string) string {
	return ns.prefix + ":{" + partTags[part] + "}:" + name
}

// channel returns the channel on which heartbeat.lua publishes the configuration.
func (ns *nodes) channel() string { return ns.prefix + ":fleet" }

func (ns *nodes) workerKey(part int, worker string) string {
	return ns.fleetKey(part, "worker:"+hex.EncodeToString([]byte(worker)))
}

// join joins the fleet, if a server answers. The error is that the user lacks a right, or that
// an option is not the fleet's.
func (l *Limiter) join() error {
	if err := l.heartbeat(l.closing); err != nil && (script.Denied(err) || script.KindOf(err) == script.Refused) {
		return err
	}
	if l.config.Load().text != "" {
		_ = l.heartbeat(l.closing) // so that all parts have it
	}
	return l.config.Load().stop
}

// heartbeat sends a heartbeat to all parts. The error is that of a part that did not answer.
func (l *Limiter) heartbeat(ctx context.Context) (failed error) {
	sent := clock()
	best := l.config.Load().text
	keep := l.settings().Lifetime
	about := l.workerReport(sent)
	calls := make([]call, len(l.parts))
	for i := range l.parts {
		ago, _ := l.parts[i].ago(sent)
		calls[i] = l.nodes.configCall(i, best)
		calls[i].keys = append(calls[i].keys, l.nodes.fleetKey(i, "workers"), l.nodes.workerKey(i, string(l.worker[:])))
		calls[i].args = append(
			calls[i].args, string(l.worker[:]),
			string(appendDoubles(nil, microsCeil(l.options.workerTimeout()), microsCeil(keep), microsOf(ago))), about,
		)
	}
	// While the process stood still other workers might have ended its permits.
	silent, known := l.parts[0].ago(sent)
	answered := false
	for i, r := range l.run(ctx, heartbeatScript, calls) {
		text, gone, err := r.config()
		if err != nil {
			failed = err
			l.setDown(err)
			continue
		}
		best = max(best, text)
		answered = true
		l.parts[i].gone.Store(&goneWorkers{gone, r.received})
		l.parts[i].answered.Store(&r.sent)
	}
	if failed == nil {
		if known && silent > l.options.workerTimeout() && l.DownSince().IsZero() {
			l.options.Observe(pace.Event{Kind: pace.EventReplaced})
		}
		l.setUp()
	}
	if answered {
		l.adopt(best)
	}
	return failed
}

// configCall returns a call of heartbeat.lua that passes on a configuration in a part.
func (ns *nodes) configCall(part int, text string) call {
	return call{ns.slot(partTags[part]), []string{ns.fleetKey(part, "fleet")}, []string{text}}
}

// config returns the configuration in the reply of heartbeat.lua, and what follows it.
func (r *reply) config() (text, rest string, err error) {
	var size micros
	rest, ok := readDoubles(r.text, &size)
	switch {
	case r.err != nil:
		return "", "", r.err
	case !ok || len(rest) < int(size):
		return "", "", script.ErrReply
	}
	return rest[:int(size)], rest[int(size):], nil
}

// listen adopts each change of the configuration at once. One that is made while the connection is
// lost comes with the next heartbeat.
func (l *Limiter) listen() {
	for l.closing.Err() == nil {
		_ = l.client.Receive(
			l.closing, l.client.B().Subscribe().Channel(l.nodes.channel()).Build(), func(m rueidis.PubSubMessage) { l.adopt(m.Message) },
		)
		_ = queue.Sleep(l.closing, jittered(retryEvery), nil)
	}
}

// adopt applies a configuration of the fleet, unless a later one is known.
func (l *Limiter) adopt(text string) {
	l.adopting.Lock()
	defer l.adopting.Unlock()
	before := l.config.Load()
	if before.text != "" && text <= before.text {
		return
	}
	after := l.configOf(text)
	now := clock()
	l.config.Store(after)
	l.nodes.configStartable.Store(int64(after.Startable))
	switch {
	case before.stop == nil && after.stop != nil:
		e := pace.Event{Kind: pace.EventDrained, Err: after.stop}
		if e.Err == ErrDrained { //nolint:errorlint // it is that of configOf itself
			e.Err = nil
		}
		l.options.Observe(e)
	case before.stop != nil && after.stop == nil:
		l.options.Observe(pace.Event{Kind: pace.EventResumed})
	}
	l.queues.WakeAll(func(o robots.Origin) bool {
		return after.stop != nil || !after.heldUntil(o, now).Equal(before.heldUntil(o, now))
	})
}

// workerReport is what a worker reports with a heartbeat.
type workerReport struct {
	Name string
	Rate float64 // permits per second, since the last one
	Away int     // how many parts did not answer it
	Left bool    // the worker was closed
}

func (l *Limiter) workerReport(now time.Time) string {
	a := workerReport{Name: l.options.name(), Left: l.closing.Err() != nil}
	for i := range l.parts {
		if ago, answered := l.parts[i].ago(now); !answered || ago > 2*l.options.heartbeat {
			a.Away++
		}
	}
	acquired := l.acquired.Swap(0)
	if took := between(l.lastReport, now); !l.lastReport.IsZero() && took > 0 {
		a.Rate = float64(acquired) / took.Seconds()
	}
	l.lastReport = now
	text, _ := json.Marshal(a) // which has nothing that cannot be encoded
	return string(text)
}
