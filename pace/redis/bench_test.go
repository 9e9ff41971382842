package redis_test

import (
	"slices"
	"time"
)

// rounds measures two things in alternate rounds and returns what one operation of each
// takes, the median of all rounds. So other work on the machine slows both.
func rounds(n, each int, a, b func(i int)) (x, y float64) {
	var as, bs []float64
	at := 0
	for range n {
		for _, m := range []struct {
			f   func(int)
			all *[]float64
		}{{a, &as}, {b, &bs}} {
			began := time.Now()
			for i := range each {
				m.f(at + i)
			}
			*m.all = append(*m.all, float64(time.Since(began).Nanoseconds())/float64(each))
		}
		at += each
	}
	slices.Sort(as)
	slices.Sort(bs)
	return as[n/2], bs[n/2]
}
