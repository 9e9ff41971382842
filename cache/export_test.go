package cache

import "time"

// NewAt is New with a wall clock that tests move.
func NewAt(o Options, wall func() time.Time) (*Cache, error) { return newCache(o, wall) }

// Jittered is the jitter of lives and waits.
var Jittered = jittered

// Merge makes one record of what memory and a store hold.
var Merge = merge
