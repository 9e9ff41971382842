package redis

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// heartbeatEvery is how often a worker sends a heartbeat. It is a variable for the tests.
var heartbeatEvery = 5 * time.Second

// earlyHeartbeat is how often it does so while a server is unreachable, and at first.
const earlyHeartbeat = 500 * time.Millisecond

// workerTimeout is how long after its last heartbeat a worker is gone and its permits end.
func workerTimeout() time.Duration { return 3 * heartbeatEvery }

// A part is a range of slots with its own list of workers.
type part struct {
	answered atomic.Pointer[time.Time]            // when the last heartbeat that was answered was sent
	gone     atomic.Pointer[map[string]time.Time] // since when, by the id of the worker
}

// goneSince returns since when a worker is gone.
func (p *part) goneSince(worker string) (since time.Time, is bool) {
	if gone := p.gone.Load(); gone != nil {
		since, is = (*gone)[worker]
	}
	return since, is
}

// drainState is whether the worker is drained, and since when.
type drainState struct {
	drained bool
	at      int64 // Unix microseconds, by the operator's clock
}

func (d drainState) text() string {
	drained := 0
	if d.drained {
		drained = 1
	}
	return fmt.Sprintf("%d%016d", drained, d.at)
}

const drainSize = 17 // bytes of its text

func parseDrain(text string) (d drainState) {
	if len(text) >= drainSize {
		d.drained = text[0] == '1'
		d.at, _ = strconv.ParseInt(text[1:drainSize], 10, 64) // 0 if it is damaged
	}
	return d
}

// fleetKey returns the key of a part that is of the fleet: fleet, workers, log, held, or a worker's.
func fleetKey(prefix string, part int, name string) string {
	return prefix + ":{" + partTags[part] + "}:" + name
}

func workerKey(prefix string, part int, worker string) string {
	return fleetKey(prefix, part, "worker:"+hex.EncodeToString([]byte(worker)))
}

// join joins the fleet, if a server answers. The error is that the user lacks a right, or that
// an option is not the fleet's.
func (l *Limiter) join() error {
	if err := l.heartbeat(l.closing); err != nil && script.KindOf(err) == script.Refused {
		return err
	}
	if l.config.Load().text != "" {
		_ = l.heartbeat(l.closing) // so that all parts have it
	}
	return l.stopCause()
}

// heartbeat sends a heartbeat to all parts. The error is that of a part that did not answer.
func (l *Limiter) heartbeat(ctx context.Context) (failed error) {
	sent := clock()
	known, keep := l.config.Load(), l.settings().Lifetime
	about := l.about(sent)
	calls := make([]call, len(l.parts))
	for i := range l.parts {
		ago := -1.0
		if last := l.parts[i].answered.Load(); last != nil {
			ago = microsOf(between(*last, sent))
		}
		slot := 0
		if l.nodes.cluster() {
			slot = slotOf(partTags[i])
		}
		calls[i] = call{
			slot: slot,
			keys: []string{fleetKey(l.options.Prefix, i, "fleet"), fleetKey(l.options.Prefix, i, "workers"), workerKey(l.options.Prefix, i, string(l.worker[:]))},
			args: []string{string(l.worker[:]), string(appendDoubles(nil, microsUp(workerTimeout()), microsUp(keep), ago)), l.drain.Load().text(), about, known.text},
		}
	}
	best, drain, answered := known.text, *l.drain.Load(), false
	for i, r := range l.run(ctx, heartbeatScript, calls) {
		if r.err == nil {
			r.err = l.parts[i].note(r, &best, &drain)
		}
		if answered = answered || r.err == nil; r.err != nil {
			failed = r.err
			l.goDown(r.err)
		}
	}
	if failed == nil {
		l.goUp()
	}
	if answered && best == "" { // this is the first worker
		c := newConfig(l.options.Options)
		best = c.text()
	}
	l.adopt(best, drain)
	return failed
}

// note notes the reply to a heartbeat.
func (p *part) note(r reply, best *string, drain *drainState) error {
	var workers, size micros
	rest, ok := readDoubles(r.text, &workers, &size)
	if !ok || len(rest) < drainSize+int(size) {
		return script.ErrReply
	}
	if d := parseDrain(rest); d.at > drain.at {
		*drain = d
	}
	rest = rest[drainSize:]
	*best = max(*best, rest[:int(size)])
	gone := map[string]time.Time{}
	for rest = rest[int(size):]; len(rest) >= 13; {
		var late micros
		worker := rest[:5]
		rest, _ = readDoubles(rest[5:], &late)
		gone[worker] = r.received.Add(-time.Duration(late * 1e3))
	}
	p.gone.Store(&gone)
	p.answered.Store(&r.sent)
	return nil
}

// adopt takes over what the fleet knows.
func (l *Limiter) adopt(text string, drain drainState) {
	before := l.stopCause()
	if text != "" && text != l.config.Load().text {
		c, err := parseConfig(text)
		var settings pace.Options
		if err == nil {
			settings, err = c.apply(l.options.Options, l.options.asked)
		}
		if l.refused.Store(nil); err != nil {
			l.refused.Store(&err)
			settings = *l.settings()
		}
		l.config.Store(&config{c, text, settings})
	}
	l.drain.Store(&drain)
	after := l.stopCause()
	switch {
	case before == nil && after != nil:
		err := after
		if after == ErrDrained { //nolint:errorlint // it is that of stopCause itself
			err = nil
		}
		l.observe(pace.Event{Kind: pace.EventDrained, Err: err})
		l.wakeAll()
	case before != nil && after == nil:
		l.observe(pace.Event{Kind: pace.EventResumed})
	}
}

// wakeAll wakes the first callers of all queues.
func (l *Limiter) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.queues {
		for _, wake := range q {
			notify(wake)
		}
	}
}

// about returns what this worker reports with a heartbeat: its permits per second, how many parts
// did not answer the last one, and its name.
func (l *Limiter) about(now time.Time) string {
	away := 0
	for i := range l.parts {
		if last := l.parts[i].answered.Load(); last == nil || between(*last, now) > 2*heartbeatEvery {
			away++
		}
	}
	acquired, rate := l.acquired.Load(), 0.0
	if took := between(l.counted, now); !l.counted.IsZero() && took > 0 {
		rate = float64(acquired-l.counter) / took.Seconds()
	}
	l.counter, l.counted = acquired, now
	return aboutText(rate, away, l.options.name())
}

func aboutText(rate float64, away int, name string) string {
	return strconv.FormatFloat(rate, 'f', 3, 64) + " " + strconv.Itoa(away) + " " + name
}

func parseAbout(text string) (rate float64, away int, name string) {
	first, rest, _ := strings.Cut(text, " ")
	second, name, _ := strings.Cut(rest, " ")
	rate, _ = strconv.ParseFloat(first, 64) // these two are 0 for a damaged value
	away, _ = strconv.Atoi(second)
	return rate, away, name
}

// left is the number of parts in the last report of a worker that was closed.
const left = -1

// leaveFleet reports that the worker was closed.
func (l *Limiter) leaveFleet(ctx context.Context) {
	for i := range l.parts {
		key := workerKey(l.options.Prefix, i, string(l.worker[:]))
		text := l.drain.Load().text() + aboutText(0, left, l.options.name())
		_ = l.client.Do(ctx, l.client.B().Set().Key(key).Value(text).Px(workerTimeout()+l.settings().Lifetime).Build()).Error()
	}
}
