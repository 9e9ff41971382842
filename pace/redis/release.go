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
	id     permitID // zero for a request without one
	result pace.Result
	ended  time.Time
}

// What release.lua knows of a result.
const (
	resultNone = iota
	resultOverload
	resultUsual
	resultUnused
	resultForget // Retry-After and back-off are deleted
)

func (r release) site() robots.Origin { return r.origin }

// appendTo encodes a release for release.lua.
func (r release) appendTo(b []byte, l *Limiter, _ time.Time) []byte {
	result := byte(resultNone)
	switch {
	case r.result.Unused:
		result = resultUnused
	case r.result.Overload():
		result = resultOverload
	case r.result.Recovered():
		result = resultUsual
	}
	b = appendDoubles(append(b, r.id[:]...), microsUp(passed(r.ended)), microsUp(min(r.result.RetryAfter, l.options.MaxRetryAfter)))
	return append(b, result)
}

// Release ends a permit. While the server is unreachable the release is queued, the latest
// 4096 of them; that is no error.
func (l *Limiter) Release(ctx context.Context, p pace.Permit, r pace.Result) error {
	if !p.OK() {
		return nil
	}
	end, err := l.newRelease(p, r)
	if err != nil {
		return err
	}
	return l.release(ctx, end)
}

// Requested records that a request without a permit has ended. While the server is unreachable it is
// queued like a release.
func (l *Limiter) Requested(ctx context.Context, o robots.Origin) {
	r := release{origin: o, ended: clock()}
	if err := l.note(context.WithoutCancel(ctx), r); err != nil {
		if script.KindOf(err) != script.Refused {
			l.pending.add(r)
		}
		l.goDown(err)
	}
}

// note records a request without a permit.
func (l *Limiter) note(ctx context.Context, r release) error {
	more := r.appendTo(nil, l, time.Time{})
	return l.run(ctx, releaseScript, []call{l.nodes.call(r.origin.String(), more, "1")})[0].err
}

// newRelease returns the release of a permit. The error is that it is none of this package.
func (l *Limiter) newRelease(p pace.Permit, r pace.Result) (release, error) {
	id, err := parseID(p.ID)
	l.held.Delete(p.ID)
	return release{origin: p.Origin, id: id, result: r, ended: clock()}, err
}

// release releases permits of callers. What cannot be sent before Close is queued, and no error.
func (l *Limiter) release(ctx context.Context, list ...release) error {
	e := pace.Event{Kind: pace.EventReleased}
	if err := l.send(context.WithoutCancel(ctx), list...); err != nil && l.closing.Err() != nil {
		e.Kind, e.Err = pace.EventUnreleased, err
	}
	for _, r := range list {
		e.Origin, e.Result = r.origin, r.result
		l.options.Observe(e)
		if r.result.Unused {
			l.queues.Wake(r.origin)
		}
	}
	return e.Err
}

// unused releases a permit that its caller does not get.
func (l *Limiter) unused(p pace.Permit) {
	if r, err := l.newRelease(p, pace.Result{Unused: true}); err == nil {
		_ = l.send(context.WithoutCancel(l.closing), r)
		l.queues.Wake(p.Origin)
	}
}

// send sends releases, and queues those that cannot be sent. It returns the last error.
func (l *Limiter) send(ctx context.Context, list ...release) (failed error) {
	calls, batches := batch(l, list)
	for k, r := range l.run(ctx, releaseScript, calls) {
		if r.err == nil {
			l.pending.sent(batches[k])
			continue
		}
		failed = r.err
		if script.KindOf(r.err) != script.Refused {
			l.pending.add(batches[k]...)
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

// pendingReleases are those that could not be sent, and those sent last, the latest of each.
type pendingReleases struct {
	mu         sync.Mutex
	list, done []release
	wake       chan struct{} // wakes Limiter.loop
}

func appendLatest(to, list []release) []release {
	to = append(to, list...)
	if len(to) > maxPending {
		to = slices.Delete(to, 0, max(len(to)-maxPending, maxPending/8))
	}
	return to
}

func (p *pendingReleases) add(list ...release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = appendLatest(p.list, list)
	queue.Notify(p.wake)
}

func (p *pendingReleases) sent(list []release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = appendLatest(p.done, list)
}

// sendAgain queues the releases that a server might have lost.
func (p *pendingReleases) sendAgain() {
	p.mu.Lock()
	list := p.done
	p.done = nil
	p.mu.Unlock()
	for _, r := range list {
		if passed(r.ended) < sentFor {
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
