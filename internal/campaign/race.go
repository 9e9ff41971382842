//go:build race

package campaign

// Race says that the race detector is on: it allocates, and empties pools.
const Race = true
