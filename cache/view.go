package cache

import (
	"context"
	"time"
	"unsafe"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A View keeps what its owner makes of the records of a Cache, such as the rules of
// one crawler, in memory beside each record: it is made once, however many ask at the
// same time, counts against [Options.Memory], and goes when the record does. So an
// answer is never older than the record and no longer in use than it says
// (Made.Until). It is safe for concurrent use.
//
// Of a record the last four views that were made are kept. Make one View for each
// crawler, not for each question.
type View[T any] struct {
	cache *Cache
	make  func(r *fetch.Record, now time.Time) Made[T]
}

// Made is what a View has made of a record.
type Made[T any] struct {
	Value T
	Bytes int // of memory that Value holds, the record and its bodies left out
	// From and Until say when Value holds: from an instant on, until before another.
	// A zero time is no bound. Of rules, fetch.Record.Span knows them.
	From, Until time.Time
}

// NewView returns a view of the records of c. The function build is called with a
// record as Get returns it and with the present time; it must be safe for concurrent
// use and give the same for the same record from Made.From until Made.Until.
func NewView[T any](c *Cache, build func(r *fetch.Record, now time.Time) Made[T]) *View[T] {
	return &View[T]{cache: c, make: build}
}

// Get returns the record of an origin, as Cache.Get does and with its errors, and
// what the view has made of it.
func (v *View[T]) Get(ctx context.Context, origin robots.Origin) (*fetch.Record, T, error) {
	r, it, now, err := v.cache.get(ctx, origin)
	switch {
	case err != nil:
		var none T
		return nil, none, err
	case it == nil: // memory has no room for the record, or has another by now
		return r, v.make(r, now).Value, nil
	}
	m := it.made(v, r != it.Record, now)
	if m == nil {
		m = v.makeOnce(it, r, now)
	}
	value, _ := m.value.(T) // not ok only for an interface that is nil
	return r, value, nil
}

// makeOnce makes the value of r, the record of an item or its marked copy, unless
// another caller has just done so.
func (v *View[T]) makeOnce(it *item, r *fetch.Record, now time.Time) *made {
	it.making.Lock()
	defer it.making.Unlock()
	marked := r != it.Record
	if m := it.made(v, marked, now); m != nil {
		return m
	}
	n := v.make(r, now)
	m := &made{view: v, marked: marked, value: n.Value, bytes: int64(n.Bytes) + madeCost, from: n.From, until: n.Until}
	v.cache.hot.keep(it, it.place(m), m)
	return m
}

// maxViews is how many views of a record are kept.
const maxViews = 4

// made is what a view has made of the record of an item.
type made struct {
	view        any  // the *View
	marked      bool // of the copy of the record that Cache.marked makes
	from, until time.Time
	value       any
	bytes       int64
}

const madeCost = int64(unsafe.Sizeof(made{}))

// made returns what a view has made of the record of the item, nil if there is nothing
// that holds now.
func (it *item) made(view any, marked bool, now time.Time) *made {
	for i := range it.views {
		m := it.views[i].Load()
		if m != nil && m.view == view && m.marked == marked && !now.Before(m.from) && (m.until.IsZero() || now.Before(m.until)) {
			return m
		}
	}
	return nil
}

// place returns where in an item to keep m: where that is which m replaces, else a
// free place, else the next in turn.
func (it *item) place(m *made) int {
	free := -1
	for i := range it.views {
		switch old := it.views[i].Load(); {
		case old == nil:
			free = i
		case old.view == m.view && old.marked == m.marked:
			return i
		}
	}
	if free < 0 {
		free = it.turn % maxViews
		it.turn++
	}
	return free
}
