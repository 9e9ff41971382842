package redis

import (
	"sync"
	"time"

	"github.com/robotskit/robots/pace"
)

// A telling makes one event of what happens to many tags: they lie on few servers, so
// most of them go and come together.
type telling struct {
	mu      sync.Mutex
	down    int       // tags that are
	since   time.Time // the first of them
	renewed time.Time // when it was last told that memory was lost
}

// tellDown tells that a tag is down, if it is the first.
func (l *Limiter) tellDown(o *outage) {
	l.telling.mu.Lock()
	l.telling.down++
	first := l.telling.down == 1
	if first {
		l.telling.since = o.since
	}
	l.telling.mu.Unlock()
	if first {
		l.options.Tell(pace.Event{Kind: pace.Down, Err: o.cause})
	}
}

// tellUp tells that a tag is back, if it was the last.
func (l *Limiter) tellUp() {
	l.telling.mu.Lock()
	l.telling.down--
	last, took := l.telling.down == 0, passed(l.telling.since)
	l.telling.mu.Unlock()
	if last {
		l.options.Tell(pace.Event{Kind: pace.Up, Took: took})
	}
}

// tellRenewed tells that a tag has lost its memory, once for those that do so together.
func (l *Limiter) tellRenewed() {
	l.telling.mu.Lock()
	together := !l.telling.renewed.IsZero() && passed(l.telling.renewed) < recovery
	if !together {
		l.telling.renewed = clock()
	}
	l.telling.mu.Unlock()
	if !together {
		l.options.Tell(pace.Event{Kind: pace.Renewed})
	}
}

// away returns how many tags are down.
func (l *Limiter) away() int {
	l.telling.mu.Lock()
	defer l.telling.mu.Unlock()
	return l.telling.down
}
