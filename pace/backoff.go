package pace

import "time"

// MaxBackOff is the largest factor by which a back-off stretches an interval, ten
// doublings.
const MaxBackOff = 1 << 10

// leastBackOff is the interval that is stretched where the schedule has a shorter
// one, and longestBackOff bounds the outcome unless the schedule itself is
// slower: twice a short time is no relief for a site in trouble, and a thousand
// times 5 minutes is no pace.
const (
	leastBackOff   = time.Second
	longestBackOff = 24 * time.Hour
)

// A BackOff is how far a site has slowed a crawler down. It doubles with every
// overload and shrinks with every usual answer by an eighth of the height it
// reached: quickly up, slowly down, so that a site that recovers is not run over
// again at once. The zero value is none. It is exported for implementations of
// Limiter, which then agree.
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
