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

// The results of release.lua.
const (
	resultNone     = iota // no sign of load
	resultOverload        // doubles the back-off
	resultUsual           // reduces the back-off
	resultUnused          // no request was started
	resultForget          // Retry-After and back-off are deleted
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
	b = appendDoubles(append(b, r.id[:]...), microsCeil(passed(r.ended)), microsCeil(min(r.result.RetryAfter, l.options.MaxRetryAfter)))
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
	if err := l.recordRequest(context.WithoutCancel(ctx), r); err != nil {
		if script.KindOf(err) != script.Refused {
			l.pending.add(r)
		}
		l.setDown(err)
	}
}

// recordRequest records a request without a permit.
func (l *Limiter) recordRequest(ctx context.Context, r release) error {
	more := r.appendTo(nil, l, time.Time{})
	return l.run(ctx, releaseScript, []call{l.nodes.call(r.origin.String(), more, "1")})[0].err
}

// newRelease returns the release of a permit. The error is that it is none of this package.
func (l *Limiter) newRelease(p pace.Permit, r pace.Result) (release, error) {
	id, err := parseID(p.ID)
	l.permits.Delete(p.ID)
	return release{origin: p.Origin, id: id, result: r, ended: clock()}, err
}

// release releases permits of callers. What cannot be sent before Close is queued, and no error.
func (l *Limiter) release(ctx context.Context, list ...release) error {
	e := pace.Event{Kind: pace.EventReleased}
	if err := l.send(context.WithoutCancel(ctx), list...); err != nil && l.closing.Err() != nil {
		e.Kind = pace.EventUnreleased
		e.Err = err
	}
	for _, r := range list {
		e.Origin = r.origin
		e.Result = r.result
		l.options.Observe(e)
		if r.result.Unused {
			l.queues.Wake(r.origin)
		}
	}
	return e.Err
}

// releaseUnused releases a permit that its caller does not get.
func (l *Limiter) releaseUnused(p pace.Permit) {
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
			l.pending.noteSent(batches[k])
			continue
		}
		failed = r.err
		if script.KindOf(r.err) != script.Refused {
			l.pending.add(batches[k]...)
		}
		l.setDown(r.err)
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
	mu             sync.Mutex
	unsent, recent []release
	wake           chan struct{} // wakes Limiter.loop
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
	p.unsent = appendLatest(p.unsent, list)
	queue.Notify(p.wake)
}

func (p *pendingReleases) noteSent(list []release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = appendLatest(p.recent, list)
}

// sendAgain queues the releases that a server might have lost.
func (p *pendingReleases) sendAgain() {
	p.mu.Lock()
	list := p.recent
	p.recent = nil
	p.mu.Unlock()
	for _, r := range list {
		if passed(r.ended) < sentFor {
			p.add(r)
		}
	}
}

func (p *pendingReleases) drain() []release {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.unsent
	p.unsent = nil
	return list
}
