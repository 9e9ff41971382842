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

// cancel gives a grant back that is not used.
func (l *Limiter) cancel(ctx context.Context, key pace.Key, id uint64) {
	d := delivery{key: key, id: id, result: pace.Result{Unused: true}, ended: clock()}
	if err := l.deliver(context.WithoutCancel(ctx), d); err != nil {
		l.keep(d)
	}
}

// Done gives a grant back. While Redis is down it is kept, and told when Redis is
// back; that is no error.
func (l *Limiter) Done(ctx context.Context, g pace.Grant, r pace.Result) error {
	if !g.OK() {
		return nil
	}
	if err := l.inner.Done(ctx, g, r); err != nil {
		return err
	}
	if r.Unused {
		defer l.signal(g.Key.Origin) // once the server knows, or it would say that the site is busy
	}
	if g.ID < ours && (r.Unused || l.outage.Load() == nil && !r.Overload() && r.RetryAfter == 0) {
		return nil // the server knew nothing of it
	}
	d := delivery{key: g.Key, id: g.ID, result: r, ended: clock()}
	if l.closing.Err() != nil { // nobody would tell it later
		return l.deliver(context.WithoutCancel(ctx), d)
	}
	if o := l.outage.Load(); o != nil && !o.full {
		l.keep(d)
		return nil
	}
	if err := l.deliver(context.WithoutCancel(ctx), d); err != nil {
		l.keep(d)
		l.goDown(err)
	}
	return nil
}

// results of the script.
const (
	nothing micros = iota
	overload
	asUsual
	notUsed
)

// deliver tells the server what came of a grant.
func (l *Limiter) deliver(ctx context.Context, d delivery) error {
	e := l.epoch.Load()
	return l.told(ctx, e, l.ends.do(ctx, l.end(d)))
}

// end is the call that tells of a delivery.
func (l *Limiter) end(d delivery) call {
	result := nothing
	switch {
	case d.result.Unused:
		result = notUsed
	case d.result.Overload():
		result = overload
	case d.result.Recovered():
		result = asUsual
	}
	keys, gap := l.keys(d.key)
	arg := put(named(d.id, gap), whole(clock().Sub(d.ended)), whole(min(d.result.RetryAfter, l.options.MaxRetryAfter)), result)
	return call{script: doneScript, keys: keys, arg: string(arg)}
}

// told hears what the server says of deliveries that were begun in an epoch.
func (l *Limiter) told(ctx context.Context, e *epoch, r response) error {
	if r.err != nil {
		return r.err
	}
	var now micros
	if _, ok := take(r.reply, &now); !ok {
		return script.ErrReply
	}
	if !l.clock.hear(nil, now, r.sent, r.received) {
		return l.join(ctx, e, true)
	}
	return nil
}

// keep keeps what could not be told until it can.
func (l *Limiter) keep(d delivery) {
	l.late.add(d)
	l.nudge()
}

// flush tells what could not be told. What still cannot is kept.
func (l *Limiter) flush(ctx context.Context) error {
	list := l.late.take()
	for len(list) > 0 {
		n := min(len(list), together)
		calls := make([]*call, n)
		for i, d := range list[:n] {
			c := l.end(d)
			calls[i] = &c
		}
		e := l.epoch.Load()
		if err := l.told(ctx, e, l.ends.send(ctx, l.ends.run, calls...)); err != nil {
			for _, d := range list {
				l.late.add(d)
			}
			return err
		}
		list = list[n:]
	}
	return nil
}

// delivery is what came of a grant and could not be told.
type delivery struct {
	key    pace.Key
	id     uint64
	result pace.Result
	ended  time.Time
}

// maxUndelivered bounds what is kept to be told, some 1 MiB. What is dropped is
// as good as a worker that died: Hold frees the grant.
const maxUndelivered = 4096

// undelivered keeps the latest deliveries.
type undelivered struct {
	dropped atomic.Bool // some were

	mu   sync.Mutex
	list []delivery
}

func (u *undelivered) add(d delivery) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.list) == maxUndelivered {
		u.dropped.Store(true)
		u.list = slices.Delete(u.list, 0, maxUndelivered/8)
	}
	u.list = append(u.list, d)
}

func (u *undelivered) take() []delivery {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := u.list
	u.list = nil
	return list
}
