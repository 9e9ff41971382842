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
	mu          sync.Mutex
	started     time.Time
	total       int
	doneBefore  int // done when this run began
	doneInRun   int // in this run
	failed      int
	workers     int
	shardCounts ShardCounts
}

func (p *Progress) begin(st *Status, workers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = time.Now()
	p.doneInRun = 0 // not of the phase before
	p.shardCounts = ShardCounts{}
	p.total = st.Shards
	p.doneBefore = st.Done
	p.failed = 0
	p.workers = workers
}

// addDone counts a shard.
func (p *Progress) addDone(c ShardCounts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doneInRun++
	p.shardCounts.Captures += c.Captures
	p.shardCounts.Rows += c.Rows
}

// addFailed counts a failed shard.
func (p *Progress) addFailed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed++
}

// Done returns how many shards are done, those before this run included.
func (p *Progress) Done() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.doneBefore + p.doneInRun)
}

// Line describes the progress in one line.
func (p *Progress) Line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started.IsZero() {
		return "nothing to do"
	}
	line := fmt.Sprintf("%s/%s shards", screen.Thousands(int64(p.doneBefore+p.doneInRun)), screen.Thousands(int64(p.total)))
	if n := p.shardCounts.Captures; n > 0 {
		line += "  " + screen.Thousands(n) + " captures"
	} else if n := p.shardCounts.Rows; n > 0 {
		line += "  " + screen.Thousands(n) + " rows"
	}
	took := time.Since(p.started)
	line += fmt.Sprintf("  %d workers  %d failed  %v", p.workers, p.failed, took.Round(time.Second))
	if left := p.total - p.doneBefore - p.doneInRun - p.failed; p.doneInRun > 0 && left > 0 {
		line += fmt.Sprintf("  %v left", (took * time.Duration(left) / time.Duration(p.doneInRun)).Round(time.Second))
	}
	return line
}
