// Package pacetest has the tests that every pace.Limiter must pass, whether it is for one
// process or shares a store. A limiter's own test calls [Run], as the example does.
package pacetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// A Subject is what is tested.
type Subject struct {
	// New returns a limiter without any state. It is called once for each test.
	New func(t *testing.T, o pace.Options) pace.Limiter
	// Unit is the interval in which the tests count, 100 ms if 0: long enough that
	// a call is short beside it. Under testing/synctest, where time costs nothing,
	// anything.
	Unit time.Duration
	// Slack is by how much the clock of the limiter and that of the test may
	// disagree over one interval. 0 for one and the same clock.
	Slack time.Duration
	// Within runs one test, in a bubble of testing/synctest for example, which is
	// synctest.Test itself. Nil runs it on the machine's clock.
	Within func(t *testing.T, test func(*testing.T))
	// Callers is how many callers are concurrent, 32 if 0.
	Callers int
}

// Run runs all tests of the contract as subtests of t. They run one after
// another and take some 160 units.
func Run(t *testing.T, s Subject) {
	if s.Unit == 0 {
		s.Unit = 100 * time.Millisecond
	}
	if s.Callers == 0 {
		s.Callers = 32
	}
	for _, test := range [...]struct {
		name string
		run  func(*run)
	}{
		{"FirstStartsAtOnce", firstStartsAtOnce},
		{"IntervalFromEnd", intervalFromEnd},
		{"BusyUntilDone", busyUntilDone},
		{"ReserveWithin", reserveWithin},
		{"UnusedGivesBack", unusedGivesBack},
		{"DoneTwice", doneTwice},
		{"GrantTimeout", grantTimeout},
		{"Lent", lent},
		{"AddressIsShared", addressIsShared},
		{"AddressesByPrefix", addressesByPrefix},
		{"VisitMissed", visitMissed},
		{"FetchesBetween", fetchesBetween},
		{"BackOff", backOff},
		{"RetryAfter", retryAfter},
		{"RetryAfterIsClamped", retryAfterIsClamped},
		{"Closed", closed},
		{"ScheduleOfTheCall", scheduleOfTheCall},
		{"ContextEnds", contextEnds},
		{"DeadlineBeforeStart", deadlineBeforeStart},
		{"NotBeforeTakesNothing", notBeforeTakesNothing},
		{"ManyCallers", manyCallers},
		{"Concurrency", concurrency},
		{"NextChooses", nextChooses},
		{"NextGivesBack", nextGivesBack},
		{"NextYields", nextYields},
		{"NextMany", nextMany},
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

func (r *run) make(o pace.Options) {
	if o.AddressInterval == 0 {
		o.AddressInterval = r.Unit
	}
	r.limiter = r.New(r.T, o)
}

func (r *run) now() time.Time { return time.Now() } //nolint:forbidigo // the suite runs on the machine's clock, or on that of a synctest bubble

func (r *run) pass(units float64) {
	time.Sleep(time.Duration(units * float64(r.Unit))) //nolint:forbidigo // see now
}

// passTo sleeps until a turn has come, also by the clock of the limiter.
func (r *run) passTo(turn pace.Turn) {
	time.Sleep(time.Until(turn.Start) + r.Slack + r.Unit/2) //nolint:forbidigo // see now
}

// every returns a schedule of one request in so many units.
func (r *run) every(units int) *pace.Schedule {
	s, err := pace.NewSchedule(nil, pace.Policy{Default: time.Duration(units) * r.Unit})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func (r *run) key(host, addr string) pace.Key {
	o, _, err := robots.ParseURL("http://" + host + ".example/")
	if err != nil {
		r.Fatal(err)
	}
	k := pace.Key{Origin: o}
	if addr != "" {
		k.Addr = netip.MustParseAddr(addr)
	}
	return k
}

func (r *run) reserve(k pace.Key, s *pace.Schedule) pace.Grant {
	r.Helper()
	g, err := r.limiter.Reserve(r.Context(), k, s, 0)
	if err != nil {
		r.Fatal(err)
	}
	return g
}

func (r *run) granted(k pace.Key, s *pace.Schedule) pace.Grant {
	r.Helper()
	g := r.reserve(k, s)
	if !g.OK() {
		r.Fatalf("nothing granted, want a start at once: %s", g.Turn)
	}
	return g
}

func (r *run) refused(k pace.Key, s *pace.Schedule, want pace.Cause) pace.Turn {
	r.Helper()
	g := r.reserve(k, s)
	if g.OK() {
		r.Fatalf("granted, want %s", want)
	}
	if !because(g.Turn, want) {
		r.Fatalf("the reasons are %v, want %s among them", g.Reasons, want)
	}
	return g.Turn
}

// because reports whether a cause is among the reasons of a turn.
func because(t pace.Turn, cause pace.Cause) bool {
	return slices.ContainsFunc(t.Reasons, func(x pace.Reason) bool { return x.Cause == cause })
}

// visit books the address of a grant and returns when its request starts.
func (r *run) visit(g pace.Grant, addr string, s *pace.Schedule) pace.Turn {
	r.Helper()
	turn, err := r.limiter.Visit(r.Context(), g, netip.MustParseAddr(addr), s)
	if err != nil {
		r.Fatal(err)
	}
	if now := r.now(); now.Add(r.Slack).Before(turn.Start) {
		r.Errorf("Visit returns %s before the start", turn.Start.Sub(now))
	}
	return turn
}

func (r *run) done(g pace.Grant, result pace.Result) {
	r.Helper()
	r.last = r.now()
	if err := r.limiter.Done(r.Context(), g, result); err != nil {
		r.Fatal(err)
	}
}

var ok = pace.Result{Status: 200}

// about checks that a turn starts so many units after the last Done: not earlier, and not
// later than if that had been now, but for what a shared limiter knows of its server's
// clock. How busy the machine is does not matter.
func (r *run) about(turn pace.Turn, units float64) {
	r.Helper()
	interval := time.Duration(units * float64(r.Unit))
	if early, late := r.last.Add(interval).Sub(turn.Start), turn.Start.Sub(r.now().Add(interval)); early > r.Slack || late > r.Slack+r.Unit/2 {
		r.Errorf("starts %s too early or %s too late for %.2f units: %v", early, late, units, turn.Reasons)
	}
}

func firstStartsAtOnce(r *run) {
	r.make(pace.Options{})
	for i := range 5 {
		k := r.key(fmt.Sprint("first", i), "")
		r.about(r.granted(k, r.every(10)).Turn, 0)
	}
}

func intervalFromEnd(r *run) {
	r.make(pace.Options{})
	k, s := r.key("end", ""), r.every(4)
	g := r.granted(k, s)
	r.pass(2)
	r.done(g, ok)
	turn, err := r.limiter.NotBefore(r.Context(), k, s)
	if err != nil {
		r.Fatal(err)
	}
	r.about(turn, 4)
	r.passTo(turn)
	r.done(r.granted(k, s), ok)
	r.refused(k, r.every(40), pace.CauseDefault)
}

func busyUntilDone(r *run) {
	r.make(pace.Options{})
	k, s := r.key("busy", ""), r.every(1)
	g := r.granted(k, s)
	r.pass(3)
	r.refused(k, s, pace.CauseBusy)
	r.done(g, ok)
	r.pass(1.5)
	r.granted(k, s)
}

func reserveWithin(r *run) {
	r.make(pace.Options{})
	k, s := r.key("within", ""), r.every(40)
	r.done(r.granted(k, s), ok)
	g, err := r.limiter.Reserve(r.Context(), k, s, 20*r.Unit)
	if err != nil || g.OK() {
		r.Fatalf("granted %t, %v; want nothing within 20 units", g.OK(), err)
	}
	if g, err = r.limiter.Reserve(r.Context(), k, s, 80*r.Unit); err != nil || !g.OK() {
		r.Fatalf("granted %t, %v; want a start within 80 units", g.OK(), err)
	}
	r.about(g.Turn, 40)
	r.refused(k, s, pace.CauseBusy)
}

func unusedGivesBack(r *run) {
	r.make(pace.Options{})
	k, s := r.key("unused", ""), r.every(20)
	r.done(r.granted(k, s), pace.Result{Unused: true})
	r.done(r.granted(k, s), ok)
	r.refused(k, s, pace.CauseDefault)
	// What is booked at an address is not given back.
	r.make(pace.Options{AddressInterval: 2 * r.Unit})
	g := r.granted(r.key("u1", ""), s)
	first := r.visit(g, "192.0.2.1", s)
	r.done(g, pace.Result{Unused: true})
	r.apart(first, r.visit(r.granted(r.key("u2", ""), s), "192.0.2.1", s), 2)
}

// apart checks that a turn is so many units after another: the limiter's word, which no
// busy machine changes.
func (r *run) apart(first, next pace.Turn, units float64) {
	r.Helper()
	got, want := next.Start.Sub(first.Start), time.Duration(units*float64(r.Unit))
	if got < want-r.Slack {
		r.Errorf("two starts at an address are %s apart, want %s", got, want)
	}
}

func doneTwice(r *run) {
	r.make(pace.Options{})
	k, s := r.key("twice", ""), r.every(1)
	old := r.granted(k, s)
	r.done(old, ok)
	r.pass(1.5)
	g := r.granted(k, s)
	r.done(old, ok) // ends nothing but what it is for
	r.pass(1.5)
	r.refused(k, s, pace.CauseBusy)
	r.done(g, ok)
	r.done(pace.Grant{Key: k}, pace.Result{Status: 503}) // is none
	r.pass(1.5)
	r.granted(k, s)
}

func grantTimeout(r *run) {
	r.make(pace.Options{GrantTimeout: 10 * r.Unit})
	k, s := r.key("timeout", ""), r.every(20)
	g := r.granted(k, s)
	if !r.limiter.Valid(g) || r.limiter.Valid(pace.Grant{Key: k}) {
		r.Errorf("a grant is valid: %t, and what is none: %t", r.limiter.Valid(g), r.limiter.Valid(pace.Grant{Key: k}))
	}
	r.pass(1)
	r.refused(k, s, pace.CauseBusy)
	r.pass(10) // taken to have ended a unit ago
	if r.limiter.Valid(g) {
		r.Error("a grant that is taken to have ended is valid")
	}
	turn := r.refused(k, s, pace.CauseDefault)
	r.passTo(turn)
	next := r.granted(k, s)
	r.done(g, ok)
	r.refused(k, s, pace.CauseBusy)
	r.done(next, ok)
}

// lent asks what a pace.Lender says beside the rest. A grant is lent for whole seconds.
func lent(r *run) {
	r.make(pace.Options{GrantTimeout: r.Unit})
	lender, is := r.limiter.(pace.Lender)
	if !is {
		r.Skip("it lends no grants")
	}
	hold := time.Duration(pace.HoldSeconds(10*r.Unit)) * time.Second
	k, s := r.key("lent", ""), r.every(1)
	lend := func() pace.Grant {
		r.Helper()
		g, err := lender.Lend(r.Context(), k, s, 0, hold)
		if err != nil || !g.OK() || !r.limiter.Valid(g) {
			r.Fatalf("lent %t, valid %t: %v, %v", g.OK(), r.limiter.Valid(g), g.Turn, err)
		}
		return g
	}
	g := lend()
	r.pass(4)
	r.refused(k, s, pace.CauseBusy) // GrantTimeout is not for it
	r.done(pace.Grant{ID: g.ID, Key: k}, ok)
	r.done(g, pace.Result{Status: 503}) // which is given back already
	r.pass(1.5)
	g = lend()
	time.Sleep(time.Until(g.Start.Add(hold)) + r.Slack + r.Unit) //nolint:forbidigo // see now
	if r.limiter.Valid(g) {
		r.Error("a lent grant that has ended is valid")
	}
	base := max(r.Unit, time.Second)
	if turn := r.refused(k, s, pace.CauseBackOff); turn.Interval != 2*base {
		r.Errorf("the interval after a lent grant that timed out is %s, want %s", turn.Interval, 2*base)
	}
	r.done(g, pace.Result{Status: 503}) // too late
	turn := r.refused(k, s, pace.CauseBackOff)
	if turn.Interval != 2*base {
		r.Errorf("a Done after the end of a lent grant makes the interval %s, want %s", turn.Interval, 2*base)
	}
	r.passTo(turn)
	g = lend()
	r.done(g, pace.Result{Unused: true})
	r.done(lend(), ok)
	// The client dials for itself, so its address is booked with the grant, or neither.
	r.make(pace.Options{AddressInterval: 60 * r.Unit})
	lender = r.limiter.(pace.Lender)
	var grants []pace.Grant
	for i, within := range []time.Duration{0, 30 * r.Unit, 100 * r.Unit, 0} {
		g, err := lender.Lend(r.Context(), r.key(fmt.Sprint("lent", i), "192.0.2.1"), s, within, pace.MaxHold)
		if err != nil {
			r.Fatal(err)
		}
		grants = append(grants, g)
	}
	if g := grants[1]; g.OK() || g.Reasons[0].Cause != pace.CauseAddress {
		r.Errorf("a grant within less than the address asks for: %t, %v", g.OK(), g.Turn)
	}
	if !grants[2].OK() || grants[3].OK() {
		r.Fatalf("granted %t and %t, want the third alone", grants[2].OK(), grants[3].OK())
	}
	r.apart(grants[0].Turn, grants[2].Turn, 60)
	r.granted(r.key("lent1", ""), s) // it was given back
}

// addressIsShared: the address is booked for one origin after another, of which each has its
// grant at once, and not looked at before.
func addressIsShared(r *run) {
	r.make(pace.Options{AddressInterval: 4 * r.Unit})
	s := r.every(1)
	first := r.visit(r.granted(r.key("a", "192.0.2.1"), s), "192.0.2.1", s)
	turn, err := r.limiter.NotBefore(r.Context(), r.key("e", "192.0.2.1"), s)
	if err != nil {
		r.Fatal(err)
	}
	r.about(turn, 4)
	turns := make(chan pace.Turn, 2)
	for i, addr := range []string{"192.0.2.1", "::ffff:192.0.2.1"} {
		g := r.granted(r.key(fmt.Sprint("b", i), "192.0.2.1"), s)
		go func() {
			called := r.now()
			turn := r.visit(g, addr, s)
			if turn.Start.After(called.Add(r.Slack)) && !because(turn, pace.CauseAddress) {
				r.Errorf("the reasons of a start that waited for the address are %v", turn.Reasons)
			}
			turns <- turn
		}()
	}
	r.visit(r.granted(r.key("c", ""), s), "192.0.2.2", s)
	if _, err := r.limiter.Visit(r.Context(), r.granted(r.key("d", ""), s), netip.Addr{}, s); err != nil {
		r.Errorf("an address that is not known: %v", err)
	}
	second, third := <-turns, <-turns
	r.apart(first, second, 4)
	r.apart(second, third, 4)
}

// addressesByPrefix: the longest prefix decides, and may say that there is no pace.
func addressesByPrefix(r *run) {
	prefix := netip.MustParsePrefix
	r.make(pace.Options{AddressInterval: 10 * r.Unit, Addresses: []pace.AddressPace{
		{Prefix: prefix("192.0.0.0/8"), Interval: 6 * r.Unit},
		{Prefix: prefix("192.0.2.0/24"), Interval: -1},
		{Prefix: prefix("192.0.2.128/25"), Interval: 2 * r.Unit},
		{Prefix: prefix("2001:db8::/32"), Interval: 4 * r.Unit},
	}})
	s := r.every(1)
	var all sync.WaitGroup
	for i, tt := range []struct {
		addr  string
		units float64
	}{
		{"192.0.3.1", 6}, {"192.0.2.1", 0}, {"192.0.2.200", 2}, {"::ffff:192.0.2.201", 2}, {"2001:db8::1", 4}, {"198.51.100.1", 10},
	} {
		first := r.visit(r.granted(r.key(fmt.Sprint("p", i), ""), s), tt.addr, s)
		g := r.granted(r.key(fmt.Sprint("q", i), ""), s)
		if tt.units == 0 {
			if turn := r.visit(g, tt.addr, s); turn.Reasons[0].Cause == pace.CauseAddress {
				r.Errorf("%s has no pace: %s", tt.addr, turn)
			}
			continue
		}
		all.Go(func() { r.apart(first, r.visit(g, tt.addr, s), tt.units) })
	}
	all.Wait()
}

// visitMissed: what a caller is told whose address is not ready in time. It takes nothing.
func visitMissed(r *run) {
	r.make(pace.Options{AddressInterval: 20 * r.Unit, GrantTimeout: 30 * r.Unit})
	s, addr := r.every(1), netip.MustParseAddr("192.0.2.1")
	first := r.visit(r.granted(r.key("first", ""), s), addr.String(), s)
	g := r.granted(r.key("missed", ""), s)
	_, err := r.limiter.Visit(r.Context(), g, addr, s)
	if missed, is := errors.AsType[*pace.MissedError](err); !is {
		r.Fatalf("a start after half of the grant: %v, want a MissedError", err)
	} else {
		r.about(missed.Turn, 5) // when it would be within half of the grant's time
	}
	r.done(g, pace.Result{Unused: true})
	ctx, cancel := context.WithTimeout(r.Context(), 8*r.Unit)
	defer cancel()
	g = r.granted(r.key("late", ""), s)
	if _, err = r.limiter.Visit(ctx, g, addr, s); !errors.As(err, new(*pace.LateError)) || !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("a start after the deadline: %v, want a LateError", err)
	}
	cancel()
	if _, err = r.limiter.Visit(ctx, g, addr, s); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("Visit with an ended context says %v", err)
	}
	r.done(g, pace.Result{Unused: true})
	r.pass(6)
	for { // a shared limiter that was out of reach meanwhile begins the interval anew
		g = r.granted(r.key("late", ""), s)
		turn, err := r.limiter.Visit(r.Context(), g, addr, s)
		missed, is := errors.AsType[*pace.MissedError](err)
		if !is {
			if err != nil {
				r.Fatal(err)
			}
			r.apart(first, turn, 20)
			break
		}
		r.done(g, pace.Result{Unused: true})
		r.passTo(missed.Turn)
	}
	// A grant that has ended is not used.
	g = r.granted(r.key("old", ""), s)
	r.pass(31)
	if _, err = r.limiter.Visit(r.Context(), g, netip.MustParseAddr("192.0.2.9"), s); !errors.As(err, new(*pace.MissedError)) {
		r.Errorf("Visit with a grant that has ended: %v, want a MissedError", err)
	}
}

// fetchesBetween: a limiter that has a pace for the fetches of robots.txt keeps it at each
// address. They come between the pages that are booked, an interval from each, and do not
// wait for the last of these.
func fetchesBetween(r *run) {
	r.make(pace.Options{AddressInterval: 4 * r.Unit, FetchInterval: r.Unit, Addresses: []pace.AddressPace{
		{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Interval: -1}, {Prefix: netip.MustParsePrefix("203.0.113.0/24"), Interval: 2 * r.Unit},
	}})
	starts, ok := r.limiter.(interface {
		Start(ctx context.Context, addr netip.Addr) error
	})
	if !ok {
		r.Skip("it has no pace for fetches of robots.txt")
	}
	s, addr := r.every(1), netip.MustParseAddr("192.0.2.1")
	first := r.visit(r.granted(r.key("page", ""), s), addr.String(), s)
	var pages, fetches, all arrivals
	var wait sync.WaitGroup
	for i := range 5 {
		g := r.granted(r.key(fmt.Sprint("page", i), ""), s)
		wait.Go(func() {
			turn := r.visit(g, addr.String(), s)
			pages.begin(turn.Start)
			all.begin(turn.Start)
		})
	}
	fetch := func(at netip.Addr, log *arrivals) {
		if err := starts.Start(r.Context(), at); err != nil {
			r.Error(err)
		}
		log.begin(r.now())
	}
	for i := range 4 {
		at := addr
		if i%2 == 1 {
			at = netip.MustParseAddr("::ffff:192.0.2.1")
		}
		wait.Go(func() { fetch(at, &fetches) })
	}
	// No wait: another address, one without a pace, and none.
	var none arrivals
	for range 3 {
		for _, at := range []netip.Addr{netip.MustParseAddr("198.51.100.7"), {}} {
			fetch(at, &none)
		}
	}
	wait.Wait()
	pages.spread(r, first.Start.Add(4*r.Unit), 4*r.Unit, 5)
	fetches.spread(r, first.Start.Add(r.Unit), r.Unit, 4)
	if last := fetches.starts[3]; last.After(slices.MaxFunc(pages.starts, time.Time.Compare)) {
		r.Errorf("the last fetch waits for all pages, until %s after the first", last.Sub(first.Start))
	}
	// Where one pace holds for both, all are that far apart, from the first on.
	one := netip.MustParseAddr("203.0.113.1")
	began := r.now()
	var both arrivals
	fetch(one, &both)
	both.begin(r.visit(r.granted(r.key("one", ""), s), one.String(), s).Start)
	fetch(one, &both)
	both.begin(r.visit(r.granted(r.key("two", ""), s), one.String(), s).Start)
	both.spread(r, began, 2*r.Unit, 4)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	if err := starts.Start(ctx, addr); !errors.Is(err, context.Canceled) {
		r.Errorf("Start with an ended context says %v, want an error that wraps context.Canceled", err)
	}
}

func backOff(r *run) {
	// A back-off stretches a second at the least.
	r.make(pace.Options{})
	k, s := r.key("back", ""), r.every(1)
	base := max(r.Unit, time.Second)
	r.done(r.granted(k, s), pace.Result{Status: 429})
	turn := r.refused(k, s, pace.CauseBackOff)
	if turn.Interval != 2*base {
		r.Errorf("the interval after a 429 is %s, want %s", turn.Interval, 2*base)
	}
	r.passTo(turn)
	r.done(r.granted(k, s), pace.Result{Timeout: true})
	if turn = r.refused(k, s, pace.CauseBackOff); turn.Interval != 4*base {
		r.Errorf("the interval after a timeout too is %s, want %s", turn.Interval, 4*base)
	}
}

func retryAfter(r *run) {
	r.make(pace.Options{})
	k, s := r.key("retry", ""), r.every(1)
	r.done(r.granted(k, s), pace.Result{Status: 200, RetryAfter: 10 * r.Unit})
	r.about(r.refused(k, s, pace.CauseRetryAfter), 10)
	r.pass(10.5)
	r.granted(k, s)
}

func retryAfterIsClamped(r *run) {
	r.make(pace.Options{MaxRetryAfter: 30 * r.Unit})
	k, s := r.key("clamp", ""), r.every(1)
	r.done(r.granted(k, s), pace.Result{Status: 200, RetryAfter: pace.MaxInterval})
	r.about(r.refused(k, s, pace.CauseRetryAfter), 30)
}

// closed: a Visit-time that is not now is later, with the instant.
func closed(r *run) {
	r.make(pace.Options{})
	from := r.now().UTC().Add(3 * time.Hour).Truncate(time.Minute)
	body := "User-agent: *\nVisit-time: " + from.Format("1504") + "-" + from.Add(10*time.Minute).Format("1504") + "\n"
	s, err := pace.NewSchedule(robots.Parse([]byte(body)).Rules(robots.RFC9309, "x"), pace.Policy{})
	if err != nil {
		r.Fatal(err)
	}
	turn := r.refused(r.key("closed", ""), s, pace.CauseVisitTime)
	if !turn.Start.Equal(from) {
		r.Errorf("opens at %s, want %s", turn.Start.UTC(), from)
	}
}

// scheduleOfTheCall: a site that changed its mind is heard at once.
func scheduleOfTheCall(r *run) {
	r.make(pace.Options{})
	k := r.key("change", "")
	r.done(r.granted(k, r.every(2)), ok)
	r.about(r.refused(k, r.every(80), pace.CauseDefault), 80)
	turn, err := r.limiter.NotBefore(r.Context(), k, r.every(2))
	if err != nil {
		r.Fatal(err)
	}
	r.about(turn, 2)
	r.pass(2.5)
	r.granted(k, r.every(2))
}

func contextEnds(r *run) {
	r.make(pace.Options{})
	k, s := r.key("ctx", ""), r.every(1)
	g := r.granted(k, s)
	ctx, cancel := context.WithCancel(r.Context())
	results := make(chan error, 3)
	for range cap(results) {
		go func() { _, err := r.limiter.Wait(ctx, k, s); results <- err }()
	}
	r.pass(1)
	cancel()
	for range cap(results) {
		if err := <-results; !errors.Is(err, context.Canceled) {
			r.Errorf("Wait says %v, want an error that wraps context.Canceled", err)
		}
	}
	if _, err := r.limiter.Wait(ctx, k, s); !errors.Is(err, context.Canceled) {
		r.Errorf("Wait with an ended context says %v, want an error that wraps context.Canceled", err)
	}
	r.done(g, ok)
	r.pass(1.5)
	r.granted(k, s) // those who gave up delay nobody
}

func deadlineBeforeStart(r *run) {
	r.make(pace.Options{})
	k, s := r.key("late", ""), r.every(500)
	r.done(r.granted(k, s), ok)
	ctx, cancel := context.WithTimeout(r.Context(), 200*r.Unit)
	defer cancel()
	_, err := r.limiter.Wait(ctx, k, s)
	late, is := errors.AsType[*pace.LateError](err)
	if !is || !errors.Is(err, context.DeadlineExceeded) {
		r.Fatalf("Wait says %v, want a LateError", err)
	}
	r.about(late.Turn, 500)
	if ctx.Err() != nil {
		r.Error("said at the deadline, want at once")
	}
}

func notBeforeTakesNothing(r *run) {
	r.make(pace.Options{})
	k, s := r.key("ask", "192.0.2.9"), r.every(4)
	for range 3 {
		turn, err := r.limiter.NotBefore(r.Context(), k, s)
		if err != nil {
			r.Fatal(err)
		}
		r.about(turn, 0)
		if len(turn.Reasons) == 0 {
			r.Error("no reasons")
		}
	}
	r.done(r.granted(k, s), ok)
	turn, err := r.limiter.NotBefore(r.Context(), k, s)
	if err != nil {
		r.Fatal(err)
	}
	r.about(turn, 4)
}

// arrivals is the log of a site.
type arrivals struct {
	sync.Mutex
	starts   []time.Time
	underWay int
	most     int // under way at a time
}

func (a *arrivals) begin(t time.Time) {
	a.Lock()
	defer a.Unlock()
	a.starts = append(a.starts, t)
	a.underWay++
	a.most = max(a.most, a.underWay)
}

func (a *arrivals) end() {
	a.Lock()
	defer a.Unlock()
	a.underWay--
}

// sorted returns the starts in order, and checks their number.
func (a *arrivals) sorted(r *run, starts int) []time.Time {
	r.Helper()
	if len(a.starts) != starts {
		r.Errorf("%d starts, want %d", len(a.starts), starts)
	}
	slices.SortFunc(a.starts, time.Time.Compare)
	return a.starts
}

// obeys checks that no two starts are closer than an interval, and how many requests
// were under way at a time.
func (a *arrivals) obeys(r *run, interval time.Duration, starts, underWay int) {
	r.Helper()
	at := a.sorted(r, starts)
	for i := 1; i < len(at); i++ {
		if d := at[i].Sub(at[i-1]); d < interval-r.Slack {
			r.Errorf("starts %d and %d are %s apart, want at least %s", i-1, i, d, interval)
		}
	}
	if a.most > underWay {
		r.Errorf("%d requests at a time, want %d", a.most, underWay)
	}
}

// spread checks that the starts keep an interval from the first on. A goroutine
// may learn late that it may go, and never early.
func (a *arrivals) spread(r *run, began time.Time, interval time.Duration, starts int) {
	r.Helper()
	for i, at := range a.sorted(r, starts) {
		if least := time.Duration(i)*interval - r.Slack; at.Sub(began) < least {
			r.Errorf("start %d after %s, want at least %s", i, at.Sub(began), least)
		}
	}
}

// request makes one request of so many units, and notes it in the logs. Its start is
// that of the grant: the moment at which a goroutine learns of it says less, as a busy
// machine may tell one of two late, which is then nearer to the next.
func (r *run) request(ctx context.Context, k pace.Key, s *pace.Schedule, units float64, logs ...*arrivals) error {
	g, err := r.limiter.Wait(ctx, k, s)
	if err != nil {
		return err
	}
	if now := r.now(); now.Add(r.Slack).Before(g.Start) {
		r.Errorf("Wait returns %s before the start", g.Start.Sub(now))
	}
	turn, err := r.limiter.Visit(ctx, g, k.Addr, s)
	if err != nil {
		r.done(g, pace.Result{Unused: true})
		return err
	}
	for _, a := range logs {
		a.begin(turn.Start)
	}
	r.pass(units)
	for _, a := range logs {
		a.end()
	}
	return r.limiter.Done(r.Context(), g, ok)
}

// manyCallers: many goroutines, three sites, two of them on one address; some give up.
func manyCallers(r *run) {
	r.make(pace.Options{AddressInterval: r.Unit / 2})
	s := r.every(1)
	keys := []pace.Key{r.key("m0", "192.0.2.1"), r.key("m1", "192.0.2.1"), r.key("m2", "192.0.2.2")}
	sites, want := make([]arrivals, len(keys)), make([]atomic.Int64, len(keys))
	var shared, apart arrivals
	logs := []*arrivals{&shared, &shared, &apart}
	var all sync.WaitGroup
	for i := range max(r.Callers, len(keys)) {
		all.Go(func() {
			n, ctx := i%len(keys), r.Context()
			if i%7 == 6 {
				limited, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Duration(i)*r.Unit/10, cancel) //nolint:forbidigo // see now
				ctx = limited
			}
			switch err := r.request(ctx, keys[n], s, 0.25, &sites[n], logs[n]); {
			case err == nil:
				want[n].Add(1)
			case i%7 != 6 || !errors.Is(err, context.Canceled):
				r.Error(err)
			}
		})
	}
	all.Wait()
	for n := range sites {
		sites[n].obeys(r, r.Unit, int(want[n].Load()), 1)
	}
	shared.obeys(r, r.Unit/2, int(want[0].Load()+want[1].Load()), 2)
	r.Logf("%d callers, %d and %d starts at two addresses", r.Callers, len(shared.starts), len(apart.starts))
}

// concurrency: three at a time, with the interval between their starts.
func concurrency(r *run) {
	r.make(pace.Options{Concurrency: 3})
	k, s := r.key("three", ""), r.every(1)
	var site arrivals
	var all sync.WaitGroup
	for range 9 {
		all.Go(func() {
			if err := r.request(r.Context(), k, s, 5, &site); err != nil {
				r.Error(err)
			}
		})
	}
	all.Wait()
	site.obeys(r, r.Unit, 9, 3)
	if site.most < 3 {
		r.Errorf("at most %d requests at a time, want 3", site.most)
	}
}
