package bulk

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Thousands(0): "0", Thousands(999): "999", Thousands(1000): "1,000", Thousands(-1234567): "-1,234,567", Thousands(-123): "-123",
		Bytes(0): "0 B", Bytes(999): "999 B", Bytes(9100): "9.1 kB", Bytes(123_456): "123 kB", Bytes(26_000_000): "26.0 MB",
		Bytes(3_000_000_000_000): "3.0 TB", Bytes(5_000_000_000_000_000): "5000 TB", rate(12): "12", rate(9100): "9.1 k",
		count(99_999): "99,999", count(3_500_000): "3.5 M",
		Duration(0): "0 s", Duration(59 * time.Second): "59 s", Duration(90 * time.Second): "1 min",
		Duration(124 * time.Minute): "2 h 4 min", Duration(50 * time.Hour): "2 d 2 h",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLine: what a run says of itself.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Progress
		p.begin(&state{shards: 64_000, done: 2_000}, 2)
		if got, want := p.Line(), "2,000/64,000 shards  2 workers  0 failed"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		time.Sleep(100 * time.Second)
		for range 1_000 {
			p.done(Counts{Captures: 910, Rows: 1, Bytes: 2_600_000})
		}
		p.lost()
		if got, want := p.Line(), "3,000/64,000 shards  910 k captures  9.1 k/s  26.0 MB/s  2 workers  1 failed  1 h 41 min left"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}
