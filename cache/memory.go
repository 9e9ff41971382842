package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// Memory is a Store in the memory of the process, within a bound in bytes. It is
// a Leaser for the caches that share it.
//
// When it is full it drops entries by the second-chance (CLOCK) algorithm: entries
// form a circle, a new one stands last, and the first that was neither read nor
// written since the last round is dropped, or one that is past its time. What a
// View has made of a record is dropped one round before the record. A reader sets a
// flag under a lock that all readers share, so readers do not wait for each other.
type Memory struct {
	limit int64

	mu     sync.RWMutex
	items  map[robots.Origin]*item
	hand   *item // the next candidate to be dropped, nil if there is none
	bodies map[fetch.Hash]*body
	size   int64
	leases map[robots.Origin]*lease
	token  uint64
	closed bool
}

// item is an entry in the circle.
type item struct {
	Entry
	used   atomic.Bool
	fresh  time.Time                      // until when the record is; here, as a look at the record is a look at other memory
	views  [maxViews]atomic.Pointer[made] // of the record; set under Memory.mu
	until  time.Time                      // worth keeping
	size   int64                          // without bodies
	bodies [2]*body                       // of the record and its last good copy, nil beyond

	before, after *item

	making sync.Mutex // held by the one who makes something of the record
	turn   int        // of its places, for the next one when all are taken
}

// entry returns the entry of an item, the zero value of nil.
func (it *item) entry() Entry {
	if it == nil {
		return Entry{}
	}
	return it.Entry
}

// body is a body with the number of items that refer to it.
type body struct {
	hash    fetch.Hash
	content []byte
	refs    int
}

func (b *body) size() int64 { return int64(len(b.content)) + bodyCost }

type lease struct {
	token uint64
	until time.Time
	ended chan struct{}
}

// NewMemory returns an empty store with room for about limit bytes. The size of an
// entry is an estimate, which TestMemorySize compares with what the runtime measures.
func NewMemory(limit int64) *Memory {
	return &Memory{
		limit:  limit,
		items:  map[robots.Origin]*item{},
		bodies: map[fetch.Hash]*body{},
		leases: map[robots.Origin]*lease{},
	}
}

// Get returns the entry of an origin. The record is shared, not copied.
func (m *Memory) Get(ctx context.Context, origin robots.Origin) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return Entry{}, ErrClosed
	}
	if it := m.items[origin]; it != nil {
		it.used.Store(true)
		return it.Entry, nil
	}
	return Entry{}, ErrAbsent
}

// held is Get for a Cache, which has m in front of its store. It returns nil if
// there is nothing.
func (m *Memory) held(origin robots.Origin) *item {
	it := m.find(origin)
	if it != nil && !it.used.Load() {
		it.used.Store(true)
	}
	return it
}

// find is held by one who has just put the item, which counts as no use.
func (m *Memory) find(origin robots.Origin) *item {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.items[origin]
}

// Put keeps an entry. An entry that alone exceeds the limit is not kept, and neither
// is the one that it would replace.
func (m *Memory) Put(ctx context.Context, e Entry, keep time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.Record == nil || e.Record.Origin.IsZero() {
		return errNoRecord
	}
	it := newItem(e, keep)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if old := m.items[e.Record.Origin]; old != nil && old.Fence > e.Fence {
		return ErrFenced
	}
	m.put(it)
	return nil
}

// replace is Put for a Cache, which has m in front of its store: it ignores fences,
// and, if was is not nil, replaces that item only. It returns the item, which has the
// entry as it is kept, with bodies that it may share.
func (m *Memory) replace(was *item, e Entry, keep time.Duration) *item {
	it := newItem(e, keep)
	m.mu.Lock()
	defer m.mu.Unlock()
	if was == nil || m.items[e.Record.Origin] == was {
		m.put(it)
	}
	return it
}

func newItem(e Entry, keep time.Duration) *item {
	it := &item{Entry: e, fresh: freshUntil(e.Record), until: time.Now().Add(keep), size: sizeOf(e.Record)}
	n := 0
	for h, b := range e.Record.Bodies() {
		it.bodies[n] = &body{hash: h, content: b}
		n++
	}
	return it
}

// put puts an item behind all others, and drops items if there are too many bytes.
func (m *Memory) put(it *item) {
	alone := it.size
	for i, b := range it.bodies {
		if b != nil {
			it.bodies[i] = m.refer(it, b)
			alone += b.size()
		}
	}
	m.size += it.size
	if old := m.items[it.Record.Origin]; old != nil {
		m.remove(old)
	}
	m.items[it.Record.Origin] = it
	m.append(it)
	if alone > m.limit {
		m.remove(it) // or all others would go before it
	}
	m.makeRoom()
}

// append puts an item into the circle, where the hand meets it last.
func (m *Memory) append(it *item) {
	if m.hand == nil {
		m.hand, it.before, it.after = it, it, it
		return
	}
	it.before, it.after = m.hand.before, m.hand
	it.before.after, it.after.before = it, it
}

var errNoRecord = errors.New("the entry has no record, or the record no origin")

// refer counts a reference to a body of the item and returns the body that is kept,
// whose bytes the item then shares.
func (m *Memory) refer(it *item, own *body) *body {
	b := m.bodies[own.hash]
	if b == nil {
		b = &body{hash: own.hash, content: own.content}
		if cap(b.content) > len(b.content)+len(b.content)/4 { // what a reader grew and did not fill
			b.content = append(make([]byte, 0, len(b.content)), b.content...)
		}
		m.bodies[b.hash] = b
		m.size += b.size()
	}
	b.refs++
	r := *it.Record
	if len(r.Body) == len(b.content) && &r.Body[0] == &own.content[0] {
		r.Body = b.content
	}
	if g := r.LastGood; g != nil && len(g.Body) == len(b.content) && fetch.HashOf(g.Body) == b.hash {
		good := *g
		good.Body, r.LastGood = b.content, &good
	}
	it.Record = &r
	return b
}

// remove forgets an item.
func (m *Memory) remove(it *item) {
	delete(m.items, it.Record.Origin)
	if m.hand == it {
		m.hand = it.after
	}
	if m.hand == it {
		m.hand = nil // it was the only one
	}
	it.before.after, it.after.before = it.after, it.before
	m.size -= it.size
	for _, b := range it.bodies {
		if b == nil {
			continue
		}
		if b.refs--; b.refs == 0 {
			delete(m.bodies, b.hash)
			m.size -= b.size()
		}
	}
}

// makeRoom drops items until the rest fits.
func (m *Memory) makeRoom() {
	if m.size <= m.limit {
		return
	}
	now := time.Now()
	for m.size > m.limit && m.hand != nil {
		it := m.hand
		if now.Before(it.until) && (it.used.Swap(false) || m.dropViews(it)) {
			m.hand = it.after
			continue
		}
		m.remove(it)
	}
}

// dropViews drops what was made of the record of an item and reports whether there
// was anything: it costs no fetch to have it again.
func (m *Memory) dropViews(it *item) bool {
	was := it.size
	for i := range it.views {
		if v := it.views[i].Swap(nil); v != nil {
			it.size -= v.bytes
		}
	}
	m.size -= was - it.size
	return it.size < was
}

// keep keeps what was made of the record of an item, in one of its places, unless
// it has no room beside the record.
func (m *Memory) keep(it *item, place int, v *made) {
	m.mu.Lock()
	defer m.mu.Unlock()
	bytes := v.bytes
	if old := it.views[place].Load(); old != nil {
		bytes -= old.bytes
	}
	alone := it.size + bytes
	for _, b := range it.bodies {
		if b != nil {
			alone += b.size()
		}
	}
	if alone > m.limit {
		return
	}
	it.views[place].Store(v)
	it.size += bytes
	if m.items[it.Record.Origin] == it { // else those who have it share what was made
		m.size += bytes
		m.makeRoom()
	}
}

// Delete forgets an origin.
func (m *Memory) Delete(ctx context.Context, origin robots.Origin) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if it := m.items[origin]; it != nil {
		m.remove(it)
	}
	return nil
}

// Close forgets everything.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, l := range m.leases {
		close(l.ended)
	}
	m.items, m.bodies, m.leases, m.hand, m.size = nil, nil, nil, nil, 0
	return nil
}

// Usage is how much a store has.
type Usage struct {
	Origins int
	Bodies  int   // different ones
	Bytes   int64 // of entries, bodies and what views have made, as the store counts them
}

// Usage returns how much the store has.
func (m *Memory) Usage() Usage {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return Usage{len(m.items), len(m.bodies), m.size}
}

// Lease asks for the right to fetch an origin.
func (m *Memory) Lease(ctx context.Context, origin robots.Origin, d time.Duration) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Lease{}, ErrClosed
	}
	now := time.Now()
	if l := m.leases[origin]; l != nil {
		if left := l.until.Sub(now); left > 0 {
			return Lease{Left: left}, nil
		}
		m.end(origin, l)
	}
	for o, l := range m.leases { // drop one that ended by itself, if the map yields such a one
		if !now.Before(l.until) {
			m.end(o, l)
		}
		break
	}
	if it := m.items[origin]; it != nil {
		m.token = max(m.token, it.Fence)
	}
	m.token++
	m.leases[origin] = &lease{m.token, now.Add(d), make(chan struct{})}
	return Lease{Granted: true, Token: m.token, Left: d}, nil
}

func (m *Memory) end(origin robots.Origin, l *lease) {
	delete(m.leases, origin)
	close(l.ended)
}

// Release ends a lease early.
func (m *Memory) Release(ctx context.Context, origin robots.Origin, token uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if l := m.leases[origin]; l != nil && l.token == token {
		m.end(origin, l)
	}
	return nil
}

// Await waits for the end of the lease on an origin.
func (m *Memory) Await(ctx context.Context, origin robots.Origin) error {
	m.mu.RLock()
	l, closed := m.leases[origin], m.closed
	m.mu.RUnlock()
	if closed {
		return ErrClosed
	}
	if l == nil {
		return ctx.Err()
	}
	t := time.NewTimer(time.Until(l.until))
	defer t.Stop()
	select {
	case <-l.ended:
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// What an entry costs beside its bytes: the item, the record and a slot of the map;
// and what a body costs in its map.
const (
	entryCost = int64(unsafe.Sizeof(item{})+unsafe.Sizeof(fetch.Record{})) + 2*(int64(unsafe.Sizeof(robots.Origin{}))+8)
	bodyCost  = int64(unsafe.Sizeof(body{})) + 2*int64(unsafe.Sizeof(fetch.Hash{})) + 16
)

// sizeOf estimates the bytes of a record without its bodies.
func sizeOf(r *fetch.Record) int64 {
	n := entryCost + int64(len(r.URL)+len(r.Detail)+len(r.StatedBy)+2*len(r.Origin.Host()))
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
		n += int64(unsafe.Sizeof(*g)) + int64(len(g.URL))
	}
	return n
}
