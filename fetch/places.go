package fetch

import (
	"container/list"
	"context"
	"sync"
)

// places bounds how many connections to one host are open at once. A host is a
// canonical name or literal, so that its schemes and ports share its places; two
// names of one address do not.
//
// Nobody who holds a place waits for another: with two hosts that lead to each
// other both would wait for ever.
type places struct {
	most  int // to one host
	mu    sync.Mutex
	hosts map[string]*queue // where a place is taken
}

type queue struct {
	taken   int
	waiting list.List // of chan struct{}, in the order of asking; closed when its place is there
}

// take waits for a place at a host, behind whoever asked before. An error is
// that of the context.
func (p *places) take(ctx context.Context, host string) error {
	p.mu.Lock()
	q := p.hosts[host]
	if q == nil {
		q = &queue{}
		p.hosts[host] = q
	}
	if q.taken < p.most { // so nobody waits
		q.taken++
		p.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	mine := q.waiting.PushBack(turn)
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
		p.pass(host)
	default:
		q.waiting.Remove(mine)
	}
	return ctx.Err()
}

// give gives a place back.
func (p *places) give(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(host)
}

// pass hands a place to the next who waits. It is called with mu held.
func (p *places) pass(host string) {
	q := p.hosts[host]
	if next := q.waiting.Front(); next != nil {
		close(q.waiting.Remove(next).(chan struct{}))
		return
	}
	if q.taken--; q.taken == 0 {
		delete(p.hosts, host)
	}
}
