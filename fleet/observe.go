package fleet

import (
	"log/slog"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/pace"
)

// An Observer is told what a worker does, for metrics and logs: which answers its cache
// gives, what it fetches and why it fails (Cache), how its pace is decided, and that Redis
// goes and comes (Pace). It is called where that happens, from many goroutines, so it must
// be fast, and must not call what it is told about.
type Observer interface {
	Cache(e cache.Event)
	Pace(e pace.Event)
}

// Observe tells Options.Observe what a cache on the fleet's store does. It is for
// cache.Options.Observe; polite does this for the cache that it makes itself.
func (f *Fleet) Observe(e cache.Event) {
	if f.observer != nil {
		f.observer.Cache(e)
	}
}

// observed returns what the limiter calls, nil if nobody is to be told.
func (o Options) observed() func(pace.Event) {
	switch {
	case o.Log == nil && o.Observe == nil:
		return o.Pace.Observe
	case o.Pace.Observe == nil && o.Log == nil:
		return o.Observe.Pace
	}
	return func(e pace.Event) {
		if o.Observe != nil {
			o.Observe.Pace(e)
		}
		if o.Pace.Observe != nil {
			o.Pace.Observe(e)
		}
		if o.Log != nil {
			logChange(o.Log, e)
		}
	}
}

// logChange logs what changes for the whole worker.
func logChange(log *slog.Logger, e pace.Event) {
	switch e.Kind {
	case pace.EventDown:
		log.Warn("the fleet's Redis is out of reach", "error", e.Err.Error())
	case pace.EventUp:
		log.Info("the fleet's Redis is back", "after", e.Took.String())
	case pace.EventRenewed:
		log.Warn("the fleet's Redis has lost memory, or may have: each of its sites rests for one interval")
	case pace.EventReplaced:
		log.Warn("this worker was taken for gone, as it was stopped or could not reach Redis: its grants have ended")
	case pace.EventDrained:
		if e.Err != nil {
			log.Warn("this worker takes no more grants, and is to end", "error", e.Err.Error())
			return
		}
		log.Warn("an operator drains this worker: it takes no more grants, and is to end")
	case pace.EventResumed:
		log.Info("the drain of this worker has ended: it takes grants again")
	}
}
