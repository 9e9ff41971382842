package pace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
)

func local(t testing.TB, o pace.Options) *pace.Local {
	t.Helper()
	l, err := pace.NewLocal(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// try returns the answer of Try to one request.
func try(t testing.TB, l pace.Limiter, r pace.Request) pace.Permit {
	t.Helper()
	permits, err := l.Try(t.Context(), []pace.Request{r}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return permits[0]
}

func origin(host string) robots.Origin {
	o, _, err := robots.ParseURL("http://" + host + "/")
	if err != nil {
		panic(err)
	}
	return o
}

// TestContract runs the exported suite on the simulated clock, where a test also
// fails if it leaves a goroutine behind, and on the real one.
func TestContract(t *testing.T) {
	create := func(t *testing.T, o pace.Options) pace.Limiter { return local(t, o) }
	t.Run("simulated", func(t *testing.T) {
		pacetest.Run(t, pacetest.Subject{New: create, Unit: 7 * time.Second, Within: synctest.Test})
	})
	t.Run("real", func(t *testing.T) {
		if testing.Short() {
			t.Skip("takes 10 s")
		}
		pacetest.Run(t, pacetest.Subject{New: create, Unit: 50 * time.Millisecond})
	})
}

// TestResume: the limiter of the next process knows the permits with their own lifetime, and
// that every site might have been requested until the last one ended.
func TestResume(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	o := pace.Options{Now: func() time.Time { return now }}
	first, s, ctx := local(t, o), schedule(t, "User-agent: *\nCrawl-delay: 10\n", robots.RFC9309, pace.Policy{}), t.Context()
	acquire := func(l *pace.Local, host string, within time.Duration) pace.Permit {
		t.Helper()
		return try(t, l, pace.Request{Origin: origin(host), Schedule: s, Within: within, Addr: netip.MustParseAddr("192.0.2.1"), Lifetime: time.Minute})
	}
	refused := func(l *pace.Local, host, when string, want time.Time) {
		t.Helper()
		if p := acquire(l, host, 0); p.OK() || !p.NotBefore.Equal(want) {
			t.Errorf("%s, %s: %s, want %s", host, when, p, want)
		}
	}
	out, lost := acquire(first, "out.example", time.Second), acquire(first, "lost.example", time.Second)
	if err := first.Release(ctx, acquire(first, "released.example", 2*time.Second), pace.Result{Status: 200}); err != nil {
		t.Fatal(err)
	}
	if own := try(t, first, pace.Request{Origin: origin("own.example"), Schedule: s}); !own.OK() { // ends with the process
		t.Fatal(own)
	}
	untrusted := try(t, first, pace.Request{Origin: origin("untrusted.example"), Schedule: s, Lifetime: time.Minute, Untrusted: true})
	now = now.Add(5 * time.Second)
	data, taken := first.Snapshot(), now

	now = now.Add(3 * time.Second)
	second := resumed(t, o, data)
	for _, host := range []string{"released.example", "own.example", "new.example"} {
		refused(second, host, "after a restart", taken.Add(10*time.Second))
	}
	now = now.Add(20 * time.Second) // nothing is left of the end
	if p := acquire(second, "new.example", 0); !p.OK() {
		t.Errorf("after an interval: %s", p)
	}
	if p := acquire(second, "out.example", time.Hour); p.OK() {
		t.Errorf("with a permit of the process before: %s", p)
	}
	for range 2 {
		if err := second.Release(ctx, out, pace.Result{Status: 200}); err != nil {
			t.Error(err)
		}
	}
	refused(second, "out.example", "after the release", now.Add(10*time.Second))
	now = now.Add(40 * time.Second)
	refused(second, "lost.example", "after one timed out", lost.Expires.Add(20*time.Second))
	refused(second, "untrusted.example", "after one of an untrusted client expired", untrusted.Expires.Add(10*time.Second))

	// The clock was set back.
	now = now.Add(-time.Hour)
	third := resumed(t, o, data)
	refused(third, "new.example", "after the clock was set back", now.Add(10*time.Second))
	now = now.Add(2 * time.Minute)
	if p := acquire(third, "out.example", time.Minute); !p.OK() {
		t.Errorf("after the longest time: %s", p)
	}

	// No snapshot, or one that is damaged: every site counts as requested now.
	fourth := resumed(t, o, nil)
	refused(fourth, "new.example", "without a snapshot", now.Add(10*time.Second))
	fifth := local(t, o)
	if err := fifth.Resume([]byte("{")); err == nil {
		t.Error("no error for a damaged snapshot")
	}
	refused(fifth, "new.example", "after a damaged snapshot", now.Add(10*time.Second))
}

// TestResumeRests: the limiter of the next process knows the Retry-After and the back-off of
// sites.
func TestResumeRests(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	o := pace.Options{Now: func() time.Time { return now }}
	first, s := local(t, o), schedule(t, "User-agent: *\nCrawl-delay: 10\n", robots.RFC9309, pace.Policy{})
	site := func(host string) pace.Request {
		return pace.Request{Origin: origin(host), Schedule: s, Within: time.Hour, Lifetime: time.Minute}
	}
	request := func(host string, r pace.Result) {
		t.Helper()
		p := try(t, first, site(host))
		if !p.OK() {
			t.Fatal(p)
		}
		now = p.Start
		if err := first.Release(t.Context(), p, r); err != nil {
			t.Fatal(err)
		}
	}
	at := func(l *pace.Local, host string) time.Time {
		t.Helper()
		permits, err := l.Try(t.Context(), []pace.Request{site(host)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return permits[0].NotBefore
	}
	request("later.example", pace.Result{Status: 503, RetryAfter: time.Hour})
	request("slower.example", pace.Result{Status: 503})
	request("slower.example", pace.Result{Status: 503})
	request("usual.example", pace.Result{Status: 200})
	request("better.example", pace.Result{Status: 503})
	for range 8 {
		request("better.example", pace.Result{Status: 200})
	}
	later, data, taken := at(first, "later.example"), first.Snapshot(), now
	if n := bytes.Count(data, []byte(`"http://`)); n != 2 {
		t.Fatalf("%d sites rest, want 2: %s", n, data)
	}
	now = now.Add(time.Minute)
	second := resumed(t, o, data)
	for host, want := range map[string]time.Time{"later.example": later, "slower.example": now, "usual.example": now} {
		if got := at(second, host); !got.Equal(want) {
			t.Errorf("%s: not before %s, want %s", host, got, want)
		}
	}
	if again := second.Snapshot(); bytes.Count(again, []byte(`"http://`)) != 2 {
		t.Errorf("for the process after: %s", again)
	}
	now = taken.Add(35 * time.Second)
	if got, want := at(resumed(t, o, data), "slower.example"), taken.Add(40*time.Second); !got.Equal(want) {
		t.Errorf("a back-off: not before %s, want %s", got, want)
	}
	// The clock was set back by years: no wait exceeds the longest that a site can request.
	now = now.AddDate(-5, 0, 0)
	if got := at(resumed(t, o, data), "later.example"); got.After(now.Add(24 * time.Hour)) {
		t.Errorf("after the clock was set back: not before %s", got)
	}
	// An impossible back-off, as in a damaged file, is ignored.
	odd := fmt.Appendf(nil, `{"taken":%q,"sites":{"http://odd.example":{"overload":%[1]q,"back_off":{"Factor":60000}}}}`, now.Format(time.RFC3339))
	if got, want := at(resumed(t, o, odd), "odd.example"), now.Add(10*time.Second); !got.Equal(want) {
		t.Errorf("an impossible back-off: not before %s, want %s", got, want)
	}
}

// TestStartClosed: a site that closes before its address is ready is not requested, and the
// error says when it opens.
func TestStartClosed(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 59, 50, 0, time.UTC)
	l := local(t, pace.Options{AddressInterval: 30 * time.Second, Now: func() time.Time { return now }})
	s, addr := schedule(t, "User-agent: *\nVisit-time: 0600-0900\n", robots.RFC9309, pace.Policy{}), netip.MustParseAddr("192.0.2.1")
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(10*time.Second, cancel).Stop() // a Start that waits for its address fails, and does not hang
	for i, opens := range []time.Time{{}, time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)} {
		p := try(t, l, pace.Request{Origin: origin(fmt.Sprintf("closes%d.example", i)), Schedule: s})
		err := l.Start(ctx, p, addr)
		missed, is := errors.AsType[*pace.MissedError](err)
		if is == opens.IsZero() || is && !missed.Permit.NotBefore.Equal(opens) {
			t.Errorf("start %d: %v, want it missed until %s", i, err, opens)
		}
	}
}

// TestStartSuspended: a process that was suspended while it waited does not start a request
// with a permit that has expired, nor outside the window of its site.
func TestStartSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var jump atomic.Int64
		l := local(t, pace.Options{Now: func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }})
		p := try(t, l, pace.Request{Origin: origin("a.example"), Within: time.Minute})
		l.Release(t.Context(), p, pace.Result{Status: 200})
		for _, suspended := range []time.Duration{6 * time.Minute, time.Hour} {
			p = try(t, l, pace.Request{Origin: origin("a.example"), Within: time.Minute})
			time.AfterFunc(time.Second, func() { jump.Add(int64(suspended)) })
			if err := l.Start(t.Context(), p, netip.Addr{}); !errors.As(err, new(*pace.MissedError)) {
				t.Errorf("after %s: %v, want a MissedError", suspended, err)
			}
			l.Release(t.Context(), p, pace.Result{Status: 200})
		}
	})
}

// TestFair: callers for one site are served in the order of their calls.
func TestFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, pace.Options{})
		request := pace.Request{Origin: origin("a.example")}
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				p, err := l.Acquire(t.Context(), request)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				l.Release(t.Context(), p, pace.Result{Status: 200})
			})
			synctest.Wait()
		}
		all.Wait()
		for i, n := range order {
			if i != n {
				t.Fatalf("served in the order %v", order)
			}
		}
	})
}

// TestBackOff: doubles up to 2^10, falls by an eighth of the maximum with every usual response,
// and ends after a day.
func TestBackOff(t *testing.T) {
	now := at("2026-03-01T12:00:00Z")
	l := local(t, pace.Options{Now: func() time.Time { return now }})
	request := pace.Request{Origin: origin("a.example"), Within: 1000000 * time.Hour}
	after := func(r pace.Result) time.Duration {
		p := try(t, l, request)
		now = p.Start
		l.Release(t.Context(), p, r)
		next, _ := l.Try(t.Context(), []pace.Request{request}, 0)
		return next[0].NotBefore.Sub(now)
	}
	for i := range 12 {
		want := 4 * time.Second << min(i+1, 10)
		if got := after(pace.Result{Status: 503}); got != want {
			t.Errorf("after %d failures %s, want %s", i+1, got, want)
		}
	}
	for i := range 8 {
		want := max(4*time.Second*time.Duration(1024-128*(i+1)), 4*time.Second)
		if got := after(pace.Result{Status: 404}); got != want {
			t.Errorf("after %d responses %s, want %s", i+1, got, want)
		}
	}
	if got := after(pace.Result{Status: 500}); got != 4*time.Second {
		t.Errorf("after a 500 %s, want no change", got)
	}
	after(pace.Result{Timeout: true})
	now = now.Add(25 * time.Hour)
	if got := after(pace.Result{}); got != 4*time.Second {
		t.Errorf("after a day %s, want nothing left", got)
	}
}

// TestFull: a limiter without memory for another site refuses that one, keeps those with state,
// and has room again when one is idle.
func TestFull(t *testing.T) {
	now := at("2026-03-01T12:00:00Z")
	l := local(t, pace.Options{MaxBytes: 448 * 100, Now: func() time.Time { return now }})
	slow := schedule(t, "User-agent: *\nRequest-rate: 1/1h\n", robots.RFC9309, pace.Policy{})
	site := func(i int) pace.Request {
		return pace.Request{Origin: origin(fmt.Sprintf("s%d.example", i)), Schedule: slow}
	}
	acquired := 0
	var last pace.Permit
	for i := range 200 {
		if last = try(t, l, site(i)); last.OK() {
			acquired++
			l.Release(t.Context(), last, pace.Result{Status: 200})
		}
	}
	if acquired < 90 || acquired > 100 || last.Reasons[0].Cause != pace.CauseFull {
		t.Errorf("%d sites, then %s", acquired, last)
	}
	for i := range acquired {
		if try(t, l, site(i)).OK() {
			t.Fatalf("the state of site %d is lost", i)
		}
	}
	now = last.NotBefore
	if p := try(t, l, site(199)); !p.OK() {
		t.Errorf("at %s still %s", now, p)
	}
}

// TestOptions: invalid options are refused in one sentence.
func TestOptions(t *testing.T) {
	ten, wide := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::ffff:10.1.0.0/104")
	for want, o := range map[string]pace.Options{
		"pace.Options.Concurrency is -1: it must be 1 or more, or 0 for the default":                                                             {Concurrency: -1},
		"pace.Options.MaxBytes is -1: it must be 1 or more, or 0 for the default":                                                                {MaxBytes: -1},
		"pace.Options.Lifetime is -1ns: it must be positive, or 0 for the default":                                                               {Lifetime: -1},
		"pace.Options.MaxRetryAfter is -1ns: it must be positive, or 0 for the default":                                                          {MaxRetryAfter: -1},
		"pace.Options.MaxBackOff is -1ns: it must be positive, or 0 for the default":                                                             {MaxBackOff: -1},
		"the pace of 10.0.0.0/8 is set twice":                                                                                                    {Addresses: []pace.AddressPace{{ten, 1}, {wide, -1}}},
		"pace.Options.Addresses[0].Prefix is empty: it must be a prefix such as 104.16.0.0/13":                                                   {Addresses: []pace.AddressPace{{Interval: 1}}},
		"pace.Options.Addresses[0].Interval is 0: it must be the time between two requests to an address of 10.0.0.0/8, or negative for no pace": {Addresses: []pace.AddressPace{{Prefix: ten}}},
	} {
		if _, err := pace.NewLocal(o); err == nil || err.Error() != want {
			t.Errorf("%+v\ngot:  %v\nwant: %s", o, err, want)
		}
	}
}

// TestCause: errors wrap the cause of the context's end.
func TestCause(t *testing.T) {
	l := local(t, pace.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := l.Acquire(ctx, pace.Request{Origin: origin("a.example")}); !errors.Is(err, why) {
		t.Errorf("Acquire: %v, want the cause", err)
	}
}

// resumed returns a limiter that continues from a snapshot.
func resumed(t *testing.T, o pace.Options, data []byte) *pace.Local {
	t.Helper()
	l := local(t, o)
	if err := l.Resume(data); err != nil {
		t.Fatal(err)
	}
	return l
}
