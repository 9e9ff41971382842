package pace

import (
	"errors"
	"time"

	"github.com/robotskit/robots"
)

// A Tenant is a Local for a limiter that has its sites for a time only. It grants at those
// that it holds: what it keeps of a site at work says until when, so that a decision need
// not look for it. Sites that it does not hold are refused with ErrNotHeld, by Next without
// a reason.
type Tenant struct{ *Local }

// ErrNotHeld says that a Tenant does not hold the site, or not any more.
var ErrNotHeld = errors.New("the site is not held")

// NewTenant returns a Tenant that holds nothing. The error is that of NewLocal.
func NewTenant(o Options) (Tenant, error) {
	l, err := NewLocal(o)
	if err == nil {
		l.tenant = true
	}
	return Tenant{l}, err
}

// tenure says until when a site is held.
type tenure struct {
	number uint32 // 0 if it is not held
	used   bool   // somebody asked about the site, see Leave
	before uint64 // grants up to this id are of an earlier tenure
	// Its end by both clocks of the machine: while that is suspended the one may stand still,
	// and the other may be set.
	until moment
	wall  int64 // in Unix nanoseconds
	site  site  // in place of what Local.sites has
}

func (t *tenure) lasts(l *Local, now time.Time) bool {
	return t.number != 0 && l.moment(now) < t.until && now.UnixNano() < t.wall
}

// Hold begins a tenure, which ends after a time from then on. Its number is above 0, and not
// that of another one of the site.
func (t Tenant) Hold(origin robots.Origin, number uint32, then time.Time, lasts time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := idOf(t.Local, origin)
	a := t.activate(id)
	s, known := t.site(id, a)
	if !known {
		s = fresh
	}
	if a.tenure.number == 0 {
		t.held++
		delete(t.sites, id)
	}
	a.tenure = tenure{number: number, before: t.grants, site: s}
	a.tenure.extend(t.Local, then, lasts)
}

func (t *tenure) extend(l *Local, then time.Time, lasts time.Duration) {
	t.until, t.wall = after(l.moment(then), lasts), then.UnixNano()+int64(lasts)
}

// Extend has the tenure of that number, if it is there, end after a time from then on.
func (t Tenant) Extend(origin robots.Origin, number uint32, then time.Time, lasts time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.active[idOf(t.Local, origin)]; a != nil && a.tenure.number == number {
		a.tenure.extend(t.Local, then, lasts)
	}
}

// End ends the tenure of that number, if it is there. Grants that were given under it are not
// valid any more.
func (t Tenant) End(origin robots.Origin, number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := idOf(t.Local, origin)
	if a := t.active[id]; a != nil && a.tenure.number == number {
		t.end(id, a, t.moment(t.options.Now()))
	}
}

// end ends a tenure. What is known of the site stays as long as it matters and there is room.
func (t Tenant) end(id id, a *active, now moment) {
	t.held--
	s := a.tenure.site
	a.tenure = tenure{}
	if t.uselessFrom(s) > now && !t.full(now) {
		t.sites[id] = s
	}
	t.retire(id, a)
}

// Leave ends the tenure of a site at which nothing goes on, and reports whether it did: if
// used is false only where nobody has asked about the site since it began, or since Leave. The
// number is that of the tenure that it ended or left, 0 if there is none that lasts. The
// history is that of a site that is left: this Tenant may keep none for want of room.
func (t Tenant) Leave(origin robots.Origin, used bool) (number uint32, h History, left bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := idOf(t.Local, origin)
	a := t.active[id]
	if a == nil || a.tenure.number == 0 {
		return 0, h, false
	}
	clock := t.options.Now()
	now := t.moment(clock)
	if !a.tenure.lasts(t.Local, clock) {
		t.end(id, a, now)
		return 0, h, false
	}
	t.endLost(id, a, now)
	number, used = a.tenure.number, used || !a.tenure.used
	a.tenure.used = false
	if left = used && a.idle(); left {
		h, _ = t.history(id, clock)
		t.end(id, a, now)
	}
	return number, h, left
}

// Holds reports whether a site is held.
func (t Tenant) Holds(origin robots.Origin) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.active[idOf(t.Local, origin)]
	return a != nil && a.tenure.lasts(t.Local, t.options.Now())
}

// Held returns how many sites are held, and how many grants there were.
func (t Tenant) Held() (sites int, grants uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held, t.grants
}

// Take is a question of Next: it grants a start now if within is 0, and none if it is below.
func (t Tenant) Take(key Key, s *Schedule, within time.Duration) (Grant, error) {
	return t.take(key, s, within, t.options.GrantTimeout, 0)
}

// Valid reports whether a request may still start on a grant: not when the tenure under which
// it was given has ended, even if there is another one since.
func (t Tenant) Valid(g Grant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, a := t.options.Now(), t.active[idOf(t.Local, g.Key.Origin)]
	return a != nil && g.ID > a.tenure.before && a.tenure.lasts(t.Local, now) && now.Before(g.Until)
}
