package redistest

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestClock: SetClock moves the clock; otherwise other tests of clocks would pass without it.
func TestClock(t *testing.T) {
	s := Start(t, Options{Clock: true})
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, -1500 * time.Millisecond, 0} {
		s.SetClock(ahead)
		seconds, _, _ := strings.Cut(strings.Trim(s.Do("EVAL", "return redis.call('TIME')[1]", "0"), "[]"), " ")
		n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Until(time.Unix(n, 0)) - ahead; off.Abs() > 2*time.Second {
			t.Errorf("moved by %v, off by %v", ahead, off)
		}
	}
}
