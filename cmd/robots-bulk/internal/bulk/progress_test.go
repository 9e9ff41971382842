package bulk

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLine: the progress of a run in one line.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Progress
		p.begin(&Status{Shards: 64_000, Done: 2_000}, 2)
		if got, want := p.Line(), "2,000/64,000 shards  2 workers  0 failed  0s"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		time.Sleep(100 * time.Second)
		for range 1_000 {
			p.addDone(ShardCounts{Captures: 910, Rows: 1})
		}
		p.addFailed()
		if got, want := p.Line(), "3,000/64,000 shards  910,000 captures  2 workers  1 failed  1m40s  1h41m40s left"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}
