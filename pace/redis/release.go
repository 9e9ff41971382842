package redis

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// cancel gives a grant back unused.
func (l *Limiter) cancel(ctx context.Context, key pace.Key, id uint64) {
	rel := release{key: key, id: id, result: pace.Result{Unused: true}, ended: clock()}
	if err := l.sendRelease(context.WithoutCancel(ctx), rel); err != nil {
		l.keepRelease(rel)
	}
}

// Done gives a grant back. While Redis is down the release is kept, and sent when Redis
// is back; that is no error.
func (l *Limiter) Done(ctx context.Context, g pace.Grant, r pace.Result) error {
	err := l.done(ctx, g, r)
	l.options.TellDone(g, r, err)
	return err
}

func (l *Limiter) done(ctx context.Context, g pace.Grant, r pace.Result) error {
	if !g.OK() {
		return nil
	}
	if err := l.local.Done(ctx, g, r); err != nil {
		return err
	}
	if r.Unused {
		defer l.signal(g.Key.Origin) // once the server knows, or it would say that the site is busy
	}
	if g.ID < serverGrant && (r.Unused || l.outage.Load() == nil && !r.Overload() && r.RetryAfter == 0) {
		return nil // the server knew nothing of it
	}
	rel := release{key: g.Key, id: g.ID, result: r, ended: clock()}
	if l.closing.Err() != nil { // nobody would send it later
		return l.sendRelease(context.WithoutCancel(ctx), rel)
	}
	if o := l.outage.Load(); o != nil && !o.full {
		l.keepRelease(rel)
		return nil
	}
	if err := l.sendRelease(context.WithoutCancel(ctx), rel); err != nil {
		l.keepRelease(rel)
		l.goDown(err)
	}
	return nil
}

// What done.lua knows of a result.
const (
	resultNothing micros = iota
	resultOverload
	resultUsual
	resultUnused

	ifUnderWay = 4 // is added: the server may have noted the result already
)

// sendRelease tells the server what came of a grant.
func (l *Limiter) sendRelease(ctx context.Context, rel release) error {
	e := l.epoch.Load()
	err := l.checkReleased(ctx, e, l.releases.do(ctx, l.releaseCall(rel)))
	if err == nil {
		l.pending.sent(rel)
	}
	return err
}

// releaseCall is the call of a release.
func (l *Limiter) releaseCall(rel release) call {
	result := resultNothing
	switch {
	case rel.result.Unused:
		result = resultUnused
	case rel.result.Overload():
		result = resultOverload
	case rel.result.Recovered():
		result = resultUsual
	}
	if rel.again {
		result += ifUnderWay
	}
	keys, addrInterval := l.keys(rel.key)
	arg := appendDoubles(argHead(rel.id, addrInterval), microsUp(clock().Sub(rel.ended)), microsUp(min(rel.result.RetryAfter, l.options.MaxRetryAfter)), result)
	return call{script: doneScript, keys: keys, arg: string(arg)}
}

// checkReleased reads the reply to releases that were sent in an epoch.
func (l *Limiter) checkReleased(ctx context.Context, e *epoch, r response) error {
	if r.err != nil {
		return r.err
	}
	var now micros
	if _, ok := readDoubles(r.reply, &now); !ok {
		return script.ErrReply
	}
	if !l.clock.observe(nil, now, r.sent, r.received) {
		return l.joinEpoch(ctx, e, true)
	}
	return nil
}

// keepRelease keeps what could not be sent until it can.
func (l *Limiter) keepRelease(rel release) {
	l.pending.add(rel)
	notify(l.wake)
}

// sendPending sends what is pending. What cannot be sent stays so.
func (l *Limiter) sendPending(ctx context.Context) error {
	list := l.pending.take()
	for len(list) > 0 {
		n := min(len(list), maxBatch)
		calls := make([]*call, n)
		for i, rel := range list[:n] {
			c := l.releaseCall(rel)
			calls[i] = &c
		}
		e := l.epoch.Load()
		if err := l.checkReleased(ctx, e, l.releases.send(ctx, l.releases.run, calls...)); err != nil {
			for _, rel := range list {
				l.pending.add(rel)
			}
			return err
		}
		l.pending.sent(list[:n]...)
		list = list[n:]
	}
	return nil
}

// A release is the end of a grant and what came of it.
type release struct {
	key    pace.Key
	id     uint64
	result pace.Result
	ended  time.Time
	again  bool // it was sent before
}

// maxPending bounds the pending releases, to some 1 MiB, and those that were sent. A grant
// whose release is dropped ends as that of a worker that died.
const maxPending = 4096

// forgetful is of how long before its end a server may lose what it has written, and keep
// what is older: an append-only file is 2 s late where the disk is busy, a replica more.
const forgetful = 10 * time.Second

// pendingReleases are those that could not be sent, the latest ones.
type pendingReleases struct {
	dropped atomic.Bool // some were

	mu   sync.Mutex
	list []release
	told []release // the last ones that were sent
}

// sent notes releases that were sent.
func (p *pendingReleases) sent(list ...release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, list...)
	if n := len(p.told) - maxPending; n > 0 {
		p.told = slices.Delete(p.told, 0, n+maxPending/8)
	}
}

// sendAgain makes the releases pending that a server which has lost some of its memory may
// not know any more: it would hold their grants for under way, as their worker lives.
func (p *pendingReleases) sendAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rel := range p.told {
		if passed(rel.ended) < forgetful && len(p.list) < maxPending {
			rel.again = true
			p.list = append(p.list, rel)
		}
	}
	p.told = nil
}

func (p *pendingReleases) add(rel release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) == maxPending {
		p.dropped.Store(true)
		p.list = slices.Delete(p.list, 0, maxPending/8)
	}
	p.list = append(p.list, rel)
}

func (p *pendingReleases) take() []release {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.list
	p.list = nil
	return list
}
