package fetch

import (
	"container/list"
	"context"
	"fmt"
	"net/netip"
	"sync"

	"github.com/robotskit/robots"
)

// Starts decides when the next connection of a request may be opened, see WithStarts. It
// must be safe for concurrent use.
type Starts interface {
	// Start returns when the next connection to addr may be opened. The error is
	// that of ctx, or says that nobody can know; then none is opened.
	Start(ctx context.Context, addr netip.Addr) error
}

// pool is who may open a connection: so many to one address, so many in all, and
// each at its start. It is the only place where a fetch waits for other fetches.
//
// Nobody who holds a place of the pool waits for another: with two addresses that
// lead to each other both would wait for ever. And nobody who waits for an address
// holds one of the places in all, so that a crowd at one address is in the way of
// nobody at another. A place in all is held until the fetch is left, which may be
// after it has ended: so a slow disk holds up the next fetches.
type pool struct {
	start func(context.Context, robots.Origin, netip.Addr) error // nil: no pace

	lookups, turns, each, all places
}

func newPool(connections, perAddress int, start func(context.Context, robots.Origin, netip.Addr) error) *pool {
	return &pool{
		start:   start,
		lookups: places{most: connections},
		turns:   places{most: 1},
		each:    places{most: perAddress},
		all:     places{most: connections},
	}
}

// take waits for a place at an address, behind whoever asked before; but a fetch
// that is under way, and was led here by a redirect, comes before those that have
// not begun. So what has begun ends soon. An error is that of the context or of
// the starts. The place at addr is given back to each, that in all to all. An
// invalid addr is one that only a proxy knows: then there is a place in all alone.
//
// Only one at an address waits for its start and for a place in all: the starts of
// the next ones count from when it went.
func (p *pool) take(ctx context.Context, origin robots.Origin, addr netip.Addr, begun bool) error {
	if !addr.IsValid() {
		return p.all.take(ctx, addr, begun)
	}
	if err := p.turns.take(ctx, addr, begun); err != nil {
		return err
	}
	defer p.turns.give(addr)
	if err := p.each.take(ctx, addr, false); err != nil {
		return err
	}
	err := p.await(ctx, origin, addr)
	if err == nil {
		err = p.all.take(ctx, netip.Addr{}, false)
	}
	if err != nil {
		p.each.give(addr)
	}
	return err
}

func (p *pool) await(ctx context.Context, origin robots.Origin, addr netip.Addr) error {
	if p.start == nil {
		return nil
	}
	err := p.start(ctx, origin, addr)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("start at %s: %w", addr, err)
	}
	return err
}

// places hands out so many places at each address, in the order of asking.
type places struct {
	most int // at one address
	mu   sync.Mutex
	at   map[netip.Addr]*queue // where a place is taken
}

type queue struct {
	taken int
	// Channels that are closed when their place is there: of whoever comes first
	// of all, and of the others.
	first, waiting list.List
}

// take waits for a place. An error is that of the context.
func (p *places) take(ctx context.Context, addr netip.Addr, first bool) error {
	p.mu.Lock()
	q := p.at[addr]
	if q == nil {
		q = &queue{}
		if p.at == nil {
			p.at = map[netip.Addr]*queue{}
		}
		p.at[addr] = q
	}
	if q.taken < p.most { // so nobody waits
		q.taken++
		p.mu.Unlock()
		return nil
	}
	turn, line := make(chan struct{}), &q.waiting
	if first {
		line = &q.first
	}
	mine := line.PushBack(turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-turn: // in the same moment
		p.pass(addr)
	default:
		line.Remove(mine)
	}
	return ctx.Err()
}

// give gives a place back.
func (p *places) give(addr netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(addr)
}

// pass hands a place to the next who waits. It is called with mu held.
func (p *places) pass(addr netip.Addr) {
	q := p.at[addr]
	for _, line := range []*list.List{&q.first, &q.waiting} {
		if next := line.Front(); next != nil {
			close(line.Remove(next).(chan struct{}))
			return
		}
	}
	if q.taken--; q.taken == 0 {
		delete(p.at, addr)
	}
}
