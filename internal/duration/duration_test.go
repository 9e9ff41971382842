package duration

import (
	"math"
	"testing"
	"time"
)

func TestText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", time.Nanosecond: "1ns", 100 * time.Millisecond: "100 ms", 1234567 * time.Nanosecond: "1 ms",
		2500 * time.Millisecond: "2.5 s", 30 * time.Second: "30 s", 90 * time.Second: "1 min 30 s", 5 * time.Minute: "5 min",
		59*time.Minute + 59*time.Second + 900*time.Millisecond: "1 h", 66 * time.Minute: "1 h 06 min", 26 * time.Hour: "26 h",
		50 * time.Hour: "2 d 02 h", -time.Second: "-1 s", math.MinInt64: "-106751 d 23 h",
	} {
		if got := Text(d); got != want {
			t.Errorf("%d ns\ngot:  %s\nwant: %s", d, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "no waiting", 200 * time.Millisecond: "5 requests a second", 300 * time.Millisecond: "one request every 300 ms",
		90 * time.Second: "one request every 1 min 30 s",
	} {
		if got := Rate(d); got != want {
			t.Errorf("%v\ngot:  %s\nwant: %s", d, got, want)
		}
	}
}
