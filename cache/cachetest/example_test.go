package cachetest_test

import (
	"fmt"
	"testing"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
)

// A store of your own is held against the contract by one test in its package. Each
// part of the suite opens an empty store. A store that fails is told by the tests'
// names, such as TestConformance/fences.
func Example() {
	// In your_test.go this is func TestConformance(t *testing.T).
	testConformance := func(t *testing.T) {
		cachetest.Run(t, func(t *testing.T) cache.Store {
			return cache.NewMemory(1 << 30) // open your store here, empty
		})
	}
	fmt.Println("passes:", run(testConformance))
	// Output: passes: true
}
