package fleet

import (
	"log/slog"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/pace"
)

// An Observer gets the events of a worker, for metrics and logs: of its cache and fetches (Cache), and of its limiter and Redis
// (Pace). It is called from many goroutines, so it must be fast, and must not call the Fleet.
type Observer interface {
	Cache(e cache.Event)
	Pace(e pace.Event)
}

// Observe passes the events of a cache on the fleet's store to Options.Observe. It is for cache.Options.Observe; polite sets it
// for its own cache.
func (f *Fleet) Observe(e cache.Event) {
	if f.observer != nil {
		f.observer.Cache(e)
	}
}

// observed returns what the limiter calls with its events.
func (o Options) observed() func(pace.Event) {
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
		log.Warn("the fleet's Redis is unreachable", "error", e.Err.Error())
	case pace.EventUp:
		log.Info("the fleet's Redis is back", "after", e.Took.String())
	case pace.EventRenewed:
		log.Warn("the fleet's Redis has lost memory, or might have: each of its sites rests for one interval")
	case pace.EventReplaced:
		log.Warn("the permits of this worker have expired, because its heartbeats did not arrive")
	case pace.EventDrained:
		if e.Err != nil {
			log.Warn("this worker acquires no more permits and should end", "error", e.Err.Error())
			return
		}
		log.Warn("an operator has drained this worker: it acquires no more permits and should end")
	case pace.EventResumed:
		log.Info("the drain of this worker has ended: it acquires permits again")
	}
}
