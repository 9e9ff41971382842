package redis

import (
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

// local holds decoded entries and bodies within a bound, in two generations. What
// is used moves to the young one; when that has half of the bound it becomes the
// old one, and what had been old is dropped. An entry here is never an answer of
// its own: it saves decoding the octets that the server, or the client-side cache,
// has given.
type local struct {
	limit int64

	mu         sync.RWMutex
	young, old generation
}

type generation struct {
	entries map[robots.Origin]*decoded
	bodies  map[fetch.Hash][]byte
	size    int64
}

// decoded is an entry with the octets it was decoded from.
type decoded struct {
	question
	raw    string
	entry  cache.Entry
	bodies []body
}

type body struct {
	hash   fetch.Hash
	octets []byte
}

// What an entry and a body cost beside their octets, about.
const (
	entryCost = 1024
	bodyCost  = 128
)

// find returns what is held of an origin, nil for nothing.
func (l *local) find(origin robots.Origin) *decoded {
	l.mu.RLock()
	d := l.young.entries[origin]
	if d != nil {
		l.mu.RUnlock()
		return d
	}
	d = l.old.entries[origin]
	l.mu.RUnlock()
	if d != nil {
		l.keep(origin, d)
	}
	return d
}

// body returns the octets of a body, nil if they are not held.
func (l *local) body(h fetch.Hash) []byte {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if b := l.young.bodies[h]; b != nil {
		return b
	}
	return l.old.bodies[h]
}

// keep holds an entry in place of an earlier one of its origin.
func (l *local) keep(origin robots.Origin, d *decoded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.young.size > l.limit/2 || l.young.entries == nil {
		l.old = l.young
		l.young = generation{entries: map[robots.Origin]*decoded{}, bodies: map[fetch.Hash][]byte{}}
	}
	if was := l.young.entries[origin]; was != nil {
		l.young.size -= was.cost()
	}
	l.young.entries[origin] = d
	l.young.size += d.cost()
	for _, b := range d.bodies {
		if l.young.bodies[b.hash] == nil {
			l.young.bodies[b.hash] = b.octets
			l.young.size += int64(len(b.octets)) + bodyCost
		}
	}
}

func (d *decoded) cost() int64 { return 2*int64(len(d.raw)) + entryCost }

func (l *local) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.young, l.old = generation{}, generation{}
}
