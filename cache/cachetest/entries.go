package cachetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/robotskit/robots/cache"
)

// Numbered returns an entry of the i-th origin that is made from a number, which is its Fence:
// a test can find out which entry it got and, with Difference, whether it is complete. Some
// share bodies.
func Numbered(i int, number uint64) cache.Entry {
	random := rand.New(rand.NewPCG(number, uint64(i)))
	r := Record(Origin(i), strings.Repeat(fmt.Sprintln("Disallow: /", number), 1+random.IntN(100)))
	switch random.IntN(3) {
	case 0:
		r = Record(Origin(i), fmt.Sprint("shared ", random.IntN(5)))
	case 1:
		r.LastGood = good(fmt.Sprint("shared ", random.IntN(5)))
	}
	return cache.Entry{Record: r, Fence: number}
}
