package redis

import (
	"sync"
	"time"

	"github.com/robotskit/robots/pace"
)

// A telling makes one event of what happens to many tags and to the list of workers: they lie on few servers, so
// most of them go and come together.
type telling struct {
	mu      sync.Mutex
	down    int       // how many are
	since   time.Time // the first of them
	list    bool      // the list of workers is among them
	renewed time.Time // when it was last told that memory was lost
}

// tellDown tells that a tag is down, if it is the first.
func (l *Limiter) tellDown(cause error) {
	l.telling.mu.Lock()
	l.telling.down++
	first := l.telling.down == 1
	if first {
		l.telling.since = clock()
	}
	l.telling.mu.Unlock()
	if first {
		l.options.Tell(pace.Event{Kind: pace.EventDown, Err: cause})
	}
}

// tellList tells what became of a heartbeat: of a worker that is asked for nothing it is all
// that shows whether the server answers.
func (l *Limiter) tellList(err error) {
	l.telling.mu.Lock()
	was := l.telling.list
	l.telling.list = err != nil
	l.telling.mu.Unlock()
	switch {
	case err != nil && !was:
		l.tellDown(err)
	case err == nil && was:
		l.tellUp()
	}
}

// tellUp tells that a tag is back, if it was the last.
func (l *Limiter) tellUp() {
	l.telling.mu.Lock()
	l.telling.down--
	last, took := l.telling.down == 0, passed(l.telling.since)
	l.telling.mu.Unlock()
	if last {
		l.options.Tell(pace.Event{Kind: pace.EventUp, Took: took})
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
		l.options.Tell(pace.Event{Kind: pace.EventRenewed})
	}
}

// away returns how many tags are down.
func (l *Limiter) away() int {
	l.telling.mu.Lock()
	defer l.telling.mu.Unlock()
	if l.telling.list { // and is asked again now
		return l.telling.down - 1
	}
	return l.telling.down
}
