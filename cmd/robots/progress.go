package main

import (
	"fmt"
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

// progress says on standard error how far a run over many sites has come: on a
// terminal in one line that changes, elsewhere in a line now and then.
type progress struct {
	std          *streams
	name         string
	total        int
	done, failed atomic.Int64

	mu    sync.Mutex
	shown bool // a line stands on the terminal
	end   chan struct{}
	ended sync.WaitGroup
}

// newProgress begins to say how far a run has come. It says nothing of a few.
func newProgress(std *streams, name string, total int) *progress {
	p := &progress{std: std, name: name, total: total, end: make(chan struct{})}
	if total < progressLeast {
		return p
	}
	every := progressSaid
	if std.errTerminal {
		every = progressShown
	}
	ticker := time.NewTicker(every) //nolint:forbidigo // people wait by this clock
	p.ended.Go(func() {
		defer ticker.Stop()
		p.run(ticker.C)
	})
	return p
}

func (p *progress) run(tick <-chan time.Time) {
	for {
		select {
		case <-tick:
			p.say()
		case <-p.end:
			return
		}
	}
}

// site counts a site that is done with.
func (p *progress) site(failed bool) {
	p.done.Add(1)
	if failed {
		p.failed.Add(1)
	}
}

func (p *progress) say() {
	line := fmt.Sprintf("%s: %d of %d robots.txt asked for", p.name, p.done.Load(), p.total)
	if n := p.failed.Load(); n > 0 {
		line += fmt.Sprintf(", %d without an answer", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.std.errTerminal {
		fmt.Fprint(p.std.err, "\r"+line+"\x1b[K")
		p.shown = true
		return
	}
	fmt.Fprintln(p.std.err, line)
}

// aside runs f, which may write, while no line of progress is in its way.
func (p *progress) aside(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	f()
}

func (p *progress) erase() {
	if p.shown {
		fmt.Fprint(p.std.err, "\r\x1b[K")
		p.shown = false
	}
}

// stop ends the reports and leaves no line behind.
func (p *progress) stop() {
	close(p.end)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}
