// Package pacetest has the tests that every pace.Limiter must pass, whether it serves one
// process or shares a store. A limiter's own test calls [Run], as the example does.
package pacetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// A Subject is a limiter under test.
type Subject struct {
	// New returns a limiter without any state. It is called once for each test.
	New func(t *testing.T, o pace.Options) pace.Limiter
	// Forgets says that the limiter might lose its memory: a site that it does not know
	// counts as requested now, and StartFetch records one. Otherwise such a site is ready.
	Forgets bool
	// Unit is the interval in which the tests count, 100 ms if 0: long compared with a
	// call. Under testing/synctest, where time costs nothing, anything.
	Unit time.Duration
	// Slack is by how much the clocks of the limiter and of the test might
	// disagree over one interval. 0 for the same clock.
	Slack time.Duration
	// Within runs one test, in a bubble of testing/synctest for example, which is
	// synctest.Test itself. Nil runs it on the machine's clock.
	Within func(t *testing.T, test func(*testing.T))
}

// Run runs all tests of the contract as subtests of t, one after another. They take about
// 200 units, with Forgets twice as many.
func Run(t *testing.T, s Subject) {
	if s.Unit == 0 {
		s.Unit = 100 * time.Millisecond
	}
	for _, test := range [...]struct {
		name string
		run  func(*run)
	}{
		{"UnknownSite", unknownSite},
		{"IntervalFromEnd", intervalFromEnd},
		{"Within", within},
		{"Unused", unused},
		{"Expires", expires},
		{"Lifetime", lifetime},
		{"Untrusted", untrusted},
		{"AddressOfRequest", addressOfRequest},
		{"AddressOfFetch", addressOfFetch},
		{"StartMissed", startMissed},
		{"StartAgain", startAgain},
		{"StartFetch", startFetch},
		{"FetchFirst", fetchFirst},
		{"Fetched", fetchedSite},
		{"Requested", requested},
		{"BackOff", backOff},
		{"RetryAfter", retryAfter},
		{"Closed", closed},
		{"ContextEnds", contextEnds},
		{"DeadlineBeforeStart", deadlineBeforeStart},
		{"ManyCallers", manyCallers},
		{"Concurrency", concurrency},
		{"TryChooses", tryChooses},
		{"TryReleases", tryReleases},
		{"TryMany", tryMany},
	} {
		t.Run(test.name, func(t *testing.T) {
			if s.Within == nil {
				test.run(&run{T: t, Subject: s})
				return
			}
			s.Within(t, func(t *testing.T) { test.run(&run{T: t, Subject: s}) })
		})
	}
}

type run struct {
	*testing.T
	Subject
	limiter pace.Limiter
	last    time.Time // before the call from which the next interval counts
}

var ok = pace.Result{Status: 200}

func (r *run) make(o pace.Options) {
	if o.AddressInterval == 0 {
		o.AddressInterval = r.Unit
	}
	r.limiter = r.New(r.T, o)
}

func (r *run) now() time.Time {
	return time.Now() //nolint:forbidigo // the suite runs on the machine's clock, or on that of a synctest bubble
}

func (r *run) pass(units float64) {
	time.Sleep(time.Duration(units * float64(r.Unit))) //nolint:forbidigo // see now
}

// passTo sleeps until an instant has come, also by the clock of the limiter.
func (r *run) passTo(at time.Time) {
	time.Sleep(time.Until(at) + r.Slack + r.Unit/2) //nolint:forbidigo // see now
}

// every returns a schedule of one request in so many units.
func (r *run) every(units int) *pace.Schedule {
	s, err := pace.NewSchedule(nil, pace.Policy{Default: time.Duration(units) * r.Unit})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func (r *run) origin(host string) robots.Origin {
	o, _, err := robots.ParseURL("http://" + host + ".example/")
	if err != nil {
		r.Fatal(err)
	}
	return o
}

// sites returns requests for sites, at an interval of so many units, that are ready: the
// limiter knows them, and the interval has passed.
func (r *run) sites(units int, hosts ...string) []pace.Request {
	r.Helper()
	list := make([]pace.Request, len(hosts))
	s := r.every(units)
	for i, host := range hosts {
		list[i] = pace.Request{Origin: r.origin(host), Schedule: s}
		if r.Forgets {
			r.fetch(list[i].Origin, "")
		}
	}
	if r.Forgets {
		r.passTo(r.now().Add(time.Duration(units) * r.Unit))
	}
	return list
}

// known has the limiter know an address at an interval of so many units, and waits until it
// is ready.
func (r *run) known(units int, addr string) {
	r.Helper()
	if r.Forgets {
		r.fetch(r.origin("known"), addr)
		r.passTo(r.now().Add(time.Duration(units) * r.Unit))
	}
}

func (r *run) site(units int, host string) pace.Request {
	r.Helper()
	return r.sites(units, host)[0]
}

func (r *run) try(req ...pace.Request) []pace.Permit {
	r.Helper()
	return r.tryUpTo(len(req), req...)
}

func (r *run) tryUpTo(k int, req ...pace.Request) []pace.Permit {
	r.Helper()
	permits, err := r.limiter.Try(r.Context(), req, k)
	if err != nil {
		r.Fatal(err)
	}
	if len(permits) != len(req) {
		r.Fatalf("%d answers to %d requests", len(permits), len(req))
	}
	for i, p := range permits {
		switch {
		case p.Origin != req[i].Origin || p.Schedule != req[i].Schedule:
			r.Fatalf("answer %d is about %s, want %s", i, p.Origin, req[i].Origin)
		case len(p.Reasons) == 0:
			r.Errorf("answer %d has no reasons", i)
		case p.OK() && (p.StartBy.Before(p.Start) || p.Expires.Before(p.StartBy)):
			r.Errorf("a permit starts at %s, by %s, and expires at %s", p.Start, p.StartBy, p.Expires)
		}
	}
	return permits
}

// acquired returns the permit of a site that is ready. A limiter with a server might take the time
// of a slow call for a step of its clock, so on a busy machine the next call gets the permit.
func (r *run) acquired(req pace.Request) pace.Permit {
	r.Helper()
	for range slowCalls {
		p := r.try(req)[0]
		if p.OK() {
			return p
		}
		_, busy := reason(p, pace.CauseBusy)
		_, unreachable := reason(p, pace.CauseDegraded)
		if late := p.NotBefore.Sub(r.now()) > req.Schedule.Slowest()/2; busy || late && !unreachable {
			r.Fatalf("no permit for %s, want one at once: %s", p.Origin, p)
		}
		r.pass(0.1)
	}
	r.Fatalf("no permit for %s", req.Origin)
	return pace.Permit{}
}

// slowCalls is how many calls might be slow one after another.
const slowCalls = 1000

// refused returns the refusal of a site that is not ready.
func (r *run) refused(req pace.Request, want pace.Cause) pace.Permit {
	r.Helper()
	p := r.try(req)[0]
	if p.OK() {
		r.Fatalf("a permit, want none: %s", want)
	}
	if _, is := reason(p, want); !is {
		r.Fatalf("the reasons are %v, want %s among them", p.Reasons, want)
	}
	return p
}

// reason returns the reason with that cause.
func reason(p pace.Permit, cause pace.Cause) (pace.Reason, bool) {
	i := slices.IndexFunc(p.Reasons, func(x pace.Reason) bool { return x.Cause == cause })
	if i < 0 {
		return pace.Reason{}, false
	}
	return p.Reasons[i], true
}

// looked returns the answer for a site without acquiring a permit.
func (r *run) looked(req pace.Request) pace.Permit {
	r.Helper()
	return r.tryUpTo(0, req)[0]
}

// A start is one request: the call of Start and its return. Its reserved time is between
// these, however busy the machine is.
type start struct{ called, returned time.Time }

// address returns an address, and for "" that of a request through a proxy.
func address(s string) (addr netip.Addr) {
	if s != "" {
		addr = netip.MustParseAddr(s)
	}
	return addr
}

// start starts the request of a permit.
func (r *run) start(p pace.Permit, addr string) start {
	r.Helper()
	called := r.now()
	if err := r.limiter.Start(r.Context(), p, address(addr)); err != nil {
		r.Error(err)
	}
	return start{called, r.now()}
}

// fetch starts a fetch of robots.txt.
func (r *run) fetch(o robots.Origin, addr string) start {
	r.Helper()
	called := r.now()
	if err := r.limiter.StartFetch(r.Context(), o, address(addr)); err != nil {
		r.Error(err)
	}
	return start{called, r.now()}
}

// missed checks that a permit starts nothing.
func (r *run) missed(p pace.Permit) {
	r.Helper()
	if err := r.limiter.Start(r.Context(), p, netip.Addr{}); !errors.As(err, new(*pace.MissedError)) {
		r.Errorf("Start with a permit that has ended: %v, want a MissedError", err)
	}
}

// apart checks that a start is so many units after another.
func (r *run) apart(first, next start, units float64) {
	r.Helper()
	got := next.returned.Sub(first.called)
	want := time.Duration(units * float64(r.Unit))
	if got < want-r.Slack {
		r.Errorf("two starts are %s apart, want %s", got, want)
	}
}

func (r *run) release(p pace.Permit, result pace.Result) {
	r.Helper()
	r.last = r.now()
	if err := r.limiter.Release(r.Context(), p, result); err != nil {
		r.Fatal(err)
	}
}

// about checks that an instant is so many units after the last release: not earlier, and
// not later than if that had been now, up to half a unit for what a shared limiter knows of
// its server's clock. How busy the machine is does not matter.
func (r *run) about(at time.Time, units float64) {
	r.Helper()
	interval := time.Duration(units * float64(r.Unit))
	early := r.last.Add(interval).Sub(at)
	late := at.Sub(r.now().Add(interval))
	if early > r.Slack || late > r.Slack+r.Unit/2 {
		r.Errorf("%s too early or %s too late for %.2f units", early, late, units)
	}
}

// requested: a request without a permit starts the interval of an origin again, known or not, and ends
// no permit.
func requested(r *run) {
	r.make(pace.Options{})
	known := r.site(4, "known")
	unknown := pace.Request{Origin: r.origin("unknown"), Schedule: r.every(4)}
	for _, req := range []pace.Request{known, unknown} {
		r.last = r.now()
		r.limiter.Requested(r.Context(), req.Origin)
		r.about(r.refused(req, pace.CauseDefault).NotBefore, 4)
	}
	r.passTo(r.looked(unknown).NotBefore)
	p := r.acquired(known)
	r.limiter.Requested(r.Context(), known.Origin)
	r.refused(known, pace.CauseBusy)
	r.release(p, ok)
	r.about(r.refused(known, pace.CauseDefault).NotBefore, 4)
}

// fetchedSite: a request starts at least an interval after its robots.txt was read. A time in the
// future has no effect.
func fetchedSite(r *run) {
	r.make(pace.Options{})
	req := pace.Request{Origin: r.origin("read"), Schedule: r.every(4)}
	if r.Forgets {
		r.passTo(r.refused(req, pace.CauseDefault).NotBefore)
	}
	r.last = r.now()
	req.Fetched = r.last
	r.about(r.refused(req, pace.CauseDefault).NotBefore, 4)
	p, err := r.limiter.Acquire(r.Context(), req)
	if err != nil {
		r.Fatal(err)
	}
	if early := r.last.Add(4 * r.Unit).Sub(r.now()); early > r.Slack {
		r.Errorf("acquired %s too early", early)
	}
	r.last = r.now()
	r.release(p, pace.Result{Status: 200})
	req.Fetched = r.last.Add(time.Hour)
	r.about(r.refused(req, pace.CauseDefault).NotBefore, 4)
}

// unknownSite: a limiter that forgets takes a site that it does not know for one that was
// requested a moment ago, once. A fetch of robots.txt counts as a request there.
func unknownSite(r *run) {
	r.make(pace.Options{})
	req := pace.Request{Origin: r.origin("unknown"), Schedule: r.every(4)}
	fetched := r.origin("fetched")
	r.last = r.now()
	r.fetch(fetched, "")
	r.pass(2)
	if r.Forgets {
		r.about(r.refused(pace.Request{Origin: fetched, Schedule: req.Schedule}, pace.CauseDefault).NotBefore, 4)
		r.last = r.now()
		p := r.refused(req, pace.CauseDefault)
		r.about(p.NotBefore, 4)
		r.passTo(p.NotBefore)
	}
	r.acquired(pace.Request{Origin: fetched, Schedule: req.Schedule})
	r.acquired(req)
}

func intervalFromEnd(r *run) {
	r.make(pace.Options{})
	req := r.site(4, "end")
	p := r.acquired(req)
	r.pass(2)
	r.release(p, ok)
	at := r.looked(req).NotBefore
	r.about(at, 4)
	r.passTo(at)
	r.release(r.acquired(req), ok)
	slow := req
	slow.Schedule = r.every(80) // as of a changed robots.txt
	r.about(r.refused(slow, pace.CauseDefault).NotBefore, 80)
	r.about(r.looked(req).NotBefore, 4)
}

func within(r *run) {
	r.make(pace.Options{})
	req := r.site(8, "within")
	r.release(r.acquired(req), ok)
	req.Within = 4 * r.Unit
	r.refused(req, pace.CauseDefault)
	req.Within = 16 * r.Unit
	p := r.acquired(req)
	r.about(p.Start, 8)
	r.refused(req, pace.CauseBusy)
	if s := r.start(p, ""); s.returned.Add(r.Slack).Before(p.Start) {
		r.Errorf("Start returns %s before the start", p.Start.Sub(s.returned))
	}
}

// unused: a permit that is released as unused costs its site nothing, and the address that
// it started at one interval.
func unused(r *run) {
	r.make(pace.Options{AddressInterval: 2 * r.Unit})
	list := r.sites(8, "unused", "next", "then")
	r.release(r.acquired(list[0]), pace.Result{Unused: true})
	r.release(r.acquired(list[0]), ok)
	r.refused(list[0], pace.CauseDefault)
	p := r.acquired(list[1])
	first := r.start(p, "192.0.2.1")
	r.release(p, pace.Result{Unused: true})
	r.acquired(list[1])
	r.apart(first, r.start(r.acquired(list[2]), "192.0.2.1"), 2)
}

// expires: a permit that is not released ends, starts nothing then, and a late or second release
// ends no other and doubles no back-off.
func expires(r *run) {
	r.make(pace.Options{Lifetime: 6 * r.Unit})
	req := r.site(8, "expires")
	p := r.acquired(req)
	r.pass(1)
	r.refused(req, pace.CauseBusy)
	r.passTo(p.Expires)
	r.missed(p)
	r.passTo(r.refused(req, pace.CauseDefault).NotBefore)
	next := r.acquired(req)
	r.release(p, pace.Result{Status: 503, RetryAfter: 30 * r.Unit})
	r.refused(req, pace.CauseBusy)
	r.release(next, ok)
	r.release(next, pace.Result{Status: 503})
	r.release(pace.Permit{Origin: req.Origin}, pace.Result{Status: 503}) // not a permit
	refusal := r.refused(req, pace.CauseRetryAfter)                      // of a late response
	if _, backsOff := reason(refusal, pace.CauseBackOff); backsOff {
		r.Error("the back-off of a permit that has ended counts")
	}
}

// lifetime: a permit with a lifetime of its own is released by its id alone. If it is not,
// its request counts as timed out.
func lifetime(r *run) {
	r.make(pace.Options{Lifetime: r.Unit})
	req := r.site(1, "lifetime")
	req.Lifetime = max(10*r.Unit, time.Second)
	p := r.acquired(req)
	if got := p.Expires.Sub(p.Start); got < req.Lifetime-r.Slack || got > req.Lifetime+time.Second {
		r.Errorf("a permit expires %s after its start, want %s", got, req.Lifetime)
	}
	r.pass(4)
	r.refused(req, pace.CauseBusy) // Options.Lifetime is not for it
	r.release(pace.Permit{ID: p.ID, Origin: req.Origin}, ok)
	r.pass(1.5)
	p = r.acquired(req)
	r.passTo(p.Expires)
	base := max(r.Unit, time.Second)
	for range 2 {
		refusal := r.refused(req, pace.CauseBackOff)
		if x, _ := reason(refusal, pace.CauseBackOff); x.Interval != 2*base {
			r.Errorf("the interval after a permit has expired is %s, want %s", x.Interval, 2*base)
		}
		r.release(p, pace.Result{Status: 503}) // too late
	}
}

// untrusted: a permit of an untrusted client that expires only ends: it neither begins nor doubles a
// back-off.
func untrusted(r *run) {
	r.make(pace.Options{})
	req := r.site(1, "untrusted")
	req.Lifetime = max(2*r.Unit, time.Second)
	req.Untrusted = true
	expire := func() (backOff time.Duration, next time.Time) {
		r.Helper()
		p := r.acquired(req)
		r.refused(req, pace.CauseBusy)
		r.passTo(p.Expires)
		look := r.looked(req)
		x, _ := reason(look, pace.CauseBackOff)
		return x.Interval, look.NotBefore
	}
	backOff, next := expire()
	if backOff != 0 {
		r.Errorf("after a permit of an untrusted client has expired, the back-off is %s", backOff)
	}
	r.passTo(next)
	r.release(r.acquired(req), pace.Result{Status: 503})
	r.passTo(r.refused(req, pace.CauseBackOff).NotBefore)
	if backOff, _ := expire(); backOff > 2*max(r.Unit, time.Second) {
		r.Errorf("an expired permit of an untrusted client increases the back-off to %s", backOff)
	}
}

// addressOfRequest: the address of a request is reserved with the permit, or neither is.
func addressOfRequest(r *run) {
	r.make(pace.Options{AddressInterval: 60 * r.Unit})
	list := r.sites(1, "addr0", "addr1", "addr2", "addr3")
	for i, ahead := range []time.Duration{0, 30 * r.Unit, 100 * r.Unit, 0} {
		list[i].Addr = netip.MustParseAddr("192.0.2.1")
		list[i].Within = ahead
		list[i].Lifetime = 12 * time.Hour
	}
	permits := r.try(list...)
	if permits[1].OK() || permits[1].Reasons[0].Cause != pace.CauseAddress {
		r.Errorf("a permit within less than the interval of the address: %t, %s", permits[1].OK(), permits[1])
	}
	if !permits[2].OK() || permits[3].OK() {
		r.Fatalf("the third and the fourth have a permit: %t and %t, want the third alone", permits[2].OK(), permits[3].OK())
	}
	if d := permits[2].Start.Sub(permits[0].Start); d < 60*r.Unit-r.Slack {
		r.Errorf("two starts at the address are %s apart, want %s", d, 60*r.Unit)
	}
	if d := permits[2].Expires.Sub(permits[2].Start); d < list[2].Lifetime-r.Slack || d > list[2].Lifetime+r.Slack {
		r.Errorf("a permit whose start the address moved expires %s after it, want %s", d, list[2].Lifetime)
	}
	list[1].Addr = netip.Addr{}
	r.acquired(list[1]) // nothing of it was held
}

// addressOfFetch: a request gets its start at an address that was requested a moment ago for a
// robots.txt, though that is further ahead than Within.
func addressOfFetch(r *run) {
	const addr = "192.0.2.1"
	r.make(pace.Options{FetchInterval: 10 * r.Unit})
	req := r.site(1, "fetched")
	r.known(10, addr)
	first := r.fetch(r.origin("other"), addr)
	req.Addr = address(addr)
	p := r.try(req)[0]
	if !p.OK() || p.Start.Sub(first.called) < 10*r.Unit-r.Slack {
		r.Errorf("%s after a fetch at the address, want a start after %s", p, 10*r.Unit)
	}
}

// startMissed: a start that the address does not have in time is an error and takes nothing.
func startMissed(r *run) {
	r.make(pace.Options{AddressInterval: 20 * r.Unit, Lifetime: 30 * r.Unit})
	list := r.sites(1, "first", "missed", "late")
	addr := netip.MustParseAddr("192.0.2.1")
	r.known(20, addr.String())
	first := r.start(r.acquired(list[0]), addr.String())
	p := r.acquired(list[1])
	after, end := context.WithDeadline(r.Context(), p.StartBy.Add(r.Unit/10)) // which does not matter
	defer end()
	err := r.limiter.Start(after, p, addr)
	missed, is := errors.AsType[*pace.MissedError](err)
	if !is {
		r.Fatalf("a start after StartBy: %v, want a MissedError", err)
	}
	r.last = first.called
	r.about(missed.Permit.NotBefore, 5) // when it is before the StartBy of a new permit
	r.release(p, pace.Result{Unused: true})
	ctx, cancel := context.WithTimeout(r.Context(), 8*r.Unit)
	defer cancel()
	p = r.acquired(list[2])
	if err = r.limiter.Start(ctx, p, addr); !errors.As(err, new(*pace.LateError)) || !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("a start after the deadline: %v, want a LateError", err)
	}
	cancel()
	if err = r.limiter.Start(ctx, p, addr); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("Start with an ended context: %v", err)
	}
	r.release(p, pace.Result{Unused: true})
	r.pass(6)
	for range slowCalls { // a busy machine misses the start of a permit that it has
		p = r.acquired(list[2])
		called := r.now()
		err = r.limiter.Start(r.Context(), p, addr)
		if err == nil {
			r.apart(first, start{called, r.now()}, 20)
			return
		}
		if !errors.As(err, new(*pace.MissedError)) {
			r.Fatal(err)
		}
		r.release(p, pace.Result{Unused: true})
	}
	r.Fatal(err)
}

// startAgain: every start of a permit keeps the interval from the one before.
func startAgain(r *run) {
	r.make(pace.Options{AddressInterval: -1})
	p := r.acquired(r.site(4, "again"))
	first := r.start(p, "192.0.2.1")
	r.apart(first, r.start(p, "192.0.2.1"), 4)
	r.apart(first, r.start(p, "192.0.2.2"), 8)
	r.release(p, ok)
	r.missed(p)
}

// startFetch: requests of several origins at an address, each with its permit, are an interval
// apart. Fetches of robots.txt come between those that are reserved, an interval from each, and do
// not wait for the last of these.
func startFetch(r *run) {
	r.make(pace.Options{AddressInterval: 4 * r.Unit, FetchInterval: r.Unit, Addresses: []pace.AddressPace{
		{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Interval: -1}, {Prefix: netip.MustParsePrefix("203.0.113.0/24"), Interval: 2 * r.Unit},
	}})
	const addr, one, late = "192.0.2.1", "203.0.113.1", "192.0.2.2"
	list := r.sites(1, "page", "w0", "w1", "w2", "one", "two", "late", "later", "look")
	site := list[0].Origin
	first := r.start(r.acquired(list[0]), addr)
	pages := make(chan start, 3)
	fetches := make(chan start, 5)
	for i, addr := range []string{addr, "::ffff:" + addr, addr} {
		p := r.acquired(list[1+i])
		go func() { pages <- r.start(p, addr) }()
	}
	r.reserved(list[8], addr, first.called.Add(16*r.Unit))
	for range cap(fetches) {
		go func() { fetches <- r.fetch(site, addr) }()
	}
	// At 0, 4, 8, 12 the pages and at 1, 2, 3, 5, 6 the fetches: in this order, if all of
	// them keep their distance.
	for _, units := range []float64{1, 2, 3, 5, 6} {
		r.apart(first, <-fetches, units-0.01)
	}
	for i := range cap(pages) {
		r.apart(first, <-pages, float64(4*(i+1)))
	}
	// A fetch too near before a reserved page comes after it.
	r.known(4, late)
	page := r.start(r.acquired(list[6]), late)
	next := r.acquired(list[7])
	go func() { pages <- r.start(next, late) }()
	r.reserved(list[8], late, page.called.Add(8*r.Unit))
	time.Sleep(time.Until(page.called.Add(7 * r.Unit / 2))) //nolint:forbidigo // see now
	r.apart(page, r.fetch(site, late), 5-0.01)
	r.apart(page, <-pages, 4)
	for range 3 { // an address without a rate limit has none for fetches, nor has one that is unknown
		r.fetch(site, "198.51.100.1")
		r.fetch(site, "")
	}
	// The rate limit of a prefix is for both.
	first = r.fetch(site, one)
	r.apart(first, r.start(r.acquired(list[4]), one), 2)
	r.apart(first, r.fetch(site, one), 4)
	r.apart(first, r.start(r.acquired(list[5]), one), 6)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	if err := r.limiter.StartFetch(ctx, site, address(addr)); !errors.Is(err, context.Canceled) {
		r.Errorf("StartFetch with an ended context: %v, want an error that wraps context.Canceled", err)
	}
}

// reserved waits until the starts at an address are reserved up to an instant, by looking at a site.
func (r *run) reserved(req pace.Request, addr string, until time.Time) {
	r.Helper()
	for req.Addr = address(addr); r.looked(req).NotBefore.Before(until.Add(-r.Slack)); {
		r.pass(0.05)
	}
}

// fetchFirst: a fetch does not wait for the pages that have reserved starts.
func fetchFirst(r *run) {
	r.make(pace.Options{AddressInterval: time.Hour, FetchInterval: r.Unit, Lifetime: 12 * time.Hour})
	const addr = "192.0.2.1"
	list := r.sites(1, "page", "next", "look")
	ctx, cancel := context.WithCancel(r.Context())
	var pages sync.WaitGroup
	for _, req := range list[:2] { // one of them now, if the limiter does not forget
		p := r.acquired(req)
		pages.Go(func() { _ = r.limiter.Start(ctx, p, address(addr)) })
	}
	r.reserved(list[2], addr, r.now().Add(90*time.Minute))
	began := r.now()
	for range 3 {
		r.fetch(list[0].Origin, addr)
	}
	if d := r.now().Sub(began); d > 30*time.Minute {
		r.Errorf("three fetches took %s, want none to wait for a page", d)
	}
	cancel()
	pages.Wait()
}

func backOff(r *run) {
	r.make(pace.Options{})
	req := r.site(1, "back")
	base := max(r.Unit, time.Second) // a second at least is stretched
	for i, result := range []pace.Result{{Status: 429}, {Timeout: true}} {
		r.release(r.acquired(req), result)
		p := r.refused(req, pace.CauseBackOff)
		if x, _ := reason(p, pace.CauseBackOff); x.Interval != 2*base<<i {
			r.Errorf("the interval after %d signs of overload is %s, want %s", i+1, x.Interval, 2*base<<i)
		}
		r.about(p.NotBefore, float64(2*base<<i)/float64(r.Unit))
		if i == 0 {
			r.passTo(p.NotBefore)
		}
	}
}

func retryAfter(r *run) {
	r.make(pace.Options{MaxRetryAfter: 30 * r.Unit})
	list := r.sites(1, "retry", "clamped")
	r.release(r.acquired(list[0]), pace.Result{Status: 200, RetryAfter: 10 * r.Unit})
	p := r.refused(list[0], pace.CauseRetryAfter)
	r.about(p.NotBefore, 10)
	r.release(r.acquired(list[1]), pace.Result{Status: 200, RetryAfter: 1000000 * time.Hour})
	r.about(r.refused(list[1], pace.CauseRetryAfter).NotBefore, 30)
	r.passTo(p.NotBefore)
	r.acquired(list[0])
}

// closed: a Visit-time that is not now is later, with the instant.
func closed(r *run) {
	r.make(pace.Options{})
	req := r.site(1, "closed")
	from := r.now().UTC().Add(3 * time.Hour).Truncate(time.Minute)
	body := "User-agent: *\nVisit-time: " + from.Format("1504") + "-" + from.Add(10*time.Minute).Format("1504") + "\n"
	var err error
	if req.Schedule, err = pace.NewSchedule(robots.Parse([]byte(body)).Rules(robots.RFC9309, "x"), pace.Policy{}); err != nil {
		r.Fatal(err)
	}
	if p := r.refused(req, pace.CauseVisitTime); !p.NotBefore.Equal(from) {
		r.Errorf("opens at %s, want %s", p.NotBefore.UTC(), from)
	}
}

func contextEnds(r *run) {
	r.make(pace.Options{})
	list := r.sites(1, "ctx", "other")
	req := list[0]
	p := r.acquired(list[0])
	done := r.acquired(list[1])
	ctx, cancel := context.WithCancel(r.Context())
	results := make(chan error, 3)
	for range cap(results) {
		go func() { _, err := r.limiter.Acquire(ctx, req); results <- err }()
	}
	r.pass(1)
	cancel()
	for range cap(results) {
		if err := <-results; !errors.Is(err, context.Canceled) {
			r.Errorf("Acquire: %v, want an error that wraps context.Canceled", err)
		}
	}
	if _, err := r.limiter.Acquire(ctx, req); !errors.Is(err, context.Canceled) {
		r.Errorf("Acquire with an ended context: %v, want an error that wraps context.Canceled", err)
	}
	// A permit is released also by a caller whose context has ended.
	if err := r.limiter.Release(ctx, p, ok); err != nil {
		r.Error(err)
	}
	if _, err := r.limiter.Try(ctx, []pace.Request{{Origin: req.Origin, Done: done, Result: ok}}, 1); !errors.Is(err, context.Canceled) {
		r.Errorf("Try with an ended context: %v, want an error that wraps context.Canceled", err)
	}
	r.pass(1.5)
	r.acquired(req) // callers that gave up delay no other
	r.acquired(list[1])
}

func deadlineBeforeStart(r *run) {
	r.make(pace.Options{})
	req := r.site(1, "late")
	r.release(r.acquired(req), ok)
	req.Schedule = r.every(500)
	ctx, cancel := context.WithTimeout(r.Context(), 200*r.Unit)
	defer cancel()
	_, err := r.limiter.Acquire(ctx, req)
	late, is := errors.AsType[*pace.LateError](err)
	if !is || !errors.Is(err, context.DeadlineExceeded) {
		r.Fatalf("Acquire: %v, want a LateError", err)
	}
	r.about(late.Permit.NotBefore, 500)
	if ctx.Err() != nil {
		r.Error("a LateError at the deadline, want it at once")
	}
}

// arrivals is the log of a site.
type arrivals struct {
	sync.Mutex
	starts []time.Time
	open   int // requests that have not ended
	most   int // of them at a time
}

func (a *arrivals) begin(t time.Time) {
	a.Lock()
	defer a.Unlock()
	a.starts = append(a.starts, t)
	a.open++
	a.most = max(a.most, a.open)
}

func (a *arrivals) end() {
	a.Lock()
	defer a.Unlock()
	a.open--
}

// spread checks that the starts keep an interval from the first on, and how many requests
// there were at a time. A goroutine might run late after its start, and never early.
func (a *arrivals) spread(r *run, began time.Time, interval time.Duration, most int) {
	r.Helper()
	a.Lock()
	defer a.Unlock()
	if len(a.starts) == 0 || a.most > most {
		r.Errorf("%d starts, %d at a time, want at most %d at a time", len(a.starts), a.most, most)
	}
	slices.SortFunc(a.starts, time.Time.Compare)
	for i, at := range a.starts {
		if least := time.Duration(i)*interval - r.Slack; at.Sub(began) < least {
			r.Errorf("start %d after %s, want at least %s", i, at.Sub(began), least)
		}
	}
}

// polled acquires a permit as Acquire does, by Try.
func (r *run) polled(_ context.Context, req pace.Request) (pace.Permit, error) {
	for {
		if p := r.try(req)[0]; p.OK() {
			return p, nil
		}
		r.pass(0.2)
	}
}

// request makes one request of so many units with a permit, and records it in the logs.
func (r *run) request(ctx context.Context, p pace.Permit, addr netip.Addr, units float64, logs ...*arrivals) error {
	if now := r.now(); now.Add(r.Slack).Before(p.Start) {
		r.Errorf("Acquire returns %s before the start", p.Start.Sub(now))
	}
	if err := r.limiter.Start(ctx, p, addr); err != nil {
		r.release(p, pace.Result{Unused: true})
		return err
	}
	at := r.now()
	for _, a := range logs {
		a.begin(at)
	}
	r.pass(units)
	for _, a := range logs {
		a.end()
	}
	return r.limiter.Release(ctx, p, ok)
}

// manyCallers: many goroutines of Acquire and Try, three sites, two of them on one address; some
// give up.
func manyCallers(r *run) {
	r.make(pace.Options{AddressInterval: r.Unit / 2})
	list := r.sites(1, "m0", "m1", "m2")
	addrs := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	sites := make([]arrivals, len(list))
	shared := make([]arrivals, 2)
	began := r.now()
	callers := 32
	if r.Within != nil {
		callers = 3000
	}
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			n := i % len(list)
			ctx := r.Context()
			acquire := r.limiter.Acquire
			if i%7 == 6 {
				limited, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Duration(i)*r.Unit/10, cancel) //nolint:forbidigo // see now
				ctx = limited
			} else if i < 9 {
				acquire = r.polled
			}
			p, err := acquire(ctx, list[n])
			if err == nil {
				err = r.request(ctx, p, addrs[n], 0.25, &sites[n], &shared[n/2])
			}
			if err != nil && (i%7 != 6 || !errors.Is(err, context.Canceled)) {
				r.Error(err)
			}
		})
	}
	all.Wait()
	for n := range sites {
		sites[n].spread(r, began, r.Unit, 1)
	}
	shared[0].spread(r, began, r.Unit/2, 2)
}

// concurrency: three at a time, with the interval between their starts.
func concurrency(r *run) {
	r.make(pace.Options{Concurrency: 3})
	req := r.site(1, "three")
	began := r.now()
	var site arrivals
	var all sync.WaitGroup
	for range 9 {
		all.Go(func() {
			p, err := r.limiter.Acquire(r.Context(), req)
			if err == nil {
				err = r.request(r.Context(), p, netip.Addr{}, 5, &site)
			}
			if err != nil {
				r.Error(err)
			}
		})
	}
	all.Wait()
	site.spread(r, began, r.Unit, 3)
	if site.most < 3 || len(site.starts) != 9 {
		r.Errorf("%d requests, at most %d at a time, want 9 and 3", len(site.starts), site.most)
	}
}

// which returns the numbers of the permits.
func which(permits []pace.Permit) string {
	var which []int
	for i, p := range permits {
		if p.OK() {
			which = append(which, i)
		}
	}
	return fmt.Sprint(which)
}

// tryChooses: the first k that are ready, and when to try again for all others. With k of 0
// nothing is acquired, and no start is reserved at an address.
func tryChooses(r *run) {
	r.make(pace.Options{AddressInterval: 10 * r.Unit})
	list := r.sites(10, "c0", "c1", "c2", "c3", "c4", "c5", "c6", "twice")
	twice := list[7]
	list = list[:7]
	list[0].Addr = netip.MustParseAddr("192.0.2.9")
	r.known(10, "192.0.2.9")
	busy := r.acquired(list[1])
	r.release(r.acquired(list[3]), ok)
	if got := which(r.tryUpTo(0, list...)); got != "[]" {
		r.Fatalf("with k of 0 the sites %s have permits", got)
	}
	permits := r.tryUpTo(2, list...)
	if got := which(permits); got != "[0 2]" {
		r.Fatalf("of 2 the sites %s have permits, want 0 and 2: 1 is busy, and 3 was requested a moment ago", got)
	}
	if _, is := reason(permits[1], pace.CauseBusy); !is {
		r.Errorf("the reasons of a busy site are %v", permits[1].Reasons)
	}
	r.about(permits[3].NotBefore, 10)
	if at := permits[4].NotBefore; at.After(r.now().Add(r.Slack + r.Unit/2)) {
		r.Errorf("a site that was ready, and not among the first: not before %s", at)
	}
	if got := which(r.tryUpTo(100, list...)); got != "[4 5 6]" {
		r.Fatalf("of the rest the sites %s have permits, want 4, 5 and 6", got)
	}
	if got := which(r.tryUpTo(2, twice, twice)); got != "[0]" {
		r.Fatalf("of one site requested twice %s have permits", got)
	}
	r.release(busy, pace.Result{Unused: true})
	r.acquired(list[1])
}

// tryReleases: what is done is released before the request.
func tryReleases(r *run) {
	r.make(pace.Options{})
	list := r.sites(10, "b0", "b1", "b2")
	permits := r.try(list...)
	if got := which(permits); got != "[0 1 2]" {
		r.Fatalf("the sites %s of 3 have permits", got)
	}
	for i, result := range []pace.Result{{Unused: true}, {Status: 503}, ok} {
		list[i].Done = permits[i]
		list[i].Result = result
	}
	permits = r.try(list...)
	if got := which(permits); got != "[0]" {
		r.Fatalf("the sites %s have permits, want 0, whose start was not used", got)
	}
	if _, backsOff := reason(permits[1], pace.CauseBackOff); !backsOff || !permits[1].NotBefore.After(permits[2].NotBefore) {
		r.Errorf("after a 503 %s, and after a 200 %s", permits[1], permits[2])
	}
}

// tryMany: one call for many sites.
func tryMany(r *run) {
	r.make(pace.Options{})
	hosts := make([]string, 500)
	for i := range hosts {
		hosts[i] = fmt.Sprint("many", i)
	}
	for _, p := range r.try(r.sites(2, hosts...)...) {
		if _, unreachable := reason(p, pace.CauseDegraded); !p.OK() && !unreachable { // a busy machine might answer too late
			r.Errorf("%s is ready, and refused: %s", p.Origin, p)
		}
	}
}
