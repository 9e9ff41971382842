package cache

import (
	"time"

	"github.com/robotskit/robots"
)

// Jittered randomizes lifetimes and waits.
var Jittered = jittered

// Merge merges the records of memory and store.
var Merge = merge

// Sane bounds the times of a record.
var Sane = withinBounds

// Hot is the memory of a cache.
type Hot struct{ *memory }

// NewHot returns an empty memory.
func NewHot(limit int64) Hot { return Hot{newMemory(limit, func(robots.Origin) {})} }

func (h Hot) Put(e Entry)              { h.put(e) }
func (h Hot) Has(o robots.Origin) bool { return h.get(o) != nil }
func (h Hot) Rules(o robots.Origin, c *Crawler) *robots.Rules {
	it := h.get(o)
	return h.rules(it, it.Record, c, time.Now().UnixNano())
}

// DeflateAll deflates all entries.
func (h Hot) DeflateAll() {
	for _, it := range h.ready.Values() {
		h.deflate(it)
	}
}
func (h Hot) Usage() (n int, size int64) { return h.usage() }
