package fetch

import (
	"container/list"
	"context"
	"fmt"
	"net/netip"
	"sync"

	"github.com/robotskit/robots"
)

// pool limits the connections of a client: per address, in all, and their starts (Options).
// It is the only place where one fetch waits for others.
//
// There is no deadlock, because a session that holds a place waits for none. While it waits
// for an address it holds no place in all, so many origins at one address delay no others.
type pool struct {
	start func(context.Context, robots.Origin, netip.Addr) error

	lookups, starting, each, all places
}

func newPool(o Options) *pool {
	p := &pool{
		start:    o.Start,
		lookups:  places{most: o.Connections},
		starting: places{most: 1},
		each:     places{most: o.PerAddress},
		all:      places{most: o.Connections},
	}
	if p.start == nil {
		p.start = func(context.Context, robots.Origin, netip.Addr) error { return nil }
	}
	return p
}

// take waits for a place at an address, first come, first served. The error is that of the
// context or of start. An invalid addr is known to a proxy alone and counts only in all.
//
// One session per address waits for its start and for a place in all: the next interval
// counts from its start.
func (p *pool) take(ctx context.Context, origin robots.Origin, addr netip.Addr) error {
	if !addr.IsValid() {
		return p.all.take(ctx, addr)
	}
	if err := p.starting.take(ctx, addr); err != nil {
		return err
	}
	defer p.starting.give(addr)
	if err := p.each.take(ctx, addr); err != nil {
		return err
	}
	err := p.start(ctx, origin, addr)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("start at %s: %w", addr, err)
	}
	if err == nil {
		err = p.all.take(ctx, netip.Addr{})
	}
	if err != nil {
		p.each.give(addr)
	}
	return err
}

// give gives back what take took.
func (p *pool) give(addr netip.Addr) {
	if addr.IsValid() {
		p.each.give(addr)
	}
	p.all.give(netip.Addr{})
}

// places is a semaphore per address.
type places struct {
	most int // per address
	mu   sync.Mutex
	at   map[netip.Addr]*queue // of addresses with a place taken
}

type queue struct {
	taken   int
	waiting list.List // of channels, closed when their place is free
}

// take waits for a place. The error is that of the context.
func (p *places) take(ctx context.Context, addr netip.Addr) error {
	p.mu.Lock()
	q := p.at[addr]
	if q == nil {
		q = &queue{}
		if p.at == nil {
			p.at = map[netip.Addr]*queue{}
		}
		p.at[addr] = q
	}
	if q.taken < p.most { // so the queue is empty
		q.taken++
		p.mu.Unlock()
		return nil
	}
	free := make(chan struct{})
	mine := q.waiting.PushBack(free)
	p.mu.Unlock()
	select {
	case <-free:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-free: // at the same moment
		p.pass(addr)
	default:
		q.waiting.Remove(mine)
	}
	return ctx.Err()
}

// give gives a place back.
func (p *places) give(addr netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(addr)
}

// pass gives a place to the next session in the queue. p.mu is held.
func (p *places) pass(addr netip.Addr) {
	q := p.at[addr]
	if next := q.waiting.Front(); next != nil {
		close(q.waiting.Remove(next).(chan struct{}))
		return
	}
	if q.taken--; q.taken == 0 {
		delete(p.at, addr)
	}
}
