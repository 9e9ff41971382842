package bulk

import (
	"fmt"
	"sync"
	"time"

	"github.com/robotskit/robots/cmd/internal/screen"
)

// Progress is the progress of a run. The zero value has not begun. It is safe for
// concurrent use.
type Progress struct {
	mu      sync.Mutex
	started time.Time
	total   int
	before  int // done when this run began
	made    int // in this run
	failed  int
	workers int
	counts  Counts
}

func (p *Progress) begin(st *Status, workers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = time.Now()
	p.made, p.counts = 0, Counts{} // of the phase before
	p.total, p.before, p.failed, p.workers = st.Shards, st.Done, 0, workers
}

// done counts a shard.
func (p *Progress) done(c Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	p.counts.Captures += c.Captures
	p.counts.Rows += c.Rows
}

// fail counts a failed shard.
func (p *Progress) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed++
}

// Done returns how many shards are done, those before this run included.
func (p *Progress) Done() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.before + p.made)
}

// Line describes the progress in one line.
func (p *Progress) Line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started.IsZero() {
		return "nothing to do"
	}
	line := fmt.Sprintf("%s/%s shards", screen.Thousands(int64(p.before+p.made)), screen.Thousands(int64(p.total)))
	if n := p.counts.Captures; n > 0 {
		line += "  " + screen.Thousands(n) + " captures"
	} else if n := p.counts.Rows; n > 0 {
		line += "  " + screen.Thousands(n) + " rows"
	}
	took := time.Since(p.started)
	line += fmt.Sprintf("  %d workers  %d failed  %v", p.workers, p.failed, took.Round(time.Second))
	if left := p.total - p.before - p.made - p.failed; p.made > 0 && left > 0 {
		line += fmt.Sprintf("  %v left", (took * time.Duration(left) / time.Duration(p.made)).Round(time.Second))
	}
	return line
}
