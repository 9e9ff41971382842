// Package screen shows progress to people.
package screen

import (
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"
)

// shownEvery is how often progress is shown on a terminal.
const shownEvery = 250 * time.Millisecond

// IsTerminal reports whether w is a terminal: only there are colors wanted, and only there can
// control characters do harm.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A Screen keeps a line of progress apart from what is written to standard error, and to
// standard output if both are terminals.
type Screen struct {
	Err      io.Writer
	Terminal bool // Err is one

	mu    sync.Mutex
	shown bool // a line of progress stands there
}

// New returns a screen for standard error.
func New(stderr io.Writer) *Screen { return &Screen{Err: stderr, Terminal: IsTerminal(stderr)} }

// Writer returns a writer to one of the two streams.
func (s *Screen) Writer(w io.Writer) io.Writer { return writer{s, w} }

type writer struct {
	*Screen
	w io.Writer
}

func (s writer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		_, _ = io.WriteString(s.Err, "\r\x1b[K")
		s.shown = false
	}
	return s.w.Write(p)
}

// show replaces the line of progress, or writes a line where it cannot be erased.
func (s *Screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Terminal {
		line = "\r" + line + "\x1b[K"
		s.shown = true
	} else {
		line += "\n"
	}
	_, _ = io.WriteString(s.Err, line)
}

// Report shows a line of progress repeatedly until stop is called, except where it is empty;
// elsewhere than on a terminal each time that the interval has passed.
func (s *Screen) Report(interval time.Duration, line func() string) (stop func()) {
	if s.Terminal {
		interval = shownEvery
	}
	ticker := time.NewTicker(interval)
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
		_, _ = s.Writer(io.Discard).Write(nil) // leaves no line behind
	}
}

// Thousands formats a number with separators: 1,800.
func Thousands[N ~int | ~int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
