package bulk

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLine: the progress of a run in one line: what is counted, its rate and the remaining time, also
// within a shard.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := &Task{workIsCount: true}
		st := &Status{Shards: 4, Done: 1, task: task, missing: []Shard{{work: 10_000}, {work: 10_000}, {work: 5_000}}}
		st.doneParts = map[string]partRecord{"00000": {Count: 10_000}}
		var p Progress
		p.begin(st, 2)
		if got, want := p.Line(), "1/4 shards  10,000/35,000 captures  2 workers  0 failed  0s"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		time.Sleep(100 * time.Second)
		p.advance(12_000, 12_000)
		if got, want := p.Line(), "1/4 shards  22,000/35,000 captures  120/s  2 workers  0 failed  1m40s  1m48s left"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		p.addDone()
		p.addFailed()
		p.advance(8_000, 13_000)
		p.addDone()
		if got, want := p.Line(), "3/4 shards  30,000/35,000 captures  200/s  2 workers  1 failed  1m40s"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}
