package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// progressLeast is for how many sites progress is shown.
	progressLeast = 20
	// progressShown and progressSaid are how often: on a terminal, and elsewhere.
	progressShown = 250 * time.Millisecond
	progressSaid  = 10 * time.Second
)

// A screen keeps a line of progress apart from what is written to standard error, and to
// standard output if both are terminals.
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

// show replaces the line of progress, or writes a line where it cannot be erased.
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

// line describes the progress, "" if there are few sites.
func (p *progress) line(name string) string {
	if p.begun.Load() < progressLeast {
		return ""
	}
	line := fmt.Sprintf("%s: %d of %d robots.txt fetched", name, p.done.Load(), p.begun.Load())
	if n := p.failed.Load(); n > 0 {
		line += fmt.Sprintf(", %d failed", n)
	}
	return line
}

// report shows a line of progress repeatedly until stop is called, except where it is empty.
func (s *screen) report(line func() string) (stop func()) {
	every := progressSaid
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
				if text := line(); text != "" {
					s.show(text)
				}
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
