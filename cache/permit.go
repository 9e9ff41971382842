package cache

import (
	"context"
	"errors"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A permit is what a flight needs before it fetches: a visit if the Fetcher is an
// Arriver, and the lease if the store has leases. The lease comes last, so that
// whoever has it fetches at once.
type permit struct {
	c      *Cache
	origin robots.Origin
	visit  fetch.Visit // nil without an Arriver
	leaser Leaser      // nil once there is a lease, or none to be had
	lease  Lease       // granted or zero
}

// acquire takes the next step to a complete permit. It returns true if another
// process may have fetched in the meantime, so that it pays to look again, and
// false if the permit is complete.
func (p *permit) acquire(ctx context.Context) (again bool, err error) {
	if p.visit == nil {
		if p.visit, err = p.arrive(ctx); err != nil {
			return false, err
		}
	}
	if p.leaser == nil {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	l, err := p.leaser.Lease(limited, p.origin, p.c.o.FetchLimit*11/10) // as long as a fetch may take, and a little more
	switch {
	case err != nil:
		p.alone(err)
	case l.Granted:
		p.leaser, p.lease = nil, l
	default:
		p.leave() // others may use the connection while this one waits
		p.await(ctx, l.Left)
	}
	return true, nil
}

// await waits for the end of another's lease, and little longer if the store does
// not say when that is.
func (p *permit) await(ctx context.Context, left time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, left+storeLimit)
	defer cancel()
	if err := p.leaser.Await(ctx, p.origin); err != nil {
		p.alone(err)
	}
}

// alone goes on without a lease, as the store is in trouble: a fetch too many does
// less harm than none.
func (p *permit) alone(err error) {
	p.c.storeFailed(p.origin, err)
	p.leaser = nil
}

// arrive waits until the site may be asked, if the Fetcher can do that apart.
func (p *permit) arrive(ctx context.Context) (fetch.Visit, error) {
	if ctx.Err() != nil {
		return nil, ErrClosed
	}
	a, ok := p.c.o.Fetcher.(Arriver)
	if !ok {
		return nil, nil
	}
	began := time.Now()
	visit, err := a.Arrive(ctx, p.origin)
	switch {
	case err == nil && visit == nil:
		err = errors.New("the fetcher returned neither a visit nor an error")
	case err != nil && ctx.Err() != nil:
		err = ErrClosed
	}
	if err != nil {
		p.c.observe(Event{Kind: EventFetchFailed, Origin: p.origin, Took: time.Since(began), Err: err})
	}
	return visit, err
}

func (p *permit) leave() {
	if p.visit != nil {
		p.visit.Leave()
		p.visit = nil
	}
}

// release gives back what was acquired.
func (p *permit) release(ctx context.Context) {
	defer p.leave()
	if !p.lease.Granted {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if err := p.c.leaser.Release(ctx, p.origin, p.lease.Token); err != nil {
		p.c.storeFailed(p.origin, err)
	}
}
