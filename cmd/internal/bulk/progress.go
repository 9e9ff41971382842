package bulk

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Progress is how far a run has come. The zero value is one that has not begun. It is
// safe for concurrent use.
type Progress struct {
	mu      sync.Mutex
	started time.Time
	total   int
	before  int // that were done when this run began
	made    int // in this run
	failed  int
	workers int
	counts  Counts
}

func (p *Progress) begin(st *state, workers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = time.Now()
	p.made, p.counts = 0, Counts{} // of a task that was run before
	p.total, p.before, p.failed, p.workers = st.shards, st.done, 0, workers
}

// done counts a shard.
func (p *Progress) done(c Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	p.counts.Add(c)
}

// lost counts a shard that failed.
func (p *Progress) lost() {
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

// Line says in one line how far it has come.
func (p *Progress) Line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := Thousands(int64(p.before + p.made))
	if p.total > 0 {
		line += "/" + Thousands(int64(p.total))
	}
	line += " shards"
	c := p.counts
	took := max(time.Since(p.started), time.Millisecond).Seconds()
	n, what := c.Captures, "captures"
	if n == 0 {
		n, what = c.Rows, "rows"
	}
	if n > 0 {
		line += "  " + count(n) + " " + what + "  " + rate(float64(n)/took) + "/s"
	}
	if c.Bytes > 0 {
		line += "  " + Bytes(int64(float64(c.Bytes)/took)) + "/s"
	}
	line += fmt.Sprintf("  %d workers  %d failed", p.workers, p.failed)
	if left := p.total - p.before - p.made - p.failed; p.made > 0 && left > 0 {
		line += "  " + Duration(time.Duration(took/float64(p.made)*float64(left)*float64(time.Second))) + " left"
	}
	return line
}

// Thousands writes a number with commas.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short writes a number below a thousand, and the letter for how many thousands it is of.
func short(n float64) (number, letter string) {
	for _, letter := range []string{"", "k", "M", "G", "T"} {
		switch {
		case n >= 1000 && letter != "T":
			n /= 1000
		case n < 100 && letter != "":
			return strconv.FormatFloat(n, 'f', 1, 64), letter
		default:
			return strconv.FormatFloat(n, 'f', 0, 64), letter
		}
	}
	panic("unreachable")
}

// rate writes a number: "950", "9.1 k".
func rate(n float64) string {
	number, letter := short(n)
	if letter == "" {
		return number
	}
	return number + " " + letter
}

// count writes how many there are, exactly if that is short.
func count(n int64) string {
	if n < 100_000 {
		return Thousands(n)
	}
	return rate(float64(n))
}

// Bytes writes a number of bytes: "950 B", "9.1 kB".
func Bytes(n int64) string {
	number, letter := short(float64(n))
	return number + " " + letter + "B"
}

// Duration writes a time as people say it, its largest unit and the next.
func Duration(d time.Duration) string {
	switch s := int64(d.Seconds() + 0.5); {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min", s/60)
	case s < 48*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	default:
		return fmt.Sprintf("%d d %d h", s/86400, s%86400/3600)
	}
}
