package cache

import "github.com/robotskit/robots"

// Jittered is the jitter of lives and waits.
var Jittered = jittered

// Merge makes one record of what memory and a store hold.
var Merge = merge

// Hot is the memory of a cache.
type Hot struct{ *memory }

// NewHot returns an empty memory.
func NewHot(limit int64) Hot { return Hot{newMemory(limit)} }

func (h Hot) Put(e Entry)                { h.put(e) }
func (h Hot) Has(o robots.Origin) bool   { return h.get(o) != nil }
func (h Hot) Usage() (n int, size int64) { return h.usage() }
