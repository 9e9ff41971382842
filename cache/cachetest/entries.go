package cachetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/robotskit/robots/cache"
)

// Numbered returns an entry of the i-th origin that is made from a number, which is its Fence:
// a test can find out which entry it got and, with Difference, whether it is complete.
func Numbered(i int, number uint64) cache.Entry {
	random := rand.New(rand.NewPCG(number, uint64(i)))
	r := Record(Origin(i), strings.Repeat(fmt.Sprintln("Disallow: /", number), 1+random.IntN(100)))
	if random.IntN(2) == 0 {
		r.LastGood = good(fmt.Sprint("before ", number))
	}
	return cache.Entry{Record: r, Fence: number}
}
