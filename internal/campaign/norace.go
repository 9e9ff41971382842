//go:build !race

package campaign

// Race reports whether the race detector is on, which allocates and empties pools.
const Race = false
