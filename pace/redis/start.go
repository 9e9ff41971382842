package redis

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/robotskit/robots/internal/script"
)

//go:embed start.lua
var startText string

var startScript = script.New(startText)

// Start returns when the fleet's next fetch of robots.txt from an address may start,
// as pace.Local.Start does for one process. How many are under way each process
// bounds for itself (fetch.Options.PerAddress). While Redis is down every worker goes
// on at its share of the pace, whatever the policy: what is fetched then is the
// answer of a site, and delays the others by nothing. The error is that of ctx, or
// says that the limiter is closed.
func (l *Limiter) Start(ctx context.Context, addr netip.Addr) error {
	_, gap := l.options.At(addr)
	switch {
	case ctx.Err() != nil:
		return waitingAt(ctx, addr)
	case l.closing.Err() != nil:
		return errClosed
	case gap == 0:
		return nil
	}
	if l.outage.Load() == nil {
		wait, err := l.book(ctx, addr, gap)
		if err == nil {
			return l.sleep(ctx, addr, wait)
		}
		if ended(ctx) {
			return waitingAt(ctx, addr)
		}
		l.goDown(err)
	}
	return l.inner.Start(ctx, addr)
}

// book takes the next start at an address and returns how far off it is.
func (l *Limiter) book(ctx context.Context, addr netip.Addr, gap time.Duration) (time.Duration, error) {
	key := l.fetchHead + addr.Unmap().WithZone("").String()
	reply, err := l.call(ctx, script.Script.Run, startScript, []string{key}, []string{strconv.FormatFloat(whole(gap), 'f', 0, 64)})
	if err != nil {
		return 0, err
	}
	var now, wait micros
	if _, ok := take(reply, &now, &wait); !ok {
		return 0, script.ErrReply
	}
	return time.Duration(wait * 1e3), nil
}

// sleep waits so long.
func (l *Limiter) sleep(ctx context.Context, addr netip.Addr, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.closing.Done():
		return errClosed
	case <-ctx.Done():
		return waitingAt(ctx, addr)
	}
}

func waitingAt(ctx context.Context, addr netip.Addr) error {
	return fmt.Errorf("waiting to fetch robots.txt at %s: %w", addr, context.Cause(ctx))
}
