package redis

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// cancel gives a grant back unused.
func (t *tag) cancel(ctx context.Context, key pace.Key, id uint64) {
	rel := release{key: key, id: id, result: pace.Result{Unused: true}, ended: clock()}
	if err := t.send(context.WithoutCancel(ctx), rel); err != nil {
		t.l.keepRelease(rel)
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
	t, rel, tell := l.ending(ctx, g, r)
	if r.Unused {
		defer l.signal(g.Key.Origin) // once the server knows, or it would say that the site is busy
	}
	if !tell {
		return nil
	}
	return l.tell(ctx, t, rel)
}

// ending notes the end of a grant, and returns what is to be told to the server of a tag.
func (l *Limiter) ending(ctx context.Context, g pace.Grant, r pace.Result) (t *tag, rel release, tell bool) {
	if !g.OK() {
		return nil, rel, false
	}
	_ = l.local.Done(ctx, g, r) // which never fails
	t = l.tagOf(g.Key.Origin.String())
	if g.ID < serverGrant && (r.Unused || t.outage.Load() == nil && !r.Overload() && r.RetryAfter == 0) {
		return nil, rel, false // the server knew nothing of it
	}
	return t, release{key: g.Key, id: g.ID, result: r, ended: clock()}, true
}

// tell tells the server what came of grants of the tag, at most maxBatch. What cannot be
// told is kept, unless the limiter is closed: nobody would send it later.
func (l *Limiter) tell(ctx context.Context, t *tag, list ...release) error {
	ctx = context.WithoutCancel(ctx)
	if l.closing.Err() != nil {
		return t.send(ctx, list...)
	}
	if o := t.outage.Load(); o == nil || o.full {
		err := t.send(ctx, list...)
		if err == nil {
			return nil
		}
		defer t.goDown(err)
	}
	for _, rel := range list {
		l.keepRelease(rel)
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

// maxBatch is how many releases are sent as one at most: so many block a server for some
// 150 µs.
const maxBatch = 32

// send tells the server what came of grants of the tag, at most maxBatch.
func (t *tag) send(ctx context.Context, list ...release) error {
	l, e := t.l, t.epoch.Load()
	arg := appendDoubles(nil, microsUp(l.options.GrantTimeout), microsUp(l.options.Forget), microsUp(pace.DefaultMaxCrawlDelay))
	keys := make([]string, len(list))
	for i, rel := range list {
		keys[i] = l.key("origin", rel.key.Origin.String())
		arg = rel.appendTo(arg, l.options.MaxRetryAfter)
	}
	sent := clock()
	reply, err := l.call(ctx, (*script.Script).Run, doneScript, keys, []string{string(arg)})
	if err != nil {
		return err
	}
	var now micros
	if _, ok := readDoubles(reply, &now); !ok {
		return script.ErrReply
	}
	if !t.clock.observe(nil, now, sent, clock()) {
		if err := t.join(ctx, e, true); err != nil {
			return err
		}
	}
	l.pending.sent(t, list...)
	return nil
}

// appendTo encodes a release for the script.
func (rel release) appendTo(arg []byte, maxRetryAfter time.Duration) []byte {
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
	arg = binary.BigEndian.AppendUint64(arg, rel.id)
	return appendDoubles(arg, microsUp(clock().Sub(rel.ended)), microsUp(min(rel.result.RetryAfter, maxRetryAfter)), result)
}

// keepRelease keeps what could not be sent until it can.
func (l *Limiter) keepRelease(rel release) {
	l.pending.add(l.tagOf(rel.key.Origin.String()), rel)
	notify(l.wake)
}

// sendPending sends what is pending of a tag. What cannot be sent stays so.
func (t *tag) sendPending(ctx context.Context) error {
	list := t.l.pending.take(t)
	for len(list) > 0 {
		n := min(len(list), maxBatch)
		if err := t.send(ctx, list[:n]...); err != nil {
			for _, rel := range list {
				t.l.pending.add(t, rel)
			}
			return err
		}
		list = list[n:]
	}
	return nil
}

// sendAllPending sends what is pending of all tags that are not down.
func (l *Limiter) sendAllPending(ctx context.Context) {
	for _, t := range l.pending.tags() {
		if t.outage.Load() != nil {
			continue
		}
		if err := t.sendPending(ctx); err != nil && l.closing.Err() == nil {
			t.goDown(err)
		}
	}
}

// lookAgain asks the servers of tags to which releases were sent, and that were not used
// since, whether they were restarted and may have lost some.
func (l *Limiter) lookAgain(ctx context.Context) {
	for _, t := range l.pending.unsure() {
		e := t.epoch.Load()
		if e == nil || t.outage.Load() != nil {
			continue
		}
		known, err := t.knows(ctx, e)
		if err == nil && !known {
			err = t.join(ctx, e, true)
		}
		if err != nil && l.closing.Err() == nil {
			t.goDown(err)
		}
	}
}

// A release is the end of a grant and what came of it.
type release struct {
	key    pace.Key
	id     uint64
	result pace.Result
	ended  time.Time
	again  bool // it was sent before
}

// maxPending bounds the pending releases, to some 1 MiB. A grant
// whose release is dropped ends as that of a worker that died.
const maxPending = 4096

// maxTold bounds the releases that were sent, and that a server may lose: of all tags.
const maxTold = 64 * tags

// forgetful is of how long before its end a server may lose what it has written, and keep
// what is older: an append-only file is 2 s late where the disk is busy, a replica more.
const forgetful = 10 * time.Second

// toldFor is for how long a release is kept that was sent: until a heartbeat after the one
// that shows that its server has lost nothing.
var toldFor = forgetful + 3*heartbeatEvery

// pendingReleases are those that could not be sent, the latest ones.
type pendingReleases struct {
	mu      sync.Mutex
	n       int // in list
	list    map[*tag][]release
	told    map[*tag][]release // the last ones that were sent
	dropped map[*tag]bool      // some were
}

// sent notes releases that were sent.
func (p *pendingReleases) sent(t *tag, list ...release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	told := p.told[t]
	told = append(told, list...)
	most := maxTold / len(t.l.tags)
	if n := len(told) - most; n > 0 {
		told = slices.Delete(told, 0, n+most/8)
	}
	p.told[t] = told
}

// sendAgain makes the releases pending that a server which has lost some of its memory may
// not know any more: it would hold their grants for under way, as their worker lives.
func (p *pendingReleases) sendAgain(t *tag) {
	p.mu.Lock()
	told := p.told[t]
	delete(p.told, t)
	p.mu.Unlock()
	for _, rel := range told {
		if rel.again = true; passed(rel.ended) < toldFor {
			p.add(t, rel)
		}
	}
}

// unsure returns the tags of which it is to be asked whether their server was restarted, and
// drops what is too old to be lost.
func (p *pendingReleases) unsure() (list []*tag) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for t, told := range p.told {
		if passed(told[len(told)-1].ended) > toldFor {
			delete(p.told, t)
		} else if t.clock.silent() > heartbeatEvery {
			list = append(list, t)
		}
	}
	return list
}

func (p *pendingReleases) add(t *tag, rel release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n >= maxPending {
		for t, list := range p.list { // the older half of those of any tag
			n := (len(list) + 1) / 2
			if p.list[t] = slices.Delete(list, 0, n); n == len(list) {
				delete(p.list, t)
			}
			p.n -= n
			p.dropped[t] = true
			break
		}
	}
	p.list[t] = append(p.list[t], rel)
	p.n++
}

func (p *pendingReleases) take(t *tag) []release {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.list[t]
	p.n -= len(list)
	delete(p.list, t)
	return list
}

// lost reports whether releases of a tag were dropped since it was last asked.
func (p *pendingReleases) lost(t *tag) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.dropped[t]
	delete(p.dropped, t)
	return was
}

// tags returns the tags with something pending.
func (p *pendingReleases) tags() []*tag {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.list))
}
