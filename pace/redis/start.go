package redis

import (
	"context"
	_ "embed"
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
	_, addrInterval := l.options.At(addr)
	what := "to fetch robots.txt at " + addr.String()
	switch {
	case ctx.Err() != nil:
		return waiting(ctx, what)
	case l.closing.Err() != nil:
		return errClosed
	case addrInterval == 0:
		return nil
	}
	if l.outage.Load() == nil {
		wait, err := l.reserveFetch(ctx, addr, addrInterval)
		if err == nil && wait > 0 {
			if err = l.sleep(ctx, wait, nil); err == nil && l.closing.Err() != nil {
				return errClosed
			}
		}
		switch {
		case err == nil:
			return nil
		case ended(ctx):
			return waiting(ctx, what)
		}
		l.goDown(err)
	}
	return l.local.Start(ctx, addr)
}

// book takes the next start at an address and returns how far off it is.
func (l *Limiter) reserveFetch(ctx context.Context, addr netip.Addr, addrInterval time.Duration) (time.Duration, error) {
	key := l.fetchesHead + addr.Unmap().WithZone("").String()
	reply, err := l.call(ctx, script.Script.Run, startScript, []string{key}, []string{strconv.FormatFloat(microsUp(addrInterval), 'f', 0, 64)})
	if err != nil {
		return 0, err
	}
	var now, wait micros
	if _, ok := readDoubles(reply, &now, &wait); !ok {
		return 0, script.ErrReply
	}
	return time.Duration(wait * 1e3), nil
}
