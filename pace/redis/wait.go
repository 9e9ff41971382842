package redis

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/robotskit/robots/pace"
)

// claimAhead is how long before a start the first caller of a queue tries to acquire it. Of many
// processes that wait for one site the first gets the start. The others are refused at different
// moments, so they do not all try again at the start itself.
const claimAhead = 25 * time.Millisecond

// shortestPause is the shortest time between two decisions for one caller. It doubles
// up to claimAhead while permits of the site are acquired.
const shortestPause = 250 * time.Microsecond

// jittered returns between 3/4 and 5/4 of a duration, so that workers that were started, or
// lost Redis, at the same time do not call at the same time.
func jittered(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// pauseFor returns how long to wait after a refusal before the next decision, and the
// shortest pause after the one after that.
func pauseFor(p pace.Permit, ahead, least time.Duration) (pause, next time.Duration) {
	pause = min(jittered(longestSleep)*4/5, time.Until(p.NotBefore)-rand.N(max(ahead, 0)+1))
	if slices.ContainsFunc(p.Reasons, func(r pace.Reason) bool { return r.Cause == pace.CauseBusy }) {
		// The site is free at the earliest an interval from now.
		return max(pause, least), min(2*least, claimAhead)
	}
	return max(pause, shortestPause), shortestPause
}

// open returns a context that ends with errClosed when the limiter is closed.
func (l *Limiter) open(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.closing, func() { cancel(errClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
