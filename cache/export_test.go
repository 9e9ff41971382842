package cache

import "time"

// NewAt is New with a wall clock that tests move.
func NewAt(o Options, wall func() time.Time) (*Cache, error) { return newCache(o, wall) }

// Chance is the jitter of lives and waits.
var Chance = chance

// Joined makes one record of what memory and a store hold.
var Joined = joined
