package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// progressLeast is how many sites make a run worth a word on its progress.
	progressLeast = 20
	// progressShown and progressSaid are how often it is shown on a terminal and
	// said elsewhere.
	progressShown = 250 * time.Millisecond
	progressSaid  = 10 * time.Second
)

// A screen is where standard error is shown, and standard output if both are
// terminals: each write is whole, and no line of progress stands in its way.
type screen struct {
	err      io.Writer
	terminal bool // err is one

	mu    sync.Mutex
	shown bool // a line of progress stands there
}

// screenWriter writes to one of the two streams.
type screenWriter struct {
	*screen
	w io.Writer
}

func (s screenWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		_, _ = io.WriteString(s.err, "\r\x1b[K")
		s.shown = false
	}
	return s.w.Write(p)
}

// show shows a line of progress in the place of the last, or writes it where it
// cannot be erased.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		line, s.shown = "\r"+line+"\x1b[K", true
	} else {
		line += "\n"
	}
	_, _ = io.WriteString(s.err, line)
}

// A progress counts the sites of a run.
type progress struct{ begun, done, failed atomic.Int64 }

// report says on standard error how far a run over many sites has come, until stop
// is called.
func (p *progress) report(s *screen, name string) (stop func()) {
	return s.report(progressSaid, func() { p.say(s, name) })
}

// report calls say again and again until stop is called: on a terminal often, for one
// line that changes, elsewhere so often as every says.
func (s *screen) report(every time.Duration, say func()) (stop func()) {
	if s.terminal {
		every = progressShown
	}
	ticker := time.NewTicker(every) //nolint:forbidigo // people wait by this clock
	quit := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-ticker.C:
				say()
			case <-quit:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(quit)
		ended.Wait()
		_, _ = screenWriter{s, io.Discard}.Write(nil) // leaves no line behind
	}
}

// say says how far it has come. It says nothing of a few sites.
func (p *progress) say(s *screen, name string) {
	if p.begun.Load() < progressLeast {
		return
	}
	line := fmt.Sprintf("%s: %d of %d robots.txt asked for", name, p.done.Load(), p.begun.Load())
	if n := p.failed.Load(); n > 0 {
		line += fmt.Sprintf(", %d without an answer", n)
	}
	s.show(line)
}
