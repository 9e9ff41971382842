package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/internal/queue"
)

// A release is the end of a permit with the result of its request.
type release struct {
	origin robots.Origin
	id     permitID // zero for a fetch of robots.txt
	result pace.Result
	ended  time.Time
	again  bool // it was sent before
}

// What release.lua knows of a result.
const (
	resultNone = iota
	resultOverload
	resultUsual
	resultUnused

	resultAgain  = 4 // is added: the server might have noted the result already
	resultForget = 8 // Retry-After and back-off are deleted
)

// appendTo encodes a release for release.lua.
func (r release) appendTo(b []byte, maxRetryAfter time.Duration) []byte {
	result := byte(resultNone)
	switch {
	case r.result.Unused:
		result = resultUnused
	case r.result.Overload():
		result = resultOverload
	case r.result.Recovered():
		result = resultUsual
	}
	if r.again {
		result += resultAgain
	}
	b = appendDoubles(append(b, r.id[:]...), microsUp(passed(r.ended)), microsUp(min(r.result.RetryAfter, maxRetryAfter)))
	return append(b, result)
}

// Release ends a permit. While the server is unreachable the release is queued, the latest
// 4096 of them; that is no error.
func (l *Limiter) Release(ctx context.Context, p pace.Permit, r pace.Result) error {
	if !p.OK() {
		return nil
	}
	id, err := parseID(p.ID)
	if err != nil {
		return err
	}
	l.dropHeld(p.ID)
	err = l.send(context.WithoutCancel(ctx), release{origin: p.Origin, id: id, result: r, ended: clock()})
	if l.closing.Err() == nil {
		err = nil // it is queued
	}
	l.released(p, r, err)
	return err
}

func (l *Limiter) released(p pace.Permit, r pace.Result, err error) {
	kind := pace.EventReleased
	if err != nil {
		kind = pace.EventUnreleased
	}
	l.observe(pace.Event{Kind: kind, Origin: p.Origin, Result: r, Err: err})
	if r.Unused {
		l.queues.Wake(p.Origin)
	}
}

// releaseDone releases the permits that Try gets.
func (l *Limiter) releaseDone(ctx context.Context, rs []pace.Request) {
	var list []release
	for i := range rs {
		if id, err := parseID(rs[i].Done.ID); err == nil {
			l.dropHeld(rs[i].Done.ID)
			list = append(list, release{origin: rs[i].Done.Origin, id: id, result: rs[i].Result, ended: clock()})
		}
	}
	if len(list) == 0 {
		return
	}
	_ = l.send(context.WithoutCancel(ctx), list...)
	for i := range rs {
		if rs[i].Done.OK() {
			l.released(rs[i].Done, rs[i].Result, nil)
		}
	}
}

// unused releases a permit that its caller does not get.
func (l *Limiter) unused(p pace.Permit) {
	if id, err := parseID(p.ID); err == nil {
		l.dropHeld(p.ID)
		_ = l.send(context.WithoutCancel(l.closing), release{origin: p.Origin, id: id, result: pace.Result{Unused: true}, ended: clock()})
		l.queues.Wake(p.Origin)
	}
}

// send sends releases, and queues those that cannot be sent. It returns the last error.
func (l *Limiter) send(ctx context.Context, list ...release) (failed error) {
	settings := l.settings()
	size := maxBatch
	if l.nodes.cluster() {
		size = 1
	}
	var calls []call
	batches := slices.Collect(slices.Chunk(list, size))
	for _, batch := range batches {
		slot := l.nodes.slot(batch[0].origin.String())
		arg := l.nodes.node(slot).head(settings.MaxBackOff)
		keys := make([]string, len(batch))
		for i, r := range batch {
			keys[i], arg = stateKey(l.options.Prefix, r.origin.String()), r.appendTo(arg, settings.MaxRetryAfter)
		}
		calls = append(calls, call{slot, keys, []string{string(arg)}})
	}
	for k, r := range l.run(ctx, releaseScript, calls) {
		if r.err == nil {
			l.pending.sent(batches[k])
			continue
		}
		failed = r.err
		if script.KindOf(r.err) != script.Refused {
			for _, r := range batches[k] {
				l.pending.add(r)
			}
		}
		l.goDown(r.err)
	}
	return failed
}

const (
	maxPending = 4096 // some 1 MiB
	// sentFor is for how long releases are kept that a server might lose by a failover or a
	// restart, which would leave their sites waiting until the permits expire.
	sentFor = 20 * time.Second
)

// pendingReleases are those that could not be sent, and those sent last.
type pendingReleases struct {
	mu         sync.Mutex
	list, done []release
	wake       chan struct{} // wakes Limiter.loop
}

// add queues a release, instead of the oldest one if there are too many.
func (p *pendingReleases) add(r release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) >= maxPending {
		p.list = slices.Delete(p.list, 0, maxPending/8)
	}
	p.list = append(p.list, r)
	queue.Notify(p.wake)
}

func (p *pendingReleases) sent(list []release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.done)+len(list) > maxPending {
		p.done = slices.Delete(p.done, 0, max(len(p.done)-maxPending*7/8, 0))
	}
	p.done = append(p.done, list...)
}

// sendAgain queues the releases that a server might have lost.
func (p *pendingReleases) sendAgain() {
	p.mu.Lock()
	list := p.done
	p.done = nil
	p.mu.Unlock()
	for _, r := range list {
		if r.again = true; passed(r.ended) < sentFor && r.id != (permitID{}) {
			p.add(r)
		}
	}
}

func (p *pendingReleases) take() []release {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.list
	p.list = nil
	return list
}
