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
	mu         sync.Mutex
	started    time.Time
	total      int // shards
	doneBefore int // when this run began
	doneInRun  int
	failed     int
	workers    int

	unit        string // what is counted: captures, sites, rows
	countBefore int64  // in the shards that were done when this run began
	count       int64  // in this run
	countTotal  int64  // of all shards, 0 if it is not known
	work        int64  // done in this run
	workTotal   int64  // of this run
}

// begin begins a run of the missing shards of a task.
func (p *Progress) begin(st *Status, workers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = time.Now()
	p.doneInRun = 0 // not of the phase before
	p.count = 0
	p.work = 0
	p.total = st.Shards
	p.doneBefore = st.Done
	p.failed = 0
	p.workers = workers
	p.unit = st.task.countUnit()
	p.countBefore = 0
	for _, record := range st.doneParts {
		p.countBefore += record.Count
	}
	p.workTotal = 0
	for _, s := range st.missing {
		p.workTotal += s.work
	}
	p.countTotal = 0
	if st.task.workIsCount {
		p.countTotal = p.countBefore + p.workTotal
	}
}

// advance counts captures or what else the task counts, and work, in the unit of Shard.work.
func (p *Progress) advance(count, work int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count += count
	p.work += work
}

// addDone counts a shard.
func (p *Progress) addDone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doneInRun++
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
	took := time.Since(p.started)
	line := fmt.Sprintf("%s/%s shards", screen.Thousands(int64(p.doneBefore+p.doneInRun)), screen.Thousands(int64(p.total)))
	if n := p.countBefore + p.count; n > 0 || p.countTotal > 0 {
		line += "  " + screen.Thousands(n)
		if p.countTotal > 0 {
			line += "/" + screen.Thousands(max(p.countTotal, n))
		}
		line += " " + p.unit
	}
	if p.count > 0 && took >= time.Second {
		line += fmt.Sprintf("  %s/s", screen.Thousands(int64(float64(p.count)/took.Seconds())))
	}
	line += fmt.Sprintf("  %d workers  %d failed  %v", p.workers, p.failed, took.Round(time.Second))
	if left := p.workTotal - p.work; p.work > 0 && left > 0 && p.doneInRun+p.failed < p.total-p.doneBefore {
		line += fmt.Sprintf("  %v left", time.Duration(float64(took)*float64(left)/float64(p.work)).Round(time.Second))
	}
	return line
}
