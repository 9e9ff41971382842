package pace

import "time"

// MaxBackOff is the largest factor by which a back-off stretches an interval, ten
// doublings.
const MaxBackOff = 1 << 10

// leastBackOff is the interval that is stretched where the schedule has a shorter one:
// twice a short time does not help a site in trouble. longestBackOff bounds the result,
// unless the schedule itself is slower.
const (
	leastBackOff   = time.Second
	longestBackOff = 24 * time.Hour
)

// A BackOff stretches the interval of a site that is overloaded. Its factor doubles with
// every overload, and shrinks with every usual answer by an eighth of the largest value:
// quickly up and slowly down, so that a site that recovers is not overloaded again at
// once. The zero value is no back-off. It is exported so that all implementations of
// Limiter do the same.
type BackOff struct {
	Factor uint16 // of the interval, 2 to MaxBackOff; 0 for none
	Step   uint16 // by which an answer shrinks it
}

// After returns the back-off after a result.
func (b BackOff) After(r Result) BackOff {
	switch {
	case r.Overload():
		f := min(max(b.Factor, 1)*2, MaxBackOff)
		return BackOff{Factor: f, Step: max(f/8, 1)}
	case r.Recovered() && b.Factor > b.Step+1:
		b.Factor -= b.Step
		return b
	case r.Recovered():
		return BackOff{}
	}
	return b
}

// Interval returns an interval as the back-off stretches it.
func (b BackOff) Interval(interval time.Duration) time.Duration {
	if b.Factor == 0 {
		return interval
	}
	return max(interval, min(times(max(interval, leastBackOff), time.Duration(b.Factor)), longestBackOff))
}
