package source

import (
	"context"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fetch"
)

// A Site is a robots.txt that a run needs.
type Site struct {
	origin robots.Origin
	Ready  chan struct{} // closed some time after start, when the cache has it, or err is set
	Err    error

	Answered bool // a URL of it has been answered
}

func NewSite(origin robots.Origin) *Site { return &Site{origin: origin, Ready: make(chan struct{})} }

// Start gets the robots.txt of a site into the cache, and does not wait for it.
func (l *Live) Start(ctx context.Context, s *Site) {
	l.Progress.Begun.Add(1)
	go func() {
		defer close(s.Ready)
		late := time.AfterFunc(l.Options.Limits.Total+FetchMargin, func() {
			l.Std.WarnOnce(
				"late", "%s is not fetched yet: its address is busy, or the Redis of --redis does not permit it; interrupt to stop waiting",
				s.origin.RobotsURL(),
			)
		})
		defer late.Stop()
		var r *fetch.Record
		r, s.Err = l.CacheOf(s.origin).Get(ctx, s.origin)
		if s.Err != nil || !r.Outcome.Good() {
			l.Progress.Failed.Add(1)
		}
		l.Progress.Done.Add(1)
	}()
}

// Get returns the robots.txt of a site when it is ready, or errInterrupted if ctx ends before.
// Before it waits it flushes the output.
func (l *Live) Get(ctx context.Context, s *Site) (r *fetch.Record, err error) {
	select {
	case <-s.Ready:
	default:
		_ = l.Std.Out.Flush() // the last flush reports its error
		<-s.Ready             // soon, if ctx ends
	}
	err = s.Err
	if err == nil {
		r, err = l.CacheOf(s.origin).Get(ctx, s.origin)
	}
	if err != nil && ctx.Err() != nil {
		err = screen.ErrInterrupted
	}
	return r, err
}
