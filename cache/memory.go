package cache

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// memory keeps the most recently used entries, with the rules made from them, within a limit
// in bytes.
type memory struct {
	limit int64

	mu   sync.Mutex
	lru  *simplelru.LRU[robots.Origin, *item]
	size int64
}

// An item is an entry in memory.
type item struct {
	Entry
	life
	size       int64       // guarded by memory.mu
	refreshing atomic.Bool // a background fetch is in progress

	mu    sync.Mutex
	rules []madeRules // the latest last
}

// madeRules are the rules of a record for a crawler.
type madeRules struct {
	of          *Crawler // compared first, as that is fastest
	crawler     Crawler
	degraded    bool  // whether the record was
	from, until int64 // when they apply, in nanoseconds since 1970
	rules       *robots.Rules
	bytes       int64
}

const mostRules = 4 // per item

func newMemory(limit int64) *memory {
	l, _ := simplelru.NewLRU[robots.Origin, *item](math.MaxInt, nil) // no error: the size is valid
	return &memory{limit: limit, lru: l}
}

// get returns the item of an origin, nil if there is none.
func (m *memory) get(origin robots.Origin) *item {
	m.mu.Lock()
	defer m.mu.Unlock()
	it, _ := m.lru.Get(origin)
	return it
}

// put keeps an entry and returns its item. An entry that alone exceeds the limit is not kept.
func (m *memory) put(e Entry) *item {
	it := &item{Entry: e, life: lifeOf(e.Record), size: sizeOf(e.Record)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.lru.Peek(e.Record.Origin); ok {
		m.size -= old.size
	}
	m.lru.Add(e.Record.Origin, it)
	m.size += it.size
	if it.size > m.limit { // else all others would be dropped first
		m.lru.Remove(e.Record.Origin)
		m.size -= it.size
	}
	m.makeRoom()
	return it
}

func (m *memory) makeRoom() {
	for m.size > m.limit {
		_, it, ok := m.lru.RemoveOldest()
		if !ok {
			return
		}
		m.size -= it.size
	}
}

func (m *memory) drop(origin robots.Origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if it, ok := m.lru.Peek(origin); ok {
		m.lru.Remove(origin)
		m.size -= it.size
	}
}

func (m *memory) usage() (origins int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lru.Len(), m.size
}

// isOf reports whether rules are those of a crawler.
func (k *madeRules) isOf(c *Crawler) bool {
	return k.of == c || k.crawler.Failure == c.Failure && slices.Equal(k.crawler.Tokens, c.Tokens) && k.crawler.Dialect == c.Dialect
}

// grow changes the size of an item.
func (m *memory) grow(it *item, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it.size += bytes
	if now, _ := m.lru.Peek(it.Record.Origin); now == it {
		m.size += bytes
		m.makeRoom()
	}
}

// rules returns the rules for a crawler by r, which is the record of an item or its degraded
// copy, at a time in nanoseconds since 1970.
func (m *memory) rules(it *item, r *fetch.Record, c *Crawler, now int64) *robots.Rules {
	it.mu.Lock()
	defer it.mu.Unlock()
	at := len(it.rules) - 1
	for ; at >= 0; at-- {
		if k := &it.rules[at]; k.degraded == r.Degraded && k.isOf(c) {
			if k.from <= now && now < k.until {
				return k.rules
			}
			break
		}
	}
	k := madeRules{of: c, crawler: *c, degraded: r.Degraded, rules: c.Failure.Rules(r, c.Dialect, time.Unix(0, now), c.Tokens...)}
	k.crawler.Tokens = slices.Clone(c.Tokens)
	from, until := r.Span(c.Dialect, time.Unix(0, now))
	if k.from, k.until = nanos(from), nanos(until); until.IsZero() {
		k.until = math.MaxInt64
	}
	k.bytes = int64(unsafe.Sizeof(k)) + int64(k.rules.MemoryBytes())
	more := k.bytes
	if at < 0 && len(it.rules) == mostRules {
		at = 0
	}
	if at >= 0 {
		more -= it.rules[at].bytes
		it.rules = slices.Delete(it.rules, at, at+1)
	}
	it.rules = append(it.rules, k)
	m.grow(it, more)
	return k.rules
}

// entryCost is the size of an entry besides its bytes: item, record, list element and map
// slot.
const entryCost = int64(unsafe.Sizeof(item{})+unsafe.Sizeof(fetch.Record{})) + 3*int64(unsafe.Sizeof(robots.Origin{})) + 96

// sizeOf estimates the bytes of a record.
func sizeOf(r *fetch.Record) int64 {
	n := entryCost + int64(cap(r.Body)+len(r.URL)+len(r.Detail)+len(r.StatedBy)+2*len(r.Origin.Host()))
	for i := range r.Hops {
		h := &r.Hops[i]
		n += int64(unsafe.Sizeof(*h)) + int64(len(h.URL)+len(h.Address)+len(h.Location))
	}
	if len(r.Header) > 0 {
		n += 48 + 300*int64(1+(len(r.Header)-1)/8)
		for k, v := range r.Header {
			n += int64(len(k) + len(v))
		}
	}
	if g := r.LastGood; g != nil {
		n += int64(unsafe.Sizeof(*g)) + int64(len(g.URL)+cap(g.Body))
	}
	return n
}
