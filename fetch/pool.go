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
// There is no deadlock, because a session that holds a slot waits for none. While it waits
// for an address it holds no slot of the total, so many origins at one address delay no others.
type pool struct {
	start func(context.Context, robots.Origin, netip.Addr) error

	lookups, starting, perAddress, total addressSlots
}

func newPool(o Options) *pool {
	p := &pool{
		start:      o.Start,
		lookups:    addressSlots{limit: o.Connections},
		starting:   addressSlots{limit: 1},
		perAddress: addressSlots{limit: o.PerAddress},
		total:      addressSlots{limit: o.Connections},
	}
	if p.start == nil {
		p.start = func(context.Context, robots.Origin, netip.Addr) error { return nil }
	}
	return p
}

// acquire waits for a slot at an address, first come, first served. The error is that of the
// context or of start. An invalid addr is known to a proxy alone and counts only in all.
//
// One session per address waits for its start and for a slot of the total: the next interval
// counts from its start.
func (p *pool) acquire(ctx context.Context, origin robots.Origin, addr netip.Addr) error {
	if !addr.IsValid() {
		return p.total.acquire(ctx, addr)
	}
	if err := p.starting.acquire(ctx, addr); err != nil {
		return err
	}
	defer p.starting.release(addr)
	if err := p.perAddress.acquire(ctx, addr); err != nil {
		return err
	}
	err := p.start(ctx, origin, addr)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("start at %s: %w", addr, err)
	}
	if err == nil {
		err = p.total.acquire(ctx, netip.Addr{})
	}
	if err != nil {
		p.perAddress.release(addr)
	}
	return err
}

// release releases the slot that acquire acquired.
func (p *pool) release(addr netip.Addr) {
	if addr.IsValid() {
		p.perAddress.release(addr)
	}
	p.total.release(netip.Addr{})
}

// addressSlots is a semaphore per address.
type addressSlots struct {
	limit  int // per address
	mu     sync.Mutex
	queues map[netip.Addr]*slotQueue // of addresses with a slot in use
}

type slotQueue struct {
	inUse   int
	waiting list.List // of channels, closed when their place is free
}

// acquire waits for a slot. The error is that of the context.
func (p *addressSlots) acquire(ctx context.Context, addr netip.Addr) error {
	p.mu.Lock()
	q := p.queues[addr]
	if q == nil {
		q = &slotQueue{}
		if p.queues == nil {
			p.queues = map[netip.Addr]*slotQueue{}
		}
		p.queues[addr] = q
	}
	if q.inUse < p.limit { // so the queue is empty
		q.inUse++
		p.mu.Unlock()
		return nil
	}
	free := make(chan struct{})
	entry := q.waiting.PushBack(free)
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
		p.handOver(addr)
	default:
		q.waiting.Remove(entry)
	}
	return ctx.Err()
}

// release releases a slot.
func (p *addressSlots) release(addr netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handOver(addr)
}

// handOver gives a slot to the next session in the queue. p.mu is held.
func (p *addressSlots) handOver(addr netip.Addr) {
	q := p.queues[addr]
	if next := q.waiting.Front(); next != nil {
		close(q.waiting.Remove(next).(chan struct{}))
		return
	}
	q.inUse--
	if q.inUse == 0 {
		delete(p.queues, addr)
	}
}
