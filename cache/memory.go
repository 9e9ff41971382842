package cache

import (
	"bytes"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache/internal/packed"
	"github.com/robotskit/robots/fetch"
)

// memory keeps the most recently used entries within a limit in bytes: the latest ready to use,
// with the rules made from them, and, when these alone exceed the limit, the others deflated, unless
// a Store has them.
type memory struct {
	limit int64
	// evicted is called, without a lock, with the origin of a record that is dropped for lack of
	// room before it expires. It is nil with a Store: to deflate a record that the Store has
	// deflated too takes longer than to read it again.
	evicted func(robots.Origin)

	making sync.Mutex // held by the caller that makes room

	mu        sync.Mutex
	ready     *simplelru.LRU[robots.Origin, *item]
	deflated  *simplelru.LRU[robots.Origin, *deflated] // no origin is in both
	readySize int64
	size      int64 // of both
}

// readyShare is the part of the limit that ready items keep while deflated ones take the rest.
const readyShare = 4

// A deflated entry has not been used lately.
type deflated struct {
	packed  []byte
	fence   uint64
	expires int64 // in nanoseconds since 1970
}

// An item is an entry in memory.
type item struct {
	Entry
	life
	size       int64       // guarded by memory.mu
	packed     []byte      // of the entry if it was deflated before
	refreshing atomic.Bool // a background fetch is in progress

	mu    sync.Mutex
	rules []cachedRules // the latest last
}

// cachedRules are the rules of a record for a crawler.
type cachedRules struct {
	callerCrawler *Crawler // compared first, as that is fastest
	crawler       Crawler
	degraded      bool  // whether the record was
	from, until   int64 // when they apply, in nanoseconds since 1970
	rules         *robots.Rules
	bytes         int64
}

const maxRules = 4 // per item

func newMemory(limit int64, evicted func(robots.Origin)) *memory {
	// No errors: the sizes are valid.
	ready, _ := simplelru.NewLRU[robots.Origin, *item](math.MaxInt, nil)
	old, _ := simplelru.NewLRU[robots.Origin, *deflated](math.MaxInt, nil)
	return &memory{limit: limit, ready: ready, deflated: old, evicted: evicted}
}

// get returns the item of an origin, nil if there is none.
func (m *memory) get(origin robots.Origin) *item {
	m.mu.Lock()
	it, _ := m.ready.Get(origin)
	var old *deflated
	if it == nil {
		old, _ = m.deflated.Peek(origin)
	}
	m.mu.Unlock()
	if old == nil {
		return it
	}
	record, err := packed.Unpack(origin, old.fence, old.packed)
	if err != nil { // a record that no store could keep either
		m.drop(origin)
		return nil
	}
	it = newItem(Entry{record, old.fence})
	it.packed = old.packed
	it.size += int64(len(old.packed))
	m.mu.Lock()
	if now, _ := m.deflated.Peek(origin); now == old {
		m.add(it)
	} else { // inflated, replaced or dropped meanwhile
		it, _ = m.ready.Get(origin)
	}
	m.mu.Unlock()
	m.makeRoom()
	return it
}

func newItem(e Entry) *item { return &item{Entry: e, life: lifeOf(e.Record), size: sizeOf(e.Record)} }

// put keeps an entry and returns its item. An entry that alone exceeds the limit is not kept.
func (m *memory) put(e Entry) *item {
	it := newItem(e)
	if it.size > m.limit { // else all others would be dropped first
		m.drop(e.Record.Origin)
		if m.evicted != nil {
			m.evicted(e.Record.Origin)
		}
		return it
	}
	m.mu.Lock()
	m.add(it)
	m.mu.Unlock()
	m.makeRoom()
	return it
}

// add adds an item instead of that of its origin, with the lock.
func (m *memory) add(it *item) {
	m.remove(it.Record.Origin)
	m.ready.Add(it.Record.Origin, it)
	m.readySize += it.size
	m.size += it.size
}

// remove removes an origin, with the lock.
func (m *memory) remove(origin robots.Origin) {
	if it, ok := m.ready.Peek(origin); ok {
		m.ready.Remove(origin)
		m.readySize -= it.size
		m.size -= it.size
	}
	if old, ok := m.deflated.Peek(origin); ok {
		m.deflated.Remove(origin)
		m.size -= old.bytes(origin)
	}
}

// makeRoom deflates and drops items until the limit is kept. Deflating takes long, so that only
// those wait for it who need room too.
func (m *memory) makeRoom() {
	if _, size := m.usage(); size <= m.limit {
		return
	}
	m.making.Lock()
	defer m.making.Unlock()
	for {
		m.mu.Lock()
		switch {
		case m.size <= m.limit:
			m.mu.Unlock()
			return
		case m.evicted == nil:
			origin, _, _ := m.ready.GetOldest()
			m.remove(origin)
			m.mu.Unlock()
		case m.readySize > m.limit/readyShare || m.deflated.Len() == 0:
			_, it, _ := m.ready.GetOldest()
			m.mu.Unlock()
			m.deflate(it)
		default:
			origin, old, _ := m.deflated.GetOldest()
			m.remove(origin)
			m.mu.Unlock()
			if old.expires > time.Now().UnixNano() {
				m.evicted(origin)
			}
		}
	}
}

// deflate deflates an item that is ready and the oldest, without its rules.
func (m *memory) deflate(it *item) {
	old := &deflated{packed: it.packed, fence: it.Fence, expires: it.life.ahead}
	if old.packed == nil {
		old.packed = bytes.Clone(packed.Pack(it.Fence, it.Record)) // to its length
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	origin := it.Record.Origin
	if now, _ := m.ready.Peek(origin); now != it {
		return
	}
	m.remove(origin)
	m.deflated.Add(origin, old)
	m.size += old.bytes(origin)
}

func (m *memory) drop(origin robots.Origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(origin)
}

func (m *memory) usage() (origins int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready.Len() + m.deflated.Len(), m.size
}

// isOf reports whether rules are those of a crawler.
func (k *cachedRules) isOf(c *Crawler) bool {
	return k.callerCrawler == c || k.crawler.Failure == c.Failure && slices.Equal(k.crawler.Tokens, c.Tokens) && k.crawler.Dialect == c.Dialect
}

// grow changes the size of an item.
func (m *memory) grow(it *item, by int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it.size += by
	if now, _ := m.ready.Peek(it.Record.Origin); now == it {
		m.readySize += by
		m.size += by
	}
}

// rules returns the rules for a crawler by r, which is the record of an item or its degraded
// copy, at a time in nanoseconds since 1970.
func (m *memory) rules(it *item, r *fetch.Record, c *Crawler, now int64) *robots.Rules {
	rules, grown := it.rulesFor(r, c, now)
	if grown != 0 {
		m.grow(it, grown)
		m.makeRoom()
	}
	return rules
}

// rulesFor returns the rules for a crawler, and by how many bytes the item has grown.
func (it *item) rulesFor(r *fetch.Record, c *Crawler, now int64) (rules *robots.Rules, grown int64) {
	it.mu.Lock()
	defer it.mu.Unlock()
	at := len(it.rules) - 1
	for ; at >= 0; at-- {
		if k := &it.rules[at]; k.degraded == r.Degraded && k.isOf(c) {
			if k.from <= now && now < k.until {
				grown = k.size() - k.bytes // by an index that was built
				k.bytes += grown
				return k.rules, grown
			}
			break
		}
	}
	k := cachedRules{callerCrawler: c, crawler: *c, degraded: r.Degraded, rules: c.Failure.Rules(r, c.Dialect, time.Unix(0, now), c.Tokens...)}
	k.crawler.Tokens = slices.Clone(c.Tokens)
	from, until := r.Span(c.Dialect, time.Unix(0, now))
	k.from = nanos(from)
	k.until = nanos(until)
	if until.IsZero() {
		k.until = math.MaxInt64
	}
	k.bytes = k.size()
	grown = k.bytes
	if at < 0 && len(it.rules) == maxRules {
		at = 0
	}
	if at >= 0 {
		grown -= it.rules[at].bytes
		it.rules = slices.Delete(it.rules, at, at+1)
	}
	it.rules = append(it.rules, k)
	return k.rules, grown
}

func (k *cachedRules) size() int64 { return int64(unsafe.Sizeof(*k)) + int64(k.rules.MemoryBytes()) }

// perOrigin is the size of the slot of an origin in an LRU: list element, map slot and keys.
const perOrigin = 3*int64(unsafe.Sizeof(robots.Origin{})) + 128

// bytes estimates the bytes of a deflated entry.
func (d *deflated) bytes(origin robots.Origin) int64 {
	return perOrigin + int64(unsafe.Sizeof(*d)) + int64(len(d.packed)+2*len(origin.Host()))
}

// entryCost is the size of an entry besides its bytes: item, record and slot.
const entryCost = int64(unsafe.Sizeof(item{})+unsafe.Sizeof(fetch.Record{})) + perOrigin

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
