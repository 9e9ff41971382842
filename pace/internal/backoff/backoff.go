// Package backoff stretches the interval of an overloaded site. All limiters share it.
package backoff

import "time"

// Max is the largest factor by which a back-off stretches an interval, ten doublings.
const Max = 1 << 10

// least is the shortest interval that is stretched: twice a short time does not help a
// site in trouble. longest bounds the result, unless the schedule itself is slower.
const (
	least   = time.Second
	longest = 24 * time.Hour
)

// BackOff is the back-off of one site. Its factor doubles with every overload and shrinks
// with every usual response by an eighth of the largest value, so that a site that recovers
// is not overloaded again at once. The zero value is no back-off.
type BackOff struct {
	Factor uint16 // of the interval, 2 to Max; 0 for none
	Step   uint16 // by which a usual response shrinks it
}

// After returns the back-off after a response that signals overload, or is a usual one.
func (b BackOff) After(overload, usual bool) BackOff {
	switch {
	case overload:
		f := min(max(b.Factor, 1)*2, Max)
		return BackOff{Factor: f, Step: max(f/8, 1)}
	case usual && b.Factor > b.Step+1:
		b.Factor -= b.Step
		return b
	case usual:
		return BackOff{}
	}
	return b
}

// Interval returns an interval stretched by a factor.
func Interval(interval time.Duration, factor uint16) time.Duration {
	if factor == 0 {
		return interval
	}
	stretched := longest
	if d := max(interval, least); d <= longest/time.Duration(factor) {
		stretched = d * time.Duration(factor)
	}
	return max(interval, stretched)
}
