package cachetest_test

import (
	"fmt"
	"testing"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
)

// One test checks your own store against the contract. It runs the parts of the suite as
// subtests, such as TestConformance/fences.
func Example() {
	// In your_test.go this is func TestConformance(t *testing.T).
	testConformance := func(t *testing.T) {
		cachetest.Run(t, func(t *testing.T) cache.Store {
			return cachetest.NewMemory() // open your store here, empty
		})
	}
	fmt.Println("passes:", run(testConformance))
	// Output: passes: true
}
