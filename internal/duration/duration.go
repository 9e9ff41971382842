// Package duration formats durations and rates for people.
package duration

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

const day = 24 * time.Hour

// Text formats a duration in at most two units: "84 ms", "2.5 s", "5 min", "1 h 30 min",
// "24 h", "3 d 04 h".
func Text(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Text(-max(d, -math.MaxInt64))
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return d.String()
	case d < time.Second:
		return number(d, time.Millisecond) + " ms"
	case d < time.Minute:
		return number(d, time.Second) + " s"
	}
	d = d.Round(time.Second)
	switch {
	case d < time.Hour:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < 2*day:
		return two(d, time.Hour, "h", time.Minute, "min")
	}
	return two(d, day, "d", time.Hour, "h")
}

// number formats a duration, rounded to milliseconds, in a unit.
func number(d, unit time.Duration) string {
	return strconv.FormatFloat(float64(d.Round(time.Millisecond))/float64(unit), 'f', -1, 64)
}

func two(d, big time.Duration, bigUnit string, small time.Duration, smallUnit string) string {
	n := d / big
	rest := d % big / small
	if rest == 0 {
		return fmt.Sprintf("%d %s", n, bigUnit)
	}
	return fmt.Sprintf("%d %s %02d %s", n, bigUnit, rest, smallUnit)
}

// Rate formats an interval as a rate: "one request every 30 s", "5 requests a second".
func Rate(interval time.Duration) string {
	switch {
	case interval <= 0:
		return "no waiting"
	case interval < time.Second && time.Second%interval == 0:
		return strconv.Itoa(int(time.Second/interval)) + " requests a second"
	}
	return "one request every " + Text(interval)
}
